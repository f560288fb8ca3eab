// Result of a plan: the Pareto front, the rejected candidates, and the deployment of each point.
#pragma once

#include <algorithm>
#include <concepts>
#include <optional>
#include <perfmodel/plan/request.hpp>
#include <string>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3 {

/// One candidate of a plan: what is deployed, and its predicted performance and cost. If there is a
/// prefill pool, `accelerator`, `layout` and `replicas` describe the decode pool.
struct plan_point {
  label accelerator{};
  plan_precision precision{};
  engine serving_engine = engine::none;
  parallel_layout layout{};
  /// Token budget of an engine step; empty: the engine's.
  std::optional<double> chunk_tokens{};
  /// Index in `plan_request::speculations`; empty: no speculation.
  std::optional<std::size_t> speculation_index{};
  std::optional<plan_pool> prefill{};  ///< empty: one pool that prefills and decodes
  int replicas = 1;
  int gpus = 1;            ///< devices of all replicas and both pools
  double batch_limit = 0;  ///< maximum running requests of a replica
  /// Estimate of one replica; with a prefill pool, of the whole service.
  serving_estimate serving{};
  token_rate<> output_rate{};         ///< output tokens per second of all replicas
  duration<> gpu_time_per_million{};  ///< device time per million output tokens
  /// Cost of a million output tokens; empty if a price is missing.
  std::optional<money<>> cost_per_million{};
  bool meets_targets = true;
};

/// Refusal of a point, for a reason, in the next plan of the same request.
/// Test: a plan that refuses its cheapest point chooses the next, and counts the reason.
inline plan_refusal refusal_of(const plan_point& p, const feasibility& why) {
  return {p.accelerator,  p.precision.name,    p.serving_engine, p.layout,      p.prefill,
          p.chunk_tokens, p.speculation_index, p.replicas,       p.batch_limit, why};
}

namespace detail {

/// Whether a refusal is of this point.
inline bool refuses(const plan_refusal& r, const plan_point& p) {
  return r.accelerator == p.accelerator && r.precision == p.precision.name &&
         r.serving_engine == p.serving_engine && r.layout == p.layout && r.prefill == p.prefill &&
         r.chunk_tokens == p.chunk_tokens && r.speculation_index == p.speculation_index &&
         r.replicas == p.replicas && r.batch_limit == p.batch_limit;
}

}  // namespace detail

/// Rejected candidates with the same accelerator, precision and reason. `layout`, `needed` and
/// `available` are those of the candidate that is nearest to feasible.
struct plan_rejection {
  label accelerator{};
  label precision{};
  parallel_layout layout{};
  std::string reason{};
  const char* unit = "";
  double needed = 0;     ///< amount that the reason is about, in `unit`
  double available = 0;  ///< its limit, in `unit`
  long count = 0;        ///< number of candidates
};

/// Result of a plan. `frontier` is the Pareto front of cost and inter-token latency, cheapest point
/// first. It holds only points that meet the targets, or any feasible points if none meets them.
struct plan_result {
  std::vector<plan_point> frontier{};
  std::vector<plan_rejection> rejected{};
  /// Number of serving estimates: one for each replica count and batch limit of a candidate.
  long evaluated = 0;
  /// Points that were not evaluated to the end: batch limits that more replicas dominate (equal
  /// cost, less queueing), and points with a higher ITL than a cheaper point. `evaluated` and
  /// `feasible` count none of them.
  long pruned = 0;
  /// Evaluated points that fit in memory, within the limits of queueing.
  long feasible = 0;
  /// False if a price is missing; the cost is then device time.
  bool all_priced = true;
  /// Index in `frontier` of the cheapest point that meets the targets; empty if no point does.
  std::optional<std::size_t> best{};
  /// Point nearest to the targets: its largest miss is the smallest. Only if `best` is empty. A
  /// refused point misses by what its refusal says.
  std::optional<plan_point> nearest_point{};
  /// Largest miss of `nearest_point`: a latency / its target, or queueing / its limit.
  double nearest_miss = 1.0;
  /// Point that meets the targets with the fewest GPUs. Among points with equal GPUs it is the
  /// cheapest.
  std::optional<plan_point> fewest_gpus{};
};

