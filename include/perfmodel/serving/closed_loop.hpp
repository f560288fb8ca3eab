// Model of a closed loop: a fixed number of requests in the system, in steady state or over a run.
#pragma once

#include <perfmodel/serving/state.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Mean number of the n other requests that complete in the same engine step as a particular
/// request. Requests with equal outputs that start at the same time also complete at the same time.
/// In a random order n / O of them complete per step, where O is the number of output tokens. After
/// k outputs the completion times have a standard deviation of sigma = sqrt(k) cv O steps, with cv
/// the coefficient of variation of outputs. For normal completion times n / (2 sqrt(pi) sigma)
/// others complete in the same step. The result is the larger of both values, at most n.
/// `inverse_root` is the mean of 1 / sqrt(k) over a run.
/// Test: tests/unit/service_by_hand.cpp.
template <Scalar T>
constexpr T simultaneous_completions(const basic_service_terms<T>& s, const T& n,
                                     const T& inverse_root) {
  constexpr double two_root_pi = 3.5449077018110318;
  const T density = two_root_pi * s.output_cv * s.output_tokens;
  const T clustered = scalar_min(T(1.0), T(inverse_root / scalar_max(density, T(1e-9))));
  return n * scalar_max(T(1.0 / s.intervals()), clustered);
}

/// Mean of 1 / sqrt(k) for k = 1 .. n, approximated by the integral from 1/2 to n + 1/2.
template <Scalar T>
constexpr T mean_inverse_square_root(const T& n) {
  using math::sqrt;
  return scalar_min(T(1.0), T(2.0 * (sqrt(T(n + 0.5)) - 0.70710678118654752) / n));
}

/// Expected excess of the longest of n outputs over the mean output, divided by the mean:
/// cv times the largest of n normal values (order_statistics.hpp).
template <Scalar T>
constexpr T longest_output_excess(const T& n, const T& cv) {
  return cv * detail::largest_of_normals(scalar_max(n, T(1.0)));
}

/// Adds the TTFT of an initial burst if the first streamed message has several tokens: n decode
/// steps (`stream_steps`) follow each prefill. The prefills end at times uniform between `start`
/// and `last`. Under mixed chunks a decode step takes `busy_step` before the last prefill and
/// `mean_itl` after it. Under the other schedulers all n steps follow the last prefill.
/// Test: the simulator of tests/simulator, the mean within 6 %, prefill first and mixed chunks, 1
/// to 32 requests.
template <Scalar T>
constexpr void add_stream_interval(basic_latency_distribution<T>& times,
                                   const basic_service_terms<T>& s, const T& weight,
                                   const duration<T>& start, const duration<T>& last,
                                   const duration<T>& busy_step, const duration<T>& mean_itl) {
  const T& n = s.stream_steps;
  const bool mixed = s.scheduler == scheduling::mixed_chunks;
  const T busy_steps = mixed ? T((last - start) / busy_step) : T(0.0);
  const T early =
      scalar_max(T(busy_steps - n), T(0.0)) / scalar_max(busy_steps, T(1e-9));  // share of requests
  const T during_burst = scalar_min(n, busy_steps);
  if (upper(early) > 0.0)
    times.add({T(weight * early), s.request_cpu_time + s.startup_time + start + n * busy_step,
               early * (last - start)});
  times.add({T(weight * (1.0 - early)),
             s.request_cpu_time + s.startup_time + last + (n - during_burst) * mean_itl,
             during_burst * mean_itl});
}

/// 99th percentile of a Poisson count over its mean n: 1 + 2.326 / sqrt(n) (normal approximation).
template <Scalar T>
constexpr T poisson_p99(const T& mean) {
  using math::sqrt;
  return 1.0 + 2.326 / sqrt(scalar_max(mean, T(1e-9)));
}

