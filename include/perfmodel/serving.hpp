// A deployment under load: time to first token, inter-token latency, throughput.
#pragma once

#include <perfmodel/service/bound_of_service.hpp>
#include <perfmodel/service/prediction_of_service.hpp>

namespace perfmodel {

/// The best of one replica with continuous batching, each pass at its bound. ITL is the step of
/// the mean iteration. Closed loop: B = min(concurrency, what fits); requests beyond wait, N/X of
/// them by Little's law. Open loop: B = rate x output x ITL(B); the wait before prefill is that of an
/// M/D/1 queue. TTFT = wait + prefill, in ceil(input / chunk) mixed iterations where chunks are
/// bounded; E2E = TTFT + (output - 1) ITL; throughput = B / (E2E - wait) closed, the arrivals open.
/// Sources: Yu et al., "Orca", OSDI 2022 (iteration-level batching); Agrawal et al., "Sarathi-Serve",
/// OSDI 2024 (chunked prefill); Little 1961.
/// Leaves out: tails, length spread, host time, prefix hits, and that a chunk budget below what a
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
  require_valid(l);
  return detail::bound_of_service(d, l, links);
}

/// What a scheduler makes of the load, with each pass predicted under a policy, as step does: decoding
/// stops or slows while prompts run, prompts wait for each other, and latencies have a distribution.
/// closed_service and open_service have the laws; the scheduler and its token budget are the engine's
/// unless the load says otherwise. Not feasible: as the bound, and prompts that alone fill the time.
/// Tests: the simulator of tests/simulator; a request alone is a prefill and its decode steps; ITL and
/// TTFT rise with the load; never better than the bound.
template <Scalar T, class Policy, class Cost>
constexpr basic_serving_estimate<T> serving(const basic_deployment<T>& d,
                                            const basic_service_load<T>& l, const Policy& policy,
                                            const Cost& links) {
  detail::check_deployment(d);
  require_valid(l);
  return detail::prediction_of_service(d, l, policy, links);
}
template <Scalar T, class Policy>
constexpr basic_serving_estimate<T> serving(const basic_deployment<T>& d,
                                            const basic_service_load<T>& l, const Policy& policy) {
  if constexpr (require_execution_policy<Policy, T>())
    return serving(d, l, policy, detail::links_of<T>(policy));
  else
    return {};
}
/// Say which: serving_bound(d, l), or serving(d, l, policy).
template <Scalar T>
constexpr basic_serving_estimate<T> serving(const basic_deployment<T>&,
                                            const basic_service_load<T>&) = delete;

}  // namespace perfmodel
