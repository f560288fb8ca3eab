// Number formats, their size, and block-scaled quantisation of weights and caches.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/units/constants.hpp>
#include <string_view>

namespace perfmodel::inline v0_3 {

enum class number_format { fp64, fp32, tf32, bf16, fp16, fp8, int8, fp4, int4 };

inline constexpr number_format fp64 = number_format::fp64;
inline constexpr number_format fp32 = number_format::fp32;
inline constexpr number_format tf32 = number_format::tf32;
inline constexpr number_format bf16 = number_format::bf16;
inline constexpr number_format fp16 = number_format::fp16;
inline constexpr number_format fp8 = number_format::fp8;
inline constexpr number_format int8 = number_format::int8;
inline constexpr number_format fp4 = number_format::fp4;
inline constexpr number_format int4 = number_format::int4;

inline constexpr std::array<number_format, 9> all_formats = {fp64, fp32, tf32, bf16, fp16,
                                                             fp8,  int8, fp4,  int4};

/// Name of a number format, as napkin spells it.
constexpr const char* name_of(number_format f) {
  constexpr const char* names[] = {"fp64", "fp32", "tf32", "bf16", "fp16",
                                   "fp8",  "int8", "fp4",  "int4"};
  return detail::entry_of(names, f, "number_format");
}

namespace detail {
inline constexpr double bits_by_format[] = {64, 32, 32, 16, 16, 8, 8, 4, 4};
}

/// Bits of one element in memory. TF32 is a mode of the multiplier: it is stored as 32 bits.
constexpr double bits_of(number_format f) {
  return detail::entry_of(detail::bits_by_format, f, "number_format");
}

/// Bytes of one element, without scales: bf16 2, fp8 1, int4 0.5.
constexpr bytes<> bytes_of(number_format f) {
  return bits_of(f) / 8.0 * byte;
}

/// Format of a GEMM with different operand formats: the one of more bits. Weight-only int4 with
/// bf16 activations multiplies in bf16.
constexpr number_format wider(number_format a, number_format b) {
  return bits_of(a) >= bits_of(b) ? a : b;
}

/// Elements stored in groups that share a scale, and perhaps a zero point.
/// bits per element = bits + (scale_bits + zero_bits) / group, where bits are `value_bits` if given
/// (3-bit GPTQ, GGUF's k-quants by their bytes per block), else the format's. A share `wide_share`
/// of the elements stays in 16 bits: modules that a checkpoint does not quantise.
/// Source: Dettmers & Zettlemoyer, "The case for 4-bit precision", 2023, section 2 (block-wise
/// quantisation).
/// Errors: what takes one refuses a group below 1, and bits outside 0 to 64.
/// Test: {int4, .group = 64, .scale_bits = 16} is 4.25 bits, 0.53125 bytes.
struct storage_format {
  number_format format = number_format::bf16;
  std::optional<double> group{};  ///< elements per scale, where there are scales
  double scale_bits = 0;
  double zero_bits = 0;
  std::optional<double> value_bits{};
  double wide_share = 0;

  constexpr storage_format() = default;
  constexpr storage_format(number_format f) : format(f) {}
  constexpr storage_format(number_format f, double group_size, double bits_per_scale,
                           double bits_per_zero = 0)
      : format(f), group(group_size), scale_bits(bits_per_scale), zero_bits(bits_per_zero) {}

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("format", s.format...);
    f(field::count("group"), s.group...);
    f(field::within("scale_bits", 0.0, 64.0, "0 to 64"), s.scale_bits...);
    f(field::within("zero_bits", 0.0, 64.0, "0 to 64"), s.zero_bits...);
    f(field::within("value_bits", 0.5, 64.0, "0.5 to 64"), s.value_bits...);
    f(field::fraction("wide_share"), s.wide_share...);
  }

  friend constexpr bool operator==(const storage_format&, const storage_format&) = default;
  constexpr double bits() const {
    const double quantised =
        value_bits.value_or(bits_of(format)) + (group ? (scale_bits + zero_bits) / *group : 0.0);
    return quantised + wide_share * (16.0 - quantised);
  }
};
/// Mean bytes per stored value, its scales and zero points included: bits / 8.
constexpr bytes<> bytes_of(const storage_format& s) {
  return s.bits() / 8.0 * byte;
}

// What values a number format can hold.

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
/// E4M3, which reserves one code of its top exponent for NaN) and "Microscaling Formats", 2023 (fp4
/// is E2M1, without NaN); bf16 and tf32 have float's exponents. Leaves out the scale of a block.
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

}  // namespace perfmodel::inline v0_3
