// Preemption: how often it happens and how much time it costs. It occurs in engines that admit
// requests by their present tokens, when the growing outputs fill the KV cache.
#pragma once

#include <perfmodel/scalar/math.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/serving/state.hpp>
#include <perfmodel/step/step.hpp>

namespace perfmodel::inline v0_3 {

/// Preemptions of one request between its arrival and its last token, and the time that they cost.
template <Scalar T = double>
struct basic_preemption_estimate {
  T preemptions{};               ///< mean number per request
  T tokens_lost{};               ///< cached tokens that one preemption loses
  duration<T> recompute_time{};  ///< time per request if all lost tokens are recomputed
  duration<T> swap_time{};       ///< time per request if they are swapped out and in
  preemption cheaper_mode{};

  /// Time that preemptions cost a request in `cheaper_mode`.
  constexpr duration<T> lost_time() const { return min(recompute_time, swap_time); }
};
using preemption_estimate = basic_preemption_estimate<>;

/// Preemptions per request when more requests wait than the KV cache holds:
///   O / (I + O / 10)
/// I is the number of unshared prompt tokens and O the number of output tokens of a request. A
/// completion frees I + O tokens, and new prompts take them at once. Between two completions the
/// running sequences together generate O tokens in steady state. The engine makes space for these
/// by preempting the newest sequences. Each of them frees I + O / 10 tokens. The figure O / 10
/// (output tokens at the time of preemption) comes from simulations.
/// Source: Kwon et al., "Efficient Memory Management for Large Language Model Serving with
/// PagedAttention", SOSP 2023, section 4.5; vLLM, v1/core/sched/scheduler.py (preempts the newest).
/// Leaves out: partly filled blocks, which leave spare tokens; shorter outputs than those of the
/// test are therefore preempted less often.
/// Errors: input or output below 1.
/// Test: by hand; the simulator of tests/simulator, outputs of 500 to 2000 tokens after prompts of
/// 200 to 2000 tokens, within 15 %.
template <Scalar T>
constexpr T preemptions_of_full_service(const T& input, const T& output) {
  detail::count("input", input);
  detail::count("output", output);
  return named("preemptions", output / (input + 0.1 * output));
}

namespace detail {

/// Output tokens that a sequence has when it is preempted: a tenth of its output.
template <Scalar T>
constexpr T output_tokens_at_preemption(const basic_service_load<T>& l) {
  return 0.1 * l.output_tokens;
}

/// Indicator of preemption in a closed loop: 1 if `requests` exceeds `fit`, the sequences of mean
/// context that fit in the KV cache, else 0. It is 0 for an engine that reserves the memory of
/// whole outputs (`!grows_into_memory`).
template <Scalar T>
constexpr T overcommitted(const basic_deployment<T>& d, const T& requests, const T& fit) {
  if (!grows_into_memory(d.serving_engine)) return T(0.0);
  return T(mid(requests) > mid(fit) ? 1.0 : 0.0);
}

/// Preemptions per request of a load when the KV cache is full. The shared prefix stays cached, so
/// only the unshared tokens count.
template <Scalar T>
constexpr T preemptions_when_full(const basic_service_load<T>& l) {
  return preemptions_of_full_service(T(l.input_tokens - tokens_of(l.shared)), l.output_tokens);
}

}  // namespace detail

/// Preemptions of a load on a deployment, and the time that they cost in both modes:
///   recompute  preemptions x the time of a prefill of `tokens_lost` tokens
///   swap       2 x preemptions x the cache of `tokens_lost` tokens on one device / host_link
/// `host_link` is the bandwidth between one device and its host; 0 leaves only recompute. The
/// result is 0 in three cases: an open loop, a closed loop that fits in memory, and an engine that
/// reserves memory for whole outputs (`!grows_into_memory`). This function only compares the modes;
/// `serving` includes preemption in its prediction if the load has a `preemption_mode`.
/// Leaves out: prefix-cache hits of a preempted sequence; overlap of both modes with decoding.
/// Errors: as serving.
/// Test: both times by hand; with a slow host link recompute is the cheaper mode.
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
  e.cheaper_mode = mid(e.swap_time.value()) < mid(e.recompute_time.value()) ? preemption::swap
                                                                            : preemption::recompute;
  return e;
}

/// Effect of preemption on one request of a service, as the prediction of `serving` uses it.
template <Scalar T = double>
struct basic_preemption_effect {
  T preemptions{};  ///< mean number per request
  /// Its own prefill, and the recomputations in units of it.
  T prefills_per_request = T(1.0);
  /// Time to restore a sequence once (recompute, or swap out and in), without queueing.
  duration<T> restore_time{};
  duration<T> batch_stall{};  ///< pause of the whole batch for the swaps of one request

  constexpr bool has_any() const { return upper(preemptions) > 0.0; }
};
using preemption_effect = basic_preemption_effect<>;

namespace detail {

/// Completions of other requests that a request waits for, in total over its n preemptions. The
/// count n (n + 1) / 2 is fitted to the simulator of tests/simulator. Preempted requests are
/// restored in order of arrival, one per completion. Prompts admitted at the same time are also
/// preempted at the same time, so they wait for each other.
template <Scalar T>
constexpr T completions_until_restored(const T& preemptions) {
  return 0.5 * preemptions * (1.0 + preemptions);
}

/// Adds the effect of preemption to `state`, the state of a closed loop with `batch` requests in
/// service and n preemptions per request. The time in service grows by n x restore_time. A
/// preempted request also waits until other requests complete (completions_until_restored). This
/// wait lies between two of its tokens; the admission delay of new requests falls by the same time.
/// Recomputed prefills are already in `state` (basic_service_terms::prefills_per_request).
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
  state.itl = state.itl.for_share(T(1.0 - share));
  state.itl.add({share, mean_itl + e.restore_time, {}, away / scalar_max(n, T(1e-9))});
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3
