// The iron law: time = data movement + computation + exposed overhead, and how the first two
// overlap.
#pragma once

#include <perfmodel/laws/roofline.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/quantity.hpp>

// A smooth maximum of two times: what two activities take that overlap in part.

namespace perfmodel::inline v0_3::detail {

/// (a^p + b^p)^(1/p): the sum at p = 1, and the nearer to the maximum the larger p. Computed as
/// m (1 + (n/m)^p)^(1/p) with m the larger and n the smaller, so that nothing overflows.
template <Scalar T>
constexpr duration<T> p_norm(const duration<T>& a, const duration<T>& b, const T& p) {
  using math::pow;
  const duration<T> longer = max(a, b);
  // The floor keeps 0 / 0 out when both are 0; no time that matters is below it.
  const T ratio = min(a, b) / max(longer, duration<T>::from_value(T(1e-100)));
  return longer * pow(T(1.0) + pow(ratio, p), T(1.0) / p);
}

/// The p-norm at p = 2 by a square root: each operand appears once, so intervals do not widen.
template <Scalar T>
constexpr duration<T> p_norm(const duration<T>& a, const duration<T>& b) {
  using math::sqrt;
  return duration<T>::from_value(sqrt(T(a.value() * a.value() + b.value() * b.value())));
}

}  // namespace perfmodel::inline v0_3::detail

namespace perfmodel::inline v0_3 {

/// Overlap of two activities, as the exponent of a p-norm: 1 is one after the other, and a larger p
/// is closer to complete overlap. p is calibrated per class of operator.
template <Scalar T = double>
struct basic_overlap {
  T p = T(1.0);

  static constexpr basic_overlap none() { return {T(1.0)}; }
  /// The largest p allowed: the p-norm is then the maximum, to the rounding of a double.
  static constexpr basic_overlap full() { return {T(detail::largest_count)}; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("p", s.p...);
  }
};
using overlap = basic_overlap<>;

/// T = a + b: b starts when a ends. Test: overlapped <= partly_overlapped <= serial.
template <Scalar T>
constexpr duration<T> serial(const duration<T>& a, const duration<T>& b) {
  return detail::not_negative("a", a) + detail::not_negative("b", b);
}

/// T = max(a, b): both run from the start and neither slows the other.
template <Scalar T>
constexpr duration<T> overlapped(const duration<T>& a, const duration<T>& b) {
  return max(detail::not_negative("a", a), detail::not_negative("b", b));
}

/// T = (a^p + b^p)^(1/p). A smooth way between serial (p = 1) and overlapped (p large); it is an
/// interpolation and no mechanism. Errors: a time below 0; p below 1.
/// Tests: p = 1 is serial; p = overlap::full() is overlapped; T falls as p grows.
template <Scalar T>
constexpr duration<T> partly_overlapped(const duration<T>& a, const duration<T>& b,
                                        const basic_overlap<std::type_identity_t<T>>& how) {
  return detail::p_norm(detail::not_negative("a", a), detail::not_negative("b", b),
                        detail::count("p", how.p));
}

/// T = overlap(D / BW, O / R) + L. Source: the iron law of processor performance (Emer and Clark,
/// "A Characterization of Processor Performance in the VAX-11/780", ISCA 1984) with memory and
/// arithmetic in place of instructions; full overlap is the roofline plus L. Terms: data, compute,
/// overhead. Put efficiencies on both rates, or on neither. mfu and mbu are shares of the rates
/// given. Leaves out which bytes a cache serves. Errors: an amount below 0; a rate of 0; p below 1.
/// Test: 17.5 GB at 3.35 TB/s and no FLOP is 5.224 ms.
template <Scalar T>
constexpr basic_estimate<T> iron_law(const bytes<T>& moved,
                                     const perfmodel::bandwidth<T>& bandwidth, const flops<T>& work,
                                     const perfmodel::flop_rate<T>& rate,
                                     const duration<T>& overhead,
                                     const basic_overlap<std::type_identity_t<T>>& how = {}) {
  basic_estimate<T> e;
  const duration<T> data =
      detail::not_negative("moved", moved) / detail::positive("bandwidth", bandwidth);
  const duration<T> compute = detail::not_negative("work", work) / detail::positive("rate", rate);
  e.terms.add(limiter::memory, "data", data);
  e.terms.add(limiter::compute, "compute", compute);
  e.terms.add(limiter::launch, "overhead", detail::not_negative("overhead", overhead));
  e.limiter = e.terms.limiting();
  e.time = named("time", partly_overlapped(data, compute, how) + overhead);
  const duration<T> divisor = max(e.time, duration<T>::from_value(T(1e-100)));
  e.mfu = compute / divisor;
  e.mbu = data / divisor;
  return e;
}

namespace detail {
template <Scalar T, class Policy>
constexpr basic_estimate<T> iron_law(const basic_accelerator<T>& a, const basic_demand<T>& d,
                                     const duration<T>& overhead, const basic_overlap<T>& how,
                                     const Policy& policy) {
  positive("dram.bandwidth", a.dram.bandwidth.quantity());
  const duration<T> data = d.dram.total() / policy.dram_bandwidth(a, d);
  duration<T> matrix{};
  duration<T> vector{};
  if (upper(d.matrix_flop.value()) > 0.0) matrix = d.matrix_flop / policy.matrix_rate(a, d);
  if (upper(d.vector_flop.value()) > 0.0) vector = d.vector_flop / policy.vector_rate(a, d);
  basic_estimate<T> e;
  const duration<T> exposed = not_negative("overhead", overhead) + policy.launch_time(a, d);
  e.terms.add(limiter::memory, "data", data);
  e.terms.add(limiter::compute, "compute", max(matrix, vector));
  e.terms.add(limiter::launch, "overhead", exposed);
  e.limiter = e.terms.limiting();
  e.time = named("time", partly_overlapped(data, max(matrix, vector), how) + exposed);
  if (lower(e.time.value()) > 0.0) {
    if (upper(d.matrix_flop.value()) > 0.0) e.mfu = d.matrix_flop / peak(a, d.format) / e.time;
    e.mbu = d.dram.total() / a.dram.bandwidth / e.time;
  }
  return e;
}
}  // namespace detail

/// The iron law of an operator on an accelerator, with the rates that the policy grants. The
/// compute term is the longer of matrix and vector work. Leaves out L2, shared memory and links:
/// see roofline().
/// Test: with full overlap and no overhead it equals roofline() where none of them limits.
template <Scalar T, class W, class Policy = datasheet>
constexpr auto iron_law(const basic_accelerator<T>& a, const W& w,
                        const std::type_identity_t<duration<T>>& overhead,
                        const basic_overlap<std::type_identity_t<T>>& how = {},
                        const Policy& policy = {}) {
  if constexpr (detail::require_workload<W, T>()) {
    using S = detail::joint_scalar<T, detail::scalar_of_workload<W>>;
    if constexpr (require_execution_policy<Policy, S>())
      return detail::iron_law(detail::over<S>(a), detail::over<S>(demand_of(w)), lift<S>(overhead),
                              detail::over<S>(how), policy);
    else
      return basic_estimate<S>{};
  } else {
    return basic_estimate<T>{};
  }
}

/// Share of a term in the sum of all terms: what the term would save if it vanished and nothing
/// overlapped. Test: the shares of all terms add up to 1.
template <Scalar T>
constexpr T share_of(const basic_estimate<T>& e, std::string_view name) {
  return e.terms[name] / max(e.terms.sum(), duration<T>::from_value(T(1e-100)));
}

}  // namespace perfmodel::inline v0_3
