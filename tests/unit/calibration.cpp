// Fitting: known parameters come back, and what measurements cannot tell is refused.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <limits>
#include <perfmodel/calibrate_machine.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <vector>

#include "support/random.hpp"
#include "support/refusal.hpp"

namespace pm = perfmodel;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using perfmodel_test::refusal;

namespace {

using doubles = std::vector<double>;

/// t = floor + size / rate: the least that has something to fit.
constexpr std::array<pm::fitted_parameter, 2> line{
    {{"floor", 1.0, 0.0, 100.0}, {"rate", 1.0, 0.01, 100.0}}};
struct line_model {
  const doubles& size;
  template <class S>
  S operator()(const std::array<S, 2>& p, std::size_t i) const {
    return p[0] + S(size[i]) / p[1];
  }
};
pm::fit_result<2> fit_line(const doubles& size, const doubles& measured) {
  return pm::fit_log_ratios(line, measured, line_model{size});
}
doubles line_times(const doubles& size, double floor, double rate) {
  doubles t;
  for (const double s : size) t.push_back(floor + s / rate);
  return t;
}
const doubles sizes{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};

/// Close to normal: the sum of twelve uniforms (variance 1).
double normal(perfmodel_test::random_numbers& random) {
  double sum = -6.0;
  for (int i = 0; i < 12; ++i) sum += random.uniform();
  return sum;
}

}  // namespace

TEST_CASE("exact measurements give exact parameters", "[calibration]") {
  const auto f = fit_line(sizes, line_times(sizes, 3.0, 7.0));
  CHECK_THAT(f.value[0], WithinRel(3.0, 1e-6));
  CHECK_THAT(f.value[1], WithinRel(7.0, 1e-6));
  CHECK(f.standard_error[0] < 1e-5);
  CHECK(pm::score_of(f.residual).mean < 1e-7);
}

TEST_CASE("a wild row moves little", "[calibration]") {
  doubles t = line_times(sizes, 3.0, 7.0);
  t[5] *= 20.0;
  const auto f = fit_line(sizes, t);
  CHECK_THAT(f.value[0], WithinRel(3.0, 0.1));
  CHECK_THAT(f.value[1], WithinRel(7.0, 0.1));
}

TEST_CASE("a parameter stops at its limit", "[calibration]") {
  const auto f = fit_line(sizes, line_times(sizes, 3.0, 200.0));
  CHECK(f.at_bound[1]);
  CHECK(f.value[1] == 100.0);
}

TEST_CASE("the seven parameters of a machine come back from noisy rows", "[calibration]") {
  using pm::us;
  constexpr std::array<double, 7> truth{3.0, 0.8, 0.75, 20.0, 0.8, 4.0, 0.25};
  const auto machine = []<class S>(const std::array<S, 7>& v) {
    return pm::basic_machine_parameters<S>{.matrix_floor = v[0] * us,
                                           .matrix_share = v[1],
                                           .dram_share = v[2],
                                           .operand_bandwidth = v[3] * pm::TB_per_s,
                                           .tile_fill = v[4] * us,
                                           .split_cost = v[5] * us,
                                           .power_slowdown = v[6]};
  };
  std::vector<pm::gemm> rows;
  for (double m = 1; m <= 16384; m *= 4) {
    for (double n = 1024; n <= 16384; n *= 2) {
      for (double k = 1024; k <= 16384; k *= 2) rows.push_back({.m = m, .n = n, .k = k});
    }
  }
  perfmodel_test::random_numbers random(1);
  doubles measured;
  for (const pm::gemm& g : rows) {
    const double t = calibrated_gemm(pm::catalog::h100_sxm, g, machine(truth)).time.value();
    measured.push_back(t * std::exp(0.02 * normal(random)));
  }
  const std::array<pm::fitted_parameter, 7> p{{{"matrix_floor", 2, 1, 15},
                                               {"matrix_share", 0.9, 0.3, 1.1},
                                               {"dram_share", 0.9, 0.3, 1},
                                               {"operand_bandwidth", 13, 1, 60},
                                               {"tile_fill", 1, 0, 10},
                                               {"split_cost", 3, 0, 10},
                                               {"power_slowdown", 0.1, 0, 2}}};
  const auto device = pm::lift<pm::dual<7>>(pm::catalog::h100_sxm);
  const auto f = pm::fit_log_ratios(
      p, std::span<const double>(measured),
      [&](const std::array<pm::dual<7>, 7>& v, std::size_t i) {
        return calibrated_gemm(device, pm::lift<pm::dual<7>>(rows[i]), machine(v)).time.value();
      });
  for (std::size_t j = 0; j < 7; ++j) {
    INFO(p[j].name << " " << f.value[j] << " +- " << f.standard_error[j] << ", true " << truth[j]);
    CHECK(std::abs(f.value[j] - truth[j]) < 3.0 * f.standard_error[j]);
    CHECK(f.standard_error[j] < 0.2 * truth[j]);
  }
  CHECK_THAT(f.spread, WithinAbs(0.02, 0.004));  // the noise that went in
}

TEST_CASE("held-out residuals", "[calibration]") {
  const doubles t = line_times(sizes, 3.0, 7.0);
  const std::vector<std::size_t> group{0, 0, 1, 1, 2, 2, 3, 3, 4, 4};
  for (const double r :
       pm::held_out_residuals(line, std::span<const double>(t), std::span<const std::size_t>(group),
                              line_model{sizes})) {
    CHECK_THAT(r, WithinAbs(0.0, 1e-6));
  }
  const std::vector<std::size_t> one_group(10, 7);
  CHECK(refusal([&] {
          pm::held_out_residuals(line, std::span<const double>(t),
                                 std::span<const std::size_t>(one_group), line_model{sizes});
        }) == "PM-E050: all measurements are of one group; none can be held out");
}

