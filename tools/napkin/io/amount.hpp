// Amounts with units as people write them, read and written: 6 TB/s, 40ms, 80 GiB, 2.5 USD/h.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>

#include "codes.hpp"
#include "text.hpp"

namespace common {

using perfmodel::unit_exponents;

/// Scale of a unit in base units, and its dimensions.
struct unit_size {
  double factor = 1.0;
  unit_exponents unit{};
};

namespace detail {

struct unit_symbol {
  std::string_view text;
  std::string_view prefixes;  ///< allowed one-letter prefixes
  unit_size size;
};
// mB (a thousandth of a byte) is not a useful unit.
constexpr unit_symbol unit_symbols[] = {{"s", "munp", {1.0, {{1}}}},
                                        {"min", "", {60.0, {{1}}}},
                                        {"h", "", {3600.0, {{1}}}},
                                        {"sec", "mun", {1.0, {{1}}}},
                                        {"secs", "mun", {1.0, {{1}}}},
                                        {"second", "", {1.0, {{1}}}},
                                        {"seconds", "", {1.0, {{1}}}},
                                        {"millisecond", "", {1e-3, {{1}}}},
                                        {"milliseconds", "", {1e-3, {{1}}}},
                                        {"microsecond", "", {1e-6, {{1}}}},
                                        {"microseconds", "", {1e-6, {{1}}}},
                                        {"\u00b5s", "", {1e-6, {{1}}}},  // micro sign
                                        {"\u03bcs", "", {1e-6, {{1}}}},  // Greek mu
                                        {"nanosecond", "", {1e-9, {{1}}}},
                                        {"nanoseconds", "", {1e-9, {{1}}}},
                                        {"mins", "", {60.0, {{1}}}},
                                        {"minute", "", {60.0, {{1}}}},
                                        {"minutes", "", {60.0, {{1}}}},
                                        {"hour", "", {3600.0, {{1}}}},
                                        {"hours", "", {3600.0, {{1}}}},
                                        {"B", "kKMGTPE", {1.0, {{0, 1}}}},
                                        {"bit", "kKMGTPE", {0.125, {{0, 1}}}},
                                        {"FLOP", "kKMGTPE", {1.0, {{0, 0, 1}}}},
                                        {"FLOPS", "kKMGTPE", {1.0, {{-1, 0, 1}}}},
                                        {"OP", "kKMGTPE", {1.0, {{0, 0, 1}}}},
                                        {"OPS", "kKMGTPE", {1.0, {{-1, 0, 1}}}},
                                        {"J", "munpkMG", {1.0, {{0, 0, 0, 0, 0, 1}}}},
                                        {"W", "mkMG", {1.0, {{-1, 0, 0, 0, 0, 1}}}},
                                        {"Hz", "kMGT", {1.0, {{-1}}}},
                                        {"USD", "", {1.0, {{0, 0, 0, 0, 0, 0, 1}}}}};

constexpr double prefix_factor(char prefix) {
  constexpr std::string_view letters = "punmkKMGTPE";
  constexpr double factors[] = {1e-12, 1e-6, 1e-9, 1e-3, 1e3, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18};
  return factors[letters.find(prefix)];
}

/// 2^10, 2^20, 2^30 or 2^40 of Ki, Mi, Gi, Ti; 0 of anything else.
constexpr double binary_prefix(std::string_view text) {
  constexpr std::string_view letters = "KMGT";
  if (text.size() < 2 || text[1] != 'i' || letters.find(text[0]) == letters.npos) return 0.0;
  return static_cast<double>(std::uint64_t{1024} << 10U * letters.find(text[0]));
}

/// GB, ms, GiB: one symbol with its prefix.
inline std::optional<unit_size> one_unit_of(std::string_view text) {
  for (const unit_symbol& u : unit_symbols) {
    if (text == u.text) return u.size;
  }
  for (const unit_symbol& u : unit_symbols) {
    if (!text.ends_with(u.text)) continue;
    const std::string_view prefix = text.substr(0, text.size() - u.text.size());
    if (prefix.size() == 1 && u.prefixes.find(prefix) != std::string_view::npos) {
      return unit_size{prefix_factor(prefix[0]) * u.size.factor, u.size.unit};
    }
    if (prefix.size() == 2 && u.text == "B" && binary_prefix(prefix) > 0.0) {
      return unit_size{binary_prefix(prefix), u.size.unit};
    }
  }
  return {};
}

inline std::string_view without_blanks(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

}  // namespace detail

/// TB/s, USD/h, pJ/bit, ms, and /s for a rate of events.
inline std::optional<unit_size> find_unit(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto over = slash == 0 ? unit_size{} : detail::one_unit_of(text.substr(0, slash));
  if (!over || slash == text.npos) return over;
  const auto under = detail::one_unit_of(text.substr(slash + 1));
  if (!under) return {};
  unit_size u = *over;
  u.factor = under->factor == 1.0 ? u.factor : u.factor * (1.0 / under->factor);
  for (std::size_t i = 0; i < u.unit.power.size(); ++i) {
    u.unit.power[i] = static_cast<signed char>(u.unit.power[i] - under->unit.power[i]);
  }
  return u;
}

/// The number at the start of `s`; `rest` is the remaining text. Throws out_of_range where no
/// double represents it.
inline std::optional<double> parse_number(std::string_view s, std::string_view& rest) {
  const std::size_t sign = !s.empty() && (s[0] == '-' || s[0] == '+') ? 1 : 0;
  if (s.size() <= sign || !(s[sign] == '.' || (s[sign] >= '0' && s[sign] <= '9'))) return {};
  double x = 0.0;
  const auto begin = s.data() + (s[0] == '+' ? 1 : 0);
  const auto [end, failure] = std::from_chars(begin, s.data() + s.size(), x);
  if (failure == std::errc::result_out_of_range) {
    throw perfmodel::error(perfmodel::error_code::out_of_range,
                           cat("the number ", in_quotes(s), " is out of the range of a double"));
  }
  if (failure != std::errc()) return {};
  rest = std::string_view(end, static_cast<std::size_t>(s.data() + s.size() - end));
  return x;
}

/// Value in base units: 6e12 of "6 TB/s", "6TB/s" and "6e12". None where it is not a number, or has
/// another unit.
inline std::optional<double> parse_amount(std::string_view text, const unit_exponents& unit) {
  std::string_view rest;
  const auto x = parse_number(detail::without_blanks(text), rest);
  rest = detail::without_blanks(rest);
  if (!x || rest.empty()) return x;
  const auto u = find_unit(rest);
  if (!u || u->unit != unit) return {};
  return *x * u->factor;
}

/// A count with a suffix: k, M, B or G, T in thousands (4k = 4000), Ki, Mi, Gi, Ti binary
/// (4Ki = 4096). None where it is not a number, or has another suffix.
inline std::optional<double> parse_count(std::string_view text) {
  std::string_view rest;
  const auto x = parse_number(detail::without_blanks(text), rest);
  rest = detail::without_blanks(rest);
  if (!x || rest.empty()) return x;
  if (rest.size() == 2 && detail::binary_prefix(rest) > 0.0)
    return *x * detail::binary_prefix(rest);
  constexpr std::string_view letters = "kKMBGT";
  constexpr double factors[] = {1e3, 1e3, 1e6, 1e9, 1e9, 1e12};
  const std::size_t at = rest.size() == 1 ? letters.find(rest) : letters.npos;
  return at == letters.npos ? std::optional<double>{} : *x * factors[at];
}

/// Whether a text is a nonzero number without a unit.
inline bool lacks_unit(std::string_view text) {
  std::string_view rest;
  const auto x = parse_number(detail::without_blanks(text), rest);
  return x && *x != 0.0 && detail::without_blanks(rest).empty();
}
inline constexpr const char* latency_units = "ns, us, ms, s, min, h";
/// Refusal of a latency without a unit, to follow the name of its key: "20, without a unit: 20 ms
/// or 20 s? allowed: a number with its unit (ns, us, ms, s, min, h), such as 20ms".
inline std::string two_readings(std::string_view text, const char* smaller = "ms") {
  const std::string x(detail::without_blanks(text));
  return cat(x, ", without a unit: ", x, ' ', smaller, " or ", x,
             " s? allowed: a number with its unit (", latency_units, "), such as ", x, smaller);
}

/// "B/s", "Hz", "W", "USD/h": the unit text of amounts with those exponents; "" for a plain number.
inline std::string unit_of_amounts(const unit_exponents& unit) {
  if (unit == unit_exponents{{-1}}) return "Hz";
  if (unit == unit_exponents{{-1, 0, 0, 0, 0, 1}}) return "W";
  if (unit == unit_exponents{{-1, 0, 0, 0, 0, 0, 1}}) return "USD/h";
  const auto w = perfmodel::detail::words_of(unit);
  return w.denominator.empty() ? w.numerator : cat(w.numerator, '/', w.denominator);
}

namespace detail {
inline std::string plain_number(double x) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr};
}
/// x / u in the fewest digits that give x again.
inline std::string shortest_number(double x, const unit_size& u) {
  double y = x / u.factor;
  for (int digits = 1; digits <= 17; ++digits) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), x / u.factor,
                                   std::chars_format::general, digits);
    std::from_chars(text.data(), end.ptr, y);
    if (y * u.factor == x) break;
  }
  return plain_number(y);
}
}  // namespace detail

