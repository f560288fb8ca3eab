// What values a number format can hold.
#pragma once

#include <perfmodel/hardware/number_format.hpp>

namespace perfmodel {

/// The largest and least value, and the smallest above 0 that has all its bits: below it a float
/// loses precision, and `smallest` is the last one before 0.
struct value_range {
  double largest = 0.0;
  double lowest = 0.0;
  double smallest_normal = 1.0;
  double smallest = 1.0;
};

namespace detail {
constexpr double power_of_two(int exponent) {
  double x = 1.0;
  for (int i = 0; i < exponent; ++i) x *= 2.0;
  for (int i = 0; i > exponent; --i) x /= 2.0;
  return x;
}
/// A binary float: largest = (2 - 2^-fraction) 2^top, or with the top codes taken by NaN less.
constexpr value_range float_range(int fraction_bits, int top_exponent, int least_exponent,
                                  double largest_significand) {
  const double largest = largest_significand * power_of_two(top_exponent);
  return {largest, -largest, power_of_two(least_exponent),
          power_of_two(least_exponent - fraction_bits)};
}
constexpr value_range float_range(int fraction_bits, int top_exponent) {
  return float_range(fraction_bits, top_exponent, 1 - top_exponent,
                     2.0 - power_of_two(-fraction_bits));
}
constexpr value_range integer_range(int bits) {
  const double half = power_of_two(bits - 1);
  return {half - 1.0, -half, 1.0, 1.0};
}
}  // namespace detail

/// Source: IEEE 754-2019; Open Compute Project, "8-bit Floating Point Specification", 2023 (fp8 is
/// E4M3, whose top exponent keeps one code for NaN) and "Microscaling Formats", 2023 (fp4 is E2M1,
/// without NaN); bf16 and tf32 have float's exponents. Leaves out the scale of a block.
/// Tests: fp8 448, fp16 65504, int8 -128 to 127, fp4 6, bf16 3.39e38, smallest normal fp8 2^-6.
constexpr value_range range_of(number_format format) {
  switch (format) {
    case number_format::fp64: return detail::float_range(52, 1023);
    case number_format::fp32: return detail::float_range(23, 127);
    case number_format::tf32: return detail::float_range(10, 127);
    case number_format::bf16: return detail::float_range(7, 127);
    case number_format::fp16: return detail::float_range(10, 15);
    case number_format::fp8: return detail::float_range(3, 8, -6, 1.75);
    case number_format::int8: return detail::integer_range(8);
    case number_format::fp4: return detail::float_range(1, 2, 0, 1.5);
    case number_format::int4: return detail::integer_range(4);
  }
  return {};
}

}  // namespace perfmodel
