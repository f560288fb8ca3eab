// What a law says of a claim: the question that the claim asks, and the number that answers it.
#pragma once

#include <perfmodel/tools/audit/audit.hpp>
#include <string>

#include "query.hpp"

namespace napkin {

/// One number of an answer, or a quotient or difference of two.
struct law_answer {
  double value = 0.0;
  perfmodel::unit_exponents unit{};
  perfmodel::result_kind kind = perfmodel::result_kind::exact;
  bool feasible = true;
  std::string key{}, reason{};
  perfmodel::limiter limiter = perfmodel::limiter::none;
  double bytes = 0.0;
};

/// A key that says something of a claim, and is none of its question.
bool is_claim_key(std::string_view name);
/// The query that a claim, or what it is divided by, names.
const query& quantity_of(const json& claim);
/// The keys of the question: those beside the claim's own, and those of `conditions`.
json question_of(const json& claim);
/// With `over` a quotient and with `minus` a difference of two answers.
law_answer answer_to(const json& claim, const json& question, const given_profile* profile);

}  // namespace napkin
