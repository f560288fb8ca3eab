// An open loop: requests arrive at a given rate, independent of completions.
#pragma once

#include <perfmodel/serving/state.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Queueing for admission: share of arrivals that find no batch slot, and their mean wait.
template <Scalar T>
struct admission_queue {
  T share{};
  duration<T> wait{};
};

/// Requests in the system as a birth and death process: births at the arrival rate lambda, deaths
/// at n / C(n), with C(n) the request time of a closed loop of n. Around n*, the root of
/// lambda C(n) = n, the number is normal with variance v n* / (1 - e), e = d ln C / d ln n and v =
/// bursts (1 + cv^2) / 2. Beyond the K batch slots it is geometric with ratio
/// lambda C(K) / K = lambda / capacity_rate.
/// Source: docs/laws/research/serving.md (derivation). The standard normal distribution function
/// is 1 / (1 + exp(-1.5976 z - 0.070566 z^3)): Bowling et al., JIEM 2(1), 2009.
/// Leaves out: z above 6, where no arrival queues.
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
  const T& slots = s.max_running;
  const T ratio = scalar_min(T(rate / capacity_rate), T(1.0 - 1e-6));
  const T n = scalar_min(scalar_max(in_service, T(1e-9)), T((1.0 - 1e-6) * slots));
  // C(K) / C(n*) = (K / capacity_rate) / (n* / rate); e is its exponent over K / n*
  const T e = scalar_max(T(0.0), scalar_min(T(0.95), T(1.0 + log(ratio) / log(T(slots / n)))));
  const T bursts = arrivals.arrivals_per_burst * (1.0 + arrivals.cv * arrivals.cv) / 2.0;
  const T deviation = sqrt(T(bursts * n / (1.0 - e)));
  const T z = (slots - n) / deviation;
  if (lower(z) > 6.0) return {};
  const T below = 1.0 / (1.0 + exp(T(-1.5976 * z - 0.070566 * z * z * z)));
  const T density = 0.3989422804014327 * exp(T(-0.5 * z * z)) / deviation;
  const T total = below + density * ratio / (1.0 - ratio);
  const T variation = 0.8 * bursts * (1.0 + s.output_cv * s.output_cv);
  return {density / (1.0 - ratio) / total, variation * ratio / (1.0 - ratio) * (request / rate)};
}

}  // namespace detail

/// An open loop at arrival rate lambda. `loop` is the state of the closed loop in which a request
/// meets as many others, `p` its step times, and `capacity_rate` the throughput of the closed loop
/// with all batch slots taken.
///   B      lambda O ITL
///   rho    share of time for prefill: lambda saturated prefill time, or under mixed chunks the
///          full steps of the prefills that arrive in one interval
///   TTFT   CPU time + scheduling steps ITL + residual step + prefill
///          + rho / (1 - rho) (cv^2 + cv_I^2) / 2 saturated prefill time + admission delay
/// Prefill is an M/G/1 queue with vacations: the engine decodes while no prompt waits.
/// Source: Pollaczek and Khinchine; Levy and Yechiali 1975 (vacations); Allen and Cunneen (other
/// arrivals).
/// Leaves out: preemption.
/// Exceptions to monotonicity (below 0.5 % of ITL and E2E): docs/laws/research/serving.md.
/// Test: the simulator of tests/simulator; without load, one prefill; M/D/1.
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
