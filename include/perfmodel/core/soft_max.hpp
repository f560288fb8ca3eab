// Two things at once that get in each other's way.
#pragma once

#include <cmath>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/quantity.hpp>
#include <type_traits>

namespace perfmodel::detail {

/// (a^2 + b^2)^(1/2): two things that overlap in part. In a constant expression by Newton's method,
/// else by the processor's square root: these may differ in the last bit.
template <Scalar T>
constexpr duration<T> partly_hidden(const duration<T>& a, const duration<T>& b) {
  using math::sqrt;
  const T x = a.value();
  const T y = b.value();
  const T squares = x * x + y * y;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::is_constant_evaluated()) return duration<T>::from_value(std::sqrt(squares));
  }
  return duration<T>::from_value(sqrt(squares));
}

}  // namespace perfmodel::detail
