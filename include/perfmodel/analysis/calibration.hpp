// Parameters from measurements: robust least squares on log ratios, with bounds, standard errors
// and a refusal where the measurements cannot tell a parameter.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <map>
#include <perfmodel/analysis/scores.hpp>
#include <perfmodel/core/error.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <span>
#include <string>
#include <vector>

namespace perfmodel {

/// One parameter to be fitted: where the search starts and what is physically possible.
struct fitted_parameter {
  const char* name = "";
  double start = 0, lower = 0, upper = 0;
};

/// Residuals beyond `huber` (as a log ratio) count linearly, so that one wild row moves little.
struct fit_options {
  double huber = 0.1;
  int iterations = 200;
  double tolerance = 1e-10;        ///< stop when the cost falls by less than this share
  double largest_condition = 1e9;  ///< of the scaled normal matrix, before a refusal
  double largest_error = 1.0;      ///< standard error over the range between the limits, likewise
  bool refuse = true;  ///< what cannot be identified; else standard errors of it are infinite
};

/// value and standard_error per parameter; at_bound where the best value is the limit itself, and
/// the standard error then says how sharply the data push against it. residual[i] =
/// ln(measured / predicted); log_sigma: see fitted_profile.
template <std::size_t N>
struct fit_result {
  std::array<double, N> value{}, standard_error{};
  std::array<bool, N> at_bound{};
  Eigen::Matrix<double, static_cast<int>(N), static_cast<int>(N)> covariance;
  std::vector<double> residual;
  double cost = 0;
  double log_sigma = 0;
  int iterations = 0;
};

namespace detail {

[[noreturn]] inline void unidentifiable(const std::string& why) {
  throw error(error_code::unidentifiable, why);
}

/// Refuses a time whose logarithm tells nothing, by what it is and the number of its row.
inline void check_time(const char* what, double time, std::size_t i) {
  if (time >= smallest_quantity && time <= largest_quantity) return;
  std::string row(what);
  row.append(" ").append(std::to_string(i + 1));
  if (time > 0.0 && time < infinity) positive(row.c_str(), time);
  out_of_range(row.c_str(), time, "more than 0, and finite");
}

inline void check_measured(std::span<const double> measured, std::size_t parameters) {
  for (std::size_t i = 0; i < measured.size(); ++i) check_time("measurement", measured[i], i);
  if (measured.size() <= parameters) {
    unidentifiable(std::to_string(measured.size()) + " measurements cannot determine " +
                   std::to_string(parameters) + " parameters; at least " +
                   std::to_string(parameters + 1) + " are needed");
  }
}

/// The limits of a parameter and what a fit is told to stop at, before anything is computed.
inline void check_fit(std::span<const fitted_parameter> parameters, const fit_options& options) {
  positive("huber", options.huber);
  not_negative("iterations", static_cast<double>(options.iterations));
  not_negative("tolerance", options.tolerance);
  // Infinite: never refuse for it.
  within("largest_condition", options.largest_condition, 1.0, infinity, "1 or more");
  within("largest_error", options.largest_error, smallest_quantity, infinity, "more than 0");
  for (const fitted_parameter& p : parameters) {
    for (const double limit : {p.lower, p.upper}) {
      within(p.name, limit, -largest_quantity, largest_quantity, "limits from -1e30 to 1e30");
    }
    if (!(p.lower < p.upper) || !(p.lower <= p.start) || !(p.start <= p.upper)) {
      throw error(error_code::out_of_range,
                  std::string(p.name) + " starts at " + number_text(p.start) +
                      "; allowed: " + number_text(p.lower) + " to " + number_text(p.upper));
    }
  }
}

/// ln(measured / predicted) of row i, whose prediction must be a positive number.
inline double log_ratio(double measured, double predicted, std::size_t i) {
  check_time("the prediction of row", predicted, i);
  return std::log(measured / predicted);
}

}  // namespace detail

/// Minimises sum_i rho(ln(measured_i / predict(p, i))) over lower <= p <= upper, rho Huber's loss:
/// r^2 / 2 up to `huber`, linear beyond. predict is called as predict(std::array<dual<N>, N>, row)
/// and returns dual<N>, so the Jacobian is exact.
/// Sources: Huber, "Robust Estimation of a Location Parameter", 1964; Marquardt, "An Algorithm for
/// Least-Squares Estimation of Nonlinear Parameters", 1963 (damping scaled by the diagonal);
/// parameters at a bound that the gradient pushes outward are held (Bertsekas, "Projected Newton
/// Methods", 1982). Standard errors: sigma^2 (J^T W J)^-1, sigma^2 the weighted residual variance;
/// they take rows as independent, and rows of one kernel are not, so they are a lower limit.
/// Errors: a measurement or a prediction that is no positive number, with its row, a start outside
/// its limits, limits or options that are no numbers (each out_of_range); too few rows; a parameter
/// that no row depends on; parameters that only act together; one whose standard error exceeds the
/// whole range between its limits; measurements 100 times away from the start (a wrong unit): each
/// unidentifiable, with the reason.
/// Test: parameters of a synthetic machine are found again within three standard errors.
template <std::size_t N, class Predict>
fit_result<N> fit_log_ratios(const std::array<fitted_parameter, N>& parameters,
                             std::span<const double> measured, Predict&& predict,
                             const fit_options& options = {}) {
  constexpr int n = static_cast<int>(N);
  using vector = Eigen::Matrix<double, n, 1>;
  using matrix = Eigen::Matrix<double, n, n>;
  detail::check_measured(measured, N);
  detail::check_fit(parameters, options);

  const std::size_t rows = measured.size();
  std::vector<double> residual(rows), trial_residual(rows);
  vector scale, x;
  for (std::size_t j = 0; j < N; ++j) {
    const fitted_parameter& p = parameters[j];
    scale[static_cast<int>(j)] = p.upper - p.lower;
    x[static_cast<int>(j)] = (p.start - p.lower) / (p.upper - p.lower);
  }

  // Cost at u (0 to 1 between the bounds), with gradient and weighted normal matrix on request.
  const auto evaluate = [&](const vector& u, std::vector<double>& r, vector* gradient,
                            matrix* normal) {
    std::array<dual<N>, N> p;
    for (std::size_t j = 0; j < N; ++j) {
      p[j] = dual<N>::variable(
          parameters[j].lower + scale[static_cast<int>(j)] * u[static_cast<int>(j)], j);
    }
    if (gradient != nullptr) {
      gradient->setZero();
      normal->setZero();
    }
    double cost = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      const dual<N> t = predict(p, i);
      r[i] = detail::log_ratio(measured[i], t.value(), i);
      const double size = std::abs(r[i]);
      const double weight = size <= options.huber ? 1.0 : options.huber / size;
      cost +=
          size <= options.huber ? 0.5 * size * size : options.huber * (size - 0.5 * options.huber);
      if (gradient != nullptr) {
        vector slope;  // of ln predicted
        for (int j = 0; j < n; ++j)
          slope[j] = t.partial(static_cast<std::size_t>(j)) / t.value() * scale[j];
        *gradient -= weight * r[i] * slope;
        *normal += weight * slope * slope.transpose();
      }
    }
    return cost;
  };

