// A deployment under load: time to first token, inter-token latency, throughput.
#pragma once

#include <perfmodel/serving/bound_of_service.hpp>
#include <perfmodel/serving/largest_rate.hpp>
#include <perfmodel/serving/prediction_of_disaggregated.hpp>
#include <perfmodel/serving/prediction_of_service.hpp>
#include <perfmodel/serving/speculation.hpp>

namespace perfmodel {

/// The best of one replica with continuous batching, each pass at its bound. ITL is the step of
/// the mean iteration. Closed loop: B = min(concurrency, what fits); requests beyond wait, N/X of
/// them by Little's law. Open loop: B = rate x output x ITL(B); the wait before prefill is that of an
/// M/D/1 queue. TTFT = wait + prefill, in ceil(input / chunk) mixed iterations where chunks are
/// bounded; there a closed loop has no more in service than chunks keep up with (chunked_loop).
/// E2E = TTFT + (output - 1) ITL; throughput = B / (E2E - wait) closed, the arrivals open.
/// Sources: Yu et al., "Orca", OSDI 2022 (iteration-level batching); Agrawal et al., "Sarathi-Serve",
/// OSDI 2024 (chunked prefill); Little 1961.
/// Leaves out: tails, length spread, host time, and in an open loop that a chunk budget below what a
/// steady state prefills per iteration holds prompts up.
/// Not feasible: the model does not fit; arrivals beyond what the largest batch sustains.
/// Errors: as step_bound; tokens, concurrency, a chunk or a limit below 1; no rate.
/// Tests: at concurrency 1 E2E is the sum of its steps; throughput x E2E = requests in the system;
/// B = rate x output x ITL(B) to 1e-9, mixtures of experts too; open and closed loop agree at the
/// same batch.
template <Scalar T, class Cost = full_link>
constexpr basic_serving_estimate<T> serving_bound(const basic_deployment<T>& d,
                                                  const basic_service_load<T>& l,
                                                  const Cost& links = {}) {
  detail::check_deployment(d);
  return detail::bound_of_service(d, found_of(d, l), links);
}

/// The same where it speculates: each iteration is a round at its bound, which emits E tokens of a
/// sequence. ITL = round / E. Test: never above the prediction; acceptance 1 and a free drafter divide the
/// iterations by k + 1.
template <Scalar T, class Cost = full_link>
constexpr basic_speculative_serving_estimate<T> serving_bound(const basic_deployment<T>& d,
                                                              const basic_service_load<T>& l,
                                                              const basic_speculation<T>& drafts,
                                                              const Cost& links = {}) {
  detail::check_deployment(d);
  detail::check_speculation(drafts);
  const auto pass = [&](const basic_deployment<T>& of, const basic_iteration<T>& i) {
    return detail::bound_of_step(of, i, links);
  };
  const auto serve = [&](const basic_service_load<T>& rounds, const auto& round) {
    return detail::steady_state(d, rounds, round);
  };
  return detail::speculative_service(d, found_of(d, l), drafts, pass, serve);
}
/// The same of a disaggregated service, in which no prompt waits for an iteration of decoding. A closed loop
/// bounds each answer by itself: TTFT a prompt and its transfer that wait for nothing, ITL the step of
/// one sequence (who is slower at prompts has fewer to decode), and throughput, and E2E by Little's law,
/// what flows through both pools. An open loop: the queue before the prefill pool, and B = rate x steps x
/// ITL(B).
/// Test: never above the prediction, whichever stage binds.
template <Scalar T, class Cost = full_link>
constexpr basic_disaggregated_estimate<T> serving_bound(const basic_disaggregated<T>& d,
                                                        const basic_service_load<T>& l,
                                                        const Cost& links = {}) {
  detail::check_pools(d);
  return detail::bound_of_disaggregated(d, found_of(d.prefill.deployment, l), links);
}

/// What a scheduler makes of the load, with each pass predicted under a policy, as step does: decoding
/// stops or slows while prompts run, prompts wait for each other, and latencies have a distribution.
/// closed_service and open_service have the laws; the scheduler and its token budget are the engine's
/// unless the load says otherwise. Not feasible: as the bound, and prompts that alone fill the time.
/// Steps, so that more of a load or of a machine may look better or worse than a little less: where decodes leave
/// the budget less than a prompt, which then takes a pass more and stalls others by less in each (99 % of gaps);
/// where one prompt and a part of another fit, a further one being a tile or none; where prompts ask for all that
/// passes take, the two rounds being no fixed point; where the mean number that decodes passes a step of kernels,
/// as from one to more (by 3 %); and more memory lets more in at once, each of which is slower.
/// Tests: the simulator of tests/simulator; a request alone is a prefill and its decode steps; ITL and
/// TTFT rise with the load; never better than the bound.
template <Scalar T, class Policy, class Cost>
constexpr basic_serving_estimate<T> serving(const basic_deployment<T>& d,
                                            const basic_service_load<T>& l, const Policy& policy,
                                            const Cost& links) {
  detail::check_deployment(d);
  detail::require_target_of(policy, d.device, d.serving_engine);
  return detail::prediction_of_service(d, found_of(d, l), policy, links);
}
template <Scalar T, class Policy>
constexpr basic_serving_estimate<T> serving(const basic_deployment<T>& d,
                                            const basic_service_load<T>& l, const Policy& policy) {
  if constexpr (require_execution_policy<Policy, T>())
    return serving(d, l, policy, detail::links_of<T>(policy));
  else
    return {};
}
/// A service that speculates: each of its iterations is a round (speculative_round) that emits E tokens
/// of a sequence, which come together; prompts join the rounds, and are computed by a drafter with layers
/// too. ITL = round / E; of the gaps, 1 / E are the round and the others 0. The drafter's weights and
/// cache take from what sequences fit.
/// Leaves out: that E varies from round to round; drafts switched off as the batch grows.
/// Tests: alone, a request is a prefill and (O - 1) / E rounds; capacity by hand; acceptance 0 is slower
/// than none.
template <Scalar T, class Policy>
constexpr basic_speculative_serving_estimate<T> serving(const basic_deployment<T>& d,
                                                        const basic_service_load<T>& l,
                                                        const basic_speculation<T>& drafts,
                                                        const Policy& policy) {
  detail::check_deployment(d);
  detail::check_speculation(drafts);
  detail::require_target_of(policy, d.device, d.serving_engine);
  const basic_service_terms<T> engine = detail::engine_terms<T>(policy);
  const auto serve = [&](const basic_service_load<T>& rounds, const auto& round) {
    return detail::service_prediction<T, std::remove_cvref_t<decltype(round)>>(d, rounds, engine,
                                                                               round)
        .estimate();
  };
  return detail::speculative_service(d, found_of(d, l), drafts, detail::steps_under<T>(policy),
                                     serve);
}

/// Prompts on some replicas and answers on others, each with passes under its pool's policy. Prompts
/// wait for one of c replicas (a closed loop: mean value analysis with one server c times as quick;
/// an open one: Sakasegawa's M/G/c), their cache is sent, of which `exposed_transfer` is waited for, and
/// answers decode without stalls, B of them by Little's law; those that find no place wait for one.
/// The first wave of a run is computed from the first prompt to the last.
/// Sources: Zhong et al., "DistServe", OSDI 2024; Patel et al., "Splitwise", ISCA 2024; Seidmann,
/// Schweitzer and Shalev-Oren 1987 (c servers in a network).
/// Leaves out: prompts spread unevenly over replicas; transfers that wait for each other; prompts
/// computed before an answer has a place; what an engine lets go by before a request joins.
/// Not feasible: a pool that does not fit; arrivals beyond what a pool or the link keeps up with.
/// Tests: Little's law; a request alone is a prefill, a transfer and its steps; a simulation of both
/// pools; published services.
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
  const basic_service_load<T> load = found_of(d.prefill.deployment, l);
  const auto prefill = [&](const basic_iteration<T>& i) {
    return detail::prediction_of_step(d.prefill.deployment, i, prefill_policy,
                                      detail::links_of<T>(prefill_policy));
  };
  const Decode steady = detail::uninterrupted(decode_policy, d.decode.deployment.serving_engine);
  const auto decode = [&](const basic_iteration<T>& i) {
    return detail::prediction_of_step(d.decode.deployment, i, steady, detail::links_of<T>(steady));
  };
  const basic_service_terms<T> engine = detail::engine_terms<T>(prefill_policy);
  return detail::disaggregated_prediction<T, decltype(prefill), decltype(decode)>(d, load, engine,
                                                                                  prefill, decode)
      .estimate();
}
template <Scalar T, class Policy>
constexpr basic_disaggregated_estimate<T> serving(const basic_disaggregated<T>& d,
                                                  const basic_service_load<T>& l,
                                                  const Policy& policy) {
  if constexpr (require_execution_policy<Policy, T>())
    return serving(d, l, policy, policy);
  else
    return {};
}
/// The largest chunk budget whose gaps stay within a target, of a deployment under a policy.
/// Test: met with it, and not with one token more.
template <Scalar T, class Policy>
constexpr int chunk_budget_for(const basic_deployment<T>& d, const basic_service_load<T>& l,
                               const basic_latency_target<T>& itl, const Policy& policy,
                               int most = 1 << 20) {
  return chunk_budget_for(
      l, itl, most, [&](const basic_service_load<T>& load) { return serving(d, load, policy); });
}
/// When disaggregation pays: the goodput (largest_rate) of the pools, and of the same number of devices as replicas of
/// `collocated`, which prefill and decode, all under one policy or each under its own.
/// Test: it pays where an ITL target leaves no room for the stalls of prompts, not where it is loose.
template <Scalar T, class Prefill, class Decode, class Collocated>
constexpr basic_goodput_estimate<T> gain_of_disaggregation(const basic_disaggregated<T>& pools,
                                                           const basic_deployment<T>& collocated,
                                                           const basic_service_load<T>& load,
                                                           const basic_service_targets<T>& targets,
                                                           const Prefill& prefill_policy,
                                                           const Decode& decode_policy,
                                                           const Collocated& collocated_policy) {
  const T replicas = pools.devices() / T(collocated.layout.ranks());
  const auto apart = [&](const basic_service_load<T>& l) {
    return serving(pools, l, prefill_policy, decode_policy);
  };
  const auto together = [&](const basic_service_load<T>& l) {
    return serving(collocated, per_replica(l, replicas), collocated_policy);
  };
  return {largest_rate(load, targets, apart), largest_rate(load, targets, together)};
}
template <Scalar T, class Policy>
constexpr basic_goodput_estimate<T> gain_of_disaggregation(const basic_disaggregated<T>& pools,
                                                           const basic_deployment<T>& collocated,
                                                           const basic_service_load<T>& load,
                                                           const basic_service_targets<T>& targets,
                                                           const Policy& policy) {
  return gain_of_disaggregation(pools, collocated, load, targets, policy, policy, policy);
}
/// Say which: serving_bound(d, l), or serving(d, l, policy).
template <Scalar T>
constexpr basic_serving_estimate<T> serving(const basic_deployment<T>&,
                                            const basic_service_load<T>&) = delete;

}  // namespace perfmodel