/// The shortest text that parse_amount reads as exactly x; "" where there is none with a unit.
inline std::string amount_text(double x, const unit_exponents& unit) {
  const std::string base = unit_of_amounts(unit);
  std::string best;
  for (const std::string_view prefix :
       {"", "p", "n", "u", "m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi"}) {
    const std::string name = cat(prefix, base);
    const auto u = base.empty() && prefix.empty() ? unit_size{} : find_unit(name);
    if (!u) continue;
    const double size = std::abs(x / u->factor);
    if (!prefix.empty() && !(size >= 0.9999999 && size < 1e6)) continue;
    const std::string text = cat(detail::shortest_number(x, *u), name.empty() ? "" : " ", name);
    if (parse_amount(text, unit) == x && (best.empty() || text.size() <= best.size())) best = text;
  }
  return best;
}

/// Allowed spellings of an amount: "a number in B/s, or one with its unit: 1 GB/s".
inline std::string allowed_amount(const unit_exponents& unit) {
  const std::string name = unit_of_amounts(unit);
  if (name.empty()) return "a number";
  const char* prefix = "G";
  if (name == "s") prefix = "u";
  if (name == "J/B") prefix = "p";
  if (name == "FLOP" || name == "W" || name == "USD/h") prefix = "";
  return cat("a number in ", name, ", or one with its unit: 1 ", prefix, name);
}

}  // namespace common
