// Element-wise operators, normalisations and look-ups as kernels run them.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/operators/elementwise.hpp>
#include <perfmodel/operators/embedding.hpp>
#include <perfmodel/operators/norm.hpp>
#include <perfmodel/scalar/choose.hpp>
#include <perfmodel/scalar/p_norm.hpp>

namespace perfmodel {

/// What a small kernel costs by being launched, in a captured graph and in a stream: near 1.3 and 2.6 us on A100 and
/// GH200. Source: te42kyfo/gpu-benches 1c36d509, gpu-small-kernels, printed output, 64 KiB (A100 1.34 and 2.62 us, GH200,
/// which its files call h200, 1.26 and 2.43 us; L40 0.94 and 1.64 us). In a stream that seems to be the rate of the host
/// which launched. An H200 takes 0.92 us in a graph and 1.76 of a stream whose queue is full
/// (validation/recordings/h200_sxm/launch.json), and 1.85 to 2.45 us where a kernel begins with loads from DRAM.
inline constexpr duration<> graph_kernel_time = 1.3 * us;
inline constexpr duration<> stream_kernel_time = 2.6 * us;

/// Of DRAM bandwidth, that kernels which only stream reach where products reach less, whose share a machine
/// profile has. One number of all machines: the longest small kernels of gpu-benches reach 0.85 on A100 and 0.87
/// on GH200, additions of Vidur 0.86 on A100.
inline constexpr double elementwise_dram_share = 0.86;

/// 80 % of |ln(measured / predicted)| of published streaming kernels lie within z90 times this.
inline constexpr double elementwise_log_sigma = 0.12;

/// Whose streaming kernels run, and how they are started. Kernels that load vectors of elements at
/// a time keep up with memory and cost no cycles of their own; kernels that load one by one do not.
template <Scalar T = double>
struct basic_memory_bound_kernels {
  label name{"vectorised"};
  duration<T> kernel_time = lift<T>(graph_kernel_time);
  T element_cycles{};  ///< SM cycles an element of the result takes, activation or normalisation
  T lookup_cycles{};   ///< the same of a look-up in a table
  duration<T>
      serial_lookup_time{};  ///< of each of up to 16 look-ups, which come one after the other

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f(field::not_negative("kernel_time"), s.kernel_time...);
    f(field::not_negative("element_cycles"), s.element_cycles...);
    f(field::not_negative("lookup_cycles"), s.lookup_cycles...);
    f(field::not_negative("serial_lookup_time"), s.serial_lookup_time...);
  }
};
using memory_bound_kernels = basic_memory_bound_kernels<>;

/// The machine, and whose streaming kernels run on it.
template <Scalar T = double>
struct basic_elementwise_calibration {
  basic_machine_parameters<T> machine{};
  basic_memory_bound_kernels<T> kernels{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("machine", s.machine...);
    f("kernels", s.kernels...);
  }
};
using elementwise_calibration = basic_elementwise_calibration<>;

namespace detail {

/// Share of tensors that the run before left in L2: a half at its capacity, and less of a step than where a
/// kernel reads operands again (`resident`): 1 / (1 + (bytes / L2)^4).
template <Scalar T>
constexpr T resident_streamed(const bytes<T>& moved, const bytes<T>& room) {
  const T x = named("L2 filled", T(moved / positive("l2.capacity", room)));
  const T x2 = x * x;
  return 1.0 / (1.0 + x2 * x2);
}

/// Elements that the busiest SM works off: its share of all, and a row at least, which is a block's.
template <Scalar T>
constexpr T elements_of_an_sm(const T& elements, const std::optional<T>& rows, const T& sms) {
  if (!rows) return elements / sms;
  return elements * scalar_max(T(1.0 / *rows), T(1.0 / sms));
}

/// What moves and is computed, beside each other, and a launch.
template <Scalar T, class Terms>
constexpr duration<T> elementwise_time(const basic_accelerator<T>& a, const basic_demand<T>& d,
                                       const T& elements, const std::optional<T>& rows,
                                       const T& cycles, const T& warm,
                                       const basic_machine_parameters<T>& machine,
                                       const duration<T>& kernel_time, Terms&& terms) {
  const bytes<T> moved = d.dram.total();
  const bandwidth<T> dram = scalar_max(machine.dram_share, T(elementwise_dram_share)) *
                            positive("dram.bandwidth", a.dram.bandwidth.quantity());
  duration<T> memory = (1.0 - warm) * moved / dram;
  const auto& l2 =
      machine.elementwise_l2_bandwidth ? machine.elementwise_l2_bandwidth : machine.l2_bandwidth;
  if (l2) {  // no slower than DRAM
    memory = memory + min(duration<T>(warm * moved / *l2), duration<T>(warm * moved / dram));
  }
  duration<T> work{};
  if (upper(cycles) > 0.0) {
    work = cycles * elements_of_an_sm(elements, rows, count("sms", a.sms.value())) /
           positive("vector.clock", a.vector.clock.quantity());
  }
  memory = terms.add(limiter::memory, "memory", memory);
  if (upper(work.value()) > 0.0) work = terms.add(limiter::vector_compute, "elements", work);
  const duration<T> launch = terms.add(limiter::launch, "launch", d.launches * kernel_time);
  return named("time", launch + p_norm(memory, work));
}

template <Scalar T>
constexpr basic_estimate<T> streamed(const basic_accelerator<T>& a, const basic_demand<T>& d,
                                     const T& elements, const std::optional<T>& rows,
                                     const T& cycles, const basic_elementwise_calibration<T>& c,
                                     cache_state state) {
  const bool has_l2 =
      (c.machine.l2_bandwidth || c.machine.elementwise_l2_bandwidth) && a.l2.capacity.is_stated();
  const bytes<T> moved = d.dram.total();
  const T warm = state == cache_state::cold || !has_l2
                     ? T(0.0)
                     : resident_streamed(moved, a.l2.capacity.quantity());
  basic_estimate<T> e;
  e.time = elementwise_time(a, d, elements, rows, cycles, warm, c.machine, c.kernels.kernel_time,
                            e.terms);
  e.limiter = e.terms.limiting(e.terms.size() - 1);  // but the launch
  e.mbu = (1.0 - warm) * moved / a.dram.bandwidth.quantity() / e.time;
  return e;
}

}  // namespace detail

