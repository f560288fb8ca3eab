// Search of a robust least-squares fit on log ratios, between bounds.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <perfmodel/core/error.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/tools/fit/scores.hpp>
#include <span>
#include <string>
#include <vector>

namespace perfmodel::inline v0_3 {

/// One parameter to be fitted: its start value and its physical limits.
struct fitted_parameter {
  const char* name = "";
  double start = 0, lower = 0, upper = 0;
};

/// Residuals beyond `huber` (as a log ratio) count linearly, so that one outlier moves little.
struct fit_options {
  double huber = 0.1;
  int iterations = 200;
  double tolerance = 1e-10;        ///< relative decrease of the cost at which the search stops
  double largest_condition = 1e9;  ///< largest condition of the scaled normal matrix
  double largest_error = 1.0;      ///< largest standard error over the range between the limits
  bool refuse = true;  ///< refuse unidentified parameters; else their standard errors are infinite
};

namespace detail {

[[noreturn]] inline void unidentifiable(const std::string& why) {
  throw error(error_code::unidentifiable, why);
}

/// Refuses a time without a finite logarithm, with its name and the number of its row.
inline void check_time(const char* what, double time, std::size_t i) {
  if (time >= smallest_quantity && time <= largest_quantity) return;
  std::string row(what);
  row.append(" ").append(std::to_string(i + 1));
  if (time > 0.0 && time < infinity) positive(row.c_str(), time);
  out_of_range(row.c_str(), time, "more than 0, and finite");
}

/// ln(measured / predicted) of row i; refuses a prediction that is not positive.
inline double log_ratio(double measured, double predicted, std::size_t i) {
  check_time("the prediction of row", predicted, i);
  return std::log(measured / predicted);
}

/// Weight of a residual in Huber's loss.
inline double huber_weight(double residual, double huber) {
  const double size = std::abs(residual);
  return size <= huber ? 1.0 : huber / size;
}
/// Huber's loss: r^2 / 2 up to `huber`, linear beyond.
inline double huber_loss(double residual, double huber) {
  const double size = std::abs(residual);
  return size <= huber ? 0.5 * size * size : huber * (size - 0.5 * huber);
}

/// Marquardt's step at x; parameters at a bound stay there while the gradient points outward.
/// Matrices have dynamic size: a compiler takes ten times as long with a solver for each fixed
/// size.
inline Eigen::VectorXd marquardt_step(const Eigen::VectorXd& x, const Eigen::VectorXd& gradient,
                                      const Eigen::MatrixXd& normal, double damping) {
  Eigen::MatrixXd a = normal;
  Eigen::VectorXd b = -gradient;
  for (Eigen::Index j = 0; j < x.size(); ++j) {
    a(j, j) += damping * normal(j, j) + 1e-12;
    const bool at_bound = (x[j] <= 0.0 && gradient[j] > 0.0) || (x[j] >= 1.0 && gradient[j] < 0.0);
    if (!at_bound) continue;
    a.row(j).setZero();
    a.col(j).setZero();
    a(j, j) = 1.0;
    b[j] = 0.0;
  }
  return a.ldlt().solve(b);
}

/// The search for the least sum of losses. A point u scales each parameter to 0 to 1, its limits.
template <std::size_t N, class Predict>
class log_ratio_search {
 public:
  static constexpr int n = static_cast<int>(N);
  using vector = Eigen::VectorXd;
  using matrix = Eigen::MatrixXd;

  log_ratio_search(const std::array<fitted_parameter, N>& parameters,
                   std::span<const double> measured, Predict& predict, const fit_options& options)
      : scale(n),
        x(n),
        gradient(n),
        normal(n, n),
        parameters_(parameters),
        measured_(measured),
        predict_(predict),
        options_(options) {
    for (std::size_t j = 0; j < N; ++j) {
      const fitted_parameter& p = parameters[j];
      scale[static_cast<int>(j)] = p.upper - p.lower;
      x[static_cast<int>(j)] = (p.start - p.lower) / (p.upper - p.lower);
    }
    residual.resize(measured.size());
    cost = evaluate(x, residual, &gradient, &normal);
  }

  /// Descends until the cost converges.
  void descend() {
    std::vector<double> trial_residual(residual.size());
    double damping = 1e-3;
    for (int idle = 0; iterations < options_.iterations && idle < 3; ++iterations) {
      const vector step = marquardt_step(x, gradient, normal, damping);
      const vector trial = (x + step).cwiseMax(0.0).cwiseMin(1.0);
      const double trial_cost = evaluate(trial, trial_residual, nullptr, nullptr);
      if (trial_cost < cost) {
        idle = cost - trial_cost < options_.tolerance * cost ? idle + 1 : 0;
        x = trial;
        cost = evaluate(x, residual, &gradient, &normal);
        damping = (std::max)(0.2 * damping, 1e-12);
      } else {
        damping *= 5.0;
        if (damping > 1e12) break;
      }
    }
  }

  vector scale, x, gradient;
  matrix normal;  ///< weighted J^T J of the logarithms
  std::vector<double> residual{};
  double cost = 0.0;
  int iterations = 0;

 private:
  /// Cost at u, with gradient and normal matrix on request.
  double evaluate(const vector& u, std::vector<double>& r, vector* gradient_at, matrix* normal_at) {
    std::array<dual<N>, N> p;
    for (std::size_t j = 0; j < N; ++j) {
      const int i = static_cast<int>(j);
      p[j] = dual<N>::variable(parameters_[j].lower + scale[i] * u[i], j);
    }
    if (gradient_at != nullptr) {
      gradient_at->setZero();
      normal_at->setZero();
    }
    double sum = 0.0;
    for (std::size_t i = 0; i < r.size(); ++i) {
      const dual<N> t = predict_(p, i);
      r[i] = log_ratio(measured_[i], t.value(), i);
      sum += huber_loss(r[i], options_.huber);
      if (gradient_at == nullptr) continue;
      const double weight = huber_weight(r[i], options_.huber);
      std::array<double, N> slope{};  // of ln predicted
      for (int j = 0; j < n; ++j) {
        const auto k = static_cast<std::size_t>(j);
        slope[k] = t.partial(k) / t.value() * scale[j];
        (*gradient_at)[j] -= weight * r[i] * slope[k];
        for (int l = 0; l <= j; ++l) {
          const double product = weight * slope[k] * slope[static_cast<std::size_t>(l)];
          (*normal_at)(j, l) += product;
          if (l < j) (*normal_at)(l, j) += product;
        }
      }
    }
    return sum;
  }

  const std::array<fitted_parameter, N>& parameters_;
  std::span<const double> measured_;
  Predict& predict_;
  const fit_options& options_;
};

}  // namespace detail

}  // namespace perfmodel::inline v0_3
