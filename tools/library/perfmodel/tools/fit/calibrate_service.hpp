// Calibrates the engine parameters of one service to a few of its benchmark runs.
#pragma once

#include <cmath>
#include <perfmodel/tools/fit/service_calibration.hpp>
#include <perfmodel/tools/fit/service_search.hpp>
#include <perfmodel/units/text.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Quantile of Student's t over that of a normal, for an 80 % interval and noise estimated from
/// runs: with z = z90, 1 + (z^2 + 1) / (4 runs) + (5 z^4 + 16 z^2 + 3) / (96 runs^2).
/// *Source:* Abramowitz and Stegun 26.7.5.
/// *Test:* 1.638 / 1.282 for 3 runs, 1.372 / 1.282 for 10, within 1 %.
constexpr double student_factor(double runs) {
  constexpr double z2 = z90 * z90;
  return 1.0 + (z2 + 1.0) / (4.0 * runs) + (5.0 * z2 * z2 + 16.0 * z2 + 3.0) / (96.0 * runs * runs);
}

/// log_sigma of the prediction of a further, similar run.
inline double interval_sigma(const service_search& s, const service_search::matrix& covariance,
                             std::size_t kind, const service_residual_sigma& prior) {
  double sum = 0.0, runs = 0.0;
  for (std::size_t i = kind; i < s.predicted.size(); i += 2) {
    if (!s.is_fitted(i / 2)) continue;
    sum += s.prediction_variance(i, covariance);
    runs += 1.0;
  }
  const double sigma = std::sqrt(s.noise[kind] * s.noise[kind] + sum / runs);
  return prior.noise_runs ? sigma * student_factor(s.noise_freedom(kind)) : sigma;
}

/// Descends, and estimates the noise in turn with the parameters where the prior has one of it.
inline void descend_with_noise(service_search& search, const service_residual_sigma& prior) {
  search.descend();
  for (int round = 0; prior.noise_runs && round < 4; ++round) {
    search.estimate_noise();
    search.descend();
  }
}

/// Whether a service's noise, after the fit, is beyond that of services which the prior is of.
inline bool is_foreign(const service_search& search, const service_residual_sigma& prior) {
  return prior.noise_runs && (search.noise[0] > 3.0 * prior.token_noise ||
                              search.noise[1] > 3.0 * prior.first_token_noise);
}

/// How much wider the prior of a parameter may be in which a service is of another kind: factors
/// of 4, tens of milliseconds of CPU time per step.
constexpr double foreign_scale(std::size_t parameter) {
  return is_factor(static_cast<service_parameter>(parameter)) ? 16.0 : 64.0;
}

/// The set of parameters, as a prior that is wider in these, with the largest evidence; and the
/// search by it. A wider prior needs 3 times the evidence.
inline void widen_prior(std::span<const service_run> runs, const calibrated& calibration,
                        service_residual_sigma& prior, service_search& search) {
  const service_search narrow = search;
  const service_residual_sigma shipped = prior;
  double best = narrow.log_evidence() + std::log(3.0);
  for (unsigned set = 1; set < 1u << service_parameters; ++set) {
    service_residual_sigma wide = shipped;
    for (std::size_t j = 0; j < service_parameters; ++j) {
      if (set >> j & 1u) wide.of[j] *= foreign_scale(j);
    }
    service_search other(runs, calibration, wide);
    other.start_at(narrow);
    descend_with_noise(other, wide);
    if (other.log_evidence() < best) continue;
    best = other.log_evidence();
    search = other;
    prior = wide;
  }
}

/// Refuses invalid runs, with their number.
inline void check_runs(std::span<const service_run> runs, const service_residual_sigma& prior) {
  require_valid(prior, "prior");
  for (const double s : prior.of) not_negative("prior", s);
  if (runs.empty()) unidentifiable("there are no runs");
  const deployment& first = runs.front().deployment;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const service_run& r = runs[i];
    const std::string run = "run " + std::to_string(i + 1);
    require_valid(r, run.c_str());
    if (!r.itl && !r.ttft) unidentifiable(run + " has no measured time");
    if (!(r.deployment.device.name == first.device.name) ||
        r.deployment.serving_engine != first.serving_engine) {
      throw error(error_code::inconsistent,
                  run + " is of another accelerator or engine than run 1; a calibration is of one");
    }
  }
}

