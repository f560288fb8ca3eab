// Time of the kernels of element-wise operators, normalisations and embedding look-ups.
#pragma once

#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/operators/elementwise.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/operators/norm.hpp>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel::inline v0_3 {

/// Time of one launch of an element-wise kernel, in a captured graph and in a stream.
/// Source: te42kyfo/gpu-benches 1c36d509, gpu-small-kernels, printed output, 64 KiB (A100 1.34 and
/// 2.62 us; GH200, which its files call h200, 1.26 and 2.43 us; L40 0.94 and 1.64 us). The value
/// for a stream seems to be the launch rate of the CPU.
/// An H200 takes 0.92 us in a graph and 1.76 us in a stream with a full queue
/// (validation/recordings/h200_sxm/launch.json). Kernels that begin with loads from DRAM take 1.85
/// to 2.45 us.
inline constexpr duration<> graph_kernel_time = 1.3 * us;
inline constexpr duration<> stream_kernel_time = 2.6 * us;

/// Share of DRAM bandwidth that element-wise kernels reach, unless a machine profile states a
/// larger one for GEMMs. One value for all machines: the longest kernels of gpu-benches reach 0.85
/// on A100 and 0.87 on GH200, additions of Vidur 0.86 on A100.
inline constexpr double elementwise_dram_share = 0.86;

/// log_sigma of element-wise kernels: 80 % of published times lie within z90 x log_sigma (see
/// fitted_profile).
inline constexpr double elementwise_log_sigma = 0.12;

