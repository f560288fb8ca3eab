// A service under load as its scheduler runs it, each iteration predicted.
#pragma once

#include <perfmodel/serving/balance.hpp>
#include <perfmodel/serving/closed_loop.hpp>
#include <perfmodel/serving/open_loop.hpp>
#include <perfmodel/serving/preemption.hpp>
#include <perfmodel/serving/prefix_cache.hpp>
#include <perfmodel/serving/serving_estimate.hpp>
#include <perfmodel/serving/state.hpp>
#include <perfmodel/step/step.hpp>

namespace perfmodel::detail {

/// What a policy knows of the engine around its iterations.
template <Scalar T, class Policy>
constexpr basic_service_terms<T> engine_terms(const Policy& policy) {
  basic_service_terms<T> terms;
  if constexpr (requires { policy.engine.request_cpu_time; }) {
    terms.request_cpu_time = policy.engine.request_cpu_time;
    terms.request_iterations = policy.engine.request_iterations;
    terms.prompt_time = policy.engine.prompt_time;
    terms.run_start = policy.engine.run_start;
  }
  return terms;
}

/// A service by pass(iteration) -> estimate.
template <Scalar T, class Pass>
class service_prediction {
 public:
  constexpr service_prediction(const basic_deployment<T>& d, const basic_service_load<T>& l,
                               const basic_service_terms<T>& engine, const Pass& pass)
      : d_(d), l_(l), pass_(pass), terms_(engine) {
    terms_.kind = l.scheduler.value_or(scheduling_of(d.serving_engine));
    terms_.output_tokens = l.output_tokens;
    terms_.output_cv = l.output_cv;
    terms_.input_cv = l.input_cv;
    terms_.send_iterations =
        scalar_max(T(scalar_min(l.first_tokens, l.output_tokens) - 1.0), T(0.0));
    terms_.request_iterations += l.batching_wait_iterations + terms_.send_iterations;
  }

  constexpr basic_serving_estimate<T> estimate() {
    flow();
    s_.decode = pass_(decode_);
    s_.decode.terms.add(limiter::none, "prompts", max(s_.itl - s_.decode.time, duration<T>{}));
    s_.decode.time = s_.itl;
    s_.prefill = pass_(unloaded_prefill(l_));
    return s_;
  }
  /// Without the terms of its passes: `decode` and `prefill` are left as they are.
  constexpr const basic_serving_estimate<T>& flow() {
    admit();
    fetch_ = prefix_fetch_of(d_, l_);
    if (l_.is_closed()) {
      decode_apart_from_links(std::get<basic_closed_loop<T>>(l_.arrivals));
    } else {
      open(std::get<basic_open_loop<T>>(l_.arrivals));
    }
    add_fetch();
    sum_up();
    return s_;
  }
  /// What that is made of.
  constexpr const basic_service_terms<T>& terms() const { return terms_; }
  constexpr const basic_prefill_steps<T>& passes() const { return passes_; }
  constexpr const basic_service_state<T>& state() const { return state_; }

 private:
  /// What fits, and how many sequences the scheduler admits.
  constexpr void admit() {
    const service_memory<T> memory =
        service_memory_of(d_, l_, T(l_.input_tokens + l_.output_tokens));
    s_.feasible = memory.feasible;
    s_.capacity = named("whole sequences that fit", memory.sequences);
    terms_.room = scalar_max(s_.capacity, T(1.0));
    if (s_.feasible && grows_into_memory(d_.serving_engine)) {
      terms_.room = scalar_max(terms_.room, growing(memory.budget));
    }
    terms_.room = named("places", admitted_sequences(d_, l_, terms_.room));
    if (s_.feasible && l_.preempts) overcommit(memory.budget);
  }

  /// Where more wait than fit, those that are evicted leave no room unused.
  constexpr void overcommit(const basic_memory_budget<T>& budget) {
    const T fit = sequences_of(d_, budget, l_, T(mean_context(l_)));
    const T full = overfull(d_, admitted_sequences(d_, l_, l_.concurrency()), fit);
    if (!(upper(full) > 0.0)) return;
    const T times = full * preemptions_when_full(l_);
    const T tokens = computed_tokens(l_) + grown_when_preempted(l_);
    preempted_.times = named("evictions", times);
    if (*l_.preempts == preemption::recompute) {
      preempted_.prompts =
          named("prompts with evictions", 1.0 + times * tokens / computed_tokens(l_));
      terms_.prompts = preempted_.prompts;
      preempted_.back = step_time_of(
          pass_, basic_iteration<T>{.prefill_tokens = tokens,
                                    .prefill_past = l_.input_tokens - computed_tokens(l_)});
    } else {
      preempted_.back = named("swap", 2.0 * sequence_on_device(d_, tokens) / host_link_of(d_, l_));
      preempted_.stall = times * preempted_.back;
    }
    const T places = scalar_max(fit, T(1.0));
    terms_.room = named("places, all of them full", full * places + (1.0 - full) * terms_.room);
  }

