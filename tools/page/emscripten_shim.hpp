// Standard functions that libc++ 14, the library of Emscripten 3.1.6, lacks. Included before every
// source of the page's module; newer libraries have them.
#pragma once

#include <version>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 15000

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

namespace std {

namespace ranges {

template <class R, class F>
constexpr bool all_of(R&& r, F f) {
  return std::all_of(std::begin(r), std::end(r), [&](auto&& x) { return std::invoke(f, x); });
}
template <class R, class F>
constexpr bool any_of(R&& r, F f) {
  return std::any_of(std::begin(r), std::end(r), [&](auto&& x) { return std::invoke(f, x); });
}
template <class R, class F>
constexpr auto count_if(R&& r, F f) {
  return std::count_if(std::begin(r), std::end(r), [&](auto&& x) { return std::invoke(f, x); });
}
template <class R, class F>
constexpr auto find_if(R&& r, F f) {
  return std::find_if(std::begin(r), std::end(r), [&](auto&& x) { return std::invoke(f, x); });
}
template <class R, class V>
constexpr auto find(R&& r, const V& v) {
  return std::find(std::begin(r), std::end(r), v);
}
template <class R, class V, class P>
constexpr auto find(R&& r, const V& v, P p) {
  return std::find_if(std::begin(r), std::end(r), [&](auto&& x) { return std::invoke(p, x) == v; });
}
template <class R, class C = std::less<void>>
constexpr void stable_sort(R&& r, C c = {}) {
  std::stable_sort(std::begin(r), std::end(r), std::move(c));
}
template <class R, class C = std::less<void>, class P>
constexpr void stable_sort(R&& r, C c, P p) {
  std::stable_sort(std::begin(r), std::end(r), [&](const auto& x, const auto& y) {
    return c(std::invoke(p, x), std::invoke(p, y));
  });
}

}  // namespace ranges

template <class To, class From>
constexpr To bit_cast(const From& x) noexcept {
  return __builtin_bit_cast(To, x);
}

inline to_chars_result to_chars(char* first, char* last, double x, chars_format f, int digits) {
  char text[512];
  const int n = snprintf(text, sizeof text, f == chars_format::fixed ? "%.*f" : "%.*g", digits, x);
  if (n < 0 || n >= static_cast<int>(sizeof text) || n > last - first)
    return {last, errc::value_too_large};
  memcpy(first, text, static_cast<size_t>(n));
  return {first + n, errc()};
}

/// The shortest text that reads back as x; of the two notations the shorter, fixed where they tie.
inline to_chars_result to_chars(char* first, char* last, double x) {
  char scientific[64];
  int digits = 0;
  do {
    snprintf(scientific, sizeof scientific, "%.*e", digits, x);
  } while (strtod(scientific, nullptr) != x && ++digits < 17);
  char fixed[400];
  const char* e = strchr(scientific, 'e');
  const int exponent = e == nullptr ? 0 : atoi(e + 1);
  snprintf(fixed, sizeof fixed, "%.*f", digits > exponent ? digits - exponent : 0, x);
  const char* text = strlen(fixed) <= strlen(scientific) ? fixed : scientific;
  const auto n = static_cast<ptrdiff_t>(strlen(text));
  if (n > last - first) return {last, errc::value_too_large};
  memcpy(first, text, static_cast<size_t>(n));
  return {first + n, errc()};
}

inline from_chars_result from_chars(const char* first, const char* last, double& x) {
  // from_chars takes no sign +, no space and no hexadecimal number, which strtod does.
  const string text(first, last);
  const size_t digits = !text.empty() && text[0] == '-' ? 1 : 0;
  const bool starts = digits < text.size() && text[digits] != '+' && text[digits] != '-' &&
                      text[digits] != ' ' && (text[digits] < '\t' || text[digits] > '\r');
  if (!starts) return {first, errc::invalid_argument};
  const bool hexadecimal = text.size() > digits + 1 && text[digits] == '0' &&
                           (text[digits + 1] == 'x' || text[digits + 1] == 'X');
  const string read = hexadecimal ? text.substr(0, digits + 1) : text;
  char* end = nullptr;
  const double value = strtod(read.c_str(), &end);
  if (end == read.c_str()) return {first, errc::invalid_argument};
  const char* stop = first + (end - read.c_str());
  if (value == HUGE_VAL || value == -HUGE_VAL) {
    if (read.find_first_of("iI") == string::npos) return {stop, errc::result_out_of_range};
  }
  x = value;
  return {stop, errc()};
}

}  // namespace std

#endif
