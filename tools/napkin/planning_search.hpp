// Searches of a plan, on one thread: a second one gains little (docs/benchmarks.md). A search takes
// a compiler 0.3 GB, so predictions and bounds have a source each.
#pragma once

#include <chrono>
#include <iostream>
#include <vector>

#include "planning_points.hpp"

namespace napkin {

/// Source of calibrations for plan(): an accelerator and an engine to their fitted parameters.
inline auto policy_of(const std::vector<plan_calibration>& all) {
  return
      [&all](const perfmodel::accelerator& a, perfmodel::engine e) -> const perfmodel::calibrated& {
        return calibration_at(all, a.name, e).profiles.calibration;
      };
}

/// Number of deployments evaluated, each second, on stderr.
class progress_line {
 public:
  explicit progress_line(bool shown) : shown_(shown) {}
  void operator()(long done) {
    if (!shown_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::seconds(1)) return;
    last_ = now;
    std::cerr << "napkin: " << done << " deployments evaluated" << std::endl;
  }

 private:
  bool shown_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// perfmodel::plan under calibrations.
perfmodel::plan_result search_predictions(const perfmodel::plan_request& q,
                                          const std::vector<plan_calibration>& calibrations,
                                          bool shows_progress);
/// perfmodel::plan_bound.
perfmodel::plan_result search_bounds(const perfmodel::plan_request& q, bool shows_progress);

}  // namespace napkin