/// Costs of a library of element-wise kernels, and of their launches. Kernels that load vectors of
/// elements keep up with memory and cost no cycles. Kernels that load single elements cost SM
/// cycles for each.
template <Scalar T = double>
struct basic_memory_bound_kernels {
  label name{"vectorised"};
  duration<T> kernel_time = lift<T>(graph_kernel_time);
  T element_cycles{};  ///< SM cycles per output element of an activation or normalisation
  T lookup_cycles{};   ///< SM cycles per output element of an embedding look-up
  duration<T> serial_lookup_time{};  ///< time per token of look-ups of up to 16 tokens, in sequence

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

template <Scalar T = double>
using basic_elementwise_calibration = kernel_calibration<basic_memory_bound_kernels<T>>;
using elementwise_calibration = basic_elementwise_calibration<>;

/// Largest number of tokens that PyTorch looks up sequentially; each adds serial_lookup_time.
/// Source: PyTorch, aten/src/ATen/native/cuda/Indexing.cu, index_select of few indices. Test: by
/// hand.
inline constexpr double most_serial_lookups = 16.0;

namespace detail {

/// Share of a kernel's tensors that the previous run left in L2: 1 / (1 + (bytes / L2)^4). It is
/// 1/2 at the capacity. The step is flatter than that for re-read operands (l2_resident_share).
template <Scalar T>
constexpr T streamed_resident_share(const bytes<T>& moved, const bytes<T>& capacity) {
  const T x = named("L2 filled", T(moved / positive("l2.capacity", capacity)));
  const T x2 = x * x;
  return 1.0 / (1.0 + x2 * x2);
}

/// Elements of the SM with the most work: elements / SMs, and at least one row, since one block
/// computes a row.
template <Scalar T>
constexpr T elements_per_sm(const T& elements, const std::optional<T>& rows, const T& sms) {
  if (!rows) return elements / sms;
  return elements * scalar_max(T(1.0 / *rows), T(1.0 / sms));
}

/// Parameters of the machine, and the costs of its element-wise kernels.
template <Scalar T>
struct elementwise_view {
  const basic_machine_parameters<T>& machine;
  duration<T> kernel_time{};
  T element_cycles{}, lookup_cycles{};
  duration<T> serial_lookup_time{};
};

/// Elements, rows and SM cycles per element of an element-wise operator, and the time of sequential
/// look-ups.
template <Scalar T>
struct elementwise_shape {
  T elements{};
  std::optional<T> rows{};
  T cycles{};
  duration<T> lookups{};
};
template <Scalar T>
constexpr elementwise_shape<T> shape_of(const basic_elementwise<T>& x,
                                        const elementwise_view<T>& c) {
  return {x.elements, x.rows, c.element_cycles};
}
template <Scalar T>
constexpr elementwise_shape<T> shape_of(const basic_norm<T>& x, const elementwise_view<T>& c) {
  return {x.rows * x.width, x.rows, c.element_cycles};
}
template <Scalar T>
constexpr elementwise_shape<T> shape_of(const basic_embedding<T>& x, const elementwise_view<T>& c) {
  elementwise_shape<T> shape{x.tokens * x.hidden, {}, c.lookup_cycles};
  if (upper(c.serial_lookup_time.value()) > 0.0) {
    const T sequential = 1.0 - indicator(T(x.tokens - most_serial_lookups));
    shape.lookups = sequential * x.tokens * c.serial_lookup_time;
  }
  return shape;
}

/// Time of an element-wise kernel: memory traffic overlapped with SM cycles, plus the launch. L2
/// supplies data of the previous run if the cache is warm.
template <Scalar T, class Operator, class Terms>
constexpr kernel_time<T> time_of_kernel(const basic_accelerator<T>& a, const Operator& x,
                                        const basic_demand<T>& d, const elementwise_view<T>& c,
                                        const basic_call_conditions<T>& conditions, Terms&& terms) {
  const basic_machine_parameters<T>& machine = c.machine;
  const elementwise_shape<T> shape = shape_of(x, c);
  const bytes<T> moved = d.dram.total();
  const bandwidth<T> dram = scalar_max(machine.dram_share, T(elementwise_dram_share)) *
                            positive("dram.bandwidth", a.dram.bandwidth.quantity());
  const auto& l2 =
      machine.elementwise_l2_bandwidth ? machine.elementwise_l2_bandwidth : machine.l2_bandwidth;
  const T warm = conditions.cache == cache_state::cold || !l2 || !a.l2.capacity.is_stated()
                     ? T(0.0)
                     : streamed_resident_share(moved, a.l2.capacity.quantity());
  duration<T> memory = (1.0 - warm) * moved / dram;
  if (l2) {  // no slower than DRAM
    memory = memory + min(duration<T>(warm * moved / *l2), duration<T>(warm * moved / dram));
  }
  memory = terms.add(limiter::memory, "memory", memory);
  duration<T> element_time{};
  if (upper(shape.cycles) > 0.0) {
    element_time = shape.cycles *
                   elements_per_sm(shape.elements, shape.rows, count("sms", a.sms.value())) /
                   clock_of(a);
  }
  const bool has_elements = upper(element_time.value()) > 0.0;
  if (has_elements) element_time = terms.add(limiter::vector_compute, "elements", element_time);
  const duration<T> launch = terms.add(limiter::launch, "launch", d.launches * c.kernel_time);
  duration<T> time = named("time", launch + p_norm(memory, element_time));
  if (upper(shape.lookups.value()) > 0.0) {
    time += terms.add(limiter::latency, "look-ups", shape.lookups);
  }
  return {time, (1.0 - warm) * moved, std::size_t{1} + has_elements};  // all parts but the launch
}

}  // namespace detail

/// Time of an element-wise operator: memory traffic overlapped with the SM cycles of its elements,
/// plus a launch. In a replayed benchmark, part of the traffic is from L2. One thread block
/// computes a row: with fewer rows than SMs some SMs are idle.
/// Sources: te42kyfo/gpu-benches 1c36d509 for the launch and L2; vLLM, csrc/activation_kernels.cu
/// and layernorm_kernels.cu (one block for each token). The formula is this project's own.
/// Leaves out: bandwidth lost with few bytes in flight; different costs of reads and writes.
/// Errors: those of demand_of; sms or clock not stated if elements take cycles.
/// Tests: values computed by hand; published latencies of two accelerators.
template <Scalar T, template <class> class Operator>
  requires requires(const Operator<T>& x, const detail::elementwise_view<T>& c) {
    detail::shape_of(x, c);
  }
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a, const Operator<T>& x,
                                                const basic_elementwise_calibration<T>& c,
                                                const basic_call_conditions<T>& conditions = {}) {
  const basic_memory_bound_kernels<T>& k = c.kernels;
  const detail::elementwise_view<T> view{c.machine, k.kernel_time, k.element_cycles,
                                         k.lookup_cycles, k.serial_lookup_time};
  return detail::estimate_of_kernel(a, x, view, conditions);
}

