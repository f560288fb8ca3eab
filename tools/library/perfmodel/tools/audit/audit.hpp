// Verdict of a law on a published number, and the likely error behind a wrong one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/tools/audit/misprint_search.hpp>

namespace perfmodel::inline v0_3 {

enum class verdict {
  reproduced,  ///< within 1 %
  rounding,    ///< equal to the digits given
  expected,    ///< a measurement inside the interval of a prediction
  unusual,     ///< a measurement outside it; no bound is violated
  possible,    ///< no bound is violated; the number may be a measurement
  needs,       ///< depends on an input that was not stated
  wrong,       ///< the law gives another number
  impossible,  ///< a bound is violated
};
constexpr const char* name_of(verdict v) {
  switch (v) {
    case verdict::reproduced: return "reproduced";
    case verdict::rounding: return "rounding";
    case verdict::expected: return "expected";
    case verdict::unusual: return "unusual";
    case verdict::possible: return "possible";
    case verdict::needs: return "needs";
    case verdict::wrong: return "wrong";
    case verdict::impossible: break;
  }
  return "impossible";
}

/// Relation of a claim to its number: "15 ms", "at least 15 ms", "at most 15 ms".
enum class claim_relation { equal, at_least, at_most };

/// A printed number in base units: the range `low` to `high` (equal without a range), and half a
/// unit of the last digit of each. `few_digits`: one significant digit is meant as such.
struct claimed_value {
  double low = 0.0;
  double high = 0.0;
  double half_digit_low = 0.0;
  double half_digit_high = 0.0;
  claim_relation relation = claim_relation::equal;
  bool few_digits = false;
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

/// Whether the number rounds to the claim in two significant digits at least: almost any number
/// rounds to some number of one digit. A claim with stated digits keeps its own.
/// *Tests:* 8.583 is not 9, and is 8.6; with one digit stated it is 9.
inline bool rounds_in_two_digits(const claimed_value& c, double x) {
  if (c.few_digits) return rounds_to(c, x);
  const auto half = [](double end, double printed) {
    if (!(end != 0.0)) return printed;
    const double least = 0.5 * std::pow(10.0, std::floor(std::log10(std::fabs(end)) + 1e-9) - 1.0);
    return (std::min)(printed, least);
  };
  claimed_value two = c;
  two.half_digit_low = half(c.low, c.half_digit_low);
  two.half_digit_high = half(c.high, c.half_digit_high);
  return rounds_to(two, x);
}

inline constexpr double reproduced_within = 0.01;

/// Verdict on "at least x" or "at most x". A bound on the claim's side proves it; a bound on the
/// other side leaves it possible, or contradicts it.
/// *Tests:* at least 15 for 15.75 exactly is reproduced, for 14 wrong; for a time of at least 20
/// reproduced, for a rate of at most 14 impossible, for one of at most 20 possible.
inline verdict verdict_of_inequality(const claimed_value& c, double computed, result_kind kind) {
  const bool more = c.relation == claim_relation::at_least;
  const double end = more ? c.low : c.high;
  const double slack = reproduced_within * std::fabs(end);
  const bool holds = more ? computed >= end - slack : computed <= end + slack;
  if (kind == result_kind::exact) return holds ? verdict::reproduced : verdict::wrong;
  const bool same_side = more == (kind == result_kind::at_least);
  if (same_side) return holds ? verdict::reproduced : verdict::possible;
  return holds ? verdict::possible : verdict::impossible;
}

/// A predicted result with its 80 % interval, and a bound of it where there is one.
struct prediction_range {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
  std::optional<double> least{};  ///< nothing is below
  std::optional<double> most{};   ///< nothing is above
};

/// Verdict on a measurement, given a prediction: impossible only beyond a bound, expected where the
/// claim reaches into the interval, else unusual.
/// *Errors:* a number that is not finite.
/// *Tests:* a prediction of 50 (44 to 56) with the bound 40: 50.2 reproduced, 48 expected, 43
/// unusual, 39 impossible; at least 57 unusual, at most 45 expected.
inline verdict verdict_of_measurement(const claimed_value& c, const prediction_range& p) {
  for (const double x : {p.value, p.low, p.high, c.low, c.high})
    detail::within("value", x, -1e300, 1e300, "a finite number");
  const bool equal = c.relation == claim_relation::equal;
  if (equal && agrees(c, p.value, reproduced_within)) return verdict::reproduced;
  if (equal && rounds_in_two_digits(c, p.value)) return verdict::rounding;
  const double low = c.relation == claim_relation::at_most ? -1e300 : c.low;
  const double high = c.relation == claim_relation::at_least ? 1e300 : c.high;
  if ((p.least && high < *p.least) || (p.most && low > *p.most)) return verdict::impossible;
  return high >= p.low && low <= p.high ? verdict::expected : verdict::unusual;
}

/// The verdict on a claim, given the result of a law. `feasible`: whether the deployment fits.
/// A claim within a bound is possible: kernels are slower than the roofline.
/// *Errors:* a result or a claim that is not finite.
/// *Tests:* 42 ms for 41.79 is reproduced, 9 for 8.583 rounding where one digit is stated, 20 ms
/// for at least 5.22 possible, 30 tok/s for at most 5.85 impossible, 494 for exactly 989.4 wrong.
inline verdict verdict_of(const claimed_value& c, double computed,
                          result_kind kind = result_kind::exact, bool feasible = true) {
  for (const double x : {computed, c.low, c.high, c.half_digit_low, c.half_digit_high}) {
    detail::within("value", x, -1e300, 1e300, "a finite number");
  }
  if (!feasible) return verdict::impossible;
  if (c.relation != claim_relation::equal) return verdict_of_inequality(c, computed, kind);
  if (agrees(c, computed, reproduced_within)) return verdict::reproduced;
  if (rounds_in_two_digits(c, computed)) return verdict::rounding;
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
