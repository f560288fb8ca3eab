// Why a point of a plan is as it is: what holds it back, what its cost depends on, whose tokens cost what.
#pragma once

#include <algorithm>
#include <cmath>
#include <perfmodel/core/error.hpp>
#include <perfmodel/explain/sensitivity.hpp>
#include <perfmodel/plan/plan.hpp>

namespace perfmodel {

/// What stands in the way of a fuller batch, which would cost less: `load`: there are no more requests.
/// `latency`: nothing; a fuller batch costs less and is slower, so that this point buys latency. Of
/// pools, the stage that is busiest.
enum class plan_constraint {
  latency,
  memory,
  load,
  ttft,
  itl,
  e2e,
  wait,
  rate,
  prefill_pool,
  transfer,
  decode_pool
};

constexpr const char* name_of(plan_constraint c) {
  constexpr const char* names[] = {"latency",      "memory",     "load",       "TTFT target",
                                   "ITL target",   "E2E target", "wait",       "arrivals",
                                   "prefill pool", "cache link", "decode pool"};
  return detail::entry_of(names, c, "plan_constraint");
}

/// Elasticities are d ln(result) / d ln(resource): -1 halves the result where the resource doubles.
/// `binding` says what `usd` per token would fall with, were it looser.
struct plan_review {
  plan_constraint binding = plan_constraint::latency;
  std::array<elasticity, 7> cost{};     ///< of the price of a token, or of device time
  std::array<elasticity, 7> latency{};  ///< of the inter-token latency
  double input_share = 0.0;             ///< of the device time of a request, its prompt's
  std::optional<money<>> per_million_input{};
  std::optional<money<>> per_million_output{};
};

namespace detail {

inline constexpr std::array<const char*, 6> plan_resources = {"matrix.peak",    "vector.peak",
                                                              "dram.bandwidth", "dram.capacity",
                                                              "l2.bandwidth",   "fabric.bandwidth"};

/// An accelerator with so many times as much of one of them.
template <Scalar T>
basic_accelerator<T> with_more(const basic_accelerator<T>& a, std::size_t resource, double factor) {
  return map_scalars<T>(a, [&](const field_path& path, const T& x) -> T {
    const std::size_t of[] = {0, 1, 2, 4, 5};
    const std::size_t known = resource_of(path);
    const bool own = known < 5 ? of[known] == resource : resource == 3 && path.is("dram.capacity");
    return own ? factor * x : x;
  });
}

/// So many times as much of a resource, of every chip of a point.
struct plan_change {
  std::size_t resource = 0;
  double factor = 1.0;

  template <Scalar T>
  basic_accelerator<T> of(const basic_accelerator<T>& a) const {
    return factor == 1.0 ? a : with_more(a, resource, factor);
  }
};

/// A point of a request, served again: on other devices, with other batches. `prefill` serves the prompts of
/// pools.
template <class Serve>
class plan_reviewer {
 public:
  plan_reviewer(const plan_request& q, const plan_point& p, const Serve& serve,
                const Serve& prefill)
      : q_(q), p_(p), serve_(serve), prefill_(prefill), device_(accelerator_of(q, p)) {}

  plan_review review() const {
    plan_review out;
    out.binding = binding();
    elasticities_into(out);
    out.input_share = input_share();
    if (p_.cost_per_million) {
      const double input = q_.load.input_tokens, output = q_.load.output_tokens;
      const money<> request_cost = output * *p_.cost_per_million;  // of a million requests
      out.per_million_input = out.input_share / input * request_cost;
      out.per_million_output = (1.0 - out.input_share) / output * request_cost;
    }
    return out;
  }

 private:
  deployment on(const plan_change& c) const {
    return deployment_of(q_, c.of(device_), p_.precision, p_.layout, p_.serving_engine,
                         p_.chunk_tokens);
  }

  serving_estimate serve(const plan_change& c, const service_load& l) const {
    if constexpr (Serve::predicts) {
      if (p_.prefill) return serve_pools(c, l);
      const deployment d = on(c);
      if (p_.drafts) return serve_(d, l, speculation_on(q_.drafts[*p_.drafts], d));
    }
    return serve_(on(c), l);
  }
  disaggregated_estimate serve_pools(const plan_change& c, const service_load& l) const {
    disaggregated pools = pools_of(q_, p_);
    accelerator& prompts = pools.prefill.deployment.device;
    accelerator& answers = pools.decode.deployment.device;
    prompts = c.of(prompts);
    answers = c.of(answers);
    if (const auto link = link_of(*q_.pools, prompts, answers, p_.gpus)) pools.link = *link;
    if constexpr (Serve::predicts) return serve_.apart(pools, l, prefill_);
    return {};
  }

