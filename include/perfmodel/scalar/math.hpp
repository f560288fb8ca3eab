// Elementary functions: those of <cmath> at run time, and series in constant expressions, where
// <cmath> is not to be had on every compiler. The two agree to 1e-14.
// A law says `using math::pow;` and calls pow(x, y); other scalars bring their own by ADL.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <perfmodel/scalar/scalar.hpp>
#include <type_traits>

namespace perfmodel::inline v0_3::math {

/// Smallest integer not below x. Exact for |x| < 2^62; larger doubles are integers already.
constexpr double ceil(double x) {
  constexpr double whole = 4611686018427387904.0;
  if (!(x < whole && x > -whole)) return x;
  const double t = static_cast<double>(static_cast<long long>(x));
  return t < x ? t + 1.0 : t;
}
/// Largest integer not above x.
constexpr double floor(double x) {
  return -ceil(-x);
}

namespace series {

/// x = m * 2^e with m in [1, 2). x is positive and finite.
struct mantissa_exponent {
  double mantissa;
  int exponent;
};
/// Mantissa and exponent of a positive finite number.
constexpr mantissa_exponent split(double x) {
  int e = 0;
  for (; x >= 18446744073709551616.0; x *= 0x1p-64) e += 64;
  for (; x < 0x1p-64; x *= 18446744073709551616.0) e -= 64;
  for (; x >= 2.0; x *= 0.5) ++e;
  for (; x < 1.0; x *= 2.0) --e;
  return {x, e};
}
/// x 2^e.
constexpr double scale2(double x, int e) {
  for (; e >= 64; e -= 64) x *= 0x1p64;
  for (; e <= -64; e += 64) x *= 0x1p-64;
  for (; e > 0; --e) x *= 2.0;
  for (; e < 0; ++e) x *= 0.5;
  return x;
}
constexpr double ln2 = 0.693147180559945309417232121458;

/// Natural logarithm; -infinity at 0. Relative error below 1e-15.
constexpr double log(double x) {
  if (x == 0.0) return -perfmodel::detail::infinity;
  if (!(x > 0.0) || x == perfmodel::detail::infinity)
    return x > 0.0 ? x : perfmodel::detail::not_a_number;
  auto [m, e] = split(x);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++e;
  }
  const double s = (m - 1.0) / (m + 1.0);  // ln m = 2 (s + s^3/3 + s^5/5 + ...), |s| < 0.172
  const double s2 = s * s;
  double sum = 0.0;
  for (int k = 25; k >= 1; k -= 2) sum = sum * s2 + 1.0 / k;
  return 2.0 * s * sum + e * ln2;
}
/// e^x; 0 and infinity beyond the range of double.
constexpr double exp(double x) {
  if (x > 709.78) return perfmodel::detail::infinity;
  if (x < -745.0) return 0.0;
  const double n = floor(x / ln2 + 0.5);
  const double r = x - n * ln2;  // |r| < 0.35
  double sum = 1.0;
  for (int k = 17; k >= 1; --k) sum = 1.0 + sum * r / k;
  return scale2(sum, static_cast<int>(n));
}
/// Square root by Newton's method on the mantissa.
constexpr double sqrt(double x) {
  if (x == 0.0 || x == perfmodel::detail::infinity) return x;
  if (!(x > 0.0)) return perfmodel::detail::not_a_number;
  auto [m, e] = split(x);
  if (e % 2 != 0) {
    m *= 2.0;
    --e;
  }
  double r = 0.5 * (m + 1.0);
  for (int i = 0; i < 6; ++i) r = 0.5 * (r + m / r);
  return scale2(r, e / 2);
}
/// base^exponent for a base of at least 0.
constexpr double pow(double base, double exponent) {
  if (exponent == 0.0) return 1.0;
  if (base == 0.0) return exponent > 0.0 ? 0.0 : perfmodel::detail::infinity;
  return exp(exponent * log(base));
}

}  // namespace series

/// Natural logarithm; -infinity at 0.
constexpr double log(double x) {
  return std::is_constant_evaluated() ? series::log(x) : std::log(x);
}
/// e^x; 0 and infinity beyond the range of double.
constexpr double exp(double x) {
  return std::is_constant_evaluated() ? series::exp(x) : std::exp(x);
}
/// Square root.
constexpr double sqrt(double x) {
  return std::is_constant_evaluated() ? series::sqrt(x) : std::sqrt(x);
}
/// base^exponent for a base of at least 0.
constexpr double pow(double base, double exponent) {
  return std::is_constant_evaluated() ? series::pow(base, exponent) : std::pow(base, exponent);
}

}  // namespace perfmodel::inline v0_3::math

// Choosing by cost, for scalars on which `if` has no one answer.

namespace perfmodel::inline v0_3::detail {

/// A scalar that is a range of numbers.
template <class T>
concept Range = requires(const T& x) {
  { x.lo() } -> std::same_as<double>;
  { x.hi() } -> std::same_as<double>;
  T(x.lo(), x.hi());
};

/// Index of the least of the first n costs; the first of equals.
template <Scalar T, std::size_t N>
constexpr std::size_t index_of_least(const std::array<T, N>& cost, std::size_t n) {
  std::size_t least = 0;
  for (std::size_t i = 1; i < n; ++i) {
    if (unrecorded_value(cost[i]) < unrecorded_value(cost[least])) least = i;
  }
  return least;
}

/// value[i] of the least cost[i], i < n. Over a range it covers every i that can be the least.
template <Scalar T, std::size_t N>
constexpr T value_of_least(const std::array<T, N>& cost, const std::array<T, N>& value,
                           std::size_t n) {
  if constexpr (Range<T>) {
    double reachable = cost[0].hi();
    for (std::size_t i = 1; i < n; ++i) reachable = scalar_min(reachable, cost[i].hi());
    double lo = infinity;
    double hi = -infinity;
    for (std::size_t i = 0; i < n; ++i) {
      if (cost[i].lo() > reachable) continue;
      lo = scalar_min(lo, value[i].lo());
      hi = scalar_max(hi, value[i].hi());
    }
    return T(lo, hi);
  } else {
    return value[index_of_least(cost, n)];
  }
}

/// x(c) where x is known only through root(double) -> double, increasing, and slope(double root) =
/// d c / d x there: by end of a range, and for anything else by one step of Newton's method from
/// the root, which carries the derivative (implicit function theorem). residual(x, c) is 0 at the
/// root.
template <Scalar T, class Root, class Slope, class Residual>
constexpr T solved(const T& c, Root&& root, Slope&& slope, Residual&& residual) {
  if constexpr (Range<T>) {
    return T(root(c.lo()), root(c.hi()));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(root(static_cast<double>(c)));
  } else {
    const double at = root(mid(c));
    return T(at) - residual(T(at), c) / T(slope(at));
  }
}

}  // namespace perfmodel::inline v0_3::detail
