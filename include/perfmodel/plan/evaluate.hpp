// Evaluation of one candidate of a plan: replica counts, batch limits, speculation and pool sizes.
#pragma once

#include <algorithm>
#include <optional>
#include <perfmodel/plan/candidate_points.hpp>
#include <perfmodel/plan/candidates.hpp>
#include <perfmodel/plan/incumbents.hpp>
#include <perfmodel/plan/pool_sizes.hpp>
#include <utility>
#include <variant>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Evaluation of one candidate. Points that are known before are not evaluated again. Points that
/// an incumbent dominates are left out where bounds show it.
template <class Evaluator>
class candidate_evaluation : candidate_points<Evaluator> {
  using base = candidate_points<Evaluator>;
  using base::c_;
  using base::complete_point;
  using base::context_of;
  using base::deployment_of_candidate;
  using base::evaluator_;
  using base::incumbents_;
  using base::known_;
  using base::known_point;
  using base::largest_limit;
  using base::limits_of;
  using base::longest;
  using base::memory_of;
  using base::out_;
  using base::point_of;
  using base::q_;
  using base::replica_counts;
  using base::serve;
  using base::serve_point;
  using base::share_of;
  using base::sweep_count;
  using base::sweep_limits;
  using base::sweep_replicas;

 public:
  candidate_evaluation(const plan_request& q, const plan_candidate& c, const Evaluator& evaluator,
                       steps_of_variants<Evaluator>& steps, bool any_met,
                       const incumbent_list& incumbents, const known_candidate& known)
      : base(q, c, evaluator, any_met, incumbents, known), steps_(steps) {}

  /// Evaluates replicas of one deployment, without speculation and with each of the request's
  /// speculations.
  plan_evaluation evaluate_replicas(bool with_speculations = true) {
    const deployment d = deployment_of_candidate();
    const candidate_memory memory = memory_of(d);
    out_.feasible = memory.feasible;
    if (!out_.feasible || c_.kind == candidate_kind::memory_only) return std::move(out_);
    const double capacity = memory.capacity;
    auto& steps = steps_.of(evaluator_, d);
    memory.give(steps);
    const auto of_load = [&](const service_load& l, plan_point& p) {
      return serve(d, l, steps, p);
    };
    bool is_searched = false;
    if constexpr (Evaluator::predicts) {
      const std::vector<int> counts = replica_counts(d);
      is_searched = !counts.empty() && (is_bounded(d) || !q_.load.is_closed());
      if (is_searched) {
        const duration<> decode = steps.time({.batch = 1.0, .context = mean_context(q_.load)});
        if (q_.load.is_closed()) {
          search_closed(d, counts, capacity, decode, of_load);
        } else {
          search_open(d, counts, capacity, decode, steps);
        }
      }
    }
    if (!is_searched) sweep_replicas(d, std::nullopt, capacity, of_load);
    if constexpr (Evaluator::predicts) {
      for (std::size_t i = 0; with_speculations && i < q_.speculations.size(); ++i) {
        const speculation s = speculation_for(q_.speculations[i], d);
        sweep_replicas(d, i, speculative_capacity(d, s, context_of(d), q_.load.shared).sequences,
                       [&](const service_load& l, plan_point& p) {
                         p.serving = evaluator_.serve_speculation(d, l, s);
                         return true;
                       });
      }
    }
    return std::move(out_);
  }

  /// Time of a decode step of one sequence; empty if the deployment does not fit in memory.
  std::optional<duration<>> time_of_single_decode() {
    const deployment d = deployment_of_candidate();
    if (!fits(d, 1.0, longest())) return std::nullopt;
    check_deployment(d);
    return steps_.of(evaluator_, d).time({.batch = 1.0, .context = mean_context(q_.load)});
  }
  /// Evaluates one number of replicas of a deployment that fits in memory, without speculation.
  evaluated_point evaluate_count(int replicas) {
    const deployment d = deployment_of_candidate();
    auto& steps = steps_.of(evaluator_, d);
    sweep_limits(d, point_of(d.layout, replicas),
                 kv_capacity(d, q_.load.shared, context_of(d)).sequences, 0.0,
                 [&](const service_load& l, plan_point& p) { return serve(d, l, steps, p); });
    return std::move(out_.sweeps.back().points.front());
  }

