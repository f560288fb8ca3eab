// Predicting silicon and not its bound: the policy that carries what was measured into every law.
#pragma once

#include <perfmodel/calibrated/attention.hpp>
#include <perfmodel/calibrated/elementwise.hpp>
#include <perfmodel/calibrated/gemm.hpp>
#include <perfmodel/calibrated/moe.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/workload/operators/embedding.hpp>
#include <perfmodel/workload/operators/swiglu.hpp>

namespace perfmodel {

/// The calibrated policy: shares of the data sheet for any demand, and its own model for each
/// operator that has one. A profile comes from the catalogue or from fit_log_ratios.
/// `weight_copies` is that of basic_gemm_conditions: 0, weights are cold, as in a model whose other
/// layers pass in between; a benchmark that rotates six copies has 6.
template <Scalar T = double>
struct basic_calibrated {
  basic_machine_parameters<T> machine{};
  basic_engine_profile<T> engine{};
  basic_attention_parameters<T> attention{};
  basic_attention_kernels<T> attention_kernels{};
  basic_moe_parameters<T> moe{};
  basic_moe_kernels<T> moe_kernels{};
  duration<T> kernel_time = lift<T>(graph_kernel_time);
  T weight_copies{};

  constexpr flop_rate<T> matrix_rate(const basic_accelerator<T>& a,
                                     const basic_demand<T>& d) const {
    return detail::positive("matrix_share", machine.matrix_share) * peak(a, d.format);
  }
  /// The vector units' data sheet: no measurement here was bound by them.
  constexpr flop_rate<T> vector_rate(const basic_accelerator<T>& a, const basic_demand<T>&) const {
    return vector_peak(a);
  }
  constexpr perfmodel::bandwidth<T> dram_bandwidth(const basic_accelerator<T>& a,
                                                   const basic_demand<T>&) const {
    return detail::positive("dram_share", machine.dram_share) * a.dram.bandwidth.quantity();
  }
  constexpr duration<T> launch_time(const basic_accelerator<T>&, const basic_demand<T>& d) const {
    return d.launches * detail::not_negative("kernel_time", kernel_time);
  }

  constexpr basic_estimate<T> estimate(const basic_accelerator<T>& a,
                                       const basic_gemm<T>& g) const {
    return calibrated_gemm(a, g, machine, {.engine = engine, .weight_copies = weight_copies});
  }
  constexpr basic_estimate<T> estimate(const basic_accelerator<T>& a,
                                       const basic_lm_head<T>& h) const {
    basic_gemm<T> g;
    g.m = h.tokens;
    g.n = h.vocabulary;
    g.k = h.hidden;
    g.format = h.format;
    g.weights = h.weights;
    g.output = h.output;
    return estimate(a, g);
  }
  /// Gate and up in one product, then down; unfused, a kernel between them activates.
  constexpr basic_estimate<T> estimate(const basic_accelerator<T>& a,
                                       const basic_swiglu<T>& x) const {
    const double first = ffn_matrices(x.gated) - 1.0;
    basic_gemm<T> g;
    g.m = x.tokens;
    g.n = first * x.intermediate;
    g.k = x.hidden;
    g.format = x.format;
    g.weights = x.weights;
    g.output = x.format;
    const basic_estimate<T> up = estimate(a, g);
    g.n = x.hidden;
    g.k = x.intermediate;
    const basic_estimate<T> down = estimate(a, g);
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
      e.time += e.terms.add(limiter::memory, "activation", estimate(a, activation).time);
    }
    e.limiter = up.limiter;
    e.mfu = (up.mfu * up.time + down.mfu * down.time) / e.time;
    e.mbu = (up.mbu * up.time + down.mbu * down.time) / e.time;
    return e;
  }
  constexpr basic_estimate<T> estimate(const basic_accelerator<T>& a,
                                       const basic_elementwise<T>& x) const {
    return streamed(a, x);
  }
  constexpr basic_estimate<T> estimate(const basic_accelerator<T>& a,
                                       const basic_norm<T>& x) const {
    return streamed(a, x);
  }
  constexpr basic_estimate<T> estimate(const basic_accelerator<T>& a,
                                       const basic_embedding<T>& x) const {
    return streamed(a, x);
  }
  constexpr basic_estimate<T> estimate(const basic_accelerator<T>& a,
                                       const basic_attention_decode<T>& x) const {
    return calibrated_estimate(a, x, attention, attention_kernels, cache_state());
  }
  constexpr basic_estimate<T> estimate(const basic_accelerator<T>& a,
                                       const basic_attention_prefill<T>& x) const {
    return calibrated_estimate(a, x, attention, attention_kernels, cache_state());
  }
  constexpr basic_estimate<T> estimate(const basic_accelerator<T>& a,
                                       const basic_moe_ffn<T>& x) const {
    return calibrated_estimate(a, x, moe, moe_kernels);
  }

 private:
  template <class Operator>
  constexpr basic_estimate<T> streamed(const basic_accelerator<T>& a, const Operator& x) const {
    basic_memory_bound_kernels<T> k;
    k.kernel_time = kernel_time;
    return calibrated_elementwise(a, x, machine, k, cache_state());
  }
  /// In a model the other layers pass between two reads of a cache; a benchmark replays it.
  constexpr perfmodel::cache_state cache_state() const {
    return upper(weight_copies) > 0.0 ? cache_state::warm : cache_state::cold;
  }
};
using calibrated = basic_calibrated<>;

}  // namespace perfmodel