/// Refuses runs without any predicted latencies, with the reason of the first one.
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

/// The maximum a posteriori shift x of the engine parameters of a calibration: it minimises
///   sum over runs of rho(ln(measured / predicted(x)) / noise) + 1/2 sum of (x_j / sigma_j)^2.
/// sigma_j: prior standard deviation, with which services differ from the shipped profile. rho:
/// Huber's loss, linear beyond 2 standard deviations. With `noise_runs` the noise is estimated too,
/// in turn with the parameters, four times (expectation/conditional maximisation; Meng and Rubin
/// 1993), and intervals are Student's. Noise three times the prior's is a sign of another kind
/// of engine. Then the prior is 16 times as wide in factors and 64 times in times for the set of
/// parameters with the largest evidence (Laplace's method), if `may_widen`. Standard errors are of
/// the normal posterior, (J^T W J + sigma^-2)^-1, never larger than the prior's. A parameter stays
/// as shipped if no run depends on it or its sigma is 0.
/// *Sources:* Gelman et al., "Bayesian Data Analysis", 3rd edition 2013, sections 2.5 and 4.1;
/// Huber 1964, as fit_log_ratios; MacKay, "Bayesian Interpolation", 1992.
/// *Leaves out:* percentiles; correlations between the errors of runs; runs that the shipped
/// profile predicts to be overloaded or not to fit.
/// *Errors:* no runs, none with predicted latencies, or one without a time (unidentifiable); runs
/// of two accelerators or engines (inconsistent); fields out of range, with the number of the run.
/// *Tests:* the parameters of a synthetic service are found within two standard errors; one run
/// with equal noise and prior moves halfway; the published services of
/// tests/property/own_services.cpp.
inline service_calibration calibrate_service(std::span<const service_run> runs,
                                             const calibrated& calibration,
                                             const service_residual_sigma& prior,
                                             bool may_widen = true) {
  detail::check_runs(runs, prior);
  detail::service_search search(runs, calibration, prior);
  detail::check_feasible(search.feasible);
  service_calibration out;
  out.feasible_before = search.feasible;
  out.token_before = search.residuals(0);
  out.first_token_before = search.residuals(1);
  detail::descend_with_noise(search, prior);
  service_residual_sigma own_prior = prior;
  if (may_widen && detail::is_foreign(search, prior)) {
    detail::widen_prior(runs, calibration, own_prior, search);
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
    const double variance = own_prior.of[i] * own_prior.of[i];
    out.prior_scale[i] = variance > 0.0 ? own_prior.of[i] / prior.of[i] : 1.0;
    out.variance_removed[i] =
        variance > 0.0 ? (std::max)(1.0 - covariance(row, row) / variance, 0.0) : 0.0;
    for (std::size_t j = 0; j < service_parameters; ++j) {
      const int column = static_cast<int>(j);
      own.covariance[i][j] = covariance(row, column);
      const double both = std::sqrt(covariance(row, row) * covariance(column, column));
      if (j > i && std::abs(covariance(row, column)) > 0.9 * both) {
        out.correlated.emplace_back(static_cast<service_parameter>(i),
                                    static_cast<service_parameter>(j));
      }
    }
  }
  own.engine = shift_profile(calibration.engine, own.shift);
  own.token_noise = search.noise[0];
  own.first_token_noise = search.noise[1];
  own.token_log_sigma = detail::interval_sigma(search, covariance, 0, prior);
  own.first_token_log_sigma = detail::interval_sigma(search, covariance, 1, prior);
  return out;
}

}  // namespace perfmodel::inline v0_3
