// Times of the engine steps of a service, by how its scheduler combines prefill and decode.
#pragma once

#include <perfmodel/serving/load.hpp>
#include <perfmodel/step/deployment.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel::inline v0_3 {

/// Step times from which the latencies of a service follow. With mixed chunks a step also decodes,
/// and the times of prefill include that.
template <Scalar T = double>
struct basic_prefill_steps {
  duration<T> decode_time{};             ///< engine step without prefill
  duration<T> prefill_time{};            ///< all steps of a prompt that meets no other prefill
  duration<T> decode_stall{};            ///< time such a prompt adds to concurrent decoding
  duration<T> marginal_prefill_time{};   ///< time a further prompt adds to a step with prefill
  duration<T> saturated_prefill_time{};  ///< time per prompt where every step is full of prefill
  T prefills_per_step = T(1.0);          ///< prompts in a full step
  T chunks = T(1.0);                     ///< engine steps of one prompt, a whole number
  T steps_per_prefill = T(1.0);          ///< prompt tokens over tokens of a chunk, a fraction
  duration<T> prefill_step_time{};       ///< engine step with one prompt, or one chunk of it
  T decode_steps_per_prefill{};  ///< full steps per prompt that also decode; 0 for prefill only
  double pipeline_stages = 1.0;
  basic_iteration<T> prefill_iteration{};  ///< engine step with one prompt, or one chunk of it
};
using prefill_steps = basic_prefill_steps<>;

