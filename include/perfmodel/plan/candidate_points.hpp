// Points of one candidate of a plan: a deployment with replica counts and batch limits.
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
  plan_misses misses{};          ///< all 0 for an infeasible point
  bool is_within_bound = false;  ///< its throughput has been compared with its bound
  long overloaded = 0;           ///< smaller replica counts that are overloaded as this one is
};

/// Memory of a candidate.
struct candidate_memory {
  feasibility feasible{};
  double capacity = 0.0;  ///< sequences that the KV cache holds
  std::optional<service_memory<double>> service{};
  std::optional<double> growing_capacity{};

  /// Takes over what the loads of a deployment share, and gives it to others.
  template <class Steps>
  void take(const Steps& steps) {
    if constexpr (shares_loads<Steps>) {
      service = steps.memory;
      growing_capacity = steps.growing_capacity;
    }
  }
  template <class Steps>
  void give(Steps& steps) const {
    if constexpr (shares_loads<Steps>) {
      steps.memory = service;
      steps.growing_capacity = growing_capacity;
    }
  }
};

/// What is known of a candidate before its evaluation.
struct known_candidate {
  std::optional<candidate_memory> memory{};
  sized_result most_replicas{};           ///< result of the largest replica count, closed loop
  std::vector<evaluated_point> points{};  ///< points evaluated before
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
  std::optional<candidate_memory> memory{};  ///< for further evaluations; empty: not asked for
};
/// Evaluations of the candidates that share engine steps.
using group_evaluation = std::vector<plan_evaluation>;

/// Whether smaller batch limits may meet the targets, once another candidate has met them.
inline bool may_meet_with_less(const plan_request& q, const serving_estimate& s) {
  const auto& ttft = q.targets.ttft;
  return !ttft || ttft->share || s.wait <= ttft->limit;
}

/// Whether to try a smaller batch limit than that of a point.
inline bool may_try_less(const plan_request& q, const evaluated_point& x, bool any_met) {
  if (!x.point.serving.feasible) return true;
  if (x.misses.of_queue() > 1.0) return false;
  return !any_met || may_meet_with_less(q, x.point.serving) || x.misses.worst() <= 1.0;
}

