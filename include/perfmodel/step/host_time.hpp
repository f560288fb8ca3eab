// Time that the CPU adds to an engine step: launches that no graph holds, and the engine's own.
#pragma once

#include <perfmodel/engine/engine.hpp>
#include <perfmodel/step/communication.hpp>
#include <perfmodel/step/operators.hpp>

namespace perfmodel::inline v0_3::detail {

/// Kernels that a step without CUDA graphs launches on a rank: operators, element-wise kernels, and
/// collectives. A residual addition is part of a norm. A feed-forward is two GEMMs. Routed experts
/// are six kernels: choice, sorting, two GEMMs, activation, sum.
/// Source: vLLM, model_executor/layers/fused_moe/fused_moe.py; Qwen2's and Qwen3's model files.
template <Scalar T>
constexpr T launched_kernels(const rank_step<T>& p) {
  T n = collectives_of_step(p.replica) + demand_of_rank(p).launches;
  visit_elementwise_kernels(p, [&](elementwise_kernel k, const T& times, const auto&) {
    if (k != elementwise_kernel::residual) n += times;
  });
  for (const auto& kind : p.model().layers.feed_forwards) {
    const auto* e = std::get_if<basic_expert_shape<T>>(&kind.shape);
    n += kind.layers * (e == nullptr ? 1.0 : e->shared_intermediate ? 7.0 : 5.0);
  }
  return n;
}
/// CPU time that launches the layers with MXFP4 experts and 16-bit operands in a step with prefill,
/// which no graph holds: layers x engine.prefill_expert_launch_time.
template <Scalar T, class Engine>
constexpr duration<T> prefill_launches(const rank_step<T>& p, const Engine& engine) {
  if (!p.has_prefills() || !(upper(engine.prefill_expert_launch_time.value()) > 0.0)) return {};
  if (p.formats.weights.experts.format != number_format::fp4 ||
      bits_of(p.formats.experts.format) < 16.0)
    return {};
  const T experts = layers_with<basic_expert_shape<T>, T>(p.model().layers.feed_forwards);
  return p.prefill_share() * (experts * engine.prefill_expert_launch_time);
}
/// Time that launches add to the kernels of a step: max(0, launches - kernels). Launches are those
/// of all kernels without CUDA graphs, else prefill_launches.
/// Tests: tests/unit/engines.cpp, tests/unit/engine_options.cpp.
template <Scalar T, class Policy>
constexpr duration<T> exposed_launches(const rank_step<T>& p, const Policy& policy,
                                       const duration<T>& kernels) {
  if (p.replica.cuda_graphs) {
    if constexpr (requires { policy.engine.prefill_expert_launch_time; }) {
      const duration<T> launches = prefill_launches(p, policy.engine);
      if (upper(launches.value()) > 0.0) return max(duration<T>(launches - kernels), duration<T>{});
    }
    return {};
  }
  return max(duration<T>(launched_kernels(p) * lift<T>(eager_launch_time) - kernels),
             duration<T>{});
}

/// CPU time of a step, x pipeline stages: what the deployment states, else
/// policy.cpu_time(sequences); without an engine 0.
template <Scalar T, class Policy>
constexpr duration<T> cpu_time_of_step(const rank_step<T>& p, const Policy& policy) {
  const basic_deployment<T>& d = p.replica;
  const T stages = T(d.layout.pipeline), &sequences = p.share.sequences;
  duration<T> step{}, both{};
  if constexpr (requires { policy.cpu_time(sequences); }) {
    both = policy.cpu_time(sequences);
    step = policy.cpu_time(T(0.0));
  }
  if (!d.step_cpu_time && !d.sequence_cpu_time) return stages * both;
  const duration<T> own = both - step;
  return stages * (d.step_cpu_time.value_or(step) +
                   (d.sequence_cpu_time ? sequences * *d.sequence_cpu_time : own));
}

}  // namespace perfmodel::inline v0_3::detail
