// A deployment under load: time to first token, inter-token latency, throughput.
#pragma once

#include <perfmodel/metrics.hpp>
#include <perfmodel/queueing.hpp>
#include <perfmodel/scalar/choose.hpp>
#include <perfmodel/step.hpp>

namespace perfmodel {

/// What one replica is asked to do. Either `concurrency` requests are always in the system (closed
/// loop) or `requests_per_s` arrive on average (open loop); the other is 0. `chunk_tokens` bounds
/// the prompt tokens of one iteration; 0 takes a whole prompt at once.
template <Scalar T = double>
struct basic_load {
  T input_tokens{};
  T output_tokens{};
  T concurrency{};
  T requests_per_s{};
  T chunk_tokens{};
  T batch_limit{};  ///< sequences the scheduler admits at once; 0: as many as fit in memory

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("input_tokens", s.input_tokens...);
    f("output_tokens", s.output_tokens...);
    f("concurrency", s.concurrency...);
    f("requests_per_s", s.requests_per_s...);
    f("chunk_tokens", s.chunk_tokens...);
    f("batch_limit", s.batch_limit...);
  }
};
using load = basic_load<>;

template <Scalar T = double>
struct basic_serving_estimate {
  duration<T> ttft{};  ///< time to first token, mean, waiting included
  duration<T> itl{};   ///< inter-token latency, mean, prefill of others included
  duration<T> e2e{};   ///< whole request
  duration<T> wait{};  ///< part of ttft spent before the first iteration
  T batch{};           ///< sequences decoding at once
  T capacity{};        ///< sequences that fit in memory
  token_rate<T> output_tokens_per_s{};
  request_rate<T> throughput{};
  basic_estimate<T> decode{};   ///< the mean iteration, whose time is itl
  basic_estimate<T> prefill{};  ///< a prompt on its own
  perfmodel::feasibility feasible{};
};
using serving_estimate = basic_serving_estimate<>;

namespace detail {

/// Prompt tokens that one iteration takes of a prompt.
template <Scalar T>
constexpr T chunk_of(const basic_load<T>& l) {
  if (!(upper(l.chunk_tokens) > 0.0)) return l.input_tokens;
  return scalar_min(count("chunk_tokens", l.chunk_tokens), l.input_tokens);
}
/// Whom a request meets: B - 1 others in a closed loop of B, all B if it arrives at random.
template <Scalar T>
constexpr T others_of(const basic_load<T>& l, const T& batch) {
  return upper(l.concurrency) > 0.0 ? scalar_max(T(batch - 1.0), T(0.0)) : batch;
}
/// The mean iteration that a request at batch B decodes in: B tokens, each halfway through its answer,
/// and input / output prompt tokens for each of the others, which is what a steady state prefills
/// per token it emits, in chunks that have half of the rest of their prompt before them.
template <Scalar T>
constexpr basic_iteration<T> mean_iteration(const basic_load<T>& l, const T& batch) {
  const T chunk = chunk_of(l);
  const T prompt_tokens = others_of(l, batch) * l.input_tokens / l.output_tokens;
  basic_iteration<T> i{scalar_max(batch, T(1.0)), l.input_tokens + l.output_tokens / 2.0,
                       prompt_tokens};
  if (!(upper(prompt_tokens) > 0.0)) return i;
  i.prefill_past = scalar_max(T((l.input_tokens - chunk) / 2.0), T(0.0));
  const T prompts =
      prompt_tokens / chunk;  // above 0 in every lane; a range stays narrow enough to divide by
  i.prefill_sequences = scalar_max(prompts, T(Range<T> ? 0.01 * upper(prompts) : 1e-9));
  i.steady = true;
  return i;
}

/// B = x t(B) for t growing with B: Little's law on the tokens being decoded. Newton's method, four
/// steps past what convexity needs; an interval is narrowed from both ends instead, which encloses.
template <Scalar T, class StepTime>
constexpr T balanced_batch(const T& tokens_per_s, const T& largest, StepTime&& time) {
  if constexpr (Range<T>) {
    T b(scalar_min(tokens_per_s.lo() * time(T(1.0)).value().lo(), largest.hi()), largest.hi());
    for (int i = 0; i < 64; ++i) {
      const T next = tokens_per_s * time(b).value();
      b = T(scalar_max(b.lo(), scalar_min(next.lo(), b.hi())),
            scalar_min(b.hi(), scalar_max(next.hi(), b.lo())));
    }
    return b;
  } else {
    T b = tokens_per_s * time(T(1.0)).value();
    for (int i = 0; i < 12; ++i) {
      b = scalar_min(scalar_max(b, T(0.0)), largest);
      const T h = scalar_max(b, T(1.0)) * 1e-4;
      const T at = tokens_per_s * time(b).value();
      const T slope = (tokens_per_s * time(T(b + h)).value() - at) / h;
      b = b + (at - b) / scalar_max(T(1.0 - slope), T(1e-6));
    }
    return scalar_min(scalar_max(b, T(0.0)), largest);
  }
}

}  // namespace detail

