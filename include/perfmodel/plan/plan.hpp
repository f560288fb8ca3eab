// Plans: deployments that serve a load, and their Pareto front of cost and latency.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <perfmodel/engine/formats.hpp>
#include <perfmodel/plan/candidates.hpp>
#include <perfmodel/plan/collector.hpp>
#include <perfmodel/plan/evaluate.hpp>
#include <perfmodel/plan/evaluators.hpp>
#include <perfmodel/plan/find_incumbents.hpp>
#include <perfmodel/plan/incumbents.hpp>
#include <perfmodel/plan/request.hpp>
#include <perfmodel/plan/result.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// Search for the number of GPUs: it doubles the limit of a plan until more GPUs no longer help.

namespace perfmodel::inline v0_3 {

/// Parameters of a search for the number of GPUs. A limit is a value of `plan_request::gpus`.
struct gpu_count_limits {
  int first = 1;           ///< limit of the first plan; doubled for each further plan
  int ceiling = 1024;      ///< largest limit tried
  bool until_met = false;  ///< stop at the first limit that meets the targets
};

/// Plan with the number of GPUs that a search found. Without pools `result.fewest_gpus` is exact: a
/// plan with fewer GPUs does not meet the targets.
struct counted_plan {
  plan_request request{};  ///< request of `result`; its `gpus` is the limit
  /// Plan with the cheapest best point over all limits; among equals, that of the largest limit.
  plan_result result{};
  std::vector<int> limits{};  ///< limits tried, ascending
};

namespace detail {

/// Cost of the best point of a plan; infinity if no point meets the targets.
inline double cost_of_best(const plan_result& r) {
  return r.best ? cost_of(r.frontier[*r.best], r.all_priced) : infinity;
}

/// Whether the plan with more GPUs is better by more than 0.1 %. It is compared by the best cost
/// or, if neither plan meets the targets, by the smallest miss.
inline bool more_gpus_help(const plan_result& fewer, const plan_result& more) {
  constexpr double same = 0.999;
  if (more.best) return cost_of_best(more) < same * cost_of_best(fewer);
  if (fewer.best) return false;                                  // plans with pools may lose theirs
  if (!more.nearest_point || !fewer.nearest_point) return true;  // nothing served yet
  return more.nearest_miss < same * fewer.nearest_miss;
}

/// Bisects for the fewest GPUs between a limit that misses the targets and one that meets them.
/// Without pools a plan tries everything that a plan with fewer GPUs tries, so bisection is exact.
/// With pools a plan with fewer GPUs may even be cheaper; it then replaces the result.
template <class Plan>
void find_fewest_gpus(counted_plan& c, std::optional<plan_point>& fewest, const Plan& plan_of) {
  if (!fewest) return;
  int misses = 0;
  for (const int limit : c.limits) {
    if (limit < fewest->gpus) misses = limit;
  }
  plan_request q = c.request;
  for (q.gpus = fewest->gpus - 1; q.gpus > misses; q.gpus = (misses + fewest->gpus) / 2) {
    plan_result r = plan_of(q);
    if (!r.fewest_gpus) {
      misses = q.gpus;
      continue;
    }
    fewest = r.fewest_gpus;
    if (cost_of_best(r) < cost_of_best(c.result)) {
      c.result = std::move(r);
      c.request.gpus = q.gpus;
    }
  }
}

}  // namespace detail

/// Plan of a request that states no number of GPUs. plan_of(request) computes the plans for limits
/// of `first`, 2 x `first`, 4 x `first`, ... up to `ceiling`. If the targets are met, the search
/// stops when a doubling finds no cheaper best point. If they are not, it stops after two doublings
/// in a row that do not reduce the smallest miss.
/// Leaves out: better plans beyond a doubling that does not help.
/// Errors: those of plan_of; limits out of range.
/// Test: a plan for each number of GPUs.
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
    if (r.fewest_gpus && (!fewest || r.fewest_gpus->gpus < fewest->gpus)) fewest = r.fewest_gpus;
    idle = c.limits.empty() || detail::more_gpus_help(c.result, r) ? 0 : idle + 1;
    c.limits.push_back(q.gpus);
    if (!(detail::cost_of_best(r) > detail::cost_of_best(c.result))) {
      c.result = std::move(r);
      c.request.gpus = q.gpus;
    }
    const bool met = c.result.best.has_value();
    if (q.gpus == limits.ceiling || idle == 2 || (met && (limits.until_met || idle == 1))) break;
  }
  if (!limits.until_met) detail::find_fewest_gpus(c, fewest, plan_of);
  c.result.fewest_gpus = std::move(fewest);
  return c;
}

}  // namespace perfmodel::inline v0_3

// Precisions of a plan, from the number formats of a checkpoint.

