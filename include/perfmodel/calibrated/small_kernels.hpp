// Which small kernels of a pass were measured apart on a machine, and what they take.
#pragma once

#include <perfmodel/calibrated/elementwise.hpp>
#include <perfmodel/core/entry_of.hpp>
#include <perfmodel/workload/small_kernel.hpp>

namespace perfmodel {

/// log_sigma of streaming kernels where those of a pass are counted apart: 79 % of RTX PRO 6000's, whose rates
/// differ from kernel to kernel, lie within z90 times this.
inline constexpr double small_kernels_log_sigma = 0.19;

/// Of one machine and engine. What is not counted is in the numbers of the engine, fused, or unknown.
template <Scalar T = double>
struct basic_small_kernels {
  label name{"none"};
  bool residual = false, rotary = false, head_norm = false;
  bool activation = false, cache_write = false, sampler = false;
  duration<T> kernel_time = lift<T>(graph_kernel_time);  ///< start and end of one
  T head_norm_cycles{};         ///< SM cycles an element takes, whose rows are too short to stream
  duration<T> sampler_floor{};  ///< the sampler is several kernels: all they take with few logits
  T sampler_passes = T(1.0);    ///< over the logits

  constexpr bool counts(small_kernel k) const {
    const bool all[] = {residual, rotary, head_norm, activation, cache_write, sampler};
    return detail::entry_of(all, k, "small_kernel");
  }
  constexpr bool any() const {
    return residual || rotary || head_norm || activation || cache_write || sampler;
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f("residual", s.residual...);
    f("rotary", s.rotary...);
    f("head_norm", s.head_norm...);
    f("activation", s.activation...);
    f("cache_write", s.cache_write...);
    f("sampler", s.sampler...);
    f(field::not_negative("kernel_time"), s.kernel_time...);
    f(field::not_negative("head_norm_cycles"), s.head_norm_cycles...);
    f(field::not_negative("sampler_floor"), s.sampler_floor...);
    f(field::not_negative("sampler_passes"), s.sampler_passes...);
  }
};
using small_kernels = basic_small_kernels<>;

/// What repeats in every layer, none of it fused: rotary embeddings, norms of heads, activations, writes to the
/// cache, one launch each; in a captured graph, or eager with stream_kernel_time. No profile of a data-centre
/// chip has it: see docs/laws/engines.md for what it does to services.
/// Test: eager, 32 layers of Llama 3.1 8B take 96 times 1.3 us more than captured.
template <Scalar T = double>
constexpr basic_small_kernels<T> unfused_layer_kernels(
    const duration<T>& kernel_time = lift<T>(graph_kernel_time)) {
  return {.name = "unfused",
          .rotary = true,
          .head_norm = true,
          .activation = true,
          .cache_write = true,
          .kernel_time = kernel_time};
}

/// One small kernel, which finds in L2 what the kernel in front of it left there, as far as it fits.
///   sampler = sampler_floor + sampler_passes x (bytes of the logits at their bandwidth)
///   residual = its bytes; all others as a streaming kernel of that kind.
/// Errors: as calibrated_estimate of what streams. Tests: by hand; published latencies of RTX PRO 6000.
template <Scalar T, class Streamed>
constexpr duration<T> small_kernel_time(const basic_accelerator<T>& a, small_kernel k,
                                        const Streamed& x, const basic_machine_parameters<T>& m,
                                        const basic_small_kernels<T>& s) {
  basic_memory_bound_kernels<T> kernels{.kernel_time = s.kernel_time};
  if (k == small_kernel::head_norm) kernels.element_cycles = s.head_norm_cycles;
  const bool inside = k == small_kernel::residual || k == small_kernel::sampler;
  if (inside) kernels.kernel_time = duration<T>{};
  const duration<T> once =
      calibrated_estimate(a, x, {m, kernels}, {.cache = cache_state::warm}).time;
  return k == small_kernel::sampler ? duration<T>(s.sampler_floor + s.sampler_passes * once) : once;
}

}  // namespace perfmodel
