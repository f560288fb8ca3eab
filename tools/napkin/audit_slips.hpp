// The mistakes behind a claim: those of the table, searched in the law, and numbers carried on from other claims.
#pragma once

#include <string>
#include <vector>

#include "audit_law.hpp"

namespace napkin {

/// A claim with its law's answer.
struct answered_claim {
  json claim{}, question{};
  perfmodel::claimed_value said{};
  law_answer law{};
  perfmodel::verdict found = perfmodel::verdict::reproduced;
  json needed = json::array();  ///< of a wrong one, see needed_of
};

/// Claims of one list, in its order: a text's wrong number comes back in what it computes from it.
class earlier_claims {
 public:
  static constexpr std::size_t most = 10000;

  void add(const answered_claim& c) {
    if (all_.size() < most) all_.push_back(c);
  }
  const std::vector<answered_claim>& all() const { return all_; }

 private:
  std::vector<answered_claim> all_{};
};

/// In words, the likeliest first; more than one where it cannot be told which was made. What does not fit
/// has only that it was not asked whether it does.
std::vector<std::string> slips_of(const answered_claim& c, const earlier_claims* before,
                                  const given_profile* profile);

/// What each input would have to be, the three nearest. Of a range, for the end that is nearer.
json needed_of(const answered_claim& c, const given_profile* profile);

}  // namespace napkin
