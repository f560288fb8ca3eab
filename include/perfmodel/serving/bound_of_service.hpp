// Bound of a service under load: each engine step takes its roofline bound, and prefill is spread
// perfectly evenly across steps.
#pragma once

#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/laws/queueing.hpp>
#include <perfmodel/serving/balance.hpp>
#include <perfmodel/serving/prediction_of_disaggregated.hpp>
#include <perfmodel/serving/prefill_steps.hpp>
#include <perfmodel/serving/prefix_cache.hpp>
#include <perfmodel/serving/serving_estimate.hpp>
#include <perfmodel/serving/state.hpp>
#include <perfmodel/step/step.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Mean engine step at batch B. It decodes B tokens, each at half of its output. For each of the
/// `others` (other requests that a request meets), it also prefills I / O tokens. I is the number
/// of uncached prompt tokens and O that of output tokens; I / O is the prefill per output token in
/// steady state. The context before a chunk is the cached prefix and half of the rest of the
/// prompt.
template <Scalar T>
constexpr basic_iteration<T> mean_iteration(const basic_service_load<T>& l, const T& batch,
                                            const T& others) {
  const T chunk = mean_chunk(l);
  const T prompt_tokens = others * uncached_tokens(l) / l.output_tokens;
  basic_iteration<T> i{scalar_max(batch, T(1.0)), l.input_tokens + l.output_tokens / 2.0,
                       prompt_tokens};
  if (!(upper(prompt_tokens) > 0.0)) return i;
  i.prefill_past = tokens_before_chunk(l, chunk);
  const T prompts = prompt_tokens / chunk;  // above 0; a range stays small enough to divide by
  i.prefill_sequences = scalar_max(prompts, T(Range<T> ? 0.01 * upper(prompts) : 1e-9));
  i.steady = true;
  return i;
}

/// Number of engine steps that prefill one prompt under the load's chunk budget.
template <Scalar T>
constexpr T chunk_iterations(const basic_deployment<T>& d, const basic_service_load<T>& l) {
  return pipelined_chunk_steps(named("chunks", chunks_of(l)), d.layout.pipeline);
}

/// Time from the first engine step of a prompt to its first token. It is the time `whole_prompt` of
/// one prefill or, with a chunk budget, of chunks in steps that also decode `others` sequences.
template <Scalar T, class EstimateStep>
constexpr duration<T> first_token_time(const basic_deployment<T>& d, const basic_service_load<T>& l,
                                       const T& others, const duration<T>& whole_prompt,
                                       const EstimateStep& estimate_step) {
  if (!l.chunk_tokens) return whole_prompt;
  const T chunk = mean_chunk(l);
  const basic_iteration<T> mixed{others, l.input_tokens + l.output_tokens / 2.0, chunk,
                                 l.prefix_hit * l.input_tokens + (uncached_tokens(l) - chunk) / 2.0,
                                 T(1.0)};
  return chunk_iterations(d, l) * estimate_step(mixed).time;
}

/// Limits of a closed loop under a chunk budget. A request is in service for n = chunks + O - 1
/// steps, with O output tokens. Each data-parallel group and pipeline stage takes one chunk per
/// step. n x chunk / I requests (I uncached prompt tokens) fill all these chunks; more requests
/// only queue. A share (O - 1) / n of the other requests decodes, and the rest prefills.
/// Leaves out: a prompt that does not fill its chunks (1 % of throughput); a prompt that needs one
/// more chunk (0.2 % of E2E). See docs/laws/research/serving.md.
/// Test: requests in service, by hand; tests/property/order_serving.cpp.
template <Scalar T>
struct chunked_loop {
  T max_running = T(infinity);  ///< requests that fill all chunks
  T decoding_share = T(1.0);    ///< share of the other requests that decode
};
template <Scalar T>
constexpr chunked_loop<T> chunked_loop_of(const basic_deployment<T>& d,
                                          const basic_service_load<T>& l) {
  if (!l.chunk_tokens) return {};
  const T decode_steps = l.output_tokens - 1.0;
  const T iterations = chunk_iterations(d, l) + decode_steps;
  const double chunks = static_cast<double>(d.layout.pipeline) * d.layout.data;
  return {iterations * chunks * *l.chunk_tokens / uncached_tokens(l), decode_steps / iterations};
}

