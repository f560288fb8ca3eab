// Preemption: its rate and cost where outputs outgrow the KV cache of an engine that admits
// requests by the tokens they have so far.
#pragma once

#include <perfmodel/scalar/choose.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/serving/state.hpp>
#include <perfmodel/step/step.hpp>

namespace perfmodel::inline v0_3 {

/// Preemptions of one request, from its arrival to its last token.
template <Scalar T = double>
struct basic_preemption_estimate {
  T preemptions{};
  T tokens_lost{};               ///< cached tokens lost per preemption
  duration<T> recompute_time{};  ///< by recomputing them, all preemptions
  duration<T> swap_time{};       ///< by swapping them out and in, all preemptions
  per_lane<T, preemption> cheaper{};

  /// Time lost in the cheaper of the two modes.
  constexpr duration<T> time() const { return min(recompute_time, swap_time); }
};
using preemption_estimate = basic_preemption_estimate<>;

/// Preemptions per request where more requests wait than the KV cache holds: O / (I + O / 10), with
/// I prompt tokens that are not shared. Each completion frees I + O tokens, which new prompts take
/// at once. Until the next completion the others grow by O in all, so the newest are preempted, and
/// each frees I + O / 10. A tenth of an output at preemption is read off simulations.
/// Source: Kwon et al., "Efficient Memory Management for Large Language Model Serving with
/// PagedAttention", SOSP 2023, section 4.5; vLLM, v1/core/sched/scheduler.py (preempts the newest).
/// Errors: input or output below 1.
/// Test: by hand; the simulator of tests/simulator, outputs of 500 to 2000 tokens after prompts of
/// 200 to 2000, within 15 %; shorter ones are preempted less, since partly filled blocks leave
/// spare tokens.
template <Scalar T>
constexpr T preemptions_of_full_service(const T& input, const T& output) {
  detail::count("input", input);
  detail::count("output", output);
  return named("preemptions", output / (input + 0.1 * output));
}

namespace detail {

/// Output tokens of a sequence when it is preempted: O / 10.
template <Scalar T>
constexpr T output_tokens_at_preemption(const basic_service_load<T>& l) {
  return 0.1 * l.output_tokens;
}

/// 1 where a closed loop has more requests than fit at their mean context (`fit`) in an engine that
/// lets sequences grow into the cache; else 0.
template <Scalar T>
constexpr T overcommitted(const basic_deployment<T>& d, const T& requests, const T& fit) {
  if (!grows_into_memory(d.serving_engine)) return T(0.0);
  return from_lanes<T>([&](std::size_t lane) {
    return lanes_of<T>::lane(requests, lane) > lanes_of<T>::lane(fit, lane) ? 1.0 : 0.0;
  });
}

/// Preemptions per request of a load in a full cache. Its shared prefix stays cached.
template <Scalar T>
constexpr T preemptions_when_full(const basic_service_load<T>& l) {
  return preemptions_of_full_service(T(l.input_tokens - tokens_of(l.shared)), l.output_tokens);
}

}  // namespace detail

/// Preemptions of a load on a deployment, and the time they cost: a prefill of the tokens lost
/// (recompute), or their bytes over the host link of each device, both ways (swap). None where the
/// engine reserves memory for whole outputs (grows_into_memory), in a closed loop that fits, and in
/// an open loop. Without a host link only recompute. `serving` has the cost in its prediction where
/// the load has a preemption_mode.
/// Leaves out: prefix-cache hits of a preempted sequence; overlap of both modes with decoding.
/// Errors: as serving.
/// Test: both times by hand; a slow link makes recompute the cheaper.
template <Scalar T, class Policy>
constexpr basic_preemption_estimate<T> preemption_of(const basic_deployment<T>& d,
                                                     const basic_service_load<T>& l,
                                                     const bandwidth<T>& host_link,
                                                     const Policy& policy) {
  detail::check_deployment(d);
  detail::check_load(l);
  basic_preemption_estimate<T> e;
  if (!l.is_closed() || !grows_into_memory(d.serving_engine)) return e;
  const T fit = detail::service_memory_of(d, l, T(detail::mean_context(l))).sequences;
  e.preemptions = detail::overcommitted(d, detail::admitted_sequences(d, l, l.concurrency()), fit) *
                  detail::preemptions_when_full(l);
  e.tokens_lost = l.input_tokens + detail::output_tokens_at_preemption(l);
  e.recompute_time = named(
      "recompute",
      e.preemptions * step(d, basic_iteration<T>{.prefill_tokens = e.tokens_lost}, policy).time);
  e.swap_time = duration<T>::from_value(T(detail::infinity));
  if (lower(host_link.value()) > 0.0) {
    e.swap_time = named(
        "swap", 2.0 * e.preemptions * detail::sequence_on_device(d, e.tokens_lost) / host_link);
  }
  e.cheaper = detail::on_each_lane<T>([&](std::size_t lane) {
    return lanes_of<T>::lane(e.swap_time.value(), lane) <
                   lanes_of<T>::lane(e.recompute_time.value(), lane)
               ? preemption::swap
               : preemption::recompute;
  });
  return e;
}

/// Cost of preemption for one request of a service, from its first token to its last.
template <Scalar T = double>
struct basic_preemption_effect {
  T preemptions{};
  T prefills_per_request = T(1.0);  ///< 1 and the recomputations
  duration<T> restore_time{};       ///< recompute or swap-in of one preemption, without queueing
  duration<T> batch_stall{};        ///< time that all requests wait for the swaps of one

