// Likely errors behind a claim: those of the table, searched in the law, and numbers propagated
// from other claims.
#pragma once

#include <string>
#include <vector>

#include "audit_law.hpp"

namespace napkin {

/// A claim with its law's result.
struct checked_claim {
  json claim{}, question{};
  perfmodel::claimed_value said{};
  law_value law{};
  perfmodel::verdict found = perfmodel::verdict::reproduced;
  json needed = json::array();  ///< inputs that would give a wrong claim's value, see needed_of
};

/// Claims of one list, in order: later numbers may be computed from an earlier wrong one.
class earlier_claims {
 public:
  static constexpr std::size_t most = 10000;

  void add(const checked_claim& c) {
    if (all_.size() < most) all_.push_back(c);
  }
  const std::vector<checked_claim>& all() const { return all_; }

 private:
  std::vector<checked_claim> all_{};
};

/// Likely errors in words, likeliest first; several where they cannot be distinguished. An
/// infeasible claim has one: memory capacity was not checked.
std::vector<std::string> likely_errors_of(const checked_claim& c, const earlier_claims* before,
                                          const given_profile* profile);

/// Values that each input would need, the three nearest; for a range, for its nearer end.
json needed_of(const checked_claim& c, const given_profile* profile);

/// Settings, each by itself, with which an impossible claim breaks no bound: the widest 8-bit or
/// 4-bit weight format, and the smallest tensor-parallel size.
json possible_with(const checked_claim& c, const given_profile* profile);

}  // namespace napkin
