#include "require.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "io/amount.hpp"
#include "io/text_style.hpp"
#include "numeric_facts.hpp"
#include "output.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

struct wanted {
  std::string key{};
  double limit = 0.0;
  bool at_least = false;  ///< a rate
};

/// Options of targets, and the results that they limit.
constexpr std::pair<std::string_view, const char*> target_options[] = {
    {"itl", "itl_s"}, {"tpot", "itl_s"},  {"ttft", "ttft_s"},
    {"e2e", "e2e_s"}, {"time", "time_s"}, {"throughput", "output_tokens_per_s"}};

std::vector<wanted> targets_in(const json& object, const similar_requests& answers) {
  const auto at = object.find("targets");
  if (at == object.end() || !at->is_object() || at->empty()) {
    throw error(code::missing_key,
                "targets are missing; require needs one: itl, ttft, e2e, time or throughput, such "
                "as --itl 10ms or {\"targets\":{\"itl_s\":0.01}}");
  }
  const request& base = answers.base();
  const bool has_outputs = answers.asked().find("output_tokens") != nullptr;
  if (at->contains("itl_s") && has_outputs && base.has("output_tokens") &&
      !(base.number("output_tokens") > 1.0))
    throw error(error_code::inconsistent,
                "output_tokens is 1, and itl is a target: one token has no inter-token latency; "
                "allowed: targets of ttft, e2e or throughput");
  std::vector<wanted> all;
  const outcome<> now = answers(answers.base_object());
  for (const auto& [name, x] : at->items()) {
    std::vector<std::string_view> names;
    for (const auto& r : now.results) names.push_back(r.key);
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw error(error_code::unknown_name, cat("targets has ", in_quotes(name), "; results of ",
                                                answers.asked().name, ": ", listed(names)));
    if (!x.is_number() || !(x.get<double>() > 0.0))
      throw error(code::wrong_type,
                  cat("targets.", name, " is ", brief(x), "; allowed: a number above 0"));
    const bool rate = name.ends_with("_per_s") || name == "batch" || name == "sequences" ||
                      name == "tokens" || name == "blocks";
    all.push_back({name, x.get<double>(), rate});
  }
  return all;
}

/// Search over one fact.
class fact_search {
 public:
  fact_search(const similar_requests& answers, const json& of, const std::vector<wanted>& targets,
              const numeric_input& fact)
      : answers_(answers), of_(of), targets_(targets), fact_(fact) {}

  double value_at(double factor) const {
    return fact_.whole ? std::max(1.0, std::round(fact_.value * factor)) : fact_.value * factor;
  }
  std::optional<double> result(const wanted& t, double factor) const {
    json there = of_;
    there["set"][fact_.name] = fact_value(fact_, value_at(factor));
    return feasible_result(answers_, there, t.key);
  }
  bool met(double factor) const {
    return std::all_of(targets_.begin(), targets_.end(), [&](const wanted& t) {
      const auto x = result(t, factor);
      return x && (t.at_least ? *x >= t.limit : *x <= t.limit);
    });
  }
  /// The factor nearest to 1 in one direction at which the targets are met (`looking_for`), or are
  /// not met any more; none up to a factor of a million, or the limit of the fact.
  std::optional<double> change(bool up, bool looking_for) const {
    double near_end = 1.0;
    for (int i = 1; i <= 60; ++i) {
      const double far_end = std::pow(10.0, (up ? 0.1 : -0.1) * i);
      if (met(far_end) != looking_for) {
        near_end = far_end;
        continue;
      }
      return between(near_end, far_end, looking_for);
    }
    return {};
  }
  /// The factor of the best result of the missed targets in one direction; 1 where none is better.
  double best(bool up) const {
    double factor = 1.0, least = misses(1.0);
    for (int i = 1; i <= 60; ++i) {
      const double there = std::pow(10.0, (up ? 0.1 : -0.1) * i);
      const double missed = misses(there);
      if (missed < least) {
        least = missed;
        factor = there;
      }
    }
    return factor;
  }

 private:
  /// The largest ratio by which a target is missed.
  double misses(double factor) const {
    double worst = 0.0;
    for (const wanted& t : targets_) {
      const auto x = result(t, factor);
      if (!x) return std::numeric_limits<double>::infinity();
      worst = std::max(worst, t.at_least ? t.limit / *x : *x / t.limit);
    }
    return worst;
  }
  double between(double near_end, double far_end, bool looking_for) const {
    while (std::fabs(far_end / near_end - 1.0) > 1e-9) {
      const double middle = std::sqrt(near_end * far_end);
      if (fact_.whole && value_at(middle) == value_at(near_end) &&
          value_at(far_end) - value_at(near_end) < 1.5)
        break;
      (met(middle) == looking_for ? far_end : near_end) = middle;
    }
    return looking_for ? far_end : near_end;
  }

