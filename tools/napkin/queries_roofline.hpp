// The roofline of an accelerator, with the operators of a model on it.
#pragma once

#include <perfmodel/step/deployment.hpp>
#include <perfmodel/step/operators.hpp>
#include <string>
#include <vector>

#include "outcome.hpp"
#include "policies.hpp"

namespace napkin {

/// All calls of one operator in an engine step, on one GPU.
struct roofline_operator {
  std::string name{};
  perfmodel::number_format format = perfmodel::bf16;
  double calls = 0.0, flop = 0.0, bytes = 0.0;
  double time_s = 0.0;    ///< predicted; at the bound: that of the roofline
  double bound_s = 0.0;   ///< roofline: max(bytes / DRAM bandwidth, FLOP / peak)
  bool by_memory = true;  ///< which of the two is longer
  double intensity() const { return bytes > 0.0 ? flop / bytes : 0.0; }
  /// "memory", "compute", or "launch" where the roofline explains less than a quarter of the time.
  const char* limiter() const {
    return bound_s < 0.25 * time_s ? "launch" : by_memory ? "memory" : "compute";
  }
};

/// Operators of a step in their order, grouped by name. `policy` null: times of the roofline.
std::vector<roofline_operator> operators_on_roofline(const perfmodel::deployment& d,
                                                     const perfmodel::iteration& i,
                                                     const perfmodel::calibrated* policy);

/// Text of a roofline from the query's facts: conclusion, then a table of at most 100 columns.
std::string roofline_page(const json& facts, const std::string& accelerator);

}  // namespace napkin
