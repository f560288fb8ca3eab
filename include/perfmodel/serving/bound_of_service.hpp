// The best that a service under load can do: every iteration at its bound and perfectly mixed.
#pragma once

#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/laws/queueing.hpp>
#include <perfmodel/serving/balance.hpp>
#include <perfmodel/serving/prediction_of_disaggregated.hpp>
#include <perfmodel/serving/prefix_cache.hpp>
#include <perfmodel/serving/prompt_passes.hpp>
#include <perfmodel/serving/serving_estimate.hpp>
#include <perfmodel/serving/state.hpp>
#include <perfmodel/step/step.hpp>

namespace perfmodel {

namespace detail {

/// The mean iteration that a request at batch B decodes in: B tokens, each halfway through its
/// answer, and input / output prompt tokens for each of the others that it meets, which is what a
/// steady state prefills per token it emits, in chunks that have what the cache had of their prompt and
/// half of the rest before them.
template <Scalar T>
constexpr basic_iteration<T> mean_iteration(const basic_service_load<T>& l, const T& batch,
                                            const T& others) {
  const T chunk = chunk_of(l);
  const T prompt_tokens = others * computed_tokens(l) / l.output_tokens;
  basic_iteration<T> i{scalar_max(batch, T(1.0)), l.input_tokens + l.output_tokens / 2.0,
                       prompt_tokens};
  if (!(upper(prompt_tokens) > 0.0)) return i;
  i.prefill_past = past_of_chunk(l, chunk);
  const T prompts =
      prompt_tokens / chunk;  // above 0 in every lane; a range stays narrow enough to divide by
  i.prefill_sequences = scalar_max(prompts, T(Range<T> ? 0.01 * upper(prompts) : 1e-9));
  i.steady = true;
  return i;
}

/// Iterations of a prompt in bounded chunks.
template <Scalar T>
constexpr T chunk_iterations(const basic_deployment<T>& d, const basic_service_load<T>& l) {
  return iterations_through(named("chunks", chunks_of(l)), d.layout.pipeline);
}

/// From the first iteration of a prompt to its first token: the prompt alone, or its chunks, each
/// with the others' tokens.
template <Scalar T, class Pass>
constexpr duration<T> first_token_time(const basic_deployment<T>& d, const basic_service_load<T>& l,
                                       const T& others, const duration<T>& whole_prompt,
                                       const Pass& pass) {
  if (!l.chunk_tokens) return whole_prompt;
  const T chunk = chunk_of(l);
  const basic_iteration<T> mixed{others, l.input_tokens + l.output_tokens / 2.0, chunk,
                                 l.prefix_hit * l.input_tokens + (computed_tokens(l) - chunk) / 2.0,
                                 T(1.0)};
  return chunk_iterations(d, l) * pass(mixed).time;
}

/// A closed loop whose prompts come in bounded chunks. A request is in service for n iterations, those of
/// its chunks and of its answer. Each group and stage takes a chunk in one, so that n chunk / input requests
/// keep all of them full, and more only wait; and of the others as many decode as iterations of their
/// answers are of theirs.
/// Throughput then never falls as more come, but by 1 % where a prompt does not fill its chunks: a request's own
/// passes have room there that prompts of others do not fill. A prompt that takes a pass more leaves fewer of the
/// others decoding beside it: the whole time may then be 0.2 % less for a token more.
/// Test: what is in service, by hand; tests/property/order_serving.cpp.
template <Scalar T>
struct chunked_loop {
  T most = T(infinity);  ///< requests in service
  T decode = T(1.0);     ///< of the others
};
template <Scalar T>
constexpr chunked_loop<T> chunked_loop_of(const basic_deployment<T>& d,
                                          const basic_service_load<T>& l) {
  if (!l.chunk_tokens) return {};
  const T answer = l.output_tokens - 1.0;
  const T iterations = chunk_iterations(d, l) + answer;
  const double chunks = static_cast<double>(d.layout.pipeline) * d.layout.data;
  return {iterations * chunks * *l.chunk_tokens / computed_tokens(l), answer / iterations};
}

/// In a closed loop of B a request meets B - 1 others, and those beyond B wait by Little's law. The first
/// B requests of a run meet no prompt while they decode, and static batches let none in.
template <Scalar T, class Pass>
constexpr void serve_closed(basic_serving_estimate<T>& s, const basic_deployment<T>& d,
                            const basic_service_load<T>& l, const T& room, const Pass& pass) {
  const T& concurrency = l.concurrency();
  const chunked_loop<T> chunked = chunked_loop_of(d, l);
  s.batch = named("batch", scalar_min(scalar_min(concurrency, room), chunked.most));
  const T others = scalar_max(T(s.batch - 1.0), T(0.0));
  const T beside = chunked.decode * others;
  const auto& requests = std::get<basic_closed_loop<T>>(l.arrivals).requests;
  T met = requests ? T(others * scalar_max(T(1.0 - s.batch / *requests), T(0.0))) : others;
  if (l.scheduler == scheduling::static_batches) met = T(0.0);
  s.decode = pass(mean_iteration(l, T(beside + 1.0), met));
  s.itl = named("inter-token latency", s.decode.time);
  const duration<T> first = first_token_time(d, l, beside, s.prefill.time, pass);
  const duration<T> in_service = named("service time", first + (l.output_tokens - 1.0) * s.itl);
  s.wait = named("wait", scalar_max(T(concurrency - s.batch), T(0.0)) / s.batch * in_service);
  s.throughput = s.batch * request / in_service;
  s.admission_delay = scalar_max(T(concurrency - room), T(0.0)) / s.batch * in_service;
  s.ttft = named("time to first token", s.wait + first);
}

/// The wait of an M/D/1 queue. One that is overloaded has no steady state: the wait at nearly full
/// use stands for it, so that what cannot keep up is not quicker than its bound.
template <Scalar T>
constexpr duration<T> wait_before_prefill(const basic_queue_estimate<T>& q,
                                          const duration<T>& service) {
  constexpr double full = 1.0 - 1e-6;
  return q.feasible ? q.wait : duration<T>(full / (1.0 - full) / 2.0 * service);
}

/// In an open loop a request arrives at random and meets all B, with B = rate x output x ITL(B).
template <Scalar T, class Pass>
constexpr void serve_open(basic_serving_estimate<T>& s, const basic_deployment<T>& d,
                          const basic_service_load<T>& l, const T& room, const Pass& pass) {
  const request_rate<T>& rate = l.rate();
  const T tokens_per_s = rate.value() * l.output_tokens;
  const auto arriving = [&](const T& batch) -> T {
    return tokens_per_s * pass(mean_iteration(l, batch, batch)).time.value();
  };
  s.batch = named("batch", balanced_batch(room, arriving));
  s.decode = pass(mean_iteration(l, s.batch, s.batch));
  s.itl = named("inter-token latency", s.decode.time);
  const duration<T> at_most = pass(mean_iteration(l, room, room)).time;
  if (s.feasible && upper(tokens_per_s) * upper(at_most.value()) > lower(room)) {
    s.feasible = infeasible("requests arrive faster than the largest batch that fits serves them",
                            "req/s", upper(rate.value()),
                            lower(room) / upper(at_most.value()) / upper(l.output_tokens));
  }
  const duration<T> first = first_token_time(d, l, s.batch, s.prefill.time, pass);
  // One data-parallel group, and its first stage.
  const duration<T> prompt = first / T(d.layout.pipeline);
  const basic_queue_estimate<T> q = md1(rate / T(d.layout.data), prompt);
  if (s.feasible && !q.feasible) s.feasible = q.feasible;
  s.wait = named("wait", wait_before_prefill(q, prompt));
  s.throughput = rate;
  s.ttft = named("time to first token", s.wait + first);
}

/// What bound and prediction share: the steady state around pass(iteration) -> estimate.
template <Scalar T, class Pass>
constexpr basic_serving_estimate<T> steady_state(const basic_deployment<T>& d,
                                                 const basic_service_load<T>& l, const Pass& pass) {
  basic_serving_estimate<T> s;
  const service_memory<T> memory = service_memory_of(d, l, T(l.input_tokens + l.output_tokens));
  s.feasible = memory.feasible;
  s.capacity = memory.sequences;
  const T room = admitted_sequences(d, l, scalar_max(s.capacity, T(1.0)));
  s.prefill = pass(unloaded_prefill(l));
  const basic_prefix_fetch<T> fetch = prefix_fetch_of(d, l);
  if (!l.is_closed()) {
    serve_open(s, d, l, room, pass);
  } else if (!fetch.exists()) {
    serve_closed(s, d, l, room, pass);
  } else {
    basic_service_load<T> beside = l;
    T& n = std::get<basic_closed_loop<T>>(beside.arrivals).concurrency;
    n = requests_not_at_links(l.concurrency(), [&](const T& asked) {
      n = asked;
      serve_closed(s, d, beside, room, pass);
      return T(s.throughput * fetch_in_loop(fetch, l.concurrency(), s.throughput) / request);
    });
    serve_closed(s, d, beside, room, pass);
  }
  if (l.is_closed()) add_queue_in_loop(s, l);
  s.ttft += fetch.each;
  s.e2e = named("end to end", s.ttft + (l.output_tokens - 1.0) * s.itl);
  s.output_rate = output_rate_of(l, s.throughput);
  return s;
}

template <Scalar T, class Cost>
constexpr basic_serving_estimate<T> bound_of_service(const basic_deployment<T>& d,
                                                     const basic_service_load<T>& l,
                                                     const Cost& links) {
  return steady_state(d, l,
                      [&](const basic_iteration<T>& i) { return bound_of_step(d, i, links); });
}

}  // namespace detail

}  // namespace perfmodel

