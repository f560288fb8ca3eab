// A closed loop: so many requests in the system at all times, in steady state or over a run.
#pragma once

#include <perfmodel/serving/state.hpp>

namespace perfmodel {

namespace detail {

/// How many of n others end in the same iteration as a request, on average. Requests that start
/// together end together unless the lengths of answers differ: after k answers their ends have a
/// standard deviation of sqrt(k) cv O tokens, so that a normal density of others, 1 / (2 sqrt(pi)
/// sigma), ends with each; after many, one in each O. `answers` is the mean of 1 / sqrt(k).
template <Scalar T>
constexpr T ending_at_once(const basic_service_terms<T>& s, const T& n, const T& answers) {
  constexpr double two_root_pi = 3.5449077018110318;
  const T spread = two_root_pi * s.output_cv * s.output_tokens;
  const T clustered = scalar_min(T(1.0), T(answers / scalar_max(spread, T(1e-9))));
  return n * scalar_max(T(1.0 / s.gaps()), clustered);
}

/// The mean of 1 / sqrt(k) over k = 1 .. waves, by the integral from 1/2 on.
template <Scalar T>
constexpr T mean_inverse_root(const T& waves) {
  using math::sqrt;
  return scalar_min(T(1.0), T(2.0 * (sqrt(T(waves + 0.5)) - 0.70710678118654752) / waves));
}

/// By how many means the longest of n answers is longer than the mean: cv sqrt(2 ln n), of a normal.
template <Scalar T>
constexpr T longest_of(const T& n, const T& cv) {
  using math::log;
  using math::sqrt;
  return cv * sqrt(T(2.0 * log(scalar_max(n, T(1.0)))));
}

/// Iterations that a prompt waits behind others in a loop of B, where each prompt keeps the budget busy
/// for S iterations and comes back after Z of them: its clock is the iteration, since the others go on
/// by one token in each. Schweitzer's approximation of mean value analysis, R = S (1 + (B - 1) R / (R +
/// Z)), of which prompts of equal length wait half; never less than what a full server makes them wait,
/// B S - Z.
template <Scalar T>
constexpr T wait_in_loop(const T& b, const T& service, const T& away, const T& variation) {
  using math::sqrt;
  const T excess = b * service - away;
  const T time = 0.5 * (excess + sqrt(T(excess * excess + 4.0 * (service * away))));
  const T share = scalar_min(T(1.0), T((1.0 + variation * variation) / 2.0));
  return scalar_max(scalar_max(T(share * (time - service)), T(excess - service)), T(0.0));
}

/// When the tokens that an answer sends first, together, are there, of a first wave whose prompts end evenly
/// between `start` and `last`: n more iterations of its own. Beside prompts an iteration takes as long as
/// theirs, of which (last - start) / beside are left, after them a gap; where prompts stop decoding, all n
/// run after the last prompt.
/// Test: tests/simulator, the mean within 5 %, prefill first and mixed chunks, 1 to 32 requests.
template <Scalar T>
constexpr void add_stream_interval(basic_latency_distribution<T>& times,
                                   const basic_service_terms<T>& s, const T& weight,
                                   const duration<T>& start, const duration<T>& last,
                                   const duration<T>& beside, const duration<T>& gap) {
  const T& n = s.send_iterations;
  const bool mixed = s.kind == scheduling::mixed_chunks;
  const T left = mixed ? T((last - start) / beside) : T(0.0);
  const T early = scalar_max(T(left - n), T(0.0)) / scalar_max(left, T(1e-9));
  const T among = scalar_min(n, left);
  if (upper(early) > 0.0)
    times.add({T(weight * early), s.request_cpu_time + s.run_start + start + n * beside,
               early * (last - start)});
  times.add({T(weight * (1.0 - early)), s.request_cpu_time + s.run_start + last + (n - among) * gap,
             among * gap});
}

/// What those after the first wave wait for, beside their own prompt.
template <Scalar T>
constexpr basic_first_token_terms<T> first_token_terms_of(const basic_service_terms<T>& s,
                                                          const duration<T>& gap,
                                                          const T& companions,
                                                          const duration<T>& delay,
                                                          const duration<T>& place) {
  const T& let_by = s.request_iterations;
  return {s.request_cpu_time, let_by * gap, let_by, companions, delay, place, {}};
}

/// The times to the first token of a closed loop: the first wave, of so many prompts, from the first to
/// the last; of the others those that meet no prompt, and those that do.
template <Scalar T>
constexpr basic_latency_distribution<T> first_tokens(const basic_service_terms<T>& s,
                                                     const basic_prefill_steps<T>& p,
                                                     const T& prompts, const T& initial_burst,
                                                     const duration<T>& gap,
                                                     const duration<T>& from,
                                                     const duration<T>& delay, const T& meets) {
  basic_latency_distribution<T> times;
  if (upper(initial_burst) > 0.0) {
    const duration<T> soonest = scalar_min(prompts, p.together) * p.packed;
    const duration<T> last = prompts * p.packed;
    const duration<T> start = max(p.alone, min(soonest, last));
    if (upper(s.send_iterations) > 0.0) {
      add_stream_interval(times, s, initial_burst, start, max(last, start), soonest, gap);
    } else {
      times.add({initial_burst, s.request_cpu_time + s.run_start + start,
                 max(last - start, duration<T>{})});
    }
  }
  const T later = 1.0 - initial_burst;
  times.add(with_length(T(later * (1.0 - meets)), from, p.alone, {}, s.input_cv));
  times.add(with_length(T(later * meets), from, p.alone, delay / meets, s.input_cv));
  return times;
}

}  // namespace detail

/// A closed loop of `concurrency`, of which `room` are in service at once, at most. Over a run of
/// `requests`, the first of which start together, a share w = B / N of them is the first wave, whose
/// prompts wait for each other from the first to the last; the others meet those that come with them.
/// Each request in service meets the prompts of B - 1 others during its answer.
/// Prefill first: a prompt stops the others, so that none ends meanwhile and nothing queues. Mixed
/// chunks: decoding goes on beside them, and prompts queue for the budget. Static batches: the next
/// ones wait for the longest answer.
/// Sources: Little 1961 for those that wait for a place; Schweitzer 1979 (mean value analysis);
/// Yu et al., "Orca", OSDI 2022; Agrawal et al., "Sarathi-Serve", OSDI 2024.
/// Throughput is at most 1 / saturated prefill time, under every scheduler.
/// Of a run, throughput is its requests over all its time, the last answers included.
/// Order: more requests, or room for more, never are less throughput, but where passes of more sequences step (a tile
/// of rows, another kernel): an engine lets them in all the same, and may be a quarter slower with more
/// places taken. Longer prompts and answers take longer, but where they leave fewer decoding, below such a step.
/// Leaves out: that the last wave of a run meets fewer others; preemption, which add_preemptions
/// adds; for outputs of few tokens, that the steps a request lets go by are already among those of
/// prefill.
/// Tests: the simulator of tests/simulator; Little's law; one request alone;
/// tests/property/saturated_prefill.cpp.
template <Scalar T>
constexpr basic_service_state<T> closed_service(const basic_service_terms<T>& s,
                                                const basic_prefill_steps<T>& p,
                                                const basic_closed_loop<T>& loop) {
  const T b = scalar_min(loop.concurrency, s.room);
  const T others = scalar_max(T(b - 1.0), T(0.0));
  const T initial_burst = loop.requests ? scalar_min(T(1.0), T(b / *loop.requests)) : T(0.0);
  const bool mixed = s.kind == scheduling::mixed_chunks;
  const bool fixed = s.kind == scheduling::static_batches;

  // Prompts that a request meets while it decodes: all others', or what full iterations take.
  T met = fixed ? T(0.0) : T(others * (1.0 - initial_burst));
  if (s.prompts) met = *s.prompts * met;
  if (mixed) met = scalar_min(met, T(s.gaps() / p.decodes));
  basic_service_state<T> state;
  state.gap = detail::itl_of(s, p, named("prompts in a gap", T(met / s.gaps())));
  const duration<T> mean_itl = named("mean gap", state.gap.mean());
  const duration<T> answer = s.gaps() * mean_itl;

  const duration<T> own = s.request_cpu_time + s.request_iterations * mean_itl + p.alone;
  // Prompts that come with a request's own: of a loop that nobody started, at random.
  T companions = others / s.gaps();
  if (loop.requests) {
    const T waves = scalar_max(T(1.0), T(*loop.requests / b - 1.0));
    companions = detail::ending_at_once(s, others, detail::mean_inverse_root(waves));
  }
  if (mixed) companions = scalar_min(companions, scalar_max(T(others / s.gaps()), T(p.together)));
  companions = named("prompts beside", companions);
  duration<T> delay = detail::behind(p, companions);
  if (mixed) {
    const T waits = detail::wait_in_loop(b, p.decodes, s.gaps(), s.input_cv);
    delay = max(delay, waits / p.decodes * p.packed);
  }
  if (fixed) {
    delay = detail::behind(p, others) + detail::longest_of(b, s.output_cv) * answer;
  }
  const duration<T> rest = own + s.later_intervals() * mean_itl;
  // While a request is in service the engine prefills as many prompts as are in service.
  delay = named("behind other prompts", max(delay, duration<T>(b * p.packed - rest)));
  const duration<T> in_service = named("time in service", rest + delay);
  state.throughput = b * request / in_service;
  if (loop.requests) {
    const duration<T> longest = in_service + detail::longest_of(b, s.output_cv) * answer;
    const T before = scalar_max(T(*loop.requests - b), T(0.0));
    state.throughput = *loop.requests * request / (before / b * in_service + longest);
  }
  const duration<T> place =
      scalar_max(T(loop.concurrency - b), T(0.0)) / b * in_service;  // Little's law
  state.wait = place + delay;
  state.first = detail::first_token_terms_of(s, mean_itl, companions, delay, place);
  state.batch = b;
  if (mixed) {
    state.batch = named("sequences decoding",
                        scalar_max(T(b * (answer / in_service)), scalar_min(b, T(1.0))));
  }

  state.first_token = detail::first_tokens(s, p, T(others + 1.0), initial_burst, mean_itl,
                                           named("own first token", duration<T>(own + place)),
                                           delay, scalar_max(detail::any_of(companions), T(1e-9)));
  return state;
}

}  // namespace perfmodel