namespace detail {

/// The iteration that prefills one prompt and decodes nothing, less the cached prefix.
template <Scalar T>
constexpr basic_iteration<T> unloaded_prefill(const basic_service_load<T>& l) {
  return {.prefill_tokens = uncached_tokens(l), .prefill_past = l.prefix_hit * l.input_tokens};
}

/// Token budget of an engine step (vLLM's max_num_batched_tokens).
template <Scalar T>
constexpr T step_token_budget(const basic_deployment<T>& d) {
  return *engine_limits_on(d.serving_engine, d.limits, d.device.dram.capacity.quantity(),
                           d.layout.tensor, d.device.architecture == chip_architecture::ampere)
              .tokens;
}

/// Engine steps in flight at once: one per data-parallel group and pipeline stage.
template <Scalar T>
constexpr T concurrent_steps(const basic_deployment<T>& d) {
  return T(d.layout.data) * T(d.layout.pipeline);
}

/// Prompt tokens that a step may take. Under mixed chunks the sequences that decode in the step
/// use one token each, at least one where any decode; a sixteenth of the budget stays for prefill.
template <Scalar T>
constexpr T prefill_budget(const basic_deployment<T>& d, const basic_service_load<T>& l,
                           const scheduling scheduler, const T& decoding) {
  if (l.chunk_tokens) return *l.chunk_tokens;
  const T tokens = step_token_budget(d);
  if (scheduler != scheduling::mixed_chunks) return tokens;
  const T per_step =
      upper(decoding) > 0.0 ? scalar_max(T(1.0), T(decoding / concurrent_steps(d))) : T();
  return scalar_max(T(tokens - per_step), T(tokens / 16.0));
}

/// Limit of the token budget on the decode batch n under mixed chunks. A sequence decodes for
/// `intervals` steps. Each step then prefills n prefills I / intervals tokens, with I the uncached
/// tokens of a prompt. n is the largest batch at which these fit into the budgets left, summed over
/// all steps in flight. With more requests in service, fewer of them decode at once.
/// Test: the simulator of tests/simulator, closed loops of three times the limit.
template <Scalar T>
constexpr T largest_decode_batch(const basic_deployment<T>& d, const basic_service_load<T>& l,
                                 const T& intervals, const T& prefills_per_request) {
  const T demand = prefills_per_request * uncached_tokens(l) / intervals;
  if (l.chunk_tokens) return *l.chunk_tokens / demand * concurrent_steps(d);
  const T tokens = step_token_budget(d);
  return scalar_max(T(tokens / (1.0 + demand)), T(tokens / (16.0 * demand))) * concurrent_steps(d);
}

/// Times of one prompt from its step with a single prefill and its full step.
template <Scalar T>
constexpr void add_prefill_times(basic_prefill_steps<T>& p, const bool mixed,
                                 const duration<T>& full) {
  const duration<T>& one = p.prefill_step_time;
  const T& steps = p.steps_per_prefill;
  const duration<T> decode = mixed ? p.decode_time : duration<T>{};
  const T pipelined = pipelined_chunk_steps(steps, p.pipeline_stages);
  p.prefill_time = pipelined * one + (p.chunks - steps) * decode;
  p.decode_stall = mixed ? pipelined * max(one - decode, duration<T>{}) : p.prefill_time;
  p.saturated_prefill_time = steps / p.prefills_per_step * full;
  if (mixed) p.decode_steps_per_prefill = steps / p.prefills_per_step;
  // At most a step of its own: where a step holds little more than one prompt, the difference may
  // be that of a whole tile.
  p.marginal_prefill_time =
      upper(p.prefills_per_step) > 1.0
          ? steps * min(one, duration<T>(max(full - one, duration<T>{}) /
                                         scalar_max(T(p.prefills_per_step - 1.0), T(1e-9))))
          : max(p.saturated_prefill_time - p.decode_steps_per_prefill * p.decode_time,
                duration<T>{});
  p.prefill_time = named("prefill", p.prefill_time);
  p.decode_stall = named("decode stall", p.decode_stall);
  p.marginal_prefill_time = named("marginal prefill", p.marginal_prefill_time);
  p.saturated_prefill_time = named("saturated prefill", p.saturated_prefill_time);
  p.prefills_per_step = named("prefills per step", p.prefills_per_step);
}

/// Step times at a decode batch of `decoding` sequences, by `time_with(iteration)`. The budget is
/// one per data-parallel group and pipeline stage. `decode_time` is the step without prefill.
/// `evaluation` names this evaluation in a derivation, where a service needs several.
template <Scalar T, class EstimateStep>
constexpr basic_prefill_steps<T> prefill_steps_of(const basic_deployment<T>& d,
                                                  const basic_service_load<T>& l,
                                                  const scheduling scheduler, const T& decoding,
                                                  const duration<T>& decode_time,
                                                  const EstimateStep& time_with,
                                                  const char* evaluation = nullptr) {
  using math::ceil;
  const T context = named("mean context", mean_context(l));
  const T uncached = uncached_tokens(l);
  const T budget = prefill_budget(d, l, scheduler, decoding);
  const T chunk = named("tokens of a chunk", scalar_min(budget, uncached));
  const bool mixed = scheduler == scheduling::mixed_chunks;
  const T decode_batch = mixed ? decoding : T(0.0);

  basic_prefill_steps<T> p;
  p.decode_time = decode_time;
  p.chunks = ceil(uncached / chunk);
  p.steps_per_prefill = uncached / chunk;
  p.pipeline_stages = d.layout.pipeline;
  p.prefills_per_step =
      scalar_max(T(budget / uncached), T(1.0)) * (p.pipeline_stages * d.layout.data);
  const T past = tokens_before_chunk(l, chunk);
  // A full step never exceeds the budget by rounding, which would cost a further tile.
  constexpr double below_budget = 1.0 - 1e-12;
  const auto iteration_of = [&](const T& prompts) {
    return basic_iteration<T>{decode_batch, context, below_budget * (prompts * chunk), past,
                              prompts};
  };
  p.prefill_iteration = iteration_of(T(1.0));
  p.prefill_step_time = named("step with one prefill", evaluation, time_with(p.prefill_iteration));
  add_prefill_times(
      p, mixed,
      named("step full of prefill", evaluation, time_with(iteration_of(p.prefills_per_step))));
  return p;
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3