  /// Evaluates the largest replica count at its largest batch limit, without speculation; empty if
  /// the deployment does not fit in memory.
  plan_evaluation evaluate_most_replicas() {
    const deployment d = deployment_of_candidate();
    candidate_memory memory = memory_of(d);
    out_.feasible = memory.feasible;
    out_.memory = memory;
    if (!out_.feasible || c_.kind != candidate_kind::replicas) return std::move(out_);
    const std::vector<int> counts = replica_counts(d);
    if (counts.empty()) return std::move(out_);
    auto& steps = steps_.of(evaluator_, d);
    service_load share = share_of(counts.back());
    share.batch_limit = largest_limit(d, share, memory.capacity);
    out_.sweeps.emplace_back();
    (void)serve_point(point_of(d.layout, counts.back()), share,
                      [&](const service_load& l, plan_point& p) { return serve(d, l, steps, p); });
    out_.memory->take(steps);
    return std::move(out_);
  }

  /// Evaluates disaggregated services over all deployments that fit in memory. `prefills` is the
  /// evaluator of the prefill pool.
  plan_evaluation evaluate_pools(const Evaluator& prefills) {
    if constexpr (Evaluator::predicts) {
      const std::vector<deployment> prefill = fitting_deployments(*c_.prefill_device);
      const std::vector<deployment> decode = fitting_deployments(*c_.device);
      const pool_choices<Evaluator> choices{*c_.prefill_device, prefills,   prefill,
                                            *c_.device,         evaluator_, decode};
      visit_pools(
          q_, choices, [&](const disaggregated& pools, double limit, const serving_estimate& s) {
            plan_point p =
                point_of(pools.decode.deployment.layout, static_cast<int>(pools.decode.replicas));
            p.prefill =
                plan_pool{pools.prefill.deployment.layout, static_cast<int>(pools.prefill.replicas),
                          c_.prefill_device->name};
            p.gpus = static_cast<int>(pools.devices());
            p.batch_limit = limit;
            p.output_rate = s.output_rate;
            p.serving = s;
            out_.sweeps.emplace_back().points.push_back({std::move(p)});
            (void)complete_point(*c_.prefill_device);
          });
    }
    return std::move(out_);
  }

 private:
  /// Deployments on an accelerator that fit in memory, with the engine's own token budget.
  std::vector<deployment> fitting_deployments(const accelerator& a) const {
    std::vector<deployment> all;
    for (const parallel_layout& l : layouts_of(q_.model, a, q_.gpus)) {
      const deployment d = deployment_of(q_, a, *c_.precision, l, c_.serving_engine, std::nullopt);
      if (fits(d, 1.0, longest())) all.push_back(d);
    }
    return all;
  }

  /// Whether results of replica counts bound those of others, and an incumbent may dominate these.
  /// Preemptions may lower the throughput of a larger batch.
  bool is_bounded(const deployment& d) const {
    return Evaluator::predicts && !incumbents_.empty() &&
           !(q_.load.preemption_mode && grows_into_memory(d.serving_engine));
  }
  /// Whether a point with this throughput and ITL is in no row of the result.
  bool is_dominated(int gpus, const sized_result& x) const {
    const double cost = cost_of(*c_.device, gpus, x.output_rate, incumbents_.all_priced());
    return incumbents_.dominate(gpus, cost, x.itl);
  }
  /// Whether a point of this replica count is known. It costs nothing, and may be an incumbent.
  bool has_known(int replicas) const {
    return std::any_of(known_.points.begin(), known_.points.end(), [&](const evaluated_point& x) {
      return x.point.replicas == replicas && !x.point.speculation_index;
    });
  }
  /// Result of a point; unknown where the point is not feasible.
  static sized_result result_of(const evaluated_point& x) {
    if (!x.point.serving.feasible) return {};
    return {x.point.output_rate, x.point.serving.itl};
  }

