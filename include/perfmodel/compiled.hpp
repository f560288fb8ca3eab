// Declarations of steps and services over double. Link perfmodel::compiled, which defines them.
#pragma once

#include <perfmodel/core/estimate.hpp>
#include <perfmodel/kernels/policy.hpp>
#include <perfmodel/serving/disaggregated.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/serving/serving_estimate.hpp>
#include <perfmodel/step/deployment.hpp>

/// Functions over double that are compiled once. A file that includes this header in place of
/// step.hpp, serving.hpp and calibrated_for.hpp compiles several times as fast.
/// Test: results equal bit by bit (tests/consumer/compiled).
namespace perfmodel::inline v0_3::compiled {

/// perfmodel::calibrated_for(a, e, r).
calibrated calibrated_for(const accelerator& a, engine e = engine::none,
                          engine_release r = engine_release::latest);
/// perfmodel::step(d, i, policy).
estimate step(const deployment& d, const iteration& i, const calibrated& policy);
/// perfmodel::step_bound(d, i).
estimate step_bound(const deployment& d, const iteration& i);
/// perfmodel::serving(d, l, policy).
serving_estimate serving(const deployment& d, const service_load& l, const calibrated& policy);
/// perfmodel::serving_bound(d, l).
serving_estimate serving_bound(const deployment& d, const service_load& l);
/// perfmodel::serving(d, l, policy) of pools.
disaggregated_estimate serving(const disaggregated& d, const service_load& l,
                               const calibrated& policy);
/// perfmodel::serving_bound(d, l) of pools.
disaggregated_estimate serving_bound(const disaggregated& d, const service_load& l);

}  // namespace perfmodel::inline v0_3::compiled
