// A deployment checked once, for the many engine steps of a scheduler or a simulator.
#pragma once

// This header comes first: a wrong policy then gives a short compile error.
#include <perfmodel/laws/execution.hpp>

#include <array>
#include <perfmodel/step/recorded_steps.hpp>
#include <perfmodel/step/step.hpp>
#include <span>
#include <type_traits>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Estimates of steps of any deployment under a policy, and their times alone. Steps of `target`
/// are memoised: use one object per thread.
template <Scalar T, class Policy>
class policy_steps {
 public:
  constexpr policy_steps(const basic_deployment<T>& target, const Policy& policy)
      : target_(target),
        policy_(policy),
        links_(links_of<T>(policy)),
        steps_(target, policy, links_) {}

  policy_steps(const policy_steps&) = delete;
  policy_steps& operator=(const policy_steps&) = delete;

  constexpr basic_estimate<T> operator()(const basic_deployment<T>& d,
                                         const basic_iteration<T>& i) const {
    return &d == &target_ ? steps_(i) : prediction_of_step(d, i, policy_, links_);
  }
  constexpr duration<T> time(const basic_deployment<T>& d, const basic_iteration<T>& i) const {
    return &d == &target_ ? steps_.time(i) : time_of_step(d, i, policy_, links_);
  }

 private:
  using links = decltype(links_of<T>(std::declval<const Policy&>()));  // a reference, or a value

  const basic_deployment<T>& target_;
  const Policy& policy_;
  links links_;
  mutable predicted_step<T, Policy, std::remove_cvref_t<links>> steps_;
};

/// Time of a step: estimate_step.time(deployment, iteration), else that of its estimate.
template <Scalar T, class EstimateStep>
constexpr duration<T> time_by(const EstimateStep& estimate_step, const basic_deployment<T>& d,
                              const basic_iteration<T>& i) {
  if constexpr (requires { estimate_step.time(d, i); }) {
    return estimate_step.time(d, i);
  } else {
    return estimate_step(d, i).time;
  }
}

}  // namespace detail

/// Engine steps of one deployment under one policy. It owns both, checks them once, and records
/// the law of kinds of steps that are asked often: a time is then 6 times as fast as that of
/// step(), and 20 times in a block. Use one object per thread.
template <Scalar T, class Policy>
class prepared_deployment {
 public:
  /// Errors: those of step() that concern the deployment and the policy.
  constexpr prepared_deployment(const basic_deployment<T>& d, const Policy& policy)
      : deployment_(checked(d, policy)),
        policy_(policy),
        links_(detail::links_of<T>(policy)),
        predict_(deployment_, policy_, links_) {}
  prepared_deployment(const prepared_deployment&) = delete;
  prepared_deployment& operator=(const prepared_deployment&) = delete;

  constexpr const basic_deployment<T>& deployment() const { return deployment_; }
  constexpr const Policy& policy() const { return policy_; }
  constexpr const basic_memory_budget<T>& memory_budget() const { return budget_; }
  /// Whether the deployment is possible on its group of devices, whatever it has to store.
  constexpr const feasibility& group_fits() const { return group_; }

  /// step(deployment(), i, policy()).
  /// Errors: an empty iteration.
  constexpr basic_estimate<T> step(const basic_iteration<T>& i) {
    basic_estimate<T> e = step_in_memory(i);
    e.feasible = detail::step_fits(deployment_, i);
    return e;
  }
  /// step(i) without the check of the memory.
  /// Errors: an empty iteration.
  constexpr basic_estimate<T> step_in_memory(const basic_iteration<T>& i) {
    if constexpr (records_steps) {
      using law = detail::recorded_prediction<T, Policy>;
      typename law::results parts;
      if (step_times_.at(i, parts)) return prediction_of(law::parts(parts));
    }
    detail::check_iteration(i);
    return predict_(i);
  }
  /// Time of step(i), without its breakdown and without the check of the memory.
  /// Errors: an empty iteration.
  constexpr duration<T> step_time(const basic_iteration<T>& i) {
    if constexpr (records_steps) {
      std::array<double, 1> time;
      if (step_times_.at(i, time)) return duration<T>::from_value(time[0]);
    }
    detail::check_iteration(i);
    return predict_.time(i);
  }
  /// step_time() of each step. Neighbours of one kind (of a batch between two powers of two) are
  /// evaluated side by side, with vector instructions.
  /// Errors: those of step_time; other numbers of times than of steps.
  constexpr void step_times(std::span<const basic_iteration<T>> steps,
                            std::span<duration<T>> times) {
    if (steps.size() != times.size())
      detail::fail(error_code::inconsistent, "step_times: other numbers of times than of steps");
    for (std::size_t i = 0; i < steps.size();) {
      if constexpr (records_steps) {
        if (step_times_.holds(steps[i])) {
          i += step_times_.block_at(steps.subspan(i), [&](std::size_t m, double t, bool known) {
            times[i + m] = known ? duration<T>::from_value(t) : predict_.time(steps[i + m]);
          });
          continue;
        }
      }
      times[i] = step_time(steps[i]);
      ++i;
    }
  }
  /// step_bound(deployment(), i).
  /// Errors: an empty iteration.
  constexpr basic_estimate<T> bound(const basic_iteration<T>& i) {
    if constexpr (records_bounds) {
      std::array<double, 7> b;
      if (bounds_.at(i, b)) {
        const auto part = [&b](std::size_t n) { return duration<T>::from_value(b[n]); };
        basic_estimate<T> e =
            estimate_of({part(0), part(1), part(2), part(3), part(4), part(5), part(2)});
        e.feasible = group_ ? detail::memory_fits(budget_, bytes<T>::from_value(b[6])) : group_;
        return e;
      }
    }
    detail::check_iteration(i);
    basic_estimate<T> e = detail::bound_of_step(deployment_, i, full_link{});
    e.feasible = detail::step_fits(deployment_, i);
    return e;
  }
  /// Time of bound(i), without its breakdown and without the check of the memory.
  /// Errors: an empty iteration.
  constexpr duration<T> bound_time(const basic_iteration<T>& i) {
    if constexpr (records_bounds) {
      std::array<double, 1> time;
      if (bound_times_.at(i, time)) return duration<T>::from_value(time[0]);
    }
    detail::check_iteration(i);
    return detail::bound_of_step(deployment_, i, full_link{}).time;
  }