  /// Evaluates the batch limits of the largest replica count of a closed loop that may be in a row
  /// of the result. Returns the result at the largest limit. The bounds of a limit are those of the
  /// next smaller limit, per sequence: a larger batch serves each sequence no faster. The first
  /// bounds are those of a decode step of one sequence, and the only ones of a run.
  /// Leaves out: a higher ITL at the smaller limit (16 % at most in 200 random plans), and a much
  /// higher throughput at a smaller limit than at the largest (1.7 times).
  template <class Serve>
  sized_result search_limits(const deployment& d, int replicas, double capacity,
                             const duration<>& decode_time, const Serve& serve_load) {
    constexpr double margin = 0.25, most_gain = 2.0;
    const plan_point point = point_of(d.layout, replicas);
    service_load share = share_of(replicas);
    const std::vector<double> limits = limits_of(d, share, capacity);
    out_.sweeps.emplace_back();
    const double intervals = (std::max)(share.output_tokens - 1.0, 1e-9);
    sized_result per_sequence{replicas * share.output_tokens * token / (intervals * decode_time),
                              decode_time};
    sized_result most = known_.most_replicas;
    for (std::size_t i = limits.size(); i-- > 0;) {
      const bool is_known = i == 0 && most.itl.value() > 0.0;
      const bool decodes_one = limits[i] == 1.0 && d.layout.data == 1;  // in steps of `decode_time`
      const sized_result bound{
          min(limits[i] * per_sequence.output_rate, most_gain * most.output_rate),
          (decodes_one ? 1.0 : 1.0 - margin) * per_sequence.itl};
      if (is_dominated(point.gpus, is_known ? most : bound) &&
          known_point(point, limits[i]) == nullptr) {
        ++out_.sweeps.back().pruned;
        continue;
      }
      share.batch_limit = limits[i];
      (void)serve_point(point, share, serve_load);
      const sized_result found = result_of(out_.sweeps.back().points.back());
      if (i == 0) most = found;
      const bool is_run = std::get<closed_loop>(share.arrivals).requests.has_value();
      if (!is_run) per_sequence = {found.output_rate / limits[i], found.itl};
    }
    std::reverse(out_.sweeps.back().points.begin(), out_.sweeps.back().points.end());
    return most;
  }

  /// Evaluates the replica counts of a closed loop that may be in a row of the result. The bounds
  /// of a count are those of the next larger count: more replicas serve smaller batches.
  /// `decode_time` is that of one sequence.
  /// Leaves out: a lower ITL with fewer replicas (5 % at most in 200 random plans).
  template <class Serve>
  void search_closed(const deployment& d, const std::vector<int>& counts, double capacity,
                     const duration<>& decode_time, const Serve& serve_load) {
    constexpr double margin = 0.08;
    const std::size_t first = out_.sweeps.size();
    sized_result more = search_limits(d, counts.back(), capacity, decode_time, serve_load);
    long pruned = 0;
    for (std::size_t i = counts.size() - 1; i-- > 0;) {
      const sized_result bound{(1.0 + margin) * more.output_rate, (1.0 - margin) * more.itl};
      if (is_dominated(counts[i] * d.layout.ranks(), bound) && !has_known(counts[i])) {
        pruned += count_limits(largest_limit(d, share_of(counts[i]), capacity));
        continue;
      }
      sweep_count(d, counts, i, std::nullopt, capacity, serve_load);
      const std::vector<evaluated_point>& points = out_.sweeps.back().points;
      more = points.empty() ? sized_result{} : result_of(points.front());
    }
    std::reverse(out_.sweeps.begin() + static_cast<long>(first), out_.sweeps.end());
    out_.sweeps.emplace_back().pruned = pruned;
  }