/// Next batch limit of a sweep: the largest power of two below `limit`.
inline double next_limit(double limit) {
  int exponent = 0;
  return std::frexp(limit, &exponent) > 0.5 ? std::ldexp(1.0, exponent - 1) : 0.5 * limit;
}
/// Number of batch limits of a sweep from `limit` on.
inline long count_limits(double limit) {
  int exponent = 0;
  return std::frexp(limit, &exponent) > 0.5 ? exponent + 1 : exponent;
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

/// Evaluation of the points of one candidate. `any_met` states that an earlier candidate has met
/// the targets; sweeps then end where smaller batch limits cannot meet them. Points of an open loop
/// that an incumbent dominates are not evaluated to the end.
template <class Evaluator>
class candidate_points {
 public:
  candidate_points(const plan_request& q, const plan_candidate& c, const Evaluator& evaluator,
                   bool any_met, const incumbent_list& incumbents, const known_candidate& known)
      : q_(q),
        c_(c),
        evaluator_(evaluator),
        any_met_(any_met),
        incumbents_(incumbents),
        known_(known) {}

 protected:
  double longest() const { return q_.load.input_tokens + q_.load.output_tokens; }

  deployment deployment_of_candidate() const {
    return deployment_of(q_, *c_.device, *c_.precision, c_.layout, c_.serving_engine,
                         c_.chunk_tokens);
  }
  /// Memory of the candidate, computed and checked unless it is known.
  candidate_memory memory_of(const deployment& d) const {
    if (known_.memory) return *known_.memory;
    candidate_memory m{.feasible = fits(d, 1.0, longest())};
    if (!m.feasible) return m;
    check_deployment(d);
    if (c_.kind == candidate_kind::replicas)
      m.capacity = kv_capacity(d, q_.load.shared, context_of(d)).sequences;
    return m;
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

  /// Sets the cost and the misses of the last point of the last sweep. Returns whether to try a
  /// smaller batch limit.
  bool complete_point(const accelerator& prefill_device) {
    std::vector<evaluated_point>& points = out_.sweeps.back().points;
    plan_point& p = points.back().point;
    if (!p.serving.feasible) return true;
    set_cost(p, *c_.device, prefill_device);
    points.back().misses = misses_of(q_, p.serving);
    p.meets_targets = points.back().misses.worst() <= 1.0;
    return may_try_less(q_, points.back(), any_met_);
  }
  /// The point evaluated before with these replicas, speculation and batch limit; null without one.
  const evaluated_point* known_point(const plan_point& p, double limit) const {
    for (const evaluated_point& x : known_.points) {
      if (x.point.replicas == p.replicas && x.point.batch_limit == limit &&
          x.point.speculation_index == p.speculation_index)
        return &x;
    }
    return nullptr;
  }

  /// Replica counts to try: in a closed loop none is idle.
  std::vector<int> replica_counts(const deployment& d) const {
    std::vector<int> counts = counts_up_to(q_.gpus / d.layout.ranks());
    if (q_.load.is_closed())
      std::erase_if(counts, [&](int n) { return n > q_.load.concurrency(); });
    return counts;
  }
  /// Evaluates the i-th replica count with its batch limits. serve(load, point) sets the estimate
  /// of one replica under its share of the load.
  template <class Serve>
  void sweep_count(const deployment& d, const std::vector<int>& counts, std::size_t i,
                   std::optional<std::size_t> speculation, double capacity, const Serve& serve) {
    plan_point p = point_of(d.layout, counts[i]);
    p.speculation_index = speculation;
    // Batch that the next replica count also fills, at the same cost and with less queueing.
    const bool is_last = i + 1 == counts.size();
    const double filled =
        is_last || !q_.load.is_closed() ? 0.0 : q_.load.concurrency() / counts[i + 1];
    sweep_limits(d, p, capacity, filled, serve);
  }

  /// Evaluates all replica counts, each with its batch limits.
  template <class Serve>
  void sweep_replicas(const deployment& d, std::optional<std::size_t> speculation, double capacity,
                      const Serve& serve) {
    const std::vector<int> counts = replica_counts(d);
    for (std::size_t i = 0; i < counts.size(); ++i)
      sweep_count(d, counts, i, speculation, capacity, serve);
  }

  /// Load of one of several replicas, without its batch limit.
  service_load share_of(int replicas) const {
    service_load share = per_replica(q_.load, replicas);
    if (c_.chunk_tokens) share.chunk_tokens = c_.chunk_tokens;
    return share;
  }
  /// Largest batch limit of a replica with a KV cache for `capacity` sequences.
  double largest_limit(const deployment& d, const service_load& share, double capacity) const {
    const double wanted = share.is_closed() ? share.concurrency() : capacity;
    const bool preempts =
        share.preemption_mode && Evaluator::predicts && grows_into_memory(d.serving_engine);
    const double admitted = preempts ? wanted : capacity;
    return (std::max)(1.0, admitted_sequences(d, share, (std::min)(wanted, admitted)));
  }

  /// Batch limits of a replica in falling order.
  std::vector<double> limits_of(const deployment& d, const service_load& share,
                                double capacity) const {
    std::vector<double> all;
    for (double x = largest_limit(d, share, capacity); x >= 1.0; x = next_limit(x))
      all.push_back(x);
    return all;
  }
  /// Adds a point to the last sweep, unless serve(load, point) returns false. Returns whether to
  /// try a smaller batch limit.
  template <class Serve>
  bool serve_point(const plan_point& replicas, const service_load& share, const Serve& serve) {
    std::vector<evaluated_point>& points = out_.sweeps.back().points;
    if (const evaluated_point* known = known_point(replicas, *share.batch_limit)) {
      points.push_back(*known);
      return may_try_less(q_, *known, any_met_);
    }
    points.push_back({replicas});
    plan_point& p = points.back().point;
    p.batch_limit = *share.batch_limit;
    if (!serve(share, p)) {
      points.pop_back();
      ++out_.sweeps.back().pruned;
      return true;
    }
    p.output_rate = p.replicas * p.serving.output_rate;
    return complete_point(*c_.device);
  }

  /// Evaluates the batch limits of a replica count in falling powers of two, until requests queue
  /// too long. Limits up to `filled` are pruned: the next larger replica count dominates them.
  template <class Serve>
  void sweep_limits(const deployment& d, const plan_point& replicas, double capacity, double filled,
                    const Serve& serve) {
    service_load share = share_of(replicas.replicas);
    if (replicas.speculation_index)
      share.preemption_mode.reset();  // admission stops at the capacity
    const bool is_closed = share.is_closed();
    out_.sweeps.emplace_back();
    double limit = largest_limit(d, share, capacity);
    for (; limit >= 1.0; limit = next_limit(limit)) {
      if (limit <= filled) {
        out_.sweeps.back().pruned += count_limits(limit);
        break;
      }
      share.batch_limit = limit;
      if (!serve_point(replicas, share, serve) || !is_closed) break;
    }
  }

  const plan_request& q_;
  const plan_candidate& c_;
  const Evaluator& evaluator_;
  bool any_met_;
  const incumbent_list& incumbents_;
  const known_candidate& known_;
  plan_evaluation out_{};
};

}  // namespace perfmodel::inline v0_3::detail
