// What a plan answers: points that are worth having, and what was left out.
#pragma once

#include <concepts>
#include <optional>
#include <perfmodel/plan/request.hpp>
#include <string>
#include <vector>

namespace perfmodel {

/// Replicas that compute prompts alone.
struct plan_pool {
  parallel_layout layout{};
  int replicas = 1;
  label accelerator{};  ///< none: of those that decode
};

struct plan_point {
  label accelerator{};  ///< where prompts have a pool of their own, of those that decode
  plan_precision precision{};
  engine serving_engine = engine::none;
  parallel_layout layout{};              ///< where prompts have a pool of their own, of the other
  std::optional<double> chunk_tokens{};  ///< prompt tokens of a pass; none: the engine's own
  std::optional<std::size_t> drafts{};   ///< which of the request's drafts
  std::optional<plan_pool> prefill{};    ///< the pool that computes prompts, where they are apart
  int replicas = 1;
  int gpus = 1;                       ///< in use, of both pools
  double batch_limit = 0;             ///< sequences per replica the scheduler admits
  serving_estimate serving{};         ///< of one replica; of pools the whole service
  token_rate<> output_rate{};         ///< of the whole service
  duration<> gpu_time_per_million{};  ///< device time that a million output tokens take
  std::optional<money<>>
      cost_per_million{};  ///< where its accelerators have prices, of all of them
  bool meets_targets = true;
};

/// Deployments left out, by reason: the one that came nearest stands for all of them.
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

/// `frontier` holds the points that no other beats on both inter-token latency and cost, cheapest
/// first; of those within the targets, where any are. `best` indexes the cheapest one of these;
/// where there is none, `nearest` is the point whose worst miss is the smallest, and `miss` that:
/// over its target. `all_priced` says whether cost is money or, where a price is missing, device time.
/// `pruned` were settled without an evaluation, since another is as cheap and as quick, and is
/// sooner; they count as neither evaluated nor feasible.
struct plan_result {
  std::vector<plan_point> frontier{};
  std::vector<plan_rejection> rejected{};
  long evaluated = 0;
  long pruned = 0;
  long feasible = 0;
  bool all_priced = true;
  std::optional<std::size_t> best{};
  std::optional<plan_point> nearest{};
  double miss = 1.0;
  /// Within the targets on the fewest devices, and the cheapest of these, of what was evaluated.
  std::optional<plan_point> fewest{};
};

namespace detail {

/// The deployment of a request that has these formats, layout and engine.
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

/// Drafts where a deployment runs: a model that drafts is on the same devices, cut alike.
inline speculation speculation_on(speculation s, const deployment& d) {
  if (s.draft) {
    s.draft->device = d.device;
    s.draft->layout = d.layout;
  }
  return s;
}

/// The link between pools of `devices` GPUs in all: the request's, else default_cache_link.
inline std::optional<cache_link> link_of(const plan_pools& pools, const accelerator& prompts,
                                         const accelerator& answers, int devices) {
  if (pools.link) return pools.link;
  const auto link = default_cache_link(prompts, answers, static_cast<double>(devices));
  if (!link) return std::nullopt;
  return link->link;
}

inline const accelerator* named_in(const std::vector<accelerator>& all, const label& name) {
  for (const accelerator& a : all) {
    if (a.name == name) return &a;
  }
  return nullptr;
}
inline const accelerator& accelerator_of(const plan_request& q, const plan_point& p) {
  if (const accelerator* a = named_in(q.accelerators, p.accelerator)) return *a;
  fail(error_code::unknown_accelerator, "this point is not of this request");
}
/// Of the chips that compute a point's prompts.
inline const accelerator& prefill_accelerator_of(const plan_request& q, const plan_point& p) {
  const label& name = p.prefill ? p.prefill->accelerator : p.accelerator;
  if (name == p.accelerator || name == label{}) return accelerator_of(q, p);
  if (q.pools) {
    if (const accelerator* a = named_in(q.pools->prefill_on, name)) return *a;
  }
  fail(error_code::unknown_accelerator, "the pool that prefills is not of this request");
}

}  // namespace detail

/// The deployment behind a point, to evaluate or explain it again; of pools, that which decodes.
inline deployment deployment_of(const plan_request& q, const plan_point& p) {
  return detail::deployment_of(q, detail::accelerator_of(q, p), p.precision, p.layout,
                               p.serving_engine, p.chunk_tokens);
}
/// The pools behind a point that has two.
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
  const accelerator& prompts = pools.prefill.deployment.device;
  if (const auto link = detail::link_of(*q.pools, prompts, d.device, p.gpus)) pools.link = *link;
  return pools;
}
namespace detail {

/// Pools let in no more than fit, and no prompt of theirs meets answers, to be scheduled or held beside them.
inline service_load load_of_pools(const plan_request& q) {
  service_load l = q.load;
  l.preemption_mode.reset();
  l.batching_wait_iterations = 0.0;
  l.scheduler.reset();
  return l;
}

}  // namespace detail

