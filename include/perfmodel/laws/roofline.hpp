// The roofline: no kernel outruns its arithmetic units or any of the memories it reads.
#pragma once

#include <perfmodel/core/estimate.hpp>
#include <perfmodel/laws/execution.hpp>

namespace perfmodel::inline v0_3 {

/// Attainable rate P(I) = min(R, BW I). Source: Williams, Waterman and Patterson, "Roofline", CACM
/// 52(4), 2009, section 3. Leaves out latency, launches and every cache. Errors: rates not
/// positive.
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
/// Ridge point of an accelerator: peak in `format` over DRAM bandwidth.
template <Scalar T>
constexpr intensity<T> ridge_point(const basic_accelerator<T>& a, number_format format) {
  return ridge_point(peak(a, format), a.dram.bandwidth.quantity());
}

/// Batch at which a decode step reaches the ridge point, if any does.
template <Scalar T = double>
struct basic_ridge_batch {
  T batch{};
  perfmodel::feasibility feasible{};
};

/// B sequences do 2 P B FLOP on P b bytes of weights and B `cache` bytes of their own, so the
/// intensity is I* at B = I* P b / (2 P - I* cache), which is I* b / 2 without a cache. Not
/// feasible, with a batch of 0, where 2 P <= I* cache: the intensity then stays below 2 P / cache
/// at any batch.
/// Leaves out the FLOP of attention. Errors: parameters or bytes not positive. Tests: 295.3
/// FLOP/byte in bf16 need 295; 70e9 parameters with 8192 tokens of 327,680 bytes never get there.
template <Scalar T>
constexpr basic_ridge_batch<T> ridge_batch(
    const intensity<T>& ridge, const std::type_identity_t<T>& parameters,
    const std::type_identity_t<bytes<T>>& bytes_per_weight,
    const std::type_identity_t<bytes<T>>& cache_per_sequence = {}) {
  const flops<T> work = 2.0 * detail::positive("parameters", parameters) * lift<T>(flop);
  const flops<T> for_cache = detail::positive("ridge", ridge) *
                             detail::not_negative("cache_per_sequence", cache_per_sequence);
  const flops<T> for_weights =
      ridge * (parameters * detail::positive("bytes_per_weight", bytes_per_weight));
  basic_ridge_batch<T> r;
  if (!(lower(work.value()) > upper(for_cache.value()))) {
    r.feasible = infeasible("each sequence's cache keeps the intensity below the ridge", "FLOP",
                            upper(for_cache.value()), lower(work.value()));
    return r;
  }
  r.batch = named("batch", for_weights / (work - for_cache));
  return r;
}

enum class regime { memory_bound, compute_bound };
/// Side of the ridge point that an intensity lies on. Test: 200 FLOP/byte on V100, A100, H100, B200
/// is compute, compute, memory, memory.
template <Scalar T>
constexpr regime regime_of(const basic_accelerator<T>& a, number_format format,
                           const intensity<T>& i) {
  return mid(i.value()) < mid(ridge_point(a, format).value()) ? regime::memory_bound
                                                              : regime::compute_bound;
}

namespace detail {
/// Static assertion with a sentence for an argument that is no operator, or one of another scalar.
template <class W, Scalar T>
constexpr bool require_workload() {
  static_assert(Workload<W>,
                "a law takes an operator or a demand, such as gemm{.m = 1, .n = 8192, .k = 8192}: "
                "see docs/troubleshooting.md#an-operator");
  if constexpr (Workload<W>) {
    using S = scalar_of_workload<W>;
    constexpr bool one_scalar =
        std::same_as<S, T> || std::same_as<S, double> || std::same_as<T, double>;
    static_assert(one_scalar,
                  "the accelerator and the operator have two different scalars, and neither is "
                  "double: see docs/troubleshooting.md#one-scalar");
    return one_scalar;
  } else {
    return false;
  }
}

/// demand / rate; 0 where there is no demand or no stated rate.
template <class Amount, Quantity Rate>
constexpr auto time_at(const Amount& demand, const char* field, const fact<Rate>& rate) {
  using time = decltype(demand / rate.quantity());
  const bool bounds = rate.is_stated() && upper(demand.value()) > 0.0;
  return bounds ? time(demand / positive(field, rate.quantity())) : time{};
}

/// The roofline of a demand and a machine over one scalar.
template <Scalar T, class Policy>
constexpr basic_estimate<T> roofline(const basic_accelerator<T>& a, const basic_demand<T>& d,
                                     const Policy& policy) {
  const bool multiplies = upper(d.matrix_flop.value()) > 0.0;
  const bool has_vector_work = upper(d.vector_flop.value()) > 0.0 && has_vector_peak(a);
  if (upper(d.sent.value()) > 0.0) positive("fabric.bandwidth", a.fabric.bandwidth.quantity());
  positive("dram.bandwidth", a.dram.bandwidth.quantity());

  duration<T> compute{}, vector{};
  if (multiplies) compute = d.matrix_flop / positive("matrix_rate", policy.matrix_rate(a, d));
  if (has_vector_work) vector = d.vector_flop / positive("vector_rate", policy.vector_rate(a, d));
  const basic_term<T> levels[] = {
      {limiter::compute, "compute", compute},
      {limiter::vector_compute, "vector", vector},
      {limiter::memory, "memory", d.dram.total() / policy.dram_bandwidth(a, d)},
      {limiter::l2, "l2", time_at(d.l2.total(), "l2.bandwidth", a.l2.bandwidth)},
      {limiter::shared, "shared",
       time_at(d.shared.total(), "shared.bandwidth", a.shared.bandwidth)},
      {limiter::link, "link", time_at(d.sent, "fabric.bandwidth", a.fabric.bandwidth)},
  };
  basic_estimate<T> e;
  for (const basic_term<T>& level : levels) {
    if (level.kind == limiter::memory || upper(level.time.value()) > 0.0)
      e.terms.add(level.kind, level.name, level.time);
  }
  e.limiter = e.terms.limiting();
  const duration<T> launch = policy.launch_time(a, d);
  e.time = named("time", e.terms.largest() + launch);
  if (upper(launch.value()) > 0.0) e.terms.add(limiter::launch, "launch", launch);
  if (lower(e.time.value()) > 0.0) {
    if (multiplies) e.mfu = d.matrix_flop / peak(a, d.format) / e.time;
    e.mbu = d.dram.total() / a.dram.bandwidth / e.time;
  }
  return e;
}
}  // namespace detail

/// T = max(O_matrix / R_matrix, O_vector / R_vector, D_l / BW_l for every level l) + launches, for
/// an operator or a demand: roofline(h100_sxm, gemm{.m = 1, .n = 8192, .k = 8192}). An operator
/// over double takes the machine's scalar, and the reverse.
/// Source: hierarchical roofline, Yang, Kurth and Williams, "Hierarchical Roofline analysis for
/// GPUs", CCPE 2020. Terms: compute, vector, memory, l2, shared, link; a level without a stated
/// bandwidth or demand adds none.
/// Errors: a format the accelerator lacks; no DRAM bandwidth; bytes sent without a fabric. Tests: T
/// never falls below any term; MFU = MBU I / I*; 1 GB sent at 450 GB/s is 2.22 ms.
template <Scalar T, class W, class Policy = datasheet>
constexpr auto roofline(const basic_accelerator<T>& a, const W& w, const Policy& policy = {}) {
  if constexpr (detail::require_workload<W, T>()) {
    using S = detail::joint_scalar<T, detail::scalar_of_workload<W>>;
    if constexpr (require_execution_policy<Policy, S>())
      return detail::roofline(detail::over<S>(a), detail::over<S>(demand_of(w)), policy);
    else
      return basic_estimate<S>{};
  } else {
    return basic_estimate<T>{};
  }
}

}  // namespace perfmodel::inline v0_3