// Element-wise kernels of an engine step that were measured separately, and their times.

/// log_sigma of element-wise kernels that are counted separately in a step. Their rates differ from
/// kernel to kernel: 79 % of the times on RTX PRO 6000 lie within z90 x log_sigma.
inline constexpr double elementwise_kernels_log_sigma = 0.19;

/// Element-wise kernels of an engine step that are counted separately, on one accelerator model
/// with one engine. The other kernels are included in the parameters of the engine, fused, or not
/// known.
template <Scalar T = double>
struct basic_elementwise_kernels {
  label name{"none"};
  bool residual = false, rotary = false, head_norm = false;
  bool activation = false, cache_write = false, sampler = false;
  duration<T> kernel_time = lift<T>(graph_kernel_time);  ///< start and end of one kernel
  T head_norm_cycles{};         ///< SM cycles per element of a head norm: its rows are short
  duration<T> sampler_floor{};  ///< time of the sampler's kernels with few logits
  T sampler_passes = T(1.0);    ///< number of times that the sampler reads the logits

  constexpr bool includes(elementwise_kernel k) const {
    const bool all[] = {residual, rotary, head_norm, activation, cache_write, sampler};
    return detail::entry_of(all, k, "small_kernel");
  }
  constexpr bool has_any() const {
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

/// Element-wise kernels of an engine that fuses none: in each layer one launch each of rotary
/// embedding, head norms, activation and KV-cache write. `kernel_time` is graph_kernel_time in a
/// captured graph, stream_kernel_time in eager mode.
/// No profile of a data-centre accelerator includes them; docs/laws/engines.md has their effect on
/// services.
/// Test: in eager mode, the 32 layers of Llama 3.1 8B take 96 x 1.3 us more than in a captured
/// graph.
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

/// Time of one element-wise kernel. Its inputs are in L2, as far as they fit.
///
///     sampler = sampler_floor + sampler_passes x (bytes of the logits / their bandwidth)
///     residual = bytes / bandwidth; all others: an element-wise kernel with its launch
///
/// Errors: those of calibrated_estimate. Tests: values computed by hand; published latencies of RTX
/// PRO 6000.
template <Scalar T, class Streamed>
constexpr duration<T> elementwise_kernel_time(const basic_accelerator<T>& a, elementwise_kernel k,
                                              const Streamed& x,
                                              const basic_machine_parameters<T>& m,
                                              const basic_elementwise_kernels<T>& s) {
  const bool without_launch = k == elementwise_kernel::residual || k == elementwise_kernel::sampler;
  detail::elementwise_view<T> kernels{m, without_launch ? duration<T>{} : s.kernel_time};
  if (k == elementwise_kernel::head_norm) kernels.element_cycles = s.head_norm_cycles;
  const duration<T> single_time =
      time_of_kernel(a, x, demand_of(x), kernels,
                     basic_call_conditions<T>{.cache = cache_state::warm}, detail::no_terms{})
          .time;
  return k == elementwise_kernel::sampler
             ? duration<T>(s.sampler_floor + s.sampler_passes * single_time)
             : single_time;
}

}  // namespace perfmodel::inline v0_3
