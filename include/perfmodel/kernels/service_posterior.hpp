// What runs of one's own service told of its engine, and what stays uncertain.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel {

/// What may differ between a service and the shipped profile of its engine.
enum class service_parameter {
  step_time,          ///< a factor
  step_cpu_time,      ///< seconds more
  sequence_cpu_time,  ///< seconds more
  prompt_time,        ///< a factor
  request_cpu_time,   ///< seconds more
  request_iterations  ///< iterations more
};
inline constexpr std::size_t service_parameters = 6;

constexpr const char* name_of(service_parameter p) {
  constexpr const char* names[] = {"pass_time",   "step_host",    "sequence_host",
                                   "prompt_time", "request_host", "request_iterations"};
  return detail::entry_of(names, p, "service_parameter");
}
/// Whether it multiplies, so that its logarithm has the normal error; the others are added.
constexpr bool is_factor(service_parameter p) {
  return p == service_parameter::step_time || p == service_parameter::prompt_time;
}

/// One number of each parameter, or of each pair of them.
using service_numbers = std::array<double, service_parameters>;
using service_matrix = std::array<service_numbers, service_parameters>;

/// How services differ from the shipped profile of their engine: the standard deviation of each
/// parameter (of its logarithm, where it is a factor), and those of the logarithms of a run's times
/// that are left when all parameters are its service's own. Some services are told better than others: what
/// is known of a service's own noise before its runs is worth `noise_runs` of them (the degrees of freedom of
/// a scaled inverse chi-squared); without, the noise is the same of all.
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

/// The number of a profile.
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

/// A profile moved by so much: factors by exp(x), the others by x, none below 0.
/// Test: by nothing it is the same, but for a step_time of 1.
constexpr engine_profile moved(engine_profile e, const service_numbers& by) {
  for (std::size_t i = 0; i < service_parameters; ++i) {
    const auto p = static_cast<service_parameter>(i);
    const double shipped = value_of(e, p);
    set_value(e, p, is_factor(p) ? shipped * math::exp(by[i]) : scalar_max(shipped + by[i], 0.0));
  }
  return e;
}

/// An engine as one service runs it: its profile, by how much that moved from the shipped one, with
/// which covariance, and the widths of the intervals around its predictions (log_sigma, as of a
/// fitted_profile).
struct service_posterior {
  engine_profile engine{};
  service_numbers shift{};
  service_numbers standard_error{};
  service_matrix covariance{};
  double token_noise = 0.0;  ///< of the service's own runs
  double first_token_noise = 0.0;
  double token_log_sigma = 0.0;
  double first_token_log_sigma = 0.0;
};

// How wide the intervals around a service's times are, beside what its kernels are uncertain by.

/// log_sigma of what is around the kernels of a service: the engine, its scheduler and what a run does not say of
/// itself. `of_dequantised_experts`: more of a time per token, where experts with weights narrower than their
/// activations run by kernels that nobody measured. `pool_`: of disaggregated services.
/// Those here are of engines that were not measured.
struct service_uncertainty {
  double token = 0.24;
  double first_token = 0.90;
  double of_dequantised_experts = 0.0;
  double pool_token = 0.24;
  double pool_first_token = 1.25;
};

/// The same of a service whose prompts and answers are computed by different devices.
constexpr service_uncertainty in_pools(service_uncertainty w) {
  w.token = w.pool_token;
  w.first_token = w.pool_first_token;
  return w;
}

/// Of what kernels are stated to be off by, shape by shape, the share that is left in a service's times, for a pass
/// has many shapes. Services say little of it: with one width for each engine, the share inside of each of 14 models
/// on their accelerators is off 81 % by 14.8, 14.2, 14.5, 16.3 and 16.2 points (root mean square) with 0, 0.3, 0.5,
/// 0.7 and all of it.
inline constexpr double kernel_sigma_share = 0.4;

/// Of a service's times, sqrt((kernel_sigma_share kernels)^2 + around^2).
/// Test: of 0.75 and 0.4 it is 0.5.
constexpr double service_log_sigma(double kernels, double around) {
  const double of_kernels = kernel_sigma_share * kernels;
  return math::sqrt(of_kernels * of_kernels + around * around);
}
constexpr double token_log_sigma(double kernels, const service_uncertainty& w,
                                 bool dequantises_experts = false) {
  const double more = dequantises_experts ? w.of_dequantised_experts : 0.0;
  return service_log_sigma(kernels, math::sqrt(w.token * w.token + more * more));
}
constexpr double first_token_log_sigma(double kernels, const service_uncertainty& w) {
  return service_log_sigma(kernels, w.first_token);
}

}  // namespace perfmodel
