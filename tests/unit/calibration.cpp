// Fitting: known parameters come back, and what measurements cannot tell is refused.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <limits>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/tools/fit/calibrate_machine.hpp>
#include <vector>

#include "support/random.hpp"
#include "support/refusal.hpp"

namespace unit_calibration {

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
    const double t = calibrated_estimate(pm::catalog::h100_sxm, g, {machine(truth)}).time.value();
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
        return calibrated_estimate(device, pm::lift<pm::dual<7>>(rows[i]), {machine(v)})
            .time.value();
      });
  for (std::size_t j = 0; j < 7; ++j) {
    INFO(p[j].name << " " << f.value[j] << " +- " << f.standard_error[j] << ", true " << truth[j]);
    CHECK(std::abs(f.value[j] - truth[j]) < 3.0 * f.standard_error[j]);
    CHECK(f.standard_error[j] < 0.2 * truth[j]);
  }
  CHECK_THAT(f.log_sigma, WithinAbs(0.02, 0.004));  // the noise that went in
}

TEST_CASE("parameters that rows do not identify keep their prior", "[calibration]") {
  const std::array<double, 2> prior{2.0, 5.0};
  const auto fit = [&prior](const doubles& size, const doubles& times) {
    return pm::fit_from_prior(line, prior, times, line_model{size}, {.largest_error = 0.25});
  };
  // All sizes: both parameters, whatever the prior.
  const auto both = fit(sizes, line_times(sizes, 3.0, 7.0));
  CHECK(both.from_prior == std::array{false, false});
  CHECK_THAT(both.value[0], WithinRel(3.0, 1e-6));
  CHECK_THAT(both.value[1], WithinRel(7.0, 1e-6));
  // Sizes of 0 depend on the floor alone.
  const doubles none(10, 0.0);
  const auto floor = fit(none, line_times(none, 3.0, 7.0));
  CHECK(floor.from_prior == std::array{false, true});
  CHECK_THAT(floor.value[0], WithinRel(3.0, 1e-6));
  CHECK(floor.value[1] == 5.0);
  CHECK(floor.standard_error[1] == 0.0);
  // One size does not separate the two: one of them keeps its prior, and the other fits exactly.
  const doubles same(10, 50.0);
  const auto one = fit(same, doubles(10, 20.0));
  CHECK(one.from_prior[0] != one.from_prior[1]);
  CHECK(one.value[one.from_prior[0] ? 0 : 1] == prior[one.from_prior[0] ? 0 : 1]);
  CHECK_THAT(one.value[0] + 50.0 / one.value[1], WithinRel(20.0, 1e-6));
  // A single row, and none, determine nothing.
  CHECK(fit({50.0}, {20.0}).from_prior == std::array{true, true});
  CHECK_THAT(fit({50.0}, {20.0}).residual.at(0), WithinRel(std::log(20.0 / 12.0), 1e-12));
  CHECK(fit({}, {}).value == prior);
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
          rows.push_back({g, unit * calibrated_estimate(a, g, {p}).time});
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

TEST_CASE("a fit refuses limits and options that are no numbers", "[calibration]") {
  const doubles t = line_times(sizes, 3.0, 7.0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const auto with = [&](const pm::fit_options& o) {
    return refusal([&] { pm::fit_log_ratios(line, t, line_model{sizes}, o); });
  };
  for (const double bad : {-1.0, nan, infinity}) {
    const auto names = [&](const pm::fit_options& o, const char* field) {
      const std::string said = std::string("PM-E010: ").append(field).append(" is ");
      return with(o).starts_with(
          std::string(said).append(pm::detail::number_text(bad)).append(";"));
    };
    CHECK(names({.huber = bad}, "huber"));
    CHECK(names({.tolerance = bad}, "tolerance"));
    if (bad == infinity) continue;  // these two may be: never refuse for it
    CHECK(names({.largest_condition = bad}, "largest_condition"));
    CHECK(names({.largest_error = bad}, "largest_error"));
  }
  CHECK(with({.huber = 0.0}).starts_with("PM-E010: huber is 0;"));
  CHECK(with({.iterations = -1}) == "PM-E010: iterations is -1; allowed: 0 or more");
  CHECK(with({.largest_condition = infinity, .largest_error = infinity}) == "nothing refused");

  const auto limits = [&](double start, double lower, double upper) {
    auto p = line;
    p[1] = {"rate", start, lower, upper};
    return refusal([&] { pm::fit_log_ratios(p, t, line_model{sizes}); });
  };
  const auto refuses = [&](double start, double lower, double upper, const char* limit) {
    return limits(start, lower, upper) == std::string("PM-E010: rate is ")
                                              .append(limit)
                                              .append("; allowed: limits from -1e30 to 1e30");
  };
  CHECK(refuses(1.0, nan, 2.0, "not a number"));
  CHECK(refuses(1.0, 0.5, nan, "not a number"));
  CHECK(refuses(1.0, 0.5, infinity, "inf"));
  CHECK(refuses(1.0, -infinity, 2.0, "-inf"));
  CHECK(limits(nan, 0.5, 2.0) == "PM-E010: rate starts at not a number; allowed: 0.5 to 2");
  CHECK(limits(1.0, 1.0, 1.0) == "PM-E010: rate starts at 1; allowed: 1 to 1");
}

TEST_CASE("a fit refuses times without a finite logarithm", "[calibration]") {
  doubles t = line_times(sizes, 3.0, 7.0);
  t[3] = 1e308;
  CHECK(refusal([&] { fit_line(sizes, t); }) ==
        "PM-E010: measurement 4 is 1e+308; allowed: at most 1e30");
  t[3] = 1e-300;
  CHECK(refusal([&] { fit_line(sizes, t); }) ==
        "PM-E010: measurement 4 is 1e-300; allowed: at least 1e-30");
  const auto predicted = [](double x) {
    const std::array<pm::fitted_parameter, 1> p{{{"share", 0.5, 0.0, 1.0}}};
    const doubles measured{1.0, 2.0, 3.0};
    return refusal([&] {
      pm::fit_log_ratios(p, std::span<const double>(measured),
                         [x](const std::array<pm::dual<1>, 1>& v, std::size_t i) {
                           return i == 1 ? pm::dual<1>(x) : v[0] + 1.0;
                         });
    });
  };
  CHECK(predicted(0.0) ==
        "PM-E010: the prediction of row 2 is 0; allowed: more than 0, and finite");
  CHECK(predicted(std::nan("")) ==
        "PM-E010: the prediction of row 2 is not a number; allowed: more than 0, and finite");
  CHECK(predicted(std::numeric_limits<double>::infinity()) ==
        "PM-E010: the prediction of row 2 is inf; allowed: more than 0, and finite");
  CHECK(predicted(1e-300) == "PM-E010: the prediction of row 2 is 1e-300; allowed: at least 1e-30");
}

TEST_CASE("rows held out are refused where they cannot be", "[calibration]") {
  const doubles t = line_times(sizes, 3.0, 7.0);
  std::vector<std::size_t> group(sizes.size());
  for (std::size_t i = 0; i < group.size(); ++i) group[i] = i / 2;
  const auto held_out = [&](std::span<const std::size_t> groups, std::optional<std::size_t> folds) {
    return refusal([&] {
      pm::held_out_residuals(line, std::span<const double>(t), groups, line_model{sizes}, folds);
    });
  };
  CHECK(held_out(group, {}) == "nothing refused");
  CHECK(held_out(group, 2) == "nothing refused");
  CHECK(held_out(group, 1) ==
        "PM-E010: folds is 1; allowed: 2 or more, as one part leaves no rows to fit");
  CHECK(held_out(group, 0) ==
        "PM-E010: folds is 0; allowed: 2 or more, as one part leaves no rows to fit");
  CHECK(held_out(std::span<const std::size_t>(group).first(3), {}) ==
        "PM-E031: 10 measurements have 3 groups");
  // A row that only the prediction for it finds wrong: without it the fit is fine.
  const auto wrong = refusal([&] {
    pm::held_out_residuals(
        line, std::span<const double>(t), std::span<const std::size_t>(group),
        [&](const std::array<pm::dual<2>, 2>& p, std::size_t i) {
          const pm::dual<2> time = line_model{sizes}(p, i);
          return p[0].partial(0) == 0.0 && i == 9 ? -time : time;  // no derivatives: held out
        });
  });
  CHECK(wrong.starts_with("PM-E010: the prediction of row 10 is -"));
}

TEST_CASE("a score refuses residuals that are no numbers", "[calibration]") {
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL, 1e6, -1e6}) {
    const doubles residual{0.1, bad, 0.2};
    const std::string is = std::string("PM-E010: residual 2 is ")
                               .append(pm::detail::number_text(bad))
                               .append("; allowed: -140 to 140");
    CHECK(refusal([&] { pm::score_of(residual); }) == is);
    CHECK(refusal([&] { pm::log_sigma_of(residual); }) == is);
    CHECK(refusal([&] { pm::coverage_of(residual, 0.1); }) == is);
  }
  const doubles residual{0.1, -0.2};
  CHECK(refusal([&] { pm::coverage_of(residual, -0.1); }) ==
        "PM-E010: log_sigma is -0.1; allowed: 0 or more");
  CHECK(refusal([&] { pm::coverage_of(residual, std::nan("")); }) ==
        "PM-E010: log_sigma is not a number; allowed: 0 or more");
}

TEST_CASE("a product that cannot be is refused by the number of its row", "[calibration]") {
  std::vector<pm::gemm_measurement> rows(20,
                                         {pm::gemm{.m = 64, .n = 64, .k = 64}, 10.0 * pm::us, 0.0});
  const auto refused = [&](double n, double copies) {
    rows[4].workload.n = n;
    rows[4].weight_copies = copies;
    return refusal([&] { pm::fit_machine(pm::catalog::h100_sxm, rows); });
  };
  CHECK(refused(0.0, 0.0) == "PM-E010: measurement 5: gemm.n is 0; allowed: 1 or more");
  CHECK(refused(std::nan(""), 0.0) ==
        "PM-E010: measurement 5: gemm.n is not a number; allowed: 1 or more");
  CHECK(refused(64.0, -1.0) == "PM-E010: measurement 5: weight_copies is -1; allowed: 0 or more");
  CHECK(refused(64.0, HUGE_VAL) ==
        "PM-E010: measurement 5: weight_copies is inf; allowed: at most 1e30");
}

}  // namespace unit_calibration
