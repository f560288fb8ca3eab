// Contributions of the parts of a result to its uncertainty.
#pragma once

#include <string>
#include <vector>

#include "query.hpp"

namespace napkin {

/// A part of a time: its share of the time, its own uncertainty (log_sigma), and its share of the
/// total uncertainty.
struct uncertainty_part {
  std::string name{};
  double time_share = 0.0, log_sigma = 0.0, uncertainty_share = 0.0;
};
struct uncertainty_parts {
  std::string of{};                       ///< result that the interval belongs to
  double low = 0.0, high = 0.0;           ///< 80 % interval of the total
  std::vector<uncertainty_part> parts{};  ///< largest share first; the shares sum to 1
};

/// Uncertainty of the time_s of a prediction, or of a service's itl_s; no parts for a bound or a
/// TTFT. Kernel errors are fully correlated across layers and kinds: share t_i s_i / sum t_j s_j,
/// from the part's time and its log_sigma. Engine and scheduler errors are independent of these, so
/// shares are of the variance: (kernel_sigma_share s)^2 of the kernels, and the rest.
/// docs/laws/sensitivity.md. Test: tests/cli/sensitivity.sh: the shares sum to 1, are proportional
/// to time times uncertainty, and reproduce the interval.
uncertainty_parts uncertainty_parts_of(const outcome<>& answer, const calibration* c,
                                       profile_part part);
json uncertainty_json(const uncertainty_parts& w);
std::string uncertainty_text(
    const json& interval);  ///< the line of text of uncertainty_json's object

}  // namespace napkin
