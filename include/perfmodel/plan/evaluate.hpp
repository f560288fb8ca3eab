// Evaluation of one candidate of a plan: replica counts, batch limits, speculation and pool sizes.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <optional>
#include <perfmodel/plan/candidates.hpp>
#include <perfmodel/plan/evaluators.hpp>
#include <perfmodel/plan/incumbents.hpp>
#include <perfmodel/plan/result.hpp>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Ratio of each latency to its target, and of queueing to its limits. A ratio above 1 is a miss.
struct plan_misses : target_misses {
  double wait = 0.0;   ///< mean queueing time / `max_queueing_time`
  double queue = 0.0;  ///< queued share / `queued_limit`; 0 without a limit

  constexpr double of_targets() const { return target_misses::worst(); }
  constexpr double of_queue() const { return (std::max)(wait, queue); }
  constexpr double worst() const { return (std::max)(of_targets(), of_queue()); }
};

template <std::same_as<serving_estimate> Estimate>
plan_misses misses_of(const plan_request& q, const Estimate& s) {
  return {perfmodel::misses_of(s, q.targets), s.wait.value() / q.max_queueing_time.value(),
          q.queued_limit < 1.0 ? s.queued / q.queued_limit : 0.0};
}

struct evaluated_point {
  plan_point point{};
  plan_misses misses{};  ///< all 0 for an infeasible point
};

/// Points of one number of replicas, with falling batch limits. The sweep ends where smaller limits
/// cannot help.
struct batch_sweep {
  std::vector<evaluated_point> points{};
  long pruned = 0;  ///< batch limits dominated by more replicas, or by an incumbent
};

/// Evaluation of a candidate: the reason why it is infeasible, or its sweeps.
struct plan_evaluation {
  feasibility feasible{};
  std::vector<batch_sweep> sweeps{};
};

/// Whether smaller batch limits may meet the targets, once another candidate has met them.
inline bool may_meet_with_less(const plan_request& q, const serving_estimate& s) {
  const auto& ttft = q.targets.ttft;
  return !ttft || ttft->share || s.wait <= ttft->limit;
}

/// Next batch limit of a sweep: the largest power of two below `limit`.
inline double next_limit(double limit) {
  const double power = std::exp2(std::floor(std::log2(limit)));
  return power < limit ? power : 0.5 * limit;
}

/// Mean price per device of a point, over both pools; empty if a price is missing.
inline std::optional<price<>> price_per_device(const accelerator& decode,
                                               const accelerator& prefill, const plan_point& p) {
  if (!decode.price.is_stated() || !prefill.price.is_stated()) return std::nullopt;
  const price<> own = decode.price.quantity();
  if (&decode == &prefill) return own;
  const double prefills = p.prefill->replicas * p.prefill->layout.ranks();
  return (prefills * prefill.price.quantity() + (p.gpus - prefills) * own) / p.gpus;
}

/// Sets the device time and the cost per million output tokens.
inline void set_cost(plan_point& p, const accelerator& decode, const accelerator& prefill) {
  p.gpu_time_per_million = p.gpus * million_tokens / p.output_rate;
  if (const auto price = price_per_device(decode, prefill, p)) {
    p.cost_per_million = p.gpu_time_per_million * *price;
  }
}

// Sizes of the pools of a disaggregated service.

/// Deployment of a prefill pool, with the two times that decide between deployments.
struct prefill_choice {
  const deployment* runs = nullptr;
  double device_time = 0.0;    ///< time per prompt x devices, of a saturated pool
  double unloaded_time = 0.0;  ///< prefill time of one prompt
};
constexpr bool dominates(const prefill_choice& a, const prefill_choice& b) {
  return a.device_time <= b.device_time && a.unloaded_time <= b.unloaded_time;
}

/// Choices of a disaggregated service: for each pool the accelerator, its evaluator, and the
/// deployments that fit in memory.
template <class Evaluator>
struct pool_choices {
  const accelerator& prefill_device;
  const Evaluator& prefill;
  const std::vector<deployment>& prefill_deployments;
  const accelerator& decode_device;
  const Evaluator& decode;
  const std::vector<deployment>& decode_deployments;
};

