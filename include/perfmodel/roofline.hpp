// The roofline: no kernel outruns its arithmetic units or any of the memories it reads.
#pragma once

#include <perfmodel/core/estimate.hpp>
#include <perfmodel/policy/execution.hpp>
#include <perfmodel/workload/operators/gemm.hpp>

namespace perfmodel {

/// Attainable rate P(I) = min(R, BW I). Source: Williams, Waterman and Patterson, "Roofline", CACM
/// 52(4), 2009, section 3. Leaves out latency, launches and every cache. Errors: rates not positive.
/// Test: on an H100 (989.4 TFLOP/s, 3.35 TB/s) 100 FLOP/byte reach 335 TFLOP/s.
template <Scalar T>
constexpr flop_rate<T> attainable(const flop_rate<T>& peak_rate, const bandwidth<T>& memory,
                                  const intensity<T>& operations_per_byte) {
  detail::positive("peak_rate", peak_rate);
  detail::positive("memory", memory);
  detail::not_negative("operations_per_byte", operations_per_byte);
  return min(peak_rate, flop_rate<T>(operations_per_byte * memory));
}

/// Ridge point I* = R / BW, where a kernel passes from memory-bound to compute-bound.
/// Source: Williams 2009, section 3. Test: H100 bf16 295.3, H200 206.1, H20 37.0 FLOP/byte.
template <Scalar T>
constexpr intensity<T> ridge_point(const flop_rate<T>& peak_rate, const bandwidth<T>& memory) {
  detail::positive("memory", memory);
  return named("ridge point", detail::positive("peak_rate", peak_rate) / memory);
}
template <Scalar T>
constexpr intensity<T> ridge_point(const basic_accelerator<T>& a, number_format format) {
  return ridge_point(peak(a, format), a.dram.bandwidth.quantity());
}

enum class regime { memory_bound, compute_bound };
/// Which side of the ridge an intensity lies on. Test: 200 FLOP/byte on V100, A100, H100, B200 is
/// compute, compute, memory, memory.
template <Scalar T>
constexpr regime regime_of(const basic_accelerator<T>& a, number_format format,
                           const intensity<T>& i) {
  return mid(i.value()) < mid(ridge_point(a, format).value()) ? regime::memory_bound
                                                              : regime::compute_bound;
}

/// T = max(O_matrix / R_matrix + launches, O_vector / R_vector, D_l / BW_l for every level l).
/// Source: hierarchical roofline, Yang, Kurth and Williams, "Hierarchical Roofline analysis for
/// GPUs", CCPE 2020. Terms: compute, vector, memory, l2, shared; a level without a stated bandwidth
/// or demand adds none. Errors: a format the accelerator lacks; no DRAM bandwidth.
/// Tests: T never falls below any term; MFU = MBU I / I*.
template <Scalar T, class Policy = datasheet>
constexpr basic_estimate<T> roofline(const basic_accelerator<T>& a, const basic_demand<T>& d,
                                     const Policy& policy = {}) {
  basic_estimate<T> e;
  if (upper(d.matrix_flop.value()) > 0.0) {
    e.terms.add(limiter::compute, "compute", d.matrix_flop / policy.matrix_rate(a, d));
  }
  if (upper(d.vector_flop.value()) > 0.0 && states_vector_peak(a)) {
    e.terms.add(limiter::vector_compute, "vector", d.vector_flop / policy.vector_rate(a, d));
  }
  detail::positive("dram.bandwidth", a.dram.bandwidth.quantity());
  e.terms.add(limiter::memory, "memory", d.dram.total() / policy.dram_bandwidth(a, d));
  if (upper(d.l2.total().value()) > 0.0 && lower(a.l2.bandwidth.value()) > 0.0) {
    e.terms.add(limiter::l2, "l2",
                d.l2.total() / detail::positive("l2.bandwidth", a.l2.bandwidth.quantity()));
  }
  if (upper(d.shared.total().value()) > 0.0 && lower(a.shared.bandwidth.value()) > 0.0) {
    e.terms.add(
        limiter::shared, "shared",
        d.shared.total() / detail::positive("shared.bandwidth", a.shared.bandwidth.quantity()));
  }
  e.limiter = e.terms.limiting();
  const duration<T> launch = policy.launch_time(a, d);
  e.time = named("time", e.terms.largest() + launch);
  if (upper(launch.value()) > 0.0) e.terms.add(limiter::launch, "launch", launch);
  if (lower(e.time.value()) > 0.0) {
    if (upper(d.matrix_flop.value()) > 0.0) e.mfu = d.matrix_flop / peak(a, d.format) / e.time;
    e.mbu = d.dram.total() / a.dram.bandwidth / e.time;
  }
  return e;
}

/// The same for an operator: roofline(h100_sxm, gemm{.m = 1, .n = 8192, .k = 8192}).
template <Scalar T, Workload W, class Policy = datasheet>
constexpr basic_estimate<T> roofline(const basic_accelerator<T>& a, const W& w,
                                     const Policy& policy = {}) {
  return roofline(a, demand_of(w), policy);
}

}  // namespace perfmodel
