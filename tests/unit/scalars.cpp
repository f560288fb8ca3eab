// Number types, and elementary functions against <cmath>.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>
#include <support/random.hpp>
#include <support/scalars.hpp>
#include <type_traits>

namespace unit_scalars {

namespace pm = perfmodel;
using perfmodel_test::check_scalars;
using perfmodel_test::close;
using perfmodel_test::near;
using perfmodel_test::random_numbers;
using dual2 = perfmodel::dual<2>;
namespace series = perfmodel::math::series;

TEST_CASE("the series of constant expressions are the functions of <cmath> to 1e-14") {
  random_numbers r(1);
  for (int i = 0; i < 20000; ++i) {
    const double x = r.log_uniform(1e-300, 1e300);
    CHECK(near(series::log(x), std::log(x), 1e-14));
    CHECK(near(series::sqrt(x), std::sqrt(x), 1e-15));
    const double y = r.uniform(-20, 20);
    CHECK(near(series::exp(y), std::exp(y), 1e-14));
    const double base = r.log_uniform(1e-3, 1e3), exponent = r.uniform(-2, 2);
    CHECK(near(series::pow(base, exponent), std::pow(base, exponent), 1e-14));
    const double z = r.uniform(-1e6, 1e6);
    CHECK(pm::math::ceil(z) == std::ceil(z));
    CHECK(pm::math::floor(z) == std::floor(z));
    const double close_to_1 = 1 + r.uniform(-1e-3, 1e-3);
    CHECK(close(series::log(close_to_1), std::log(close_to_1), 1e-14, 1e-18));
  }
}

TEST_CASE("the series at the ends of their ranges") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  CHECK(series::log(0.0) == -inf);
  CHECK(series::log(inf) == inf);
  CHECK(std::isnan(series::log(-1.0)));
  CHECK(series::log(1.0) == 0.0);
  CHECK(near(series::log(5e-324), std::log(5e-324), 1e-14));
  CHECK(series::exp(710.0) == inf);
  CHECK(series::exp(-800.0) == 0.0);
  CHECK(series::exp(0.0) == 1.0);
  CHECK(near(series::exp(709.0), std::exp(709.0), 1e-12));
  CHECK(near(series::exp(-700.0), std::exp(-700.0), 1e-12));
  CHECK(series::sqrt(0.0) == 0.0);
  CHECK(series::sqrt(inf) == inf);
  CHECK(std::isnan(series::sqrt(-1.0)));
  CHECK(series::pow(0.0, 2.0) == 0.0);
  CHECK(series::pow(0.0, 0.0) == 1.0);
  CHECK(series::pow(0.0, -1.0) == inf);
  CHECK(pm::math::ceil(1e300) == 1e300);
  CHECK(pm::math::ceil(-0.5) == 0.0);
  CHECK(pm::math::ceil(inf) == inf);
  CHECK(pm::math::floor(3.0) == 3.0);
  CHECK(series::sqrt(1.0) == 1.0);
  CHECK(series::exp(709.5) < inf);
  for (const double x : {0.25, 1.0, 2.0, 8.0, 0x1p-64, 0x1p64, 0x1p100}) {
    CHECK(series::split(x).mantissa == 1.0);
    CHECK(series::scale2(1.0, series::split(x).exponent) == x);
  }
}

TEST_CASE("a soft maximum is the sum at 1, the hypotenuse at 2 and the maximum at last") {
  using time = pm::duration<>;
  const time a = 3.0 * pm::second, b = 4.0 * pm::second, none{};
  CHECK(near(pm::detail::p_norm(a, b, 1.0), a + b));
  CHECK(near(pm::detail::p_norm(a, b, 2.0), 5.0 * pm::second));
  CHECK(near(pm::detail::p_norm(a, b), 5.0 * pm::second));
  CHECK(near(pm::detail::p_norm(b, a, 3.0).value(), std::cbrt(27.0 + 64.0)));
  CHECK(near(pm::detail::p_norm(a, b, 400.0), b));
  CHECK(pm::detail::p_norm(none, b, 2.0) == b);
  CHECK(pm::detail::p_norm(none, none, 2.0) == none);
}