/// Computes the bound of a closed loop with B requests in service. A request meets B - 1 others;
/// requests beyond B queue, by Little's law. In a run, the first B requests meet no prefill while
/// they decode. Static batches admit no request while they decode.
template <Scalar T, class EstimateStep>
constexpr void serve_closed(basic_serving_estimate<T>& s, const basic_deployment<T>& d,
                            const basic_service_load<T>& l, const T& max_running,
                            const EstimateStep& estimate_step) {
  const T& concurrency = l.concurrency();
  const chunked_loop<T> chunked = chunked_loop_of(d, l);
  s.batch = named("batch", scalar_min(scalar_min(concurrency, max_running), chunked.max_running));
  const T others = scalar_max(T(s.batch - 1.0), T(0.0));
  const T decoding = chunked.decoding_share * others;
  const auto& requests = std::get<basic_closed_loop<T>>(l.arrivals).requests;
  T met = requests ? T(others * scalar_max(T(1.0 - s.batch / *requests), T(0.0))) : others;
  if (l.scheduler == scheduling::static_batches) met = T(0.0);
  s.decode = estimate_step(mean_iteration(l, T(decoding + 1.0), met));
  s.itl = named("inter-token latency", s.decode.time);
  const duration<T> first = first_token_time(d, l, decoding, s.prefill.time, estimate_step);
  const duration<T> in_service = named("service time", first + (l.output_tokens - 1.0) * s.itl);
  s.wait = named("wait", scalar_max(T(concurrency - s.batch), T(0.0)) / s.batch * in_service);
  s.throughput = s.batch * request / in_service;
  s.admission_delay = scalar_max(T(concurrency - max_running), T(0.0)) / s.batch * in_service;
  s.ttft = named("time to first token", s.wait + first);
}

/// Least time per prompt of a replica: that of a million prompts, which read the weights once.
template <Scalar T, class EstimateStep>
constexpr duration<T> least_time_per_prompt(const basic_service_load<T>& l,
                                            const EstimateStep& estimate_step) {
  constexpr double many = 1e6;
  basic_iteration<T> all = unloaded_prefill(l);
  all.prefill_tokens = many * all.prefill_tokens;
  all.prefill_sequences = T(many);
  all.steady = true;
  return estimate_step(all).time / many;
}

/// Wait of an M/D/1 queue. An overloaded queue has no steady state. The wait at a utilisation of
/// 1 - 1e-6 replaces it, so that an overloaded prediction is never faster than its bound.
template <Scalar T>
constexpr duration<T> wait_before_prefill(const basic_queue_estimate<T>& q,
                                          const duration<T>& service) {
  constexpr double full = 1.0 - 1e-6;
  return q.feasible ? q.wait : duration<T>(full / (1.0 - full) / 2.0 * service);
}

