// Overload of an open loop: whether requests arrive faster than the service completes them, and the
// largest rate that it sustains.
#pragma once

#include <cmath>
#include <perfmodel/service/largest_rate.hpp>
#include <string_view>

namespace perfmodel {

/// Whether an estimate is infeasible because of its arrival rate. The queue then grows without
/// bound, and the latencies of the estimate are of no steady state.
template <Scalar T>
constexpr bool is_overloaded(const basic_serving_estimate<T>& s) {
  return !s.feasible && std::string_view(s.feasible.unit) == "req/s";
}

/// The largest rate of `load`'s requests that a service sustains, rate* = sup{rate: serve(load at
/// rate) is feasible}; 0 where it fits no request. By largest_rate without targets, to 1e-6.
/// Leaves out: preemption, which open loops do not have.
/// Test: feasible at 0.999 of it and overloaded at 1.001, in one pool, in two, and in bounds.
template <Scalar T, class Serve>
constexpr request_rate<T> sustainable_rate(const basic_service_load<T>& load, const Serve& serve) {
  return largest_rate(load, basic_service_targets<T>{}, serve);
}

/// Replicas that sustain a rate together: ceil(offered / sustainable). Errors: a rate not above 0.
/// Test: by hand.
inline double replicas_to_sustain(const request_rate<>& offered,
                                  const request_rate<>& sustainable) {
  detail::positive("offered", offered.value());
  detail::positive("sustainable", sustainable.value());
  return std::ceil(offered / sustainable);
}

}  // namespace perfmodel
