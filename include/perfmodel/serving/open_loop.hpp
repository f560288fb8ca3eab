// Model of an open loop: requests arrive at a given rate, independent of completions.
#pragma once

#include <perfmodel/serving/state.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Queueing for admission, when all batch slots (maximum running requests) are taken.
template <Scalar T>
struct admission_queue {
  T share{};           ///< share of arrivals that queue
  duration<T> wait{};  ///< mean wait of the arrivals that queue
};

/// Admission queue of an open loop with arrival rate lambda and K batch slots (`max_running`). The
/// number of requests in the system is a birth and death process. Births occur at rate lambda,
/// deaths at rate n / C(n), where C(n) is the request time of a closed loop of n requests.
///   n*     mean number in service: the root of lambda C(n) = n (`in_service`)
///   e      d ln C / d ln n
///   v      arrivals per burst x (1 + cv^2) / 2
///   n < K  normal distribution with mean n* and variance v n* / (1 - e)
///   n > K  geometric distribution with ratio lambda C(K) / K = lambda / capacity_rate
/// Source: docs/laws/research/serving.md (derivation). The standard normal distribution function is
/// approximated by 1 / (1 + exp(-1.5976 z - 0.070566 z^3)): Bowling et al., JIEM 2(1), 2009.
/// Leaves out: slots more than 6 standard deviations above n* (z > 6), where practically no arrival
/// queues.
/// Test: tests/unit/service_by_hand.cpp; the simulator of tests/simulator.
template <Scalar T>
constexpr admission_queue<T> admission_queue_of(const basic_service_terms<T>& s,
                                                const basic_open_loop<T>& arrivals,
                                                const T& in_service,
                                                const request_rate<T>& capacity_rate) {
  using math::exp;
  using math::log;
  using math::sqrt;
  const request_rate<T>& rate = arrivals.rate;
  const T& limit = s.max_running;
  const T ratio = scalar_min(T(rate / capacity_rate), T(1.0 - 1e-6));
  const T n = scalar_min(scalar_max(in_service, T(1e-9)), T((1.0 - 1e-6) * limit));
  // C(K) / C(n*) = (K / capacity_rate) / (n* / rate); e is its exponent over K / n*
  const T e = scalar_max(T(0.0), scalar_min(T(0.95), T(1.0 + log(ratio) / log(T(limit / n)))));
  const T bursts = arrivals.arrivals_per_burst * (1.0 + arrivals.cv * arrivals.cv) / 2.0;
  const T deviation = sqrt(T(bursts * n / (1.0 - e)));
  const T z = (limit - n) / deviation;
  if (lower(z) > 6.0) return {};
  const T below = 1.0 / (1.0 + exp(T(-1.5976 * z - 0.070566 * z * z * z)));
  const T density = 0.3989422804014327 * exp(T(-0.5 * z * z)) / deviation;
  const T total = below + density * ratio / (1.0 - ratio);
  const T variation = 0.8 * bursts * (1.0 + s.output_cv * s.output_cv);
  return {density / (1.0 - ratio) / total, variation * ratio / (1.0 - ratio) * (request / rate)};
}

}  // namespace detail

/// State of an open loop at arrival rate lambda.
///   B      decoding sequences: lambda O ITL
///   rho    share of time for prefill: lambda x saturated prefill time; under mixed chunks,
///          the share of steps that prefill fills: lambda ITL x full steps per prompt
///   TTFT   CPU time + scheduling steps x ITL + residual step + prefill
///          + rho / (1 - rho) (cv^2 + cv_I^2) / 2 x saturated prefill time + admission delay
/// O is the number of output tokens, cv the variation of arrivals, cv_I that of prompt lengths.
/// `loop` is the state of a closed loop in which a request meets the same number of other requests,
/// and `p` its step times. `capacity_rate` is the throughput of the closed loop with all batch
/// slots taken. Prefill is an M/G/1 queue with vacations: the engine decodes while no prompt waits.
/// Source: Pollaczek and Khinchine; Levy and Yechiali 1975 (vacations); Allen and Cunneen (other
/// arrival processes).
/// Leaves out: preemption.
/// Exceptions to monotonicity (below 0.5 % of ITL and E2E): docs/laws/research/serving.md.
/// Test: the simulator of tests/simulator; without load, TTFT is one prefill; the M/D/1 formula.
template <Scalar T>
constexpr basic_service_state<T> open_service(const basic_service_terms<T>& s,
                                              const basic_prefill_steps<T>& p,
                                              const basic_service_state<T>& loop,
                                              const basic_open_loop<T>& arrivals,
                                              const request_rate<T>& capacity_rate) {
  const request_rate<T>& rate = arrivals.rate;
  basic_service_state<T> state = loop;
  const duration<T> itl = named("mean ITL", loop.itl.mean());
  state.throughput = rate;
  state.batch = named("sequences decoding", T(rate * s.output_tokens * itl / request));

  const bool mixed = s.scheduler == scheduling::mixed_chunks;
  const T share = mixed ? T(T(rate * itl / request) * p.decode_steps_per_prefill)
                        : T(rate * p.saturated_prefill_time / request);
  const T rho = named("share of time for prefill", scalar_min(share, T(1.0 - 1e-6)));
  const T variation = (arrivals.cv * arrivals.cv + s.input_cv * s.input_cv) / 2.0;
  const duration<T> queueing =
      named("prefill queueing", single_server_wait(rho, variation, p.saturated_prefill_time));
  const duration<T> burst =
      detail::coscheduled_prefill_delay(p, T(arrivals.arrivals_per_burst - 1.0)) / (1.0 - rho);

  const T busy = detail::any_of(state.batch);  // probability that the engine has a step in flight
  const duration<T> residual = detail::residual_step_time(s, p, state, itl);
  // Arrivals during one step join the same next step.
  const T coscheduled =
      mixed ? scalar_min(T(rate * residual / request * 2.0), T(p.prefills_per_step - 1.0)) : T(0.0);
  // Steps of other requests delay it only where there are any; its stream interval always does.
  const T steps =
      busy * scalar_max(T(s.scheduling_steps - s.stream_steps - 1.0), T(0.0)) + s.stream_steps;
  const duration<T> unqueued =
      named("TTFT without prefill queueing", s.request_cpu_time + steps * itl + p.prefill_time +
                                                 burst + coscheduled * p.marginal_prefill_time);
  const duration<T> in_service = unqueued + residual + queueing + s.intervals_after_ttft() * itl;
  const detail::admission_queue<T> admission =
      detail::admission_queue_of(s, arrivals, T(rate * in_service / request), capacity_rate);
  const T queued = named("share that queues for admission", admission.share);
  state.wait = queueing + burst + queued * admission.wait;
  state.ttft_terms = {s.request_cpu_time,
                      steps * itl + residual,
                      steps,
                      coscheduled,
                      queueing + burst + coscheduled * p.marginal_prefill_time,
                      queued * admission.wait,
                      {},
                      queued};

  const T behind_prefill = scalar_max(rho, T(1e-9));
  const T admitted = 1.0 - queued;
  state.ttft = {};
  state.ttft.add(detail::with_length(T(admitted * (1.0 - behind_prefill)), unqueued, p.prefill_time,
                                     residual, s.input_cv));
  state.ttft.add(detail::with_length(T(admitted * behind_prefill), unqueued + residual,
                                     p.prefill_time, queueing / behind_prefill, s.input_cv));
  state.ttft.add({queued, unqueued + residual, {}, queueing + admission.wait});
  return state;
}

}  // namespace perfmodel::inline v0_3
