// Latency and throughput of a deployment under load: bounds and predictions.
#pragma once

#include <perfmodel/serving/bound_of_service.hpp>
#include <perfmodel/serving/largest_rate.hpp>
#include <perfmodel/serving/prediction_of_disaggregated.hpp>
#include <perfmodel/serving/prediction_of_service.hpp>
#include <perfmodel/serving/speculation.hpp>
#include <type_traits>

namespace perfmodel::inline v0_3 {

/// Bound of one replica with continuous batching. Each engine step takes its roofline bound, and
/// prefill is spread perfectly evenly across steps. I and O are the prompt and output tokens of a
/// request.
///   ITL   step bound of the mean iteration
///   TTFT  wait + prefill; with a chunk budget the prefill is ceil(I / chunk) mixed steps
///   E2E   TTFT + (O - 1) ITL
/// Closed loop of C requests: B = min(C, capacity, limit of the chunk budget) are in service. The
/// throughput is B / (E2E - wait). The other C - B requests queue; their wait follows from Little's
/// law. Open loop at rate lambda: B solves B = lambda O ITL(B), and the wait is that of an M/D/1
/// queue.
/// Source: Yu et al., "Orca", OSDI 2022 (iteration-level batching); Agrawal et al.,
/// "Sarathi-Serve", OSDI 2024 (chunked prefill); Little 1961.
/// Leaves out: tail latencies; variation of lengths; CPU time; in an open loop, a chunk budget
/// below the prefill of a mean step.
/// Not feasible: a model that does not fit; an arrival rate above that of the largest batch.
/// Errors: as step_bound; tokens, concurrency, a chunk or a limit below 1; no rate.
/// Test: at concurrency 1 E2E is the sum of its steps; throughput x E2E = requests in the system; B
/// = lambda O ITL(B) to 1e-9, also for mixtures of experts; the open and closed loop agree at the
/// same batch.
template <Scalar T, class Cost = full_link>
constexpr basic_serving_estimate<T> serving_bound(const basic_deployment<T>& d,
                                                  const basic_service_load<T>& l,
                                                  const Cost& links = {}) {
  detail::check_deployment(d);
  return detail::bound_of_service(d, resolve_prefix_hit(d, l), links);
}

/// Bound of a service with speculative decoding. Each step is a speculation round at its bound,
/// which emits E tokens per sequence; ITL = round / E.
/// Errors: as serving_bound; a speculation out of range.
/// Test: never above the prediction; with acceptance 1 and a free drafter of length k, an output
/// takes 1 / (k + 1) of the steps.
template <Scalar T, class Cost = full_link>
constexpr basic_speculative_serving_estimate<T> serving_bound(const basic_deployment<T>& d,
                                                              const basic_service_load<T>& l,
                                                              const basic_speculation<T>& s,
                                                              const Cost& links = {}) {
  detail::check_deployment(d);
  detail::check_speculation(s);
  const auto estimate_step = [&](const basic_deployment<T>& of, const basic_iteration<T>& i) {
    return detail::bound_of_step(of, i, links);
  };
  const auto serve = [&](const basic_service_load<T>& rounds, const auto& round) {
    return detail::steady_state(d, rounds, round);
  };
  return detail::speculative_service(d, resolve_prefix_hit(d, l), s, estimate_step, serve, true);
}
/// Bound of a disaggregated service, in which prefill and decode share no step. O is the number of
/// output tokens. Closed loop: TTFT is one prefill and one transfer without queueing. ITL is that
/// of batch 1, since a slower prefill pool can lower the decode batch. Throughput follows from the
/// flow through both pools, and E2E from Little's law. Open loop at rate lambda: prompts queue for
/// the prefill pool, and the decode batch B solves B = lambda (O - 1) ITL(B).
/// Errors: as serving_bound, for both pools.
/// Test: never above the prediction, whichever stage is the slowest.
template <Scalar T, class Cost = full_link>
constexpr basic_disaggregated_estimate<T> serving_bound(const basic_disaggregated<T>& d,
                                                        const basic_service_load<T>& l,
                                                        const Cost& links = {}) {
  detail::check_pools(d);
  return detail::bound_of_disaggregated(d, resolve_prefix_hit(d.prefill.deployment, l), links);
}

/// Predicts one replica under load. The scheduler decides which engine steps mix or alternate
/// prefill and decode, and `step` predicts each of them under the policy. The prediction includes
/// prefill interference, queueing of prompts, and latency distributions. The formulas are those of
/// closed_service and open_service. The scheduler and token budget are the engine's, unless the
/// load states them. `serving(replica_pool{d, n}, load, policy)` predicts a service of n replicas.
/// `layout.data` is not the number of replicas: it counts the data-parallel attention groups of one
/// engine.
/// Source: as closed_service and open_service.
/// Non-monotonic where kernels and token budgets are discontinuous: docs/laws/research/serving.md.
/// Not feasible: as serving_bound; an arrival rate at which prefill takes all the time.
/// Errors: as serving_bound.
/// Test: the simulator of tests/simulator; a single request is a prefill and its decode steps; ITL
/// and TTFT rise with the load; never better than the bound.
template <Scalar T, class Policy, class Cost>
constexpr basic_serving_estimate<T> serving(const basic_deployment<T>& d,
                                            const basic_service_load<T>& l, const Policy& policy,
                                            const Cost& links) {
  detail::check_deployment(d);
  detail::require_target_of(policy, d.device, d.serving_engine);
  return detail::prediction_of_service(d, resolve_prefix_hit(d, l), policy, links);
}
/// Predicted service, with the links of the policy.
template <Scalar T, class Policy>
constexpr basic_serving_estimate<T> serving(const basic_deployment<T>& d,
                                            const basic_service_load<T>& l, const Policy& policy) {
  if constexpr (require_execution_policy<Policy, T>())
    return serving(d, l, policy, detail::links_of<T>(policy));
  else
    return {};
}

template <Scalar T, class Policy>
class prepared_deployment;

namespace detail {

/// Steps of a prepared deployment, as predict_service asks for them.
template <Scalar T, class Policy>
struct prepared_steps {
  prepared_deployment<T, Policy>& prepared;

