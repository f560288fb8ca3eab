// How wide the intervals around a service's times are, beside what its kernels are uncertain by.
#pragma once

#include <perfmodel/scalar/math.hpp>

namespace perfmodel {

/// log_sigma of what is around the kernels of a service: the engine, its scheduler and what a run does not say of
/// itself. `of_widened_experts`: more of a time per token, where experts with weights narrower than their
/// activations run by kernels that nobody measured. `pool_`: of disaggregated services.
/// Those here are of engines that were not measured.
struct service_widths {
  double token = 0.24;
  double first_token = 0.90;
  double of_widened_experts = 0.0;
  double pool_token = 0.24;
  double pool_first_token = 1.25;
};

/// The same of a service whose prompts and answers are computed by different devices.
constexpr service_widths in_pools(service_widths w) {
  w.token = w.pool_token;
  w.first_token = w.pool_first_token;
  return w;
}

/// Of what kernels are stated to be off by, shape by shape, the share that is left in a service's times, for a pass
/// has many shapes. Services say little of it: with one width for each engine, the share inside of each of 14 models
/// on their accelerators is off 81 % by 14.8, 14.2, 14.5, 16.3 and 16.2 points (root mean square) with 0, 0.3, 0.5,
/// 0.7 and all of it.
inline constexpr double kernel_width_share = 0.4;

/// Of a service's times, sqrt((kernel_width_share kernels)^2 + around^2).
/// Test: of 0.75 and 0.4 it is 0.5.
constexpr double service_log_sigma(double kernels, double around) {
  const double of_kernels = kernel_width_share * kernels;
  return math::sqrt(of_kernels * of_kernels + around * around);
}
constexpr double token_log_sigma(double kernels, const service_widths& w,
                                 bool widens_experts = false) {
  const double more = widens_experts ? w.of_widened_experts : 0.0;
  return service_log_sigma(kernels, math::sqrt(w.token * w.token + more * more));
}
constexpr double first_token_log_sigma(double kernels, const service_widths& w) {
  return service_log_sigma(kernels, w.first_token);
}

}  // namespace perfmodel