TEST_CASE("the value of the least cost is of the first of equals, and over a range") {
  using pm::interval;
  const std::array<double, 4> cost{3, 1, 1, 0}, value{10, 20, 30, 40};
  CHECK(pm::detail::value_of_least(cost, value, 3) == 20.0);
  CHECK(pm::detail::value_of_least(cost, value, 4) == 40.0);
  // The third costs at least what the first costs at most; the last costs more than that.
  const std::array<interval, 4> range{interval(1, 2), interval(1.5, 3), interval(2, 5),
                                      interval(2.5, 9)};
  const std::array<interval, 4> of{interval(10, 11), interval(8, 9), interval(12, 13),
                                   interval(50)};
  CHECK(pm::detail::value_of_least(range, of, 4) == interval(8, 13));
  CHECK(pm::detail::value_of_least(range, of, 1) == interval(10, 11));
  const std::array<interval, 2> beyond{interval(1, 2), interval(0, 0.5)};  // not among the first
  CHECK(pm::detail::value_of_least(beyond, {interval(7), interval(8)}, 1) == interval(7));
}

TEST_CASE("a root is solved for by end of a range, and with its derivative") {
  const auto square_root = [](const auto& c) {
    using T = std::remove_cvref_t<decltype(c)>;
    return pm::detail::solved<T>(
        c, [](double x) { return std::sqrt(x); }, [](double root) { return 2.0 * root; },
        [](const T& x, const T& whole) { return x * x - whole; });
  };
  CHECK(square_root(9.0) == 3.0);
  CHECK(square_root(pm::interval(4, 9)) == pm::interval(2, 3));
  const auto x = square_root(pm::dual<1>::variable(9.0, 0));
  CHECK(x.value() == 3.0);
  CHECK(near(x.partial(0), 1.0 / 6.0));
}

TEST_CASE("at run time elementary functions are those of <cmath>") {
  random_numbers r(2);
  for (int i = 0; i < 1000; ++i) {
    const double x = r.log_uniform(1e-3, 1e3), y = r.uniform(-2, 2);
    CHECK(pm::math::log(x) == std::log(x));
    CHECK(pm::math::exp(y) == std::exp(y));
    CHECK(pm::math::sqrt(x) == std::sqrt(x));
    CHECK(pm::math::pow(x, y) == std::pow(x, y));
  }
  constexpr double at_compile_time = pm::math::pow(1.7, 2.3);
  CHECK(near(at_compile_time, std::pow(1.7, 2.3), 1e-14));
}

TEST_CASE("every operation of a scalar agrees over all scalars") {
  check_scalars([](const auto& x) { return x[0] + x[1] - x[0] * x[1] / (x[0] + 3.0); }, 2.0, 5.0);
  check_scalars([](const auto& x) { return -(x[0] / x[1]) * 2.0; }, 2.0, 5.0);
  check_scalars(
      [](const auto& x) {
        auto y = x[0];
        y += x[1];
        y *= x[1];
        y -= x[0];
        y /= x[1];
        return y;
      },
      2.0, 5.0);
  check_scalars(
      [](const auto& x) {
        using pm::math::log;
        using pm::math::exp;
        return log(x[0]) * exp(x[1]);
      },
      2.0, 1.5);
  check_scalars(
      [](const auto& x) {
        using pm::math::pow;
        using pm::math::sqrt;
        return pow(x[0], x[1]) + sqrt(x[1]);
      },
      0.4, 1.5);
  check_scalars(
      [](const auto& x) {
        using pm::math::ceil;
        using pm::math::floor;
        return ceil(x[0]) * x[1] - floor(x[1]);
      },
      2.5, 3.7);
  check_scalars(
      [](const auto& x) {
        using pm::scalar_min;
        using pm::scalar_max;
        return scalar_min(x[0], x[1]) / scalar_max(x[0], x[1]);
      },
      2.0, 5.0);
}