  /// Sequences at all stages of their answers that fit, with a standard deviation of their lengths to
  /// spare: an answer that has grown for as long as any has O / sqrt(12) of it.
  constexpr T growing(const basic_memory_budget<T>& budget) const {
    using math::sqrt;
    const T context = mean_context(l_);
    const T mean = named("sequences amid their answers", sequences_of(d_, budget, l_, context));
    const T spread = l_.output_tokens / (3.4641016151377544 * context);
    return mean - spread * sqrt(mean);
  }

  /// Between one sequence and two, where other kernels run, a mean of n is one at times and two at the others.
  constexpr duration<T> decode_time(const T& decoding) const {
    if (!(lower(decoding) < 2.0)) return step_time_of(pass_, decode_);
    const T alone = scalar_max(T(2.0 - decoding), T(0.0));
    const T context = decode_.context;
    const duration<T> two =
        step_time_of(pass_, basic_iteration<T>{scalar_max(decoding, T(2.0)), context});
    return alone * step_time_of(pass_, basic_iteration<T>{T(1.0), context}) + (1.0 - alone) * two;
  }

  constexpr basic_prefill_steps<T> passes_at(const T& batch, const char* round) {
    const T decoding = named("sequences in a pass", round, scalar_max(batch, T(1.0)));
    decode_ = basic_iteration<T>{decoding, mean_context(l_)};
    const auto with_prefills = [&](const basic_iteration<T>& i) {
      return terms_.prompt_time * step_time_of(pass_, i);
    };
    const duration<T> decode = named("decode pass", round, decode_time(decoding));
    basic_prefill_steps<T> p =
        prefill_steps_of(d_, l_, terms_.kind, decoding, decode, with_prefills, round);
    if (preempted_.exist()) p.stall += preempted_.stall;
    return p;
  }

  /// Mixed with prompts fewer sequences decode than are in service: a second round at that many. The first
  /// is at no more than the budget keeps up with, from where the second hardly moves.
  /// Order: each round is in order where its passes are; the two together are not by construction, as the second
  /// is at what the first finds. Random loads are asked (tests/property/order_serving.cpp).
  constexpr void closed(const basic_closed_loop<T>& loop,
                        const char* first_evaluation = "a first round",
                        const char* final_evaluation = nullptr) {
    T decoding = scalar_min(loop.concurrency, terms_.room);
    const bool again = terms_.kind == scheduling::mixed_chunks;
    if (again) {
      const T prompts = terms_.prompts.value_or(T(1.0));
      decoding = scalar_min(decoding, most_decoding(d_, l_, terms_.gaps(), prompts));
    }
    passes_ = passes_at(decoding, again ? first_evaluation : final_evaluation);
    state_ = closed_service(terms_, passes_, loop);
    if (again) {
      passes_ = passes_at(named("sequences", first_evaluation, state_.batch), final_evaluation);
      state_ = closed_service(terms_, passes_, loop);
    }
    if (preempted_.exist()) {
      add_preemptions(state_, preempted_, loop, scalar_min(loop.concurrency, terms_.room),
                      terms_.gaps());
    }
  }

  /// The loop of those that are not at the links.
  constexpr void decode_apart_from_links(basic_closed_loop<T> loop) {
    if (fetch_.exists()) {
      loop.concurrency = requests_not_at_links(loop.concurrency, [&](const T& n) {
        closed({n, loop.requests});
        return T(state_.throughput * (fetch_.each + fetch_queueing()) / request);
      });
    }
    closed(loop);
  }

  /// For the link and, in a loop whose requests else come as an iteration ends, for the end of one.
  constexpr duration<T> fetch_queueing() const {
    if (!l_.is_closed()) return fetch_.time_at(fetch_.busy(state_.throughput)) - fetch_.each;
    const T others = scalar_max(T(1.0 - 1.0 / l_.concurrency()), T(0.0));
    return fetch_in_loop(fetch_, l_.concurrency(), state_.throughput) - fetch_.each +
           others * rest_of_iteration(terms_, passes_, state_, state_.gap.mean());
  }

