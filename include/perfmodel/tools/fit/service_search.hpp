// The most probable shift of an engine's parameters, given runs and how services differ.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <array>
#include <cmath>
#include <optional>
#include <perfmodel/kernels/policy.hpp>
#include <perfmodel/kernels/service_posterior.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/serving/serving.hpp>
#include <perfmodel/step/deployment.hpp>
#include <perfmodel/tools/fit/least_squares.hpp>
#include <span>
#include <string_view>
#include <vector>

// A run of a service as a benchmark measured it.

namespace perfmodel {

/// What ran, what it was asked to do, and the mean times that were measured: per output token after
/// the first, and to the first. One of the two may be unknown.
struct service_run {
  deployment running{};
  service_load load{};
  std::optional<duration<>> itl{};
  std::optional<duration<>> ttft{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("running", s.running...);
    f("load", s.load...);
    f(field::positive("itl"), s.itl...);
    f(field::positive("ttft"), s.ttft...);
  }
};

/// Whether a prediction has latencies to compare with measured ones. An overloaded one has none,
/// nor has one that exceeds the memory. More ranks than a fabric joins have those of a larger one.
constexpr bool has_latencies(const feasibility& f) {
  const std::string_view unit = f.unit;
  return f.feasible || (unit != "req/s" && unit != "B");
}

namespace detail {

/// The search for the most probable shift of the parameters. Rows 2 i and 2 i + 1 are of run i: its
/// time per token, and its time to the first. A run that is overloaded as shipped, or exceeds
/// the memory, has no predicted latencies: its rows take no part.
class service_search {
 public:
  static constexpr int n = static_cast<int>(service_parameters);
  using vector = Eigen::Matrix<double, n, 1>;
  using matrix = Eigen::Matrix<double, n, n>;
  using slopes = Eigen::Matrix<double, Eigen::Dynamic, n>;

  service_search(std::span<const service_run> runs, const calibrated& calibration,
                 const service_residual_sigma& spread)
      : noise{spread.token_noise, spread.first_token_noise},
        runs_(runs),
        calibration_(calibration),
        spread_(spread) {
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
  /// Whether a run takes part.
  bool takes_part(std::size_t run) const { return has_latencies(shipped_[run]); }

  /// Gauss and Newton's steps, halved until they lead downhill.
  void descend() {
    for (int pass = 0; pass < 40; ++pass) {
      differentiate();
      const vector step = held_step();
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

  /// The noise of this service's own runs, each kind's by itself: the mean of what the prior says, which is worth
  /// `noise_runs`, and of what each run says, its residual squared and what is open of its prediction.
  void learn_noise() {
    const matrix c = covariance();
    for (std::size_t kind = 0; kind < 2; ++kind) {
      const double before = kind == 0 ? spread_.token_noise : spread_.first_token_noise;
      double sum = *spread_.noise_runs * before * before;
      for (std::size_t i = kind; i < measured_.size(); i += 2) {
        if (!is_measured(i)) continue;
        const double off = measured_[i] - predicted[i];
        sum += off * off + open(i, c);
      }
      noise[kind] = std::sqrt(sum / freedom(kind));
    }
    move_to(vector(x));
  }
  /// Degrees of freedom that a kind's noise is known with.
  double freedom(std::size_t kind) const {
    double runs = *spread_.noise_runs;
    for (std::size_t i = kind; i < measured_.size(); i += 2) runs += is_measured(i) ? 1.0 : 0.0;
    return runs;
  }
  /// Variance of a row's prediction that the parameters leave open.
  double open(std::size_t i, const matrix& c) const {
    const auto row = slope.row(static_cast<int>(i));
    return (row * c * row.transpose())(0, 0);
  }

  /// Of the posterior, a normal one at the point found.
  matrix covariance() const {
    matrix c = precision().ldlt().solve(matrix::Identity());
    for (int j = 0; j < n; ++j) {
      if (sigma(j) > 0.0) continue;
      c.row(j).setZero();
      c.col(j).setZero();
    }
    return c;
  }
  /// ln(measured / predicted) of the rows of a kind: 0 per token, 1 to the first. None where the
  /// run was not measured, or where its prediction has no latencies.
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
  std::vector<double> predicted{};  ///< logarithms
  slopes slope;                     ///< of them
  double cost = 0.0;
  std::array<double, 2> noise;  ///< per token, and to the first

  std::vector<feasibility> feasible{};  ///< feasibility of each run's prediction

 private:
  /// Beyond two standard deviations a row counts linearly: one bad run moves little.
  static constexpr double outlier = 2.0;

  double sigma(int j) const { return spread_.of[static_cast<std::size_t>(j)]; }
  double noise_of(std::size_t row) const { return noise[row % 2]; }
  bool is_measured(std::size_t row) const { return measured_[row] < infinity; }

  /// The least shift that a parameter may have: none is below 0.
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
      const serving_estimate s = serving(runs_[i].running, runs_[i].load, own);
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
  /// By small steps upwards, where no parameter meets its limit.
  void differentiate() {
    slope.setZero(static_cast<int>(predicted.size()), n);
    for (int j = 0; j < n; ++j) {
      if (!(sigma(j) > 0.0)) continue;
      const double step = 1e-3 * sigma(j);
      vector beside = x;
      beside[j] += step;
      const std::vector<double> there = predict(beside);
      for (std::size_t i = 0; i < there.size(); ++i)
        slope(static_cast<int>(i), j) = (there[i] - predicted[i]) / step;
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
  /// A parameter at its limit that the runs push outward stays there.
  vector held_step() const {
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
  service_residual_sigma spread_;
  std::vector<double> measured_{};
  std::vector<feasibility> shipped_{};  ///< feasibility of each run by the shipped parameters
};

}  // namespace detail

}  // namespace perfmodel
