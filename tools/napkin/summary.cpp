// Text of an explanation: the result on one page, and the requested depth of the derivation.
#include "summary.hpp"

#include <algorithm>
#include <cmath>
#include <perfmodel/units/text.hpp>

#include "infeasible.hpp"
#include "io/text_style.hpp"
#include "output.hpp"
#include "short_steps.hpp"
#include "summary_parts.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr std::size_t height = 40, most_steps = 10, least_steps = 3;
constexpr double most_of_it = 0.95;

}  // namespace

std::string wrapped(const std::string& text, std::size_t indent, std::size_t columns) {
  std::string out, line(indent, ' ');
  for (const std::string_view word : split(text, ' ')) {
    if (line.size() + word.size() + 1 > columns && line.find_first_not_of(' ') != line.npos) {
      out += line + "\n";
      line.assign(indent + 4, ' ');
    }
    if (line.find_first_not_of(' ') != line.npos) line += ' ';
    line += word;
  }
  return out + line + "\n";
}

namespace {

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}
/// Text of as many steps per part as fit on a page with `others` further lines.
template <class Text>
std::string on_screen(const Text& text_of, std::size_t others) {
  std::string text;
  for (std::size_t n = most_steps; n >= least_steps; --n) {
    text = text_of(n);
    if (lines_of(text) + others <= height) break;
  }
  return text;
}

/// Number of steps that make most of the time.
std::size_t shown_of(const summary_part& part, std::size_t most) {
  double sum = 0.0;
  std::size_t n = 0;
  while (n < part.steps.size() && n < most && (n < least_steps || sum < most_of_it * part.time_s)) {
    sum += part.steps[n++].time_s;
  }
  return n;
}

/// Speedup without the limit, by evaluation: the limit is the resource that saves most.
std::string lifted_text(const summary_part& part) {
  if (part.limit.empty()) return {};
  const auto without = [](const std::string& limit, bool more) {
    const bool is_rate = limit == by_dram || limit == by_flop || limit == by_links;
    return cat(more ? "also " : "", is_rate ? "with unlimited " : "without ", limit);
  };
  std::string s =
      cat("limiter: ", part.limit, "; ", without(part.limit, false), ": ", time_text(part.left_s),
          " (", fixed(part.time_s / part.left_s, 2), "x faster)");
  if (part.next.empty()) return s;
  return s + cat("; next limiter: ", part.next, "; ", without(part.next, true), ": ",
                 time_text(part.next_left_s));
}
/// A name shortened to its column, given the length of the formulas.
std::string column_name(const std::string& name, std::size_t formula) {
  const std::size_t columns = formula > 57 ? 17 : 20;
  return name.size() <= columns ? name : name.substr(0, columns - 3) + "...";
}

table_rows rows_of(const summary_part& part, bool header, std::size_t most) {
  table_rows rows;
  if (header) rows.push_back({"share", "step", "by hand", "time"});
  const std::size_t n = shown_of(part, most);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < n; ++i) longest = std::max(longest, part.steps[i].how.size());
  for (std::size_t i = 0; i < n; ++i) {
    const summary_step& s = part.steps[i];
    rows.push_back({percent(s.time_s / part.time_s), column_name(s.name, longest), s.how,
                    "= " + time_text(s.time_s)});
  }
  double others = 0.0;
  std::string names;
  for (std::size_t i = n; i < part.steps.size(); ++i) {
    others += part.steps[i].time_s;
    const std::string name = (i == n ? "" : ", ") + part.steps[i].name;
    if (names.size() + name.size() < 44 || names.ends_with("...")) {
      names += names.ends_with("...") ? "" : name;
    } else {
      names += ", ...";
    }
  }
  if (n < part.steps.size()) {
    rows.push_back({percent(others / part.time_s), cat(part.steps.size() - n, " more"), names,
                    "= " + time_text(others)});
  }
  return rows;
}

std::string part_text(const summary_part& part, bool as_markdown, std::size_t most) {
  std::string s;
  if (as_markdown) {
    s = cat("\n### ", part.name, " ", time_text(part.time_s), "\n\n");
    if (!part.what.empty()) s += part.what + ".\n\n";
    s += markdown(rows_of(part, true, most), "rllr") + "\n";
    for (const auto& a : part.amounts) s += cat("- ", a, "\n");
    const std::string limit = lifted_text(part);
    return limit.empty() ? s : s + cat("- ", limit, "\n");
  }
  s = styled(text_style::bold, wrapped(cat(part.name, " ", time_text(part.time_s),
                                           part.what.empty() ? "" : ", ", part.what),
                                       0));
  s += table(rows_of(part, false, most), "rlll");
  for (const auto& a : part.amounts) s += wrapped(a, 2);
  const std::string limit = lifted_text(part);
  return limit.empty() ? s : s + wrapped(limit, 2);
}

