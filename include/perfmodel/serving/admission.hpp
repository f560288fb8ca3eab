// Admission of requests to a predicted service, and what loads of one deployment share.
#pragma once

#include <optional>
#include <perfmodel/serving/preemption.hpp>
#include <perfmodel/serving/prefix_cache.hpp>
#include <perfmodel/serving/state.hpp>
#include <perfmodel/step/step.hpp>

namespace perfmodel::inline v0_3::detail {

/// Whether these steps keep what the loads of one deployment share (plan/evaluators.hpp).
template <class Steps>
inline constexpr bool shares_loads = requires(Steps& s) {
  s.growing_capacity;
};

/// The value, computed by `make` at the first use.
template <class Value, class Make>
constexpr const Value& once(std::optional<Value>& value, const Make& make) {
  if (!value) value = make();
  return *value;
}

/// Inputs of a service model: the deployment, its load, the step times, and the result of
/// admission.
template <Scalar T, class EstimateStep>
struct service_inputs {
  const basic_deployment<T>& deployment;
  const basic_service_load<T>& load;
  EstimateStep& estimate_step;  ///< function from an iteration to its estimate
  basic_service_terms<T> terms{};
  basic_preemption_effect<T> preempted{};
};

/// Parameters of a load under an engine, before admission sets `max_running`.
template <Scalar T>
constexpr basic_service_terms<T> service_terms_of(const basic_deployment<T>& d,
                                                  const basic_service_load<T>& l,
                                                  basic_service_terms<T> terms) {
  terms.scheduler = l.scheduler.value_or(scheduling_of(d.serving_engine));
  terms.output_tokens = l.output_tokens;
  terms.output_cv = l.output_cv;
  terms.input_cv = l.input_cv;
  terms.stream_steps = scalar_max(T(scalar_min(l.stream_interval, l.output_tokens) - 1.0), T(0.0));
  terms.scheduling_steps += l.batching_wait_iterations + terms.stream_steps;
  if (multiplies_fp8_blocks(d)) terms.startup_time += terms.compile_time;
  terms.collecting_steps = scalar_max(T(2.0 * l.batching_wait_iterations), T(1.0));
  return terms;
}

/// Number of sequences that an engine admits if it lets sequences grow into the KV cache. It is the
/// number that fit at their mean context, less one standard deviation. At a random time the
/// position in an output of O tokens is uniform on [0, O], so its standard deviation is O /
/// sqrt(12).
template <Scalar T>
constexpr T growing_capacity(const basic_deployment<T>& d, const basic_service_load<T>& l,
                             const basic_memory_budget<T>& budget) {
  using math::sqrt;
  const T context = mean_context(l);
  const T mean = named("sequences of mean context", sequences_of(d, budget, l, context));
  const T relative_sigma = l.output_tokens / (3.4641016151377544 * context);
  return mean - relative_sigma * sqrt(mean);
}

/// Preemptions per request of a closed loop, and the cost of each in the load's preemption_mode.
/// `overcommit` is 1 if the loop has more requests than the KV cache holds, else 0 (overcommitted).
template <Scalar T, class EstimateStep>
constexpr basic_preemption_effect<T> preemption_effect_of(const basic_deployment<T>& d,
                                                          const basic_service_load<T>& l,
                                                          EstimateStep& estimate_step,
                                                          const T& overcommit) {
  const T times = overcommit * preemptions_when_full(l);
  const T tokens = uncached_tokens(l) + output_tokens_at_preemption(l);
  basic_preemption_effect<T> e;
  e.preemptions = named("preemptions per request", times);
  if (*l.preemption_mode == preemption::recompute) {
    e.prefills_per_request =
        named("prefills per request", 1.0 + times * tokens / uncached_tokens(l));
    e.restore_time = step_time_of(
        estimate_step, basic_iteration<T>{.prefill_tokens = tokens,
                                          .prefill_past = l.input_tokens - uncached_tokens(l)});
  } else {
    e.restore_time = named("swap", 2.0 * sequence_on_device(d, tokens) / host_link_of(d, l));
    e.batch_stall = times * e.restore_time;
  }
  return e;
}

/// Admission: sets the maximum number of running requests, and the preemptions if the load has a
/// preemption_mode. A closed loop with more requests than fit keeps the KV cache full.
template <Scalar T, class EstimateStep>
constexpr service_inputs<T, EstimateStep> admit(const basic_deployment<T>& d,
                                                const basic_service_load<T>& l,
                                                const basic_service_terms<T>& engine,
                                                EstimateStep& estimate_step,
                                                const service_memory<T>& memory) {
  service_inputs<T, EstimateStep> in{d, l, estimate_step, service_terms_of(d, l, engine)};
  T& running = in.terms.max_running;
  running = scalar_max(memory.sequences, T(1.0));
  if (memory.feasible && grows_into_memory(d.serving_engine)) {
    if constexpr (shares_loads<EstimateStep>) {
      running = scalar_max(running, once(estimate_step.growing_capacity,
                                         [&] { return growing_capacity(d, l, memory.budget); }));
    } else {
      running = scalar_max(running, growing_capacity(d, l, memory.budget));
    }
  }
  running = named("maximum running requests", admitted_sequences(d, l, running));
  if (!memory.feasible || !l.preemption_mode) return in;

  const T fit = sequences_of(d, memory.budget, l, T(mean_context(l)));
  const T full = overcommitted(d, admitted_sequences(d, l, l.concurrency()), fit);
  if (!(upper(full) > 0.0)) return in;
  in.preempted = preemption_effect_of(d, l, estimate_step, full);
  if (*l.preemption_mode == preemption::recompute)
    in.terms.prefills_per_request = in.preempted.prefills_per_request;
  running = named("running requests in a full cache",
                  full * scalar_max(fit, T(1.0)) + (1.0 - full) * running);
  return in;
}

}  // namespace perfmodel::inline v0_3::detail
