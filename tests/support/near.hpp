// |a - b| <= relative x max(|a|, |b|), for numbers and quantities, in constant expressions too.
#pragma once

#include <perfmodel/units/quantity.hpp>

namespace perfmodel_test {

constexpr bool near(double a, double b, double relative = 1e-12) {
  const double difference = a < b ? b - a : a - b;
  const double size_a = a < 0 ? -a : a;
  const double size_b = b < 0 ? -b : b;
  return difference <= relative * (size_a < size_b ? size_b : size_a);
}
template <class U>
constexpr bool near(const perfmodel::bu::quantity<U, double>& a,
                    const perfmodel::bu::quantity<U, double>& b, double relative = 1e-12) {
  return near(a.value(), b.value(), relative);
}

}  // namespace perfmodel_test
