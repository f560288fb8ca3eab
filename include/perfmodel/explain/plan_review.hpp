// Review of a plan's point: its binding constraint, its elasticities and its price per token.
#pragma once

#include <algorithm>
#include <cmath>
#include <perfmodel/core/error.hpp>
#include <perfmodel/explain/sensitivity.hpp>
#include <perfmodel/plan/plan.hpp>

namespace perfmodel::inline v0_3 {

/// Binding constraint: what prevents a larger batch, which would cost less per token. With a
/// prefill pool it is the busiest stage.
enum class plan_constraint {
  latency,  ///< none: a larger batch costs less and is slower, within the targets
  memory,
  load,  ///< no more requests
  ttft,
  itl,
  e2e,
  wait,
  rate,
  prefill_pool,
  transfer,
  decode_pool
};

/// Name of a constraint of a plan, as in messages.
constexpr const char* name_of(plan_constraint c) {
  constexpr const char* names[] = {"latency",      "memory",     "load",       "TTFT target",
                                   "ITL target",   "E2E target", "wait",       "arrivals",
                                   "prefill pool", "cache link", "decode pool"};
  return detail::entry_of(names, c, "plan_constraint");
}

/// Review of a point. An elasticity is d ln(result) / d ln(resource): -1 halves the result where
/// the resource doubles.
struct plan_review {
  plan_constraint binding_constraint = plan_constraint::latency;
  std::array<elasticity, 7> cost{};     ///< elasticities of cost, or of device time, per token
  std::array<elasticity, 7> latency{};  ///< elasticities of the inter-token latency
  double input_share = 0.0;             ///< prefill's share of a request's device time
  std::optional<money<>> per_million_input{};
  std::optional<money<>> per_million_output{};
};

namespace detail {

inline constexpr std::array<const char*, 6> plan_resources = {"matrix.peak",    "vector.peak",
                                                              "dram.bandwidth", "dram.capacity",
                                                              "l2.bandwidth",   "fabric.bandwidth"};

/// Accelerator with one of plan_resources multiplied by a factor.
template <Scalar T>
basic_accelerator<T> scale_resource(const basic_accelerator<T>& a, std::size_t resource,
                                    double factor) {
  return map_scalars<T>(a, [&](const field_path& path, const T& x) -> T {
    const std::size_t plan_indices[] = {0, 1, 2, 4, 5};
    const std::size_t index = resource_of(path);
    const bool is_scaled =
        index < 5 ? plan_indices[index] == resource : resource == 3 && path.is("dram.capacity");
    return is_scaled ? factor * x : x;
  });
}

/// Change of one resource in every accelerator of a point.
struct plan_change {
  std::size_t resource = 0;
  double factor = 1.0;

  template <Scalar T>
  basic_accelerator<T> apply(const basic_accelerator<T>& a) const {
    return factor == 1.0 ? a : scale_resource(a, resource, factor);
  }
};

/// Review by serving a point again with other devices and batches; `prefills` evaluates its prefill
/// pool.
template <class Evaluator>
class plan_reviewer {
 public:
  plan_reviewer(const plan_request& q, const plan_point& p, const Evaluator& evaluator,
                const Evaluator& prefills)
      : q_(q), p_(p), evaluator_(evaluator), prefills_(prefills), device_(accelerator_of(q, p)) {}

  plan_review review() const {
    plan_review out;
    out.binding_constraint = find_binding_constraint();
    set_elasticities(out);
    out.input_share = compute_input_share();
    if (p_.cost_per_million) {
      const double input = q_.load.input_tokens, output = q_.load.output_tokens;
      const money<> request_cost = output * *p_.cost_per_million;  // one million requests
      out.per_million_input = out.input_share / input * request_cost;
      out.per_million_output = (1.0 - out.input_share) / output * request_cost;
    }
    return out;
  }

 private:
  deployment change_device(const plan_change& c) const {
    return deployment_of(q_, c.apply(device_), p_.precision, p_.layout, p_.serving_engine,
                         p_.chunk_tokens);
  }

  serving_estimate serve(const plan_change& c, const service_load& l) const {
    const deployment d = change_device(c);
    if constexpr (Evaluator::predicts) {
      if (p_.prefill) return serve_pools(c, l);
      if (p_.speculation_index) {
        return evaluator_.serve_speculation(
            d, l, speculation_for(q_.speculations[*p_.speculation_index], d));
      }
    }
    return evaluator_.serve(d, l);
  }
  disaggregated_estimate serve_pools(const plan_change& c, const service_load& l) const {
    disaggregated pools = pools_of(q_, p_);
    accelerator& prefill = pools.prefill.deployment.device;
    accelerator& decode = pools.decode.deployment.device;
    prefill = c.apply(prefill);
    decode = c.apply(decode);
    if (const auto link = link_of(*q_.pools, prefill, decode, p_.gpus)) pools.link = *link;
    if constexpr (Evaluator::predicts) return evaluator_.serve_pools(pools, l, prefills_);
    return {};
  }

