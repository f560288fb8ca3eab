// Latencies of the services that `advise` compares. They have a source of their own: the laws of
// services take a compiler 0.3 GB.
#pragma once

#include <perfmodel/kernels/policy.hpp>
#include <perfmodel/tools/advise/adviser.hpp>

namespace napkin {

/// A service with each engine step at its bound.
perfmodel::service_evaluator bound_evaluator();
/// A predicted service. The policy must outlive the evaluator.
perfmodel::service_evaluator calibrated_evaluator(const perfmodel::calibrated& policy);

}  // namespace napkin
