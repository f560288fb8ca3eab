// Error statistics of predictions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <perfmodel/kernels/machine_profile.hpp>
#include <span>
#include <string>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Mean, median and 90th percentile of |predicted / measured - 1|; `bias`: mean of
/// predicted / measured - 1.
struct prediction_score {
  std::size_t n = 0;
  double mean = 0, median = 0, p90 = 0, bias = 0;
};

namespace detail {

/// The q-quantile of values, by linear interpolation between order statistics.
inline double quantile(std::vector<double> x, double q) {
  if (x.empty()) return 0.0;
  std::sort(x.begin(), x.end());
  const double at = q * static_cast<double>(x.size() - 1);
  const auto i = static_cast<std::size_t>(at);
  if (i + 1 >= x.size()) return x.back();
  return x[i] + (at - static_cast<double>(i)) * (x[i + 1] - x[i]);
}

/// Refuses residuals above 140, the logarithm of the largest quotient of two quantities.
inline void check_residuals(std::span<const double> residual) {
  for (std::size_t i = 0; i < residual.size(); ++i) {
    if (std::abs(residual[i]) <= 140.0) continue;
    out_of_range(("residual " + std::to_string(i + 1)).c_str(), residual[i], "-140 to 140");
  }
}

}  // namespace detail

/// The score of residuals ln(measured / predicted).
/// *Errors:* a residual outside -140 to 140, also in the two functions below.
inline prediction_score score_of(std::span<const double> residual) {
  detail::check_residuals(residual);
  prediction_score s;
  std::vector<double> off;
  for (const double r : residual) {
    const double e = std::exp(-r) - 1.0;
    off.push_back(std::abs(e));
    s.mean += std::abs(e);
    s.bias += e;
  }
  s.n = off.size();
  if (s.n == 0) return s;
  s.mean /= static_cast<double>(s.n);
  s.bias /= static_cast<double>(s.n);
  s.median = detail::quantile(off, 0.5);
  s.p90 = detail::quantile(off, 0.9);
  return s;
}

/// Share of rows within the 80 % interval of a log_sigma: |residual| at most z90 log_sigma.
inline double coverage_of(std::span<const double> residual, double log_sigma) {
  detail::check_residuals(residual);
  detail::not_negative("log_sigma", log_sigma);
  std::size_t inside = 0;
  for (const double r : residual) inside += std::abs(r) <= z90 * log_sigma ? 1 : 0;
  return residual.empty() ? 0.0
                          : static_cast<double>(inside) / static_cast<double>(residual.size());
}

/// The log_sigma for which 80 % of |residual| lie within z90 log_sigma.
inline double log_sigma_of(std::span<const double> residual) {
  detail::check_residuals(residual);
  std::vector<double> off;
  for (const double r : residual) off.push_back(std::abs(r));
  return detail::quantile(off, 0.8) / z90;
}

}  // namespace perfmodel::inline v0_3
