// Robust least squares on log ratios with bounds and standard errors; parameters that measurements
// do not identify are refused.
#pragma once

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>
#include <map>
#include <perfmodel/tools/fit/least_squares.hpp>

namespace perfmodel::inline v0_3 {

/// Result of a fit. `at_bound`: the best value is a limit, and its standard error shows how sharply
/// the data push against it. `residual`: ln(measured / predicted) of each row. `log_sigma`: see
/// fitted_profile.
template <std::size_t N>
struct fit_result {
  std::array<double, N> value{}, standard_error{};
  std::array<bool, N> at_bound{};
  std::array<bool, N> from_prior{};  ///< not identified by the rows, see fit_from_prior
  Eigen::MatrixXd covariance{};      ///< N x N
  std::vector<double> residual;
  double cost = 0;
  double log_sigma = 0;
  int iterations = 0;
};

namespace detail {

inline void check_measured(std::span<const double> measured, std::size_t parameters) {
  for (std::size_t i = 0; i < measured.size(); ++i) check_time("measurement", measured[i], i);
  if (measured.size() <= parameters) {
    unidentifiable(std::to_string(measured.size()) + " measurements cannot determine " +
                   std::to_string(parameters) + " parameters; at least " +
                   std::to_string(parameters + 1) + " are needed");
  }
}

/// Refuses measurements 100 times away from the first predictions.
inline void check_unit(const std::vector<double>& residual) {
  const double centre = quantile(residual, 0.5);
  if (std::abs(centre) <= std::log(100.0)) return;
  unidentifiable("measurements are typically " + number_text(std::exp(centre)) +
                 " times the first prediction; is the unit of the column right?");
}

/// Checks the limits of the parameters and the options of the fit.
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

/// Refuses a parameter that no row depends on.
inline void require_dependence(const Eigen::MatrixXd& normal, std::size_t rows,
                               std::span<const fitted_parameter> parameters) {
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    const auto i = static_cast<Eigen::Index>(j);
    if (normal(i, i) > 1e-12 * static_cast<double>(rows)) continue;
    unidentifiable(std::string("no measurement depends on ") + parameters[j].name);
  }
}

/// Refuses parameters that the rows do not separate: the correlation matrix has an eigenvalue near
/// 0, and its eigenvector names them.
inline void require_independence(const Eigen::MatrixXd& correlation,
                                 std::span<const fitted_parameter> parameters,
                                 double largest_condition) {
  const Eigen::Index n = correlation.rows();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> modes(correlation);
  if (modes.eigenvalues()[0] * largest_condition > modes.eigenvalues()[n - 1]) return;
  Eigen::Index first = 0;
  modes.eigenvectors().col(0).cwiseAbs().maxCoeff(&first);
  std::string others;
  for (Eigen::Index j = 0; j < n; ++j) {
    if (j == first || std::abs(modes.eigenvectors()(j, 0)) < 0.2) continue;
    others += others.empty() ? "" : ", ";
    others += parameters[static_cast<std::size_t>(j)].name;
  }
  unidentifiable(std::string("the measurements cannot tell ") +
                 parameters[static_cast<std::size_t>(first)].name + " from " +
                 (others.empty() ? "the others" : others) +
                 "; add other sizes, from launch-bound to compute-bound");
}

/// Covariance variance (J^T W J)^-1 of parameters with ranges `scale`; refuses unidentified ones.
inline Eigen::MatrixXd covariance_of(const Eigen::MatrixXd& normal, const Eigen::VectorXd& scale,
                                     std::span<const double> residual,
                                     std::span<const fitted_parameter> parameters,
                                     const fit_options& options) {
  require_dependence(normal, residual.size(), parameters);
  const Eigen::VectorXd per_root = normal.diagonal().cwiseSqrt().cwiseInverse();
  const Eigen::MatrixXd correlation = per_root.asDiagonal() * normal * per_root.asDiagonal();
  require_independence(correlation, parameters, options.largest_condition);
  double weighted = 0;
  for (const double r : residual) weighted += huber_weight(r, options.huber) * r * r;
  const double variance = weighted / static_cast<double>(residual.size() - parameters.size());
  return variance * scale.asDiagonal() *
         (per_root.asDiagonal() * correlation.inverse() * per_root.asDiagonal()) *
         scale.asDiagonal();
}

/// Covariance and standard errors at the minimum; refuses parameters without a finite range.
template <class Search, std::size_t N>
void add_standard_errors(fit_result<N>& out, const Search& s,
                         const std::array<fitted_parameter, N>& parameters,
                         const fit_options& options) {
  out.covariance = covariance_of(s.normal, s.scale, out.residual, parameters, options);
  for (std::size_t i = 0; i < N; ++i) {
    const int j = static_cast<int>(i);
    out.standard_error[i] = std::sqrt(out.covariance(j, j));
    if (out.standard_error[i] <= options.largest_error * s.scale[j]) continue;
    unidentifiable(std::string("the measurements leave ") + parameters[i].name + " open: " +
                   number_text(out.value[i]) + " +- " + number_text(out.standard_error[i]));
  }
}

}  // namespace detail

