// Calibration of an engine to measured runs of one service, and the remaining uncertainty.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel::inline v0_3 {

/// Parameters that may differ between a service and the shipped profile of its engine.
enum class service_parameter {
  step_time,          ///< factor
  step_cpu_time,      ///< seconds, added
  sequence_cpu_time,  ///< seconds, added
  prompt_time,        ///< factor
  request_cpu_time,   ///< seconds, added
  request_iterations  ///< engine steps, added
};
inline constexpr std::size_t service_parameters = 6;

constexpr const char* name_of(service_parameter p) {
  constexpr const char* names[] = {"pass_time",   "step_host",    "sequence_host",
                                   "prompt_time", "request_host", "request_iterations"};
  return detail::entry_of(names, p, "service_parameter");
}
/// Whether a parameter is a factor with a log-normal error; the others are added.
constexpr bool is_factor(service_parameter p) {
  return p == service_parameter::step_time || p == service_parameter::prompt_time;
}

/// One number for each parameter, or for each pair of them.
using service_numbers = std::array<double, service_parameters>;
using service_matrix = std::array<service_numbers, service_parameters>;

/// Variation of services around the shipped profile of their engine: the standard deviation of each
/// parameter (of its logarithm, for a factor), and of the logarithms of a run's times with all
/// parameters fitted to its service.
/// Services differ in noise: the prior of a service's own noise is worth `noise_runs` runs (the
/// degrees of freedom of a scaled inverse chi-squared). Without `noise_runs` all services have
/// equal noise.
struct service_residual_sigma {
  service_numbers of{};
  double token_noise = 0.0;
  double first_token_noise = 0.0;
  std::optional<double> noise_runs{};
  const source* from = &given_by_caller;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("of", s.of...);
    f(field::positive("token_noise"), s.token_noise...);
    f(field::positive("first_token_noise"), s.first_token_noise...);
    f(field::positive("noise_runs"), s.noise_runs...);
    f("from", s.from...);
  }
};

/// Value of a parameter in a profile.
constexpr double value_of(const engine_profile& e, service_parameter p) {
  switch (p) {
    case service_parameter::step_time: return e.step_time.value_or(1.0);
    case service_parameter::step_cpu_time: return e.step_cpu_time.value();
    case service_parameter::sequence_cpu_time: return e.sequence_cpu_time.value();
    case service_parameter::prompt_time: return e.prompt_time;
    case service_parameter::request_cpu_time: return e.request_cpu_time.value();
    case service_parameter::request_iterations: return e.request_iterations;
  }
  return 0.0;
}
constexpr void set_value(engine_profile& e, service_parameter p, double x) {
  switch (p) {
    case service_parameter::step_time: e.step_time = x; break;
    case service_parameter::step_cpu_time: e.step_cpu_time = x * second; break;
    case service_parameter::sequence_cpu_time: e.sequence_cpu_time = x * second; break;
    case service_parameter::prompt_time: e.prompt_time = x; break;
    case service_parameter::request_cpu_time: e.request_cpu_time = x * second; break;
    case service_parameter::request_iterations: e.request_iterations = x; break;
  }
}

/// Profile with shifted parameters: factors times exp(x), the others plus x, none below 0.
/// Test: a shift of 0 changes nothing, except for a step_time of 1.
constexpr engine_profile shift_profile(engine_profile e, const service_numbers& by) {
  for (std::size_t i = 0; i < service_parameters; ++i) {
    const auto p = static_cast<service_parameter>(i);
    const double shipped = value_of(e, p);
    set_value(e, p, is_factor(p) ? shipped * math::exp(by[i]) : scalar_max(shipped + by[i], 0.0));
  }
  return e;
}

/// An engine calibrated to one service: its profile, the shift from the shipped one with its
/// covariance, and the log_sigma of its predictions (as in a fitted_profile).
struct service_posterior {
  engine_profile engine{};
  service_numbers shift{};
  service_numbers standard_error{};
  service_matrix covariance{};
  double token_noise = 0.0;  ///< noise of the service's own runs
  double first_token_noise = 0.0;
  double token_log_sigma = 0.0;
  double first_token_log_sigma = 0.0;
};

// Uncertainty of a service's times beyond that of its kernels.

/// log_sigma beyond the kernels of a service: engine, scheduler, and conditions that a run does not
/// state. `dequantised_experts`: added to a time per token where experts have weights of fewer bits
/// than their activations, in kernels that were not measured. `pool_`: disaggregated services.
/// The defaults are for engines without a fit.
struct service_uncertainty {
  double token = 0.24;
  double first_token = 0.90;
  double dequantised_experts = 0.0;
  double pool_token = 0.24;
  double pool_first_token = 1.25;
};

/// Uncertainty of a service with separate prefill and decode pools.
constexpr service_uncertainty disaggregated_uncertainty(service_uncertainty w) {
  w.token = w.pool_token;
  w.first_token = w.pool_first_token;
  return w;
}

/// Share of kernel log_sigma that survives averaging over the many shapes of a step.
/// Services determine it weakly. With one log_sigma for each engine, the coverage of each of 14
/// models on their accelerators differs from 81 % by 14.8, 14.2, 14.5, 16.3 and 16.2 points (root
/// mean square) with 0, 0.3, 0.5, 0.7 and 1.
inline constexpr double kernel_sigma_share = 0.4;

/// log_sigma of a service's times: sqrt((kernel_sigma_share kernels)^2 + around^2).
/// Test: 0.75 and 0.4 give 0.5.
constexpr double service_log_sigma(double kernels, double other) {
  const double kernel_part = kernel_sigma_share * kernels;
  return math::sqrt(kernel_part * kernel_part + other * other);
}
constexpr double token_log_sigma(double kernels, const service_uncertainty& w,
                                 bool dequantises_experts = false) {
  const double more = dequantises_experts ? w.dequantised_experts : 0.0;
  return service_log_sigma(kernels, math::sqrt(w.token * w.token + more * more));
}
constexpr double first_token_log_sigma(double kernels, const service_uncertainty& w) {
  return service_log_sigma(kernels, w.first_token);
}

}  // namespace perfmodel::inline v0_3
