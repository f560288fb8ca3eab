// Collection of evaluated candidates into the result of a plan: Pareto front, nearest miss, fewest
// GPUs and rejections.
#pragma once

#include <algorithm>
#include <perfmodel/plan/evaluate.hpp>
#include <perfmodel/plan/result.hpp>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Objectives of a point: cost and ITL span the Pareto front, TTFT and GPUs decide between equals.
struct plan_objectives {
  double cost = 0.0;
  double itl = 0.0;
  double ttft = 0.0;
  int gpus = 0;
};
inline plan_objectives objectives_of(const plan_point& p, bool all_priced) {
  return {cost_of(p, all_priced), p.serving.itl.value(), p.serving.ttft.value(), p.gpus};
}

/// Whether `a` dominates `b`: it is at least as good in cost and ITL. If both are equal, the lower
/// TTFT dominates, then fewer GPUs, then the point that was added first.
constexpr bool dominates(const plan_objectives& a, const plan_objectives& b) {
  if (!(a.cost <= b.cost && a.itl <= b.itl)) return false;
  if (a.cost < b.cost || a.itl < b.itl) return true;
  return a.ttft < b.ttft || (a.ttft == b.ttft && a.gpus <= b.gpus);
}

/// Pareto front of plan points.
class plan_front {
 public:
  bool empty() const { return members_.empty(); }
  void clear() { members_.clear(); }
  bool dominates_point(const plan_objectives& o) const {
    return is_dominated(members_, o, [](const member& known, const plan_objectives& x) {
      return dominates(known.objectives, x);
    });
  }
  void add(const plan_objectives& o, const plan_point& p) {
    if (dominates_point(o)) return;
    (void)add_to_front(members_, {o, p}, [](const member& a, const member& b) {
      return dominates(a.objectives, b.objectives);
    });
  }
  /// Points of the front, in the order in which they were added.
  std::vector<plan_point> points() const {
    std::vector<plan_point> all;
    for (const member& m : members_) all.push_back(m.point);
    return all;
  }

 private:
  struct member {
    plan_objectives objectives{};
    plan_point point{};
  };
  std::vector<member> members_{};
};

/// Counts rejections. Rejections with the same accelerator, precision and reason share an entry,
/// which describes the candidate that is nearest to feasible.
inline void add_rejection(std::vector<plan_rejection>& all, const label& accelerator,
                          const plan_precision& f, const parallel_layout& l, const feasibility& why,
                          long count = 1) {
  const auto ratio = [](double needed, double available) {
    return available > 0 ? needed / available : needed;
  };
  for (plan_rejection& x : all) {
    if (x.accelerator == accelerator && x.precision == f.name && x.reason == why.reason) {
      x.count += count;
      if (ratio(why.needed, why.available) < ratio(x.needed, x.available)) {
        x.layout = l;
        x.needed = why.needed;
        x.available = why.available;
      }
      return;
    }
  }
  all.push_back({accelerator, f.name, l, why.reason, why.unit, why.needed, why.available, count});
}

/// Builds the result of a plan from evaluations, which it receives in the order of the candidates.
template <class Progress>
class plan_collector {
 public:
  /// `checks_bounds`: reject a prediction that is better than its own bound. `incumbents` are among
  /// the points to come: those that they dominate are on no front.
  plan_collector(const plan_request& q, Progress& progress, bool checks_bounds = true,
                 const incumbent_list& incumbents = incumbent_list())
      : q_(q), progress_(progress), checks_bounds_(checks_bounds), incumbents_(incumbents) {
    r_.all_priced = has_all_prices(q);
  }

  /// Whether a point meets the targets, one to come or one before.
  bool has_met_targets() const { return !met_.empty() || !incumbents_.empty(); }

  void add(const plan_candidate& c, const plan_evaluation& e) {
    if (!e.feasible) {
      add_rejection(r_.rejected, c.device->name, *c.precision, c.layout, e.feasible);
      return;
    }
    for (const batch_sweep& sweep : e.sweeps) add(sweep);
  }

  /// Adds the points of a sweep. It stops at a point after which smaller batch limits cannot meet
  /// the targets.
  void add(const batch_sweep& sweep) {
    for (const evaluated_point& x : sweep.points) {
      if (!add(x)) return;
    }
    r_.pruned += sweep.pruned;
  }