/// Steady state of one replica with continuous batching. ITL is the step of the mean iteration.
/// Closed loop: B = min(concurrency, what fits); requests beyond wait, N/X of them by Little's law.
/// Open loop: B = rate x output x ITL(B); the wait before prefill is that of an M/D/1 queue.
/// TTFT = wait + prefill, in ceil(input / chunk) mixed iterations where chunks are bounded;
/// E2E = TTFT + (output - 1) ITL; throughput = B / (E2E - wait) closed, the arrivals open.
/// Sources: Yu et al., "Orca", OSDI 2022 (iteration-level batching); Agrawal et al., "Sarathi-Serve",
/// OSDI 2024 (chunked prefill); Little 1961.
/// Leaves out: tails, length spread, host time, prefix hits, preemption, speculation, and that a
/// chunk budget below what a steady state prefills per iteration holds prompts up.
/// Not feasible: the model does not fit; arrivals beyond what the largest batch sustains.
/// Errors: neither or both of concurrency and requests_per_s; tokens below 1.
/// Tests: at concurrency 1 E2E is the sum of its steps; throughput x E2E = requests in the system;
/// open and closed loop agree at the same batch.
template <Scalar T, class Policy = datasheet, class Cost = full_link>
constexpr basic_serving_estimate<T> serving(const basic_deployment<T>& d, const basic_load<T>& l,
                                            const Policy& policy = {}, const Cost& cost = {}) {
  using math::ceil;
  detail::count("input_tokens", l.input_tokens);
  detail::count("output_tokens", l.output_tokens);
  detail::not_negative("chunk_tokens", l.chunk_tokens);
  const bool closed = upper(detail::not_negative("concurrency", l.concurrency)) > 0.0;
  const bool open = upper(detail::not_negative("requests_per_s", l.requests_per_s)) > 0.0;
  if (closed == open) {
    detail::fail(error_code::inconsistent,
                 "give one of concurrency and requests_per_s, and not both");
  }
  basic_serving_estimate<T> s;
  const T longest = l.input_tokens + l.output_tokens;
  s.feasible = fits(d, T(d.layout.data), longest);
  const basic_kv_capacity<T> memory = kv_capacity(d, longest);
  if (!memory.feasible && s.feasible) s.feasible = memory.feasible;
  s.capacity = memory.sequences;
  T room = scalar_max(s.capacity, T(1.0));
  if (upper(detail::not_negative("batch_limit", l.batch_limit)) > 0.0) {
    room = scalar_min(room, detail::count("batch_limit", l.batch_limit));
  }

  const auto step_of = [&](const T& batch) {
    return step(d, detail::mean_iteration(l, batch), policy, cost);
  };
  const auto time_of = [&](const T& batch) { return step_of(batch).time; };
  s.prefill = step(d, basic_iteration<T>{.prefill_tokens = l.input_tokens}, policy, cost);

  if (closed) {
    detail::count("concurrency", l.concurrency);
    s.batch = named("batch", scalar_min(l.concurrency, room));
  } else {
    const T demanded = l.requests_per_s * l.output_tokens;
    if constexpr (requires(const T& x) { x.tape(); }) {  // a derivation takes the root as given
      s.batch = T(detail::balanced_batch(mid(demanded), mid(room), [&](double b) {
        return duration<>::from_value(mid(time_of(T(b)).value()));
      }));
    } else {
      s.batch = detail::balanced_batch(demanded, room, time_of);
    }
    const double offered = upper(demanded) * upper(time_of(room).value());
    if (s.feasible && offered > lower(room)) {
      s.feasible = infeasible("requests arrive faster than the largest batch that fits serves them",
                              "req/s", upper(l.requests_per_s),
                              lower(room) / upper(time_of(room).value()) / upper(l.output_tokens));
    }
  }
  s.decode = step_of(s.batch);
  s.itl = named("inter-token latency", s.decode.time);

  duration<T> first = s.prefill.time;
  if (upper(l.chunk_tokens) > 0.0) {
    const T chunk = detail::chunk_of(l);
    const T chunks = named("chunks", ceil(l.input_tokens / chunk));
    const basic_iteration<T> mixed{detail::others_of(l, s.batch),
                                   l.input_tokens + l.output_tokens / 2.0, chunk,
                                   (l.input_tokens - chunk) / 2.0, T(1.0)};
    // A chunk enters the first stage of a pipeline when the one before it has left that stage.
    const double stages = d.layout.pipeline;
    first = (chunks + (stages - 1.0)) / stages * step(d, mixed, policy, cost).time;
  }
  const duration<T> in_service = named("service time", first + (l.output_tokens - 1.0) * s.itl);
  if (closed) {
    const T waiting = scalar_max(T(l.concurrency - s.batch), T(0.0));
    s.wait = named("wait", waiting / s.batch * in_service);
    s.throughput = s.batch * request / in_service;
  } else {
    const request_rate<T> arrivals = l.requests_per_s * request_per_s;
    // One data-parallel group, and its first stage.
    const basic_queue_estimate<T> q =
        md1(arrivals / T(d.layout.data), first / T(d.layout.pipeline));
    if (s.feasible && !q.feasible) s.feasible = q.feasible;
    s.wait = named("wait", q.wait);
    s.throughput = arrivals;
  }
  s.ttft = named("time to first token", s.wait + first);
  s.e2e = named("end to end", s.ttft + (l.output_tokens - 1.0) * s.itl);
  s.output_tokens_per_s =
      named("output tokens per second", s.throughput * (l.output_tokens * token_per_request));
  return s;
}

}  // namespace perfmodel
