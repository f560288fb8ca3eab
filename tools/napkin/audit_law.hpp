// The law behind a claim: the query that it asks, and the number that the law gives.
#pragma once

#include <perfmodel/tools/audit/audit.hpp>
#include <string>

#include "query.hpp"

namespace napkin {

/// One number of a result, or a quotient or difference of two.
struct law_value {
  double value = 0.0;
  perfmodel::unit_exponents unit{};
  perfmodel::result_kind kind = perfmodel::result_kind::exact;
  bool feasible = true;
  bool overloaded = false;  ///< infeasible for its arrival rate
  std::string key{}, reason{};
  perfmodel::limiter limiter = perfmodel::limiter::none;
  double bytes = 0.0;
  /// Bound of the result, where it is not the result itself: of a service, one engine step.
  std::optional<double> bound{};
  /// Prediction with its interval, in calibrated mode.
  std::optional<perfmodel::prediction_range> predicted{};
};

/// Whether a key describes the claim and is not an input of its query.
bool is_claim_key(std::string_view name);
/// The query named by a claim, or by its divisor.
const query& quantity_of(const json& claim);
/// Inputs of the query: top-level keys without those of the claim itself, and those of
/// `conditions`.
json question_of(const json& claim);
/// The result; with `over` a quotient, with `minus` a difference of two results.
law_value answer_to(const json& claim, const json& question, const given_profile* profile);

}  // namespace napkin