/// TTFT distribution of a closed loop. A share `burst` of all requests is the initial burst of
/// `prompts` prompts; their TTFT is uniform between those of the first and the last prefill. A
/// share `meets` of the other requests queues behind prefills. `prefill_queueing` is the mean
/// queueing over all requests outside the burst, `longest` the 99th percentile of it.
/// The queueing is a constant and an exponential term, of which the 99th percentile is `longest`.
template <Scalar T>
constexpr basic_latency_distribution<T> closed_loop_ttft(
    const basic_service_terms<T>& s, const basic_prefill_steps<T>& p, const T& prompts,
    const T& burst, const duration<T>& mean_itl, const duration<T>& unqueued_ttft,
    const duration<T>& prefill_queueing, const duration<T>& longest, const T& meets) {
  basic_latency_distribution<T> times;
  if (upper(burst) > 0.0) {
    const duration<T> full_step =
        scalar_min(prompts, p.prefills_per_step) * p.saturated_prefill_time;
    const duration<T> last = prompts * p.saturated_prefill_time;
    const duration<T> start = max(p.prefill_time, min(full_step, last));
    if (upper(s.stream_steps) > 0.0) {
      add_stream_interval(times, s, burst, start, max(last, start), full_step, mean_itl);
    } else {
      times.add(
          {burst, s.request_cpu_time + s.startup_time + start, max(last - start, duration<T>{})});
    }
  }
  const T later = 1.0 - burst;
  times.add(with_length(T(later * (1.0 - meets)), unqueued_ttft, p.length_time, {}, s.input_cv));
  constexpr double p99 = 4.605170185988091;  // of an exponential with the mean 1
  const duration<T> mean = prefill_queueing / meets;
  const duration<T> tail =
      min(mean, duration<T>(max(duration<T>(longest - mean), duration<T>{}) / (p99 - 1.0)));
  times.add(with_length(T(later * meets), unqueued_ttft + (mean - tail), p.length_time, tail,
                        s.input_cv));
  return times;
}

/// Number of engine steps from the arrival of a request to that of the one that replaces it: those
/// before it joins, those that decode it, under mixed chunks those that prefill it, and those that
/// run during its CPU time c. Under the other schedulers a step is one that decodes, with the
/// prefills before it. With n steps without c and the prefill time S that others add, a step takes
///   x = D + (B - 1) S / (n + c / x),    the root of n x^2 + (c - n D - (B - 1) S) x - c D
template <Scalar T>
constexpr T steps_per_request(const basic_service_terms<T>& s, const basic_prefill_steps<T>& p,
                              const T& scheduling_steps, const T& others) {
  using math::sqrt;
  T steps = scheduling_steps + s.intervals();
  if (s.scheduler == scheduling::mixed_chunks)
    steps = scalar_max(T(scheduling_steps + pipelined_chunk_steps(p.chunks, p.pipeline_stages) +
                         scalar_max(T(s.output_tokens - 1.0), T(0.0))),
                       T(1.0));
  const T cpu = s.request_cpu_time / p.decode_time;  // in decode steps
  if (!(upper(cpu) > 0.0)) return steps;
  const T stall =
      min(p.decode_stall, max(p.marginal_prefill_time, p.saturated_prefill_time - p.decode_time)) /
      p.decode_time;
  const T b = 0.5 * (steps + others * stall - cpu);
  return steps + cpu * steps / (b + sqrt(T(b * b + steps * cpu)));
}

/// Engine steps before a request joins one. Without other requests (an idle engine) it joins at
/// once. Where its arrival is not that of a completion, since its CPU time comes first, it waits at
/// least for the rest of the step in progress, a share `rest` of a step: in a pipeline, of its time
/// in the first stage. Static batches start with all their requests.
template <Scalar T>
constexpr T steps_before_prefill(const basic_service_terms<T>& s, const basic_prefill_steps<T>& p,
                                 const T& others, const T& rest) {
  const bool waits =
      upper(s.request_cpu_time.value()) > 0.0 && s.scheduler != scheduling::static_batches;
  const T boundary = waits ? T(rest / p.pipeline_stages) : T(0.0);
  return any_of(T(others / p.pipeline_stages)) *
             scalar_max(T(s.scheduling_steps - s.stream_steps), boundary) +
         s.stream_steps;
}

/// Engine step in progress when a request arrives, a CPU time c after the end of another step: the
/// mean rest of it, and its mean length. Steps of independent lengths X are a renewal process, and
/// an exponential CPU time of mean c has phi = E[exp(-X / c)] chances to see another step end:
///   rest = E[X] / (1 - phi) - c,    length = E[X (1 - exp(-X / c))] / (1 - phi)
/// From E[X] - c, where a step takes longer than c, to half a step.
/// Source: Cox, "Renewal Theory", 1962, chapter 4 (Laplace transform of the renewal function).
/// A part of `steps` with an exponential term of mean t has phi = exp(-from / c) / (1 + t / c).
/// Leaves out: correlation between steps.
/// Test: simulated steps, tests/unit/service_by_hand.cpp.
template <Scalar T>
struct step_after_cpu_time {
  duration<T> rest{};
  duration<T> length{};