/// Pareto front of prefill deployments: device time per prompt and unloaded prefill time.
template <class Evaluator>
std::vector<prefill_choice> prefill_front(const plan_request& q,
                                          const pool_choices<Evaluator>& choices) {
  std::vector<prefill_choice> all;
  service_load one = load_of_pools(q);
  one.arrivals = closed_loop{1.0};
  for (const deployment& d : choices.prefill_deployments) {
    const auto link =
        link_of(*q.pools, choices.prefill_device, choices.decode_device, 2 * d.layout.ranks());
    if (!link) continue;
    const disaggregated_estimate s = choices.prefill.serve_pools(
        {.prefill = {d}, .decode = {d}, .link = *link}, one, choices.prefill);
    const double period = s.prefill_utilisation / s.throughput.value();
    all.push_back({&d, period * d.layout.ranks(), s.prefill.time.value()});
  }
  return pareto_front(all, [](const auto& a, const auto& b) { return dominates(a, b); });
}

/// Visits disaggregated services of all sizes. Decode replicas are powers of two, each with as much
/// of the load as fits in memory. Prefill replicas are 1, and the number that balances the decode
/// pool, rounded down and up. The call is visit(pools, maximum running requests of a decode
/// replica, estimate).
template <class Evaluator, class Visit>
void visit_pools(const plan_request& q, const pool_choices<Evaluator>& choices,
                 const Visit& visit) {
  const double longest = q.load.input_tokens + q.load.output_tokens;
  for (const prefill_choice& prefill : prefill_front(q, choices)) {
    const int prefill_ranks = prefill.runs->layout.ranks();
    for (const deployment& d : choices.decode_deployments) {
      const double capacity = kv_capacity(d, q.load.shared, longest).sequences;
      disaggregated pools{.prefill = {*prefill.runs},
                          .decode = {d},
                          .first_token_from_decode = q.pools->first_token_from_decode};
      for (const int replicas : powers_up_to((q.gpus - prefill_ranks) / d.layout.ranks())) {
        const double wanted = q.load.is_closed() ? q.load.concurrency() / replicas : capacity;
        if (wanted < 1.0) break;
        const int most = (q.gpus - replicas * d.layout.ranks()) / prefill_ranks;
        service_load load = load_of_pools(q);
        load.batch_limit =
            (std::max)(1.0, admitted_sequences(d, load, (std::min)(wanted, capacity)));
        pools.decode.replicas = replicas;
        // Visits one number of prefill replicas. Returns the number that balances the decode pool.
        const auto visit_prefill_count = [&](int count) {
          pools.prefill.replicas = count;
          const auto link = link_of(*q.pools, choices.prefill_device, choices.decode_device,
                                    count * prefill_ranks + replicas * d.layout.ranks());
          if (!link) return 0.0;
          pools.link = *link;
          const disaggregated_estimate s = choices.decode.serve_pools(pools, load, choices.prefill);
          visit(pools, *load.batch_limit, s);
          return replicas * s.balanced_ratio;
        };
        const double balanced = (std::min)(visit_prefill_count(1), static_cast<double>(most));
        const int down = static_cast<int>(std::floor(balanced));
        const int up = static_cast<int>(std::ceil(balanced));
        if (down > 1) (void)visit_prefill_count(down);
        if (up > 1 && up != down) (void)visit_prefill_count(up);
      }
    }
  }
}

// One candidate.

/// Evaluation of one candidate. `any_met` states that an earlier candidate has met the targets;
/// sweeps then end where smaller batch limits cannot meet them. Points that an incumbent dominates
/// are not evaluated to the end.
template <class Evaluator>
class candidate_evaluation {
 public:
  candidate_evaluation(const plan_request& q, const plan_candidate& c, const Evaluator& evaluator,
                       bool any_met, const incumbent_list& incumbents)
      : q_(q), c_(c), evaluator_(evaluator), any_met_(any_met), incumbents_(incumbents) {}