/// Minimises sum_i rho(ln(measured_i / predict(p, i))) over lower <= p <= upper, rho Huber's loss:
/// r^2 / 2 up to `huber`, linear beyond. predict is called as predict(std::array<dual<N>, N>, row)
/// and returns dual<N>, so the Jacobian is exact. Standard errors: sigma^2 (J^T W J)^-1, sigma^2
/// the weighted residual variance. They take rows as independent, and rows of one kernel are not,
/// so they are a lower limit.
/// *Sources:* Huber, "Robust Estimation of a Location Parameter", 1964; Marquardt, "An Algorithm
/// for Least-Squares Estimation of Nonlinear Parameters", 1963 (damping scaled by the diagonal);
/// Bertsekas, "Projected Newton Methods", 1982 (parameters at a bound stay there while the gradient
/// points outward).
/// *Errors:* out_of_range: a measurement or a prediction that is no positive number, with its row;
/// a start outside its limits; limits or options that are no numbers. unidentifiable, with the
/// reason: too few rows; a parameter that no row depends on; parameters that the rows do not
/// separate; a standard error above the range between the limits; measurements 100 times away from
/// the start (a wrong unit).
/// *Test:* parameters of a synthetic machine are found again within three standard errors.
template <std::size_t N, class Predict>
fit_result<N> fit_log_ratios(const std::array<fitted_parameter, N>& parameters,
                             std::span<const double> measured, Predict&& predict,
                             const fit_options& options = {}) {
  detail::check_measured(measured, N);
  detail::check_fit(parameters, options);
  detail::log_ratio_search<N, Predict> search(parameters, measured, predict, options);
  detail::check_unit(search.residual);
  search.descend();

  fit_result<N> out;
  out.residual = search.residual;
  out.cost = search.cost;
  out.iterations = search.iterations;
  out.log_sigma = log_sigma_of(out.residual);
  for (std::size_t i = 0; i < N; ++i) {
    const int j = static_cast<int>(i);
    out.value[i] = parameters[i].lower + search.scale[j] * search.x[j];
    out.at_bound[i] = search.x[j] <= 0.0 || search.x[j] >= 1.0;
  }
  if (options.refuse) {
    detail::add_standard_errors(out, search, parameters, options);
  } else {
    out.standard_error.fill(detail::infinity);
    out.covariance.setConstant(static_cast<int>(N), static_cast<int>(N), detail::infinity);
  }
  return out;
}