  plan_constraint find_binding_constraint() const {
    if (p_.prefill) return busiest_stage();
    const service_load own = load_of(q_, p_);
    service_load fuller = own;
    const bool is_closed = q_.load.is_closed();
    if (is_closed && is_memory_bound()) return plan_constraint::memory;
    if (is_closed && own.concurrency() > p_.batch_limit) {
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
  /// Whether memory alone limits the batch: 10 % more memory admits more sequences.
  bool is_memory_bound() const {
    service_load unlimited = load_of(q_, p_);
    unlimited.batch_limit = q_.load.batch_limit;
    const auto batch_with = [&](double memory) { return serve({3, memory}, unlimited).batch; };
    const double batch = batch_with(1.0);
    return batch <= 1.005 * p_.serving.batch && batch_with(1.1) > 1.005 * batch;
  }
  plan_constraint busiest_stage() const {
    switch (serve_pools({}, load_of(q_, p_)).binding) {
      case service_stage::prefill: return plan_constraint::prefill_pool;
      case service_stage::transfer: return plan_constraint::transfer;
      default: return plan_constraint::decode_pool;
    }
  }

  /// Central differences over 2 %; a batch that is memory-bound grows with the capacity.
  void set_elasticities(plan_review& out) const {
    service_load l = load_of(q_, p_);
    if (out.binding_constraint == plan_constraint::memory) l.batch_limit = q_.load.batch_limit;
    constexpr double step = 0.01;
    const double log_ratio = std::log((1.0 + step) / (1.0 - step));
    for (std::size_t i = 0; i < plan_resources.size(); ++i) {
      const serving_estimate more = serve({i, 1.0 + step}, l);
      const serving_estimate less = serve({i, 1.0 - step}, l);
      const bool are_feasible = more.feasible && less.feasible;
      const auto slope = [&](double high, double low) {
        return are_feasible ? std::log(high / low) / log_ratio : 0.0;
      };
      out.cost[i] = {plan_resources[i], slope(less.output_rate.value(), more.output_rate.value())};
      out.latency[i] = {plan_resources[i], slope(more.itl.value(), less.itl.value())};
    }
    out.cost.back() = {"price", p_.cost_per_million ? 1.0 : 0.0};
    out.latency.back() = {"price", 0.0};
  }

  /// P / (P + O D / B): P is the unloaded prefill time, O the output tokens, D the decode time of
  /// an engine step with B sequences. With a prefill pool: its share of the devices, or of their
  /// price if the pools have two accelerators.
  double compute_input_share() const {
    if (p_.prefill) {
      const double prefills = p_.prefill->replicas * p_.prefill->layout.ranks();
      const accelerator& device = prefill_accelerator_of(q_, p_);
      if (device.name == device_.name || !p_.cost_per_million) return prefills / p_.gpus;
      const double prefill_price = prefills * device.price.value();
      return prefill_price / (prefill_price + (p_.gpus - prefills) * device_.price.value());
    }
    const serving_estimate& s = p_.serving;
    const double step_time = s.decode.time.value();
    double decode_share = 1.0;
    if constexpr (Evaluator::predicts) {
      decode_share = 1.0 - s.decode.terms.time_of("prefill").value() / step_time;
    } else {
      const iteration i{(std::max)(1.0, s.batch),
                        q_.load.input_tokens + q_.load.output_tokens / 2.0};
      decode_share = evaluator_.step(change_device({}), i).time.value() / step_time;
    }
    const double decode = q_.load.output_tokens * decode_share * s.itl.value() / s.batch;
    const double prefill = s.prefill.time.value();
    return prefill / (prefill + decode);
  }

  const plan_request& q_;
  const plan_point& p_;
  const Evaluator& evaluator_;
  const Evaluator& prefills_;
  const accelerator& device_;
};

}  // namespace detail

/// Review of a point of plan_bound. The binding constraint is memory if 10 % more of it admits more
/// requests; else a larger batch (twice the limit while requests queue, else one replica fewer)
/// shows which target or limit fails. Elasticities of cost and ITL are central differences of 1 %
/// in each resource at equal batch limit, in both pools. A request costs I x price per input token
/// + O x price per output token, in proportion to the device time of prefill and decode.
/// Leaves out: prefills that share an engine step, which cost less than a single one.
/// Errors: a point of another request.
/// Tests: by hand on data sheets, a DRAM-bound step has -1 at dram.bandwidth; the two prices add up
/// to the cost of a request; a target just above the ITL of a point is its binding constraint.
template <class Bound = detail::bound_evaluator>
plan_review review_of_bound(const plan_request& q, const plan_point& p) {
  const Bound evaluator{};
  return detail::plan_reviewer(q, p, evaluator, evaluator).review();
}
/// Review of a point of plan(q, policy).
template <class Policy>
plan_review review_of(const plan_request& q, const plan_point& p, const Policy& policy) {
  const auto evaluator_of = [&](const accelerator& a) {
    return detail::prediction_evaluator(detail::policy_for(policy, a, p.serving_engine),
                                        p.serving_engine);
  };
  const auto decode = evaluator_of(detail::accelerator_of(q, p));
  const auto prefill = evaluator_of(detail::prefill_accelerator_of(q, p));
  return detail::plan_reviewer(q, p, decode, prefill).review();
}

}  // namespace perfmodel::inline v0_3
