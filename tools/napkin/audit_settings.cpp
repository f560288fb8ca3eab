// Settings that a claim may have left out: with them, what its bound forbids is possible.
#include <string_view>

#include "audit_errors.hpp"

namespace pm = perfmodel;

namespace napkin {

json possible_with(const checked_claim& c, const given_profile* profile) {
  json out = json::array();
  const query& asked = quantity_of(c.claim);
  if (c.claim.contains("over") || c.claim.contains("minus")) return out;
  const auto is_possible = [&](std::string_view key, const json& setting) {
    if (asked.find(key) == nullptr) return false;
    json question = c.question;
    question[std::string(key)] = setting;
    question["mode"] = "bound";
    try {
      const law_value a = answer_to(c.claim, question, profile);
      return a.feasible && pm::verdict_of(c.said, a.bound.value_or(a.value), a.kind, true) !=
                               pm::verdict::impossible;
    } catch (const error&) {
      return false;  // a setting that this model or accelerator does not have
    }
  };
  const auto add_first = [&](std::string_view key, std::initializer_list<json> settings) {
    for (const json& setting : settings) {
      if (!is_possible(key, setting)) continue;
      out.push_back({{"key", key}, {"value", setting}});
      return;
    }
  };
  add_first("weight_format", {"fp8", "int4"});
  add_first("tensor_parallel", {2, 4, 8});
  return out;
}

}  // namespace napkin
