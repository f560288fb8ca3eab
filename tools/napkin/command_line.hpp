// Words of a command line, and the options of a key.
#pragma once

#include <algorithm>

#include "query.hpp"

namespace napkin {

/// Help of an option: its meaning, its allowed values, its default.
inline std::string key_help(const key& k) {
  std::string help = std::string(k.help) + " [" + k.allowed() + k.allowed_unit() + "]";
  if (!k.required && !k.fallback.empty())
    help += cat(" (default ", k.fallback, k.is_time() ? " s)" : ")");
  if (k.required) help += " REQUIRED";
  return help;
}

/// Option of a name: --input-tokens of input_tokens.
inline std::string option_of(std::string_view name) {
  std::string s = cat("--", name);
  std::replace(s.begin(), s.end(), '_', '-');
  return s;
}

/// Options of a key: --input-tokens and its other spellings.
inline std::vector<std::string> spellings_of(const query& asked, const key& k) {
  std::vector<std::string> all{option_of(k.name)};
  if (k.alias[0] != '\0') all.push_back(option_of(k.alias));
  for (const key_alias& a : key_aliases) {
    if (a.name == std::string_view(k.name) && asked.find_spelled(a.spelled) == &k)
      all.push_back(option_of(a.spelled));
  }
  return all;
}

/// Comma-separated option names of a key; `napkin model` also accepts its model as a positional.
inline std::string option_names(const query& asked, const key& k) {
  std::string names;
  for (const std::string& s : spellings_of(asked, k)) names += names.empty() ? s : "," + s;
  if (std::string_view(asked.name) == k.name) names += cat(",", k.name);
  return names;
}

/// Removes --color from the arguments and returns its value; "auto" without it. Throws missing_key,
/// unknown_name, inconsistent.
inline std::string take_color(std::vector<char*>& arguments) {
  constexpr std::string_view option = "--color";
  std::string found;
  for (std::size_t i = 1; i < arguments.size();) {
    const std::string_view word = arguments[i];
    const bool joined = word.starts_with(option) && word.substr(option.size()).starts_with('=');
    if (word != option && !joined) {
      ++i;
      continue;
    }
    if (!joined && i + 1 == arguments.size())
      throw error(code::missing_key, "--color has no value; allowed: auto, always, never");
    if (!found.empty())
      throw error(error_code::inconsistent, "--color is given twice; allowed: once");
    found = joined ? word.substr(option.size() + 1) : std::string_view(arguments[i + 1]);
    if (found != "auto" && found != "always" && found != "never")
      throw error(error_code::unknown_name,
                  cat("--color is ", in_quotes(found), "; allowed: auto, always, never"));
    const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    arguments.erase(at, at + (joined ? 1 : 2));
  }
  return found.empty() ? "auto" : found;
}

/// The arguments with '-' for '_' in option names, and with other spellings of commands: help,
/// version, kv-capacity.
inline std::vector<std::string> normalised(int argc, char** argv) {
  std::vector<std::string> all(argv, argv + argc);
  // help QUERY: QUERY --help
  if (all.size() > 2 && all[1] == "help" && !all[2].starts_with('-')) {
    all.erase(all.begin() + 1);
    all.emplace_back("--help");
  }
  for (std::string& word : all) {
    if (!word.starts_with("--")) continue;
    const std::size_t end = std::min(word.find('='), word.size());
    std::replace(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  }
  for (std::size_t i = 1; i < std::min<std::size_t>(all.size(), 3); ++i) {
    if (all[i].starts_with('-')) break;
    if (all[i].find('/') == std::string::npos && i == 1)
      std::replace(all[i].begin(), all[i].end(), '-', '_');
    if (i == 1 && (all[i] == "help" || all[i] == "version")) all[i] = "--" + all[i];
    if (all[i] == "utilization") all[i] = "utilisation";
    if (all[1] != "explain" && all[1] != "sensitivity" && all[1] != "sweep") break;
  }
  return all;
}

/// Replaces options that the help does not list by the key's: engine spellings (--tp-size,
/// --enforce-eager) and names without a unit (--latency of latency_s).
inline void put_listed_options(std::vector<std::string>& all, const query& asked) {
  for (std::string& word : all) {
    if (!word.starts_with("--")) continue;
    const std::size_t end = std::min(word.find('='), word.size());
    std::string name = word.substr(2, end - 2);
    std::replace(name.begin(), name.end(), '-', '_');
    if ((name == "enforce_eager" || name == "disable_cuda_graph") && end == word.size() &&
        asked.find("cuda_graphs") != nullptr) {
      word = "--cuda-graphs=false";
      continue;
    }
    const key* k = asked.find_spelled(name);
    if (k == nullptr) continue;
    const std::vector<std::string> listed = spellings_of(asked, *k);
    if (std::find(listed.begin(), listed.end(), option_of(name)) == listed.end())
      word = option_of(k->name) + word.substr(end);
  }
}

/// Words of a command line. A command that is not among them needs no options, only its line in the
/// help.
class words {
 public:
  words(std::vector<std::string> all, int argc, char** argv)
      : all_(std::move(all)), typed_(argv, argv + argc) {}
  const std::vector<std::string>& all() const { return all_; }
  bool mention(std::string_view name) const {
    return std::find(all_.begin(), all_.end(), name) != all_.end();
  }
  /// The first of the spellings on the line, as typed.
  std::string spelling_among(const std::vector<std::string>& spellings) const {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const std::string name = all_[i].substr(0, all_[i].find('='));
      if (std::find(spellings.begin(), spellings.end(), name) != spellings.end())
        return std::string(typed_[i].substr(0, typed_[i].find('=')));
    }
    return spellings.front();
  }
  /// The word at a position, unless it is an option.
  std::string_view at(std::size_t i) const {
    return i < all_.size() && !all_[i].starts_with('-') ? std::string_view(all_[i])
                                                        : std::string_view();
  }

 private:
  std::vector<std::string> all_;
  std::vector<std::string_view> typed_;
};

}  // namespace napkin