  const similar_requests& answers_;
  const json& of_;
  const std::vector<wanted>& targets_;
  const numeric_input& fact_;
};

json results_at(const fact_search& s, const std::vector<wanted>& targets, double factor) {
  json all = json::object();
  for (const wanted& t : targets) {
    const auto x = s.result(t, factor);
    all[t.key] = x ? number_json(t.key.c_str(), *x) : json();
  }
  return all;
}
/// Whether a change moves no target by a millionth.
bool has_no_effect(const json& now, const json& there) {
  for (const auto& [key, x] : now.items()) {
    const json& y = there[key];
    if (x.is_null() != y.is_null()) return false;
    if (!x.is_null() && std::fabs(y.get<double>() / x.get<double>() - 1.0) > 1e-6) return false;
  }
  return true;
}
/// Whether less of a fact is better: latencies.
bool falls(const std::string& fact) {
  return fact.ends_with("latency");
}
/// Facts that no time depends on.
bool is_idle(const std::string& fact) {
  return fact == "price" || fact == "tdp" || fact.ends_with("energy_per_byte");
}

/// What a fact must be for all targets, or how far it leads; none where it has no effect.
std::optional<json> line_of(const similar_requests& answers, const json& of,
                            const std::vector<wanted>& targets, const numeric_input& fact, bool met,
                            const json& now) {
  const fact_search search(answers, of, targets, fact);
  const bool up = met == falls(fact.name);  // better where a target is missed, else worse
  const auto factor = search.change(up, !met);
  json line = {{"fact", fact.name}, {"now", fact_value(fact, fact.value)}};
  if (!factor) {
    const double most = search.best(up);
    const json there = results_at(search, targets, most);
    if (has_no_effect(now, there)) return {};
    line["needed"] = nullptr;
    line["at_most"] = {{"factor", number_json("factor", most)}, {"results", there}};
  } else {
    line["needed"] = fact_value(fact, search.value_at(*factor));
    line["factor"] = number_json("factor", search.value_at(*factor) / fact.value);
    line["results"] = results_at(search, targets, *factor);
  }
  return line;
}

}  // namespace

json require_json(const json& object, const given_profile* profile) {
  const json& of = request_within(object, {"query", "id", "of", "targets"});
  const query& asked = query_of(of);
  if (asked.find("accelerator") == nullptr)
    throw error(error_code::inconsistent,
                cat("require changes facts of an accelerator, and ", asked.name,
                    " has none; allowed: step, serving, gemm ..."));
  const similar_requests answers(asked, of, profile);
  const std::vector<wanted> targets = targets_in(object, answers);
  const std::vector<numeric_input> facts = numeric_facts_of(answers.base());
  json out = json::object();
  if (object.contains("id")) out["id"] = object["id"];
  out["query"] = "require";
  json list = json::array();
  bool met = true, exists = true;
  for (const wanted& t : targets) {
    const auto x = feasible_result(answers, of, t.key);
    const bool holds = x && (t.at_least ? *x >= t.limit : *x <= t.limit);
    met = met && holds;
    exists = exists && x.has_value();
    list.push_back({{"key", t.key},
                    {"limit", number_json("limit", t.limit)},
                    {"at_least", t.at_least},
                    {"value", x ? number_json("value", *x) : json()},
                    {"met", holds}});
  }
  out["targets"] = std::move(list);
  out["met"] = met;
  if (!exists) out["reason"] = answers(of).reason;
  out["facts"] = json::array();
  out["no_effect"] = json::array();
  json now = json::object();
  for (const json& t : out["targets"]) now[t["key"].get<std::string>()] = t["value"];
  std::vector<json> lines;
  for (const numeric_input& fact : facts) {
    if (is_idle(fact.name) || !(fact.value > 0.0)) continue;
    if (auto line = line_of(answers, of, targets, fact, met, now)) {
      lines.push_back(std::move(*line));
    } else {
      out["no_effect"].push_back(fact.name);
    }
  }
  const auto effort = [](const json& l) {
    return l.contains("factor") ? std::fabs(std::log(l["factor"].get<double>())) : 1e9;
  };
  std::stable_sort(lines.begin(), lines.end(),
                   [&](const json& a, const json& b) { return effort(a) < effort(b); });
  for (json& l : lines) out["facts"].push_back(std::move(l));
  out["mode"] = answers(of).calibrated ? "calibrated" : "bound";
  return out;
}

