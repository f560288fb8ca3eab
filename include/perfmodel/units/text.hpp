// Quantities as text with engineering prefixes: 3.35 TB/s, 295 FLOP/B, 41.8 ms. No iostream.
#pragma once

#include <charconv>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/convention.hpp>
#include <perfmodel/units/named.hpp>
#include <string>
#include <string_view>

namespace perfmodel::inline v0_3 {

namespace detail {

/// `digits` significant digits, never an exponent between 1e-3 and 1e6.
inline std::string significant(double x, int digits) {
  char buffer[64];
  const double size = x < 0 ? -x : x;
  const bool plain = size == 0.0 || (size >= 1e-3 && size < 1e6);
  if (!plain) {
    const auto end =
        std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::general, digits);
    return {buffer, end.ptr};
  }
  int whole = 0;
  for (double y = size; y >= 1.0; y /= 10.0) ++whole;
  int leading_zeros = 0;
  for (double y = size; y != 0.0 && y < 0.1; y *= 10.0) ++leading_zeros;
  int decimals = digits - whole + leading_zeros;
  if (decimals < 0) decimals = 0;
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::fixed, decimals);
  std::string s(buffer, end.ptr);
  if (s.find('.') != std::string::npos) {
    while (s.back() == '0') s.pop_back();
    if (s.back() == '.') s.pop_back();
  }
  return s;
}

struct unit_words {
  std::string numerator, denominator;
};
inline unit_words words_of(const unit_exponents& e) {
  static constexpr const char* symbols[] = {"s", "B", "FLOP", "tok", "req", "J", "USD"};
  unit_words w;
  for (std::size_t i = 7; i-- > 0;) {
    const int p = e.power[i];
    std::string& side = p > 0 ? w.numerator : w.denominator;
    for (int n = p < 0 ? -p : p; n > 0; --n)
      side.append(side.empty() ? "" : "*").append(symbols[i]);
  }
  return w;
}

inline std::string with_prefix(double x, const std::string& unit, const std::string& over,
                               int digits) {
  static constexpr const char* prefixes[] = {"p", "n", "u", "m", "",  "k",
                                             "M", "G", "T", "P", "E", "Z"};
  const double size = x < 0 ? -x : x;
  int step = 0;
  if (size > 0.0 && size < infinity) {
    const double rounds_up = 1.0 - 0.5 * math::exp(-2.302585092994046 * digits);
    double y = size / rounds_up;
    for (; y >= 1000.0 && step < 7; y /= 1000.0) ++step;
    for (; y < 1.0 && step > -4; y *= 1000.0) --step;
    for (int i = 0; i < step; ++i) x /= 1000.0;
    for (int i = 0; i > step; --i) x *= 1000.0;
  }
  std::string s = significant(x, digits);
  s.append(" ").append(prefixes[step + 4]).append(unit);
  if (!over.empty()) s.append("/").append(over);
  return s;
}

/// A rate of events, such as accesses: 104.7e9/s. Prefixes and hertz are left to clocks.
inline std::string events_per_second(double x, int digits) {
  const double size = x < 0 ? -x : x;
  if (!(size >= 1e6 || (size > 0.0 && size < 1e-3)) || size >= infinity)
    return significant(x, digits) + "/s";
  int exponent = 0;
  const double rounds_up = 1.0 - 0.5 * math::exp(-2.302585092994046 * digits);
  double y = size / rounds_up;
  for (; y >= 1000.0 && exponent < 300; y /= 1000.0) exponent += 3;
  for (; y < 1.0 && exponent > -300; y *= 1000.0) exponent -= 3;
  for (int i = 0; i < exponent; i += 3) x /= 1000.0;
  for (int i = 0; i > exponent; i -= 3) x *= 1000.0;
  return significant(x, digits).append("e").append(std::to_string(exponent)).append("/s");
}

/// Whether a quantity of that name counts cycles of a clock: vector.clock, clock_hz.
constexpr bool is_clock(std::string_view name) {
  return name.ends_with("clock") || name.ends_with("clock_hz");
}

/// A time as text: from 10,000 s on in hours; never in ks or Ms, which read as ms.
inline std::string time_text(double seconds, int digits) {
  const double size = seconds < 0 ? -seconds : seconds;
  if (!(size >= 999.5 && size < infinity)) return with_prefix(seconds, "s", "", digits);
  return size < 1e4 ? significant(seconds, digits) + " s"
                    : significant(seconds / 3600.0, digits) + " h";
}

}  // namespace detail

/// A value in base units as text. Long times are printed in hours, rates of money per hour or per
/// million tokens, rates of events per second. Hertz are for clocks: see clock_text.
inline std::string to_string(double value, const unit_exponents& unit, int digits = 3) {
  using detail::significant;
  const auto is = [&](std::array<signed char, 7> p) { return unit.power == p; };
  if (is({0, 0, 0, 0, 0, 0, 0})) return significant(value, digits);
  if (is({1, 0, 0, 0, 0, 0, 0})) return detail::time_text(value, digits);
  if (is({-1, 0, 0, 0, 0, 0, 0})) return detail::events_per_second(value, digits);
  if (is({-1, 0, 0, 0, 0, 1, 0})) return detail::with_prefix(value, "W", "", digits);
  if (is({0, -1, 1, 0, 0, 0, 0})) return significant(value, digits + 1) + " FLOP/B";
  if (is({-1, 0, 0, 0, 0, 0, 1})) return significant(value * 3600.0, digits) + " USD/h";
  if (is({0, 0, 0, -1, 0, 0, 1})) return significant(value * 1e6, digits) + " USD/Mtok";
  if (is({0, 0, 0, 0, 0, 0, 1})) return significant(value, digits) + " USD";
  const detail::unit_words w = detail::words_of(unit);
  if (w.numerator == "tok" || w.numerator == "req") {
    std::string s = significant(value, digits + 1) + " " + w.numerator;
    if (!w.denominator.empty()) s.append("/").append(w.denominator);
    return s;
  }
  return detail::with_prefix(value,
                             w.numerator.empty() ? std::string("/") + w.denominator : w.numerator,
                             w.numerator.empty() ? "" : w.denominator, digits);
}

/// to_string(3.35 * TB_per_s) == "3.35 TB/s". Scalars with one value print that value.
template <class U, Scalar T>
std::string to_string(const bu::quantity<U, T>& q, int digits = 3) {
  return to_string(mid(q.value()), exponents_of<bu::quantity<U, T>>(), digits);
}

/// The rate of a clock: clock_text(1.98 * GHz) == "1.98 GHz".
template <Scalar T>
std::string clock_text(const frequency<T>& f, int digits = 3) {
  return detail::with_prefix(mid(f.value()), "Hz", "", digits);
}
/// to_string for a value that has a name; a clock rate prints in hertz.
inline std::string to_string(double value, const unit_exponents& unit, int digits,
                             std::string_view name) {
  if (unit == exponents_of<frequency<>>() && detail::is_clock(name))
    return clock_text(frequency<>::from_value(value), digits);
  return to_string(value, unit, digits);
}

/// Text of a quantity under a convention: to_string(message_bytes<>(16_KiB)) == "16.4 kB".
template <class Convention, Quantity Q>
std::string to_string(const qualified<Convention, Q>& q, int digits = 3) {
  return to_string(q.quantity(), digits);
}

}  // namespace perfmodel::inline v0_3