namespace detail {

/// Deployment of a model on an accelerator with a precision, layout, engine and token budget. The
/// other fields are those of the request.
inline deployment deployment_of(const plan_request& q, const accelerator& a,
                                const plan_precision& f, const parallel_layout& l, engine e,
                                const std::optional<double>& chunk_tokens) {
  engine_limits limits = q.limits;
  if (!limits.tokens) limits.tokens = chunk_tokens ? chunk_tokens : q.load.chunk_tokens;
  std::optional<basic_lora<>> lora = q.lora;
  if (lora && q.lora_experts_by_engine)
    lora->experts = adapts_routed_experts(e, engine_release::latest);
  return {.device = a,
          .model = q.model,
          .layout = l,
          .weights = f.weights,
          .activations = f.activations,
          .expert_activations = f.expert_activations,
          .kv = f.kv,
          .utilization = q.utilization,
          .activation_bytes = q.activation_bytes,
          .runtime_bytes = q.runtime_bytes,
          .serving_engine = e,
          .limits = limits,
          .prefix_caching = q.prefix_caching,
          .lora = lora,
          .cuda_graphs = q.cuda_graphs};
}

/// Speculation on a deployment. A draft model runs on the same devices in the same layout.
inline speculation speculation_for(speculation s, const deployment& d) {
  if (s.draft) {
    s.draft->device = d.device;
    s.draft->layout = d.layout;
  }
  return s;
}

/// Link between two pools with `devices` GPUs in total: the request's if stated, else
/// default_cache_link.
inline std::optional<cache_link> link_of(const plan_pools& pools, const accelerator& prefill,
                                         const accelerator& decode, int devices) {
  if (pools.link) return pools.link;
  const auto link = default_cache_link(prefill, decode, static_cast<double>(devices));
  if (!link) return std::nullopt;
  return link->link;
}

/// Accelerator of a point (of the decode pool, if there is a prefill pool).
inline const accelerator& accelerator_of(const plan_request& q, const plan_point& p) {
  if (const accelerator* a = find_accelerator(q.accelerators, p.accelerator)) return *a;
  fail(error_code::unknown_accelerator, "this point is not of this request");
}
/// Accelerator of the prefill pool.
inline const accelerator& prefill_accelerator_of(const plan_request& q, const plan_point& p) {
  const label& name = p.prefill ? p.prefill->accelerator : p.accelerator;
  if (name == p.accelerator || name == label{}) return accelerator_of(q, p);
  if (q.pools) {
    if (const accelerator* a = find_accelerator(q.pools->prefill_accelerators, name)) return *a;
  }
  fail(error_code::unknown_accelerator, "the pool that prefills is not of this request");
}

}  // namespace detail

/// Deployment of a point, to evaluate or explain it again. If there is a prefill pool, it is the
/// deployment of the decode pool.
inline deployment deployment_of(const plan_request& q, const plan_point& p) {
  return detail::deployment_of(q, detail::accelerator_of(q, p), p.precision, p.layout,
                               p.serving_engine, p.chunk_tokens);
}
/// Both pools of a point that has a prefill pool.
/// Errors: a point with one pool.
inline disaggregated pools_of(const plan_request& q, const plan_point& p) {
  const deployment d = deployment_of(q, p);
  if (!p.prefill || !q.pools) {
    detail::fail(error_code::inconsistent, "this point has one pool");
  }
  disaggregated pools{.prefill = {d, static_cast<double>(p.prefill->replicas)},
                      .decode = {d, static_cast<double>(p.replicas)},
                      .first_token_from_decode = q.pools->first_token_from_decode};
  pools.prefill.deployment.device = detail::prefill_accelerator_of(q, p);
  pools.prefill.deployment.layout = p.prefill->layout;
  const accelerator& prefill = pools.prefill.deployment.device;
  if (const auto link = detail::link_of(*q.pools, prefill, d.device, p.gpus)) pools.link = *link;
  return pools;
}

namespace detail {

/// Load of a disaggregated service: the request's without preemption, batching wait and scheduler,
/// since prefill and decode share no step.
inline service_load load_of_pools(const plan_request& q) {
  service_load l = q.load;
  l.preemption_mode.reset();
  l.batching_wait_iterations = 0.0;
  l.scheduler.reset();
  return l;
}

}  // namespace detail