TEST_CASE("scores of known residuals", "[calibration]") {
  // predicted / measured - 1 of 10 %, -20 %, 30 %
  const doubles r{-std::log(1.1), -std::log(0.8), -std::log(1.3)};
  const auto s = pm::score_of(r);
  CHECK(s.n == 3);
  CHECK_THAT(s.mean, WithinRel(0.2, 1e-9));
  CHECK_THAT(s.median, WithinRel(0.2, 1e-9));
  CHECK_THAT(s.bias, WithinRel(0.2 / 3.0, 1e-9));
  CHECK_THAT(s.p90, WithinRel(0.28, 1e-9));  // 0.2 + 0.8 (0.3 - 0.2)
  CHECK(pm::score_of(doubles{}).n == 0);
}

TEST_CASE("bad rows are refused by number", "[calibration]") {
  for (const double bad : {0.0, -1.0}) {
    doubles t = line_times(sizes, 3.0, 7.0);
    t[3] = bad;
    CHECK(refusal([&] { fit_line(sizes, t); }) == "PM-E010: measurement 4 is " +
                                                      std::string(bad == 0.0 ? "0" : "-1") +
                                                      "; allowed: more than 0, and finite");
  }
  doubles t = line_times(sizes, 3.0, 7.0);
  t[0] = std::numeric_limits<double>::quiet_NaN();
  CHECK(refusal([&] { fit_line(sizes, t); }) ==
        "PM-E010: measurement 1 is not a number; allowed: more than 0, and finite");
}

TEST_CASE("what measurements cannot tell is refused with the reason", "[calibration]") {
  CHECK(refusal([] { fit_line({5.0}, {1.0}); }) ==
        "PM-E050: 1 measurements cannot determine 2 parameters; at least 3 are needed");
  CHECK(refusal([] { fit_line({}, {}); }) ==
        "PM-E050: 0 measurements cannot determine 2 parameters; at least 3 are needed");
  const doubles same(8, 50.0);
  const std::string together = refusal([&] { fit_line(same, line_times(same, 3.0, 7.0)); });
  INFO(together);
  CHECK(together.starts_with("PM-E050: the measurements cannot tell "));
  const doubles empty(8, 0.0);
  CHECK(refusal([&] { fit_line(empty, doubles(8, 3.0)); }) ==
        "PM-E050: no measurement depends on rate");
  doubles in_nanoseconds = line_times(sizes, 3.0, 7.0);
  for (double& t : in_nanoseconds) t *= 1e6;
  const std::string unit = refusal([&] { fit_line(sizes, in_nanoseconds); });
  INFO(unit);
  CHECK(unit.starts_with("PM-E050: measurements are typically "));
  CHECK(unit.ends_with("times the first prediction; is the unit of the column right?"));
  CHECK(refusal([] {
          const std::array<pm::fitted_parameter, 1> p{{{"share", 2.0, 0.0, 1.0}}};
          const doubles t{1.0, 2.0};
          pm::fit_log_ratios(p, std::span<const double>(t),
                             [](const std::array<pm::dual<1>, 1>& v, std::size_t) { return v[0]; });
        }) == "PM-E010: share starts at 2; allowed: 0 to 1");
}

TEST_CASE("a machine needs rows of every regime", "[calibration]") {
  const pm::accelerator& a = pm::catalog::h100_sxm;
  const auto rows_of = [&](std::initializer_list<double> m, double unit) {
    std::vector<pm::gemm_measurement> rows;
    const pm::machine_parameters p{.matrix_floor = 3.0 * pm::us,
                                   .matrix_share = 0.8,
                                   .dram_share = 0.8,
                                   .operand_bandwidth = 20.0 * pm::TB_per_s,
                                   .tile_fill = 1.0 * pm::us,
                                   .split_cost = 4.0 * pm::us,
                                   .power_slowdown = 0.2};
    for (const double x : m) {
      for (const double n : {4096.0, 8192.0}) {
        for (const double k : {4096.0, 8192.0}) {
          const pm::gemm g{.m = x, .n = n, .k = k};
          rows.push_back({g, unit * calibrated_gemm(a, g, p).time});
        }
      }
    }
    return rows;
  };
  const auto refused = [&](const std::vector<pm::gemm_measurement>& rows) {
    return refusal([&] { pm::fit_machine(a, rows); });
  };
  CHECK(refused({}) ==
        "PM-E050: 0 measurements cannot determine 7 parameters; at least 8 are needed");
  const std::vector<pm::gemm_measurement> same(20, rows_of({16.0}, 1.0).front());
  INFO(refused(same));
  CHECK(refused(same).starts_with("PM-E050: "));
  const std::string narrow = refused(rows_of({4.0, 8.0, 16.0}, 1.0));
  INFO(narrow);
  CHECK(narrow.starts_with("PM-E050: "));
  CHECK(refused(rows_of({1.0, 64.0, 1024.0, 16384.0}, 1e6))
            .starts_with("PM-E050: measurements are typically "));
  auto bad = rows_of({1.0, 64.0, 1024.0, 16384.0}, 1.0);
  bad[2].time = -bad[2].time;
  CHECK(refused(bad).starts_with("PM-E010: measurement 3 is -"));
}
