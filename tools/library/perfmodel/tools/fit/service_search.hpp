// Search for the maximum a posteriori parameters of an engine, given runs and a prior.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <array>
#include <cmath>
#include <optional>
#include <perfmodel/kernels/policy.hpp>
#include <perfmodel/kernels/service_posterior.hpp>
#include <perfmodel/serving/serving.hpp>
#include <perfmodel/tools/fit/least_squares.hpp>
#include <perfmodel/tools/fit/service_run.hpp>
#include <span>
#include <vector>

namespace perfmodel::inline v0_3 {

namespace detail {

/// The search for the maximum a posteriori shift of the parameters. Rows 2 i and 2 i + 1 are the
/// ITL and the TTFT of run i. A run without predicted latencies by the shipped parameters is not
/// fitted.
class service_search {
 public:
  static constexpr int n = static_cast<int>(service_parameters);
  using vector = Eigen::Matrix<double, n, 1>;
  using matrix = Eigen::Matrix<double, n, n>;
  using slopes = Eigen::Matrix<double, Eigen::Dynamic, n>;

  service_search(std::span<const service_run> runs, const calibrated& calibration,
                 const service_residual_sigma& prior)
      : noise{prior.token_noise, prior.first_token_noise},
        runs_(runs),
        calibration_(calibration),
        prior_(prior) {
    for (const service_run& r : runs) {
      measured_.push_back(r.itl ? std::log(r.itl->value()) : infinity);
      measured_.push_back(r.ttft ? std::log(r.ttft->value()) : infinity);
    }
    move_to(vector::Zero());
    shipped_ = feasible;
    for (std::size_t i = 0; i < shipped_.size(); ++i) {
      if (!has_latencies(shipped_[i])) measured_[2 * i] = measured_[2 * i + 1] = infinity;
    }
    move_to(vector(x));
  }
  /// Whether a run is fitted.
  bool is_fitted(std::size_t run) const { return has_latencies(shipped_[run]); }

  /// Gauss-Newton steps, halved until the cost decreases.
  void descend() {
    for (int i = 0; i < 40; ++i) {
      differentiate();
      const vector step = newton_step();
      const service_search from = *this;
      double share = 1.0;
      for (move_to(from.x + step); cost >= from.cost && share > 1e-4; share *= 0.5) {
        move_to(from.x + 0.5 * share * step);
      }
      if (cost >= from.cost) *this = from;
      if (from.cost - cost <= 1e-10 * from.cost) break;
    }
    differentiate();
  }

  /// Moves to the parameters of another search, with the noise of the prior.
  void start_at(const service_search& other) { move_to(vector(other.x)); }
  /// Estimates the noise of ITL and TTFT: the mean variance of the prior, with a weight of
  /// `noise_runs`, and of each run, its squared residual plus the variance of its prediction.
  void estimate_noise() {
    const matrix c = covariance();
    for (std::size_t kind = 0; kind < 2; ++kind) {
      const double before = kind == 0 ? prior_.token_noise : prior_.first_token_noise;
      double sum = *prior_.noise_runs * before * before;
      for (std::size_t i = kind; i < measured_.size(); i += 2) {
        if (!is_measured(i)) continue;
        const double off = measured_[i] - predicted[i];
        sum += off * off + prediction_variance(i, c);
      }
      noise[kind] = std::sqrt(sum / noise_freedom(kind));
    }
    move_to(vector(x));
  }
  /// Degrees of freedom of the noise of ITL (0) or TTFT (1).
  double noise_freedom(std::size_t kind) const {
    double runs = *prior_.noise_runs;
    for (std::size_t i = kind; i < measured_.size(); i += 2) runs += is_measured(i) ? 1.0 : 0.0;
    return runs;
  }
  /// Variance of a row's prediction from the uncertainty of the parameters.
  double prediction_variance(std::size_t i, const matrix& c) const {
    const auto row = slope.row(static_cast<int>(i));
    return (row * c * row.transpose())(0, 0);
  }

  /// Covariance of the normal posterior at the minimum.
  matrix covariance() const {
    matrix c = precision().ldlt().solve(matrix::Identity());
    for (int j = 0; j < n; ++j) {
      if (sigma(j) > 0.0) continue;
      c.row(j).setZero();
      c.col(j).setZero();
    }
    return c;
  }
  /// Logarithm of the evidence for the prior by Laplace's method, less a constant: the likelihood
  /// at the minimum, the share of the prior's volume that the posterior has, and the prior of the
  /// noise.
  double log_evidence() const {
    double sum = -cost;
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      if (is_measured(i)) sum -= std::log(noise_of(i));
    }
    for (std::size_t kind = 0; kind < 2; ++kind) {
      const double before = kind == 0 ? prior_.token_noise : prior_.first_token_noise;
      const double ratio = before / noise[kind];
      sum -= *prior_.noise_runs * (0.5 * ratio * ratio + std::log(noise[kind]));
    }
    for (int j = 0; j < n; ++j) {
      if (sigma(j) > 0.0) sum -= std::log(sigma(j));
    }
    return sum - 0.5 * precision().ldlt().vectorD().array().log().sum();
  }
  /// ln(measured / predicted) of ITL (0) or TTFT (1); none for a run without a measurement or
  /// predicted latencies.
  std::vector<std::optional<double>> residuals(std::size_t kind) const {
    std::vector<std::optional<double>> out;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const auto& measured = kind == 0 ? runs_[i].itl : runs_[i].ttft;
      const bool known = measured && has_latencies(feasible[i]);
      out.push_back(known ? std::optional(std::log(measured->value()) - predicted[2 * i + kind])
                          : std::nullopt);
    }
    return out;
  }