  /// Evaluates replicas of one deployment, without speculation and with each of the request's
  /// speculations.
  plan_evaluation evaluate_replicas() {
    const deployment d = deployment_of_candidate();
    out_.feasible = fits(d, 1.0, longest());
    if (!out_.feasible) return std::move(out_);
    check_deployment(d);
    if (c_.kind == candidate_kind::memory_only) return std::move(out_);
    const double context = context_of(d);
    auto steps = evaluator_.steps_of(d);
    sweep_replicas(d, std::nullopt, kv_capacity(d, q_.load.shared, context).sequences,
                   [&](const service_load& l, plan_point& p) { return serve(d, l, steps, p); });
    if constexpr (Evaluator::predicts) {
      for (std::size_t i = 0; i < q_.speculations.size(); ++i) {
        const speculation s = speculation_for(q_.speculations[i], d);
        sweep_replicas(d, i, speculative_capacity(d, s, context, q_.load.shared).sequences,
                       [&](const service_load& l, plan_point& p) {
                         p.serving = evaluator_.serve_speculation(d, l, s);
                         return true;
                       });
      }
    }
    return std::move(out_);
  }

  /// Time of a decode step of one sequence; empty if the deployment does not fit in memory.
  std::optional<duration<>> time_of_single_decode() const {
    const deployment d = deployment_of_candidate();
    if (!fits(d, 1.0, longest())) return std::nullopt;
    check_deployment(d);
    return evaluator_.steps_of(d).time({.batch = 1.0, .context = mean_context(q_.load)});
  }
  /// Evaluates one number of replicas of a deployment that fits in memory, without speculation.
  evaluated_point evaluate_count(int replicas) {
    const deployment d = deployment_of_candidate();
    auto steps = evaluator_.steps_of(d);
    sweep_limits(d, point_of(d.layout, replicas),
                 kv_capacity(d, q_.load.shared, context_of(d)).sequences, 0.0,
                 [&](const service_load& l, plan_point& p) { return serve(d, l, steps, p); });
    return std::move(out_.sweeps.back().points.front());
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
            out_.sweeps.emplace_back();
            (void)add_point(std::move(p), *c_.prefill_device);
          });
    }
    return std::move(out_);
  }

 private:
  double longest() const { return q_.load.input_tokens + q_.load.output_tokens; }

  deployment deployment_of_candidate() const {
    return deployment_of(q_, *c_.device, *c_.precision, c_.layout, c_.serving_engine,
                         c_.chunk_tokens);
  }
  /// Context of a sequence for which an engine reserves memory.
  double context_of(const deployment& d) const {
    const bool grows = Evaluator::predicts && grows_into_memory(d.serving_engine);
    return grows ? mean_context(q_.load) : longest();
  }

  /// Sets the estimate of a point. Returns false if an incumbent dominates the point: in an open
  /// loop the throughput is the arrival rate, so that the cost is known before.
  template <class Steps>
  bool serve(const deployment& d, const service_load& l, Steps& steps, plan_point& p) const {
    if constexpr (Evaluator::predicts) {
      if (!l.is_closed()) {
        p.output_rate = p.replicas * output_rate_of(l, l.rate());
        set_cost(p, *c_.device, *c_.device);
        steps.itl_to_beat = incumbents_.itl_to_beat(p);
        steps.is_dominated = false;
      }
      p.serving = evaluator_.serve(d, l, steps);
      return !steps.is_dominated;
    } else {
      p.serving = evaluator_.serve(d, l, steps);
      return true;
    }
  }

  plan_point point_of(const parallel_layout& l, int replicas) const {
    plan_point p{.accelerator = c_.device->name,
                 .precision = *c_.precision,
                 .serving_engine = c_.serving_engine,
                 .layout = l};
    p.chunk_tokens = c_.chunk_tokens;
    p.replicas = replicas;
    p.gpus = replicas * l.ranks();
    return p;
  }

  /// Deployments on an accelerator that fit in memory, with the engine's own token budget.
  std::vector<deployment> fitting_deployments(const accelerator& a) const {
    std::vector<deployment> all;
    for (const parallel_layout& l : layouts_of(q_.model, a, q_.gpus)) {
      const deployment d = deployment_of(q_, a, *c_.precision, l, c_.serving_engine, std::nullopt);
      if (fits(d, 1.0, longest())) all.push_back(d);
    }
    return all;
  }

  /// Adds a point to the last sweep. Returns whether to try a smaller batch limit.
  bool add_point(plan_point&& added, const accelerator& prefill_device) {
    std::vector<evaluated_point>& points = out_.sweeps.back().points;
    points.push_back({std::move(added), {}});
    plan_point& p = points.back().point;
    if (!p.serving.feasible) return true;
    set_cost(p, *c_.device, prefill_device);
    const plan_misses misses = misses_of(q_, p.serving);
    points.back().misses = misses;
    p.meets_targets = misses.worst() <= 1.0;
    if (misses.of_queue() > 1.0) return false;
    return !any_met_ || may_meet_with_less(q_, p.serving) || misses.worst() <= 1.0;
  }

  /// Evaluates all replica counts, each with its batch limits. serve(load, point) sets the
  /// estimate of one replica under its share of the load.
  template <class Serve>
  void sweep_replicas(const deployment& d, std::optional<std::size_t> speculation, double capacity,
                      const Serve& serve) {
    const std::vector<int> counts = counts_up_to(q_.gpus / d.layout.ranks());
    const bool is_closed = q_.load.is_closed();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (is_closed && counts[i] > q_.load.concurrency()) break;  // idle replicas
      // Batch that the next replica count also fills, at the same cost and with less queueing.
      const bool is_last = i + 1 == counts.size();
      const double filled = is_last || !is_closed ? 0.0 : q_.load.concurrency() / counts[i + 1];
      plan_point p = point_of(d.layout, counts[i]);
      p.speculation_index = speculation;
      sweep_limits(d, p, capacity, filled >= 1.0 ? filled : 0.0, serve);
    }
  }

  /// Evaluates the batch limits of a replica count in falling powers of two, until requests queue
  /// too long. Limits up to `filled` are pruned: the next larger replica count dominates them.
  template <class Serve>
  void sweep_limits(const deployment& d, const plan_point& replicas, double capacity, double filled,
                    const Serve& serve) {
    service_load share = per_replica(q_.load, replicas.replicas);
    if (c_.chunk_tokens) share.chunk_tokens = c_.chunk_tokens;
    if (replicas.speculation_index)
      share.preemption_mode.reset();  // admission stops at the capacity
    const bool is_closed = share.is_closed();
    const double wanted = is_closed ? share.concurrency() : capacity;
    const bool preempts =
        share.preemption_mode && Evaluator::predicts && grows_into_memory(d.serving_engine);
    const double admitted = preempts ? wanted : capacity;
    out_.sweeps.emplace_back();
    double limit = (std::max)(1.0, admitted_sequences(d, share, (std::min)(wanted, admitted)));
    for (; limit >= 1.0; limit = next_limit(limit)) {
      if (limit <= filled) {
        ++out_.sweeps.back().pruned;
      } else {
        share.batch_limit = limit;
        plan_point p = replicas;
        p.batch_limit = limit;
        if (serve(share, p)) {
          p.output_rate = p.replicas * p.serving.output_rate;
          if (!add_point(std::move(p), *c_.device)) break;
        } else {
          ++out_.sweeps.back().pruned;
        }
      }
      if (!is_closed) break;
    }
  }

  const plan_request& q_;
  const plan_candidate& c_;
  const Evaluator& evaluator_;
  bool any_met_;
  const incumbent_list& incumbents_;
  plan_evaluation out_{};
};

/// Evaluates all points of a candidate. `evaluators` has an evaluator for each accelerator and
/// engine.
template <class Evaluators>
plan_evaluation evaluate(const plan_request& q, const plan_candidate& c,
                         const Evaluators& evaluators, bool any_met,
                         const incumbent_list& incumbents) {
  if (c.kind == candidate_kind::infeasible) return {infeasible(c.reason, "", 1, 0), {}};
  const auto& evaluator = evaluators.at(*c.device, c.serving_engine);
  candidate_evaluation evaluation(q, c, evaluator, any_met, incumbents);
  if (c.kind != candidate_kind::pools) return evaluation.evaluate_replicas();
  return evaluation.evaluate_pools(evaluators.at(*c.prefill_device, c.serving_engine));
}

}  // namespace perfmodel::inline v0_3::detail