/// Load of one replica of a point; with a prefill pool, the whole load. Points with a prefill pool
/// or speculation have no preemption: they admit requests only up to the KV-cache capacity.
inline service_load load_of(const plan_request& q, const plan_point& p) {
  service_load share = p.prefill ? detail::load_of_pools(q) : per_replica(q.load, p.replicas);
  if (p.speculation_index) share.preemption_mode.reset();
  share.batch_limit = p.batch_limit;
  if (p.chunk_tokens) share.chunk_tokens = p.chunk_tokens;
  return share;
}
/// Speculation of a point.
/// Errors: a point without speculation.
inline speculation speculation_of(const plan_request& q, const plan_point& p) {
  if (!p.speculation_index || *p.speculation_index >= q.speculations.size()) {
    detail::fail(error_code::inconsistent, "this point has no speculation");
  }
  return detail::speculation_for(q.speculations[*p.speculation_index], deployment_of(q, p));
}
/// Best case of a point: no latency can be lower and no throughput higher. It is the serving_bound
/// of the point's deployment, pools or speculation. The estimate is that of one replica or, with a
/// prefill pool, of the whole service, like `plan_point::serving`.
/// Errors: a point of another request.
/// Test: on random plans no latency of a point is below its bound, and no throughput is above it.
template <std::same_as<plan_point> Point>
serving_estimate bound_of_point(const plan_request& q, const Point& p) {
  const auto l = load_of(q, p);
  if (p.prefill) return serving_bound(pools_of(q, p), l);
  const auto d = deployment_of(q, p);
  return p.speculation_index ? serving_bound(d, l, speculation_of(q, p)) : serving_bound(d, l);
}

namespace detail {

/// Detects predictions that are too good: returns the bound of a point's output rate if the
/// prediction exceeds it, else nothing. A prediction may admit more sequences than the bound, which
/// reserves memory for whole outputs. The bound is therefore computed with unlimited memory.
/// Leaves out: open loops, where throughput is the arrival rate and the bound queues prefills one
/// at a time.
/// Test: tests/unit/plan_phantoms.cpp, a policy that is faster than the data sheet.
template <std::same_as<plan_point> Point>
std::optional<token_rate<>> exceeded_bound(const plan_request& q, const Point& p) {
  if (!q.load.is_closed()) return std::nullopt;
  const auto lift_memory_limit = [](auto& d) { d.device.dram.capacity = 1e15 * byte; };
  // The prefix-cache hits are those with the real memory.
  const auto computed_load = [&](const auto& d) {
    auto l = resolve_prefix_hit(d, load_of(q, p));
    l.shared = {};
    return l;
  };
  token_rate<> most{};
  if (p.prefill) {
    auto pools = pools_of(q, p);
    const auto l = computed_load(pools.prefill.deployment);
    lift_memory_limit(pools.prefill.deployment);
    lift_memory_limit(pools.decode.deployment);
    most = serving_bound(pools, l).output_rate;
  } else {
    auto d = deployment_of(q, p);
    const auto l = computed_load(d);
    lift_memory_limit(d);
    const serving_estimate bound =
        p.speculation_index ? serving_bound(d, l, speculation_of(q, p)) : serving_bound(d, l);
    most = p.replicas * bound.output_rate;
  }
  if (p.output_rate <= 1.000001 * most) return std::nullopt;
  return most;
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3

// Pareto fronts: the points that no other point dominates.

namespace perfmodel::inline v0_3::detail {

/// Whether any point of the front dominates `x`. dominates(a, b) is a partial order that also holds
/// for equal points.
template <class Point, class Candidate, class Dominates>
bool is_dominated(const std::vector<Point>& front, const Candidate& x, const Dominates& dominates) {
  return std::any_of(front.begin(), front.end(),
                     [&](const Point& known) { return dominates(known, x); });
}

/// Adds `x` unless a point of the front dominates it, and removes the points that `x` dominates.
/// Returns whether it was added. Among equal points the first stays.
template <class Point, class Dominates>
bool add_to_front(std::vector<Point>& front, Point x, const Dominates& dominates) {
  if (is_dominated(front, x, dominates)) return false;
  std::erase_if(front, [&](const Point& known) { return dominates(x, known); });
  front.push_back(std::move(x));
  return true;
}

/// Pareto front of a list of points, in the order of the list.
/// Test: random points, compared with a test of all pairs.
template <class Point, class Dominates>
std::vector<Point> pareto_front(const std::vector<Point>& points, const Dominates& dominates) {
  std::vector<Point> front;
  for (const Point& x : points) (void)add_to_front(front, x, dominates);
  return front;
}

}  // namespace perfmodel::inline v0_3::detail
