#include "sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "infeasible.hpp"
#include "io/amount.hpp"
#include "io/text_style.hpp"
#include "numeric_facts.hpp"
#include "output.hpp"
#include "query_words.hpp"
#include "summary.hpp"
#include "uncertainty.hpp"

namespace napkin {

namespace {

constexpr double small_step = 1e-4;                     ///< relative step of a continuous number
constexpr double no_end = perfmodel::detail::infinity;  ///< unbounded time

void add_keys(std::vector<numeric_input>& all, const query& asked, const request& r) {
  for (const key& k : asked.keys) {
    const bool number = k.kind == key_kind::number || k.kind == key_kind::numbers;
    const value& v = r.at(k.name);
    if (!number || !v.present || !v.numbers.empty() ||
        std::string_view(k.name).starts_with("measured"))
      continue;
    all.push_back({k.name, false, k.range.whole, v.number, ""});
  }
}

/// The request with another value of that input.
json with(json object, const numeric_input& x, const json& value) {
  if (x.is_fact) {
    object["set"][x.name] = value;
  } else {
    object[x.name] = value;
  }
  return object;
}
json with_number(const json& object, const numeric_input& x, double value) {
  return with(object, x, x.is_fact ? fact_value(x, value) : json(value));
}

/// The analysed result.
class chosen_result {
 public:
  chosen_result(const json& object, const outcome<>& answer) {
    std::vector<std::string_view> names;
    for (const auto& r : answer.results) names.push_back(r.key);
    const auto holds = [&](std::string_view name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    const auto at = object.find("key");
    if (at == object.end()) {
      for (const char* usual : {answer.has_itl ? "itl_s" : "ttft_s", "time_s"}) {
        if (holds(usual)) name_ = usual;
      }
      if (name_.empty() && !names.empty()) name_ = names.front();
    } else {
      if (!at->is_string() || !holds(at->get_ref<const std::string&>())) {
        throw error(error_code::unknown_name,
                    cat("key is ", brief(*at), "; allowed: ", listed(names)));
      }
      name_ = at->get<std::string>();
    }
    if (name_.empty()) throw error(error_code::unknown_name, "the query has no numeric result");
  }
  const std::string& name() const { return name_; }
  /// The value; none for a time of an infeasible result.
  std::optional<double> of(const outcome<>& answer) const {
    for (const auto& r : answer.results) {
      if (name_ == r.key) return value_in(answer, r);
    }
    throw error(error_code::inconsistent, cat(name_, " is not a result of this request"));
  }

 private:
  std::string name_{};
};

/// The result at a value of an input; nothing where the request is refused or infeasible there.
std::optional<double> result_at(const similar_requests& answers, const chosen_result& result,
                                const json& object, const numeric_input& x, double value) {
  try {
    const auto y = result.of(answers(with_number(object, x, value)));
    return y && std::isfinite(*y) && *y > 0.0 ? y : std::nullopt;
  } catch (const error&) {
    return {};
  }
}

/// d ln(result) / d ln(input) between two values of the input.
struct slope {
  double elasticity = 0.0, low = 0.0, high = 0.0;
};
std::optional<slope> slope_between(const similar_requests& answers, const chosen_result& result,
                                   const json& object, const numeric_input& x, double low,
                                   double high) {
  if (!(low > 0.0) || !(high > low)) return {};
  const auto a = result_at(answers, result, object, x, low);
  const auto b = result_at(answers, result, object, x, high);
  if (!a || !b) return {};
  return slope{std::log(*b / *a) / std::log(high / low), low, high};
}
/// Ranks and replicas: powers of two.
bool is_degree(const numeric_input& x) {
  return x.name.ends_with("_parallel") || x.name.ends_with("ranks") || x.name.ends_with("replicas");
}
/// Slope from a small step. Kernel times step with tiles and splits, so a whole number changes by 5
/// % up and down, or by one.
std::optional<slope> slope_of(const similar_requests& answers, const chosen_result& result,
                              const json& object, const numeric_input& x) {
  const double v = x.value;
  if (!(v > 0.0)) return {};
  const auto between = [&](double low, double high) {
    return slope_between(answers, result, object, x, low, high);
  };
  if (!x.whole) {
    if (const auto s = between(v * (1.0 - small_step), v * (1.0 + small_step))) return s;
    if (const auto s = between(v * (1.0 - small_step), v)) return s;
  }
  if (!is_degree(x)) {
    const double some = std::max(1.0, std::round(0.05 * v));
    for (const auto& [low, high] : {std::pair{v - some, v + some}, {v, v + some}}) {
      if (const auto s = between(low, high)) return s;
    }
  }
  for (const auto& [low, high] : {std::pair{0.5 * v, 2.0 * v}, {v, 2.0 * v}, {0.5 * v, v}}) {
    if (const auto s = between(low, high)) return s;
  }
  return {};
}

/// Relative change of the result for a given change of an input, by evaluation. A whole number is
/// rounded; nothing where that is another step, or the request is refused there.
struct effect {
  double share = 0.0, value = 0.0, elasticity = 0.0;
};
std::optional<effect> effect_of(const similar_requests& answers, const chosen_result& result,
                                const json& object, const numeric_input& x, double now,
                                double more) {
  const double there = x.whole ? std::max(x.value + 1.0, std::round((1.0 + more) * x.value))
                               : (1.0 + more) * x.value;
  if (!(now > 0.0) || !(std::fabs(there / x.value - 1.0 - more) < 0.3 * more)) return {};
  const auto y = result_at(answers, result, object, x, there);
  if (!y) return {};
  return effect{*y / now - 1.0, there, std::log(*y / now) / std::log(there / x.value)};
}
/// Whether two slopes agree: within 0.02 and 15 %, with the same sign.
bool agree(double a, double b) {
  const double larger = std::max(std::fabs(a), std::fabs(b));
  return std::fabs(a - b) <= 0.02 + 0.15 * larger && (larger < 5e-4 || !(a * b < 0.0));
}

/// An input's local slope, and the effect of 1 % and 10 % more. Where these disagree, there is a
/// tile edge, a ceiling or a kink between, and the elasticity is that of 10 %.
std::optional<json> line_of(const similar_requests& answers, const chosen_result& result,
                            const json& object, const numeric_input& x, double now) {
  std::optional<slope> s = slope_of(answers, result, object, x);
  if (!s) return {};
  const auto some = effect_of(answers, result, object, x, now, 0.01);
  const auto much = effect_of(answers, result, object, x, now, 0.1);
  const double local = s->elasticity;
  const bool steps = much && (!agree(local, much->elasticity) ||
                              (some && !agree(some->elasticity, much->elasticity)));
  if (steps) s = slope{much->elasticity, x.value, much->value};
  const auto rounded = [](const char* name, double e) {
    return number_json(name, std::fabs(e) < 1e-9 ? 0.0 : e);
  };
  json line = {{"input", x.name}, {"elasticity", rounded("elasticity", s->elasticity)}};
  if (much) line["ten_percent_more"] = number_json("ten_percent_more", much->share);
  if (some) line["one_percent_more"] = number_json("one_percent_more", some->share);
  if (steps) {
    line["steps"] = true;
    line["local_elasticity"] = rounded("local_elasticity", local);
  }
  if (x.whole) line["between"] = {s->low, s->high};
  return line;
}
/// Effect of 10 % more, or the elasticity where 10 % more is impossible: the sort key of lines.
double weight_of(const json& line) {
  return std::fabs(line.contains("ten_percent_more")
                       ? line["ten_percent_more"].get<double>()
                       : std::expm1(line["elasticity"].get<double>() * std::log(1.1)));
}

json elasticities_of(const similar_requests& answers, const chosen_result& result,
                     const json& object, const std::vector<numeric_input>& inputs) {
  std::vector<json> all;
  const std::optional<double> now = result.of(answers(object));
  if (!now) return json::array();
  for (const numeric_input& x : inputs) {
    if (auto line = line_of(answers, result, object, x, *now)) all.push_back(std::move(*line));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const json& a, const json& b) { return weight_of(a) > weight_of(b); });
  return all;
}

const numeric_input& named_input(const std::vector<numeric_input>& inputs, const std::string& name,
                                 const char* where) {
  std::vector<std::string_view> names;
  for (const numeric_input& x : inputs) {
    if (x.name == name) return x;
    names.push_back(x.name);
  }
  throw error(code::unknown_key,
              cat(where, ".", name, " is not a number of the request; did you mean ",
                  nearest(name, names), "?"));
}

/// Two ends of a range: numbers, or texts with units for a fact.
std::pair<json, json> ends_of(const json& range, const numeric_input& x, const char* where) {
  const bool two = range.is_array() && range.size() == 2;
  const auto fits = [&](const json& v) { return v.is_number() || (x.is_fact && v.is_string()); };
  if (!two || !fits(range[0]) || !fits(range[1])) {
    throw error(code::wrong_type, cat(where, ".", x.name, " is ", brief(range),
                                      "; allowed: a list of two values, least first"));
  }
  return {range[0], range[1]};
}
double number_of(const json& v) {
  std::string_view rest;
  return v.is_number() ? v.get<double>()
                       : parse_number(v.get_ref<const std::string&>(), rest).value_or(0.0);
}

std::string rest_of(const json& v) {
  std::string_view rest;
  parse_number(v.get_ref<const std::string&>(), rest);
  return std::string(rest);
}

/// Values of one input at which `state` of a request changes.
template <class State>
json changes_along(const json& object, const numeric_input& x, const json& range,
                   const State& state) {
  const auto [low, high] = ends_of(range, x, "crossover");
  const double from = number_of(low), to = number_of(high);
  const auto unit_of = [&](const json& v) { return v.is_number() ? x.rest : rest_of(v); };
  const std::string unit = unit_of(low);
  if (!(from > 0.0) || !(to > from) || unit_of(high) != unit) {
    throw error(code::wrong_type,
                cat("crossover.", x.name, " is ", write_json(range),
                    "; allowed: two numbers above 0 in one unit, the lesser first"));
  }
  constexpr int points = 64;
  const auto value_at = [&](double v) {
    return x.is_fact && !unit.empty() ? json(perfmodel::detail::significant(v, 17) + " " + unit)
                                      : json(v);
  };
  const auto at = [&](double v) { return state(with(object, x, value_at(v))); };
  const auto place = [&](int i) {
    const double v = from * std::pow(to / from, static_cast<double>(i) / points);
    return x.whole ? std::round(v) : v;
  };
  json found = json::array();
  double a = place(0);
  std::string there = at(a);
  for (int i = 1; i <= points; ++i) {
    const double b = place(i);
    if (b == a) continue;
    const std::string here = at(b);
    double low_end = a, high_end = b;
    if (here != there) {
      while (high_end - low_end > (x.whole ? 1.0 : 1e-9 * high_end)) {
        const double middle =
            x.whole ? std::floor(0.5 * (low_end + high_end)) : 0.5 * (low_end + high_end);
        if (middle <= low_end || middle >= high_end) break;
        (at(middle) == there ? low_end : high_end) = middle;
      }
      found.push_back({{"input", x.name},
                       {"value", number_json("value", high_end)},
                       {"from", there},
                       {"to", here}});
    }
    a = b;
    there = here;
  }
  return found;
}

/// Throws inconsistent where one of two results is a prediction and the other a bound.
void require_same_mode(const outcome<>& now, const outcome<>& against) {
  const auto kind = [](const outcome<>& o) { return o.calibrated ? "prediction" : "bound"; };
  if (now.calibrated.has_value() == against.calibrated.has_value()) return;
  throw error(error_code::inconsistent,
              cat("against compares a ", kind(now), " with a ", kind(against),
                  "; allowed: mode bound, or calibrated where both can be predicted"));
}

json crossovers_of(const similar_requests& answers, const chosen_result& result, const json& object,
                   const std::vector<numeric_input>& inputs, const json& asked,
                   const given_profile* profile) {
  json ranges = asked["crossover"];
  if (!ranges.is_object() || ranges.empty()) {
    throw error(code::wrong_type,
                cat("crossover is ", brief(ranges), "; allowed: an object, {\"batch\":[1,512]}"));
  }
  std::optional<similar_requests> others;
  json other = object;
  if (asked.contains("against")) {
    if (!asked["against"].is_object()) {
      throw error(code::wrong_type, cat("against is ", brief(asked["against"]),
                                        "; allowed: an object, {\"accelerator\":\"h200_sxm\"}"));
    }
    for (const auto& [name, v] : asked["against"].items()) other[name] = v;
    others.emplace(answers.asked(), other, profile);
    require_same_mode(answers(object), (*others)(other));
  }
  json all = json::array();
  for (const auto& [name, range] : ranges.items()) {
    const numeric_input& x = named_input(inputs, name, "crossover");
    const json found = changes_along(object, x, range, [&](const json& there) -> std::string {
      const outcome<> answer = answers(there);
      if (!others) return answer.is_time ? perfmodel::name_of(answer.limiter) : "";
      json over = other;
      if (!x.is_fact) over[x.name] = there[x.name];  // a fact belongs to the first accelerator
      const double here = result.of(answer).value_or(no_end);
      const double there_s = result.of((*others)(over)).value_or(no_end);
      return here <= there_s ? "this one is faster" : "the other is faster";
    });
    for (const json& c : found) all.push_back(c);
  }
  return all;
}

/// Least and largest result where each named input is at either end of its range.
json what_if_of(const similar_requests& answers, const chosen_result& result, const json& object,
                const std::vector<numeric_input>& inputs, const json& ranges) {
  if (!ranges.is_object() || ranges.empty() || ranges.size() > 8) {
    throw error(code::wrong_type, cat("what_if is ", brief(ranges),
                                      "; allowed: an object of 1 to 8 ranges, "
                                      "{\"dram.bandwidth\":[\"3 TB/s\",\"4 TB/s\"]}"));
  }
  std::vector<std::pair<const numeric_input*, std::pair<json, json>>> named;
  for (const auto& [name, range] : ranges.items()) {
    const numeric_input& x = named_input(inputs, name, "what_if");
    named.push_back({&x, ends_of(range, x, "what_if")});
  }
  const auto of = [&](const json& changed) { return result.of(answers(changed)).value_or(no_end); };
  const auto written = [](const char* key, double x) -> json {
    return x < no_end ? number_json(key, x) : json();
  };
  const auto high_of = [](const json& x) {
    return x["high"].is_null() ? no_end : x["high"].get<double>();
  };
  std::vector<json> single;
  for (const auto& [x, ends] : named) {
    const double a = of(with(object, *x, ends.first)), b = of(with(object, *x, ends.second));
    single.push_back({{"input", x->name},
                      {"low", written("low", std::min(a, b))},
                      {"high", written("high", std::max(a, b))}});
  }
  // Ranges without an end come first.
  const auto width_of = [&](const json& x) {
    const double high = high_of(x);
    return high < no_end ? high - x["low"].get<double>() : high;
  };
  std::stable_sort(single.begin(), single.end(),
                   [&](const json& a, const json& b) { return width_of(a) > width_of(b); });
  double least = 0.0, most = 0.0;
  for (std::size_t corner = 0; corner < (std::size_t{1} << named.size()); ++corner) {
    json changed = object;
    for (std::size_t i = 0; i < named.size(); ++i) {
      const auto& [x, ends] = named[i];
      changed = with(changed, *x, (corner >> i) % 2 == 0 ? ends.first : ends.second);
    }
    const double y = of(changed);
    least = corner == 0 ? y : std::min(least, y);
    most = corner == 0 ? y : std::max(most, y);
  }
  return {{"low", written("low", least)}, {"high", written("high", most)}, {"single", single}};
}

void check_keys(const json& object) {
  constexpr std::string_view allowed[] = {"query",     "id",      "of",     "key",
                                          "crossover", "against", "what_if"};
  for (const auto& [name, v] : object.items()) {
    if (std::find(std::begin(allowed), std::end(allowed), name) == std::end(allowed)) {
      throw error(code::unknown_key, cat("unknown key ", in_quotes(name),
                                         " of sensitivity; allowed: ", listed(allowed)));
    }
  }
  if (!object.contains("of")) {
    throw error(code::missing_key,
                "of is missing; sensitivity needs it: a request, {\"query\":\"step\", ...}");
  }
  if (!object["of"].is_object()) {
    throw error(code::wrong_type, cat("of is ", brief(object["of"]), "; allowed: a request"));
  }
  if (object.contains("against") && !object.contains("crossover")) {
    throw error(code::missing_key,
                "crossover is missing; against needs it: along which input, {\"batch\":[1,512]}");
  }
}

/// Remark on a line.
std::string remark(const json& line) {
  if (line.contains("steps")) return "steps here";
  if (line.contains("ten_percent_more") || !line.contains("between")) return "";
  const double low = line["between"][0], high = line["between"][1];
  const double e = line["elasticity"];
  return cat("from ", perfmodel::detail::significant(low, 6), " to ",
             perfmodel::detail::significant(high, 6), ": ",
             signed_percent(std::expm1(e * std::log(high / low))));
}
/// Whether a line is negligible: no slope, and no effect of 1 % or 10 % more.
bool is_flat(const json& line) {
  const auto small = [&](const char* key, double most) {
    return !line.contains(key) || std::fabs(line[key].get<double>()) < most;
  };
  return small("elasticity", 5e-4) && small("ten_percent_more", 5e-5) &&
         small("one_percent_more", 5e-6);
}

std::string elasticities_table(const json& lines) {
  const auto percent = [](const json& line, const char* key) {
    return line.contains(key) ? signed_percent(line[key].get<double>()) : std::string("-");
  };
  table_rows rows{{"of", "10 % more", "1 % more", "elasticity", ""}};
  std::size_t flat = 0;
  for (const json& line : lines) {
    if (is_flat(line)) {
      ++flat;
      continue;
    }
    rows.push_back({line["input"].get<std::string>(), percent(line, "ten_percent_more"),
                    percent(line, "one_percent_more"), fixed(line["elasticity"].get<double>(), 3),
                    remark(line)});
  }
  const std::string others =
      flat > 0 ? cat("  and ", flat, " inputs without effect there\n") : std::string();
  return headed_table(rows, "lrrrl") + styled(text_style::dim, others);
}

}  // namespace

json sensitivity_json(const json& object, const given_profile* profile) {
  check_keys(object);
  const json& of = object["of"];
  const query& asked = query_of(of);
  const similar_requests answers(asked, of, profile);
  const outcome<> now = answers(of);
  const chosen_result result(object, now);
  std::vector<numeric_input> inputs = numeric_facts_of(answers.base());
  add_keys(inputs, asked, answers.base());
  json out = json::object();
  if (object.contains("id")) out["id"] = object["id"];
  out["key"] = result.name();
  const std::optional<double> value = result.of(now);
  out["value"] = value ? number_json("value", *value) : json();
  if (!value) {
    out["feasible"] = false;
    out["reason"] = now.reason;
    out["conclusion"] = conclusion_text(now);
  }
  out["elasticities"] = elasticities_of(answers, result, of, inputs);
  if (object.contains("crossover"))
    out["crossovers"] = crossovers_of(answers, result, of, inputs, object, profile);
  if (object.contains("what_if"))
    out["what_if"] = what_if_of(answers, result, of, inputs, object["what_if"]);
  if (now.calibrated && value) {
    const auto c = calibration_of_request(asked, answers.base(), mode_in(of));
    out["interval"] =
        result.name() == std::string_view("ttft_s") && now.calibrated->first_token
            ? uncertainty_json({"ttft_s",
                                now.calibrated->first_token->low.value(),
                                now.calibrated->first_token->high.value(),
                                {}})
            : uncertainty_json(uncertainty_parts_of(now, c ? &*c : nullptr, asked.part));
  }
  out["mode"] = now.calibrated ? "calibrated" : "bound";
  return out;
}

std::string sensitivity_text(const json& object, const json& found) {
  const std::string key = found["key"];
  const auto number = [](const json& x) {
    return x.is_null() ? std::string("infeasible")
                       : perfmodel::detail::significant(x.get<double>(), 4);
  };
  const auto result = [&](const json& x) {
    return x.is_null() ? std::string("infeasible") : result_text(key, x.get<double>());
  };
  std::string s;
  if (found.contains("conclusion"))
    s = with_styled_sentence(text_style::red, found["conclusion"].get<std::string>());
  s += styled(text_style::bold,
              cat(query_of(object["of"]).name, ": ", key, " ", result(found["value"]), "\n"));
  if (!found["value"].is_null()) s += elasticities_table(found["elasticities"]);
  if (found.contains("interval")) s += uncertainty_text(found["interval"]);
  if (found.contains("crossovers")) {
    if (found["crossovers"].empty()) s += "  no crossover in this range\n";
    for (const json& c : found["crossovers"]) {
      s += cat("  at ", c["input"].get<std::string>(), " ", number(c["value"]), ": ",
               c["from"].get<std::string>(), " -> ", c["to"].get<std::string>(), "\n");
    }
  }
  if (found.contains("what_if")) {
    const json& w = found["what_if"];
    s += cat("  what if: ", result(w["low"]), " to ", result(w["high"]), "\n");
    for (const json& one : w["single"]) {
      s += cat("    ", one["input"].get<std::string>(), " only: ", result(one["low"]), " to ",
               result(one["high"]), "\n");
    }
  }
  return s;
}

void add_range(json& ranges, const char* option, std::string_view text) {
  const std::size_t equals = text.find('='), dots = text.find("..");
  if (equals == text.npos || equals == 0 || dots == text.npos || dots <= equals + 1 ||
      dots + 2 >= text.size()) {
    throw error(code::wrong_type,
                cat(option, " is ", in_quotes(text), "; allowed: name=least..most, batch=1..512"));
  }
  const std::string name(text.substr(0, equals));
  const bool fact_in_time = is_time_fact(name);
  const auto end = [&](std::string_view x) -> json {
    if (fact_in_time && lacks_unit(x))
      throw error(code::wrong_type, cat(option, " ", name, " is ", two_readings(x, "ns")));
    std::string_view rest;
    const auto number = parse_number(x, rest);
    return number && rest.empty() ? json(*number) : json(std::string(x));
  };
  if (ranges.contains(name))
    throw error(error_code::inconsistent, cat(option, " has ", in_quotes(name), " twice"));
  ranges[name] = {end(text.substr(equals + 1, dots - equals - 1)), end(text.substr(dots + 2))};
}

void add_other(json& others, const query& asked, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
    throw error(code::wrong_type,
                cat("against is ", in_quotes(text), "; allowed: key=value, accelerator=h200_sxm"));
  }
  const std::string name(text.substr(0, equals));
  const key* k = asked.find_spelled(name);
  others[k == nullptr ? name : k->name] =
      from_command_line(k, std::string(text.substr(equals + 1)));
}

}  // namespace napkin
