// Model of an open loop: requests arrive at a given rate, independent of completions.
#pragma once

#include <perfmodel/serving/shared_steps.hpp>
#include <perfmodel/serving/state.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Queueing for admission, when all batch slots (maximum running requests) are taken.
template <Scalar T>
struct admission_queue {
  T share{};           ///< share of arrivals that queue
  duration<T> wait{};  ///< mean wait of the arrivals that queue
};

/// Distribution of the inter-token latency of an open loop. `sequences` decode at a time, which is
/// asked of pipelines alone. The prompts behind a request, k = lambda (wait + own prefill), follow
/// in the steps after its prefill:
///   prefill first   all before its first decode step
///   mixed           the first step has some with probability a = 1 - exp(-k). Over a long output,
///                   lambda P c more steps have prefill than random steps do, for the arrivals
///                   during its own prefill P. The share of an output's intervals is
///                   a b (1 - exp(-(O - 1) / b)) / (O - 1),
///                   b = max(1, lambda P c / a) / (1 - lambda S)
/// c is the number of steps per prompt, S the time that a further prompt adds to them. The other
/// intervals are those of a random engine step.
/// Leaves out: data-parallel groups.
/// Test: the simulation, tests/simulator/closed_forms.cpp.
template <Scalar T>
constexpr basic_latency_distribution<T> open_loop_itl(const basic_service_terms<T>& s,
                                                      const basic_prefill_steps<T>& p,
                                                      const basic_open_loop<T>& arrivals,
                                                      const T& sequences) {
  using math::exp;
  const request_rate<T>& rate = arrivals.rate;
  if (s.scheduler == scheduling::static_batches) return itl_of(s, p, T(0.0));
  const bool mixed = s.scheduler == scheduling::mixed_chunks;
  if (!mixed && p.pipeline_stages > 1.0) return itl_of(s, p, T(sequences / s.intervals()));
  prefill_queue<T> queue(s, p, arrivals);
  if (mixed && queue.is_shared) return shared_steps_itl(s, p, rate, queue);
  if (queue.groups) {  // all groups wait for any that prefills
    const T stalled =
        named("share of intervals with prefill", queue.groups->share_of_output(s.intervals()));
    basic_latency_distribution<T> itl;
    itl.add({1.0 - stalled, p.decode_time});
    itl.add(with_length(stalled, queue.groups->length, {}, {}, s.input_cv));
    return itl;
  }
  queue.add_wait(s, p, arrivals);
  const T behind = scalar_max(T(rate * (queue.wait + queue.own_step(p)) / request), T(1e-12));
  T any_behind = any_of(behind);
  // A request that leaves a single server leaves another one behind with the utilisation.
  if (mixed && !(upper(p.prefills_per_step) > 1.0))
    any_behind = scalar_min(any_behind, scalar_max(queue.utilisation, T(1e-12)));
  const T followed = named("share of requests with a prompt behind", any_behind);
  basic_latency_distribution<T> itl;
  if (mixed) {
    const duration<T> further = upper(p.chunks) > 1.0 ? p.decode_stall : p.marginal_prefill_time;
    const T delayed = scalar_min(T(rate * further / request), queue.utilisation);
    const T room = scalar_max(T(p.chunks - p.steps_per_prefill), T(0.0));  // of its last step
    const T served = scalar_max(T(behind * p.decode_steps_per_prefill - followed * room), T(0.0));
    const T steps = T(served / followed) / (1.0 - delayed);
    const T share = named("share of intervals behind a prefill",
                          followed * scalar_min(T(1.0), T(steps / s.intervals() *
                                                          (1.0 - exp(T(-s.intervals() / steps))))));
    const T between = queue.between ? *queue.between : arrivals_between_steps(s, p, rate);
    itl = itl_of(s, p, between).for_share(T(1.0 - share));
    const duration<T> stall =
        p.decode_stall /
        pipelined_chunk_steps(scalar_max(p.steps_per_prefill, T(1.0)), p.pipeline_stages);
    itl.add(with_length(share, p.decode_time + stall, stall, {}, s.input_cv));
    return itl;
  }
  const prefill_first_interval<T>& interval = *queue.interval;
  const T decode = scalar_max(T(rate * p.decode_time / request), T(1e-12));
  const T stalled = any_of(decode);  // share of decode steps that prefills follow
  const duration<T> stall = (interval.mean - p.decode_time) / stalled;
  const T own = 1.0 / s.intervals();  // the interval after its own prefill
  // `behind` prompts wait there where lambda D do after a decode step, and at most the batch slots
  // have a prompt that waits for its first decode step.
  const duration<T> rest = min(interval.after(p, behind, followed, stalled),
                               duration<T>(s.max_running * p.saturated_prefill_time));
  itl.add({(1.0 - own) * (1.0 - stalled) + own * (1.0 - followed), p.decode_time});
  const duration<T> first = min(p.prefill_time, stall);
  itl.add(with_length(T((1.0 - own) * stalled), p.decode_time + first, first, stall - first,
                      s.input_cv));
  const duration<T> next = min(p.prefill_time, rest);
  itl.add(with_length(T(own * followed), p.decode_time + next, next, rest - next, s.input_cv));
  return itl;
}

