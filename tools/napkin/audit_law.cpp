#include "audit_law.hpp"

#include <algorithm>

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Keys that say something of a claim, and are none of its question.
constexpr std::string_view claim_keys[] = {
    "query",  "id",   "statement", "source", "quantity",   "key",      "value",        "unit",
    "digits", "over", "minus",     "mode",   "conditions", "expected", "expected_slip"};

/// Answers that are bounds though no query of a machine gives them.
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

law_answer pick(const query& asked, const outcome<>& answer, const std::string& wanted) {
  law_answer a;
  a.feasible = !answer.has_feasibility || answer.feasible;
  a.reason = answer.reason;
  a.limiter = answer.limiter;
  for (const auto& r : answer.results) {
    if (std::string_view(r.key) == "bytes") a.bytes = r.value;
  }
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
    throw error(
        code::unknown_key,
        cat("key is ", in_quotes(wanted), ", which ", asked.name, " does not answer; allowed: ",
            listed(answer.results, [](const auto& r) { return r.key; }), ", feasible"));
  }
  a.value = found->value;
  a.unit = found->unit;
  a.key = found->key;
  a.kind = kind_of(asked, answer, found->key);
  return a;
}

law_answer one_answer(const json& claim, const json& question, const given_profile* profile) {
  const query& asked = quantity_of(claim);
  std::string wanted;
  if (const auto k = claim.find("key"); k != claim.end()) {
    if (!k->is_string())
      throw error(code::wrong_type, "key is no text; allowed: a name of an answer");
    wanted = k->get<std::string>();
  }
  return pick(asked, answer_of(asked, question, profile), wanted);
}

}  // namespace

law_answer answer_to(const json& claim, const json& question, const given_profile* profile) {
  law_answer a = one_answer(claim, question, profile);
  for (const char* how : {"over", "minus"}) {
    const auto at = claim.find(how);
    if (at == claim.end()) continue;
    if (!at->is_object()) {
      throw error(code::wrong_type, cat(how, " is ", brief(*at),
                                        "; allowed: an object with quantity, key and its keys"));
    }
    const law_answer b = one_answer(*at, question_of(*at), profile);
    a.kind = pm::result_kind::exact;
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