  constexpr basic_estimate<T> operator()(const basic_iteration<T>& i) {
    return prepared.step_in_memory(i);
  }
  constexpr duration<T> time(const basic_iteration<T>& i) { return prepared.step_time(i); }
  constexpr const basic_memory_budget<T>& memory_budget() const { return prepared.memory_budget(); }
  constexpr const feasibility& group_fits() const { return prepared.group_fits(); }
};

}  // namespace detail

/// Predicted service of a prepared deployment (perfmodel/step.hpp, `prepare(d, policy)`), for many
/// loads: its step times come from the records of the deployment.
/// Errors: those of serving that concern the load.
/// Test: equal to serving(d, load, policy) to 1e-12, in an open loop at the same batch
/// (tests/property/prepared_services.cpp).
template <Scalar T, class Policy>
constexpr basic_serving_estimate<T> serving(prepared_deployment<T, Policy>& p,
                                            const basic_service_load<T>& l) {
  detail::prepared_steps<T, Policy> steps{p};
  return detail::predict_service(p.deployment(), resolve_prefix_hit(p.deployment(), l),
                                 detail::engine_terms<T>(p.policy()), steps)
      .estimate;
}

namespace detail {

/// Estimate of n independent replicas. serve(load) returns the estimate of one replica under its
/// share of the load. `batch`, `capacity`, `throughput` and `output_rate` are sums over replicas;
/// latencies are those of one replica. A closed loop with fewer than n requests leaves replicas
/// idle.
template <Scalar T, class Serve>
constexpr basic_serving_estimate<T> serve_replicas(const basic_replica_pool<T>& pool,
                                                   const basic_service_load<T>& l,
                                                   const Serve& serve) {
  require_valid(pool);
  const T busy = l.is_closed() ? scalar_min(pool.replicas, l.concurrency()) : pool.replicas;
  basic_serving_estimate<T> s = serve(per_replica(l, busy));
  s.batch = busy * s.batch;
  s.capacity = pool.replicas * s.capacity;
  s.throughput = busy * s.throughput;
  s.output_rate = busy * s.output_rate;
  return s;
}

}  // namespace detail

/// Predicts a service of n replicas, {.deployment = d, .replicas = n}, that share the load evenly.
/// Throughput, output rate, batch and capacity are sums over all replicas.
/// Leaves out: uneven routing of requests.
/// Errors: as serving; replicas below 1.
/// Test: n times one replica at per_replica(load, n); the result of `napkin serving`.
template <Scalar T, class Policy>
constexpr basic_serving_estimate<T> serving(const basic_replica_pool<T>& pool,
                                            const basic_service_load<T>& l, const Policy& policy) {
  return detail::serve_replicas(pool, l, [&](const basic_service_load<T>& share) {
    return serving(pool.deployment, share, policy);
  });
}
/// Bound of a service of n replicas that share the load evenly.
/// Errors: as serving_bound; replicas below 1.
/// Test: n times one replica at per_replica(load, n).
template <Scalar T, class Cost = full_link>
constexpr basic_serving_estimate<T> serving_bound(const basic_replica_pool<T>& pool,
                                                  const basic_service_load<T>& l,
                                                  const Cost& links = {}) {
  return detail::serve_replicas(pool, l, [&](const basic_service_load<T>& share) {
    return serving_bound(pool.deployment, share, links);
  });
}

/// Predicts a service with speculative decoding. Each decode step is a speculation round
/// (speculative_round), which emits E tokens of a sequence at the same time. Prefill runs in the
/// same steps as the rounds; a drafter with layers of its own prefills too. ITL = round / E: a
/// share 1 / E of the tokens waits for a round, and the others have a latency of 0. The weights and
/// KV cache of the drafter reduce the KV-cache capacity.
/// Source: as speculative_round and closed_service.
/// Leaves out: variation of E between rounds; speculation that is switched off at large batches.
/// Errors: as serving; a preemption_mode.
/// Test: a single request is a prefill and (O - 1) / E rounds, with O output tokens; capacity by
/// hand; acceptance 0 is slower than no speculation.
template <Scalar T, class Policy>
constexpr basic_speculative_serving_estimate<T> serving(const basic_deployment<T>& d,
                                                        const basic_service_load<T>& l,
                                                        const basic_speculation<T>& s,
                                                        const Policy& policy) {
  detail::check_deployment(d);
  detail::check_speculation(s);
  detail::require_target_of(policy, d.device, d.serving_engine);
  const basic_service_terms<T> engine = detail::engine_terms<T>(policy);
  const auto serve = [&](const basic_service_load<T>& rounds, const auto& round) {
    return detail::predict_service(d, rounds, engine, round).estimate;
  };
  return detail::speculative_service(d, resolve_prefix_hit(d, l), s,
                                     detail::policy_steps<T, Policy>(d, policy), serve, false);
}

/// Predicts a disaggregated service, each pool under its own policy.
/// 1. Prompts queue for one of c prefill replicas. Closed loop: mean value analysis with one server
/// that is c times as fast. Open loop: an M/G/c queue by Sakasegawa's approximation.
/// 2. The KV cache is transferred; only `exposed_transfer` adds to TTFT.
/// 3. Requests decode without prefill interference, at the batch of Little's law. Requests beyond
/// the largest decode batch queue for it. In the initial burst of a run, all prompts arrive at once
/// and are prefilled one after the other.
/// Source: Zhong et al., "DistServe", OSDI 2024; Patel et al., "Splitwise", ISCA 2024; Seidmann,
/// Schweitzer and Shalev-Oren 1987 (c servers in a network).
/// Leaves out: uneven load of replicas; queueing of transfers; prefill that starts before a decode
/// slot is free; scheduling delay.
/// Not feasible: a pool that does not fit; an arrival rate above that of a pool or the link.
/// Errors: as serving_bound; a scheduler, preemption_mode or batching_wait_iterations in the load.
/// Test: Little's law; a single request is a prefill, a transfer and its decode steps; a simulation
/// of both pools; published services.
template <Scalar T, class Prefill, class Decode>
constexpr basic_disaggregated_estimate<T> serving(const basic_disaggregated<T>& d,
                                                  const basic_service_load<T>& l,
                                                  const Prefill& prefill_policy,
                                                  const Decode& decode_policy) {
  detail::check_pools(d);
  const basic_deployment<T>& prefills = d.prefill.deployment;
  const basic_deployment<T>& decodes = d.decode.deployment;
  detail::require_target_of(prefill_policy, prefills.device, prefills.serving_engine);
  detail::require_target_of(decode_policy, decodes.device, decodes.serving_engine);
  const basic_service_load<T> load = resolve_prefix_hit(d.prefill.deployment, l);
  const Decode steady =
      detail::decode_pool_policy(decode_policy, d.decode.deployment.serving_engine);
  decltype(auto) prefill_links = detail::links_of<T>(prefill_policy);
  decltype(auto) decode_links = detail::links_of<T>(steady);
  detail::predicted_step<T, Prefill, std::remove_cvref_t<decltype(prefill_links)>> prefill(
      prefills, prefill_policy, prefill_links);
  detail::predicted_step<T, Decode, std::remove_cvref_t<decltype(decode_links)>> decode(
      decodes, steady, decode_links);
  const basic_service_terms<T> engine = detail::engine_terms<T>(prefill_policy);
  return detail::disaggregated_prediction<T, decltype(prefill), decltype(decode)>(d, load, engine,
                                                                                  prefill, decode)
      .estimate();
}
/// Disaggregated service with one policy for prefill and decode.
template <Scalar T, class Policy>
constexpr basic_disaggregated_estimate<T> serving(const basic_disaggregated<T>& d,
                                                  const basic_service_load<T>& l,
                                                  const Policy& policy) {
  if constexpr (require_execution_policy<Policy, T>())
    return serving(d, l, policy, policy);
  else
    return {};
}
/// Largest chunk budget with which a deployment meets an ITL target under a policy.
/// Test: the target is met with the result, and missed with one token more.
template <Scalar T, class Policy>
constexpr int chunk_budget_for(const basic_deployment<T>& d, const basic_service_load<T>& l,
                               const basic_latency_target<T>& itl, const Policy& policy,
                               int most = 1 << 20) {
  return chunk_budget_for(
      l, itl, most, [&](const basic_service_load<T>& load) { return serving(d, load, policy); });
}
/// Goodput (largest_rate) of disaggregated pools, and of the same number of devices as replicas of
/// `collocated`, which prefill and decode on the same devices.
/// Source: Zhong et al., "DistServe", OSDI 2024.
/// Test: disaggregation gains if the ITL target allows no prefill interference, and does not gain
/// with a loose target.
template <Scalar T, class Prefill, class Decode, class Collocated>
constexpr basic_goodput_estimate<T> gain_of_disaggregation(const basic_disaggregated<T>& pools,
                                                           const basic_deployment<T>& collocated,
                                                           const basic_service_load<T>& load,
                                                           const basic_service_targets<T>& targets,
                                                           const Prefill& prefill_policy,
                                                           const Decode& decode_policy,
                                                           const Collocated& collocated_policy) {
  const T replicas = pools.devices() / T(collocated.layout.ranks());
  const auto serve_pools = [&](const basic_service_load<T>& l) {
    return serving(pools, l, prefill_policy, decode_policy);
  };
  const auto serve_collocated = [&](const basic_service_load<T>& l) {
    return serving(collocated, per_replica(l, replicas), collocated_policy);
  };
  return {largest_rate(load, targets, serve_pools), largest_rate(load, targets, serve_collocated)};
}
/// Goodput of pools and of replicas with one policy for all.
template <Scalar T, class Policy>
constexpr basic_goodput_estimate<T> gain_of_disaggregation(const basic_disaggregated<T>& pools,
                                                           const basic_deployment<T>& collocated,
                                                           const basic_service_load<T>& load,
                                                           const basic_service_targets<T>& targets,
                                                           const Policy& policy) {
  return gain_of_disaggregation(pools, collocated, load, targets, policy, policy, policy);
}
/// A prediction needs a policy: serving(d, l, policy). For the bound call serving_bound(d, l).
template <Scalar T>
constexpr basic_serving_estimate<T> serving(const basic_deployment<T>&,
                                            const basic_service_load<T>&) = delete;

/// Mean power of one GPU of a replica under a load, from its estimate: power_of_step of the mean
/// engine step, B decodes and their share of prefill tokens, B I / O, in B / output rate. A replica
/// with B below 1 is idle for a share 1 - B.
/// Leaves out: drafts of speculative decoding.
/// Errors: those of power_of_step; out_of_range without output. Test: measured watts.
template <Scalar T>
constexpr power<T> power_of_service(const basic_deployment<T>& d, const basic_service_load<T>& l,
                                    const basic_serving_estimate<T>& s) {
  const T decodes = scalar_max(T(1.0), s.batch), busy = scalar_min(T(1.0), s.batch);
  const T prefills = decodes / l.output_tokens;
  basic_iteration<T> mean{.batch = decodes, .context = detail::mean_context(l)};
  mean.prefill_tokens = prefills * detail::uncached_tokens(l);
  mean.prefill_sequences = prefills;
  mean.steady = true;
  const duration<T> time =
      s.batch * lift<T>(token) / detail::positive("output_rate", s.output_rate);
  const power<T> idle = basic_board_power<T>{}.idle * d.device.tdp.quantity();
  return busy * power_of_step(d, mean, time) + (1.0 - busy) * idle;
}

/// Joules per output token of a replica: `each`, the power_of_service of a GPU, x GPUs / output
/// rate.
template <Scalar T>
constexpr T joules_per_output_token(const basic_deployment<T>& d,
                                    const basic_serving_estimate<T>& s, const power<T>& each) {
  return named("joules per output token",
               T(double(d.layout.ranks()) * each / s.output_rate * lift<T>(token / joule)));
}

}  // namespace perfmodel::inline v0_3
