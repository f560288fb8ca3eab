// Whether a published number can be true: what a law says of it, and the mistake behind a wrong one.
#pragma once

#include <cmath>
#include <cstdlib>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/tools/audit/misprint_search.hpp>

namespace perfmodel {

enum class verdict {
  reproduced,  ///< within 1 %
  rounding,    ///< as many digits as were given
  possible,    ///< no bound is broken; the number may be a measurement
  needs,       ///< it depends on an input that was not stated
  wrong,       ///< the law gives another number
  impossible,  ///< a bound is broken
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

/// A number as it was printed, in base units: from `low` to `high`, which are one where no range was
/// given, and half a unit of the last digit of each.
struct claimed_value {
  double low = 0.0;
  double high = 0.0;
  double half_digit_low = 0.0;
  double half_digit_high = 0.0;
};

/// What an answer says of a number that something reached: exactly that, no less (a time at full
/// bandwidth), or no more (tokens per second).
enum class answer_is { exact, at_least, at_most };

/// A number with the half unit of its last digit: 5.2 is good to 0.05. `digits` above 0 are how many of
/// them are meant: 250 with one is good to 50.
/// Tests: 5.2 is good to 0.05, 41.79 to 0.005, 60 with 1 digit to 5.
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

/// Whether a number lies in the claim, give or take a share of it.
inline bool agrees(const claimed_value& c, double x, double tolerance) {
  return x >= c.low - tolerance * std::fabs(c.low) && x <= c.high + tolerance * std::fabs(c.high);
}
/// Whether the claim is that number, rounded to its digits.
inline bool rounds_to(const claimed_value& c, double x) {
  constexpr double rounding = 1.0 + 1e-9;
  return x >= c.low - rounding * c.half_digit_low && x <= c.high + rounding * c.half_digit_high;
}

inline constexpr double reproduced_within = 0.01;

/// The verdict on a claim, given what a law answers. `feasible` is whether what was asked for fits at all.
/// A claim on the far side of a bound is possible: kernels are slower than the roofline. Errors: an answer
/// or a claim that is not finite.
/// Tests: 42 ms for 41.79 are reproduced, 8.5 for 8.583 rounding, 20 ms for at least 5.22 possible, 30
/// tokens per second for at most 5.85 impossible, 494 for exactly 989.4 wrong.
inline verdict verdict_of(const claimed_value& c, double answer, answer_is kind = answer_is::exact,
                          bool feasible = true) {
  for (const double x : {answer, c.low, c.high, c.half_digit_low, c.half_digit_high}) {
    detail::within("value", x, -1e300, 1e300, "a finite number");
  }
  if (!feasible) return verdict::impossible;
  if (agrees(c, answer, reproduced_within)) return verdict::reproduced;
  if (rounds_to(c, answer)) return verdict::rounding;
  if (kind == answer_is::exact) return verdict::wrong;
  const bool beyond = kind == answer_is::at_least ? c.high < answer : c.low > answer;
  return beyond ? verdict::impossible : verdict::possible;
}

/// Whether a slip's number is the claim: within 1 %, rounded or cut to its digits, but no further off than 4 %
/// of it, since much agrees with one digit.
inline bool explained_by(const claimed_value& c, double x) {
  if (agrees(c, x, reproduced_within)) return true;
  return agrees(c, x, 0.04) && x >= c.low - c.half_digit_low &&
         x <= c.high + 2.0 * c.half_digit_high;
}

/// How far off a slip's number is that explains a claim, as a share of it; none where it does not. Of the
/// few numbers of a convention all that rounds to the claim does.
/// Tests: 0.535 explains 0.5 as another convention, and not as another machine.
inline std::optional<double> miss_of(const claimed_value& c, double x, const misprint& kind) {
  if (!explained_by(c, x) && !(kind.wide && rounds_to(c, x))) return {};
  const double end = x < c.low ? c.low : c.high;
  return x >= c.low && x <= c.high ? 0.0 : std::fabs(x - end) / std::fabs(end);
}
/// Whether a claim is of one number, or of a range that tells something: one that ends beyond twice its
/// beginning has too much in it.
inline bool tells_a_misprint(const claimed_value& c) {
  return c.low == c.high || c.high <= 2.0 * c.low;
}

/// The mistakes that explain a claim which is wrong or impossible, the likeliest first, see find_misprints.
/// Where the claim is a range that tells little, conventions of counting and a quotient upside down alone.
template <class Ask>
std::vector<found_misprint> misprints_behind(const claimed_value& c, double answer,
                                             const unit_exponents& unit,
                                             std::span<const misprint_input> inputs,
                                             const Ask& ask) {
  const auto miss = [&c](double x, const misprint& kind) { return miss_of(c, x, kind); };
  return find_misprints(answer, unit, inputs, ask, miss, !tells_a_misprint(c));
}
/// The likeliest of them.
template <class Ask>
std::optional<found_misprint> misprint_behind(const claimed_value& c, double answer,
                                              const unit_exponents& unit,
                                              std::span<const misprint_input> inputs,
                                              const Ask& ask) {
  const auto all = misprints_behind(c, answer, unit, inputs, ask);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

}  // namespace perfmodel
