#include "audit_law.hpp"

#include <algorithm>

#include "infeasible.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Keys that describe a claim and are not inputs of its query.
constexpr std::string_view claim_keys[] = {
    "query",  "id",   "statement", "source", "quantity",   "key",      "value",         "unit",
    "digits", "over", "minus",     "mode",   "conditions", "expected", "expected_slip", "relation"};

/// Results that are bounds although no query of a machine returns them.
struct bounded_key {
  std::string_view query, key;
  pm::result_kind kind;
};
constexpr bounded_key bounded_keys[] = {
    {"iron_law", "time_s", pm::result_kind::at_least},
    {"iron_law", "per_s", pm::result_kind::at_most},
    {"tensor_parallel", "time_s", pm::result_kind::at_least},
    {"tensor_parallel", "one_s", pm::result_kind::at_least},
    {"collective", "algbw_bytes_per_s", pm::result_kind::at_most},
    {"collective", "busbw_bytes_per_s", pm::result_kind::at_most},
    {"serving", "output_tokens_per_s", pm::result_kind::at_most},
    {"serving", "requests_per_s", pm::result_kind::at_most},
    {"littles_law", "accesses_per_s", pm::result_kind::at_most},
    {"serving", "ttft_s", pm::result_kind::at_least},
    {"serving", "itl_s", pm::result_kind::at_least},
    {"serving", "e2e_s", pm::result_kind::at_least},
};

pm::result_kind kind_of(const query& asked, const outcome<>& answer, std::string_view key) {
  for (const bounded_key& b : bounded_keys) {
    if (b.query == asked.name && b.key == key) return b.kind;
  }
  const bool of_a_machine = asked.part != profile_part::none;
  return of_a_machine && answer.is_time && key == "time_s" ? pm::result_kind::at_least
                                                           : pm::result_kind::exact;
}

}  // namespace

bool is_claim_key(std::string_view name) {
  return std::ranges::find(claim_keys, name) != std::end(claim_keys);
}

const query& quantity_of(const json& claim) {
  const auto at = claim.find("quantity");
  if (at == claim.end() || !at->is_string()) {
    throw error(code::missing_key, "quantity is missing; it names a query, such as \"gemm\"");
  }
  return find_query(at->get_ref<const std::string&>());
}

json question_of(const json& claim) {
  json q = json::object();
  if (const auto more = claim.find("conditions"); more != claim.end()) {
    if (!more->is_object())
      throw error(code::wrong_type, cat("conditions is ", brief(*more), "; allowed: an object"));
    q = *more;
  }
  const query& asked = quantity_of(claim);
  for (const auto& [name, v] : claim.items()) {
    if (is_claim_key(name) && asked.find(name) == nullptr) continue;
    if (name == "conditions") continue;
    q[name] = v;
  }
  q["query"] = asked.name;
  q["mode"] = claim.value("mode", "bound");
  return q;
}

