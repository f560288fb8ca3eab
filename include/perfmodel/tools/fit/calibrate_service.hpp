// An engine as one's own service runs it, from a few of its benchmark runs.
#pragma once

#include <cmath>
#include <perfmodel/tools/fit/service_search.hpp>
#include <perfmodel/units/text.hpp>
#include <utility>

namespace perfmodel {

/// What runs told. `told` is the share of each parameter's prior variance that they removed;
/// `confused` are pairs whose errors are correlated beyond 0.9: the runs tell of the two together
/// only. residual = ln(measured / predicted) of each run, none where it was not measured or where
/// its prediction has no latencies. A run that has none before takes no part in the fit.
struct service_calibration {
  using residuals = std::vector<std::optional<double>>;
  service_posterior posterior{};
  service_numbers told{};
  std::vector<std::pair<service_parameter, service_parameter>> confused{};
  residuals token_before{}, token_after{}, first_token_before{}, first_token_after{};
  std::vector<feasibility> feasible_before{},
      feasible_after{};  ///< whether predictions are feasible
};

namespace detail {

/// How much wider than a normal error's an interval of 80 % is where the noise is known from so many runs: Student's
/// t over z = z90, 1 + (z^2 + 1) / (4 runs) + (5 z^4 + 16 z^2 + 3) / (96 runs^2).
/// Source: Abramowitz and Stegun 26.7.5. Test: of 3 runs 1.638 / 1.282, of 10 1.372 / 1.282, within 1 %.
constexpr double few_runs(double runs) {
  constexpr double z2 = z90 * z90;
  return 1.0 + (z2 + 1.0) / (4.0 * runs) + (5.0 * z2 * z2 + 16.0 * z2 + 3.0) / (96.0 * runs * runs);
}

/// The width of the interval around a further run like these.
inline double width_of(const service_search& s, const service_search::matrix& covariance,
                       std::size_t kind, const service_residual_sigma& spread) {
  double sum = 0.0, runs = 0.0;
  for (std::size_t i = kind; i < s.predicted.size(); i += 2) {
    if (!s.takes_part(i / 2)) continue;
    sum += s.open(i, covariance);
    runs += 1.0;
  }
  const double width = std::sqrt(s.noise[kind] * s.noise[kind] + sum / runs);
  return spread.noise_runs ? width * few_runs(s.freedom(kind)) : width;
}

/// Refuses runs that are none, by their number.
inline void check_runs(std::span<const service_run> runs, const service_residual_sigma& spread) {
  require_valid(spread, "spread");
  for (const double s : spread.of) not_negative("spread", s);
  if (runs.empty()) unidentifiable("there are no runs");
  const deployment& first = runs.front().running;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const service_run& r = runs[i];
    const std::string run = "run " + std::to_string(i + 1);
    require_valid(r, run.c_str());
    if (!r.itl && !r.ttft) unidentifiable(run + " has no measured time");
    if (!(r.running.device.name == first.device.name) ||
        r.running.serving_engine != first.serving_engine) {
      throw error(error_code::inconsistent,
                  run + " is of another accelerator or engine than run 1; a calibration is of one");
    }
  }
}

/// Refuses runs of which no prediction has latencies, with the first one's reason.
inline void check_feasible(const std::vector<feasibility>& runs) {
  for (const feasibility& f : runs) {
    if (has_latencies(f)) return;
  }
  const feasibility& f = runs.front();
  unidentifiable(std::string("no run has predicted latencies; run 1: ") + f.reason + ", " +
                 significant(f.needed, 4) + " " + f.unit + " needed, " +
                 significant(f.available, 4) + " " + f.unit +
                 " available; allowed: runs at a concurrency, or at a rate that is sustained");
}

}  // namespace detail

/// Moves the parameters of `silicon`'s engine as far as the runs tell: the x that minimises
///   sum over runs of rho(ln(measured / predicted(x)) / noise) + 1/2 sum of (x_j / spread_j)^2,
/// the most probable one where services differ from the shipped profile by normal errors of standard
/// deviation spread_j; rho is Huber's loss, linear beyond 2 standard deviations. The noise is the service's
/// own where `noise_runs` says what the spread's is worth: noise and parameters in turn, four times (expectation and
/// conditional maximisation; Meng and Rubin 1993), and intervals are Student's. Errors are those of
/// the normal posterior there, (J^T W J + spread^-2)^-1: never wider than the prior's. Without runs
/// that tell of it a parameter stays as shipped; one with spread 0 always does.
/// Sources: Gelman et al., "Bayesian Data Analysis", 3rd edition 2013, sections 2.5 and 4.1;
/// Huber 1964, as fit_log_ratios.
/// Leaves out: percentiles; correlations between the errors of runs; runs that the shipped profile
/// predicts to be overloaded or not to fit.
/// Errors: no runs, none with predicted latencies, or one without a time (unidentifiable); runs of
/// two accelerators or engines (inconsistent); fields out of range, with the number of the run.
/// Tests: a synthetic service's own parameters are found within two standard errors; one run with
/// equal noise and prior moves halfway; the published services of tests/property/own_services.cpp.
inline service_calibration calibrate_service(std::span<const service_run> runs,
                                             const calibrated& calibration,
                                             const service_residual_sigma& spread) {
  detail::check_runs(runs, spread);
  detail::service_search search(runs, calibration, spread);
  detail::check_feasible(search.feasible);
  service_calibration out;
  out.feasible_before = search.feasible;
  out.token_before = search.residuals(0);
  out.first_token_before = search.residuals(1);
  search.descend();
  for (int pass = 0; spread.noise_runs && pass < 4; ++pass) {
    search.learn_noise();
    search.descend();
  }
  out.feasible_after = search.feasible;
  out.token_after = search.residuals(0);
  out.first_token_after = search.residuals(1);

  const detail::service_search::matrix covariance = search.covariance();
  service_posterior& own = out.posterior;
  for (std::size_t i = 0; i < service_parameters; ++i) {
    const int row = static_cast<int>(i);
    own.shift[i] = search.x[row];
    own.standard_error[i] = std::sqrt(covariance(row, row));
    const double prior = spread.of[i] * spread.of[i];
    out.told[i] = prior > 0.0 ? (std::max)(1.0 - covariance(row, row) / prior, 0.0) : 0.0;
    for (std::size_t j = 0; j < service_parameters; ++j) {
      const int column = static_cast<int>(j);
      own.covariance[i][j] = covariance(row, column);
      const double both = std::sqrt(covariance(row, row) * covariance(column, column));
      if (j > i && std::abs(covariance(row, column)) > 0.9 * both) {
        out.confused.emplace_back(static_cast<service_parameter>(i),
                                  static_cast<service_parameter>(j));
      }
    }
  }
  own.engine = shift_profile(calibration.engine, own.shift);
  own.token_noise = search.noise[0];
  own.first_token_noise = search.noise[1];
  own.token_log_sigma = detail::width_of(search, covariance, 0, spread);
  own.first_token_log_sigma = detail::width_of(search, covariance, 1, spread);
  return out;
}

}  // namespace perfmodel
