// Model of an open loop: requests arrive at a given rate, independent of completions.
#pragma once

#include <optional>
#include <perfmodel/serving/state.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Queueing for admission, when all batch slots (maximum running requests) are taken.
template <Scalar T>
struct admission_queue {
  T share{};           ///< share of arrivals that queue
  duration<T> wait{};  ///< mean wait of the arrivals that queue
};

/// Interval between two decode steps of a prefill-first scheduler at arrival rate lambda. The
/// engine prefills until no prompt waits; the prompts that arrive during a prefill step form the
/// next one.
/// With g prefill steps in an interval, of k prompts each:
///   ITL = D + g (P - M) + lambda ITL M      all prompts that arrive are prefilled
///   g   = (1 - exp(-lambda D)) exp(lambda (P - M) + k (1 - exp(-lambda M))),   k = lambda ITL / g
/// D is the time of a decode step, P that of a prefill, M its marginal time. During a step with a
/// Poisson number of prompts (mean k), no prompt arrives with probability 1 / exp(...).
/// u = lambda D / g solves u exp(b u) = constant, by Newton's method for Lambert's W.
/// Exact where prompts do not share a step (M = P: the busy period of M/G/1) and where a step costs
/// the same for any number of them (M = 0).
/// Test: both limits; the simulation, tests/simulator/closed_forms.cpp.
template <Scalar T>
struct prefill_first_interval {
  T marginal{};       ///< lambda M
  T prefill_steps{};  ///< g
  duration<T> mean{};

  constexpr prefill_first_interval(const basic_service_terms<T>& s, const basic_prefill_steps<T>& p,
                                   const request_rate<T>& rate) {
    using math::exp;
    using math::log;
    const duration<T> shared = max(p.prefill_time - p.marginal_prefill_time, duration<T>{});
    marginal = scalar_min(T(rate * p.marginal_prefill_time / request), T(1.0 - 1e-6));
    const T decode = scalar_max(T(rate * p.decode_time / request), T(1e-12));
    const T b = any_of(marginal) / (1.0 - marginal);
    const T scale = decode / any_of(decode) * exp(T(-1.0 * T(rate * shared / request) * (1.0 + b)));
    const T z = b * scale;
    T w = log(T(1.0 + z));
    for (int i = 0; i < 4; ++i) w = (w * w + z * exp(T(-w))) / (w + 1.0);
    prefill_steps = decode / scalar_max(T(scale * exp(T(-w))), T(1e-30));
    mean = (p.decode_time + prefill_steps * shared) / (1.0 - marginal);
    // With all batch slots taken no prompt is admitted, and the engine decodes.
    if (upper(s.full_itl.value()) > 0.0) mean = max(p.decode_time, min(mean, s.full_itl));
    prefill_steps = scalar_min(prefill_steps, T((mean - p.decode_time) /
                                                max(p.prefill_time, duration<T>(1e-12 * second))));
  }

  /// Mean time of the prefills that follow where k prompts wait, given that any do:
  /// (g' (P - M) + k M) / (1 - lambda M), with g' steps in the ratio of those that wait.
  constexpr duration<T> after(const basic_prefill_steps<T>& p, const T& waiting, const T& any,
                              const T& stalled) const {
    const duration<T> shared = max(p.prefill_time - p.marginal_prefill_time, duration<T>{});
    return (prefill_steps / stalled * shared + waiting / any * p.marginal_prefill_time) /
           (1.0 - marginal);
  }

  /// Mean residual time of the step in progress, at the probability `busy` of one that decodes. A
  /// prefill step waits for none of the prompts that it takes alone.
  constexpr duration<T> residual_time(const basic_prefill_steps<T>& p, const T& busy) const {
    const T steps = scalar_max(prefill_steps, T(1e-12));
    const duration<T> step = (mean - p.decode_time) / steps;
    return 0.5 * (busy * p.decode_time * (p.decode_time / mean) +
                  (1.0 - 1.0 / p.prefills_per_step) * steps * step * (step / mean));
  }
};

/// Mean number m of prefills that start between two engine steps at arrival rate lambda:
/// m = lambda (D + q S + (m - q) M) with q = 1 - exp(-m), as in itl_of, by Newton's method from the
/// value for q = 1. A prompt in chunks adds its stall to as many steps:
/// m = lambda D / (1 - lambda S).
/// At most what full steps can take.
/// Test: the equation itself; the simulation, tests/simulator/closed_forms.cpp.
template <Scalar T>
constexpr T arrivals_between_steps(const basic_service_terms<T>& s, const basic_prefill_steps<T>& p,
                                   const request_rate<T>& rate) {
  using math::exp;
  const auto within = [&](const duration<T>& time) { return T(rate * time / request); };
  const T decode = within(p.decode_time), stall = within(p.decode_stall);
  constexpr double below_one = 1.0 - 1e-6;
  if (s.scheduler == scheduling::mixed_chunks && upper(p.chunks) > 1.0) {
    const T steps = pipelined_chunk_steps(T(p.decode_steps_per_prefill * p.prefills_per_step),
                                          p.pipeline_stages);
    return scalar_min(T(decode / (1.0 - scalar_min(stall, T(below_one)))), T(1.0 / steps));
  }
  const T further = scalar_min(within(p.marginal_prefill_time), T(below_one));
  const T first = stall - further;
  T m = (decode + scalar_max(first, T(0.0))) / (1.0 - further);
  for (int i = 0; i < 5; ++i) {
    const T none = exp(T(-m));
    const T excess = m * (1.0 - further) - decode - (1.0 - none) * first;
    m = m - excess / scalar_max(T(1.0 - further - none * first), T(1e-9));
  }
  return scalar_min(scalar_max(m, decode), scalar_max(p.prefills_per_step, T(1.0)));
}