  /// Adds a point. Returns whether a smaller batch limit may meet the targets.
  bool add(const evaluated_point& x) {
    const plan_point& p = x.point;
    const long before = r_.evaluated;
    r_.evaluated += 1 + x.overloaded;
    if (r_.evaluated / 256 != before / 256) progress_(r_.evaluated);
    if (!p.serving.feasible) {
      reject(p, p.serving.feasible, 1 + x.overloaded);
      return true;
    }
    for (const plan_refusal& r : q_.refused) {
      if (!refuses(r, p)) continue;
      reject(p, r.why);
      note_refused(p, r.why);
      return true;
    }
    if (!p.meets_targets && !has_met_targets() && is_nearest(x)) {
      if (exceeds_bound(x)) return x.misses.of_queue() <= 1.0;
      r_.nearest_point = p;
      r_.nearest_miss = x.misses.worst();
    }
    if (queues_too_long(x)) return false;
    if ((p.meets_targets || !has_met_targets()) && !add_to_fronts(x)) return true;
    ++r_.feasible;
    return p.meets_targets || !has_met_targets() || may_meet_with_less(q_, p.serving);
  }

  /// Returns the result. with_terms(point) fills in the breakdown of an engine step, for the points
  /// of the result only.
  template <class WithTerms>
  plan_result finish(const WithTerms& with_terms) {
    if (!met_.empty()) {
      r_.best = 0;
      r_.nearest_point.reset();
      r_.nearest_miss = 1.0;
    }
    r_.frontier = (r_.best ? met_ : missed_).points();
    std::sort(r_.frontier.begin(), r_.frontier.end(),
              [&](const plan_point& x, const plan_point& y) {
                return cost_of(x, r_.all_priced) < cost_of(y, r_.all_priced);
              });
    for (plan_point& p : r_.frontier) with_terms(p);
    if (r_.nearest_point) with_terms(*r_.nearest_point);
    if (r_.fewest_gpus) with_terms(*r_.fewest_gpus);
    return std::move(r_);
  }
  plan_result finish() {
    return finish([](plan_point&) {});
  }

 private:
  void reject(const plan_point& p, const feasibility& why, long count = 1) {
    add_rejection(r_.rejected, p.accelerator, p.precision, p.layout, why, count);
  }
  bool is_nearest(const evaluated_point& x) const {
    return !r_.nearest_point || x.misses.worst() < r_.nearest_miss;
  }
  /// A refused point misses its target by needed / available of the refusal, and may be nearest.
  void note_refused(const plan_point& p, const feasibility& why) {
    const double miss = why.available > 0.0 ? why.needed / why.available : infinity;
    if (has_met_targets() || (r_.nearest_point && r_.nearest_miss <= miss)) return;
    r_.nearest_point = p;
    r_.nearest_point->meets_targets = false;
    r_.nearest_miss = miss;
  }
  /// Rejects a point that exceeds a limit of queueing. Returns whether it did.
  bool queues_too_long(const evaluated_point& x) {
    const serving_estimate& s = x.point.serving;
    if (x.misses.wait > 1.0) {
      reject(x.point, infeasible("the mean queueing time exceeds its limit", "s", s.wait.value(),
                                 q_.max_queueing_time.value()));
    } else if (x.misses.queue > 1.0) {
      reject(x.point, infeasible("requests queue for KV memory or a running-request slot", "%",
                                 100.0 * s.queued, 100.0 * q_.queued_limit));
    }
    return x.misses.of_queue() > 1.0;
  }
  /// Rejects a prediction that is better than its own bound, and therefore wrong. Returns whether
  /// it did.
  bool exceeds_bound(const evaluated_point& x) {
    if (!checks_bounds_ || x.is_within_bound) return false;
    const plan_point& p = x.point;
    const auto most = exceeded_bound(q_, p);
    if (!most) return false;
    reject(p, infeasible("the prediction exceeds its own bound", "tok/s", p.output_rate.value(),
                         most->value()));
    return true;
  }
  bool is_fewest(const plan_objectives& o) const {
    if (!r_.fewest_gpus || o.gpus < r_.fewest_gpus->gpus) return true;
    return o.gpus == r_.fewest_gpus->gpus && o.cost < fewest_cost_;
  }
  /// Adds a point to the front of its kind (targets met or missed). Returns false if it exceeds its
  /// bound.
  bool add_to_fronts(const evaluated_point& x) {
    const plan_point& p = x.point;
    const plan_objectives o = objectives_of(p, r_.all_priced);
    plan_front& front = p.meets_targets ? met_ : missed_;
    if (incumbents_.dominate(o.gpus, o.cost, p.serving.itl)) return true;
    const bool has_fewest = p.meets_targets && is_fewest(o);
    if (!has_fewest && front.dominates_point(o)) return true;
    if (exceeds_bound(x)) return false;
    if (p.meets_targets) missed_.clear();
    if (has_fewest) {
      r_.fewest_gpus = p;
      fewest_cost_ = o.cost;
    }
    front.add(o, p);
    return true;
  }

  const plan_request& q_;
  Progress& progress_;
  bool checks_bounds_;
  incumbent_list incumbents_;
  plan_result r_{};
  plan_front met_{}, missed_{};
  double fewest_cost_ = 0.0;
};

}  // namespace perfmodel::inline v0_3::detail