const result<double>* result_of(const outcome<>& answer, const std::string& key) {
  for (const auto& r : answer.results) {
    if (key == r.key) return &r;
  }
  return nullptr;
}
/// " (mean; p50 14.26 ms, p90 121.8 ms)", for a latency with percentiles.
std::string percentiles_text(const outcome<>& answer, const std::string& key) {
  const std::string stem = key.substr(0, key.size() - 2);
  const auto* middle = result_of(answer, stem + "_p50_s");
  const auto* tail = result_of(answer, stem + "_p90_s");
  if (middle == nullptr || tail == nullptr) return "";
  return cat(" (mean; p50 ", time_text(middle->value), ", p90 ", time_text(tail->value), ")");
}

/// Percentiles, interval and bound of a time.
std::string head_text(const outcome<>& answer) {
  std::string s;
  for (const auto& r : answer.results) {
    const std::string_view key = r.key;
    if (key != "time_s" && key != "itl_s" && key != "ttft_s") continue;
    if (key == "itl_s" && !answer.has_itl) {
      s += wrapped(cat(r.label, " none: one output token"), 2);
      continue;
    }
    std::string line =
        cat(r.label, " ", time_text(r.value), percentiles_text(answer, std::string(key)));
    if (answer.calibrated) {
      const calibrated_note& note = *answer.calibrated;
      const bool first = key == "ttft_s";
      const pm::time_range& range = first ? *note.first_token : note.range;
      line += cat(", 80 % within ", time_text(range.low.value()), " to ",
                  time_text(range.high.value()), " (sigma ",
                  percent(std::log(range.high.value() / range.low.value()) / (2.0 * pm::z90)), ")");
      for (const auto& b : note.bounds) {
        if (std::string_view(b.key) != (first ? "bound_ttft_s" : "bound_time_s")) continue;
        line += cat("; bound ", time_text(b.value), ", ", percent(b.value / r.value), " of it");
      }
    } else {
      line += cat(": a bound from data sheets", key == "time_s" ? ", nothing runs faster" : "");
    }
    s += wrapped(line, 2);
  }
  return s;
}

/// Distance of each step from the roots: 1 for these, 0 for unused steps.
std::vector<int> depths_of(const pm::derivation& d, const std::vector<bool>& roots) {
  std::vector<int> depth(d.steps.size(), 0);
  for (std::size_t i = d.steps.size(); i-- > 0;) {
    if (roots[i]) depth[i] = 1;
    if (depth[i] == 0) continue;
    for (const std::size_t j : d.steps[i].uses) {
      depth[j] = depth[j] == 0 ? depth[i] + 1 : std::min(depth[j], depth[i] + 1);
    }
  }
  return depth;
}
/// Steps that no other step uses; with a `result` the one among them with that value.
std::vector<bool> roots_of(const pm::derivation& d, const std::string& result) {
  std::vector<bool> roots(d.steps.size(), true);
  for (const pm::derivation_step& step : d.steps) {
    for (const std::size_t j : step.uses) roots[j] = false;
  }
  for (std::size_t i = d.steps.size(); i-- > 0;) {
    if (!roots[i] || d.steps[i].value != result) continue;
    roots.assign(d.steps.size(), false);
    roots[i] = true;
    break;
  }
  return roots;
}