namespace perfmodel::inline v0_3 {

namespace detail {

/// Name of a storage format: "nvfp4", "mxfp4", "int4 g128" (group size), "fp8 128x128" (block
/// size).
inline std::string storage_name(const storage_format& s) {
  std::string name = name_of(s.format);
  if (!s.group) return name;
  const int group = static_cast<int>(*s.group);
  if (s.format == number_format::fp4 && group == 16) return "nv" + name;
  if (s.format == number_format::fp4 && group == 32) return "mx" + name;
  const int side = static_cast<int>(std::lround(std::sqrt(*s.group)));
  if (side >= 64 && side * side == group) {
    const std::string block = std::to_string(side);
    return name + " " + block + "x" + block;
  }
  return name + " g" + std::to_string(group);
}

/// Name of a checkpoint's precision: the format of its weights, of its experts if that differs, and
/// of its KV cache if below 16 bits.
inline label precision_name(const weight_storage& w, const storage_format& kv) {
  std::string name = storage_name(w.linear);
  if (w.linear.bits() >= 16.0 && w.experts.bits() < 16.0) {
    name = storage_name(w.experts) + " experts";
  } else if (w.experts != w.linear) {
    name += ", " + storage_name(w.experts) + " experts";
  }
  if (kv.bits() < 16.0) name += " + " + storage_name(kv) + " KV";
  return label::shortened(name);
}

/// Precision in which an engine runs a checkpoint on an accelerator. Weights of 16 or 32 bits run
/// in the 16-bit format of the accelerator.
inline plan_precision checkpoint_precision(const accelerator& a, engine e,
                                           const weight_storage& stored,
                                           const std::optional<storage_format>& kv) {
  const engine_formats f = engine_formats_of(stored, kv, a, e);
  plan_precision p{.weights = stored, .activations = f.linear.format, .kv = f.kv};
  if (stored.linear.bits() < 16.0 || stored.experts.bits() < 16.0) {
    p.expert_activations = f.experts.format;
  } else if (stored.linear.format != f.linear.format) {
    p.weights = weight_storage(f.linear.format, f.linear.format);
  }
  p.name = precision_name(p.weights, p.kv);
  return p;
}

inline bool are_equal(const plan_precision& x, const plan_precision& y) {
  return x.name == y.name && x.weights.linear == y.weights.linear &&
         x.activations == y.activations && x.expert_activations == y.expert_activations &&
         x.kv == y.kv;
}

}  // namespace detail

/// Precisions of a checkpoint with weights in the formats `stored` and a KV cache in `kv`. For each
/// engine and accelerator, engine_formats_of gives the formats of activations and KV cache. The
/// result is one precision if all of these agree, else one for each accelerator or engine. The
/// engines are the request's; if it names none, `is_predicted` tries every engine of an
/// accelerator.
/// Test: bf16 on V100 and H100; fp8 on A100 and H100; gpt-oss under three engines.
inline std::vector<plan_precision> checkpoint_precisions(const plan_request& q,
                                                         const weight_storage& stored,
                                                         const std::optional<storage_format>& kv,
                                                         bool is_predicted) {
  std::vector<plan_precision> all;
  bool all_agree = true;
  for (const accelerator& a : q.accelerators) {
    const engine_list engines = detail::engines_of(q, a, {is_predicted, is_predicted});
    const std::size_t first = all.size();
    bool engines_agree = true;
    for (const engine e : engines) {
      all.push_back(detail::checkpoint_precision(a, e, stored, kv));
      if (q.accelerators.size() > 1) all.back().only_accelerator = a.name;
      all.back().only_engine = e;
      engines_agree = engines_agree && detail::are_equal(all[first], all.back());
    }
    if (engines_agree) {
      all.resize(first + 1);
      all.back().only_engine.reset();
    }
    all_agree = all_agree && engines_agree && detail::are_equal(all.front(), all.back());
  }
  if (all_agree && !all.empty()) {
    all.resize(1);
    all.front().only_accelerator = label{};
  }
  return all;
}

}  // namespace perfmodel::inline v0_3

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
  group_evaluation operator()(std::size_t, bool) const;
};
struct collect_call {
  bool operator()(std::size_t, const group_evaluation&) const;
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
  known_candidates known{std::vector<known_candidate>(candidates.size())};
  if constexpr (Evaluator::predicts) {
    if (!q.load.is_closed()) {
      known = find_incumbents(q, candidates, evaluators);
    } else if (!q.load.preemption_mode) {
      known = find_closed_incumbents(q, candidates, evaluators, executor);
    }
  }
  plan_collector collector(q, progress, true, known.found);
  const candidate_groups groups(candidates);
  executor(
      groups.size(),
      [&](std::size_t group, bool any_met) {
        steps_of_variants<Evaluator> steps;
        return groups.evaluate(group, [&](std::size_t i) {
          return evaluate(q, candidates[i], evaluators, steps, any_met, known.found,
                          known.candidates[i]);
        });
      },
      [&](std::size_t group, const group_evaluation& all) {
        auto e = all.begin();
        groups.visit(group, [&](std::size_t i) { collector.add(candidates[i], *e++); });
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