  plan_constraint binding() const {
    if (p_.prefill) return busiest();
    const service_load own = load_of(q_, p_);
    service_load fuller = own;
    const bool closed = q_.load.is_closed();
    if (closed && memory_binds()) return plan_constraint::memory;
    if (closed && own.concurrency() > p_.batch_limit) {
      fuller.batch_limit = 2.0 * p_.batch_limit;
    } else {
      if (p_.replicas == 1) return plan_constraint::load;
      fuller = per_replica(q_.load, p_.replicas - 1);
      fuller.chunk_tokens = own.chunk_tokens;
      fuller.preemption_mode = own.preemption_mode;
      fuller.batch_limit = q_.load.batch_limit;
    }
    const serving_estimate s = serve({}, fuller);
    if (!s.feasible) return plan_constraint::rate;
    const plan_misses miss = misses_of(q_, s);
    if (miss.worst() <= 1.0) return plan_constraint::latency;
    if (miss.of_queue() >= miss.of_targets()) return plan_constraint::wait;
    if (miss.itl >= miss.of_targets()) return plan_constraint::itl;
    return miss.ttft >= miss.e2e ? plan_constraint::ttft : plan_constraint::e2e;
  }
  /// Whether nothing but memory keeps more sequences out: a tenth more of it lets some in.
  bool memory_binds() const {
    service_load free = load_of(q_, p_);
    free.batch_limit = q_.load.batch_limit;
    const auto batch = [&](double memory) { return serve({3, memory}, free).batch; };
    const double as_it_is = batch(1.0);
    return as_it_is <= 1.005 * p_.serving.batch && batch(1.1) > 1.005 * as_it_is;
  }
  plan_constraint busiest() const {
    switch (serve_pools({}, load_of(q_, p_)).binding) {
      case service_stage::prefill: return plan_constraint::prefill_pool;
      case service_stage::transfer: return plan_constraint::transfer;
      default: return plan_constraint::decode_pool;
    }
  }

  /// Central differences over 2 %; where memory holds the batch back, it grows with the capacity.
  void elasticities_into(plan_review& out) const {
    service_load l = load_of(q_, p_);
    if (out.binding == plan_constraint::memory) l.batch_limit = q_.load.batch_limit;
    constexpr double step = 0.01;
    const double width = std::log((1.0 + step) / (1.0 - step));
    for (std::size_t i = 0; i < plan_resources.size(); ++i) {
      const serving_estimate more = serve({i, 1.0 + step}, l);
      const serving_estimate less = serve({i, 1.0 - step}, l);
      const bool fits = more.feasible && less.feasible;
      const auto over = [&](double high, double low) {
        return fits ? std::log(high / low) / width : 0.0;
      };
      out.cost[i] = {plan_resources[i], over(less.output_rate.value(), more.output_rate.value())};
      out.latency[i] = {plan_resources[i], over(more.itl.value(), less.itl.value())};
    }
    out.cost.back() = {"price", p_.cost_per_million ? 1.0 : 0.0};
    out.latency.back() = {"price", 0.0};
  }

  /// P / (P + O D / B), with P the time of a prompt alone, and D that of an iteration of B sequences
  /// without prompts, for each of the O tokens that it emits; of pools, their shares of the devices, or
  /// of what these cost, where they are of two kinds.
  double input_share() const {
    if (p_.prefill) {
      const double prompts = p_.prefill->replicas * p_.prefill->layout.ranks();
      const accelerator& on = prefill_accelerator_of(q_, p_);
      if (on.name == device_.name || !p_.cost_per_million) return prompts / p_.gpus;
      const double of_prefills = prompts * on.price.value();
      return of_prefills / (of_prefills + (p_.gpus - prompts) * device_.price.value());
    }
    const serving_estimate& s = p_.serving;
    const double mixed = s.decode.time.value();
    double alone = 1.0;
    if constexpr (Serve::predicts) {
      alone = 1.0 - s.decode.terms.time_of("prompts").value() / mixed;
    } else {
      const iteration i{(std::max)(1.0, s.batch),
                        q_.load.input_tokens + q_.load.output_tokens / 2.0};
      alone = serve_.pass(on({}), i).time.value() / mixed;
    }
    const double answer = q_.load.output_tokens * alone * s.itl.value() / s.batch;
    const double prompt = s.prefill.time.value();
    return prompt / (prompt + answer);
  }

  const plan_request& q_;
  const plan_point& p_;
  const Serve& serve_;
  const Serve& prefill_;
  const accelerator& device_;
};

}  // namespace detail

/// Why a point of plan_bound is as it is: the point with a fuller batch (twice its limit, where requests
/// wait; else one replica fewer) says what binds, or memory, where a tenth more lets more in; every resource
/// of the accelerator, 1 % more and less, says how its cost and its inter-token latency depend on it, at the
/// same batch limit; of pools of two kinds of chip, that resource of both. A request costs I x per input
/// token + O x per output token, divided by the device time of prompts and of answers.
/// Leaves out: prompts that share an iteration, which cost less than one alone.
/// Errors: a point of another request.
/// Tests: by hand on data sheets, a step that DRAM binds has -1 there; the two prices sum to the cost of
/// a request; a point with a target just above its own ITL is held by that target.
template <class Bound = detail::bound_of_plan>
plan_review review_of_bound(const plan_request& q, const plan_point& p) {
  const Bound serve{};
  return detail::plan_reviewer(q, p, serve, serve).review();
}
/// The same of plan(q, policy), with the policy of the point's accelerator and engine.
template <class Policy>
plan_review review_of(const plan_request& q, const plan_point& p, const Policy& policy) {
  const auto& calibration =
      detail::policy_on(policy, detail::accelerator_of(q, p), p.serving_engine);
  const auto& links = detail::links_of<double>(calibration);
  const detail::prediction_of_plan serve(calibration, links, p.serving_engine);
  const accelerator& on = detail::prefill_accelerator_of(q, p);
  const auto& of_prefills = detail::policy_on(policy, on, p.serving_engine);
  const auto& wires = detail::links_of<double>(of_prefills);
  const detail::prediction_of_plan prefill(of_prefills, wires, p.serving_engine);
  return detail::plan_reviewer(q, p, serve, prefill).review();
}

}  // namespace perfmodel