namespace detail {

/// The free parameter that the rows identify least, and N where they identify all: one that no row
/// depends on, one that they cannot tell from others, or one with a standard error above
/// `largest_error` of its range. `error`: standard errors over the range, where all are identified.
template <std::size_t N>
std::size_t least_identified(const Eigen::MatrixXd& normal, std::span<const double> residual,
                             const std::array<bool, N>& from_prior, const fit_options& options,
                             std::array<double, N>& error) {
  std::vector<std::size_t> free;
  for (std::size_t j = 0; j < N; ++j) {
    const auto i = static_cast<Eigen::Index>(j);
    if (from_prior[j]) continue;
    if (!(normal(i, i) > 1e-12 * static_cast<double>(residual.size()))) return j;
    free.push_back(j);
  }
  const auto n = static_cast<Eigen::Index>(free.size());
  Eigen::MatrixXd correlation(n, n);
  const auto at = [&free](Eigen::Index i) {
    return static_cast<Eigen::Index>(free[static_cast<std::size_t>(i)]);
  };
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) {
      correlation(i, j) =
          normal(at(i), at(j)) / std::sqrt(normal(at(i), at(i)) * normal(at(j), at(j)));
    }
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> modes(correlation);
  Eigen::Index worst = 0;
  if (!(modes.eigenvalues()[0] * options.largest_condition > modes.eigenvalues()[n - 1])) {
    modes.eigenvectors().col(0).cwiseAbs().maxCoeff(&worst);
    return free[static_cast<std::size_t>(worst)];
  }
  double weighted = 0;
  for (const double r : residual) weighted += huber_weight(r, options.huber) * r * r;
  const std::size_t rows = residual.size();
  const auto freedom = static_cast<double>(rows > free.size() ? rows - free.size() : 1);
  const Eigen::MatrixXd inverse = correlation.inverse();
  for (Eigen::Index i = 0; i < n; ++i) {
    error[free[static_cast<std::size_t>(i)]] =
        std::sqrt(weighted / freedom * inverse(i, i) / normal(at(i), at(i)));
    if (error[free[static_cast<std::size_t>(i)]] > error[free[static_cast<std::size_t>(worst)]])
      worst = i;
  }
  const std::size_t open = free[static_cast<std::size_t>(worst)];
  // Two rows a parameter at least: a fit through every row would predict no other.
  return error[open] > options.largest_error || rows < 2 * free.size() ? open : N;
}

}  // namespace detail

/// Fits the parameters that the rows identify; each other one keeps its `prior` value and is marked
/// in `from_prior`. Starting with all free, the least identified parameter is set to its prior and
/// the rest fitted again, until the rows identify all that are free. `largest_error` of the options
/// is the largest standard error over the range between the limits.
/// *Leaves out:* the prior's own uncertainty; the order of elimination is not searched.
/// *Errors:* as fit_log_ratios, but none for too few or too similar rows.
/// *Test:* rows of one regime leave the others at their prior; recordings of an H200, any part.
template <std::size_t N, class Predict>
fit_result<N> fit_from_prior(std::array<fitted_parameter, N> parameters,
                             const std::array<double, N>& prior, std::span<const double> measured,
                             Predict&& predict, const fit_options& options = {}) {
  for (std::size_t i = 0; i < measured.size(); ++i)
    detail::check_time("measurement", measured[i], i);
  detail::check_fit(parameters, options);
  fit_result<N> out;
  out.standard_error.fill(0.0);
  const auto mixed = [&](std::array<dual<N>, N> p, std::size_t row) {
    for (std::size_t j = 0; j < N; ++j) {
      if (out.from_prior[j]) p[j] = dual<N>(prior[j]);
    }
    return predict(p, row);
  };
  if (measured.empty()) out.from_prior.fill(true);
  out.value = prior;
  while (std::find(out.from_prior.begin(), out.from_prior.end(), false) != out.from_prior.end()) {
    detail::log_ratio_search<N, decltype(mixed)> search(parameters, measured, mixed, options);
    detail::check_unit(search.residual);
    search.descend();
    std::array<double, N> error{};
    const std::size_t open =
        detail::least_identified<N>(search.normal, search.residual, out.from_prior, options, error);
    if (open < N) {
      out.from_prior[open] = true;
      continue;
    }
    out.residual = search.residual;
    out.cost = search.cost;
    for (std::size_t i = 0; i < N; ++i) {
      const int j = static_cast<int>(i);
      if (out.from_prior[i]) continue;
      out.value[i] = parameters[i].lower + search.scale[j] * search.x[j];
      out.standard_error[i] = error[i] * search.scale[j];
      out.at_bound[i] = search.x[j] <= 0.0 || search.x[j] >= 1.0;
    }
    out.log_sigma = log_sigma_of(out.residual);
    return out;
  }
  std::array<dual<N>, N> all;
  for (std::size_t j = 0; j < N; ++j) all[j] = dual<N>(prior[j]);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    out.residual.push_back(detail::log_ratio(measured[i], predict(all, i).value(), i));
    out.cost += detail::huber_loss(out.residual[i], options.huber);
  }
  out.log_sigma = log_sigma_of(out.residual);
  return out;
}

