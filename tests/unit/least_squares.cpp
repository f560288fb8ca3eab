// Scores, robust losses and fits of one or two parameters, each against its formula by hand.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <optional>
#include <perfmodel/tools/fit/calibration.hpp>
#include <span>
#include <string>
#include <support/refusal.hpp>
#include <vector>

namespace unit_least_squares {

namespace pm = perfmodel;
namespace detail = perfmodel::detail;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using perfmodel_test::refusal;

namespace {

using doubles = std::vector<double>;

doubles around(double middle, const doubles& logarithms) {
  doubles t;
  for (const double x : logarithms) t.push_back(middle * std::exp(x));
  return t;
}

/// Every row takes the one parameter.
constexpr std::array<pm::fitted_parameter, 1> one{{{"time", 2.0, 1.0, 9.0}}};
constexpr auto itself = [](const std::array<pm::dual<1>, 1>& p, std::size_t) { return p[0]; };

/// The first two rows take a, the next two a b: ln t = ln a, and ln a + ln b.
constexpr std::array<pm::fitted_parameter, 2> two{{{"a", 1.0, 0.5, 4.5}, {"b", 1.0, 0.1, 8.1}}};
constexpr auto product = [](const std::array<pm::dual<2>, 2>& p, std::size_t i) {
  return i < 2 ? p[0] : p[0] * p[1];
};
const doubles both_ways{2 * std::exp(0.01), 2 * std::exp(-0.01), 6 * std::exp(0.02),
                        6 * std::exp(-0.02)};

}  // namespace

TEST_CASE("quantiles lie between order statistics", "[calibration]") {
  CHECK(detail::quantile({4, 1, 2}, 0.0) == 1.0);
  CHECK(detail::quantile({4, 1, 2}, 0.5) == 2.0);
  CHECK_THAT(detail::quantile({4, 1, 2}, 0.9), WithinRel(3.6, 1e-12));
  CHECK_THAT(detail::quantile({4, 1, 2}, 0.25), WithinRel(1.5, 1e-12));
  CHECK(detail::quantile({4, 1, 2}, 1.0) == 4.0);
  CHECK(detail::quantile({7}, 0.3) == 7.0);
  CHECK(detail::quantile({}, 0.3) == 0.0);
}

TEST_CASE("residual deviation and coverage are inverse, the end of an interval included",
          "[calibration]") {
  const doubles residual{-0.1, 0.2, -0.3, 0.4, 0.5, -0.6};
  CHECK_THAT(pm::log_sigma_of(residual), WithinRel(0.5 / pm::z90, 1e-12));  // 0.8 x 5 = the fifth
  CHECK_THAT(pm::coverage_of(residual, 0.31 / pm::z90), WithinRel(0.5, 1e-12));
  CHECK(pm::coverage_of(doubles{pm::z90, -pm::z90, 2.0}, 1.0) == 2.0 / 3.0);
  CHECK(pm::coverage_of({}, 1.0) == 0.0);
  CHECK(pm::score_of(doubles{140.0, -140.0}).n == 2);
}

TEST_CASE("Huber's loss is a parabola, then its tangent", "[calibration]") {
  CHECK_THAT(detail::huber_loss(-0.05, 0.1), WithinRel(0.00125, 1e-12));
  CHECK_THAT(detail::huber_loss(0.3, 0.1), WithinRel(0.025, 1e-12));
  CHECK(detail::huber_weight(-0.05, 0.1) == 1.0);
  CHECK_THAT(detail::huber_weight(0.3, 0.1), WithinRel(1.0 / 3.0, 1e-12));
  CHECK_THAT(detail::log_ratio(6.0, 2.0, 0), WithinRel(std::log(3.0), 1e-12));
}

TEST_CASE("times at the ends of what a quantity may be have a logarithm", "[calibration]") {
  for (const double t : {1e-30, 1e30})
    CHECK(refusal([&] { detail::check_time("row", t, 0); }) == "nothing refused");
  CHECK(refusal([] { detail::check_time("row", 0.0, 0); }) ==
        "PM-E010: row 1 is 0; allowed: more than 0, and finite");
  CHECK(refusal([] { detail::check_time("row", HUGE_VAL, 1); }) ==
        "PM-E010: row 2 is inf; allowed: more than 0, and finite");
}

TEST_CASE("cost, slope and curvature of a fit, and where it ends", "[calibration]") {
  // u runs from 0 to 1 for 1 to 9, so d ln t / du is 8 / 2 at 2; the third row is beyond 0.1.
  const doubles measured = around(2.0, {0.05, -0.02, 0.3});
  const pm::fit_options options;
  detail::log_ratio_search<1, decltype(itself)> s(one, measured, itself, options);
  CHECK(s.x[0] == 0.125);
  CHECK_THAT(s.cost, WithinRel(0.00125 + 0.0002 + 0.025, 1e-9));
  CHECK_THAT(s.gradient[0], WithinRel(-4.0 * (0.05 - 0.02 + 0.1), 1e-9));
  CHECK_THAT(s.normal(0, 0), WithinRel(16.0 * (2.0 + 1.0 / 3.0), 1e-9));
  s.descend();  // to where 0.05 - x - 0.02 - x + 0.1 = 0
  CHECK_THAT(1.0 + 8.0 * s.x[0], WithinRel(2.0 * std::exp(0.065), 1e-6));
  CHECK(s.iterations < 20);
  CHECK(pm::fit_log_ratios(one, measured, itself, {.iterations = 2}).iterations == 2);
  const auto unmoved = pm::fit_log_ratios(one, measured, itself, {.iterations = 0});
  CHECK(unmoved.value[0] == 2.0);
  CHECK(unmoved.iterations == 0);
}

TEST_CASE("a fit of one parameter has the error of a mean", "[calibration]") {
  const auto f = pm::fit_log_ratios(one, around(2.0, {0.05, -0.02, 0.03}), itself);
  CHECK_THAT(f.value[0], WithinRel(2.0 * std::exp(0.02), 1e-8));
  CHECK_THAT(f.residual[1], WithinRel(-0.04, 1e-6));
  CHECK_THAT(f.cost, WithinRel(0.0013, 1e-6));
  // Sum of squares 0.0026 over 3 - 1, and the mean of three.
  const double error = f.value[0] * std::sqrt(0.0013 / 3.0);
  CHECK_THAT(f.standard_error[0], WithinRel(error, 1e-6));
  CHECK_FALSE(f.at_bound[0]);

  const auto with = [&](double share) {
    return refusal([&] {
      const pm::fit_options o{.largest_error = share * error / 8.0};
      pm::fit_log_ratios(one, around(2.0, {0.05, -0.02, 0.03}), itself, o);
    });
  };
  CHECK(with(1.01) == "nothing refused");
  CHECK(with(0.99) == "PM-E050: the measurements leave time open: 2.0404 +- 0.0424744");
}

TEST_CASE("an outlier counts by its weight in the error too", "[calibration]") {
  // 0.05, -0.02 and 0.3 from 2 are -0.015, -0.085 and 0.235 from the best: weight 0.1 / 0.235.
  const auto f = pm::fit_log_ratios(one, around(2.0, {0.05, -0.02, 0.3}), itself);
  const double weighted = 0.015 * 0.015 + 0.085 * 0.085 + 0.1 * 0.235;
  const double curvature = 2.0 + 0.1 / 0.235;
  CHECK_THAT(f.standard_error[0],
             WithinRel(f.value[0] * std::sqrt(weighted / 2.0 / curvature), 1e-5));
}

TEST_CASE("two partly correlated parameters", "[calibration]") {
  const auto f = pm::fit_log_ratios(two, both_ways, product);
  CHECK_THAT(f.value[0], WithinRel(2.0, 1e-6));
  CHECK_THAT(f.value[1], WithinRel(3.0, 1e-6));
  // (J^T J)^-1 of rows (1, 0) and (1, 1), two of each: 1/2, -1/2, 1.
  const double variance = (2 * 1e-4 + 2 * 4e-4) / (4 - 2);
  CHECK_THAT(f.covariance(0, 0), WithinRel(variance * 0.5 * 2.0 * 2.0, 1e-5));
  CHECK_THAT(f.covariance(0, 1), WithinRel(variance * -0.5 * 2.0 * 3.0, 1e-5));
  CHECK_THAT(f.covariance(1, 1), WithinRel(variance * 1.0 * 3.0 * 3.0, 1e-5));
  CHECK_THAT(f.standard_error[1], WithinRel(3.0 * std::sqrt(variance), 1e-5));
  // They are correlated by -1 / sqrt 2, a condition of (1 + 0.7071) / (1 - 0.7071) = 5.828.
  const auto with = [&](double condition) {
    return refusal(
        [&] { pm::fit_log_ratios(two, both_ways, product, {.largest_condition = condition}); });
  };
  CHECK(with(5.84) == "nothing refused");
  CHECK(with(5.82).starts_with("PM-E050: the measurements cannot tell "));
}

TEST_CASE("identifiable parameters are not named among unidentifiable ones", "[calibration]") {
  constexpr std::array<pm::fitted_parameter, 3> three{{{"a"}, {"b"}, {"c"}}};
  Eigen::Matrix3d correlation = Eigen::Matrix3d::Identity();
  correlation(0, 1) = correlation(1, 0) = -1.0 + 1e-12;
  const auto refused = refusal([&] { detail::require_independence(correlation, three, 1e9); });
  INFO(refused);
  CHECK((refused.find("tell a from b;") != refused.npos ||
         refused.find("tell b from a;") != refused.npos));
}

TEST_CASE("a best value beyond a limit is the limit", "[calibration]") {
  const auto low = pm::fit_log_ratios(one, around(0.5, {0.0, 0.01, -0.01}), itself);
  CHECK(low.value[0] == 1.0);
  CHECK(low.at_bound[0]);
  const auto high = pm::fit_log_ratios(one, around(20.0, {0.0, 0.01, -0.01}), itself);
  CHECK(high.value[0] == 9.0);
  CHECK(high.at_bound[0]);
  // With a limited to 4.5 but at 6 in its rows, b takes the best value for a = 4.5.
  const auto beside = pm::fit_log_ratios(two, doubles{6, 6, 9, 9}, product);
  CHECK(beside.value[0] == 4.5);
  CHECK_THAT(beside.value[1], WithinRel(2.0, 1e-6));
}

TEST_CASE("limits of a fit are values too, and it needs a row more than parameters",
          "[calibration]") {
  auto p = one;
  for (const double start : {1.0, 9.0}) {
    p[0].start = start;
    CHECK_THAT(pm::fit_log_ratios(p, doubles{3, 3}, itself).value[0], WithinRel(3.0, 1e-6));
  }
  CHECK(refusal([] { pm::fit_log_ratios(one, doubles{3}, itself); }) ==
        "PM-E050: 1 measurements cannot determine 1 parameters; at least 2 are needed");
  // Half the rows 101 times the start is a wrong unit, 99 times is not.
  p[0] = {"time", 1.0, 0.1, 1e3};
  CHECK(refusal([&] { pm::fit_log_ratios(p, doubles{99, 99, 99}, itself); }) == "nothing refused");
  CHECK(refusal([&] {
          pm::fit_log_ratios(p, doubles{101, 101, 1}, itself);
        }) ==
        "PM-E050: measurements are typically 101 times the first prediction; "
        "is the unit of the column right?");
}

TEST_CASE("groups are assigned in the order they appear", "[calibration]") {
  const std::vector<std::size_t> group{5, 5, 9, 2, 9, 7};
  CHECK(detail::assign_folds(group, 3).fold_of_row == std::vector<std::size_t>{0, 0, 1, 2, 1, 0});
  CHECK(detail::assign_folds(group, 3).folds == 3);
  CHECK(detail::assign_folds(group, {}).fold_of_row == std::vector<std::size_t>{0, 0, 1, 2, 1, 3});
  CHECK(detail::assign_folds(group, 10).folds == 4);
  CHECK(detail::assign_folds(group, 2).folds == 2);
  CHECK(detail::assign_folds(std::vector<std::size_t>{1, 2}, {}).folds == 2);
}

TEST_CASE("a row held out is predicted by the others", "[calibration]") {
  // Each of three single rows by the mean logarithm of the other two.
  const doubles measured = around(2.0, {0.03, -0.02, 0.05});
  const std::vector<std::size_t> group{0, 1, 2};
  const doubles out = pm::held_out_residuals(one, std::span<const double>(measured),
                                             std::span<const std::size_t>(group), itself);
  CHECK_THAT(out[0], WithinAbs(0.03 - 0.015, 1e-6));
  CHECK_THAT(out[1], WithinAbs(-0.02 - 0.04, 1e-6));
  CHECK_THAT(out[2], WithinAbs(0.05 - 0.005, 1e-6));
}

}  // namespace unit_least_squares