  vector gradient;
  matrix normal;
  double cost = evaluate(x, residual, &gradient, &normal);
  const double centre = detail::quantile(residual, 0.5);
  if (std::abs(centre) > std::log(100.0)) {
    detail::unidentifiable("measurements are typically " + detail::number_text(std::exp(centre)) +
                           " times the first prediction; is the unit of the column right?");
  }
  double damping = 1e-3;
  int pass = 0;
  for (int idle = 0; pass < options.iterations && idle < 3; ++pass) {
    std::array<bool, N> held{};
    for (int j = 0; j < n; ++j) {
      held[static_cast<std::size_t>(j)] =
          (x[j] <= 0.0 && gradient[j] > 0.0) || (x[j] >= 1.0 && gradient[j] < 0.0);
    }
    matrix a = normal;
    vector b = -gradient;
    for (int j = 0; j < n; ++j) {
      a(j, j) += damping * normal(j, j) + 1e-12;
      if (!held[static_cast<std::size_t>(j)]) continue;
      a.row(j).setZero();
      a.col(j).setZero();
      a(j, j) = 1.0;
      b[j] = 0.0;
    }
    const vector step = a.ldlt().solve(b);
    vector trial = x + step;
    for (int j = 0; j < n; ++j) trial[j] = std::clamp(trial[j], 0.0, 1.0);
    const double trial_cost = evaluate(trial, trial_residual, nullptr, nullptr);
    if (trial_cost < cost) {
      idle = cost - trial_cost < options.tolerance * cost ? idle + 1 : 0;
      x = trial;
      cost = evaluate(x, residual, &gradient, &normal);
      damping = (std::max)(0.2 * damping, 1e-12);
    } else {
      damping *= 5.0;
      if (damping > 1e12) break;
    }
  }

