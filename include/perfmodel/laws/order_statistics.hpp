// Order statistics: the largest of n values, and requests that wait for the slowest of n replicas.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>
#include <perfmodel/units/named.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Quantile of the standard normal distribution, with an absolute error below 1e-6.
/// Source: Wichura, "Algorithm AS 241", Applied Statistics 37(3), 1988, PPND7.
template <Scalar T>
constexpr T normal_quantile(const T& share) {
  using math::log;
  using math::sqrt;
  const T q = share - 0.5;
  if (mid(q) >= -0.425 && mid(q) <= 0.425) {
    const T r = 0.180625 - q * q;
    return q * (((59.10937472 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
           (((67.1875636 * r + 78.757757664) * r + 17.895169469) * r + 1.0);
  }
  const bool low = mid(q) < 0.0;
  const T r = sqrt(T(-log(low ? share : T(1.0 - share))));
  const T middle = r - 1.6, outer = r - 5.0;
  const T z = mid(r) <= 5.0
                  ? T((((0.17023821103 * middle + 1.3067284816) * middle + 2.75681539) * middle +
                       1.4234372777) /
                      ((0.12021132975 * middle + 0.7370016425) * middle + 1.0))
                  : T((((0.017337203997 * outer + 0.42868294337) * outer + 3.081226386) * outer +
                       6.657905115) /
                      ((0.012258202635 * outer + 0.24197894225) * outer + 1.0));
  return low ? T(-z) : z;
}

/// Value of expected_largest_normal for any n from 1 on, without a check.
template <Scalar T>
constexpr T largest_of_normals(const T& n) {
  if constexpr (Range<T>) {
    return T(largest_of_normals(n.lo()), largest_of_normals(n.hi()));
  } else {
    using math::log;
    const T shift = 0.4479 - 0.4348 / (log(n) + 2.9524);
    return normal_quantile(T((n - shift) / (n + 1.0 - 2.0 * shift)));
  }
}

}  // namespace detail

/// Expected largest of n independent standard normal values, in standard deviations above the mean:
/// the normal quantile of (n - a) / (n + 1 - 2 a), with a = 0.4479 - 0.4348 / (ln n + 2.9524).
/// Source: Blom, "Statistical Estimates and Transformed Beta-Variables", 1958, with a = 3/8; a is
/// fitted here to means by quadrature, n = 2 to 1e6, to 0.14 %. sqrt(2 ln n) is only a bound.
/// Leaves out: dependent and skewed values. Errors: n outside 1 to 1e9.
/// Tests: 0 of one; 0.5642, 1.4236, 2.3437 and 3.2414 of 2, 8, 64 and 1000.
template <Number N>
constexpr auto expected_largest_normal(const N& n) {
  using T = promoted<N>;
  return named("largest of n",
               detail::largest_of_normals(detail::within("n", T(n), 1.0, 1e9, "1 to 1e9")));
}

/// Expected largest of n independent exponential times of one mean: mean (1 + 1/2 + ... + 1/n).
/// Source: Renyi, "On the theory of order statistics", 1953. Errors: n outside 1 to 1e9.
/// Tests: 2 are 1.5 means, 100 are 5.1874.
template <Scalar T>
constexpr duration<T> expected_largest_exponential(const duration<T>& mean, int n) {
  detail::within("n", static_cast<double>(n), 1.0, 1e9, "1 to 1e9");
  double sum = 0.0;
  const int few = n < 100 ? n : 100;
  for (int k = 1; k <= few; ++k) sum += 1.0 / k;
  const auto rest = [](double x) { return math::log(x) + 0.5 / x - 1.0 / (12.0 * x * x); };
  if (n > few) sum += rest(n) - rest(few);
  return named("largest of n", detail::not_negative("mean", mean) * sum);
}

/// Share of requests that meet a slow reply when each waits for n replicas, of which each is slow
/// with probability p: 1 - (1 - p)^n.
/// Source: Dean and Barroso, "The Tail at Scale", CACM 56(2), 2013. Leaves out: replicas that are
/// slow at the same time. Errors: p outside 0 to 1, n below 1.
/// Test: 1 % slow replies of 100 replicas slow 63 % of the requests.
template <Number Share, Number N>
constexpr auto fan_out_share(const Share& slow, const N& n) {
  using T = promoted<Share, N>;
  using math::exp;
  using math::log;
  const T fast = 1.0 - detail::fraction("slow", T(slow));
  detail::count("n", T(n));
  if (!(lower(fast) > 0.0)) return T(1.0);
  return named("slow requests", T(1.0 - exp(T(T(n) * log(fast)))));
}

/// Percentile that each of n replicas must meet, so that a share q of requests meets a limit:
/// q^(1/n). Source: as fan_out_share, solved. Test: p99 over 100 replicas is p99.99 of each.
template <Number Share, Number N>
constexpr auto fan_out_percentile(const Share& share, const N& n) {
  using T = promoted<Share, N>;
  using math::exp;
  using math::log;
  detail::within("share", T(share), 1e-12, 1.0, "more than 0, up to 1");
  return named("percentile", T(exp(T(log(T(share)) / detail::count("n", T(n))))));
}

/// Share of requests that are slow when a second replica gets those without a reply after the q-th
/// percentile: (1 - q) s, with s the share of the second replies that are slow. The second requests
/// are a load of 1 - q. Source: as fan_out_share (hedged requests). Leaves out: the wait before the
/// second request, and what its load does to the first ones. Errors: shares outside 0 to 1.
/// Test: hedged after p95, with 1 slow reply in 100, 1 request in 2,000 is slow.
template <Number Quantile, Number Slow>
constexpr auto hedged_share(const Quantile& after, const Slow& slow) {
  using T = promoted<Quantile, Slow>;
  return named("slow requests",
               T((1.0 - detail::fraction("after", T(after))) * detail::fraction("slow", T(slow))));
}

}  // namespace perfmodel::inline v0_3