namespace detail {

/// Fold of each row: groups are assigned to `folds` folds in turn, in the order they first appear;
/// without `folds` each group is a fold.
struct fold_assignment {
  std::vector<std::size_t> fold_of_row{};
  std::size_t folds = 0;
};
inline fold_assignment assign_folds(std::span<const std::size_t> group,
                                    const std::optional<std::size_t>& folds) {
  std::map<std::size_t, std::size_t> index_of;
  fold_assignment out;
  for (const std::size_t g : group)
    out.fold_of_row.push_back(index_of.try_emplace(g, index_of.size()).first->second);
  if (index_of.size() < 2)
    unidentifiable("all measurements are of one group; none can be held out");
  if (folds && *folds < 2) {
    throw error(error_code::out_of_range,
                "folds is " + std::to_string(*folds) +
                    "; allowed: 2 or more, as one part leaves no rows to fit");
  }
  out.folds = (std::min)(folds.value_or(index_of.size()), index_of.size());
  for (std::size_t& fold : out.fold_of_row) fold %= out.folds;
  return out;
}

}  // namespace detail

/// Residual of every row by a fit without the row's group (its shape, its machine).
/// group[i]: a number that rows of one group share. Groups are assigned to `folds` folds in the
/// order they first appear; without `folds` one group at a time is left out.
/// *Errors:* as fit_log_ratios; fewer than two groups (unidentifiable); lists of different length;
/// folds below 2.
/// *Test:* on synthetic data without noise it equals the in-sample residuals, all 0.
template <std::size_t N, class Predict>
std::vector<double> held_out_residuals(const std::array<fitted_parameter, N>& parameters,
                                       std::span<const double> measured,
                                       std::span<const std::size_t> group, Predict&& predict,
                                       const std::optional<std::size_t>& folds = {},
                                       const fit_options& options = {}) {
  fit_options part_options = options;
  part_options.largest_error = detail::infinity;  // a part of the rows may not identify all
  if (group.size() != measured.size()) {
    throw error(error_code::inconsistent, std::to_string(measured.size()) + " measurements have " +
                                              std::to_string(group.size()) + " groups");
  }
  const detail::fold_assignment assigned = detail::assign_folds(group, folds);
  std::vector<double> out(measured.size());
  for (std::size_t fold = 0; fold < assigned.folds; ++fold) {
    std::vector<double> fitted;
    std::vector<std::size_t> index;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      if (assigned.fold_of_row[i] == fold) continue;
      fitted.push_back(measured[i]);
      index.push_back(i);
    }
    const auto fit = fit_log_ratios(
        parameters, std::span<const double>(fitted),
        [&](const std::array<dual<N>, N>& p, std::size_t row) { return predict(p, index[row]); },
        part_options);
    std::array<dual<N>, N> found;
    for (std::size_t j = 0; j < N; ++j) found[j] = dual<N>(fit.value[j]);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      if (assigned.fold_of_row[i] != fold) continue;
      out[i] = detail::log_ratio(measured[i], predict(found, i).value(), i);
    }
  }
  return out;
}

}  // namespace perfmodel::inline v0_3