namespace {

const result<double>* result_named(const outcome<>& of, std::string_view key) {
  const auto at = std::ranges::find_if(of.results, [&](const auto& r) { return key == r.key; });
  return at == of.results.end() ? nullptr : &*at;
}
double value_of(const outcome<>& of, std::string_view key) {
  const result<double>* r = result_named(of, key);
  return r == nullptr ? 0.0 : r->value;
}
std::optional<double> bound_named(const calibrated_note& note, std::string_view key) {
  for (const auto& b : note.bounds) {
    if (key == b.key) return b.value;
  }
  return {};
}

/// Ends of an interval over its prediction.
struct relative_range {
  double low = 1.0, high = 1.0;
};
relative_range relative(const pm::time_range& r, double value) {
  return {r.low.value() / value, r.high.value() / value};
}
/// Interval of a whole request: that of its first token, and of its other tokens.
relative_range whole_request(const outcome<>& of, const relative_range& first,
                             const relative_range& token) {
  const double e2e = value_of(of, "e2e_s"), ttft = value_of(of, "ttft_s");
  const double share = e2e > 0.0 ? std::clamp(ttft / e2e, 0.0, 1.0) : 0.0;
  return {share * first.low + (1.0 - share) * token.low,
          share * first.high + (1.0 - share) * token.high};
}

/// Prediction of a calibrated result, where it has an interval. Rates have that of the time that
/// they are the reciprocal of; percentiles that of their mean, and no bound.
std::optional<pm::prediction_range> prediction_of(const outcome<>& of, const result<double>& r) {
  if (!of.calibrated || !(r.value > 0.0)) return {};
  const calibrated_note& note = *of.calibrated;
  const std::string_view key = r.key;
  const double time = std::max(value_of(of, "time_s"), value_of(of, "itl_s"));
  if (!(time > 0.0)) return {};
  const relative_range token = relative(note.range, time);
  const auto scaled = [&](const relative_range& x) {
    return pm::prediction_range{r.value, r.value * x.low, r.value * x.high};
  };
  if (key == "time_s" || key == "itl_s") {
    pm::prediction_range p = scaled(token);
    p.least = bound_named(note, "bound_time_s");
    return p;
  }
  const bool rate = key.ends_with("_per_s");
  if (!note.first_token) {
    if (!rate) return {};
    pm::prediction_range p = scaled({1.0 / token.high, 1.0 / token.low});
    if (const auto least = bound_named(note, "bound_time_s"); least && *least > 0.0)
      p.most = r.value * time / *least;
    return p;
  }
  const relative_range first = relative(*note.first_token, value_of(of, "ttft_s"));
  const relative_range whole = whole_request(of, first, token);
  if (key.starts_with("ttft_")) {
    pm::prediction_range p = scaled(first);
    if (key == "ttft_s") p.least = bound_named(note, "bound_ttft_s");
    return p;
  }
  if (key.starts_with("itl_")) return scaled(token);
  if (key.starts_with("e2e_")) {
    pm::prediction_range p = scaled(whole);
    if (key == "e2e_s") p.least = bound_named(note, "bound_e2e_s");
    return p;
  }
  if (key == "requests_per_s" || key == "output_tokens_per_s")
    return scaled({1.0 / whole.high, 1.0 / whole.low});
  return {};
}

/// Least time of a result of a service at bounds: what one engine step cannot beat.
std::optional<double> least_of(const outcome<>& of, std::string_view key) {
  if (key == "itl_s") return of.least_itl;
  if (key == "ttft_s") return of.least_ttft;
  return key == "e2e_s" ? of.least_e2e : std::nullopt;
}

law_value pick(const query& asked, const outcome<>& answer, const std::string& wanted) {
  law_value a;
  a.feasible = !answer.has_feasibility || answer.feasible;
  a.reason = answer.reason;
  a.limiter = answer.limiter;
  for (const auto& r : answer.results) {
    if (std::string_view(r.key) == "bytes") a.bytes = r.value;
  }
  a.overloaded = is_overloaded(answer);
  if (wanted == "feasible") {
    a.value = a.feasible ? 1.0 : 0.0;
    a.feasible = true;
    a.key = wanted;
    return a;
  }
  const result<double>* found = nullptr;
  for (const auto& r : answer.results) {
    if (wanted.empty() ? std::string_view(r.key) == "time_s" : wanted == r.key) found = &r;
  }
  if (found == nullptr && wanted.empty() && !answer.results.empty())
    found = &answer.results.front();
  if (found == nullptr) {
    throw error(code::unknown_key,
                cat("key is ", in_quotes(wanted), ", which is not a result of ", asked.name,
                    "; allowed: ", listed(answer.results, [](const auto& r) { return r.key; }),
                    ", feasible"));
  }
  a.value = found->value;
  a.unit = found->unit;
  a.key = found->key;
  a.kind = kind_of(asked, answer, found->key);
  if (a.kind == pm::result_kind::at_least) a.bound = least_of(answer, a.key);
  a.predicted = prediction_of(answer, *found);
  return a;
}

/// Whether a capacity depends on what an engine reserves, which is an estimate.
bool is_estimated_capacity(const json& question, std::string_view key) {
  if (question.value("query", "") != std::string_view("kv_capacity")) return false;
  if (key != "tokens" && key != "sequences" && key != "blocks" && key != "kv_bytes_available")
    return false;
  const auto by = question.find("engine");
  return by != question.end() && *by != "none" && !question.contains("activation_bytes") &&
         !question.contains("runtime_bytes");
}

law_value one_result(const json& claim, const json& question, const given_profile* profile) {
  const query& asked = quantity_of(claim);
  std::string wanted;
  if (const auto k = claim.find("key"); k != claim.end()) {
    if (!k->is_string())
      throw error(code::wrong_type, "key is not text; allowed: the name of a result");
    wanted = k->get<std::string>();
  }
  law_value a = pick(asked, evaluate(asked, question, profile), wanted);
  if (is_estimated_capacity(question, a.key)) {
    json whole = question;  // no engine fits more than without any reserve
    for (const char* reserve : {"activation_bytes", "runtime_bytes"}) whole[reserve] = 0;
    whole["utilization"] = 1;
    a.kind = pm::result_kind::at_most;
    a.bound = pick(asked, evaluate(asked, whole, profile), a.key).value;
  }
  return a;
}

}  // namespace

law_value answer_to(const json& claim, const json& question, const given_profile* profile) {
  law_value a = one_result(claim, question, profile);
  for (const char* how : {"over", "minus"}) {
    const auto at = claim.find(how);
    if (at == claim.end()) continue;
    if (!at->is_object()) {
      throw error(code::wrong_type, cat(how, " is ", brief(*at),
                                        "; allowed: an object with quantity, key and its keys"));
    }
    const law_value b = one_result(*at, question_of(*at), profile);
    a.kind = pm::result_kind::exact;
    a.bound.reset();
    a.predicted.reset();
    if (std::string_view(how) == "minus") {
      a.value -= b.value;
      continue;
    }
    if (b.value == 0.0) throw error(error_code::out_of_range, "over is 0; allowed: not 0");
    a.value /= b.value;
    for (std::size_t i = 0; i < a.unit.power.size(); ++i) {
      a.unit.power[i] = static_cast<signed char>(a.unit.power[i] - b.unit.power[i]);
    }
  }
  return a;
}

}  // namespace napkin