// The best that prompts on some replicas and answers on others can do.

namespace perfmodel::detail {

/// A bound holds for each answer by itself. Who is slower at prompts has fewer sequences to decode, and
/// who is slower at decoding sends fewer prompts at once: so in a closed loop the time to first token is
/// that of a prompt which waits for nothing, the time between tokens that of one sequence, and only
/// throughput, and with it whole requests, is that of the flow. In an open loop the rate says how many
/// decode, and prompts wait no less than at this.
template <Scalar T, class Prefill, class Decode>
class disaggregated_bound : pool_flow<T, Prefill, Decode> {
  using flow = pool_flow<T, Prefill, Decode>;

 public:
  constexpr disaggregated_bound(const basic_disaggregated<T>& d, const basic_service_load<T>& l,
                                const basic_service_terms<T>& none, const Prefill& prefill,
                                const Decode& decode)
      : flow(d, l, none, prefill, decode) {}

  constexpr basic_disaggregated_estimate<T> estimate() {
    if (l_.is_closed()) {
      closed(l_.concurrency());
    } else {
      open(std::get<basic_open_loop<T>>(l_.arrivals));
    }
    s_.batch = d_.decode.replicas * batch_;
    s_.output_rate = output_rate_of(l_, s_.throughput);
    flow::add_stages();
    return s_;
  }

