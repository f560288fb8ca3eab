// Euler's theorem on homogeneous laws: where scaling inputs x_i by L^w_i scales a result by L^k,
// the elasticities e_i of the result have sum w_i e_i = k. And each partial against central
// differences.
#pragma once

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/scalar/dual.hpp>

namespace perfmodel_test {

template <class T>
using in2 = std::array<T, 2>;
template <class T>
using in3 = std::array<T, 3>;
template <class T>
using in4 = std::array<T, 4>;
template <class T>
using in5 = std::array<T, 5>;
template <class T>
using in6 = std::array<T, 6>;

/// A law at x with a result that scales by L^degree if input i scales by L^weights[i].
template <std::size_t N, class F>
void check_law(const char* name, const std::array<double, N>& x,
               const std::array<double, N>& weights, double degree, F&& f) {
  INFO(name);
  std::array<perfmodel::dual<N>, N> seeded{};
  for (std::size_t i = 0; i < N; ++i) seeded[i] = perfmodel::dual<N>::variable(x[i], i);
  const perfmodel::dual<N> y = f(seeded);
  REQUIRE(y.value() != 0.0);
  double sum = 0.0;
  for (std::size_t i = 0; i < N; ++i) {
    auto up = x, down = x;
    up[i] *= 1.0 + 1e-5;
    down[i] *= 1.0 - 1e-5;
    const double slope = (f(up) - f(down)) / (up[i] - down[i]) * x[i] / y.value();
    const double elasticity = y.partial(i) * x[i] / y.value();
    INFO("input " << i << ": elasticity " << elasticity << ", by central differences " << slope);
    CHECK(std::abs(elasticity - slope) <= 1e-6 * std::fmax(1.0, std::abs(slope)));
    sum += weights[i] * elasticity;
  }
  INFO("sum of weighted elasticities " << sum << ", degree " << degree);
  CHECK(std::abs(sum - degree) <= 1e-9);
}

}  // namespace perfmodel_test
