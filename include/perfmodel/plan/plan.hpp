// Plans: deployments that serve a load, and their Pareto front of cost and latency.
#pragma once

#include <concepts>
#include <cstddef>
#include <perfmodel/plan/candidates.hpp>
#include <perfmodel/plan/collector.hpp>
#include <perfmodel/plan/evaluate.hpp>
#include <perfmodel/plan/evaluators.hpp>
#include <perfmodel/plan/gpu_count.hpp>
#include <perfmodel/plan/precisions.hpp>
#include <perfmodel/plan/request.hpp>
#include <perfmodel/plan/result.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Executor that evaluates the candidates of a plan one after the other on the caller's thread. For
/// i = 0 .. count - 1 it calls evaluate(i, any_met), then collect(i, its result). collect returns
/// whether any candidate has met the targets yet. The next evaluate receives this as `any_met`, a
/// hint that shortens its work.
///
/// A user-defined executor may call evaluate on several threads, and with an older hint. It must
/// call collect in order of i on the caller's thread, and must rethrow there what evaluate(i)
/// threw.
struct serial_executor {
  template <class Evaluate, class Collect>
  void operator()(std::size_t count, const Evaluate& evaluate, const Collect& collect) const {
    bool any_met = false;
    for (std::size_t i = 0; i < count; ++i) any_met = collect(i, evaluate(i, any_met));
  }
};

namespace detail {

struct no_progress {
  void operator()(long) const {}
};

// Types of evaluate and collect, with which the concept checks an executor.
struct evaluate_call {
  plan_evaluation operator()(std::size_t, bool) const;
};
struct collect_call {
  bool operator()(std::size_t, const plan_evaluation&) const;
};
template <class Executor>
concept plan_executor =
    std::invocable<const Executor&, std::size_t, const evaluate_call&, const collect_call&>;

/// Computes a plan in three steps: enumerate the candidates, evaluate each, and collect the Pareto
/// front. make_evaluator(accelerator, engine) returns the evaluator of a deployment (bound or
/// prediction).
template <class Evaluator, class Make, class Executor, class Progress>
plan_result search_plan(const plan_request& q, const plan_scope& scope, const Make& make_evaluator,
                        const Executor& executor, Progress& progress) {
  const std::vector<plan_candidate> candidates = enumerate_candidates(q, scope);
  const evaluator_list<Evaluator> evaluators(candidates, make_evaluator);
  plan_collector collector(q, progress);
  executor(
      candidates.size(),
      [&](std::size_t i, bool any_met) { return evaluate(q, candidates[i], evaluators, any_met); },
      [&](std::size_t i, const plan_evaluation& e) {
        collector.add(candidates[i], e);
        return collector.has_met_targets();
      });
  return collector.finish([&](plan_point& p) {
    if constexpr (Evaluator::predicts) {
      if (p.speculation_index || p.prefill || !p.serving.decode.terms.empty()) return;
      const Evaluator& evaluator = evaluators.at(accelerator_of(q, p), p.serving_engine);
      p.serving = evaluator.serve_with_terms(deployment_of(q, p), load_of(q, p));
    }
  });
}

}  // namespace detail

/// Plan with every deployment at its bound: the Pareto front of cost and inter-token latency over
/// all deployments on at most `gpus` devices of each accelerator. Choices: precisions, tensor,
/// pipeline, expert and data parallelism, replicas, and batch limits. Unsupported formats, layouts
/// that do not fit in memory, and long queueing are rejections with a reason, not errors.
/// `progress(count)` is called every 256 evaluations.
/// Errors: an invalid request; percentiles, speculation or pools, which have no bound.
/// Tests: no point of the front dominates another; every feasible point is on the front or
/// dominated by it; at equal targets more devices never raise the best cost; all executors give
/// equal results.
template <detail::plan_executor Executor = serial_executor, class Progress = detail::no_progress>
plan_result plan_bound(const plan_request& q, const Executor& executor = {},
                       Progress progress = {}) {
  detail::check_request(q);
  detail::check_bound_request(q);
  const detail::plan_scope scope{};
  const auto make = [](const accelerator&, engine) { return detail::bound_evaluator{}; };
  return detail::search_plan<detail::bound_evaluator>(q, scope, make, executor, progress);
}

/// Plan with every deployment predicted as by `serving`: the Pareto front of cost and inter-token
/// latency. Its choices are those of plan_bound and also engines, token budgets, speculation, and
/// disaggregated pools. Pools may have two accelerators; the cost is the sum of both. `policy` is
/// one policy, a function of an accelerator, or a function of an accelerator and an engine like
/// calibrated_for. With the last, every engine of the accelerator is a choice. An executor with
/// threads calls policies from several threads.
/// Tests: each point equals `serving`, also with pools and speculation; the best point over all
/// engines equals the best of the plans for each engine; more choices never raise the cost.
template <class Policy, detail::plan_executor Executor = serial_executor,
          class Progress = detail::no_progress>
plan_result plan(const plan_request& q, const Policy& policy, const Executor& executor = {},
                 Progress progress = {}) {
  detail::check_request(q);
  const detail::plan_scope scope{
      .is_predicted = true,
      .is_by_engine = std::invocable<const Policy&, const accelerator&, engine>};
  using policy_type = std::remove_cvref_t<decltype(detail::policy_for(
      policy, std::declval<const accelerator&>(), engine::none))>;
  using evaluator = detail::prediction_evaluator<policy_type>;
  const auto make = [&](const accelerator& a, engine e) {
    const policy_type& chosen = detail::policy_for(policy, a, e);
    detail::require_target_of(chosen, a, e);
    return evaluator(chosen, e);
  };
  return detail::search_plan<evaluator>(q, scope, make, executor, progress);
}
/// A plan needs a policy: plan(request, policy). For bounds call plan_bound(request).
plan_result plan(const plan_request& q) = delete;

}  // namespace perfmodel::inline v0_3
