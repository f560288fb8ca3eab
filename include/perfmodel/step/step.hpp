// Time of one engine step of a deployment: decode, prefill, or both.
#pragma once

// This header comes first: a wrong policy then gives a short compile error.
#include <perfmodel/laws/execution.hpp>

#include <perfmodel/laws/energy.hpp>
#include <perfmodel/step/bound_of_step.hpp>
#include <perfmodel/step/memory.hpp>
#include <perfmodel/step/step_times.hpp>

namespace perfmodel::inline v0_3 {

/// Total work of an engine step on one device: FLOP, bytes of weights and of KV cache, launches.
/// With p pipeline stages it is that of batch / p sequences in the layers of all stages.
/// Activation bytes are not counted: a lower bound must assume that activations stay on chip.
/// Errors: those of step_bound.
template <Scalar T>
constexpr basic_step_demand<T> demand_of_step(const basic_deployment<T>& d,
                                              const basic_iteration<T>& i) {
  detail::check_deployment(d);
  detail::check_iteration(i);
  const engine_formats formats = formats_of(d);
  return detail::demand_of_rank(detail::rank_step<T>{d, i, formats});
}

/// Lower bound of the time of an engine step on one device: T = max((weights + cache) / BW, FLOP /
/// R, vector FLOP / R_v, host weights / BW_host) + communication. `weights` and `cache` are the
/// bytes that must come from DRAM, `host weights` those that are in host memory.
/// With p pipeline stages T is the latency of a token, the sum of p stage times. `batch` is that of
/// the replica; each stage works on batch / p sequences at a time, so that all stages are busy.
/// The breakdown (`terms`) has weights, kv_cache, compute, vector, host_link and communication. A
/// deployment that does not fit its memory still has a time; `feasible` says why it does not fit.
/// Source: the decode roofline of Pope et al., "Efficiently scaling transformer inference", MLSys
/// 2023 (arXiv 2211.05102), section 3.
/// Leaves out: sampling, scheduling, CPU time.
/// Errors: formats that the device lacks, an invalid layout, an empty iteration.
/// Tests: Llama 3 70B in bf16 at batch 1 and 3.35 TB/s takes 41.5 ms plus the read of its cache. On
/// 2 ranks it takes half, plus communication. The time grows with batch, context and prefill
/// tokens.
template <Scalar T, class Cost = full_link>
constexpr basic_estimate<T> step_bound(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                       const Cost& links = {}) {
  detail::check_deployment(d);
  detail::check_iteration(i);
  basic_estimate<T> e = detail::bound_of_step(d, i, links);
  e.feasible = detail::step_fits(d, i);
  return e;
}

/// Predicted time of an engine step: T = sum of the operators' times + CPU time + communication.
/// `policy` gives the time of each operator that it models; other operators take their roofline
/// time, launches included.
/// `links` gives the time of collectives. Without it, a policy that prices collectives (a
/// calibration does) is used for them; else links run at full bandwidth.
/// The breakdown (`terms`) has linear, attention, experts, other, host and communication. With an
/// engine, `host` is its CPU time per step, and communication includes the wait for the last rank
/// of each collective. `host_link` is the read of weights in host memory. `launches` is, without
/// CUDA graphs, the CPU time of launches beyond the kernels' time.
/// Element-wise kernels (rotary embeddings, sampling) count if the policy has measured them.
/// Decodes and a prefill chunk run in one attention kernel if the policy models that.
/// Errors: those of step_bound.
/// Tests: with efficiencies below 1 it is never below step_bound; element-wise kernels that the
/// policy has measured are included.
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
/// Predicted step, with the links of the policy.
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

/// Mean power of one GPU in an engine step that takes `time`: board_power_of the step's work. With
/// p pipeline stages a GPU has 1/p of the layers and computes them for each micro-batch: in all the
/// layers of the model once, for batch / p sequences. With fewer sequences than stages, some wait.
/// Errors: those of demand_of_step; inconsistent without a stated tdp.
/// Test: Llama 3.1 8B on H100 within 25 % of measured watts; 2 stages at twice the batch as 1.
template <Scalar T>
constexpr power<T> power_of_step(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                 const duration<T>& time) {
  const basic_step_demand<T> s = demand_of_step(d, i);
  const bool has_chunk = upper(i.prefill_tokens) > 0.0 && !i.steady;
  const double steps = double(d.layout.pipeline) * d.layout.data;
  const T busy = has_chunk ? T(1.0) : scalar_min(T(i.batch / steps), T(1.0));
  return board_power_of(d.device, bandwidth<T>(busy * (s.weights + s.cache) / time),
                        T(busy * s.compute / time));
}

}  // namespace perfmodel::inline v0_3
