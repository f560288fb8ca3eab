// Time of each kind of operator under a calibrated policy, with and without its breakdown.
#pragma once

#include <array>
#include <concepts>
#include <perfmodel/kernels/attention.hpp>
#include <perfmodel/kernels/elementwise.hpp>
#include <perfmodel/kernels/gemm.hpp>
#include <perfmodel/kernels/interval.hpp>
#include <perfmodel/kernels/moe.hpp>
#include <perfmodel/operators/gemm.hpp>

namespace perfmodel::inline v0_3 {

template <Scalar T>
struct basic_calibrated;

namespace detail {

// Parameters and kernels of a policy for one operator, by its kind and its formats.

template <Scalar T>
constexpr gemm_view<T> view_for(const basic_gemm<T>&, const basic_calibrated<T>& c) {
  return {c.machine, c.engine};
}
template <Scalar T, class Operator>
  requires requires(const Operator& x, const elementwise_view<T>& c) {
    shape_of(x, c);
  }
constexpr elementwise_view<T> view_for(const Operator&, const basic_calibrated<T>& c) {
  return {c.machine, c.kernel_time};
}
template <Scalar T, class Attention>
  requires std::same_as<Attention, basic_attention_decode<T>> ||
      std::same_as<Attention, basic_attention_prefill<T>>
constexpr attention_view<T> view_for(const Attention& x, const basic_calibrated<T>& c) {
  return {c.machine, c.attention,
          x.kv_format.bits() < 16.0 ? c.low_precision_attention_kernels : c.attention_kernels};
}
template <Scalar T>
constexpr moe_view<T> view_for(const basic_moe_ffn<T>& x, const basic_calibrated<T>& c) {
  switch (expert_kind_of(x.format, x.weights, upper(x.expert_parallel) > 1.0)) {
    case expert_kind::dequantised: return {c.machine, c.dequantised_moe_kernels};
    case expert_kind::low_precision: return {c.machine, c.low_precision_moe_kernels};
    case expert_kind::expert_parallel: return {c.machine, c.expert_parallel_moe_kernels};
    case expert_kind::as_stored: break;
  }
  const bool sixteen_bit = bits_of(wider(x.format, x.weights.format)) >= 16.0;
  if (sixteen_bit && c.untuned_moe_kernels && !runs_tuned_tiles(x)) {
    return {c.machine, *c.untuned_moe_kernels};
  }
  const bool by_cutlass = x.backend == moe_backend::cutlass && x.format == number_format::fp4;
  if (by_cutlass && c.nvfp4_moe_kernels) {
    return {c.machine, *c.nvfp4_moe_kernels};
  }
  if (!sixteen_bit && c.four_bit_moe_kernels) return {c.machine, *c.four_bit_moe_kernels};
  return {c.machine, c.moe_kernels};
}

template <Scalar T>
constexpr basic_gemm<T> gemm_of(const basic_lm_head<T>& h) {
  return {.m = h.tokens,
          .n = h.vocabulary,
          .k = h.hidden,
          .format = h.format,
          .weights = h.weights,
          .output = h.output};
}
/// The two GEMMs of a feed-forward: gate and up in one, then down.
template <Scalar T>
constexpr std::array<basic_gemm<T>, 2> gemms_of(const basic_swiglu<T>& x) {
  const T columns = (ffn_matrices(x.gated) - 1.0) * x.intermediate;
  return {{{x.tokens, columns, x.hidden, x.format, x.weights, x.format},
           {x.tokens, x.hidden, x.intermediate, x.format, x.weights, x.format}}};
}

}  // namespace detail

/// Time of one operator of any kind on an accelerator, with its breakdown.
/// Test: equal to the time with the operator's own calibration struct.
template <Scalar T, class Operator, std::same_as<basic_calibrated<T>> Calibration>
  requires requires(const Operator& x, const Calibration& c) {
    detail::view_for(x, c);
  }
constexpr basic_estimate<T> calibrated_estimate(
    const basic_accelerator<T>& a, const Operator& x, const Calibration& c,
    const std::type_identity_t<basic_call_conditions<T>>& conditions = {}) {
  return detail::estimate_of_kernel(a, x, detail::view_for(x, c), conditions);
}
/// Time of the LM head: that of its GEMM.
template <Scalar T, std::same_as<basic_calibrated<T>> Calibration>
constexpr basic_estimate<T> calibrated_estimate(
    const basic_accelerator<T>& a, const basic_lm_head<T>& h, const Calibration& c,
    const std::type_identity_t<basic_call_conditions<T>>& conditions = {}) {
  return calibrated_estimate(a, detail::gemm_of(h), c, conditions);
}
/// Time of a feed-forward: gate and up in one GEMM, then down. An activation that is not fused runs
/// as a kernel between them.
template <Scalar T, std::same_as<basic_calibrated<T>> Calibration>
constexpr basic_estimate<T> calibrated_estimate(
    const basic_accelerator<T>& a, const basic_swiglu<T>& x, const Calibration& c,
    const std::type_identity_t<basic_call_conditions<T>>& conditions = {}) {
  const std::array<basic_gemm<T>, 2> gemms = detail::gemms_of(x);
  const basic_estimate<T> up = calibrated_estimate(a, gemms[0], c, conditions);
  const basic_estimate<T> down = calibrated_estimate(a, gemms[1], c, conditions);
  basic_estimate<T> e;
  e.terms.add(limiter::none, "up", up.time);
  e.terms.add(limiter::none, "down", down.time);
  e.time = up.time + down.time;
  if (!x.fused) {
    basic_elementwise<T> activation;
    activation.elements = x.tokens * x.intermediate;
    activation.inputs = T(ffn_matrices(x.gated) - 1.0);
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

namespace detail {

/// The time of calibrated_estimate for a valid operator, without breakdown and shares of the peaks.
/// Most calls of a step need only this. GEMMs take gemm_time(gemm).
/// Test: equal to calibrated_estimate(...).time up to rounding.
template <Scalar T, class Operator, class Time>
constexpr duration<T> operator_time(const basic_accelerator<T>& a, const Operator& x,
                                    const basic_calibrated<T>& c,
                                    const basic_call_conditions<T>& conditions,
                                    const Time& gemm_time) {
  if constexpr (std::same_as<Operator, basic_gemm<T>>) {
    return gemm_time(x);
  } else if constexpr (std::same_as<Operator, basic_lm_head<T>>) {
    return gemm_time(gemm_of(x));
  } else if constexpr (std::same_as<Operator, basic_swiglu<T>>) {
    if (!x.fused) return calibrated_estimate(a, x, c, conditions).time;
    const std::array<basic_gemm<T>, 2> gemms = gemms_of(x);
    const duration<T> up = named("up", gemm_time(gemms[0]));
    return up + named("down", gemm_time(gemms[1]));
  } else {
    return time_of_kernel(a, x, demand_of(valid_operator{x}), view_for(x, c), conditions,
                          no_terms{})
        .time;
  }
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3
