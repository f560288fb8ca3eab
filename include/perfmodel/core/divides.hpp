// Checks that two counts fit each other: heads that share a cache, degrees that split a model.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel::detail {

/// Not constexpr on purpose: see out_of_range.
[[noreturn]] inline void does_not_divide(error_code code, const char* part, double part_value,
                                         const char* whole, double whole_value) {
  throw error(code, std::string(part) + " is " + number_text(part_value) + " and " + whole +
                        " is " + number_text(whole_value) + "; " + part + " must divide " + whole);
}

/// `part` divides `whole` in every lane. An uncertain count (an interval) is not judged.
template <Scalar T>
constexpr void divides(error_code code, const char* part, const T& part_value, const char* whole,
                       const T& whole_value) {
  if (lanes_of<T>::count == 1 &&
      (lower(part_value) < upper(part_value) || lower(whole_value) < upper(whole_value))) {
    return;
  }
  for (std::size_t i = 0; i < lanes_of<T>::count; ++i) {
    const double p = lanes_of<T>::lane(part_value, i);
    const double w = lanes_of<T>::lane(whole_value, i);
    const double quotient = w / p;
    if (math::ceil(quotient) != quotient) does_not_divide(code, part, p, whole, w);
  }
}

}  // namespace perfmodel::detail
