// The text of an explanation: the answer on one screen, and as much of the derivation as is asked for.
#include "summary.hpp"

#include <algorithm>
#include <cmath>
#include <perfmodel/units/text.hpp>

#include "output.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr std::size_t width = 100, most_steps = 10;
constexpr double most_of_it = 0.95;

std::string time_text(double seconds) {
  return pm::to_string(seconds, {{1, 0, 0, 0, 0, 0, 0}}, 4);
}
std::string words(double share) {
  return cat(fixed(100.0 * share, 1), " %");
}

}  // namespace

std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out, line(indent, ' ');
  for (const std::string_view word : split(text, ' ')) {
    if (line.size() + word.size() + 1 > width && line.find_first_not_of(' ') != line.npos) {
      out += line + "\n";
      line.assign(indent + 4, ' ');
    }
    if (line.find_first_not_of(' ') != line.npos) line += ' ';
    line += word;
  }
  return out + line + "\n";
}

namespace {

/// How many of the steps make most of it.
std::size_t shown_of(const summary_part& part) {
  double sum = 0.0;
  std::size_t n = 0;
  while (n < part.steps.size() && n < most_steps && (n < 3 || sum < most_of_it * part.time_s)) {
    sum += part.steps[n++].time_s;
  }
  return n;
}

/// The times that resources limit, largest first.
std::vector<std::pair<std::string, double>> limits_of(const summary_part& part) {
  std::vector<std::pair<std::string, double>> all;
  for (const auto& s : part.steps) {
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const auto& x) { return x.first == s.limit; });
    if (at == all.end()) {
      all.emplace_back(s.limit, s.time_s);
    } else {
      at->second += s.time_s;
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return all;
}
/// Amdahl's law: without what limits most, the rest is left.
std::string lifted_text(const summary_part& part) {
  const auto limits = limits_of(part);
  if (limits.empty()) return {};
  const double left = part.time_s - limits.front().second;
  std::string s =
      cat("limit: ", limits.front().first, ", ", words(limits.front().second / part.time_s));
  if (limits.size() < 2 || !(left > 1e-9 * part.time_s)) return s;
  return s + cat("; were it lifted, ", time_text(left), " are left (", fixed(part.time_s / left, 2),
                 " x at most), then ", limits[1].first, " limits: ", time_text(limits[1].second));
}

table_rows rows_of(const summary_part& part, bool header) {
  table_rows rows;
  if (header) rows.push_back({"share", "step", "by hand", "time"});
  const std::size_t n = shown_of(part);
  for (std::size_t i = 0; i < n; ++i) {
    const summary_step& s = part.steps[i];
    rows.push_back({words(s.time_s / part.time_s), s.name, s.how, "= " + time_text(s.time_s)});
  }
  double others = 0.0;
  for (std::size_t i = n; i < part.steps.size(); ++i) others += part.steps[i].time_s;
  if (n < part.steps.size()) {
    rows.push_back({words(others / part.time_s), cat(part.steps.size() - n, " more"), "",
                    "= " + time_text(others)});
  }
  return rows;
}

std::string part_text(const summary_part& part, bool as_markdown) {
  std::string s;
  if (as_markdown) {
    s = cat("\n### ", part.name, " ", time_text(part.time_s), "\n\n");
    if (!part.what.empty()) s += part.what + ".\n\n";
    s += markdown(rows_of(part, true), "rllr") + "\n";
    for (const auto& a : part.amounts) s += cat("- ", a, "\n");
    return s + cat("- ", lifted_text(part), "\n");
  }
  s = wrapped(cat(part.name, " ", time_text(part.time_s), part.what.empty() ? "" : ", ", part.what),
              0);
  s += table(rows_of(part, false), "rlll");
  for (const auto& a : part.amounts) s += wrapped(a, 2);
  return s + wrapped(lifted_text(part), 2);
}

/// Beside the answer: bound, interval, limit.
std::string head_text(const outcome<>& answer) {
  std::string s;
  for (const auto& r : answer.results) {
    const std::string_view key = r.key;
    if (key != "time_s" && key != "itl_s" && key != "ttft_s") continue;
    s += cat("  ", r.label, " ", time_text(r.value));
    if (answer.calibrated) {
      const calibrated_note& note = *answer.calibrated;
      const bool first = key == "ttft_s";
      const pm::time_range& range = first ? *note.first_token : note.range;
      s += cat(", 80 % within ", time_text(range.low.value()), " to ",
               time_text(range.high.value()));
      for (const auto& b : note.bounds) {
        if ((std::string_view(b.key) == "bound_ttft_s") != first) continue;
        s += cat("; bound ", time_text(b.value), ", ", words(b.value / r.value), " of it");
      }
    } else {
      s += ": a bound from data sheets, nothing runs faster";
    }
    s += "\n";
  }
  if (answer.has_feasibility && !answer.feasible) s += wrapped("not feasible: " + answer.reason, 2);
  return s;
}

/// How far each step is from the roots: 1 for these, 0 for what they do not use.
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
/// The steps that no other uses; with a `result` the one among them of that value.
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

std::string step_text(const pm::derivation_step& step, bool as_markdown) {
  std::string line = step.name + " = " + step.formula;
  if (step.numbers != step.formula && step.numbers != step.value) line += " = " + step.numbers;
  line += " = " + step.value;
  return as_markdown ? cat("- ", line, "\n") : wrapped(line, 2);
}
/// Those up to `deepest` from any result, or without it the few next to the first of them.
std::string steps_text(const explanation& e, int deepest, bool as_markdown) {
  const pm::derivation& d = e.derivation;
  const auto& first = e.answer.results.front();
  const std::string result = deepest > 0 ? "" : pm::to_string(first.value, first.unit, 4);
  const std::vector<int> depth = depths_of(d, roots_of(d, result));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < d.steps.size(); ++i) {
    if (depth[i] > 0 && (deepest == 0 || depth[i] <= deepest)) order.push_back(i);
  }
  if (deepest == 0 && order.size() > most_steps) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return depth[a] < depth[b]; });
    order.resize(most_steps);
    std::sort(order.begin(), order.end());
  }
  std::string s;
  for (const std::size_t i : order) s += step_text(d.steps[i], as_markdown);
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

