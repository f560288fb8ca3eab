// Time of one engine step of a deployment: decode, prefill, or both.
#pragma once

// Included first, so that a wrong policy gives a short error.
#include <perfmodel/laws/execution.hpp>

#include <perfmodel/step/memory.hpp>
#include <perfmodel/step/step_times.hpp>

namespace perfmodel::inline v0_3 {

/// Sum over the operators of a step. Activation bytes are left out: a bound may keep them on the
/// chip.
template <Scalar T>
constexpr basic_step_demand<T> demand_of_step(const basic_deployment<T>& d,
                                              const basic_iteration<T>& i) {
  detail::check_deployment(d);
  detail::check_iteration(i);
  const engine_formats formats = formats_of(d);
  return detail::demand_of_rank(detail::rank_step<T>{d, i, formats});
}

/// Bound of an engine step: T = max((weights + cache) / BW, FLOP / R, vector FLOP / R_v) +
/// communication, on one device; weights + cache is every byte that cannot stay on the chip.
/// With a pipeline it is the time of one token through all stages while every stage is busy.
/// Terms: weights, kv_cache, compute, vector, communication. An infeasible deployment has its time
/// and a reason.
/// Source: the decode roofline of Pope et al., "Efficiently scaling transformer inference", MLSys
/// 2023 (arXiv 2211.05102), section 3.
/// Leaves out: sampling, scheduling, CPU time. Errors: formats the device lacks, an impossible
/// layout, an empty iteration.
/// Tests: 70B bf16 batch 1 at 3.35 TB/s is 41.5 ms plus its cache; halves over 2 ranks less the
/// communication; grows with batch, context and prefill tokens.
template <Scalar T, class Cost = full_link>
constexpr basic_estimate<T> step_bound(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                       const Cost& links = {}) {
  detail::check_deployment(d);
  detail::check_iteration(i);
  basic_estimate<T> e = detail::bound_of_step(d, i, links);
  e.feasible = detail::step_fits(d, i);
  return e;
}

/// Prediction of an engine step under a policy: T = sum over operators of their time +
/// communication. An operator takes the time of the policy's own model, else its roofline, launches
/// included.
/// A policy that also prices collectives, as a calibration does, is the only argument; another
/// needs `links`, else links run at full bandwidth.
/// Terms: linear, attention, experts, other, host, communication. An engine adds its CPU time, and
/// its ranks' skew to communication.
/// Element-wise kernels (rotary embeddings, sampling) count where the policy has measured them.
/// Decodes and a chunk are one attention kernel where the policy models that.
/// Errors: as step_bound. Tests: never below step_bound with efficiencies below 1; separately
/// measured kernels are in it.
template <Scalar T, class Policy, class Cost>
constexpr basic_estimate<T> step(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                 const Policy& policy, const Cost& links) {
  basic_estimate<T> e;
  if constexpr (require_execution_policy<Policy, T>()) {
    detail::check_deployment(d);
    detail::check_iteration(i);
    detail::require_target_of(policy, d.device, d.serving_engine);
    e = detail::prediction_of_step(d, i, policy, links);
    e.feasible = detail::step_fits(d, i);
  }
  return e;
}
template <Scalar T, class Policy>
constexpr basic_estimate<T> step(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                 const Policy& policy) {
  if constexpr (require_execution_policy<Policy, T>())
    return step(d, i, policy, detail::links_of<T>(policy));
  else
    return {};
}
/// Deleted: choose step_bound(d, i) or step(d, i, policy).
template <Scalar T>
constexpr basic_estimate<T> step(const basic_deployment<T>&, const basic_iteration<T>&) = delete;

}  // namespace perfmodel::inline v0_3
