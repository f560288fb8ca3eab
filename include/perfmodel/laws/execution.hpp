// Execution policies: the rates of an accelerator that a law may count on. The bound uses the data
// sheet.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/operators/demand.hpp>

namespace perfmodel::inline v0_3 {

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

// The one list of hooks: the enumerators, and the lookups that find which of them a policy has.
#define PERFMODEL_POLICY_HOOKS(hook)                                                            \
  hook(estimate) hook(time) hook(mixed_attention_time) hook(elementwise_kernels) hook(cpu_time) \
      hook(rank_wait) hook(step_time_factor) hook(engine) hook(require_target)

// GCC warns of enumerators of a scoped enumeration that have the name of a type.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
#define PERFMODEL_HOOK_NAME(name) name,
/// Optional members of an execution policy, in addition to its four rates:
/// - estimate(device, operator) -> basic_estimate, for the roofline;
/// - time(device, operator) -> duration, for the estimate;
/// - mixed_attention_time: time of prefills and decodes in one attention kernel;
/// - elementwise_kernels of a step, with elementwise_kernel_time;
/// - cpu_time(sequences) -> duration of an engine step;
/// - rank_wait() -> duration of a collective;
/// - step_time_factor() -> optional factor of kernel and link times;
/// - engine: profile of a service, with request_cpu_time, run_start and others;
/// - require_target(device, engine) refuses another deployment.
enum class policy_hook { PERFMODEL_POLICY_HOOKS(PERFMODEL_HOOK_NAME) };
#undef PERFMODEL_HOOK_NAME
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/// Hooks that a policy states: `using hooks = policy_hooks<my_policy, policy_hook::estimate>;`.
/// A misspelt hook, a hook that is not stated, and hooks inherited without a statement do not
/// compile. Tests: tests/compile_fail/policy_with_a_misspelt_hook.cpp and its neighbours.
template <class Policy, policy_hook... Stated>
struct policy_hooks {
  using policy = Policy;
  static constexpr bool states(policy_hook h) { return ((h == Stated) || ...); }
};

namespace detail {

template <class Policy>
concept states_hooks = requires {
  requires std::same_as<typename Policy::hooks::policy, Policy>;
};

#define PERFMODEL_HOOK_MEMBER(name) int name;
/// Names of the hooks: a lookup through a policy and these is ambiguous where the policy has one.
struct hook_names {
  PERFMODEL_POLICY_HOOKS(PERFMODEL_HOOK_MEMBER)
};
#undef PERFMODEL_HOOK_MEMBER
template <class Policy>
struct hook_probe : Policy, hook_names {};

// clang-format off
#define PERFMODEL_HAS_HOOK(name) !requires { &Probe::name; },
// clang-format on
/// Whether a policy has each hook, in the order of `policy_hook`.
template <class Policy, class Probe = hook_probe<Policy>>
inline constexpr std::array has_hook{PERFMODEL_POLICY_HOOKS(PERFMODEL_HAS_HOOK)};
#undef PERFMODEL_HAS_HOOK
#undef PERFMODEL_POLICY_HOOKS

/// Whether a policy has each hook that it states.
template <class Policy>
constexpr bool has_stated_hooks() {
  for (std::size_t h = 0; h < has_hook<Policy>.size(); ++h)
    if (Policy::hooks::states(static_cast<policy_hook>(h)) && !has_hook<Policy>[h]) return false;
  return true;
}
/// Whether a policy states each hook that it has.
template <class Policy>
constexpr bool states_all_hooks() {
  for (std::size_t h = 0; h < has_hook<Policy>.size(); ++h)
    if (has_hook<Policy>[h] && !Policy::hooks::states(static_cast<policy_hook>(h))) return false;
  return true;
}

template <class Policy>
constexpr bool has_checked_hooks() {
  if constexpr (states_hooks<Policy>) {
    return has_stated_hooks<Policy>() && states_all_hooks<Policy>();
  } else {
    return false;
  }
}

/// Refuses a deployment that the policy was not made for; policies without a target accept all.
template <class Policy, Scalar T, class Engine>
constexpr void require_target_of(const Policy& policy, const basic_accelerator<T>& device,
                                 Engine serving_engine) {
  if constexpr (requires { policy.require_target(device, serving_engine); }) {
    policy.require_target(device, serving_engine);
  }
}

}  // namespace detail

/// Execution policy: four functions of an accelerator and a demand that give achievable rates, and
/// the statement of its hooks. Satisfied by datasheet, derated and calibrated.
template <class Policy, class T = double>
concept ExecutionPolicy = detail::has_matrix_rate<Policy, T> &&
    detail::has_vector_rate<Policy, T> && detail::has_dram_bandwidth<Policy, T> &&
    detail::has_launch_time<Policy, T> && detail::has_checked_hooks<Policy>();

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
  static_assert(none || detail::states_hooks<Policy>,
                "this policy does not state its own hooks: add using hooks = policy_hooks<policy, "
                "...>: see docs/troubleshooting.md#an-execution-policy");
  if constexpr (!none && detail::states_hooks<Policy>) {
    static_assert(detail::has_stated_hooks<Policy>(),
                  "this policy states a hook that it does not have (misspelt?): see "
                  "docs/troubleshooting.md#an-execution-policy");
    static_assert(detail::states_all_hooks<Policy>(),
                  "this policy has a hook that its policy_hooks do not state: see "
                  "docs/troubleshooting.md#an-execution-policy");
  }
  return ExecutionPolicy<Policy, T>;
}

/// Default policy of every law: data-sheet values, no efficiency, no overhead. Its time of an
/// operator or of a step is a lower bound.
struct datasheet {
  using hooks = policy_hooks<datasheet>;

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
  using hooks = policy_hooks<basic_derated>;

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

/// Time of a step's kernels or links, multiplied by policy.step_time_factor() if the policy has
/// that function and it returns a value.
template <Scalar T, class Policy>
constexpr duration<T> time_under_policy(const duration<T>& alone, const Policy& policy) {
  if constexpr (requires { policy.step_time_factor(); }) {
    return policy.step_time_factor() ? *policy.step_time_factor() * alone : alone;
  } else {
    return alone;
  }
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3
