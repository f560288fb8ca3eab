// Result of a plan: the Pareto front, the rejections, and the deployment behind each point.
#pragma once

#include <concepts>
#include <optional>
#include <perfmodel/plan/request.hpp>
#include <string>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Prefill pool of a disaggregated service.
struct plan_pool {
  parallel_layout layout{};
  int replicas = 1;
  label accelerator{};  ///< empty: accelerator of the decode pool
};

/// Deployment of a plan. With a prefill pool, `accelerator`, `layout` and `replicas` are those of
/// the decode pool.
struct plan_point {
  label accelerator{};
  plan_precision precision{};
  engine serving_engine = engine::none;
  parallel_layout layout{};
  std::optional<double> chunk_tokens{};  ///< token budget of an engine step; none: the engine's
  std::optional<std::size_t> speculation_index{};  ///< in `plan_request::speculations`
  std::optional<plan_pool> prefill{};              ///< none: one pool
  int replicas = 1;
  int gpus = 1;                       ///< devices in use, in both pools
  double batch_limit = 0;             ///< maximum running requests of a replica
  serving_estimate serving{};         ///< one replica; with a prefill pool the whole service
  token_rate<> output_rate{};         ///< output tokens per second of all replicas
  duration<> gpu_time_per_million{};  ///< device time per million output tokens
  std::optional<money<>> cost_per_million{};  ///< none: a price is missing
  bool meets_targets = true;
};

/// Rejected candidates of one accelerator, precision and reason, with the nearest to feasible.
struct plan_rejection {
  label accelerator{};
  label precision{};
  parallel_layout layout{};
  std::string reason{};
  const char* unit = "";
  double needed = 0;
  double available = 0;
  long count = 0;
};

/// Plan: `frontier` is the Pareto front of cost and inter-token latency, cheapest first, over the
/// points within the targets, or over all points if none is.
struct plan_result {
  std::vector<plan_point> frontier{};
  std::vector<plan_rejection> rejected{};
  long evaluated = 0;
  long pruned = 0;  ///< candidates dominated before evaluation, neither evaluated nor feasible
  long feasible = 0;
  bool all_priced = true;                     ///< false: cost is device time
  std::optional<std::size_t> best{};          ///< index of the cheapest point within the targets
  std::optional<plan_point> nearest_point{};  ///< without a best: the smallest worst miss
  double nearest_miss = 1.0;  ///< worst ratio of a latency of that point to its target
  /// Point within the targets on the fewest GPUs; of equals the cheapest evaluated.
  std::optional<plan_point> fewest_gpus{};
};

namespace detail {

/// Deployment of a request with a precision, layout, engine and token budget.
inline deployment deployment_of(const plan_request& q, const accelerator& a,
                                const plan_precision& f, const parallel_layout& l, engine e,
                                const std::optional<double>& chunk_tokens) {
  engine_limits limits = q.limits;
  if (!limits.tokens) limits.tokens = chunk_tokens ? chunk_tokens : q.load.chunk_tokens;
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
          .limits = limits};
}

/// Speculation on a deployment: a draft model has its devices and its layout.
inline speculation speculation_for(speculation s, const deployment& d) {
  if (s.draft) {
    s.draft->device = d.device;
    s.draft->layout = d.layout;
  }
  return s;
}

/// Link between pools of `devices` GPUs in total: the request's, else default_cache_link.
inline std::optional<cache_link> link_of(const plan_pools& pools, const accelerator& prefill,
                                         const accelerator& decode, int devices) {
  if (pools.link) return pools.link;
  const auto link = default_cache_link(prefill, decode, static_cast<double>(devices));
  if (!link) return std::nullopt;
  return link->link;
}

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

/// Deployment of a point, to evaluate or explain it again; with a prefill pool the decode pool's.
inline deployment deployment_of(const plan_request& q, const plan_point& p) {
  return detail::deployment_of(q, detail::accelerator_of(q, p), p.precision, p.layout,
                               p.serving_engine, p.chunk_tokens);
}
/// Pools of a point with a prefill pool.
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

/// Load of a disaggregated service, which has no preemption and no batching wait, and no scheduler
/// that mixes prefill and decode.
inline service_load load_of_pools(const plan_request& q) {
  service_load l = q.load;
  l.preemption_mode.reset();
  l.batching_wait_iterations = 0.0;
  l.scheduler.reset();
  return l;
}

}  // namespace detail

/// Load of one replica of a point; with a prefill pool the whole load. Points with a prefill pool
/// or speculation admit requests up to the KV-cache capacity, without preemption.
inline service_load load_of(const plan_request& q, const plan_point& p) {
  service_load share = p.prefill ? detail::load_of_pools(q) : per_replica(q.load, p.replicas);
  if (p.speculation_index) share.preemption_mode.reset();
  share.batch_limit = p.batch_limit;
  if (p.chunk_tokens) share.chunk_tokens = p.chunk_tokens;
  return share;
}
/// Speculation of a point. Errors: a point without speculation.
inline speculation speculation_of(const plan_request& q, const plan_point& p) {
  if (!p.speculation_index || *p.speculation_index >= q.speculations.size()) {
    detail::fail(error_code::inconsistent, "this point has no speculation");
  }
  return detail::speculation_for(q.speculations[*p.speculation_index], deployment_of(q, p));
}
/// Lower bound of a point: serving_bound of its deployment, its pools or its speculation, with the
/// scope of `plan_point::serving`.
/// Errors: a point of another request.
/// Test: on random plans no latency of a point is below its bound, and no throughput above.
template <std::same_as<plan_point> Point>
serving_estimate bound_of_point(const plan_request& q, const Point& p) {
  const auto l = load_of(q, p);
  if (p.prefill) return serving_bound(pools_of(q, p), l);
  const auto d = deployment_of(q, p);
  return p.speculation_index ? serving_bound(d, l, speculation_of(q, p)) : serving_bound(d, l);
}

namespace detail {

/// Largest output rate of a point by its bound, if the prediction exceeds it. The bound has no
/// memory limit, since admission depends on the memory that an engine has. Leaves out: open loops,
/// where throughput is the arrival rate and the bound queues prefills one at a time.
/// Test: tests/unit/plan_phantoms.cpp, a policy above the data sheet.
template <std::same_as<plan_point> Point>
std::optional<token_rate<>> exceeded_bound(const plan_request& q, const Point& p) {
  if (!q.load.is_closed()) return std::nullopt;
  const auto lift_memory_limit = [](auto& d) { d.device.dram.capacity = 1e15 * byte; };
  // The prefix-cache hits are those of the real memory.
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
