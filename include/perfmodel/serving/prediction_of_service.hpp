// Prediction of a service under load, with the scheduler of its engine and a prediction of each
// engine step.
#pragma once

#include <perfmodel/serving/admission.hpp>
#include <perfmodel/serving/balance.hpp>
#include <perfmodel/serving/closed_loop.hpp>
#include <perfmodel/serving/open_loop.hpp>
#include <perfmodel/serving/preemption.hpp>
#include <perfmodel/serving/prefix_cache.hpp>
#include <perfmodel/serving/serving_estimate.hpp>
#include <perfmodel/serving/state.hpp>
#include <perfmodel/step/step.hpp>

namespace perfmodel::inline v0_3::detail {

/// Parameters of a service that a policy states for its engine.
template <Scalar T, class Policy>
constexpr basic_service_terms<T> engine_terms(const Policy& policy) {
  basic_service_terms<T> terms;
  if constexpr (requires { policy.engine.request_cpu_time; }) {
    terms.request_cpu_time = policy.engine.request_cpu_time;
    terms.scheduling_steps = policy.engine.request_iterations;
    terms.prefill_slowdown = policy.engine.prefill_step_factor;
    terms.pool_iterations = policy.engine.pool_iterations;
    terms.startup_time = policy.engine.run_start;
    terms.compile_time = policy.engine.compile_time;
  }
  return terms;
}

/// Predicted service, with the intermediate values that explain it.
template <Scalar T>
struct predicted_service {
  basic_service_terms<T> terms{};
  basic_prefill_steps<T> steps{};
  basic_service_state<T> state{};
  basic_serving_estimate<T> estimate{};
};

/// Solution of a loop: its state, step times and decode batch.
template <Scalar T>
struct loop_solution {
  basic_prefill_steps<T> steps{};
  basic_service_state<T> state{};
  T decode_batch = T(1.0);
  feasibility feasible{};
};

/// Time t of an engine step in which n sequences decode. Batch 1 and batch 2 use different kernels,
/// so for a mean batch 1 < n < 2 the time is interpolated: (2 - n) t(1) + (n - 1) t(2).
template <Scalar T, class EstimateStep>
constexpr duration<T> interpolated_step_time(EstimateStep& estimate_step,
                                             const basic_iteration<T>& step) {
  const T& n = step.batch;
  if (!(lower(n) < 2.0) || !(upper(n) > 0.0)) return step_time_of(estimate_step, step);
  const T one = scalar_max(T(2.0 - n), T(0.0));
  basic_iteration<T> of_one = step, of_two = step;
  of_one.batch = T(1.0);
  of_two.batch = scalar_max(n, T(2.0));
  // Within the token budget, the second sequence takes the place of prompt tokens.
  const T& tokens = step.prefill_tokens;
  of_two.prefill_tokens =
      scalar_max(T(tokens - (of_two.batch - n)), scalar_min(tokens, step.prefill_sequences));
  return one * step_time_of(estimate_step, of_one) +
         (1.0 - one) * step_time_of(estimate_step, of_two);
}

/// Decode batch of data-parallel groups of which each takes part with as many sequences as the
/// largest has, one at least. In an open loop the router keeps their numbers within one of each
/// other, so the largest has (G - 1) / (2 G) more than the mean.
/// Source: vLLM v1/worker/dp_utils.py (idle ranks run a dummy batch; batches are padded to the
/// largest).
template <Scalar T>
constexpr T batch_of_groups(const basic_deployment<T>& d, const basic_service_load<T>& l,
                            const T& batch) {
  const double groups = d.layout.data;
  if (groups == 1.0) return batch;
  return scalar_max(T(groups), T(batch + (l.is_closed() ? 0.0 : 0.5 * (groups - 1.0))));
}

/// Step times at a decode batch of `batch` sequences, without preemptions.
template <Scalar T, class EstimateStep>
constexpr basic_prefill_steps<T> undisturbed_steps(const service_inputs<T, EstimateStep>& in,
                                                   const T& batch, const char* evaluation) {
  const auto with_prefill = [&](const basic_iteration<T>& i) {
    return in.terms.prefill_slowdown * interpolated_step_time(in.estimate_step, i);
  };
  const basic_iteration<T> decode{batch_of_groups(in.deployment, in.load, batch),
                                  mean_context(in.load)};
  const duration<T> decode_time =
      named("decode step", evaluation, interpolated_step_time(in.estimate_step, decode));
  return prefill_steps_of(in.deployment, in.load, in.terms.scheduler, batch, decode_time,
                          with_prefill, evaluation);
}
/// Step times at a decode batch of `batch` sequences.
template <Scalar T, class EstimateStep>
constexpr basic_prefill_steps<T> steps_at(const service_inputs<T, EstimateStep>& in, const T& batch,
                                          const char* evaluation) {
  basic_prefill_steps<T> p;
  if constexpr (shares_loads<EstimateStep>) {
    p = in.estimate_step.at_batch(in.load, batch,
                                  [&] { return undisturbed_steps(in, batch, evaluation); });
  } else {
    p = undisturbed_steps(in, batch, evaluation);
  }
  if (in.preempted.has_any()) p.decode_stall += in.preempted.batch_stall;
  return p;
}

/// Solution of a closed loop at a given decode batch.
template <Scalar T, class EstimateStep>
constexpr loop_solution<T> closed_loop_at(const service_inputs<T, EstimateStep>& in,
                                          const basic_closed_loop<T>& loop, const T& batch,
                                          const char* evaluation) {
  const T decoding = named("decode batch", evaluation, scalar_max(batch, T(1.0)));
  const basic_prefill_steps<T> steps = steps_at(in, decoding, evaluation);
  return {steps, closed_service(in.terms, steps, loop), decoding};
}

/// Solution of a closed loop. Under mixed chunks fewer sequences decode than are in service. The
/// loop is then evaluated twice: at the largest decode batch of the token budget, and at the decode
/// batch that follows.
/// Leaves out: iteration to a fixed point; the second evaluation already changes little.
/// Test: tests/property/order_serving.cpp, random loads.
template <Scalar T, class EstimateStep>
constexpr loop_solution<T> solve_closed_loop(const service_inputs<T, EstimateStep>& in,
                                             const basic_closed_loop<T>& loop,
                                             const char* first_evaluation = "a first evaluation",
                                             const char* final_evaluation = nullptr) {
  const basic_service_terms<T>& terms = in.terms;
  const T running = scalar_min(loop.concurrency, terms.max_running);
  loop_solution<T> found;
  if (terms.scheduler == scheduling::mixed_chunks) {
    const T prefills = terms.prefills_per_request.value_or(T(1.0));
    const T limit = largest_decode_batch(in.deployment, in.load, terms.intervals(), prefills);
    found = closed_loop_at(in, loop, scalar_min(running, limit), first_evaluation);
    const T batch = named("sequences", first_evaluation, found.state.batch);
    found = closed_loop_at(in, loop, batch, final_evaluation);
  } else {
    found = closed_loop_at(in, loop, running, final_evaluation);
  }
  if (in.preempted.has_any())
    add_preemptions(found.state, in.preempted, loop, running, terms.intervals());
  return found;
}

/// Mean queueing for the host link before a KV fetch. In a closed loop it includes the rest of the
/// engine step in progress, after which the request can join the batch.
template <Scalar T, class EstimateStep>
constexpr duration<T> fetch_queueing(const service_inputs<T, EstimateStep>& in,
                                     const basic_prefix_fetch<T>& fetch,
                                     const loop_solution<T>& found) {
  const request_rate<T>& rate = found.state.throughput;
  if (!in.load.is_closed())
    return fetch.response_time(fetch.utilisation(rate)) - fetch.transfer_time;
  const T& n = in.load.concurrency();
  const T others = scalar_max(T(1.0 - 1.0 / n), T(0.0));
  return closed_loop_fetch_time(fetch, n, rate) - fetch.transfer_time +
         others * residual_step_time(in.terms, found.steps, found.state, found.state.itl.mean());
}

/// Solution of the closed loop of a load. It counts only the requests that are not waiting for a KV
/// fetch from host memory.
template <Scalar T, class EstimateStep>
constexpr loop_solution<T> solve_closed_load(const service_inputs<T, EstimateStep>& in,
                                             const basic_prefix_fetch<T>& fetch,
                                             basic_closed_loop<T> loop) {
  if (fetch.is_needed()) {
    loop.concurrency = requests_not_fetching(loop.concurrency, [&](const T& n) {
      const loop_solution<T> at = solve_closed_loop(in, {n, loop.requests});
      const duration<T> away = fetch.transfer_time + fetch_queueing(in, fetch, at);
      return T(at.state.throughput * away / request);
    });
  }
  return solve_closed_loop(in, loop);
}

/// Closed loop with all batch slots (`limit`) taken.
template <Scalar T>
struct full_service {
  T limit{};
  request_rate<T> throughput{};
  duration<T> itl{};
};
template <Scalar T, class EstimateStep>
constexpr full_service<T> solve_full_service(const service_inputs<T, EstimateStep>& in) {
  const T& limit = in.terms.max_running;
  if constexpr (shares_loads<EstimateStep>) {
    if (in.estimate_step.full && in.estimate_step.full->limit == limit)
      return *in.estimate_step.full;
  }
  const loop_solution<T> found =
      solve_closed_loop(in, {limit}, "a first evaluation of a full service", "a full service");
  const full_service<T> full{limit, named("largest rate", found.state.throughput),
                             found.state.itl.mean()};
  if constexpr (shares_loads<EstimateStep>) in.estimate_step.full = full;
  return full;
}

/// Solution of an open loop at arrival rate lambda. Between two tokens of a sequence m = lambda ITL
/// prefills start, and n = m (O - 1) sequences decode, by Little's law. A token meets n others
/// where arrivals are Poisson (they see time averages); requests in bursts meet more, periodic
/// arrivals fewer. The closed loop with all batch slots taken has the largest possible throughput.
/// Not feasible: an arrival rate of at least that throughput.
/// Source: Little 1961; Wolff, "Poisson arrivals see time averages", Oper. Res. 30(2), 1982.
/// Test: the simulator of tests/simulator; tests/simulator/closed_forms.cpp.
template <Scalar T, class EstimateStep>
constexpr loop_solution<T> solve_open_load(const service_inputs<T, EstimateStep>& in,
                                           const basic_open_loop<T>& arrivals) {
  basic_service_terms<T> s = in.terms;
  const T& limit = s.max_running;
  const full_service<T> full = solve_full_service(in);
  const request_rate<T>& capacity_rate = full.throughput;
  s.full_itl = full.itl;
  loop_solution<T> found;
  if (!(upper(arrivals.rate.value()) < lower(capacity_rate.value()))) {
    found.feasible = infeasible("requests arrive faster than a full batch serves them", "req/s",
                                upper(arrivals.rate.value()), lower(capacity_rate.value()));
    if constexpr (shares_loads<EstimateStep>) return found;
  }
  basic_latency_distribution<T> itl;
  T last{};  // number of others at which `found` was solved
  const T itself =
      (1.0 + arrivals.cv * arrivals.cv) / 2.0 + (arrivals.arrivals_per_burst - 1.0) / 2.0;
  const T decoding_share = scalar_max(T(s.output_tokens - 1.0), T(0.0)) / s.intervals();
  const auto in_system = [&](const T& others) -> T {
    last = others;
    found.decode_batch = scalar_max(T(1.0), scalar_min(T(decoding_share * others + itself), limit));
    found.steps = steps_at(in, named("decode batch", found.decode_batch), nullptr);
    itl = open_loop_itl(s, found.steps, arrivals, others);
    const T in_flight =
        scalar_min(T(s.intervals() * T(arrivals.rate * itl.mean() / request)), T(2.0 * limit));
    if constexpr (shares_loads<EstimateStep>) {
      const duration<T> least = others / s.intervals() * request / arrivals.rate;
      if (in_flight > others && in.estimate_step.dominates(least)) return others;
    }
    return in_flight;
  };
  const T others = named("sequences in service", balanced_batch(limit, in_system, 1.002));
  if constexpr (shares_loads<EstimateStep>) {
    if (in.estimate_step.is_dominated) {
      found.feasible = infeasible("a deployment of the plan has the same cost and a lower ITL", "s",
                                  itl.mean().value(), in.estimate_step.itl_to_beat.value());
      return found;
    }
  }
  bool is_current = false;
  if constexpr (std::is_floating_point_v<T>) is_current = others == last;
  if (!is_current) (void)in_system(others);  // derivatives come from the root itself
  found.state = open_service(s, found.steps, itl, arrivals, capacity_rate);
  return found;
}

/// Adds the KV fetch from host memory, which precedes prefill.
/// Not feasible: an open loop that saturates the host link.
template <Scalar T, class EstimateStep>
constexpr void add_fetch(const service_inputs<T, EstimateStep>& in,
                         const basic_prefix_fetch<T>& fetch, loop_solution<T>& found) {
  if (!fetch.is_needed()) return;
  if (found.feasible && !in.load.is_closed() && !(upper(fetch.utilisation(in.load.rate())) < 1.0)) {
    found.feasible = infeasible("prompts arrive faster than their cache comes from the host",
                                "req/s", upper(in.load.rate().value()),
                                lower(fetch.links) / upper(fetch.transfer_time.value()));
  }
  const duration<T> queueing = named("queueing for KV fetch", fetch_queueing(in, fetch, found));
  found.state.wait += queueing;
  found.state.ttft.delay(fetch.transfer_time, queueing);
  found.state.ttft_terms.kv_fetch = fetch.transfer_time + queueing;
}

/// Converts a solution to an estimate: means and distributions.
template <Scalar T>
constexpr basic_serving_estimate<T> estimate_of(const basic_service_load<T>& l,
                                                const basic_service_terms<T>& terms,
                                                const basic_service_state<T>& state) {
  basic_serving_estimate<T> s;
  s.batch = named("batch", state.batch);
  s.wait = named("wait", state.wait);
  s.throughput = state.throughput;
  s.admission_delay = state.ttft_terms.admission_delay;
  s.queued = state.ttft_terms.queued;
  if (l.is_closed()) add_queue_in_loop(s, l);
  s.ttft_distribution = state.ttft;
  s.itl_distribution = state.itl;
  s.ttft = named("time to first token", state.ttft.mean());
  s.itl = named("inter-token latency", state.itl.mean());
  add_whole_requests(s, l, T(1.0 + terms.stream_steps));
  return s;
}

/// Predicts a service, without breakdowns of its steps: `estimate.decode` and `estimate.prefill`
/// stay empty. The function sets `decode` to the iteration of the mean decode step.
template <Scalar T, class EstimateStep>
constexpr predicted_service<T> predict_service_flow(const basic_deployment<T>& d,
                                                    const basic_service_load<T>& l,
                                                    const basic_service_terms<T>& engine,
                                                    EstimateStep& estimate_step,
                                                    basic_iteration<T>& decode) {
  const auto memory_of = [&] {
    const T longest = l.input_tokens + l.output_tokens;
    if constexpr (requires { estimate_step.memory_budget(); }) {
      return service_memory_of(d, l, longest, estimate_step.memory_budget(),
                               estimate_step.group_fits());
    } else {
      return service_memory_of(d, l, longest);
    }
  };
  service_memory<T> memory;
  if constexpr (shares_loads<EstimateStep>) {
    memory = once(estimate_step.memory, memory_of);
  } else {
    memory = memory_of();
  }
  const T capacity = named("sequences that fit", memory.sequences);
  const service_inputs<T, EstimateStep> in = admit(d, l, engine, estimate_step, memory);
  const basic_prefix_fetch<T> fetch = prefix_fetch_of(d, l);
  loop_solution<T> found =
      l.is_closed() ? solve_closed_load(in, fetch, std::get<basic_closed_loop<T>>(l.arrivals))
                    : solve_open_load(in, std::get<basic_open_loop<T>>(l.arrivals));
  if constexpr (shares_loads<EstimateStep>) {
    if (!found.feasible) {
      predicted_service<T> overloaded{in.terms, found.steps, found.state, {}};
      overloaded.estimate.capacity = capacity;
      overloaded.estimate.feasible = memory.feasible ? found.feasible : memory.feasible;
      return overloaded;
    }
  }
  add_fetch(in, fetch, found);
  decode = {found.decode_batch, mean_context(l)};
  predicted_service<T> p{in.terms, found.steps, found.state, estimate_of(l, in.terms, found.state)};
  p.estimate.capacity = capacity;
  p.estimate.preemptions_per_request = in.preempted.preemptions;
  p.estimate.feasible = memory.feasible ? found.feasible : memory.feasible;
  return p;
}

/// Predicts a service, with breakdowns of its mean decode step and of one prefill.
/// estimate_step(iteration) returns the estimate of an engine step.
template <Scalar T, class EstimateStep>
constexpr predicted_service<T> predict_service(const basic_deployment<T>& d,
                                               const basic_service_load<T>& l,
                                               const basic_service_terms<T>& engine,
                                               EstimateStep& estimate_step) {
  basic_iteration<T> decode;
  predicted_service<T> p = predict_service_flow(d, l, engine, estimate_step, decode);
  basic_serving_estimate<T>& s = p.estimate;
  s.decode = estimate_step(decode);
  s.decode.terms.add(limiter::none, "prefill", max(s.itl - s.decode.time, duration<T>{}));
  s.decode.time = s.itl;
  s.prefill = estimate_step(unloaded_prefill(l));
  return p;
}

/// Predicts a service under a policy.
template <Scalar T, class Policy, class Cost>
constexpr basic_serving_estimate<T> prediction_of_service(const basic_deployment<T>& d,
                                                          const basic_service_load<T>& l,
                                                          const Policy& policy, const Cost& links) {
  predicted_step<T, Policy, Cost> estimate_step{d, policy, links};
  return predict_service(d, l, engine_terms<T>(policy), estimate_step).estimate;
}

/// Predicts throughput and latencies of a service without breakdowns, for plans.
template <Scalar T, class EstimateStep>
constexpr basic_serving_estimate<T> flow_of_service(const basic_deployment<T>& d,
                                                    const basic_service_load<T>& l,
                                                    const basic_service_terms<T>& engine,
                                                    EstimateStep& estimate_step) {
  basic_iteration<T> decode;
  return predict_service_flow(d, l, engine, estimate_step, decode).estimate;
}

}  // namespace perfmodel::inline v0_3::detail
