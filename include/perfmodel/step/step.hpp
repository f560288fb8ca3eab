// How long one pass of a model takes on its devices: decode, prefill, or both at once.
#pragma once

// First: a wrong policy is told so in fewer lines.
#include <perfmodel/laws/execution.hpp>

#include <perfmodel/step/memory.hpp>
#include <perfmodel/step/pass.hpp>

namespace perfmodel {

/// Sum over the operators of a pass. Activations are left out of the bytes: a bound may keep them
/// on the chip.
template <Scalar T>
constexpr basic_step_demand<T> demand_of_step(const basic_deployment<T>& d,
                                              const basic_iteration<T>& i) {
  detail::check_deployment(d);
  detail::check_iteration(i);
  const engine_formats formats = formats_of(d);
  return detail::demand_of_pass(detail::rank_step<T>{d, i, formats});
}

/// The bound of a pass: T = max((weights + cache) / BW, FLOP / R, vector FLOP / R_v) + communication,
/// on one device. weights + cache is every byte that cannot stay on the chip. Source: the decode
/// roofline of Pope et al., "Efficiently scaling transformer inference", MLSys 2023
/// (arXiv 2211.05102), section 3.
/// With a pipeline, the time is that of one token through all stages while every stage is busy.
/// Terms: weights, kv_cache, compute, vector, communication. A deployment that does not fit has its
/// time and a reason. Leaves out: sampling, scheduling, host time. Errors: formats the device lacks,
/// a layout that cannot be, an empty iteration.
/// Tests: 70B bf16 batch 1 at 3.35 TB/s is 41.5 ms plus its cache; halves over 2 ranks less the
/// communication; grows with batch, context and prefill tokens.
template <Scalar T, class Cost = full_link>
constexpr basic_estimate<T> step_bound(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                       const Cost& links = {}) {
  detail::check_deployment(d);
  detail::check_iteration(i);
  basic_estimate<T> e = detail::bound_of_pass(d, i, links);
  e.feasible = detail::step_fits(d, i);
  return e;
}

/// The prediction of a pass under a policy: the sum over all operators of what each takes (its own
/// model, where the policy has one, else its roofline, launches included) + communication.
/// A policy that prices collectives too, as a calibration does, is all it takes; else say how links
/// are priced, or they are whole. Terms: linear, attention, experts, other, host,
/// communication; an engine adds its host's time, and its ranks' waiting to the last.
/// Small kernels (rotary embeddings, sampling) count where the policy has measured them, and a chunk beside
/// decodes is one kernel where it has that. Errors: as step_bound. Tests: never below step_bound with
/// efficiencies below 1; what was measured apart is in it.
template <Scalar T, class Policy, class Cost>
constexpr basic_estimate<T> step(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                 const Policy& policy, const Cost& links) {
  basic_estimate<T> e;
  if constexpr (require_execution_policy<Policy, T>()) {
    detail::check_deployment(d);
    detail::check_iteration(i);
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
/// Say which: step_bound(d, i), or step(d, i, policy).
template <Scalar T>
constexpr basic_estimate<T> step(const basic_deployment<T>&, const basic_iteration<T>&) = delete;

}  // namespace perfmodel
