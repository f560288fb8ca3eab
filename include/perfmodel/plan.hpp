// Search over deployments: what can serve a load, and what of it is worth having.
#pragma once

#include <algorithm>
#include <concepts>
#include <perfmodel/deployment/plan_count.hpp>
#include <perfmodel/deployment/plan_precisions.hpp>
#include <perfmodel/deployment/plan_search.hpp>
#include <perfmodel/deployment/plan_services.hpp>

namespace perfmodel {

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
        const auto& silicon = detail::policy_on(policy, a, e);
        use(detail::prediction_of_plan(silicon, detail::links_of<double>(silicon), e));
      });
}
/// Say which: plan_bound(request), or plan(request, policy).
plan_result plan(const plan_request& q) = delete;

}  // namespace perfmodel
