// How a plan serves a deployment: at its bound, or predicted under a policy.
#pragma once

#include <concepts>
#include <perfmodel/deployment/engines_on.hpp>
#include <perfmodel/deployment/plan_result.hpp>

namespace perfmodel::detail {

/// Every pass at its bound: one pool, no drafts.
struct bound_of_plan {
  static constexpr bool predicts = false;

  struct no_passes {};
  constexpr no_passes passes(const deployment&) const { return {}; }

  template <Scalar T>
  constexpr basic_serving_estimate<T> operator()(const basic_deployment<T>& d,
                                                 const basic_service_load<T>& l,
                                                 const no_passes& = {}) const {
    return bound_of_service(d, with_hits(d, l), full_link{});
  }
  template <Scalar T>
  constexpr basic_estimate<T> pass(const basic_deployment<T>& d,
                                   const basic_iteration<T>& i) const {
    return step_bound(d, i);
  }
};

/// Every pass predicted, as serving does, without checks.
template <class Policy, class Links>
class prediction_of_plan {
 public:
  static constexpr bool predicts = true;

  constexpr prediction_of_plan(const Policy& policy, const Links& links, engine e)
      : policy_(policy),
        steady_(uninterrupted(policy, e)),
        links_(links),
        terms_(engine_terms<double>(policy)) {}

  /// Of a deployment, for all loads that one thread asks of it.
  constexpr auto passes(const deployment& d) const {
    return predicted_pass<double, Policy, Links>(d, policy_, links_);
  }
  /// Without the terms of its passes, which only points of a frontier show.
  constexpr serving_estimate operator()(
      const deployment& d, const service_load& l,
      const predicted_pass<double, Policy, Links>& passes_of_d) const {
    return flow_of_service(d, with_hits(d, l), terms_, passes_of_d);
  }
  constexpr serving_estimate operator()(const deployment& d, const service_load& l) const {
    return (*this)(d, l, passes(d));
  }
  constexpr serving_estimate whole(const deployment& d, const service_load& l) const {
    return prediction_of_service(d, with_hits(d, l), policy_, links_);
  }
  constexpr serving_estimate operator()(const deployment& d, const service_load& l,
                                        const speculation& drafts) const {
    return serving(d, l, drafts, policy_);
  }
  /// Of pools that decode here, and whose prompts are served as `prompts`.
  constexpr disaggregated_estimate apart(const disaggregated& d, const service_load& l,
                                         const prediction_of_plan& prompts) const {
    const auto prefill = [&](const iteration& i) {
      return prediction_of_pass(d.prefill.deployment, i, prompts.policy_, prompts.links_);
    };
    const auto decode = [&](const iteration& i) {
      return prediction_of_pass(d.decode.deployment, i, steady_, links_);
    };
    const service_load found = with_hits(d.prefill.deployment, l);
    return disaggregated_prediction<double, decltype(prefill), decltype(decode)>(
               d, found, prompts.terms_, prefill, decode)
        .estimate();
  }
  constexpr basic_estimate<double> pass(const deployment& d, const iteration& i) const {
    return prediction_of_pass(d, i, policy_, links_);
  }

 private:
  const Policy& policy_;
  Policy steady_;
  const Links& links_;
  service_terms terms_;
};

/// A policy for all, what a function of the accelerator gives, or of it and its engine.
template <class Policy>
constexpr decltype(auto) policy_on(const Policy& policy, const accelerator& a, engine e) {
  if constexpr (std::invocable<const Policy&, const accelerator&, engine>) {
    return policy(a, e);
  } else if constexpr (std::invocable<const Policy&, const accelerator&>) {
    return policy(a);
  } else {
    return (policy);
  }
}

/// The engines of the request; where it names none, all that the accelerator has, of a policy that is
/// a function of the engine too. `none` where there is no other.
template <class Policy>
constexpr engine_list engines_tried(const plan_request& q, const accelerator& a) {
  engine_list all;
  for (const engine e : q.engines) {
    if (!all.full()) all.push_back(e);
  }
  if (all.empty() && std::invocable<const Policy&, const accelerator&, engine>) all = engines_on(a);
  if (all.empty()) all.push_back(engine::none);
  return all;
}

}  // namespace perfmodel::detail