 private:
  using flow::batch_;
  using flow::capacity_;
  using flow::d_;
  using flow::l_;
  using flow::link_slot_;
  using flow::own_;
  using flow::s_;
  using flow::slot_;
  using flow::step_at;
  using flow::steps_;

  constexpr void closed(const T& all) {
    const auto arriving = [&](const T& batch) -> T {
      const duration<T> answer = steps_ * step_at(batch);
      const duration<T> cycle =
          max(max(duration<T>(answer + own_), all * slot_), duration<T>(all * link_slot_));
      return all / d_.decode.replicas * T(answer / cycle);
    };
    batch_ = named("batch", balanced_batch(capacity_, arriving));
    s_.throughput = d_.decode.replicas * batch_ * request / (steps_ * step_at(batch_));
    latencies(T(1.0), own_);
    s_.e2e = named("end to end", max(s_.e2e, duration<T>(all * request / s_.throughput)));
  }

  constexpr void open(const basic_open_loop<T>& loop) {
    batch_ = flow::batch_at(loop.rate);
    s_.throughput = loop.rate;
    flow::keep_up_with(loop.rate);
    s_.wait = named("wait", flow::queue_of(loop) + 0.5 * (loop.together - 1.0) * slot_);
    latencies(batch_, own_ + s_.wait);
  }

  constexpr void latencies(const T& batch, const duration<T>& before) {
    s_.decode = flow::decode_at(batch);
    s_.itl = named("inter-token latency", s_.decode.time);
    s_.ttft = named("time to first token", before + T(d_.decode_starts ? 1.0 : 0.0) * s_.itl);
    s_.e2e = named("end to end", s_.ttft + scalar_max(T(l_.output_tokens - 1.0), T(0.0)) * s_.itl);
  }
};

template <Scalar T, class Cost>
constexpr basic_disaggregated_estimate<T> bound_of_disaggregated(const basic_disaggregated<T>& d,
                                                                 const basic_service_load<T>& l,
                                                                 const Cost& links) {
  const auto prefill = [&](const basic_iteration<T>& i) {
    return bound_of_step(d.prefill.deployment, i, links);
  };
  const auto decode = [&](const basic_iteration<T>& i) {
    return bound_of_step(d.decode.deployment, i, links);
  };
  const basic_service_terms<T> none{};
  return disaggregated_bound<T, decltype(prefill), decltype(decode)>(d, l, none, prefill, decode)
      .estimate();
}

}  // namespace perfmodel::detail
