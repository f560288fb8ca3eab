#include "completion.hpp"

#include <algorithm>
#include <perfmodel/core/version.hpp>

#include "catalogues.hpp"
#include "help.hpp"
#include "planning.hpp"

namespace napkin {

namespace {

std::string joined_words(const std::vector<std::string>& words) {
  std::string s;
  for (const std::string& w : words) s += (s.empty() ? "" : " ") + w;
  return s;
}
std::vector<std::string> option_words(const command_entry& c) {
  std::vector<std::string> all;
  for (const option_entry& o : c.options) all.insert(all.end(), o.names.begin(), o.names.end());
  return all;
}
std::string command_words(const std::vector<command_entry>& commands) {
  std::string s = "help version";
  for (const command_entry& c : commands) s += " " + c.name;
  return s;
}
/// "explain|sensitivity": commands that a query's name follows, and `help`.
std::string outer_words(const std::vector<command_entry>& commands) {
  std::string s = "help|require|thresholds";
  for (const command_entry& c : commands) {
    if (c.of_queries) s += "|" + c.name;
  }
  return s;
}
/// Cases of a shell: the values of each option that has some, by "command --option".
std::string value_cases(const std::vector<command_entry>& commands, const char* before,
                        const char* after) {
  std::vector<std::pair<std::string, std::string>> by_values;  // values, patterns
  for (const command_entry& c : commands) {
    for (const option_entry& o : c.options) {
      if (o.values.empty()) continue;
      std::string pattern;
      for (const std::string& n : o.names)
        pattern += cat(pattern.empty() ? "" : "|", "'", c.name, " ", n, "'");
      const std::string values = joined_words(o.values);
      const auto at = std::find_if(by_values.begin(), by_values.end(),
                                   [&](const auto& x) { return x.first == values; });
      if (at == by_values.end()) {
        by_values.emplace_back(values, pattern);
      } else {
        at->second += "|" + pattern;
      }
    }
  }
  std::string s;
  for (const auto& [values, pattern] : by_values)
    s += cat("    ", pattern, ") ", before, values, after, " ;;\n");
  return s;
}
std::string option_cases(const std::vector<command_entry>& commands, const char* before,
                         const char* after) {
  std::string s;
  for (const command_entry& c : commands)
    s += cat("    ", c.name, ") ", before, joined_words(option_words(c)), after, " ;;\n");
  return s;
}

std::string bash_text(const std::vector<command_entry>& commands) {
  return cat(
      "# Completion of napkin for bash: eval \"$(napkin --completion bash)\"\n"
      "_napkin() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
      "  local command=${COMP_WORDS[1]} at=$COMP_CWORD list=\n"
      "  [[ $before == '=' ]] && before=${COMP_WORDS[COMP_CWORD - 2]}\n"
      "  [[ $word == '=' ]] && word=\n"
      "  COMPREPLY=()\n"
      "  case $command in ",
      outer_words(commands),
      ")\n"
      "    if ((at == 2)) && [[ $word != -* ]]; then command=; at=1; else\n"
      "      [[ ${COMP_WORDS[2]} == -* ]] || command=${COMP_WORDS[2]}; fi ;;\n"
      "  esac\n"
      "  if ((at == 1)); then\n"
      "    COMPREPLY=($(compgen -W '",
      command_words(commands),
      "' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"$command $before\" in\n",
      value_cases(commands, "list='", "'"),
      "  esac\n"
      "  if [[ -z $list && $word == -* ]]; then\n"
      "    case $command in\n",
      option_cases(commands, "list='", "'"),
      "    esac\n"
      "  fi\n"
      "  [[ -z $list ]] || COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n"
      "}\n"
      "complete -o default -F _napkin napkin\n");
}

std::string zsh_text(const std::vector<command_entry>& commands) {
  return cat(
      "#compdef napkin\n"
      "# Completion of napkin for zsh: a file _napkin in a folder of $fpath\n"
      "_napkin() {\n"
      "  local command=${words[2]} at=$CURRENT before=${words[CURRENT - 1]} list=\n"
      "  case $command in ",
      outer_words(commands),
      ")\n"
      "    if ((at == 3)) && [[ ${words[3]} != -* ]]; then at=2; else\n"
      "      [[ ${words[3]} == -* ]] || command=${words[3]}; fi ;;\n"
      "  esac\n"
      "  if ((at == 2)); then\n"
      "    compadd -- ",
      command_words(commands),
      "\n"
      "    return\n"
      "  fi\n"
      "  case \"$command $before\" in\n",
      value_cases(commands, "list='", "'"),
      "  esac\n"
      "  if [[ -z $list && ${words[CURRENT]} == -* ]]; then\n"
      "    case $command in\n",
      option_cases(commands, "list='", "'"),
      "    esac\n"
      "  fi\n"
      "  if [[ -n $list ]]; then compadd -- ${=list}; else _files; fi\n"
      "}\n"
      "compdef _napkin napkin\n");
}

std::string fish_quoted(const std::string& text) {
  std::string s = "'";
  for (const char c : text)
    s += (c == '\'' || c == '\\') ? std::string("\\") + c : std::string(1, c);
  return s + "'";
}
std::string fish_text(const std::vector<command_entry>& commands) {
  std::string s = "# Completion of napkin for fish: napkin --completion fish | source\n";
  for (const command_entry& c : commands) {
    s += cat("complete -c napkin -f -n __fish_use_subcommand -a ", c.name, " -d ",
             fish_quoted(first_clause(c.help)), "\n");
    for (const option_entry& o : c.options) {
      s += cat("complete -c napkin -n '__fish_seen_subcommand_from ", c.name, "'");
      for (const std::string& n : o.names) {
        if (n.starts_with("--")) s += cat(" -l ", n.substr(2));
      }
      if (!o.is_flag) s += o.values.empty() ? " -r" : cat(" -x -a '", joined_words(o.values), "'");
      s += cat(" -d ", fish_quoted(first_clause(o.help.substr(0, o.help.find("; default")))), "\n");
    }
  }
  for (const command_entry& c : commands) {
    if (!c.of_queries) continue;
    s += cat("complete -c napkin -f -n '__fish_seen_subcommand_from ", c.name,
             "; and test (count (commandline -opc)) -eq 2' -a '", command_words(commands), "'\n");
  }
  return s;
}

/// Text for roff: no escape, no control line.
std::string roff(const std::string& text) {
  std::string s;
  for (const char c : text) {
    if (c == '\\') {
      s += "\\e";
    } else if (c == '-') {
      s += "\\-";
    } else {
      s += c;
    }
  }
  return s.starts_with('.') || s.starts_with('\'') ? "\\&" + s : s;
}

}  // namespace

std::vector<std::string> values_of_option(const std::string& command, const std::string& option) {
  std::string name = option.substr(option.find_first_not_of('-'));
  std::replace(name.begin(), name.end(), '-', '_');
  const query* asked = command == plan_keys().name ? &plan_keys() : nullptr;
  for (const query& q : all_queries()) {
    if (command == q.name) asked = &q;
  }
  if (asked == nullptr) return {};
  const key* k = asked->find_spelled(name);
  if (k == nullptr) {
    if (name == "mode") return {"bound", "calibrated"};
    return {};
  }
  std::vector<std::string> all;
  const std::string_view of = k->name;
  if (of == "model" || of == "draft_model") {
    for (const auto n : model_names()) all.emplace_back(n);
  } else if (of.ends_with("accelerator")) {
    for (const auto n : accelerator_names()) all.emplace_back(n);
  } else if (of.ends_with("format") && k->several) {
    for (const auto f : perfmodel::all_formats) all.emplace_back(perfmodel::name_of(f));
  } else if (of == "engine" && k->several) {
    all = {"vllm", "sglang", "trtllm", "none"};
  } else if (k->kind == key_kind::word) {
    for (const auto w : k->words) all.emplace_back(w);
  } else if (k->kind == key_kind::flag) {
    all = {"true", "false"};
  }
  return all;
}

std::string completion_text(std::string_view shell, const std::vector<command_entry>& commands) {
  if (shell == "bash") return bash_text(commands);
  if (shell == "zsh") return zsh_text(commands);
  if (shell == "fish") return fish_text(commands);
  throw error(error_code::unknown_name,
              cat("completion is ", in_quotes(shell), "; allowed: bash, zsh, fish"));
}

std::string man_text(const std::vector<command_entry>& commands) {
  std::string s = cat(
      ".TH NAPKIN 1 \"\" \"napkin " PERFMODEL_VERSION
      "\" \"User Commands\"\n"
      ".SH NAME\nnapkin \\- how fast a large model runs on a machine, and what limits it\n"
      ".SH SYNOPSIS\n.B napkin\n.I COMMAND\n.RI [ \\-\\-key\\ value \" ...] [\" \\-\\-json ]\n"
      ".SH DESCRIPTION\n"
      "Each command computes one result from the facts of accelerators and models. It prints text "
      "for people, or one JSON object with\n.BR \\-\\-json .\n"
      "Times need a unit (20ms); counts take k, M, Ki; shares take %. Either\n.B \\-\nor\n.B _\n"
      "joins the words of an option.\n"
      "At a terminal text is bold, dim and red;\n.B \\-\\-color\nwith auto, always or never "
      "decides, "
      "NO_COLOR and TERM=dumb count as never.\n"
      ".SH COMMANDS\n");
  for (const command_entry& c : commands)
    s += cat(".TP\n.B ", roff(c.name), "\n", roff(c.help), "\n");
  s += ".SH OPTIONS\n";
  for (const command_entry& c : commands) {
    if (c.options.empty()) continue;
    s += cat(".SS ", roff(c.name), "\n");
    for (const option_entry& o : c.options) {
      std::string names;
      for (const std::string& n : o.names) names += (names.empty() ? "" : ", ") + n;
      s += cat(".TP\n.B ", roff(names), "\n", roff(o.help.empty() ? "-" : o.help), "\n");
    }
  }
  return s + cat(".SH EXIT STATUS\n"
                 "0: a result. 1: some lines of a batch failed. 2: unusable arguments or files. 3: "
                 "no deployment meets the targets of a plan.\n"
                 ".SH EXAMPLES\n.nf\n"
                 "napkin plan \\-\\-model llama\\-3.1\\-70b \\-\\-gpu h100,h200 \\-\\-isl 2048 "
                 "\\-\\-osl 512 \\-\\-users 64 \\-\\-itl 50ms\n"
                 "napkin explain gemm \\-\\-gpu h100 \\-\\-m 4096 \\-\\-n 4096 \\-\\-k 4096\n"
                 "eval \"$(napkin \\-\\-completion bash)\"\n.fi\n");
}

}  // namespace napkin
