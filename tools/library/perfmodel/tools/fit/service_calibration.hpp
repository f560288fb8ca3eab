// Engine parameters that a calibration finds for one service.
#pragma once

#include <optional>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/kernels/service_posterior.hpp>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Posterior of a service's parameters, with the residuals before and after the fit.
/// `variance_removed`: share of each parameter's prior variance that the runs remove. `correlated`:
/// pairs with an error correlation above 0.9, which the runs do not separate. Residuals are
/// ln(measured / predicted), none for a run without a measurement or predicted latencies. A run
/// without predicted latencies before the fit is not fitted. `prior_scale`: factor on the standard
/// deviation of each parameter's prior, 1 in a service like those that the prior is of.
struct service_calibration {
  using residuals = std::vector<std::optional<double>>;
  service_posterior posterior{};
  service_numbers variance_removed{};
  service_numbers prior_scale{};
  std::vector<std::pair<service_parameter, service_parameter>> correlated{};
  residuals token_before{}, token_after{}, first_token_before{}, first_token_after{};
  std::vector<feasibility> feasible_before{}, feasible_after{};
};

}  // namespace perfmodel::inline v0_3