  constexpr step_after_cpu_time(const basic_latency_distribution<T>& steps, const duration<T>& c) {
    using math::exp;
    T left{};
    duration<T> all{}, ends{};
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const basic_latency_part<T>& x = steps[i];
      const duration<T> from = x.from + 0.5 * x.range, mean = from + x.tail;
      const T tail = 1.0 / (1.0 + x.tail / c);  // of exp(-X / c), for an exponential term
      const T seen = exp(T(-1.0 * T(from / c))) * tail;
      left += x.weight * (1.0 - seen);
      all += x.weight * mean;
      ends += x.weight * (mean - seen * (from + tail * x.tail));
    }
    rest = all / left - c;
    length = ends / left;
  }
};

/// Inter-token latency of a closed loop, from that of all steps. `prompts` came with the request's
/// own. Unless steps are mixed, decoding waits for all of these: the first interval of an output
/// contains those that run after its own prefill, and no others.
template <Scalar T>
constexpr basic_latency_distribution<T> closed_loop_itl(const basic_service_terms<T>& s,
                                                        const basic_prefill_steps<T>& p,
                                                        const basic_latency_distribution<T>& itl,
                                                        const T& prompts) {
  if (s.scheduler == scheduling::mixed_chunks || !(upper(prompts) > 1.0)) return itl;
  const duration<T> own = p.prefill_time + coscheduled_prefill_delay(p, T(prompts - 1.0));
  const duration<T> rest =
      max(duration<T>(prompts * p.saturated_prefill_time - own), duration<T>{});
  const T first = 1.0 / s.intervals();
  basic_latency_distribution<T> all = itl.for_share(T(1.0 - first));
  all.add({first, p.decode_time, 2.0 * rest});
  return all;
}

/// Number of prefills of other requests that start in an engine step: each of them starts once in
/// the n steps of a request (`steps_per_request`). Of a run, those in the initial burst do not
/// count. Under mixed chunks it is at most what full steps can take; under static batches it is 0.
template <Scalar T>
constexpr T prefills_of_others(const basic_service_terms<T>& s, const basic_prefill_steps<T>& p,
                               const T& others, const T& burst, const T& steps) {
  if (s.scheduler == scheduling::static_batches) return T(0.0);
  T prefills = others * (1.0 - burst) / steps;
  if (s.prefills_per_request) prefills = *s.prefills_per_request * prefills;
  if (s.scheduler != scheduling::mixed_chunks) return prefills;
  return scalar_min(prefills, T(1.0 / p.decode_steps_per_prefill));
}

/// Mean number of other prefills that arrive for the same engine step as a given prefill. For
/// static batches these are all others. In steady state completions are random. In a run, requests
/// of the initial burst tend to complete at the same time, and so do those that replace them.
template <Scalar T>
constexpr T coscheduled_prefills(const basic_service_terms<T>& s, const basic_prefill_steps<T>& p,
                                 const basic_closed_loop<T>& loop, const T& batch, const T& steps) {
  const T others = scalar_max(T(batch - 1.0), T(0.0));
  if (s.scheduler == scheduling::static_batches) return others;
  T prefills = others / steps;
  if (loop.requests) {
    const T generations = scalar_max(T(1.0), T(*loop.requests / batch - 1.0));
    prefills = simultaneous_completions(s, others, mean_inverse_square_root(generations));
  }
  if (s.scheduler == scheduling::mixed_chunks)
    prefills = scalar_min(prefills, scalar_max(T(others / steps), T(p.prefills_per_step)));
  return named("coscheduled prefills", prefills);
}

/// Mean queueing of a prompt for the token budget of mixed chunks, by Schweitzer's approximation in
/// steps, since decoding continues at one token per step. The service time is the number F of full
/// steps of a prompt, the think time the number Z of other steps and the CPU time. With W / F
/// prompts ahead of it, it is the last in their full steps. At most what the work of all B takes,
/// since the engine does not idle: (W + c + Z) D + B max(S, S'), less the request's `own` time. D
/// is a decode step, S the saturated prefill time, S' the decode stall, c the number of chunks.
template <Scalar T>
constexpr duration<T> budget_queueing(const basic_service_terms<T>& s,
                                      const basic_prefill_steps<T>& p, const T& batch,
                                      const T& scheduling_steps, const T& coscheduled,
                                      const duration<T>& own) {
  const duration<T>& full = p.saturated_prefill_time;
  const T away = scheduling_steps + scalar_max(T(s.output_tokens - 1.0), T(0.0));
  const T elsewhere = away + s.request_cpu_time / full * p.decode_steps_per_prefill;
  const T steps = schweitzer_wait(batch, p.decode_steps_per_prefill, elsewhere, s.input_cv);
  const duration<T> in_full_steps =
      steps / p.decode_steps_per_prefill * full - max(p.prefill_time - full, duration<T>{});
  const T prompts = s.prefills_per_request ? T(*s.prefills_per_request * batch) : batch;
  const T all = steps + away + pipelined_chunk_steps(p.chunks, p.pipeline_stages);
  const duration<T> work = all * p.decode_time + prompts * max(full, p.decode_stall);
  return min(max(coscheduled_prefill_delay(p, coscheduled), in_full_steps), work - own);
}

