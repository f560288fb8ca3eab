// Which parts of an answer make its interval as wide as it is.
#pragma once

#include <string>
#include <vector>

#include "query.hpp"

namespace napkin {

/// A part of a time: what share of the time it is, how wide its own interval is (log_sigma), and its share of
/// the width of the whole.
struct width_part {
  std::string name{};
  double time_share = 0.0, log_sigma = 0.0, width_share = 0.0;
};
struct width_parts {
  std::string of{};                 ///< the result that it is around
  double low = 0.0, high = 0.0;     ///< of the whole: 80 %
  std::vector<width_part> parts{};  ///< widest share first; the shares sum to 1
};

/// Of the time_s of a prediction, or of a service's itl_s; no parts of a bound, nor of a time to first token. Kernels are off together, over the
/// layers and over each other, as their interval takes it: t_i s_i / sum t_j s_j, the part's time and its
/// log_sigma. Engine and scheduler err by themselves, so that shares are of the variance: (kernel_sigma_share s)^2
/// of the kernels together, and the rest. docs/laws/sensitivity.md.
/// Test: tests/cli/sensitivity.sh: the shares sum to 1, go as time times width, and give the interval again.
width_parts width_parts_of(const outcome<>& answer, const calibration* c, profile_part part);
json width_json(const width_parts& w);
std::string width_text(const json& interval);  ///< what width_json gives, as a line

}  // namespace napkin
