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

/// Engine parameters that may differ between a running service and the shipped profile of its
/// engine.
enum class service_parameter {
  step_time_factor,
  step_cpu_time,      ///< additive shift, in seconds
  sequence_cpu_time,  ///< additive shift, in seconds
  prefill_step_factor,
  request_cpu_time,   ///< additive shift, in seconds
  request_iterations  ///< additive shift, in engine steps
};
inline constexpr std::size_t service_parameters = 6;

/// Name of a fitted parameter of a service, as in a profile file.
constexpr const char* name_of(service_parameter p) {
  constexpr const char* names[] = {"step_time_factor",    "step_cpu_time",    "sequence_cpu_time",
                                   "prefill_step_factor", "request_cpu_time", "request_iterations"};
  return detail::entry_of(names, p, "service_parameter");
}
/// True for a factor, which has a log-normal error; the other parameters are added.
constexpr bool is_factor(service_parameter p) {
  return p == service_parameter::step_time_factor || p == service_parameter::prefill_step_factor;
}

/// One number for each service_parameter; service_matrix has one for each pair of them.
using service_numbers = std::array<double, service_parameters>;
using service_matrix = std::array<service_numbers, service_parameters>;

/// Variation of services around the shipped profile of their engine. `of` has the standard
/// deviation of each parameter (for a factor, of its logarithm).
/// `token_noise` and `first_token_noise` are what remains after all parameters are fitted to a
/// service. They are standard deviations of the logarithm of a run's time per token and time to
/// first token.
/// Services differ in noise. The prior of a service's own noise counts as much as `noise_runs` runs
/// (degrees of freedom of a scaled inverse chi-squared distribution). If `noise_runs` is absent,
/// all services have the same noise.
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

/// Value of a parameter in a profile; times are in seconds.
constexpr double value_of(const engine_profile& e, service_parameter p) {
  switch (p) {
    case service_parameter::step_time_factor: return e.step_time_factor.value_or(1.0);
    case service_parameter::step_cpu_time: return e.step_cpu_time.value();
    case service_parameter::sequence_cpu_time: return e.sequence_cpu_time.value();
    case service_parameter::prefill_step_factor: return e.prefill_step_factor;
    case service_parameter::request_cpu_time: return e.request_cpu_time.value();
    case service_parameter::request_iterations: return e.request_iterations;
  }
  return 0.0;
}
/// Sets a parameter in a profile; times are in seconds.
constexpr void set_value(engine_profile& e, service_parameter p, double x) {
  switch (p) {
    case service_parameter::step_time_factor: e.step_time_factor = x; break;
    case service_parameter::step_cpu_time: e.step_cpu_time = x * second; break;
    case service_parameter::sequence_cpu_time: e.sequence_cpu_time = x * second; break;
    case service_parameter::prefill_step_factor: e.prefill_step_factor = x; break;
    case service_parameter::request_cpu_time: e.request_cpu_time = x * second; break;
    case service_parameter::request_iterations: e.request_iterations = x; break;
  }
}

/// Profile with shifted parameters: factors are multiplied by exp(shift), the shift is added to
/// other parameters. No parameter falls below 0.
/// Test: a shift of 0 changes nothing, except that an absent step_time_factor becomes 1.
constexpr engine_profile shift_profile(engine_profile e, const service_numbers& by) {
  for (std::size_t i = 0; i < service_parameters; ++i) {
    const auto p = static_cast<service_parameter>(i);
    const double shipped = value_of(e, p);
    set_value(e, p, is_factor(p) ? shipped * math::exp(by[i]) : scalar_max(shipped + by[i], 0.0));
  }
  return e;
}

/// An engine calibrated to one service: its profile, the shift from the shipped profile with its
/// covariance, and the log_sigma of its predictions (see fitted_profile).
struct service_posterior {
  engine_profile engine{};
  service_numbers shift{};
  service_numbers standard_error{};
  service_matrix covariance{};
  double token_noise = 0.0;  ///< noise of this service's runs, see service_residual_sigma
  double first_token_noise = 0.0;
  double token_log_sigma = 0.0;
  double first_token_log_sigma = 0.0;
};

// Uncertainty of a service's times, in addition to that of its kernels.

/// log_sigma of a service's times in addition to that of its kernels: engine, scheduler, and
/// conditions that a run does not state. `token`: times per output token. `first_token`: times to
/// the first token. `pool_token`, `pool_first_token`: the values for disaggregated prefill and
/// decode pools.
/// `dequantised_experts` is added in quadrature to `token` if experts have weights of fewer bits
/// than their activations and their kernels were not measured. The defaults are for engines without
/// a fit; that of pool_first_token holds 79 and 83 % of 127 and 66 loads of pools.
struct service_uncertainty {
  double token = 0.24;
  double first_token = 0.90;
  double dequantised_experts = 0.0;
  double pool_token = 0.24;
  double pool_first_token = 0.78;
};

/// Uncertainty of a service with disaggregated prefill and decode pools.
constexpr service_uncertainty disaggregated_uncertainty(service_uncertainty w) {
  w.token = w.pool_token;
  w.first_token = w.pool_first_token;
  return w;
}

/// Fraction of the kernels' log_sigma that remains in a step, after averaging over its many
/// operator shapes.
/// Measured services constrain it weakly. With one log_sigma for each engine, the coverage of the
/// intervals of 14 models differs from 81 % by 14.8, 14.2, 14.5, 16.3 and 16.2 points (RMS), for
/// fractions of 0, 0.3, 0.5, 0.7 and 1.
inline constexpr double kernel_sigma_share = 0.4;

/// log_sigma of a service's times: sqrt((kernel_sigma_share kernels)^2 + other^2), from the
/// log_sigma of its kernels and the rest.
/// Test: with kernels 0.75 and other 0.4 it is 0.5.
constexpr double service_log_sigma(double kernels, double other) {
  const double kernel_part = kernel_sigma_share * kernels;
  return math::sqrt(kernel_part * kernel_part + other * other);
}
/// log_sigma of a time per output token. In a launch-bound step `kernels` is the log_sigma of the
/// launch time and counts in full: all launches are on one CPU, so their errors do not average out.
constexpr double token_log_sigma(double kernels, const service_uncertainty& w,
                                 bool dequantises_experts = false, bool launch_bound = false) {
  if (launch_bound) return math::sqrt(kernels * kernels + w.token * w.token);
  const double more = dequantises_experts ? w.dequantised_experts : 0.0;
  return service_log_sigma(kernels, math::sqrt(w.token * w.token + more * more));
}
/// log_sigma of a time to first token.
constexpr double first_token_log_sigma(double kernels, const service_uncertainty& w) {
  return service_log_sigma(kernels, w.first_token);
}

}  // namespace perfmodel::inline v0_3
