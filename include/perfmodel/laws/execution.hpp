// Execution policies: the rates of an accelerator that a law may count on. The bound uses the data
// sheet.
#pragma once

#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/operators/demand.hpp>

namespace perfmodel {

namespace detail {
template <class Policy, class T>
concept has_matrix_rate = requires(const Policy& p, const basic_accelerator<T>& a,
                                   const basic_demand<T>& d) {
  { p.matrix_rate(a, d) } -> std::convertible_to<flop_rate<T>>;
};
template <class Policy, class T>
concept has_vector_rate = requires(const Policy& p, const basic_accelerator<T>& a,
                                   const basic_demand<T>& d) {
  { p.vector_rate(a, d) } -> std::convertible_to<flop_rate<T>>;
};
template <class Policy, class T>
concept has_dram_bandwidth = requires(const Policy& p, const basic_accelerator<T>& a,
                                      const basic_demand<T>& d) {
  { p.dram_bandwidth(a, d) } -> std::convertible_to<bandwidth<T>>;
};
template <class Policy, class T>
concept has_launch_time = requires(const Policy& p, const basic_accelerator<T>& a,
                                   const basic_demand<T>& d) {
  { p.launch_time(a, d) } -> std::convertible_to<duration<T>>;
};
}  // namespace detail

/// Execution policy: four functions of an accelerator and a demand that give achievable rates.
/// Satisfied by datasheet, derated and calibrated.
template <class Policy, class T = double>
concept ExecutionPolicy =
    detail::has_matrix_rate<Policy, T> && detail::has_vector_rate<Policy, T> &&
    detail::has_dram_bandwidth<Policy, T> && detail::has_launch_time<Policy, T>;

/// Static assertion with a sentence for an argument that is no execution policy; returns whether it
/// is one.
template <class Policy, class T>
constexpr bool require_execution_policy() {
  constexpr bool none =
      !detail::has_matrix_rate<Policy, T> && !detail::has_vector_rate<Policy, T> &&
      !detail::has_dram_bandwidth<Policy, T> && !detail::has_launch_time<Policy, T>;
  static_assert(
      !none,
      "this is no execution policy, which has matrix_rate, vector_rate, dram_bandwidth and "
      "launch_time: see docs/troubleshooting.md#an-execution-policy");
  static_assert(none || detail::has_matrix_rate<Policy, T>,
                "this policy has no matrix_rate(accelerator, demand) -> flop_rate: see "
                "docs/troubleshooting.md#an-execution-policy");
  static_assert(none || detail::has_vector_rate<Policy, T>,
                "this policy has no vector_rate(accelerator, demand) -> flop_rate: see "
                "docs/troubleshooting.md#an-execution-policy");
  static_assert(none || detail::has_dram_bandwidth<Policy, T>,
                "this policy has no dram_bandwidth(accelerator, demand) -> bandwidth: see "
                "docs/troubleshooting.md#an-execution-policy");
  static_assert(none || detail::has_launch_time<Policy, T>,
                "this policy has no launch_time(accelerator, demand) -> duration: see "
                "docs/troubleshooting.md#an-execution-policy");
  return ExecutionPolicy<Policy, T>;
}

/// Default policy of every law: data-sheet values, no efficiency, no overhead. Its time of an
/// operator or of a step is a lower bound.
struct datasheet {
  template <Scalar T>
  constexpr flop_rate<T> matrix_rate(const basic_accelerator<T>& a,
                                     const basic_demand<T>& d) const {
    return peak(a, d.format);
  }
  template <Scalar T>
  constexpr flop_rate<T> vector_rate(const basic_accelerator<T>& a, const basic_demand<T>&) const {
    return vector_peak(a);
  }
  template <Scalar T>
  constexpr bandwidth<T> dram_bandwidth(const basic_accelerator<T>& a,
                                        const basic_demand<T>&) const {
    return a.dram.bandwidth;
  }
  template <Scalar T>
  constexpr duration<T> launch_time(const basic_accelerator<T>&, const basic_demand<T>&) const {
    return {};
  }
};

/// Constant efficiencies and a constant launch time: the textbook's correction.
/// 0 < efficiency <= 1. `launch` is per kernel.
template <Scalar T = double>
struct basic_derated {
  T compute_efficiency = T(1.0);
  T memory_efficiency = T(1.0);
  duration<T> launch{};

  template <Scalar S>
  constexpr flop_rate<S> matrix_rate(const basic_accelerator<S>& a,
                                     const basic_demand<S>& d) const {
    return share("compute_efficiency", compute_efficiency) * peak(a, d.format);
  }
  template <Scalar S>
  constexpr flop_rate<S> vector_rate(const basic_accelerator<S>& a, const basic_demand<S>&) const {
    return share("compute_efficiency", compute_efficiency) * vector_peak(a);
  }
  template <Scalar S>
  constexpr bandwidth<S> dram_bandwidth(const basic_accelerator<S>& a,
                                        const basic_demand<S>&) const {
    return share("memory_efficiency", memory_efficiency) * a.dram.bandwidth;
  }
  template <Scalar S>
  constexpr duration<S> launch_time(const basic_accelerator<S>&, const basic_demand<S>& d) const {
    return d.launches * detail::not_negative("launch", launch);
  }

  template <class F, class... Policy>
  static constexpr void fields(F&& f, Policy&... p) {
    f(field::share("compute_efficiency"), p.compute_efficiency...);
    f(field::share("memory_efficiency"), p.memory_efficiency...);
    f(field::not_negative("launch"), p.launch...);
  }

 private:
  static constexpr const T& share(const char* field, const T& x) {
    detail::positive(field, x);
    return detail::fraction(field, x);
  }
};
using derated = basic_derated<>;

namespace detail {

/// Time of a step's kernels or links, scaled by a service calibration's policy.step_time() if it
/// has one.
template <Scalar T, class Policy>
constexpr duration<T> time_under_policy(const duration<T>& alone, const Policy& policy) {
  if constexpr (requires { policy.step_time(); }) {
    return policy.step_time() ? *policy.step_time() * alone : alone;
  } else {
    return alone;
  }
}

}  // namespace detail

}  // namespace perfmodel