 private:
  using links_type = std::remove_cvref_t<decltype(detail::links_of<T>(std::declval<Policy&>()))>;
  static constexpr bool records_bounds = std::same_as<T, double>;
  static constexpr bool records_steps =
      records_bounds && !std::is_void_v<typename detail::recorded_policy<T, Policy>::type>;
  template <bool Has, class Law>
  using records =
      std::conditional_t<Has, detail::recorded_steps<double, Law>, detail::no_records<Law>>;

  static constexpr const basic_deployment<T>& checked(const basic_deployment<T>& d,
                                                      const Policy& policy) {
    detail::check_deployment(d);
    detail::require_target_of(policy, d.device, d.serving_engine);
    return d;
  }

  static constexpr basic_estimate<T> estimate_of(const detail::bound_parts<T>& b) {
    basic_estimate<T> e;
    e.terms.add(limiter::memory, "weights", b.weights);
    e.terms.add(limiter::memory, "kv_cache", b.cache);
    e.terms.add(limiter::compute, "compute", b.compute);
    if (upper(b.vector.value()) > 0.0) e.terms.add(limiter::vector_compute, "vector", b.vector);
    if (upper(b.host_link.value()) > 0.0) e.terms.add(limiter::link, "host_link", b.host_link);
    detail::add_bound(e, b);
    return e;
  }

  static constexpr basic_estimate<T> prediction_of(const detail::predicted_parts<T>& x) {
    basic_estimate<T> e;
    const auto add = [&e](limiter kind, const char* name, const duration<T>& t) {
      if (upper(t.value()) > 0.0) e.terms.add(kind, name, t);
    };
    x.visit_kernels(add);
    add(limiter::link, "host_link", x.host_link);
    add(limiter::launch, "launches", x.launches);
    add(limiter::launch, "host", x.host);
    detail::add_communication(e, x);
    return e;
  }

  basic_deployment<T> deployment_;
  Policy policy_;
  links_type links_;
  detail::predicted_step<T, Policy, links_type> predict_;
  feasibility group_ = detail::group_fits(deployment_);
  basic_memory_budget<T> budget_ = detail::budget_of(deployment_);
  records<records_bounds, detail::recorded_bound<T, true>> bounds_{
      detail::recorded_bound<T, true>{deployment_}};
  records<records_bounds, detail::recorded_bound<T, false>> bound_times_{
      detail::recorded_bound<T, false>{deployment_}};
  records<records_steps, detail::recorded_prediction<T, Policy>> step_times_{
      detail::recorded_prediction<T, Policy>{deployment_, policy_}};
};

/// The deployment, checked once, for many steps: `auto p = prepare(d, policy); p.step_time(i);`.
/// Errors: those of step() that concern the deployment and the policy.
/// `serving(p, load)` predicts a service from these steps.
/// Tests: equal to step() and step_bound() at random steps of every kind of model and layout.
template <Scalar T, class Policy>
  requires(require_execution_policy<Policy, T>())
constexpr prepared_deployment<T, Policy> prepare(const basic_deployment<T>& d,
                                                 const Policy& policy) {
  return prepared_deployment<T, Policy>(d, policy);
}

}  // namespace perfmodel::inline v0_3
