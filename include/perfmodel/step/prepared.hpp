// A deployment checked once, for the many engine steps of a scheduler or a simulator.
#pragma once

// This header comes first: a wrong policy then gives a short compile error.
#include <perfmodel/laws/execution.hpp>

#include <perfmodel/step/step.hpp>
#include <type_traits>
#include <utility>

namespace perfmodel::inline v0_3 {

/// Engine steps of one deployment under one policy. It owns both, checks them once, and keeps the
/// times of operators and collectives that a later step needs again: 2 to 3 times as fast as
/// step(). Use one object per thread.
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

  /// step(deployment(), i, policy()).
  /// Errors: an empty iteration.
  constexpr basic_estimate<T> step(const basic_iteration<T>& i) {
    detail::check_iteration(i);
    basic_estimate<T> e = predict_(i);
    e.feasible = detail::step_fits(deployment_, i);
    return e;
  }
  /// Time of step(i), without its breakdown and without the check of the memory.
  /// Errors: an empty iteration.
  constexpr duration<T> step_time(const basic_iteration<T>& i) {
    detail::check_iteration(i);
    return predict_.time(i);
  }
  /// step_bound(deployment(), i).
  /// Errors: an empty iteration.
  constexpr basic_estimate<T> bound(const basic_iteration<T>& i) const {
    detail::check_iteration(i);
    basic_estimate<T> e = detail::bound_of_step(deployment_, i, full_link{});
    e.feasible = detail::step_fits(deployment_, i);
    return e;
  }

 private:
  using links_type = std::remove_cvref_t<decltype(detail::links_of<T>(std::declval<Policy&>()))>;

  static constexpr const basic_deployment<T>& checked(const basic_deployment<T>& d,
                                                      const Policy& policy) {
    detail::check_deployment(d);
    detail::require_target_of(policy, d.device, d.serving_engine);
    return d;
  }

  basic_deployment<T> deployment_;
  Policy policy_;
  links_type links_;
  detail::predicted_step<T, Policy, links_type> predict_;
};

/// The deployment, checked once, for many steps: `auto p = prepare(d, policy); p.step_time(i);`.
/// Errors: those of step() that concern the deployment and the policy.
/// Tests: equal to step() and step_bound() at random steps of every kind of model and layout.
template <Scalar T, class Policy>
  requires(require_execution_policy<Policy, T>())
constexpr prepared_deployment<T, Policy> prepare(const basic_deployment<T>& d,
                                                 const Policy& policy) {
  return prepared_deployment<T, Policy>(d, policy);
}

}  // namespace perfmodel::inline v0_3
