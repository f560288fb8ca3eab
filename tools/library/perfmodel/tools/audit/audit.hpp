// Verdict of a law on a published number, and the likely error behind a wrong one.
#pragma once

#include <cmath>
#include <cstdlib>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/tools/audit/misprint_search.hpp>

namespace perfmodel::inline v0_3 {

enum class verdict {
  reproduced,  ///< within 1 %
  rounding,    ///< equal to the digits given
  possible,    ///< no bound is violated; the number may be a measurement
  needs,       ///< depends on an input that was not stated
  wrong,       ///< the law gives another number
  impossible,  ///< a bound is violated
};
constexpr const char* name_of(verdict v) {
  switch (v) {
    case verdict::reproduced: return "reproduced";
    case verdict::rounding: return "rounding";
    case verdict::possible: return "possible";
    case verdict::needs: return "needs";
    case verdict::wrong: return "wrong";
    case verdict::impossible: break;
  }
  return "impossible";
}

/// A printed number in base units: the range `low` to `high` (equal without a range), and half a
/// unit of the last digit of each.
struct claimed_value {
  double low = 0.0;
  double high = 0.0;
  double half_digit_low = 0.0;
  double half_digit_high = 0.0;
};

/// Relation of a law's result to a measured number: exact, a lower bound (a time at full
/// bandwidth), or an upper bound (tokens per second).
enum class result_kind { exact, at_least, at_most };

/// Half a unit of the last digit of a printed number: 0.05 for 5.2. `digits` above 0 gives the
/// number of significant digits: 250 with one digit has 50.
/// *Tests:* 0.05 for 5.2, 0.005 for 41.79, 5 for 60 with 1 digit.
inline double half_digit(std::string_view printed, int digits = 0) {
  const std::size_t e = printed.find_first_of("eE");
  const std::string_view number = printed.substr(0, e);
  const std::size_t dot = number.find('.');
  double unit =
      dot == number.npos ? 1.0 : std::pow(10.0, -static_cast<double>(number.size() - dot - 1));
  if (e != printed.npos)
    unit *= std::pow(10.0, std::atof(std::string(printed.substr(e + 1)).c_str()));
  const double x = std::fabs(std::atof(std::string(printed).c_str()));
  if (digits > 0 && x > 0.0) {
    unit = std::pow(10.0, std::floor(std::log10(x)) - static_cast<double>(digits - 1));
  }
  return 0.5 * unit;
}

/// Whether a number lies in the claimed range, within a relative tolerance.
inline bool agrees(const claimed_value& c, double x, double tolerance) {
  return x >= c.low - tolerance * std::fabs(c.low) && x <= c.high + tolerance * std::fabs(c.high);
}
/// Whether the number, rounded to the digits of the claim, is the claim.
inline bool rounds_to(const claimed_value& c, double x) {
  constexpr double rounding = 1.0 + 1e-9;
  return x >= c.low - rounding * c.half_digit_low && x <= c.high + rounding * c.half_digit_high;
}

inline constexpr double reproduced_within = 0.01;

/// The verdict on a claim, given the result of a law. `feasible`: whether the deployment fits.
/// A claim within a bound is possible: kernels are slower than the roofline.
/// *Errors:* a result or a claim that is not finite.
/// *Tests:* 42 ms for 41.79 is reproduced, 8.5 for 8.583 rounding, 20 ms for at least 5.22
/// possible, 30 tok/s for at most 5.85 impossible, 494 for exactly 989.4 wrong.
inline verdict verdict_of(const claimed_value& c, double computed,
                          result_kind kind = result_kind::exact, bool feasible = true) {
  for (const double x : {computed, c.low, c.high, c.half_digit_low, c.half_digit_high}) {
    detail::within("value", x, -1e300, 1e300, "a finite number");
  }
  if (!feasible) return verdict::impossible;
  if (agrees(c, computed, reproduced_within)) return verdict::reproduced;
  if (rounds_to(c, computed)) return verdict::rounding;
  if (kind == result_kind::exact) return verdict::wrong;
  const bool beyond = kind == result_kind::at_least ? c.high < computed : c.low > computed;
  return beyond ? verdict::impossible : verdict::possible;
}

/// Whether the result of an error is the claim: within 1 %, or rounded or truncated to its digits
/// and within 4 %, because many numbers agree in one digit.
inline bool explained_by(const claimed_value& c, double x) {
  if (agrees(c, x, reproduced_within)) return true;
  return agrees(c, x, 0.04) && x >= c.low - c.half_digit_low &&
         x <= c.high + 2.0 * c.half_digit_high;
}

/// Relative distance of an error's result from the claim; none where it does not explain the claim.
/// For a kind with few possible values, any result that rounds to the claim explains it.
/// *Test:* 0.535 explains 0.5 as another convention, and not as another machine.
inline std::optional<double> relative_miss(const claimed_value& c, double x, const misprint& kind) {
  if (!explained_by(c, x) && !(kind.few_values && rounds_to(c, x))) return {};
  const double end = x < c.low ? c.low : c.high;
  return x >= c.low && x <= c.high ? 0.0 : std::fabs(x - end) / std::fabs(end);
}
/// Whether a claim is one number, or a range up to a factor of 2; larger ranges contain too many
/// results.
inline bool is_informative(const claimed_value& c) {
  return c.low == c.high || c.high <= 2.0 * c.low;
}

/// Likely errors that explain a wrong or impossible claim, the likeliest first; see find_misprints.
/// For a large range only conventions of counting and inverted quotients are tried.
template <class Ask>
std::vector<found_misprint> misprints_behind(const claimed_value& c, double computed,
                                             const unit_exponents& unit,
                                             std::span<const misprint_input> inputs,
                                             const Ask& ask) {
  const auto miss = [&c](double x, const misprint& kind) { return relative_miss(c, x, kind); };
  return find_misprints(computed, unit, inputs, ask, miss, !is_informative(c));
}
/// The likeliest error.
template <class Ask>
std::optional<found_misprint> misprint_behind(const claimed_value& c, double computed,
                                              const unit_exponents& unit,
                                              std::span<const misprint_input> inputs,
                                              const Ask& ask) {
  const auto all = misprints_behind(c, computed, unit, inputs, ask);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

}  // namespace perfmodel::inline v0_3