/// Mean rest of the engine step in progress when a request arrives. Steps that hold little more
/// than one prompt lie between the law of steps that prompts share and that of single ones.
template <Scalar T>
constexpr duration<T> rest_of_step(const basic_service_terms<T>& s, const basic_prefill_steps<T>& p,
                                   const prefill_queue<T>& queue,
                                   const basic_service_state<T>& state, const duration<T>& itl) {
  if (!queue.is_shared) return residual_step_time(s, p, state, itl);
  const duration<T> rest = 0.5 * queue.in_progress.mean;
  const T shared = scalar_min(T(1.0), T(p.prefills_per_step - 1.0));
  if (s.scheduler != scheduling::mixed_chunks || lower(shared) >= 1.0) return rest;
  return shared * rest + (1.0 - shared) * residual_step_time(s, p, state, itl);
}

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
/// `itl` and the step times `p` are those of the mean decode batch. `capacity_rate` is the
/// throughput of the closed loop with all batch slots taken. Prefill is an M/G/1 queue with
/// vacations: the engine decodes while no prompt waits.
/// Source: Pollaczek and Khinchine; Levy and Yechiali 1975 (vacations); Allen and Cunneen (other
/// arrival processes).
/// Leaves out: preemption.
/// Exceptions to monotonicity (below 0.5 % of ITL and E2E): docs/laws/research/serving.md.
/// Test: the simulator of tests/simulator; without load, TTFT is one prefill; the M/D/1 formula.
template <Scalar T>
constexpr basic_service_state<T> open_service(const basic_service_terms<T>& s,
                                              const basic_prefill_steps<T>& p,
                                              const basic_latency_distribution<T>& itl_distribution,
                                              const basic_open_loop<T>& arrivals,
                                              const request_rate<T>& capacity_rate) {
  const request_rate<T>& rate = arrivals.rate;
  basic_service_state<T> state;
  state.itl = itl_distribution;
  const duration<T> itl = named("mean ITL", state.itl.mean());
  state.throughput = rate;
  state.batch = named("sequences decoding", T(rate * s.output_tokens * itl / request));

  const bool mixed = s.scheduler == scheduling::mixed_chunks;
  detail::prefill_queue<T> queue(s, p, arrivals);
  queue.add_wait(s, p, arrivals);
  const T rho = named("share of time for prefill", queue.utilisation);
  const duration<T> queueing = named("prefill queueing", queue.wait);
  const duration<T> burst =
      detail::coscheduled_prefill_delay(p, T(arrivals.arrivals_per_burst - 1.0)) / (1.0 - rho);

  const T busy = detail::any_of(state.batch);  // probability that the engine has a step in flight
  const duration<T> residual = detail::rest_of_step(s, p, queue, state, itl);
  // of a random step: its own prefill follows none of those before it
  const duration<T> mean_step = queue.interval ? min(itl, queue.interval->mean) : itl;
  // Arrivals during one step join the same next step.
  const T coscheduled =
      queue.is_shared ? queue.coscheduled
      : mixed         ? scalar_min(T(rate * residual / request * 2.0), T(p.prefills_per_step - 1.0))
                      : T(0.0);
  // Steps of other requests delay it only where there are any; its stream interval always does.
  const T before = busy * scalar_max(T(s.scheduling_steps - s.stream_steps - 1.0), T(0.0));
  const T steps = before + s.stream_steps;
  const duration<T> scheduling = before * mean_step + s.stream_steps * itl;
  const duration<T> unqueued =
      named("TTFT without prefill queueing", s.request_cpu_time + scheduling + p.prefill_time +
                                                 burst + coscheduled * p.marginal_prefill_time);
  const duration<T> in_service = unqueued + residual + queueing + s.intervals_after_ttft() * itl;
  const detail::admission_queue<T> admission =
      detail::admission_queue_of(s, arrivals, T(rate * in_service / request), capacity_rate);
  const T queued = named("share that queues for admission", admission.share);
  state.wait = queueing + burst + queued * admission.wait;
  state.ttft_terms = {s.request_cpu_time,
                      scheduling + residual,
                      steps,
                      coscheduled,
                      queueing + burst + coscheduled * p.marginal_prefill_time,
                      queued * admission.wait,
                      {},
                      queued};

  const T behind_prefill = scalar_max(rho, T(1e-9));
  const T admitted = 1.0 - queued;
  state.ttft = {};
  if (queue.is_shared) {
    detail::add_shared_ttft(state.ttft, admitted, s, p, queue, rate, unqueued, residual + queueing);
  } else {
    state.ttft.add(detail::with_length(T(admitted * (1.0 - behind_prefill)), unqueued,
                                       p.length_time, residual, s.input_cv));
    state.ttft.add(detail::with_length(T(admitted * behind_prefill), unqueued + residual,
                                       p.length_time, queueing / behind_prefill, s.input_cv));
  }
  state.ttft.add({queued, unqueued + residual, {}, queueing + admission.wait});
  return state;
}

}  // namespace perfmodel::inline v0_3
