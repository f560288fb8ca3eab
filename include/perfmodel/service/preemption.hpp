// What running out of blocks costs an engine that admits by the tokens sequences have: which are evicted,
// and how they come back.
#pragma once

#include <perfmodel/scalar/choose.hpp>
#include <perfmodel/service/load.hpp>
#include <perfmodel/service/service_memory.hpp>
#include <perfmodel/step.hpp>

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
constexpr T grown_when_evicted(const basic_service_load<T>& l) {
  return 0.1 * l.output_tokens;
}

/// 1 where a closed loop has more requests than the `fit` that fit on average, and the engine lets them grow;
/// else 0.
template <Scalar T>
constexpr T overfull(const basic_deployment<T>& d, const T& requests, const T& fit) {
  if (!grows_into_memory(d.served_by)) return T(0.0);
  return from_lanes<T>([&](std::size_t lane) {
    return lanes_of<T>::lane(requests, lane) > lanes_of<T>::lane(fit, lane) ? 1.0 : 0.0;
  });
}

/// Evictions of a load's request in a full service; what it shares stays.
template <Scalar T>
constexpr T evictions_when_full(const basic_service_load<T>& l) {
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
  if (!l.is_closed() || !grows_into_memory(d.served_by)) return e;
  const T fit = detail::service_memory_of(d, l, T(detail::mean_context(l))).sequences;
  e.times = detail::overfull(d, detail::let_in(d, l, l.concurrency()), fit) *
            detail::evictions_when_full(l);
  e.tokens = l.input_tokens + detail::grown_when_evicted(l);
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

}  // namespace perfmodel
