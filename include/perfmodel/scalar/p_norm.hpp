// A smooth maximum of two times: what two activities take that overlap in part.
#pragma once

#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/quantity.hpp>

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