  vector x;
  std::vector<double> predicted{};  ///< logarithms of the predictions
  slopes slope;                     ///< derivatives of `predicted`
  double cost = 0.0;
  std::array<double, 2> noise;  ///< noise of ITL and TTFT

  std::vector<feasibility> feasible{};  ///< feasibility of each run's prediction

 private:
  /// Standard deviations beyond which a row counts linearly, so that one outlier has little weight.
  static constexpr double outlier = 2.0;

  double sigma(int j) const { return prior_.of[static_cast<std::size_t>(j)]; }
  double noise_of(std::size_t row) const { return noise[row % 2]; }
  bool is_measured(std::size_t row) const { return measured_[row] < infinity; }

  /// The least shift of a parameter, so that it is not below 0.
  double least(int j) const {
    const auto p = static_cast<service_parameter>(j);
    return is_factor(p) ? -infinity : -value_of(calibration_.engine, p);
  }
  std::vector<double> predict(const vector& at, std::vector<feasibility>* fits = nullptr) const {
    service_numbers by{};
    for (int j = 0; j < n; ++j) by[static_cast<std::size_t>(j)] = at[j];
    calibrated own = calibration_;
    own.engine = shift_profile(calibration_.engine, by);
    std::vector<double> out;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const serving_estimate s = serving(runs_[i].deployment, runs_[i].load, own);
      if (fits != nullptr) fits->push_back(s.feasible);
      for (const double t : {s.itl.value(), s.ttft.value()}) {
        check_time("the prediction of run", t, i);
        out.push_back(std::log(t));
      }
    }
    return out;
  }
  void move_to(const vector& to) {
    x = to;
    for (int j = 0; j < n; ++j) x[j] = sigma(j) > 0.0 ? (std::max)(x[j], least(j)) : 0.0;
    feasible.clear();
    predicted = predict(x, &feasible);
    cost = 0.0;
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      if (is_measured(i)) cost += huber_loss((measured_[i] - predicted[i]) / noise_of(i), outlier);
    }
    for (int j = 0; j < n; ++j) {
      if (sigma(j) > 0.0) cost += 0.5 * (x[j] / sigma(j)) * (x[j] / sigma(j));
    }
  }
  /// Forward differences, which no limit of a parameter interrupts.
  void differentiate() {
    slope.setZero(static_cast<int>(predicted.size()), n);
    for (int j = 0; j < n; ++j) {
      if (!(sigma(j) > 0.0)) continue;
      const double step = 1e-3 * sigma(j);
      vector shifted = x;
      shifted[j] += step;
      const std::vector<double> prediction = predict(shifted);
      for (std::size_t i = 0; i < prediction.size(); ++i)
        slope(static_cast<int>(i), j) = (prediction[i] - predicted[i]) / step;
    }
  }
  matrix precision() const {
    matrix a = matrix::Zero();
    for (int j = 0; j < n; ++j) a(j, j) = sigma(j) > 0.0 ? 1.0 / (sigma(j) * sigma(j)) : 1.0;
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      const auto row = slope.row(static_cast<int>(i));
      if (is_measured(i)) a += weight(i) * row.transpose() * row;
    }
    return a;
  }
  double weight(std::size_t i) const {
    return huber_weight((measured_[i] - predicted[i]) / noise_of(i), outlier) /
           (noise_of(i) * noise_of(i));
  }
  /// The Gauss-Newton step; a parameter at its limit stays there while the runs push it outward.
  vector newton_step() const {
    matrix a = precision();
    vector b = vector::Zero();
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      if (!is_measured(i)) continue;
      b += weight(i) * (measured_[i] - predicted[i]) * slope.row(static_cast<int>(i)).transpose();
    }
    for (int j = 0; j < n; ++j) {
      if (sigma(j) > 0.0) b[j] -= x[j] / (sigma(j) * sigma(j));
      if (sigma(j) > 0.0 && (x[j] > least(j) || b[j] > 0.0)) continue;
      a.row(j).setZero();
      a.col(j).setZero();
      a(j, j) = 1.0;
      b[j] = 0.0;
    }
    return a.ldlt().solve(b);
  }

  std::span<const service_run> runs_;
  calibrated calibration_;
  service_residual_sigma prior_;
  std::vector<double> measured_{};
  std::vector<feasibility> shipped_{};  ///< feasibility of each run by the shipped parameters
};

}  // namespace detail

}  // namespace perfmodel::inline v0_3