  /// Evaluates the replica counts of an open loop that may be in a row of the result. Their cost is
  /// known; the ITL of a decode step of one sequence, and that of a larger count, bound theirs.
  /// Counts below an overloaded one are overloaded too, with larger shares of the load.
  /// Leaves out: jumps, as steps_of_loads::dominates.
  template <class Steps>
  void search_open(const deployment& d, const std::vector<int>& counts, double capacity,
                   const duration<>& decode_time, Steps& steps) {
    constexpr double margin = 0.15;
    const auto serve_load = [&](const service_load& l, plan_point& p) {
      return serve(d, l, steps, p);
    };
    const std::size_t first = out_.sweeps.size();
    duration<> least = decode_time;
    std::size_t overloaded = 0;  // sweep of the largest overloaded count, from 1
    long pruned = 0;
    for (std::size_t i = counts.size(); i-- > 0;) {
      const service_load share = share_of(counts[i]);
      const token_rate<> rate = counts[i] * output_rate_of(share, share.rate());
      if (is_dominated(counts[i] * d.layout.ranks(), {rate, (1.0 - margin) * least}) &&
          !has_known(counts[i])) {
        ++pruned;
        continue;
      }
      if (overloaded > 0) {
        ++out_.sweeps[overloaded - 1].points.front().overloaded;
        continue;
      }
      sweep_count(d, counts, i, std::nullopt, capacity, serve_load);
      const std::vector<evaluated_point>& points = out_.sweeps.back().points;
      if (points.empty()) continue;
      least = max(least, result_of(points.front()).itl);
      if (steps.full && !(share.rate() < steps.full->throughput)) overloaded = out_.sweeps.size();
    }
    std::reverse(out_.sweeps.begin() + static_cast<long>(first), out_.sweeps.end());
    out_.sweeps.emplace_back().pruned = pruned;
  }

  steps_of_variants<Evaluator>& steps_;
};

/// Candidates of a plan in their order, in groups that share the steps of one deployment: they
/// differ in their token budgets only.
class candidate_groups {
 public:
  explicit candidate_groups(const std::vector<plan_candidate>& all) : all_(all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i == 0 || !are_variants(all[i - 1], all[i])) begins_.push_back(i);
    }
  }
  std::size_t size() const { return begins_.size(); }
  /// Calls visit(number of the candidate) for each candidate of a group.
  template <class Visit>
  void visit(std::size_t group, const Visit& visit_candidate) const {
    for (std::size_t i = begins_[group]; i < end_of(group); ++i) visit_candidate(i);
  }
  /// Evaluations of a group: evaluate(number of the candidate) for each.
  template <class Evaluate>
  group_evaluation evaluate(std::size_t group, const Evaluate& evaluate_candidate) const {
    group_evaluation all;
    all.reserve(end_of(group) - begins_[group]);
    visit(group, [&](std::size_t i) { all.push_back(evaluate_candidate(i)); });
    return all;
  }

 private:
  std::size_t end_of(std::size_t group) const {
    return group + 1 < begins_.size() ? begins_[group + 1] : all_.size();
  }
  static bool are_variants(const plan_candidate& a, const plan_candidate& b) {
    return a.kind == candidate_kind::replicas && b.kind == a.kind && a.device == b.device &&
           a.serving_engine == b.serving_engine && a.precision == b.precision &&
           a.layout == b.layout;
  }
  const std::vector<plan_candidate>& all_;
  std::vector<std::size_t> begins_{};
};

/// Evaluates all points of a candidate. `evaluators` has an evaluator for each accelerator and
/// engine.
template <class Evaluators>
plan_evaluation evaluate(const plan_request& q, const plan_candidate& c,
                         const Evaluators& evaluators,
                         steps_of_variants<typename Evaluators::evaluator>& steps, bool any_met,
                         const incumbent_list& incumbents, const known_candidate& known = {}) {
  if (c.kind == candidate_kind::infeasible) return {infeasible(c.reason, "", 1, 0), {}};
  const auto& evaluator = evaluators.at(*c.device, c.serving_engine);
  candidate_evaluation evaluation(q, c, evaluator, steps, any_met, incumbents, known);
  if (c.kind != candidate_kind::pools) return evaluation.evaluate_replicas();
  return evaluation.evaluate_pools(evaluators.at(*c.prefill_device, c.serving_engine));
}

}  // namespace perfmodel::inline v0_3::detail
