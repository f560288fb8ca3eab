// A double in JSON: the digits and the layout of nlohmann's writer, in a third of its instructions.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

namespace common::detail {

/// Largest number of bytes that write_double writes.
inline constexpr std::size_t double_bytes = 40;

/// Grisu2 of one double: shortest digits of nearly all doubles. 15 digits come from one division
/// and the one to three last ones one by one. Doubles with fewer digits, subnormals and powers of
/// two are left to nlohmann.
/// *Source*: Loitsch, "Printing floating-point numbers quickly and accurately with integers", PLDI
/// 2010. *Test*: tests/unit/json_writer.cpp, against nlohmann's writer.
class double_writer {
 public:
  /// Writes the digits with their point; null where nlohmann has to.
  static char* write(char* to, double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t fraction = bits & (hidden - 1);
    const auto exponent = static_cast<int>(bits >> 52U);
    if (exponent == 0 || fraction == 0) return nullptr;
    // All numbers between the halves of the gaps to both neighbours read as x.
    constexpr int bias = 1075;
    const int e = exponent - bias - 11;  // of the significand in 64 bits
    const std::uint64_t v = (fraction | hidden) << 11U, half_gap = 1U << 10U;
    const auto power = nlohmann::detail::dtoa_impl::get_cached_power_for_binary_exponent(e);
    const std::uint64_t most = upper_product(v + half_gap, power.f) - 1;
    const std::uint64_t least = upper_product(v - half_gap, power.f) + 1;
    const std::uint64_t value = upper_product(v, power.f);
    const int shift = -(power.e + e + 64);  // 32 to 60 bits of fraction
    const std::uint64_t one = std::uint64_t{1} << static_cast<unsigned>(shift);
    const auto whole = static_cast<std::uint32_t>(most >> static_cast<unsigned>(shift));
    const int whole_digits = digits_of(whole);
    const int point = whole_digits - power.k;  // position of the decimal point

    const int later = at_once - whole_digits;
    const std::uint64_t ten = powers[static_cast<std::size_t>(later)];
    const auto [high, low] = product(most & (one - 1), ten);
    std::uint64_t rest = low & (one - 1);
    std::uint64_t width = (most - least) * ten, distance = (most - value) * ten;
    if (rest <= width) return nullptr;  // fewer digits
    const std::uint64_t first = whole * ten + (high << static_cast<unsigned>(64 - shift) |
                                               low >> static_cast<unsigned>(shift));
    std::array<char, 32> digits{};
    int n = at_once;
    write_digits(digits.data(), first);
    do {
      rest *= 10;
      width *= 10;
      distance *= 10;
      digits[static_cast<std::size_t>(n++)] =
          static_cast<char>('0' + (rest >> static_cast<unsigned>(shift)));
      rest &= one - 1;
    } while (rest > width);
    char& last = digits[static_cast<std::size_t>(n - 1)];
    while (rest < distance && width - rest >= one &&
           (rest + one < distance || distance - rest > rest + one - distance)) {
      --last;
      rest += one;
    }
    return lay_out(to, digits.data(), n, point);
  }

 private:
  static constexpr std::uint64_t hidden = std::uint64_t{1} << 52U;
  static constexpr int at_once = 15;
  static constexpr std::array<std::uint64_t, 15> powers = {1,
                                                           10,
                                                           100,
                                                           1'000,
                                                           10'000,
                                                           100'000,
                                                           1'000'000,
                                                           10'000'000,
                                                           100'000'000,
                                                           1'000'000'000,
                                                           10'000'000'000,
                                                           100'000'000'000,
                                                           1'000'000'000'000,
                                                           10'000'000'000'000,
                                                           100'000'000'000'000};

  struct wide {
    std::uint64_t high = 0, low = 0;
  };
  static wide product(std::uint64_t a, std::uint64_t b) {
    __extension__ typedef unsigned __int128 bits128;
    const bits128 p = static_cast<bits128>(a) * b;
    return {static_cast<std::uint64_t>(p >> 64U), static_cast<std::uint64_t>(p)};
  }
  /// Upper half of a product, rounded.
  static std::uint64_t upper_product(std::uint64_t a, std::uint64_t b) {
    const auto [high, low] = product(a, b);
    return high + (low >> 63U);
  }
  static int digits_of(std::uint32_t x) {
    const int least = static_cast<int>(std::bit_width(x)) * 1233 >> 12;  // log10(2) = 0.301
    return least + (x >= powers[static_cast<std::size_t>(least)] ? 1 : 0);
  }
  /// Eight digits, four and two at a time in one word.
  static void write_eight(char* to, std::uint64_t x) {
    const std::uint64_t fours = x / 10000 | (x % 10000) << 32U;
    const std::uint64_t hundreds = ((fours * 10486U) >> 20U) & 0x7f0000007fU;
    const std::uint64_t twos = hundreds | (fours - 100U * hundreds) << 16U;
    const std::uint64_t tens = ((twos * 103U) >> 10U) & 0xf000f000f000fU;
    const std::uint64_t ones = tens | (twos - 10U * tens) << 8U;
    std::uint64_t text = ones + 0x3030303030303030U;
    if constexpr (std::endian::native == std::endian::big) text = __builtin_bswap64(text);
    std::memcpy(to, &text, sizeof text);
  }
  /// 15 digits.
  static void write_digits(char* to, std::uint64_t x) {
    std::array<char, 16> all;
    write_eight(all.data(), x / 100'000'000);
    write_eight(all.data() + 8, x % 100'000'000);
    std::memcpy(to, all.data() + 1, 15);
  }
  /// 0.00digits, dig.its, or d.igitse-05. Whole blocks are moved: bytes behind the end
  /// are overwritten.
  static char* lay_out(char* to, const char* digits, int n, int point) {
    if (point <= -4 || point > 15) {
      to[0] = digits[0];
      to[1] = '.';
      std::memcpy(to + 2, digits + 1, 24);
      to[n + 1] = 'e';
      return nlohmann::detail::dtoa_impl::append_exponent(to + n + 2, point - 1);
    }
    if (point <= 0) {
      std::memcpy(to, "0.000", 5);
      std::memcpy(to + 2 - point, digits, 24);
      return to + 2 - point + n;
    }
    std::memcpy(to, digits, 24);
    std::memcpy(to + point + 1, digits + point, 8);
    std::memcpy(to + point + 9, digits + point + 8, 8);
    to[point] = '.';
    return to + n + 1;
  }
};

/// Writes a finite number as nlohmann does; returns the end.
inline char* write_double(char* to, double x) {
  if (std::signbit(x)) {
    *to++ = '-';
    x = -x;
  }
  char* const end = double_writer::write(to, x);
  return end != nullptr ? end : nlohmann::detail::to_chars(to, to + double_bytes, x);
}

}  // namespace common::detail