  /// Prefixes that come from the host come first.
  constexpr void add_fetch() {
    if (!fetch_.exists()) return;
    if (s_.feasible && !l_.is_closed() && !(upper(fetch_.busy(l_.rate())) < 1.0)) {
      s_.feasible =
          infeasible("prompts arrive faster than their cache comes from the host", "req/s",
                     upper(l_.rate().value()), lower(fetch_.links) / upper(fetch_.each.value()));
    }
    const duration<T> waits = named("wait for what the host sends", fetch_queueing());
    state_.wait += waits;
    state_.first_token.delay(fetch_.each, waits);
    state_.first.fetch = fetch_.each + waits;
  }

  /// A request in service meets as many others as are there on average, whatever it does: n requests in
  /// the system have n = rate x C(n + 1), C the time of a closed loop (exact for a birth and death
  /// process whose C is linear). Arrivals in bursts meet more, those by a clock fewer. A loop with every
  /// place taken says which rate is the largest.
  constexpr void open(const basic_open_loop<T>& arrivals) {
    closed({terms_.room}, "a first round of a full service", "a full service");
    const request_rate<T> most = named("largest rate", state_.throughput);
    if (s_.feasible && !(upper(arrivals.rate.value()) < lower(most.value()))) {
      s_.feasible = infeasible("requests arrive faster than a full service answers them", "req/s",
                               upper(arrivals.rate.value()), lower(most.value()));
    }
    const T itself = (1.0 + arrivals.cv * arrivals.cv) / 2.0 + (arrivals.together - 1.0) / 2.0;
    const auto in_system = [&](const T& others) -> T {
      asked_ = others;
      const T b = scalar_max(T(1.0), scalar_min(T(others + itself), terms_.room));
      closed({b});
      return scalar_min(T(b * (arrivals.rate / state_.throughput)), T(2.0 * terms_.room));
    };
    const T others = named("requests in service", balanced_batch(terms_.room, in_system, 1.002));
    if (!ends_at(others)) (void)in_system(others);
    state_ = open_service(terms_, passes_, state_, arrivals, most);
  }

  /// Whether the state is that of the root already, which the search looked at last.
  constexpr bool ends_at(const T& root) const {
    if constexpr (std::is_floating_point_v<T>) {
      return root == asked_;
    } else {
      return false;  // derivatives come from the root itself
    }
  }

  constexpr void sum_up() {
    s_.batch = named("batch", state_.batch);
    s_.preemption_effect = preempted_.times;
    s_.wait = named("wait", state_.wait);
    s_.throughput = state_.throughput;
    s_.admission_delay = state_.first.place;
    s_.queued = state_.first.queued;
    if (l_.is_closed()) add_queue_in_loop(s_, l_);
    s_.first_token = state_.first_token;
    s_.gap = state_.gap;
    s_.ttft = named("time to first token", state_.first_token.mean());
    s_.itl = named("inter-token latency", state_.gap.mean());
    add_whole_requests(s_, l_, T(1.0 + terms_.send_iterations));
  }

  const basic_deployment<T>& d_;
  const basic_service_load<T>& l_;
  const Pass& pass_;
  basic_service_terms<T> terms_{};
  basic_prefix_fetch<T> fetch_{};
  basic_preemption_effect<T> preempted_{};
  basic_service_state<T> state_{};
  basic_prefill_steps<T> passes_{};
  basic_iteration<T> decode_{};  ///< the one without prompts
  T asked_{};                    ///< of the balance, last
  basic_serving_estimate<T> s_{};
};

template <Scalar T, class Policy, class Cost>
constexpr basic_serving_estimate<T> prediction_of_service(const basic_deployment<T>& d,
                                                          const basic_service_load<T>& l,
                                                          const Policy& policy, const Cost& links) {
  const predicted_step<T, Policy, Cost> pass{d, policy, links};
  return service_prediction<T, predicted_step<T, Policy, Cost>>(d, l, engine_terms<T>(policy), pass)
      .estimate();
}
template <Scalar T, class Pass>
constexpr basic_serving_estimate<T> flow_of_service(const basic_deployment<T>& d,
                                                    const basic_service_load<T>& l,
                                                    const basic_service_terms<T>& engine,
                                                    const Pass& pass) {
  return service_prediction<T, Pass>(d, l, engine, pass).flow();
}

}  // namespace perfmodel::detail
