// Plans: the deployments that serve a load, their Pareto front of cost and latency.
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

/// Executor of a plan on the caller's thread: collect(i, evaluate(i, any_met)) for i = 0 .. count -
/// 1. `any_met` is what collect returned last: whether a candidate has met the targets, a hint that
/// shortens later evaluations. Another executor may evaluate on several threads and with an older
/// hint. It collects in this order on the caller's thread, where it throws what evaluate(i) threw.
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

// A call of evaluate and of collect, to check an executor.
struct evaluate_call {
  plan_evaluation operator()(std::size_t, bool) const;
};
struct collect_call {
  bool operator()(std::size_t, const plan_evaluation&) const;
};
template <class Executor>
concept plan_executor =
    std::invocable<const Executor&, std::size_t, const evaluate_call&, const collect_call&>;

/// Plan of a request in three loops: enumerate the candidates, evaluate each, collect the front.
/// make_evaluator(accelerator, engine) returns how a deployment is served.
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

/// Pareto front of cost and inter-token latency over every deployment on up to `gpus` devices of
/// each accelerator, at its bound. Choices: precisions, tensor, pipeline, expert and data
/// parallelism, replicas, batch limits. Formats without support, layouts without memory and long
/// queueing are rejections with a reason, not errors. `progress(count)` is called every 256
/// evaluations.
/// Errors: an invalid request; quantiles, speculation or pools, which have no bound.
/// Tests: no point of the front dominates another; every feasible point is dominated by or on it;
/// more devices never raise the best cost at equal targets; equal results of every executor.
template <detail::plan_executor Executor = serial_executor, class Progress = detail::no_progress>
plan_result plan_bound(const plan_request& q, const Executor& executor = {},
                       Progress progress = {}) {
  detail::check_request(q);
  detail::check_bound_request(q);
  const detail::plan_scope scope{};
  const auto make = [](const accelerator&, engine) { return detail::bound_evaluator{}; };
  return detail::search_plan<detail::bound_evaluator>(q, scope, make, executor, progress);
}

/// Pareto front over deployments predicted as by serving. Further choices: engines, token budgets,
/// speculation, and disaggregated pools of one or two accelerators, at the sum of their prices.
/// `policy` is one policy, a function of an accelerator, or a function of an accelerator and an
/// engine such as calibrated_for, which makes every engine of the accelerator a choice. An executor
/// with threads calls policies from several threads.
/// Tests: each point equals serving, also with pools and speculation; the engine of the best point
/// is that of the best plan by engine; more choices never raise the cost.
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
/// Say which: plan_bound(request), or plan(request, policy).
plan_result plan(const plan_request& q) = delete;

}  // namespace perfmodel::inline v0_3