/// Computes the bound of an open loop. A random arrival meets all B decoding requests, where
/// B = rate x (O - 1) x ITL(B) with O output tokens. A step with B decodes prefills B / (O - 1)
/// prompts.
///   TTFT = max(P, W + F)
/// P is the unloaded prefill, F the least time per prompt, W the wait in an M/D/1 queue of services
/// F, or 0 where arrivals vary less than random ones (cv < 1). Engines batch prompts; their
/// unfinished prefill is never less than in that queue.
/// Test: no predicted rate is above the bound's (tests/property/order_serving.cpp).
template <Scalar T, class EstimateStep>
constexpr void serve_open(basic_serving_estimate<T>& s, const basic_deployment<T>& d,
                          const basic_service_load<T>& l, const T& max_running,
                          const EstimateStep& estimate_step) {
  const request_rate<T>& rate = l.rate();
  // Prompts without decodes (O = 1) are a limit: a thousand prefills per decode.
  const T decode_steps = scalar_max(T(l.output_tokens - 1.0), T(1e-3));
  const T tokens_per_s = rate.value() * decode_steps;
  const auto mean_step = [&](const T& batch) {
    return estimate_step(mean_iteration(l, batch, T(batch / decode_steps * l.output_tokens)));
  };
  const auto in_flight = [&](const T& batch) -> T {
    return tokens_per_s * mean_step(batch).time.value();
  };
  s.batch = named("batch", balanced_batch(max_running, in_flight));
  s.decode = mean_step(s.batch);
  s.itl = named("inter-token latency", s.decode.time);
  const duration<T> prompt = least_time_per_prompt(l, estimate_step);
  // Few tokens touch few experts: steps without prefill, and few with much, may take less.
  const duration<T> apart = estimate_step(mean_iteration(l, max_running, T(0.0))).time +
                            max_running / decode_steps * prompt;
  const duration<T> full_step = min(mean_step(max_running).time, apart);
  if (s.feasible && upper(tokens_per_s) * upper(full_step.value()) > lower(max_running)) {
    s.feasible = infeasible("requests arrive faster than the largest batch that fits serves them",
                            "req/s", upper(rate.value()),
                            lower(max_running) / upper(full_step.value()) / upper(decode_steps));
  }
  const duration<T> first = first_token_time(d, l, s.batch, s.prefill.time, estimate_step);
  const basic_queue_estimate<T> q = md1(rate, prompt);
  // Arrivals more even than random ones may wait for none.
  const bool random_arrivals = upper(std::get<basic_open_loop<T>>(l.arrivals).cv) >= 1.0;
  if (s.feasible && !q.feasible) s.feasible = q.feasible;
  s.ttft = named("time to first token",
                 max(first, random_arrivals ? wait_before_prefill(q, prompt) + prompt : prompt));
  s.wait = named("wait", s.ttft - first);
  s.throughput = rate;
}

/// Least time from the start of a prompt's prefill to its first token. In a pipeline of p stages it
/// is that of infinitely many chunks: each stage takes 1 / p of the whole, and the last chunk, of
/// one token, passes the other p - 1 stages.
template <Scalar T, class EstimateStep>
constexpr basic_estimate<T> least_prefill(const basic_deployment<T>& d,
                                          const basic_service_load<T>& l,
                                          const EstimateStep& estimate_step) {
  const double stages = d.layout.pipeline;
  basic_iteration<T> prompt = unloaded_prefill(l);
  basic_estimate<T> whole = estimate_step(prompt);
  if (stages == 1.0) return whole;
  prompt.prefill_tokens = scalar_min(prompt.prefill_tokens, T(1.0));
  const duration<T> last = estimate_step(prompt).time;
  whole.time = named("prefill in a pipeline", (whole.time + (stages - 1.0) * last) / stages);
  return whole;
}

