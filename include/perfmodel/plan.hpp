// Search over deployments: what can serve a load, and what of it is worth having.
#pragma once

#include <concepts>
#include <perfmodel/deployment/plan_search.hpp>
#include <perfmodel/deployment/plan_services.hpp>

namespace perfmodel {

namespace detail {

struct no_progress {
  void operator()(long) const {}
};

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
/// budgets of a pass, drafts, and pools. `policy` is one for all, a function from an accelerator to its
/// policy, or from an accelerator and an engine, such as calibrated_for: with it every engine of the
/// accelerator is tried, where the request names none. `links` as `policy`. `threads` of the request
/// evaluate deployments, and ask the policies at the same time; the answer is that of one, and `progress`
/// is called by the caller's.
/// Tests: each point is what serving answers, of pools and with drafts too; the engine of the best is
/// that of the best of the plans by engine; a longer list of what may be tried never costs more.
template <class Policy, class Links, class Progress>
plan_result plan(const plan_request& q, const Policy& policy, const Links& links,
                 Progress progress) {
  detail::check_request(q);
  detail::plan_search<Progress> search(q, progress);
  for (const accelerator& a : q.accelerators) {
    for (const engine e : detail::engines_tried<Policy>(q, a)) {
      const auto& kernels = detail::policy_on(policy, a, e);
      const auto& wires = detail::policy_on(links, a, e);
      search.on(a, e, detail::prediction_of_plan(kernels, wires, e));
    }
  }
  return search.ranked();
}
template <class Policy, class Progress = detail::no_progress>
plan_result plan(const plan_request& q, const Policy& policy, Progress progress = {}) {
  detail::check_request(q);
  detail::plan_search<Progress> search(q, progress);
  for (const accelerator& a : q.accelerators) {
    for (const engine e : detail::engines_tried<Policy>(q, a)) {
      const auto& silicon = detail::policy_on(policy, a, e);
      const auto& links = detail::links_of<double>(silicon);
      search.on(a, e, detail::prediction_of_plan(silicon, links, e));
    }
  }
  return search.ranked();
}
/// What no service of a point does better, whatever serves it: serving_bound of its deployment, of its two
/// pools, or of its rounds of drafts. As `serving` of the point: of one replica, of pools the whole service.
/// Errors: a point of another request.
/// Test: of random plans, no latency of a point is below it, and no throughput above.
template <std::same_as<plan_point> Point>
serving_estimate bound_of_point(const plan_request& q, const Point& p) {
  const service_load l = load_of(q, p);
  if (p.prefill) return serving_bound(pools_of(q, p), l);
  const deployment d = deployment_of(q, p);
  return p.drafts ? serving_bound(d, l, drafts_of(q, p)) : serving_bound(d, l);
}
/// Say which: plan_bound(request), or plan(request, policy).
plan_result plan(const plan_request& q) = delete;

}  // namespace perfmodel