  fit_result<N> out;
  out.residual = std::move(residual);
  out.cost = cost;
  out.iterations = pass;
  out.log_sigma = log_sigma_of(out.residual);
  for (int j = 0; j < n; ++j) {
    const auto i = static_cast<std::size_t>(j);
    out.value[i] = parameters[i].lower + scale[j] * x[j];
    out.at_bound[i] = x[j] <= 0.0 || x[j] >= 1.0;
    if (options.refuse && !(normal(j, j) > 1e-12 * static_cast<double>(rows))) {
      detail::unidentifiable(std::string("no measurement depends on ") + parameters[i].name);
    }
  }
  if (!options.refuse) {
    out.standard_error.fill(detail::infinity);
    out.covariance.setConstant(detail::infinity);
    return out;
  }
  const vector root = normal.diagonal().cwiseSqrt();
  const matrix correlation =
      root.cwiseInverse().asDiagonal() * normal * root.cwiseInverse().asDiagonal();
  const Eigen::SelfAdjointEigenSolver<matrix> modes(correlation);
  const double weakest = modes.eigenvalues()[0];
  if (!(weakest * options.largest_condition > modes.eigenvalues()[n - 1])) {
    int first = 0;
    modes.eigenvectors().col(0).cwiseAbs().maxCoeff(&first);
    std::string others;
    for (int j = 0; j < n; ++j) {
      if (j == first || std::abs(modes.eigenvectors()(j, 0)) < 0.2) continue;
      others += others.empty() ? "" : ", ";
      others += parameters[static_cast<std::size_t>(j)].name;
    }
    detail::unidentifiable(std::string("the measurements cannot tell ") +
                           parameters[static_cast<std::size_t>(first)].name + " from " +
                           (others.empty() ? "the others" : others) +
                           "; add other sizes, from launch-bound to compute-bound");
  }
  double weighted = 0;
  for (const double r : out.residual) {
    const double size = std::abs(r);
    weighted += (size <= options.huber ? 1.0 : options.huber / size) * r * r;
  }
  const double variance = weighted / static_cast<double>(rows - N);
  out.covariance = variance * scale.asDiagonal() *
                   (root.cwiseInverse().asDiagonal() * correlation.inverse() *
                    root.cwiseInverse().asDiagonal()) *
                   scale.asDiagonal();
  for (int j = 0; j < n; ++j) {
    const auto i = static_cast<std::size_t>(j);
    out.standard_error[i] = std::sqrt(out.covariance(j, j));
    if (!(out.standard_error[i] <= options.largest_error * scale[j])) {
      detail::unidentifiable(std::string("the measurements leave ") + parameters[i].name +
                             " open: " + detail::number_text(out.value[i]) + " +- " +
                             detail::number_text(out.standard_error[i]));
    }
  }
  return out;
}

/// Residuals of every row by a fit that has not seen the row's group (its shape, its machine):
/// group[i] is any number that rows of one group share. Groups are dealt into `folds` parts in the
/// order they first appear; 0 folds leave out one group at a time.
/// Errors: as fit_log_ratios; fewer than two groups (unidentifiable); lists of different length; 1
/// fold.
/// Test: on synthetic data without noise it equals the in-sample residuals, all 0.
template <std::size_t N, class Predict>
std::vector<double> held_out_residuals(const std::array<fitted_parameter, N>& parameters,
                                       std::span<const double> measured,
                                       std::span<const std::size_t> group, Predict&& predict,
                                       std::size_t folds = 0, const fit_options& options = {}) {
  fit_options part_options = options;
  part_options.largest_error = detail::infinity;  // a part of the rows may leave open what all tell
  if (group.size() != measured.size()) {
    throw error(error_code::inconsistent, std::to_string(measured.size()) + " measurements have " +
                                              std::to_string(group.size()) + " groups");
  }
  std::map<std::size_t, std::size_t> seen;
  std::vector<std::size_t> fold_of(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    fold_of[i] = seen.try_emplace(group[i], seen.size()).first->second;
  }
  if (seen.size() < 2)
    detail::unidentifiable("all measurements are of one group; none can be held out");
  if (folds == 1) {
    throw error(error_code::out_of_range,
                "folds is 1; allowed: 0, or 2 or more, as one part leaves no rows to fit");
  }
  const std::size_t parts = folds == 0 ? seen.size() : (std::min)(folds, seen.size());
  std::vector<double> out(measured.size());
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<double> kept;
    std::vector<std::size_t> index;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      if (fold_of[i] % parts == part) continue;
      kept.push_back(measured[i]);
      index.push_back(i);
    }
    const auto fit = fit_log_ratios(
        parameters, std::span<const double>(kept),
        [&](const std::array<dual<N>, N>& p, std::size_t row) { return predict(p, index[row]); },
        part_options);
    std::array<dual<N>, N> found;
    for (std::size_t j = 0; j < N; ++j) found[j] = dual<N>(fit.value[j]);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      if (fold_of[i] % parts != part) continue;
      out[i] = detail::log_ratio(measured[i], predict(found, i).value(), i);
    }
  }
  return out;
}

}  // namespace perfmodel
