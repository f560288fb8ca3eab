// The step query with its request read once: for a scheduler, which asks for many steps of one
// deployment.
#pragma once

#include <optional>
#include <perfmodel/kernels/policy.hpp>
#include <perfmodel/step/deployment.hpp>

#include "profiles.hpp"
#include "request.hpp"

namespace napkin {

/// Engine steps of one deployment.
/// *Test*: the times of `napkin step` to 1e-12, over models, accelerators, batches and contexts.
class prepared_step {
 public:
  /// `object`: a request of `step` without batch, context and prefill_tokens. Throws the errors of
  /// the request, and inconsistent for these three keys and measured_s.
  explicit prepared_step(json object);
  prepared_step(const prepared_step&) = delete;  // the request refers to its object
  prepared_step& operator=(const prepared_step&) = delete;

  /// time_s of `step`, in s; empty where the step is infeasible. Throws what `step` throws. Safe to
  /// call from several threads at once.
  std::optional<double> operator()(double batch, double context, double prefill_tokens) const;

 private:
  json object_;
  request request_;
  perfmodel::deployment deployment_{};
  std::optional<perfmodel::calibrated> calibration_{};  ///< empty: bounds
  perfmodel::iteration iteration_{};
  double image_patches_ = 0.0;
};

}  // namespace napkin