/// A step with its whole name in a Markdown list, else relative to its part.
std::string step_text(const short_steps& all, const pm::derivation_step& step, std::size_t at,
                      bool as_markdown, std::string& part) {
  std::string line = as_markdown ? cat(step.name, " = ", step.formula)
                                 : cat(all.name_of(at), " = ", all.formula_of(at));
  if (step.numbers != step.formula && step.numbers != step.value) line += " = " + step.numbers;
  line += " = " + step.value;
  if (as_markdown) return cat("- ", line, "\n");
  const std::string above = part_line(all.part_of(at), part);
  return above + wrapped(line, part.empty() ? 2 : 4);
}
/// Adds the parts of long formulas that listed steps use.
void add_parts(const pm::derivation& d, std::vector<std::size_t>& order) {
  std::vector<bool> listed(d.steps.size(), false);
  for (const std::size_t i : order) listed[i] = true;
  for (std::size_t i = d.steps.size(); i-- > 0;) {  // users before what they use
    if (!listed[i]) continue;
    for (const std::size_t j : d.steps[i].uses) {
      if (d.steps[j].symbol == "part") listed[j] = true;
    }
  }
  order.clear();
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (listed[i]) order.push_back(i);
  }
}
/// Steps up to distance `deepest` from any result, or by default the few next to the first one.
std::string steps_text(const explanation& e, int deepest, bool as_markdown, std::size_t most) {
  const pm::derivation& d = e.derivation;
  const auto& first = e.answer.results.front();
  const std::string result = deepest > 0 ? "" : pm::to_string(first.value, first.unit, 4);
  const std::vector<int> depth = depths_of(d, roots_of(d, result));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < d.steps.size(); ++i) {
    if (depth[i] > 0 && (deepest == 0 || depth[i] <= deepest)) order.push_back(i);
  }
  if (deepest == 0 && order.size() > most) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return depth[a] < depth[b]; });
    order.resize(most);
    std::sort(order.begin(), order.end());
  }
  add_parts(d, order);
  const short_steps all(d);
  std::string s, part;
  for (const std::size_t i : order) s += step_text(all, d.steps[i], i, as_markdown, part);
  return s;
}

/// The sources of a derivation's inputs, each once.
std::vector<std::string> sources_of(const pm::derivation& d) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& i : d.inputs) {
    if (i.source == "given" || i.source == "default" || i.source.empty()) continue;
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const auto& x) { return x.second == i.source; });
    if (at == all.end()) {
      all.emplace_back(i.name, i.source);
    } else if (at->first.size() < 60) {
      at->first += ", " + i.name;
    } else if (!at->first.ends_with("...")) {
      at->first += ", ...";
    }
  }
  std::vector<std::string> out;
  for (const auto& [names, source] : all) out.push_back(cat(names, ": ", source));
  return out;
}

/// A source cut to one line.
std::string in_one_line(const std::string& text) {
  constexpr std::size_t room = terminal_columns - 6;
  if (text.size() <= room) return text;
  const std::size_t end = text.find_last_of(" ,;", room - 4);
  std::string cut = text.substr(0, end == text.npos ? room - 4 : end);
  while (cut.ends_with(',') || cut.ends_with(';') || cut.ends_with(':')) cut.pop_back();
  return cut + " ...";
}
std::string footnotes(const std::vector<std::string>& sources, bool as_markdown,
                      bool whole = false) {
  std::string s = sources.empty() ? "" : as_markdown ? "\nSources:\n\n" : "sources\n";
  for (std::size_t i = 0; i < sources.size(); ++i) {
    s += as_markdown ? cat(i + 1, ". ", sources[i], "\n")
         : whole     ? wrapped(cat("[", i + 1, "] ", sources[i]), 2)
                     : cat("  [", i + 1, "] ", in_one_line(sources[i]), "\n");
  }
  return as_markdown ? s : styled(text_style::dim, s);
}

/// Text of a result without styles, for lines that are cut.
std::string plain_outcome_text(const query& asked, const outcome<>& answer, const json& object) {
  const plain_text here;
  return outcome_text(asked, answer, object);
}

/// Explanation of a query without engine steps: its results, and the steps next to them.
std::string short_derivation(const query& asked, const explanation& e, const json& object,
                             const explain_options& options) {
  const bool whole = options.depth > 0;
  std::string head;
  const std::string results = plain_outcome_text(asked, e.answer, object);
  for (const std::string_view line : split(results, '\n')) {
    if (line.empty()) continue;
    head += (whole || options.markdown ? std::string(line) : in_one_line(std::string(line))) + "\n";
  }
  if (!options.markdown) {
    head = with_styled_sentence(e.answer.feasible ? text_style::bold : text_style::red, head);
    head += styled(text_style::bold, "steps next to the result\n");
  } else {
    head += "\nSteps:\n\n";
  }
  const std::string sources = footnotes(sources_of(e.derivation), options.markdown, whole);
  const auto steps = [&](std::size_t most) {
    return steps_text(e, options.depth, options.markdown, most);
  };
  const bool fits = !whole && !options.markdown;
  return head + (fits ? on_screen(steps, lines_of(head + sources)) : steps(most_steps)) + sources;
}

}  // namespace