/// DRAM traffic, or for what a replay still finds in L2 at its speed, beside the cycles of elements;
/// and a launch. A row is one block's: with fewer rows than SMs the rest is idle. Sources: gpu-benches (above) for
/// the launch and the L2; vLLM, csrc/activation_kernels.cu and layernorm_kernels.cu (a block for each token); the
/// form is this project's own. Leaves out: bandwidth that few bytes in flight leave unused, reads and writes of
/// different cost. Errors: as demand_of; sms or clock not stated where elements take cycles.
/// Tests: by hand; published latencies of two accelerators.
template <Scalar T>
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a,
                                                const basic_elementwise<T>& x,
                                                const basic_elementwise_calibration<T>& c,
                                                const basic_call_conditions<T>& conditions = {}) {
  return detail::streamed(a, demand_of(x), x.elements, x.rows, c.kernels.element_cycles, c,
                          conditions.cache);
}
template <Scalar T>
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a,
                                                const basic_norm<T>& x,
                                                const basic_elementwise_calibration<T>& c,
                                                const basic_call_conditions<T>& conditions = {}) {
  return detail::streamed(a, demand_of(x), T(x.rows * x.width), {x.rows}, c.kernels.element_cycles,
                          c, conditions.cache);
}
/// Up to most_serial_lookups tokens PyTorch looks them up one after the other: each adds its serial_lookup_time.
/// Source: PyTorch, aten/src/ATen/native/cuda/Indexing.cu, index_select of few indices. Test: by hand.
inline constexpr double most_serial_lookups = 16.0;
template <Scalar T>
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a,
                                                const basic_embedding<T>& x,
                                                const basic_elementwise_calibration<T>& c,
                                                const basic_call_conditions<T>& conditions = {}) {
  const duration<T>& each = c.kernels.serial_lookup_time;
  basic_estimate<T> e = detail::streamed(a, demand_of(x), T(x.tokens * x.hidden), {},
                                         c.kernels.lookup_cycles, c, conditions.cache);
  const T few = detail::from_lanes<T>([&](std::size_t lane) {
    return lanes_of<T>::lane(x.tokens, lane) <= most_serial_lookups ? 1.0 : 0.0;
  });
  if (upper(each.value()) > 0.0 && upper(few) > 0.0) {
    e.time += e.terms.add(limiter::latency, "look-ups", few * x.tokens * each);
    e.mbu = e.mbu * ((e.time - few * x.tokens * each) / e.time);
  }
  return e;
}

// Which small kernels of a pass were measured apart on a machine, and what they take.

/// log_sigma of streaming kernels where those of a pass are counted apart: 79 % of RTX PRO 6000's, whose rates
/// differ from kernel to kernel, lie within z90 times this.
inline constexpr double elementwise_kernels_log_sigma = 0.19;

/// Of one machine and engine. What is not counted is in the numbers of the engine, fused, or unknown.
template <Scalar T = double>
struct basic_elementwise_kernels {
  label name{"none"};
  bool residual = false, rotary = false, head_norm = false;
  bool activation = false, cache_write = false, sampler = false;
  duration<T> kernel_time = lift<T>(graph_kernel_time);  ///< start and end of one
  T head_norm_cycles{};         ///< SM cycles an element takes, whose rows are too short to stream
  duration<T> sampler_floor{};  ///< the sampler is several kernels: all they take with few logits
  T sampler_passes = T(1.0);    ///< over the logits

  constexpr bool counts(elementwise_kernel k) const {
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
using elementwise_kernels = basic_elementwise_kernels<>;

/// What repeats in every layer, none of it fused: rotary embeddings, norms of heads, activations, writes to the
/// cache, one launch each; in a captured graph, or eager with stream_kernel_time. No profile of a data-centre
/// chip has it: see docs/laws/engines.md for what it does to services.
/// Test: eager, 32 layers of Llama 3.1 8B take 96 times 1.3 us more than captured.
template <Scalar T = double>
constexpr basic_elementwise_kernels<T> unfused_layer_kernels(
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
constexpr duration<T> elementwise_kernel_time(const basic_accelerator<T>& a, elementwise_kernel k,
                                              const Streamed& x,
                                              const basic_machine_parameters<T>& m,
                                              const basic_elementwise_kernels<T>& s) {
  basic_memory_bound_kernels<T> kernels{.kernel_time = s.kernel_time};
  if (k == elementwise_kernel::head_norm) kernels.element_cycles = s.head_norm_cycles;
  const bool inside = k == elementwise_kernel::residual || k == elementwise_kernel::sampler;
  if (inside) kernels.kernel_time = duration<T>{};
  const duration<T> once =
      calibrated_estimate(a, x, {m, kernels}, {.cache = cache_state::warm}).time;
  return k == elementwise_kernel::sampler ? duration<T>(s.sampler_floor + s.sampler_passes * once)
                                          : once;
}

}  // namespace perfmodel