std::string footnotes(const std::vector<std::string>& sources, bool as_markdown) {
  std::string s = sources.empty() ? "" : as_markdown ? "\nSources:\n\n" : "sources\n";
  for (std::size_t i = 0; i < sources.size(); ++i) {
    s += as_markdown ? cat(i + 1, ". ", sources[i], "\n")
                     : wrapped(cat("[", i + 1, "] ", sources[i]), 2);
  }
  return s;
}

/// Of a query without a pass: its results, and the steps next to them.
std::string short_derivation(const query& asked, const explanation& e, const json& object,
                             const explain_options& options) {
  std::string s = answer_text(asked, e.answer, object);
  s += options.markdown ? "\nSteps:\n\n" : "steps next to the result\n";
  s += steps_text(e, options.depth, options.markdown);
  return s + footnotes(sources_of(e.derivation), options.markdown);
}

}  // namespace

std::string summary_text(const summary& s, bool as_markdown) {
  std::string text;
  std::vector<std::string> said;
  for (summary_part p : s.parts) {
    std::erase_if(p.amounts, [&](const std::string& a) {
      return std::find(said.begin(), said.end(), a) != said.end();
    });
    said.insert(said.end(), p.amounts.begin(), p.amounts.end());
    text += part_text(p, as_markdown);
  }
  return text + footnotes(s.sources, as_markdown);
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
    const auto limits = limits_of(p);
    if (limits.size() > 1) {
      one["if_lifted"] = {{"limit", limits[0].first},
                          {"time_s", number_json("time_s", p.time_s - limits[0].second)},
                          {"next", limits[1].first}};
    }
    parts.push_back(std::move(one));
  }
  return {{"parts", std::move(parts)}, {"sources", s.sources}};
}

json explain_json(const query& asked, const json& object, const given_profile* profile) {
  const explanation e = explanation_of(asked, object, profile);
  json out = {{"query", asked.name}};
  out.update(derivation_json(e.derivation));
  json result = answer_json(e.answer, object);
  const summary s = summary_of_passes(asked, object, profile, result);
  if (!s.parts.empty()) out["summary"] = summary_json(s);
  out["result"] = std::move(result);
  return out;
}

std::string explain_text(const query& asked, const json& object, const given_profile* profile,
                         const explain_options& options) {
  if (options.all && !options.markdown)
    return explanation_text(asked, explanation_of(asked, object, profile), object);
  const outcome<> answer = answer_of(asked, object, profile);
  const json as_json = answer_json(answer, object);  // refuses what is not finite
  const summary s = summary_of_passes(asked, object, profile, as_json);
  if (s.parts.empty() || options.depth > 0 || options.all) {
    explain_options deep = options;
    if (options.all) deep.depth = 1 << 20;
    const explanation e = explanation_of(asked, object, profile);
    return short_derivation(asked, e, object, deep);
  }
  std::string title = headline(asked, object);
  title.pop_back();
  return wrapped(title, 0) + head_text(answer) + summary_text(s, options.markdown) +
         (options.markdown ? "" : "  --depth 3 has the steps behind these, --all every one.\n");
}

}  // namespace napkin
