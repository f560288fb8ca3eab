// Simulation of a service, event by event: the second method, in addition to `serving`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <perfmodel/serving/simulation/driver.hpp>
#include <perfmodel/serving/simulation/pools.hpp>
#include <perfmodel/serving/simulation/workload.hpp>

namespace perfmodel::inline v0_3 {

/// Simulates a service with the requests of a source: runs with an end, traces, conversations.
/// Each engine step has the policy's time. Between two events (an arrival, a prefill chunk, a
/// completion, a preemption) the batch does not change, and the decode steps are one segment.
/// The result is the same for the same seed.
/// Source: the schedulers of vLLM, SGLang and TensorRT-LLM (serving/simulation/scheduler.hpp).
/// Leaves out: beam search, LoRA, requests with priorities; variation of kernel times.
/// Not feasible: a model that does not fit the devices.
/// Errors: a request longer than the KV cache; scheduler settings out of range; data-parallel
/// groups with pipeline stages.
/// Test: equal to one step at a time; the worked schedules; conservation over random workloads.
template <class Policy>
simulation_result simulate(const deployment& d, request_source& source, const Policy& policy,
                           const simulation_options& o = {}) {
  detail::check_deployment(d);
  detail::require_target_of(policy, d.device, d.serving_engine);
  simulation_result result;
  const detail::replica_settings settings = detail::replica_settings_of(d, policy, o);
  result.feasible = detail::group_fits(d);
  if (result.feasible && settings.cache_tokens <= 0) {
    result.feasible = fits(d, double(d.layout.data), o.typical_tokens);
    if (result.feasible) result.feasible = infeasible("the KV cache is empty", "tokens", 1.0, 0.0);
  }
  if (!result.feasible) return result;
  detail::replica_set<Policy> replicas(settings, d, policy, o, result.statistics);
  detail::simulation_clock clock(o, source, result);
  simulated_request r;
  for (double now = 0.0;;) {
    const double arrival = source.next_arrival();
    const double event = replicas.next_event();
    const double next = (std::min)(arrival, event);
    if (replicas.is_pending() && next > now) {
      replicas.start(now);
      continue;
    }
    if (next == request_source::never) break;
    now = next;
    if (arrival <= event) {
      source.take(r);
      clock.arrived(r);
      replicas.enqueue(r, arrival);
    } else {
      replicas.advance([&](const request_record& done, double at) { clock.completed(done, at); });
    }
  }
  replicas.close(clock.last());
  clock.close();
  result.steps = replicas.steps();
  result.priced_steps = replicas.priced();
  result.preemptions = replicas.preemptions();
  result.replica_seconds = replicas.replica_seconds();
  result.most_replicas = replicas.most_replicas();
  return result;
}

/// Simulates a service under a generated workload.
template <class Policy>
simulation_result simulate(const deployment& d, const workload& w, const Policy& policy,
                           simulation_options o = {}) {
  workload_source source(w, o.seed);
  o.typical_tokens = w.input.mean + w.output.mean;
  return simulate(d, static_cast<request_source&>(source), policy, o);
}

/// Simulates disaggregated pools: each request is prefilled in one pool, its cache is transferred,
/// and it decodes in the other. The client receives the first token when the cache has arrived, or
/// after one step of the decode pool (`first_token_from_decode`). Options of replicas and scheduler
/// apply to both pools; the numbers of replicas are those of `d`.
/// Leaves out: the prefill pool's cache during a transfer; back pressure of the decode pool; a
/// prefix cache in the decode pool.
/// Errors: as for one deployment.
/// Test: a single request is a prefill, a transfer and its decode steps.
template <class Prefill, class Decode>
simulation_result simulate(const disaggregated& d, request_source& source,
                           const Prefill& prefill_policy, const Decode& decode_policy,
                           const simulation_options& o = {}) {
  detail::check_pools(d);
  simulation_result result;
  const deployment& prefills = d.prefill.deployment;
  const deployment& decodes = d.decode.deployment;
  detail::require_target_of(prefill_policy, prefills.device, prefills.serving_engine);
  detail::require_target_of(decode_policy, decodes.device, decodes.serving_engine);
  for (const deployment* of : {&prefills, &decodes}) {
    result.feasible = fits(*of, double(of->layout.data), o.typical_tokens);
    if (!result.feasible) return result;
  }
  const Decode steady = detail::decode_pool_policy(decode_policy, decodes.serving_engine);
  detail::simulated_pools<Prefill, Decode> pools(d, source, prefill_policy, steady, o, result);
  pools.run();
  return result;
}
/// Simulates disaggregated pools under a generated workload.
template <class Policy>
simulation_result simulate(const disaggregated& d, const workload& w, const Policy& policy,
                           simulation_options o = {}) {
  workload_source source(w, o.seed);
  o.typical_tokens = w.input.mean + w.output.mean;
  return simulate(d, static_cast<request_source&>(source), policy, policy, o);
}

}  // namespace perfmodel::inline v0_3