/// Wait of a prompt for the prefills of others in an open loop: M/G/1. Under mixed chunks a step
/// with prefill takes L for k prompts on average and has room for K (`prefills_per_step`), so the
/// service time is L / K; else it is the time of a prompt in full steps.
/// Exact for one prompt a step: the decode steps between are the vacations of the server.
template <Scalar T>
struct prefill_queue {
  T utilisation{};
  duration<T> wait{};
  std::optional<T> between{};  ///< arrivals_between_steps, where the law of the step needs them

  constexpr prefill_queue(const basic_service_terms<T>& s, const basic_prefill_steps<T>& p,
                          const basic_open_loop<T>& arrivals) {
    const duration<T> step = min(p.saturated_prefill_time, mean_step(s, p, arrivals.rate));
    utilisation = scalar_min(T(arrivals.rate * step / request), T(1.0 - 1e-6));
    wait = single_server_wait(utilisation,
                              T((arrivals.cv * arrivals.cv + s.input_cv * s.input_cv) / 2.0), step);
  }

 private:
  /// L / K
  constexpr duration<T> mean_step(const basic_service_terms<T>& s, const basic_prefill_steps<T>& p,
                                  const request_rate<T>& rate) {
    if (!(upper(p.prefills_per_step) > 1.0) || s.scheduler != scheduling::mixed_chunks)
      return p.saturated_prefill_time;
    between = arrivals_between_steps(s, p, rate);
    const T& m = *between;
    const T prompts = scalar_min(T(m / any_of(scalar_max(m, T(1e-12)))), p.prefills_per_step);
    return (p.prefill_time + scalar_max(T(prompts - 1.0), T(0.0)) * p.marginal_prefill_time) /
           p.prefills_per_step;
  }
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
  const prefill_queue<T> queue(s, p, arrivals);
  const T behind = scalar_max(T(rate * (queue.wait + p.prefill_time) / request), T(1e-12));
  const T followed = named("share of requests with a prompt behind", any_of(behind));
  basic_latency_distribution<T> itl;
  if (mixed) {
    const duration<T> further = upper(p.chunks) > 1.0 ? p.decode_stall : p.marginal_prefill_time;
    const T delayed = scalar_min(T(rate * further / request), queue.utilisation);
    const T served = rate * p.prefill_time / request * p.decode_steps_per_prefill;
    const T steps = scalar_max(T(1.0), T(served / followed)) / (1.0 - delayed);
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
  const prefill_first_interval<T> interval(s, p, rate);
  const T decode = scalar_max(T(rate * p.decode_time / request), T(1e-12));
  const T stalled = any_of(decode);  // share of decode steps that prefills follow
  const duration<T> stall = (interval.mean - p.decode_time) / stalled;
  const T own = 1.0 / s.intervals();  // the interval after its own prefill
  // `behind` prompts wait there where lambda D do after a decode step.
  const duration<T> rest = interval.after(p, behind, followed, stalled);
  itl.add({(1.0 - own) * (1.0 - stalled) + own * (1.0 - followed), p.decode_time});
  const duration<T> first = min(p.prefill_time, stall);
  itl.add(with_length(T((1.0 - own) * stalled), p.decode_time + first, first, stall - first,
                      s.input_cv));
  const duration<T> next = min(p.prefill_time, rest);
  itl.add(with_length(T(own * followed), p.decode_time + next, next, rest - next, s.input_cv));
  return itl;
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
  const detail::prefill_queue<T> queue(s, p, arrivals);
  const T rho = named("share of time for prefill", queue.utilisation);
  const duration<T> queueing = named("prefill queueing", queue.wait);
  const duration<T> burst =
      detail::coscheduled_prefill_delay(p, T(arrivals.arrivals_per_burst - 1.0)) / (1.0 - rho);

  const T busy = detail::any_of(state.batch);  // probability that the engine has a step in flight
  const bool batching = s.scheduler == scheduling::prefill_first && p.pipeline_stages == 1.0;
  duration<T> residual = detail::residual_step_time(s, p, state, itl);
  duration<T> mean_step = itl;  // of a random step: its own prefill follows none of those before it
  if (batching) {
    const detail::prefill_first_interval<T> interval(s, p, rate);
    residual = interval.residual_time(p, busy);
    mean_step = min(itl, interval.mean);
  }
  // Arrivals during one step join the same next step.
  const T coscheduled = mixed || batching ? scalar_min(T(rate * residual / request * 2.0),
                                                       T(p.prefills_per_step - 1.0))
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
  state.ttft.add(detail::with_length(T(admitted * (1.0 - behind_prefill)), unqueued, p.prefill_time,
                                     residual, s.input_cv));
  state.ttft.add(detail::with_length(T(admitted * behind_prefill), unqueued + residual,
                                     p.prefill_time, queueing / behind_prefill, s.input_cv));
  state.ttft.add({queued, unqueued + residual, {}, queueing + admission.wait});
  return state;
}

}  // namespace perfmodel::inline v0_3
