// Search over deployments: what can serve a load, and what of it is worth having.
#pragma once

#include <algorithm>
#include <concepts>
#include <optional>
#include <perfmodel/engine/formats.hpp>
#include <perfmodel/plan/front.hpp>
#include <perfmodel/plan/precisions.hpp>
#include <perfmodel/plan/result.hpp>
#include <perfmodel/plan/search.hpp>
#include <utility>
#include <vector>

// How a plan serves a deployment: at its bound, or predicted under a policy.

namespace perfmodel::detail {

/// Every pass at its bound: one pool, no drafts.
struct bound_of_plan {
  static constexpr bool predicts = false;

  struct no_steps {};
  constexpr no_steps passes(const deployment&) const { return {}; }

  template <Scalar T>
  constexpr basic_serving_estimate<T> operator()(const basic_deployment<T>& d,
                                                 const basic_service_load<T>& l,
                                                 const no_steps& = {}) const {
    return bound_of_service(d, fill_prefix_hit(d, l), full_link{});
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
        steady_(decode_pool_policy(policy, e)),
        links_(links),
        terms_(engine_terms<double>(policy)) {}

  /// Of a deployment, for all loads that one thread asks of it.
  constexpr auto passes(const deployment& d) const {
    return predicted_step<double, Policy, Links>(d, policy_, links_);
  }
  /// Without the terms of its passes, which only points of a frontier show.
  constexpr serving_estimate operator()(const deployment& d, const service_load& l,
                                        predicted_step<double, Policy, Links>& steps_of_d) const {
    return flow_of_service(d, fill_prefix_hit(d, l), terms_, steps_of_d);
  }
  constexpr serving_estimate operator()(const deployment& d, const service_load& l) const {
    auto steps_of_d = passes(d);
    return (*this)(d, l, steps_of_d);
  }
  constexpr serving_estimate whole(const deployment& d, const service_load& l) const {
    return prediction_of_service(d, fill_prefix_hit(d, l), policy_, links_);
  }
  constexpr serving_estimate operator()(const deployment& d, const service_load& l,
                                        const speculation& drafts) const {
    return serving(d, l, drafts, policy_);
  }
  /// Of pools that decode here, and whose prompts are served as `prompts`.
  constexpr disaggregated_estimate apart(const disaggregated& d, const service_load& l,
                                         const prediction_of_plan& prompts) const {
    const auto prefill = [&](const iteration& i) {
      return prediction_of_step(d.prefill.deployment, i, prompts.policy_, prompts.links_);
    };
    const auto decode = [&](const iteration& i) {
      return prediction_of_step(d.decode.deployment, i, steady_, links_);
    };
    const service_load found = fill_prefix_hit(d.prefill.deployment, l);
    return disaggregated_prediction<double, decltype(prefill), decltype(decode)>(
               d, found, prompts.terms_, prefill, decode)
        .estimate();
  }
  constexpr basic_estimate<double> pass(const deployment& d, const iteration& i) const {
    return prediction_of_step(d, i, policy_, links_);
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

// The number of GPUs as a result: the limit of a plan grows until more GPUs stop helping.

namespace perfmodel {

/// Limits of a search for the number of GPUs.
struct gpu_count_limits {
  int first = 1;           ///< limit tried first, doubled from there
  int ceiling = 1024;      ///< largest limit tried
  bool until_met = false;  ///< stop at the first limit that meets the targets
};

/// A plan and its number of GPUs, searched. `result.fewest` is exact without pools: a plan with a
/// limit below it has no best.
struct counted_plan {
  plan_request request{};     ///< `gpus` is the limit of `result`
  plan_result result{};       ///< plan of the limit with the cheapest best, the largest of equals
  std::vector<int> limits{};  ///< limits tried, ascending
};

namespace detail {

/// Cost of a plan's best point; infinite without one.
inline double cost_of_best(const plan_result& r) {
  return r.best ? expense(r.frontier[*r.best], r.all_priced) : infinity;
}

/// Whether the larger limit lowers the best cost, or the smallest miss without one, by over 0.1 %.
inline bool more_gpus_help(const plan_result& fewer, const plan_result& more) {
  constexpr double same = 0.999;
  if (more.best) return cost_of_best(more) < same * cost_of_best(fewer);
  if (fewer.best) return false;                      // plans with pools may lose theirs
  if (!more.nearest || !fewer.nearest) return true;  // nothing served yet
  return more.miss < same * fewer.miss;
}

/// Bisection for the fewest GPUs between a limit that misses the targets and one that meets them: a
/// plan without pools tries all that one of fewer GPUs does. With pools fewer may also be cheaper.
template <class Plan>
void find_fewest(counted_plan& c, std::optional<plan_point>& fewest, const Plan& plan_of) {
  if (!fewest) return;
  int misses = 0;
  for (const int limit : c.limits) {
    if (limit < fewest->gpus) misses = limit;
  }
  plan_request q = c.request;
  for (q.gpus = fewest->gpus - 1; q.gpus > misses; q.gpus = (misses + fewest->gpus) / 2) {
    plan_result r = plan_of(q);
    if (!r.fewest) {
      misses = q.gpus;
      continue;
    }
    fewest = r.fewest;
    if (cost_of_best(r) < cost_of_best(c.result)) {
      c.result = std::move(r);
      c.request.gpus = q.gpus;
    }
  }
}

}  // namespace detail

/// The plan of a request without a number of GPUs: plan_of(request) for limits of first, 2 first,
/// 4 first, ... up to the ceiling. It stops at a limit that meets the targets if its double has no
/// cheaper best, and without a best after two doublings that leave the smallest miss as it is.
/// Leaves out: optima behind a doubling that does not help. Errors: those of plan_of; bad limits.
/// Test: each GPU count on its own.
template <class Plan>
counted_plan search_gpu_count(plan_request q, const gpu_count_limits& limits, const Plan& plan_of) {
  const double ceiling = limits.ceiling;
  detail::within("ceiling", ceiling, 1.0, 65536.0, "1 to 65536");
  detail::within("first", static_cast<double>(limits.first), 1.0, ceiling, "1 to the ceiling");
  counted_plan c{.request = q};
  std::optional<plan_point> fewest;
  int idle = 0;  // doublings in a row that did not help
  for (q.gpus = limits.first;; q.gpus = (std::min)(2 * q.gpus, limits.ceiling)) {
    plan_result r = plan_of(q);
    if (r.fewest && (!fewest || r.fewest->gpus < fewest->gpus)) fewest = r.fewest;
    idle = c.limits.empty() || detail::more_gpus_help(c.result, r) ? 0 : idle + 1;
    c.limits.push_back(q.gpus);
    if (!(detail::cost_of_best(r) > detail::cost_of_best(c.result))) {
      c.result = std::move(r);
      c.request.gpus = q.gpus;
    }
    const bool met = c.result.best.has_value();
    if (q.gpus == limits.ceiling || idle == 2 || (met && (limits.until_met || idle == 1))) break;
  }
  if (!limits.until_met) detail::find_fewest(c, fewest, plan_of);
  c.result.fewest = std::move(fewest);
  return c;
}

namespace detail {

struct no_progress {
  void operator()(long) const {}
};

/// Pools of two kinds of chip, one after the other; with(accelerator, engine, use) calls use(how it serves).
template <class Policy, class Progress, class With>
void search_mixed_pools(const plan_request& q, plan_search<Progress>& search, const With& with) {
  for (const accelerator& prompts : q.pools->prefill_on) {
    bool any = false;
    for (const engine e : engines_tried<Policy>(q, prompts)) {
      const auto shares = [&](const accelerator& a) {
        const engine_list all = engines_tried<Policy>(q, a);
        return std::find(all.begin(), all.end(), e) != all.end();
      };
      if (std::none_of(q.accelerators.begin(), q.accelerators.end(), shares)) continue;
      any = true;
      with(prompts, e, [&](const auto& prefill) {
        const auto prefilling = search.prefilling_on(prompts, e, prefill);
        for (const accelerator& a : q.accelerators) {
          if (a.name == prompts.name || !shares(a)) continue;
          with(a, e, [&](const auto& decode) {
            search.across(pool_kinds{prompts, prefill, a, decode}, e, prefilling);
          });
        }
      });
    }
    if (!any) search.reject(prompts, "it shares no engine with an accelerator that decodes");
  }
}

/// A plan by what `with` says of each accelerator and engine.
template <class Policy, class Progress, class With>
plan_result plan_of_services(const plan_request& q, Progress& progress, const With& with) {
  check_request(q);
  plan_search<Progress> search(q, progress);
  for (const accelerator& a : q.accelerators) {
    for (const engine e : engines_tried<Policy>(q, a)) {
      with(a, e, [&](const auto& serve) { search.on(a, e, serve); });
    }
  }
  if (q.pools) search_mixed_pools<Policy>(q, search, with);
  return search.ranked();
}

}  // namespace detail

/// Every deployment of the model on up to `gpus` devices of each accelerator, at its bound: precisions,
/// tensor and pipeline degrees in powers of two (and the whole fabric), experts cut by tensor or spread,
/// with data-parallel attention too, replicas (every number up to 64), and batch limits in powers of two
/// up to the load's own. `progress(done)` is called now and then. A format that the device cannot compute
/// in, a layout that cannot be, weights that do not fit, and requests that wait too long are rejections
/// with a reason, never errors.
/// Errors: a request that makes no sense; percentiles, drafts or pools, which only predictions have.
/// Tests: no point of the frontier dominates another; every feasible point is dominated by or on it;
/// more devices never make the best dearer at equal targets; the same with any number of threads.
template <class Progress = detail::no_progress>
plan_result plan_bound(const plan_request& q, Progress progress = {}) {
  detail::check_request(q);
  detail::check_bound_request(q);
  detail::plan_search<Progress> search(q, progress);
  for (const accelerator& a : q.accelerators) {
    for (const engine e : detail::engines_tried<detail::bound_of_plan>(q, a)) {
      search.on(a, e, detail::bound_of_plan{});
    }
  }
  return search.ranked();
}

/// The same with every deployment predicted, as serving does, and with more to try: engines, token
/// budgets of a pass, drafts, and pools, of two kinds of chip too where the request names some for prompts:
/// with the same engine and formats on both, at the sum of their prices. `policy` is one for all, a function
/// from an accelerator to its policy, or from an accelerator and an engine, such as calibrated_for: with it
/// every engine of the accelerator is tried, where the request names none. `links` as `policy`. `threads` of
/// the request evaluate deployments, and ask the policies at the same time; the answer is that of one, and
/// `progress` is called by the caller's.
/// Tests: each point is what serving answers, of pools and with drafts too; the engine of the best is
/// that of the best of the plans by engine; a longer list of what may be tried never costs more.
template <class Policy, class Links, class Progress>
plan_result plan(const plan_request& q, const Policy& policy, const Links& links,
                 Progress progress) {
  return detail::plan_of_services<Policy>(q, progress,
                                          [&](const accelerator& a, engine e, const auto& use) {
                                            const auto& kernels = detail::policy_on(policy, a, e);
                                            const auto& wires = detail::policy_on(links, a, e);
                                            use(detail::prediction_of_plan(kernels, wires, e));
                                          });
}
template <class Policy, class Progress = detail::no_progress>
plan_result plan(const plan_request& q, const Policy& policy, Progress progress = {}) {
  return detail::plan_of_services<Policy>(
      q, progress, [&](const accelerator& a, engine e, const auto& use) {
        const auto& calibration = detail::policy_on(policy, a, e);
        use(detail::prediction_of_plan(calibration, detail::links_of<double>(calibration), e));
      });
}
/// Say which: plan_bound(request), or plan(request, policy).
plan_result plan(const plan_request& q) = delete;

}  // namespace perfmodel