  constexpr bool has_any() const { return upper(preemptions) > 0.0; }
};
using preemption_effect = basic_preemption_effect<>;

namespace detail {

/// Completions a request waits for when preempted n times: n (n + 1) / 2, fitted to the simulator.
/// Preempted requests are restored in order of arrival, as others complete. Prompts admitted at the
/// same time are preempted at the same time, and each completion readmits one of them.
template <Scalar T>
constexpr T completions_until_restored(const T& preemptions) {
  return 0.5 * preemptions * (1.0 + preemptions);
}

/// Adds preemptions to the state of a closed loop of `batch` requests in service. The time in
/// service grows by n restore times. The time away, completions_until_restored completions, is
/// spent between two tokens and replaces as much admission delay. Recomputed prefills are already
/// in `state` (basic_service_terms::prefills_per_request).
/// Test: by hand; Little's law; the simulator of tests/simulator, outputs of 500 to 2000 tokens.
template <Scalar T>
constexpr void add_preemptions(basic_service_state<T>& state, const basic_preemption_effect<T>& e,
                               const basic_closed_loop<T>& loop, const T& batch,
                               const T& intervals) {
  const T& n = e.preemptions;
  const duration<T> before = batch * request / state.throughput;
  const duration<T> in_service =
      named("time in service with preemptions", before + n * e.restore_time);
  const T beyond = scalar_max(T(loop.concurrency - batch), T(0.0)) / batch;
  const duration<T> away =
      named("time preempted",
            min(completions_until_restored(n) / batch * in_service, beyond * in_service));
  state.throughput = before / in_service * state.throughput;
  const duration<T> admission = beyond * (in_service - before) - away;
  state.wait += admission;
  state.ttft_terms.admission_delay += admission;
  state.ttft.delay(admission, {}, loop.requests ? 1 : 0);  // not the initial burst

  const T share = scalar_min(T(n / intervals), T(1.0));
  const duration<T> mean_itl = state.itl.mean();
  basic_latency_distribution<T> itl;
  for (std::size_t i = 0; i < state.itl.size(); ++i) {
    basic_latency_part<T> part = state.itl[i];
    part.weight = (1.0 - share) * part.weight;
    itl.add(part);
  }
  itl.add({share, mean_itl + e.restore_time, {}, away / scalar_max(n, T(1e-9))});
  state.itl = itl;
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3
