// What a number that a law does not give would take: each input that could be another one.
#pragma once

#include <algorithm>
#include <cmath>
#include <perfmodel/analysis/slip_search.hpp>

namespace perfmodel {

/// An input with which a law gives what was said.
struct needed_input {
  std::string name{};
  double said = 0.0;    ///< or the default of the law
  double needed = 0.0;  ///< makes the law say the value
};

namespace detail {

/// Steps of an eighth of a decade to either side, nearest first, up to a factor of a thousand.
inline constexpr int needed_steps = 24;
inline double needed_step(double x, int step) {
  return x * std::pow(10.0, 0.125 * step);
}

/// The root of law(x) = value between two x of one sign, halved in logarithms.
template <class Law>
double needed_between(const Law& law, double value, double from, double to) {
  const bool rises = law(from) < law(to);
  for (int i = 0; i < 50; ++i) {
    const double middle = std::sqrt(from * to);
    const auto y = law(middle);
    if (!y) break;
    ((*y < value) == rises ? from : to) = middle;
  }
  return std::sqrt(from * to);
}

/// The nearest such input on one side: where the law passes the value, to within a share of it.
template <class Law>
std::optional<double> needed_on(const Law& law, double value, double said, int side, double share) {
  std::optional<double> before = law(said);
  double from = said;
  for (int i = 1; i <= needed_steps; ++i) {
    const double to = needed_step(said, side * i);
    const std::optional<double> after = law(to);
    if (before && after && (*before < value) != (*after < value)) {
      const double x = needed_between(law, value, from, to);
      const std::optional<double> there = law(x);
      // A step that jumps over the value is not a way to it.
      if (there && std::abs(*there - value) <= share * std::abs(value)) return x;
    }
    before = after;
    from = to;
  }
  return {};
}

}  // namespace detail

/// Each number among the inputs that alone would make the law say the value, within a factor of a
/// thousand, the nearest to what was said first; a whole number within 2 % of the value. ask(span of slip_question) is the law's answer to the
/// question so changed, or none where it has none. Not a mistake that was made, as a slip is, but what
/// would have to be true: of a claim against Little's law the concurrency that the claimed rate implies.
/// Derived here: the root of the law in that input. Leaves out two inputs at a time.
/// Test: 280 tokens/s of 4 streams at 85 ms would take 23.8 streams, or 14.29 ms.
template <class Ask>
std::vector<needed_input> needed_inputs(double value, std::span<const slip_input> inputs,
                                        const Ask& ask) {
  std::vector<needed_input> found;
  for (const slip_input& i : inputs) {
    if (!i.number || *i.number == 0.0) continue;
    const auto allowed = [&](double x) { return i.whole ? std::round(x) : x; };
    const auto law = [&](double x) -> std::optional<double> {
      const slip_question q{i.name, allowed(x), {}};
      return ask(std::span(&q, 1));
    };
    for (const int side : {1, -1}) {
      const double share = i.whole ? 0.02 : 1e-3;
      const auto x = detail::needed_on(law, value, *i.number, side, share);
      if (!x) continue;
      double best = allowed(*x);
      for (const double beside : {best - 1.0, best + 1.0}) {
        if (!i.whole) break;
        const auto there = law(beside);
        if (there && std::abs(*there - value) < std::abs(*law(best) - value)) best = beside;
      }
      found.push_back({i.name, *i.number, best});
    }
  }
  std::ranges::stable_sort(
      found, {}, [](const needed_input& n) { return std::abs(std::log(n.needed / n.said)); });
  return found;
}

}  // namespace perfmodel
