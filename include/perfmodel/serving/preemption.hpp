// What running out of blocks costs an engine that admits by the tokens sequences have: which are evicted,
// and how they come back.
#pragma once

#include <perfmodel/scalar/choose.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/serving/state.hpp>
#include <perfmodel/step/step.hpp>

namespace perfmodel {

/// Of one request, from its arrival to its last token.
template <Scalar T = double>
struct basic_preemption_estimate {
  T times{};   ///< that it is evicted
  T tokens{};  ///< of its cache that each takes
  duration<T> recompute{};
  duration<T> swap{};  ///< out and in
  per_lane<T, preemption> cheaper{};

  /// In the cheaper way.
  constexpr duration<T> time() const { return min(recompute, swap); }
};
using preemption_estimate = basic_preemption_estimate<>;

/// How often a request is evicted where more of them wait than fit, O / (I + g), g = O / 10. Each end of an
/// answer frees I + O, which is filled with prompts of I at once; until the next end the others grow by O
/// in all, for which the newest are evicted, I + g each. That those have a tenth of an answer is read off
/// simulations; the rest is a balance. `input` is what a prompt holds of its own.
/// Sources: Kwon et al., "Efficient Memory Management for Large Language Model Serving with
/// PagedAttention", SOSP 2023, section 4.5; vLLM, v1/core/sched/scheduler.py (the newest is evicted).
/// Tests: by hand; the simulator of tests/simulator, answers of 500 to 2000 tokens after prompts of 200 to
/// 2000, within 15 %; shorter ones are evicted less, since blocks leave room.
template <Scalar T>
constexpr T preemptions_of_full_service(const T& input, const T& output) {
  detail::count("input", input);
  detail::count("output", output);
  return named("preemptions", output / (input + 0.1 * output));
}

namespace detail {

/// Tokens of its answer that a sequence has when it is evicted, a tenth.
template <Scalar T>
constexpr T grown_when_preempted(const basic_service_load<T>& l) {
  return 0.1 * l.output_tokens;
}

/// 1 where a closed loop has more requests than the `fit` that fit on average, and the engine lets them grow;
/// else 0.
template <Scalar T>
constexpr T overfull(const basic_deployment<T>& d, const T& requests, const T& fit) {
  if (!grows_into_memory(d.serving_engine)) return T(0.0);
  return from_lanes<T>([&](std::size_t lane) {
    return lanes_of<T>::lane(requests, lane) > lanes_of<T>::lane(fit, lane) ? 1.0 : 0.0;
  });
}

/// Evictions of a load's request in a full service; what it shares stays.
template <Scalar T>
constexpr T preemptions_when_full(const basic_service_load<T>& l) {
  return preemptions_of_full_service(T(l.input_tokens - tokens_of(l.shared)), l.output_tokens);
}

}  // namespace detail

/// What of it a deployment pays: nothing where the engine keeps room for whole answers (grows_into_memory),
/// and nothing in a closed loop of as many as fit on average; an open loop that is feasible is not full.
/// Recompute: a prompt of the tokens lost. Swap: their bytes over each device's link to the host, both ways;
/// without a link only recompute. A load that says how it `evicts` has it in the prediction of its service.
/// Leaves out: what a prefix cache still has of an evicted sequence; that both run beside decoding.
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
  e.times = detail::overfull(d, detail::admitted_sequences(d, l, l.concurrency()), fit) *
            detail::preemptions_when_full(l);
  e.tokens = l.input_tokens + detail::grown_when_preempted(l);
  e.recompute = named(
      "recompute", e.times * step(d, basic_iteration<T>{.prefill_tokens = e.tokens}, policy).time);
  e.swap = duration<T>::from_value(T(detail::infinity));
  if (lower(host_link.value()) > 0.0) {
    e.swap = named("swap", 2.0 * e.times * detail::sequence_on_device(d, e.tokens) / host_link);
  }
  e.cheaper = detail::on_each_lane<T>([&](std::size_t lane) {
    return lanes_of<T>::lane(e.swap.value(), lane) < lanes_of<T>::lane(e.recompute.value(), lane)
               ? preemption::swap
               : preemption::recompute;
  });
  return e;
}

// What evictions do to the flow of a service whose answers outgrow its cache.

/// Of one request, from its first token to its last.
template <Scalar T = double>
struct basic_preemption_effect {
  T times{};
  T prompts = T(1.0);   ///< computed for it in all, its own and what is computed anew
  duration<T> back{};   ///< each, alone: until its cache is there again
  duration<T> stall{};  ///< all of them, of the whole pass that waits for the transfers

  constexpr bool exist() const { return upper(times) > 0.0; }
};
using preemption_effect = basic_preemption_effect<>;

namespace detail {

/// Ends of others that a request waits for in all, evicted n times: n (n + 1) / 2, read off simulations.
/// What is evicted comes back, the oldest first, as others end; prompts that were admitted together are
/// evicted together, and one of them stays at each end.
template <Scalar T>
constexpr T ends_waited_for(const T& times) {
  return 0.5 * times * (1.0 + times);
}

/// A closed loop of `b` in service, with the time that evictions add: to the service, and to the gaps between
/// tokens the wait for the cache, which is a part of what requests beyond b would wait for a place. What is
/// computed anew is in the prompts that `state` meets (basic_service_terms::prompts).
/// Tests: by hand; Little's law; the simulator of tests/simulator, answers of 500 to 2000 tokens.
template <Scalar T>
constexpr void add_preemptions(basic_service_state<T>& state, const basic_preemption_effect<T>& e,
                               const basic_closed_loop<T>& loop, const T& b, const T& gaps) {
  const duration<T> before = b * request / state.throughput;
  const duration<T> in_service =
      named("time in service, evictions included", before + e.times * e.back);
  const T beyond = scalar_max(T(loop.concurrency - b), T(0.0)) / b;
  const duration<T> away =
      named("away, evicted", min(ends_waited_for(e.times) / b * in_service, beyond * in_service));
  const T slower = before / in_service;
  state.throughput = slower * state.throughput;
  const duration<T> place = beyond * (in_service - before) - away;
  state.wait += place;
  state.first.place += place;
  state.first_token.delay(place, {}, loop.requests ? 1 : 0);  // the first wave waits for none

  const T share = scalar_min(T(e.times / gaps), T(1.0));
  const T each = scalar_max(e.times, T(1e-9));
  const duration<T> mean_itl = state.gap.mean();
  basic_latency_distribution<T> gap;
  for (std::size_t i = 0; i < state.gap.size(); ++i) {
    basic_latency_part<T> part = state.gap[i];
    part.weight = (1.0 - share) * part.weight;
    gap.add(part);
  }
  gap.add({share, mean_itl + e.back, {}, away / each});
  state.gap = gap;
}

}  // namespace detail

}  // namespace perfmodel
