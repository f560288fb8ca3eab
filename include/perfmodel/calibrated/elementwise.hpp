// Element-wise operators, normalisations and look-ups as kernels run them.
#pragma once

#include <perfmodel/calibrated/cache_state.hpp>
#include <perfmodel/calibrated/machine_profile.hpp>
#include <perfmodel/core/check_fields.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/core/soft_max.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/workload/operators/elementwise.hpp>
#include <perfmodel/workload/operators/embedding.hpp>
#include <perfmodel/workload/operators/norm.hpp>

namespace perfmodel {

/// What a small kernel costs by being launched, in a captured graph and in a stream: near 1.3 and
/// 2.6 us on A100 and H200. Source: te42kyfo/gpu-benches 1c36d509, gpu-small-kernels, printed
/// output, 64 KiB (A100 1.34 and 2.62 us, H200 1.26 and 2.43 us; L40 0.94 and 1.64 us).
inline constexpr duration<> graph_kernel_time = 1.3 * us;
inline constexpr duration<> stream_kernel_time = 2.6 * us;

/// 80 % of |ln(measured / predicted)| of published streaming kernels lie within z90 times this.
inline constexpr double streaming_log_sigma = 0.19;

/// Whose streaming kernels run, and how they are started. Kernels that load vectors of elements at
/// a time keep up with memory and cost no cycles of their own; kernels that load one by one do not.
template <Scalar T = double>
struct basic_memory_bound_kernels {
  label name{"vectorised"};
  duration<T> kernel_time = lift<T>(graph_kernel_time);
  T element_cycles{};  ///< SM cycles an element of the result takes, activation or normalisation
  T lookup_cycles{};   ///< the same of a look-up in a table

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f("kernel_time", s.kernel_time...);
    f("element_cycles", s.element_cycles...);
    f("lookup_cycles", s.lookup_cycles...);
  }
};
using memory_bound_kernels = basic_memory_bound_kernels<>;

/// Refuses what no library has, by the field's name: a time or cycles below 0, and each that is no
/// number or not finite. Test: each field, with each of these.
template <Scalar T>
constexpr void require_valid(const basic_memory_bound_kernels<T>& k) {
  detail::check_fields([&k](auto& check) {
    check.not_negative("kernel_time", k.kernel_time);
    check.not_negative("element_cycles", k.element_cycles);
    check.not_negative("lookup_cycles", k.lookup_cycles);
  });
}

namespace detail {

template <Scalar T>
constexpr basic_estimate<T> streamed(const basic_accelerator<T>& a, const basic_demand<T>& d,
                                     const T& elements, const T& cycles,
                                     const basic_machine_parameters<T>& machine,
                                     const basic_memory_bound_kernels<T>& k, cache_state state) {
  require_valid(k);
  const bytes<T> moved = d.dram.total();
  const bandwidth<T> dram = positive("dram_share", machine.dram_share) *
                            positive("dram.bandwidth", a.dram.bandwidth.quantity());
  const bool has_l2 = upper(not_negative("l2_bandwidth", machine.l2_bandwidth).value()) > 0.0 &&
                      upper(a.l2.capacity.value()) > 0.0;
  const T warm =
      state == cache_state::cold || !has_l2 ? T(0.0) : resident(moved, a.l2.capacity.quantity());
  duration<T> memory = (1.0 - warm) * moved / dram;
  if (has_l2) memory = memory + warm * moved / positive("l2_bandwidth", machine.l2_bandwidth);
  duration<T> work{};
  if (upper(cycles) > 0.0) {
    work = cycles * elements /
           (count("sms", a.sms.value()) * positive("vector.clock", a.vector.clock.quantity()));
  }
  basic_estimate<T> e;
  memory = e.terms.add(limiter::memory, "memory", memory);
  if (upper(work.value()) > 0.0) work = e.terms.add(limiter::vector_compute, "elements", work);
  e.limiter = e.terms.limiting();
  const duration<T> launch = e.terms.add(limiter::launch, "launch", d.launches * k.kernel_time);
  e.time = named("time", launch + partly_hidden(memory, work));
  e.mbu = (1.0 - warm) * moved / a.dram.bandwidth.quantity() / e.time;
  return e;
}

}  // namespace detail

/// time = launch + hypot(memory, elements cycles / (SMs clock)); memory = bytes / (dram_share BW),
/// or / l2_bandwidth for what a replay still finds in L2 (cache_state.hpp). Sources: gpu-benches
/// (above) for the launch and the L2; the form is this project's own. Leaves out: bandwidth that
/// few bytes in flight leave unused, reads and writes of different cost. Errors: as demand_of and
/// require_valid of the kernels; a dram_share or an l2_bandwidth that no machine has; sms or clock
/// not stated where cycles are. Tests: by hand; published latencies of two accelerators.
template <Scalar T>
constexpr basic_estimate<T> calibrated_elementwise(const basic_accelerator<T>& a,
                                                   const basic_elementwise<T>& x,
                                                   const basic_machine_parameters<T>& machine,
                                                   const basic_memory_bound_kernels<T>& k = {},
                                                   cache_state state = cache_state::cold) {
  return detail::streamed(a, demand_of(x), x.elements, k.element_cycles, machine, k, state);
}
template <Scalar T>
constexpr basic_estimate<T> calibrated_elementwise(const basic_accelerator<T>& a,
                                                   const basic_norm<T>& x,
                                                   const basic_machine_parameters<T>& machine,
                                                   const basic_memory_bound_kernels<T>& k = {},
                                                   cache_state state = cache_state::cold) {
  return detail::streamed(a, demand_of(x), T(x.rows * x.width), k.element_cycles, machine, k,
                          state);
}
template <Scalar T>
constexpr basic_estimate<T> calibrated_elementwise(const basic_accelerator<T>& a,
                                                   const basic_embedding<T>& x,
                                                   const basic_machine_parameters<T>& machine,
                                                   const basic_memory_bound_kernels<T>& k = {},
                                                   cache_state state = cache_state::cold) {
  return detail::streamed(a, demand_of(x), T(x.tokens * x.hidden), k.lookup_cycles, machine, k,
                          state);
}

}  // namespace perfmodel