/// Mean queueing of a prompt behind other prefills, in a closed loop with `batch` requests. A
/// request takes `rest` without it. Mixed chunks: for the token budget. Prefill first: the prompts
/// that arrive for the same step. Static batches: all prompts of the batch, and the wait for its
/// longest output. While a request is in service the engine prefills as many prompts as are in
/// service, so it takes B S at least, unless its own prompt takes less than S. Requests of a run,
/// which is not `steady`, complete together: their intervals have less than the mean of prefills.
template <Scalar T>
constexpr duration<T> closed_loop_prefill_queueing(const basic_service_terms<T>& s,
                                                   const basic_prefill_steps<T>& p, const T& batch,
                                                   const T& scheduling_steps, const T& coscheduled,
                                                   const duration<T>& decoding,
                                                   const duration<T>& rest, bool steady) {
  const T others = scalar_max(T(batch - 1.0), T(0.0));
  duration<T> behind;
  if (s.scheduler == scheduling::static_batches) {
    behind =
        coscheduled_prefill_delay(p, others) + longest_output_excess(batch, s.output_cv) * decoding;
  } else if (s.scheduler == scheduling::mixed_chunks) {
    behind = budget_queueing(s, p, batch, scheduling_steps, coscheduled,
                             steady ? duration<T>(rest - s.request_cpu_time) : duration<T>{});
  } else {
    behind = coscheduled_prefill_delay(p, coscheduled);
  }
  const duration<T> all =
      others * p.saturated_prefill_time + min(p.saturated_prefill_time, p.prefill_time);
  return named("prefill queueing", max(max(behind, all - rest), duration<T>{}));
}

/// Throughput of a closed loop: B / R in steady state, with B requests in service and R the time in
/// service. A run of N requests takes its startup time and (N - B) R / B, then the time of the
/// longest of the last B requests; its throughput is N / this sum.
template <Scalar T>
constexpr request_rate<T> closed_loop_throughput(const basic_service_terms<T>& s,
                                                 const basic_closed_loop<T>& loop, const T& batch,
                                                 const duration<T>& in_service,
                                                 const duration<T>& decoding) {
  if (!loop.requests) return batch * request / in_service;
  const duration<T> longest = in_service + longest_output_excess(batch, s.output_cv) * decoding;
  const T before = scalar_max(T(*loop.requests - batch), T(0.0));
  return *loop.requests * request / (s.startup_time + before / batch * in_service + longest);
}

}  // namespace detail