TEST_CASE("log_variable gives elasticities") {
  const auto x = dual2::log_variable(7.0, 0), y = dual2::log_variable(3.0, 1);
  const auto z = x * x / (y * y * y);
  CHECK(near(z.partial(0) / z.value(), 2.0));
  CHECK(near(z.partial(1) / z.value(), -3.0));
}

TEST_CASE("at a kink a dual takes the first branch, and an infinite slope is 0") {
  const auto a = dual2::variable(1.0, 0), b = dual2::variable(1.0, 1);
  CHECK(scalar_max(a, b).partial(0) == 1.0);
  CHECK(scalar_min(a, b).partial(0) == 1.0);
  CHECK(sqrt(dual2::variable(0.0, 0)).partial(0) == 0.0);
  CHECK(sqrt(dual2(0.0)).partial(0) == 0.0);
  CHECK(pow(dual2::variable(0.0, 0), dual2(1.0)).partial(0) == 1.0);
  CHECK(pow(dual2::variable(0.0, 0), dual2(2.0)).partial(0) == 0.0);
  CHECK(ceil(dual2::variable(2.5, 0)).partial(0) == 0.0);
  CHECK(a == b);
  CHECK((a <=> dual2(2.0)) < 0);
}

TEST_CASE("an interval holds what its members give, for every sign") {
  random_numbers r(2);
  for (int i = 0; i < 2000; ++i) {
    const double a = r.uniform(-5, 5), b = r.uniform(-5, 5);
    const pm::interval x(std::fmin(a, b), std::fmax(a, b));
    const double c = r.uniform(0.1, 5), d = r.uniform(0.1, 5);
    const pm::interval y = r.uniform() < 0.5 ? pm::interval(std::fmin(c, d), std::fmax(c, d))
                                             : pm::interval(-std::fmax(c, d), -std::fmin(c, d));
    const double p = x.lo() + r.uniform() * (x.hi() - x.lo()),
                 q = y.lo() + r.uniform() * (y.hi() - y.lo());
    CHECK((x + y).contains(p + q));
    CHECK((x - y).contains(p - q));
    CHECK((x * y).contains(p * q));
    CHECK((x / y).contains(p / q));
    CHECK((-x).contains(-p));
    CHECK(scalar_min(x, y).contains(std::fmin(p, q)));
    CHECK(scalar_max(x, y).contains(std::fmax(p, q)));
    CHECK(ceil(x).contains(std::ceil(p)));
    CHECK(floor(x).contains(std::floor(p)));
    CHECK(floor(x).lo() == std::floor(x.lo()));
    CHECK(floor(x).hi() == std::floor(x.hi()));
    CHECK(ceil(x).lo() == std::ceil(x.lo()));
    CHECK(ceil(x).hi() == std::ceil(x.hi()));
    CHECK(exp(x).contains(pm::math::exp(p)));
    const pm::interval positive(std::fmin(c, d), std::fmax(c, d));
    const double s = positive.lo() + r.uniform() * (positive.hi() - positive.lo());
    CHECK(log(positive).contains(std::log(s)));
    CHECK(sqrt(positive).contains(std::sqrt(s)));
    // No wider than the corners, and both ends are reached.
    CHECK(pow(positive, x).contains(std::pow(s, p)));
    double least = HUGE_VAL, most = 0.0;
    for (const double base : {positive.lo(), positive.hi()}) {
      for (const double exponent : {x.lo(), x.hi()}) {
        least = std::fmin(least, std::pow(base, exponent));
        most = std::fmax(most, std::pow(base, exponent));
      }
    }
    CHECK(pow(positive, x) == pm::interval(least, most));
  }
  CHECK(mid(pm::interval(1, 3)) == 2.0);
  CHECK(pm::interval(1, 3).contains(1.0));
  CHECK(pm::interval(1, 3).contains(3.0));
  CHECK_FALSE(pm::interval(1, 3).contains(0.999));
  CHECK_FALSE(pm::interval(1, 3).contains(3.001));
  CHECK(pm::interval::around(10, 0.2) == pm::interval(8, 12));
  CHECK((lower(pm::interval(1, 3)) == 1.0 && upper(pm::interval(1, 3)) == 3.0));
}

}  // namespace unit_scalars