/// Bound of a service, where estimate_step(iteration) returns the estimate of an engine step.
template <Scalar T, class EstimateStep>
constexpr basic_serving_estimate<T> steady_state(const basic_deployment<T>& d,
                                                 const basic_service_load<T>& l,
                                                 const EstimateStep& estimate_step) {
  basic_serving_estimate<T> s;
  const service_memory<T> memory = service_memory_of(d, l, T(l.input_tokens + l.output_tokens));
  s.feasible = memory.feasible;
  s.capacity = memory.sequences;
  // Engines admit more requests than fit at their longest, at most those that fit on average.
  const T running = scalar_max(s.capacity, sequences_of(d, memory.budget, l, mean_context(l)));
  const T max_running = admitted_sequences(d, l, scalar_max(running, T(1.0)));
  s.prefill = least_prefill(d, l, estimate_step);
  const basic_prefix_fetch<T> fetch = prefix_fetch_of(d, l);
  if (!l.is_closed()) {
    serve_open(s, d, l, max_running, estimate_step);
  } else if (!fetch.is_needed()) {
    serve_closed(s, d, l, max_running, estimate_step);
  } else {
    basic_service_load<T> not_fetching = l;
    T& n = std::get<basic_closed_loop<T>>(not_fetching.arrivals).concurrency;
    n = requests_not_fetching(l.concurrency(), [&](const T& asked) {
      n = asked;
      serve_closed(s, d, not_fetching, max_running, estimate_step);
      return T(s.throughput * closed_loop_fetch_time(fetch, l.concurrency(), s.throughput) /
               request);
    });
    serve_closed(s, d, not_fetching, max_running, estimate_step);
  }
  if (l.is_closed()) add_queue_in_loop(s, l);
  s.ttft += fetch.transfer_time;
  s.e2e = named("end to end", s.ttft + (l.output_tokens - 1.0) * s.itl);
  s.output_rate = output_rate_of(l, s.throughput);
  return s;
}

/// Bound of a service, with each engine step at its bound; `links` gives the cost of communication.
template <Scalar T, class Cost>
constexpr basic_serving_estimate<T> bound_of_service(const basic_deployment<T>& d,
                                                     const basic_service_load<T>& l,
                                                     const Cost& links) {
  return steady_state(d, l,
                      [&](const basic_iteration<T>& i) { return bound_of_step(d, i, links); });
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3

// Bound of a disaggregated service.

namespace perfmodel::inline v0_3::detail {

/// Bound of a disaggregated service. In an open loop the arrival rate determines the decode batch
/// and the prefill queue. In a closed loop TTFT and ITL are bounded separately, since the worse of
/// one can improve the other: slower prefill lowers the decode batch, and slower decoding lowers
/// the prefill rate. TTFT is that of a prompt without queueing, and ITL that of batch 1. Only
/// throughput and E2E follow the flow through both pools.
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
  using flow::d_;
  using flow::decode_steps_;
  using flow::l_;
  using flow::max_batch_;
  using flow::prefill_period_;
  using flow::s_;
  using flow::step_at;
  using flow::transfer_period_;
  using flow::unloaded_ttft_;

  constexpr void closed(const T& all) {
    const auto in_flight = [&](const T& batch) -> T {
      const duration<T> decoding = decode_steps_ * step_at(batch);
      const duration<T> cycle =
          max(max(duration<T>(decoding + unloaded_ttft_), all * prefill_period_),
              duration<T>(all * transfer_period_));
      return all / d_.decode.replicas * T(decoding / cycle);
    };
    batch_ = named("batch", balanced_batch(max_batch_, in_flight));
    s_.throughput = d_.decode.replicas * batch_ * request / (decode_steps_ * step_at(batch_));
    latencies(T(1.0), unloaded_ttft_);
    s_.e2e = named("end to end", max(s_.e2e, duration<T>(all * request / s_.throughput)));
    if (!(upper(l_.output_tokens) > 1.0)) s_.ttft = s_.e2e;  // the first token is the last
  }

  constexpr void open(const basic_open_loop<T>& loop) {
    batch_ = flow::batch_at(loop.rate);
    s_.throughput = loop.rate;
    flow::check_stability(loop.rate);
    s_.wait = named("wait", flow::prefill_queueing(loop) +
                                0.5 * (loop.arrivals_per_burst - 1.0) * prefill_period_);
    latencies(batch_, unloaded_ttft_ + s_.wait);
  }

  constexpr void latencies(const T& batch, const duration<T>& before) {
    s_.decode = flow::decode_at(batch);
    s_.itl = named("inter-token latency", s_.decode.time);
    s_.ttft =
        named("time to first token", before + T(d_.first_token_from_decode ? 1.0 : 0.0) * s_.itl);
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

}  // namespace perfmodel::inline v0_3::detail
