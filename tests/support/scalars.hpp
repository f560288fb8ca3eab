// One law over three scalars: double, dual and interval have to agree.
#pragma once

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/scalar/interval.hpp>

namespace perfmodel_test {

/// |a - b| <= relative * max(|a|, |b|) + absolute
inline bool close(double a, double b, double relative, double absolute = 0.0) {
  return std::abs(a - b) <= relative * std::fmax(std::abs(a), std::abs(b)) + absolute;
}

/// Evaluates f, a generic lambda from std::array<T, N> to T, at the point `inputs` over every
/// scalar, and checks that
///   dual      has the value of double, and each partial is the central difference;
///   interval  over the point, and over the box of +-0.5 % around it, holds what double gives at
///   the
///             point and at 64 points of the box.
/// The box must lie inside the law's range and hold no kink (min, max, ceil). An input of 0 stays
/// 0.
///
///   check_scalars([]<class T>(const std::array<T, 2>& x) {
///     return perfmodel::ridge_point(flop_rate<T>::from_value(x[0]),
///     bandwidth<T>::from_value(x[1])).value();
///   }, 989.4e12, 3.35e12);
template <class F, class... Inputs>
void check_scalars(F&& f, Inputs... inputs) {
  constexpr std::size_t n = sizeof...(Inputs);
  using doubles = std::array<double, n>;
  const doubles x{static_cast<double>(inputs)...};
  const double y = f(x);
  REQUIRE(std::isfinite(y));

  {
    using dual = perfmodel::dual<n>;
    std::array<dual, n> seeded{};
    for (std::size_t i = 0; i < n; ++i) seeded[i] = dual::variable(x[i], i);
    const dual d = f(seeded);
    INFO("dual " << d.value() << ", double " << y);
    CHECK(close(d.value(), y, 1e-13));
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(std::isfinite(d.partial(i)));
      if (x[i] == 0.0) continue;
      const double h = 1e-5 * std::abs(x[i]);
      doubles up = x, down = x;
      up[i] += h;
      down[i] -= h;
      const double slope = (f(up) - f(down)) / (up[i] - down[i]);
      INFO("input " << i << ": partial " << d.partial(i) << ", central difference " << slope);
      CHECK(close(d.partial(i), slope, 1e-6, 1e-8 * std::abs(y / x[i])));
    }
  }

  {
    using perfmodel::interval;
    constexpr double half_width = 0.005;
    std::array<interval, n> point{}, box{};
    for (std::size_t i = 0; i < n; ++i) {
      point[i] = interval(x[i]);
      box[i] = x[i] < 0.0 ? interval(x[i] * (1.0 + half_width), x[i] * (1.0 - half_width))
                          : interval::around(x[i], half_width);
    }
    const auto holds = [](const interval& r, double value) {
      const double slack = 1e-12 * std::abs(value);
      return r.lo() <= value + slack && value - slack <= r.hi();
    };
    const interval at_point = f(point);
    INFO("interval at the point [" << at_point.lo() << ", " << at_point.hi() << "], double " << y);
    CHECK(holds(at_point, y));
    const interval over_box = f(box);
    INFO("interval over the box [" << over_box.lo() << ", " << over_box.hi() << "]");
    CHECK(std::isfinite(over_box.lo()));
    CHECK(std::isfinite(over_box.hi()));
    CHECK(over_box.lo() <= over_box.hi());
    CHECK(holds(over_box, y));
    for (unsigned sample = 0; sample < 64; ++sample) {
      doubles inside = x;
      for (std::size_t i = 0; i < n; ++i) {
        // corners first, then points in between
        const unsigned turn =
            sample < 32 ? (sample >> (i % 5)) % 2 * 4 : (sample * 7 + 3 * unsigned(i)) % 5;
        inside[i] = x[i] * (1.0 + half_width * (0.5 * turn - 1.0));
      }
      const double value = f(inside);
      INFO("sample " << sample << " gives " << value);
      CHECK(holds(over_box, value));
    }
  }
}

}  // namespace perfmodel_test