/// The share of the load that one replica of a point serves; of pools, the whole load. Of a point with pools or
/// drafts no more are let in than fit, and none is evicted.
inline service_load load_of(const plan_request& q, const plan_point& p) {
  service_load share = p.prefill ? detail::load_of_pools(q) : per_replica(q.load, p.replicas);
  if (p.drafts) share.preemption_mode.reset();
  share.batch_limit = p.batch_limit;
  if (p.chunk_tokens) share.chunk_tokens = p.chunk_tokens;
  return share;
}
/// What a point with drafts speculates with.
inline speculation speculation_of(const plan_request& q, const plan_point& p) {
  if (!p.drafts || *p.drafts >= q.drafts.size()) {
    detail::fail(error_code::inconsistent, "this point has no drafts");
  }
  return detail::speculation_on(q.drafts[*p.drafts], deployment_of(q, p));
}
/// What no service of a point does better, whatever serves it: serving_bound of its deployment, of
/// its two pools, or of its rounds of drafts. As `serving` of the point: of one replica, of pools
/// the whole service.
/// Errors: a point of another request.
/// Test: of random plans, no latency of a point is below it, and no throughput above.
template <std::same_as<plan_point> Point>
serving_estimate bound_of_point(const plan_request& q, const Point& p) {
  const service_load l = load_of(q, p);
  if (p.prefill) return serving_bound(pools_of(q, p), l);
  const deployment d = deployment_of(q, p);
  return p.drafts ? serving_bound(d, l, speculation_of(q, p)) : serving_bound(d, l);
}

namespace detail {

/// Output tokens per second of a point that its own bound does not allow: none where it is within
/// it. The bound is serving_bound without a limit by memory, since engines admit sequences by the
/// memory that they have so far. It is asked of closed loops, where throughput is an answer. In an
/// open loop throughput is the arrival rate, and the bound queues prompts one at a time: it has no
/// largest rate that holds.
/// Test: tests/unit/plan_phantoms.cpp, a policy that is faster than the data sheet.
template <std::same_as<plan_point> Point>
std::optional<token_rate<>> exceeded_bound(const plan_request& q, const Point& p) {
  if (!q.load.is_closed()) return std::nullopt;
  const auto unlimited = [](deployment& d) { d.device.dram.capacity = 1e15 * byte; };
  // Prompts find in the cache what they find with the memory that there is.
  const auto found = [&](const deployment& d) {
    service_load l = resolve_prefix_hit(d, load_of(q, p));
    l.shared = {};
    return l;
  };
  token_rate<> most{};
  if (p.prefill) {
    disaggregated pools = pools_of(q, p);
    const service_load l = found(pools.prefill.deployment);
    unlimited(pools.prefill.deployment);
    unlimited(pools.decode.deployment);
    most = serving_bound(pools, l).output_rate;
  } else {
    deployment d = deployment_of(q, p);
    const service_load l = found(d);
    unlimited(d);
    most = p.replicas *
           (p.drafts ? serving_bound(d, l, speculation_of(q, p)) : serving_bound(d, l)).output_rate;
  }
  if (p.output_rate <= 1.000001 * most) return std::nullopt;
  return most;
}

}  // namespace detail

}  // namespace perfmodel