std::string summary_text(const summary& s, bool as_markdown, std::size_t others) {
  const auto text_of = [&](std::size_t most) {
    std::string text;
    std::vector<std::string> said;
    for (summary_part p : s.parts) {
      std::erase_if(p.amounts, [&](const std::string& a) {
        return std::find(said.begin(), said.end(), a) != said.end();
      });
      said.insert(said.end(), p.amounts.begin(), p.amounts.end());
      text += part_text(p, as_markdown, most);
    }
    return text + footnotes(s.sources, as_markdown);
  };
  return as_markdown ? text_of(most_steps) : on_screen(text_of, others);
}

json summary_json(const summary& s) {
  json parts = json::array();
  for (const summary_part& p : s.parts) {
    json steps = json::array();
    for (const summary_step& x : p.steps) {
      steps.push_back({{"name", x.name},
                       {"how", x.how},
                       {"time_s", number_json("time_s", x.time_s)},
                       {"share", number_json("share", p.time_s > 0.0 ? x.time_s / p.time_s : 0.0)},
                       {"limit", x.limit}});
    }
    json one = {{"name", p.name},
                {"pass", p.what},
                {"time_s", number_json("time_s", p.time_s)},
                {"amounts", p.amounts},
                {"steps", std::move(steps)}};
    if (p.tokens != 1.0) one["tokens"] = number_json("tokens", p.tokens);
    if (!p.limit.empty()) {
      one["if_lifted"] = {{"limit", p.limit}, {"time_s", number_json("time_s", p.left_s)}};
      if (!p.next.empty()) {
        one["if_lifted"]["next"] = p.next;
        one["if_lifted"]["next_time_s"] = number_json("next_time_s", p.next_left_s);
      }
    }
    parts.push_back(std::move(one));
  }
  return {{"parts", std::move(parts)}, {"sources", s.sources}};
}

namespace {

/// The request at a sustainable rate; unchanged where it is not overloaded.
json at_sustained_rate(const json& object, const outcome<>& answer) {
  json there = object;
  if (is_overloaded(answer) && answer.facts.contains("near_saturation"))
    there["requests_per_s"] = answer.facts["near_saturation"]["requests_per_s"];
  return there;
}

/// The conclusion of an infeasible result, red at a terminal.
std::string conclusion_of(const outcome<>& answer, const explain_options& options) {
  const std::string text = conclusion_text(answer);
  return options.markdown ? text : with_styled_sentence(text_style::red, text);
}

}  // namespace

json explain_json(const query& asked, const json& object, const given_profile* profile) {
  const outcome<> answer = evaluate_closed_form(asked, object, profile);
  const json shown = at_sustained_rate(object, answer);
  const explanation e = explanation_of(asked, shown, profile);
  json out = {{"query", asked.name}};
  out.update(derivation_json(e.derivation));
  json result = outcome_json(shown == object ? e.answer : answer, object);
  const summary s = summary_of_steps(asked, shown, profile, result);
  if (!s.parts.empty()) out["summary"] = summary_json(s);
  if (shown != object) out["explained_at"] = {{"requests_per_s", shown["requests_per_s"]}};
  out["result"] = std::move(result);
  return out;
}

std::string explain_text(const query& asked, const json& object, const given_profile* profile,
                         const explain_options& options) {
  const outcome<> answer = evaluate_closed_form(asked, object, profile);
  const json shown = at_sustained_rate(object, answer);
  if (shown != object)
    return cat(conclusion_of(answer, options), "Breakdown at a sustainable rate:\n",
               explain_text(asked, shown, profile, options));
  if (options.all && !options.markdown)
    return explanation_text(asked, explanation_of(asked, object, profile), object);
  const json as_json = outcome_json(answer, object);  // refuses what is not finite
  const summary s = summary_of_steps(asked, object, profile, as_json);
  if (s.parts.empty() || options.depth > 0 || options.all) {
    explain_options deep = options;
    if (options.all) deep.depth = 1 << 20;
    const explanation e = explanation_of(asked, object, profile);
    return short_derivation(asked, e, object, deep);
  }
  std::string title = headline(asked, object);
  title.pop_back();
  std::string head = conclusion_of(answer, options);
  head += options.markdown || !answer.feasible ? wrapped(title, 0)
                                               : styled(text_style::bold, wrapped(title, 0));
  head += answer.feasible ? head_text(answer)
                          : std::string("  Times below are as if it were feasible.\n");
  const std::string more =
      options.markdown
          ? ""
          : styled(text_style::dim, "  --depth 3 has the steps behind these, --all every one.\n");
  return head + summary_text(s, options.markdown, lines_of(head + more)) + more;
}

}  // namespace napkin