/// State of a closed loop of C requests, B = min(C, max_running) of them in service. O is the
/// number of output tokens, n = scheduling steps + prefill steps (mixed chunks only) + O - 1.
///   ITL    mean of itl_of with m = (B - 1) / n prefills per interval (static batches: m = 0). If
///          chunks are not mixed, prefills scheduled with a request's own delay its second token.
///   R      CPU time + scheduling steps x mean step + prefill + queueing + (O - 1) ITL,
///          at least B x saturated prefill time (so throughput <= 1 / saturated prefill time)
///   TTFT   R - (O - 1) ITL + admission delay
///   admission delay = (C - B) R / B
/// In a run of N requests a share B / N is the initial burst. Its requests queue for each other's
/// prefill, and no prefill interrupts their decoding: m is multiplied by 1 - B / N. Prefill first:
/// no request completes during prefill, so a prompt queues only behind those of the same step.
/// Mixed chunks: prompts queue for the token budget. Static batches: prompts wait for the longest
/// output.
/// Source: Little 1961 (admission delay); Schweitzer 1979 (mean value analysis); Yu et al., "Orca",
/// OSDI 2022; Agrawal et al., "Sarathi-Serve", OSDI 2024.
/// Leaves out: preemption, which add_preemptions adds. The falling concurrency at the end of a run
/// enters the throughput alone, not ITL or TTFT. With short outputs some scheduling steps are
/// counted twice: once by themselves, once in prefill queueing.
/// Exceptions to monotonicity: docs/laws/research/serving.md.
/// Test: the simulator of tests/simulator; Little's law; a single request;
/// tests/property/saturated_prefill.cpp.
template <Scalar T>
constexpr basic_service_state<T> closed_service(const basic_service_terms<T>& s,
                                                const basic_prefill_steps<T>& p,
                                                const basic_closed_loop<T>& loop) {
  const T b = scalar_min(loop.concurrency, s.max_running);
  const T others = scalar_max(T(b - 1.0), T(0.0));
  const T burst = loop.requests ? scalar_min(T(1.0), T(b / *loop.requests)) : T(0.0);

  T waits = detail::steps_before_prefill(s, p, others, T(0.5));
  const T steps = detail::steps_per_request(s, p, T(waits - s.stream_steps), others);
  const T met = detail::prefills_of_others(s, p, others, burst, steps);
  basic_service_state<T> state;
  T coscheduled = detail::coscheduled_prefills(s, p, loop, b, steps);
  const basic_latency_distribution<T> of_steps =
      detail::itl_of(s, p, named("prefills per interval", met));
  state.itl = detail::closed_loop_itl(s, p, of_steps, T(coscheduled + 1.0));
  const duration<T> mean_itl = named("mean ITL", state.itl.mean());
  // Before it joins a step, the prefills that came with a request's own are none of its steps.
  const duration<T> mean_step =
      s.scheduler == scheduling::mixed_chunks ? mean_itl : named("mean step", of_steps.mean());
  // Requests of a run complete together, and meet no steps of others.
  if (s.scheduler == scheduling::mixed_chunks && upper(s.request_cpu_time.value()) > 0.0 &&
      p.pipeline_stages == 1.0 && !loop.requests) {
    const detail::step_after_cpu_time<T> step(of_steps, s.request_cpu_time);
    waits = detail::steps_before_prefill(s, p, others, T(step.rest / mean_step));
    coscheduled = coscheduled * (step.length / mean_step);
  }
  const duration<T> decoding = s.intervals() * mean_itl;
  // Those after its prefill, of the first tokens that it sends together, are.
  const duration<T> scheduling =
      named("scheduling delay", (waits - s.stream_steps) * mean_step + s.stream_steps * mean_itl);

  const duration<T> unqueued = s.request_cpu_time + scheduling + p.prefill_time;
  const duration<T> rest = unqueued + s.intervals_after_ttft() * mean_itl;
  const duration<T> queueing = detail::closed_loop_prefill_queueing(
      s, p, b, T(waits - s.stream_steps), coscheduled, decoding, rest, !loop.requests);
  const duration<T> in_service = named("time in service", rest + queueing);
  state.throughput = detail::closed_loop_throughput(s, loop, b, in_service, decoding);
  const duration<T> admission =
      scalar_max(T(loop.concurrency - b), T(0.0)) / b * in_service;  // Little's law
  state.wait = admission + queueing;
  state.ttft_terms = {s.request_cpu_time, scheduling, waits, coscheduled, queueing, admission};
  state.batch = b;
  if (s.scheduler == scheduling::mixed_chunks) {
    const T intervals = scalar_max(T(s.output_tokens - 1.0), T(0.0));
    state.batch = named("sequences decoding", scalar_max(T(b * (intervals * mean_itl / in_service)),
                                                         scalar_min(b, T(1.0))));
  }
  const duration<T> all_others = others * p.saturated_prefill_time;
  // Those that queue wait at most half as long as the prefills of all others take, on average.
  const T half = 2.0 * queueing / max(all_others, duration<T>(1e-12 * second));
  const T queues =
      scalar_min(T(1.0), scalar_max(scalar_max(detail::any_of(coscheduled), half), T(1e-9)));
  state.ttft = detail::closed_loop_ttft(
      s, p, T(others + 1.0), burst, mean_itl,
      named("TTFT without prefill queueing", duration<T>(unqueued + admission)), queueing,
      s.scheduler == scheduling::static_batches
          ? all_others
          : min(all_others, detail::poisson_p99(coscheduled) * queueing),
      queues);
  return state;
}

}  // namespace perfmodel::inline v0_3