namespace {

std::string label_of(std::string_view key) {
  for (const auto& [name, label] : {std::pair<std::string_view, const char*>{"itl_s", "ITL"},
                                    {"ttft_s", "TTFT"},
                                    {"e2e_s", "end-to-end latency"},
                                    {"time_s", "time"},
                                    {"output_tokens_per_s", "output tokens/s"}}) {
    if (name == key) return label;
  }
  return std::string(key);
}
/// "5.21 TB/s" of a fact's value with all its digits.
std::string fact_text(const json& v) {
  if (v.is_number()) return perfmodel::detail::significant(v.get<double>(), 4);
  std::string_view rest;
  const auto x = parse_number(v.get_ref<const std::string&>(), rest);
  return x ? perfmodel::detail::significant(*x, 4) + std::string(rest) : v.get<std::string>();
}
std::string results_line(const json& results) {
  std::string s;
  for (const auto& [key, x] : results.items()) {
    s += cat(s.empty() ? "" : ", ", label_of(key), " ",
             x.is_null() ? std::string("infeasible") : result_text(key, x.get<double>()));
  }
  return s;
}

}  // namespace

std::string require_text(const json& found) {
  const bool met = found["met"];
  std::string s;
  for (const json& t : found["targets"]) {
    const std::string key = t["key"];
    const std::string limit = cat("target ", t["at_least"].get<bool>() ? "at least " : "at most ",
                                  result_text(key, t["limit"].get<double>()));
    s += cat(s.empty() ? "" : "; ", label_of(key));
    s += t["value"].is_null()
             ? cat(": ", limit)
             : cat(" is ", result_text(key, t["value"].get<double>()), ", ", limit);
  }
  std::string first = s + ".";
  if (found.contains("reason"))
    first = cat("Infeasible as asked: ", found["reason"].get<std::string>(), ". ", first);
  table_rows rows{{"fact", "now", met ? "down to" : "needed", "times", "result there"}};
  table_rows not_alone{{"fact", "now", "best result"}};
  for (const json& f : found["facts"]) {
    const std::string name = f["fact"];
    if (f["needed"].is_null()) {
      not_alone.push_back({name, fact_text(f["now"]), results_line(f["at_most"]["results"])});
    } else {
      rows.push_back({name, fact_text(f["now"]), fact_text(f["needed"]),
                      perfmodel::detail::significant(f["factor"].get<double>(), 3),
                      results_line(f["results"])});
    }
  }
  if (met) {
    first += rows.size() > 1 ? " Met; each fact alone may change as far as this:" : " Met.";
  } else if (rows.size() == 1) {
    first += " No single fact of the accelerator meets it.";
  } else {
    first += cat(" ", rows[1][0], " of ", rows[1][2], " (", rows[1][3], " times) would meet it",
                 rows.size() > 2 ? ", or one of the others below." : "; no other fact alone.");
  }
  s = styled(found.contains("reason") ? text_style::red : text_style::bold, wrapped(first, 0));
  if (rows.size() > 1) s += headed_table(rows, "lrrrl");
  if (not_alone.size() > 1 && !met) {
    s += "Not by one of these alone, however far it changes:\n" + headed_table(not_alone, "lrl");
  }
  if (!found["no_effect"].empty()) {
    const auto& all = found["no_effect"];
    const std::string names = listed(all, [](const json& x) { return x.get<std::string>(); });
    s += styled(text_style::dim,
                wrapped(cat(met ? "No limit here: " : "No gain here: ", names, "."), 0));
  }
  return s;
}

require_line require_from_command_line(const std::vector<std::string>& words) {
  std::vector<std::string_view> own;
  for (const auto& [option, key] : target_options) own.push_back(option);
  query_words said = words_of_query(words, own);
  require_line out;
  out.profile = said.profile;
  out.as_json = said.as_json;
  out.object = {{"query", "require"}, {"targets", json::object()}};
  const bool is_step = said.request["query"] == "step";
  for (const auto& [option, text] : said.own) {
    std::string key;
    for (const auto& [name, result] : target_options) {
      if (name == option) key = result;
    }
    if (is_step && key == "itl_s") key = "time_s";
    const napkin::key of_value =
        key.ends_with("_per_s") ? positive("throughput", "") : time_limit(key.c_str(), "");
    json value = from_command_line(&of_value, text, "--" + option);
    if (!value.is_number() || !(value.get<double>() > 0.0))
      throw error(code::wrong_type, cat("--", option, " is ", in_quotes(text),
                                        "; allowed: a number above 0, a time with its unit"));
    if (out.object["targets"].contains(key))
      throw error(error_code::inconsistent, cat("two targets of ", key, "; allowed: one"));
    out.object["targets"][key] = std::move(value);
  }
  put_request(out.object, std::move(said.request));
  return out;
}

}  // namespace napkin
