// Time of each kind of operator under a calibrated policy, with and without its breakdown.
#pragma once

#include <concepts>
#include <perfmodel/kernels/attention.hpp>
#include <perfmodel/kernels/elementwise.hpp>
#include <perfmodel/kernels/gemm.hpp>
#include <perfmodel/kernels/moe.hpp>
#include <perfmodel/operators/embedding.hpp>
#include <perfmodel/operators/swiglu.hpp>

namespace perfmodel::inline v0_3 {

template <Scalar T>
struct basic_calibrated;

namespace detail {

template <Scalar T>
constexpr basic_gemm_calibration<T> calibration_for(const basic_gemm<T>&,
                                                    const basic_calibrated<T>& c) {
  return {c.machine, c.engine};
}
template <Scalar T, class Streamed>
  requires requires(const basic_accelerator<T>& a, const Streamed& x,
                    const basic_elementwise_calibration<T>& c) {
    calibrated_estimate(a, x, c);
  }
constexpr basic_elementwise_calibration<T> calibration_for(const Streamed&,
                                                           const basic_calibrated<T>& c) {
  basic_memory_bound_kernels<T> k;
  k.kernel_time = c.kernel_time;
  return {c.machine, k};
}
template <Scalar T, class Attention>
constexpr attention_calibration_view<T> calibration_view_for(const Attention& x,
                                                             const basic_calibrated<T>& c) {
  return {c.machine, c.attention,
          x.kv_format.bits() < 16.0 ? c.low_precision_attention_kernels : c.attention_kernels};
}
template <Scalar T, class Attention>
  requires requires(const Attention& x) {
    x.kv_format.bits();
    x.query_heads;
  }
constexpr basic_attention_calibration<T> calibration_for(const Attention& x,
                                                         const basic_calibrated<T>& c) {
  const attention_calibration_view<T> by_reference = calibration_view_for(x, c);
  return {by_reference.machine, by_reference.attention, by_reference.kernels};
}
template <Scalar T>
constexpr basic_moe_calibration<T> calibration_for(const basic_moe_ffn<T>& x,
                                                   const basic_calibrated<T>& c) {
  const bool sixteen_bit = bits_of(wider(x.format, x.weights.format)) >= 16.0;
  if (sixteen_bit && x.weights.bits() < 16.0) return {c.machine, c.dequantised_moe_kernels};
  if (sixteen_bit && c.untuned_moe_kernels && !runs_tuned_tiles(x)) {
    return {c.machine, *c.untuned_moe_kernels};
  }
  if (sixteen_bit || bits_of(x.weights.format) < 8.0) return {c.machine, c.moe_kernels};
  return {c.machine, upper(x.expert_parallel) > 1.0 ? c.expert_parallel_moe_kernels
                                                    : c.low_precision_moe_kernels};
}

}  // namespace detail

/// Time of one operator of any kind on an accelerator, with its breakdown.
/// Test: equal to the time with the operator's own calibration struct.
template <Scalar T, class Operator, std::same_as<basic_calibrated<T>> Calibration>
  requires requires(const Operator& x, const Calibration& c) {
    detail::calibration_for(x, c);
  }
constexpr basic_estimate<T> calibrated_estimate(
    const basic_accelerator<T>& a, const Operator& x, const Calibration& c,
    const std::type_identity_t<basic_call_conditions<T>>& conditions = {}) {
  return calibrated_estimate(a, x, detail::calibration_for(x, c), conditions);
}
template <Scalar T, std::same_as<basic_calibrated<T>> Calibration>
constexpr basic_estimate<T> calibrated_estimate(
    const basic_accelerator<T>& a, const basic_lm_head<T>& h, const Calibration& c,
    const std::type_identity_t<basic_call_conditions<T>>& conditions = {}) {
  const basic_gemm<T> g{.m = h.tokens,
                        .n = h.vocabulary,
                        .k = h.hidden,
                        .format = h.format,
                        .weights = h.weights,
                        .output = h.output};
  return calibrated_estimate(a, g, c, conditions);
}
namespace detail {

/// Time of a fused feed-forward: gate and up in one GEMM, then down; each takes gemm_time(gemm).
template <Scalar T, class Time>
constexpr duration<T> time_of_gated_gemms(const basic_swiglu<T>& x, const Time& gemm_time) {
  basic_gemm<T> g{.m = x.tokens,
                  .n = (ffn_matrices(x.gated) - 1.0) * x.intermediate,
                  .k = x.hidden,
                  .format = x.format,
                  .weights = x.weights,
                  .output = x.format};
  const duration<T> up = named("up", gemm_time(g));
  g.n = x.hidden;
  g.k = x.intermediate;
  return up + named("down", gemm_time(g));
}

template <Scalar T>
constexpr T streamed_elements(const basic_norm<T>& x) {
  return x.rows * x.width;
}
template <Scalar T>
constexpr T streamed_elements(const basic_embedding<T>& x) {
  return x.tokens * x.hidden;
}

}  // namespace detail

/// Time of a feed-forward: gate and up in one GEMM, then down. An activation that is not fused runs
/// as a kernel between them.
template <Scalar T, std::same_as<basic_calibrated<T>> Calibration>
constexpr basic_estimate<T> calibrated_estimate(
    const basic_accelerator<T>& a, const basic_swiglu<T>& x, const Calibration& c,
    const std::type_identity_t<basic_call_conditions<T>>& conditions = {}) {
  const double first = ffn_matrices(x.gated) - 1.0;
  basic_gemm<T> g{.m = x.tokens,
                  .n = first * x.intermediate,
                  .k = x.hidden,
                  .format = x.format,
                  .weights = x.weights,
                  .output = x.format};
  const basic_estimate<T> up = calibrated_estimate(a, g, c, conditions);
  g.n = x.hidden;
  g.k = x.intermediate;
  const basic_estimate<T> down = calibrated_estimate(a, g, c, conditions);
  basic_estimate<T> e;
  e.terms.add(limiter::none, "up", up.time);
  e.terms.add(limiter::none, "down", down.time);
  e.time = up.time + down.time;
  if (!x.fused) {
    basic_elementwise<T> activation;
    activation.elements = x.tokens * x.intermediate;
    activation.inputs = T(first);
    activation.flop_per_element = x.activation_flop;
    activation.format = x.format;
    e.time += e.terms.add(limiter::memory, "activation",
                          calibrated_estimate(a, activation, c, conditions).time);
  }
  e.limiter = up.limiter;
  e.mfu = (up.mfu * up.time + down.mfu * down.time) / e.time;
  e.mbu = (up.mbu * up.time + down.mbu * down.time) / e.time;
  return e;
}

/// The time of calibrated_estimate for a valid operator, without breakdown and shares of the peaks.
/// Most calls of a step need only this.
/// Test: equal to calibrated_estimate(...).time up to rounding.
template <Scalar T>
constexpr duration<T> calibrated_time(const basic_accelerator<T>& a, const basic_gemm<T>& g,
                                      const basic_calibrated<T>& c,
                                      const basic_call_conditions<T>& conditions) {
  const detail::gemm_needs<T> needs = detail::needs_of_gemm(
      g.m, g.n, g.k, bytes_of(g.format), detail::weight_bytes_of(g), bytes_of(g.output));
  return detail::time_of_gemm(a, g, detail::rates_of_gemm(a, g, c.machine, c.engine), needs,
                              c.machine, c.engine, conditions, detail::no_terms{});
}
template <Scalar T>
constexpr duration<T> calibrated_time(const basic_accelerator<T>& a, const basic_swiglu<T>& x,
                                      const basic_calibrated<T>& c,
                                      const basic_call_conditions<T>& conditions) {
  if (!x.fused) return calibrated_estimate(a, x, c, conditions).time;
  return detail::time_of_gated_gemms(
      x, [&](const basic_gemm<T>& g) { return calibrated_time(a, g, c, conditions); });
}
template <Scalar T, class Attention>
  requires requires(const Attention& x, const basic_attention_calibration<T>& c) {
    x.kv_heads;
    detail::calibration_for(x, basic_calibrated<T>{});
  }
constexpr duration<T> calibrated_time(const basic_accelerator<T>& a, const Attention& x,
                                      const basic_calibrated<T>& c,
                                      const basic_call_conditions<T>& conditions) {
  return detail::time_of_attention(a, x, demand_of(valid_operator{x}),
                                   detail::calibration_view_for(x, c), conditions,
                                   detail::no_terms{})
      .time;
}
template <Scalar T, class Streamed>
  requires requires(const Streamed& x) {
    { detail::streamed_elements(x) } -> std::same_as<T>;
  }
constexpr duration<T> calibrated_time(const basic_accelerator<T>& a, const Streamed& x,
                                      const basic_calibrated<T>& c,
                                      const basic_call_conditions<T>& conditions) {
  if (conditions.cache != cache_state::cold) return calibrated_estimate(a, x, c, conditions).time;
  return detail::elementwise_time(a, demand_of(valid_operator{x}), detail::streamed_elements(x), {},
                                  T(0.0), T(0.0), c.machine, c.kernel_time, detail::no_terms{});
}

}  // namespace perfmodel::inline v0_3
