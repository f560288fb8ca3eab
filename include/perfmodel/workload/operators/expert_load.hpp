// How unevenly tokens load the ranks that experts are dealt to.
#pragma once

#include <perfmodel/core/divides.hpp>
#include <perfmodel/core/error.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/scalar/scalar.hpp>

namespace perfmodel {

/// Load of the busiest of `ranks` over the mean, where the i-th most popular expert is chosen in proportion to
/// i^-exponent (Zipf; 0: all alike) and experts are dealt to ranks in turn, the most popular first.
/// Source: the sum of its definition. Leaves out: that a token chooses an expert once at most, chance, and
/// copies of popular experts. `experts` is a count, not a scalar: it is summed over.
/// Errors: experts not a multiple of ranks (impossible_layout), exponent negative.
/// Tests: 4 experts on 2 ranks, exponent 1: (1 + 1/3) / (25/24) = 1.28; 1 at exponent 0 and on one rank.
template <Scalar T>
constexpr T imbalance_of_power_law(int experts, int ranks, const T& exponent) {
  using math::pow;
  detail::count("experts", static_cast<double>(experts));
  detail::count("ranks", static_cast<double>(ranks));
  detail::not_negative("exponent", exponent);
  detail::divides(error_code::impossible_layout, "ranks", static_cast<double>(ranks), "experts",
                  static_cast<double>(experts));
  T busiest(0.0), all(0.0);
  for (int i = 0; i < experts; ++i) {
    const T popularity = pow(T(1.0 / (i + 1)), exponent);
    all += popularity;
    if (i % ranks == 0) busiest += popularity;
  }
  return static_cast<double>(ranks) * busiest / all;
}

}  // namespace perfmodel
