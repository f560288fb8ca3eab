// Robust least squares on log-ratios: few positive parameters, each fitted as its logarithm.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace robust_fit {

using vector = std::vector<double>;

struct parameter {
  const char* name;
  double start, least, most;
};

struct result {
  vector value, standard_error;
  double cost = 0.0;
};

/// Solves a x = b for a symmetric positive definite a (row-major) by Cholesky; false where it isn't.
inline bool solve(vector a, vector b, vector& x) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) a[j * n + j] -= a[j * n + k] * a[j * n + k];
    if (!(a[j * n + j] > 0.0)) return false;
    a[j * n + j] = std::sqrt(a[j * n + j]);
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k) a[i * n + j] -= a[i * n + k] * a[j * n + k];
      a[i * n + j] /= a[j * n + j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  x = b;
  return true;
}

/// Minimises sum rho(r_i), rho(r) = 2 s^2 ((1 + (r / s)^2)^(1/2) - 1), s = 0.1, over r = ln(predicted
/// / measured) by Levenberg's damped Gauss-Newton steps on ln(parameter). `residuals` maps
/// parameters to all r. Standard errors are of the parameters themselves, from the weighted normal
/// matrix and the mean cost: they take the rows for independent, so they are lower limits.
inline result minimise(const std::vector<parameter>& parameters,
                       const std::function<void(const vector&, vector&)>& residuals) {
  const double s = 0.1;
  const std::size_t n = parameters.size();
  vector x(n), value(n);
  for (std::size_t j = 0; j < n; ++j) x[j] = std::log(parameters[j].start);
  const auto evaluate = [&](const vector& logs, vector& r) {
    for (std::size_t j = 0; j < n; ++j) value[j] = std::exp(logs[j]);
    residuals(value, r);
    double cost = 0.0;
    for (double ri : r) cost += 2.0 * s * s * (std::sqrt(1.0 + ri * ri / (s * s)) - 1.0);
    return cost;
  };
  vector r, up, step, normal(n * n), gradient(n);
  double cost = evaluate(x, r);
  double damping = 1e-3;
  for (int iteration = 0; iteration < 200; ++iteration) {
    vector columns(n * r.size());
    for (std::size_t j = 0; j < n; ++j) {
      vector moved = x;
      moved[j] += 1e-4;
      evaluate(moved, up);
      for (std::size_t i = 0; i < r.size(); ++i) columns[j * r.size() + i] = (up[i] - r[i]) / 1e-4;
    }
    std::fill(normal.begin(), normal.end(), 0.0);
    std::fill(gradient.begin(), gradient.end(), 0.0);
    for (std::size_t i = 0; i < r.size(); ++i) {
      const double weight = 1.0 / std::sqrt(1.0 + r[i] * r[i] / (s * s));
      for (std::size_t j = 0; j < n; ++j) {
        gradient[j] -= weight * columns[j * r.size() + i] * r[i];
        for (std::size_t k = 0; k < n; ++k) {
          normal[j * n + k] += weight * columns[j * r.size() + i] * columns[k * r.size() + i];
        }
      }
    }
    bool better = false;
    double gained = 0.0;
    while (!better && damping < 1e9) {
      vector damped = normal;
      for (std::size_t j = 0; j < n; ++j) damped[j * n + j] += damping * (normal[j * n + j] + 1e-9);
      if (solve(damped, gradient, step)) {
        vector trial = x;
        for (std::size_t j = 0; j < n; ++j) {
          trial[j] = std::clamp(x[j] + step[j], std::log(parameters[j].least),
                                std::log(parameters[j].most));
        }
        const double next = evaluate(trial, up);
        if (next < cost) {
          gained = (cost - next) / cost;
          x = trial;
          r = up;
          cost = next;
          better = true;
          damping = std::fmax(damping / 5.0, 1e-9);
          continue;
        }
      }
      damping *= 5.0;
    }
    if (!better || gained < 1e-9) break;
  }
  result out;
  out.cost = cost;
  const double variance = cost / static_cast<double>(r.size() > n ? r.size() - n : 1);
  for (std::size_t j = 0; j < n; ++j) {
    vector unit(n, 0.0), column;
    unit[j] = 1.0;
    out.value.push_back(std::exp(x[j]));
    const bool known = solve(normal, unit, column);
    out.standard_error.push_back(known ? out.value[j] * std::sqrt(variance * column[j]) : out.value[j]);
  }
  return out;
}

}  // namespace robust_fit
