// Times of the engine steps of a service, for each way a scheduler combines prefill and decode.
#pragma once

#include <perfmodel/serving/load.hpp>
#include <perfmodel/step/deployment.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel::inline v0_3 {

/// Step times from which the latencies of a service follow. Under mixed chunks a step with prefill
/// also decodes, and its time includes the decoding.
template <Scalar T = double>
struct basic_prefill_steps {
  duration<T> decode_time{};   ///< engine step without prefill
  duration<T> prefill_time{};  ///< all steps of a prompt without concurrent prefills
  duration<T> decode_stall{};  ///< time that one prefill adds to concurrent decoding
  /// Time that one more prompt adds to a step with prefill.
  duration<T> marginal_prefill_time{};
  /// Time per prompt if every step is full of prefill.
  duration<T> saturated_prefill_time{};
  /// Prompts in a step full of prefill, summed over data-parallel groups and pipeline stages.
  T prefills_per_step = T(1.0);
  T chunks = T(1.0);                ///< engine steps of one prompt, a whole number
  T steps_per_prefill = T(1.0);     ///< uncached prompt tokens / tokens of a chunk, a fraction
  duration<T> prefill_step_time{};  ///< mean time of a step with one prompt, or one chunk of it
  /// Part of `prefill_time` that is proportional to the length of the prompt.
  duration<T> length_time{};
  /// Relative distance of the two prompt lengths of `prefill_step_time`; 0: one length.
  T length_range{};
  /// Engine steps per prompt if every step is full of prefill and also decodes; 0 unless chunks are
  /// mixed.
  T decode_steps_per_prefill{};
  double pipeline_stages = 1.0;
  /// Engine step with one prompt, or one chunk of it.
  basic_iteration<T> prefill_iteration{};
};
using prefill_steps = basic_prefill_steps<>;

namespace detail {

/// Engine step that prefills the uncached tokens of one prompt and decodes nothing.
template <Scalar T>
constexpr basic_iteration<T> unloaded_prefill(const basic_service_load<T>& l) {
  return {.prefill_tokens = uncached_tokens(l), .prefill_past = l.prefix_hit * l.input_tokens};
}

/// Token budget of an engine step (vLLM's max_num_batched_tokens).
template <Scalar T>
constexpr T step_token_budget(const basic_deployment<T>& d) {
  return *engine_limits_on(d.serving_engine, d.limits, d.device.dram.capacity.quantity(),
                           d.layout.tensor, d.device.architecture == chip_architecture::ampere,
                           d.release)
              .tokens;
}

/// Number of engine steps in flight at the same time: one per data-parallel group and pipeline
/// stage.
template <Scalar T>
constexpr T concurrent_steps(const basic_deployment<T>& d) {
  return T(d.layout.data) * T(d.layout.pipeline);
}

/// Token budget of an engine step: that of the load, else the deployment's or the engine's.
template <Scalar T>
constexpr T step_token_budget(const basic_deployment<T>& d, const basic_service_load<T>& l) {
  return l.chunk_tokens ? *l.chunk_tokens : step_token_budget(d);
}

/// Prompt tokens that an engine step may take. Under mixed chunks each sequence that decodes in the
/// step uses one token of the budget (at least one token if any decodes). At least a sixteenth of
/// the budget, and one token, stays for prefill.
/// Test: a load that states the engine's default has the same budget.
template <Scalar T>
constexpr T prefill_budget(const basic_deployment<T>& d, const basic_service_load<T>& l,
                           const scheduling scheduler, const T& decoding) {
  const T tokens = step_token_budget(d, l);
  if (scheduler != scheduling::mixed_chunks) return tokens;
  const T per_step =
      upper(decoding) > 0.0 ? scalar_max(T(1.0), T(decoding / concurrent_steps(d))) : T();
  return scalar_max(T(tokens - per_step), scalar_max(T(tokens / 16.0), scalar_min(tokens, T(1.0))));
}

/// Largest decode batch n that the token budget allows under mixed chunks. A sequence decodes for
/// `intervals` steps, so n sequences need n x prefills_per_request x I / intervals prefill tokens
/// per step. I is the number of uncached prompt tokens. n is the batch at which this equals the
/// budget that decoding leaves, summed over all steps in flight. If more requests are in service,
/// fewer of them decode at the same time.
/// Test: the simulator of tests/simulator, closed loops of three times this batch.
template <Scalar T>
constexpr T largest_decode_batch(const basic_deployment<T>& d, const basic_service_load<T>& l,
                                 const T& intervals, const T& prefills_per_request) {
  const T demand = prefills_per_request * uncached_tokens(l) / intervals;
  const T tokens = step_token_budget(d, l);
  return scalar_max(T(tokens / (1.0 + demand)), T(tokens / (16.0 * demand))) * concurrent_steps(d);
}

/// Sets the times of one prompt. They follow from the step with one prefill (`p.prefill_step_time`)
/// and the time `full` of a step that is full of prefill. `mixed`: steps with prefill also decode.
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
  if (!(upper(p.length_range) > 0.0)) p.length_time = p.prefill_time;
  p.prefill_time = named("prefill", p.prefill_time);
  p.decode_stall = named("decode stall", p.decode_stall);
  p.marginal_prefill_time = named("marginal prefill", p.marginal_prefill_time);
  p.saturated_prefill_time = named("saturated prefill", p.saturated_prefill_time);
  p.prefills_per_step = named("prefills per step", p.prefills_per_step);
}

/// Relative distance c of two prompt lengths I (1 + c) and I (1 - c) from their mean:
/// c = cv / sqrt(1 + cv^2), at most what leaves the longer one in one step, in an idle engine as
/// with one sequence that decodes. 0: one length.
template <Scalar T>
constexpr T length_range(const basic_deployment<T>& d, const basic_service_load<T>& l,
                         const scheduling scheduler, const T& decoding) {
  using math::sqrt;
  const T& cv = l.input_cv;
  if (!(upper(cv) > 0.0)) return T(0.0);
  const T budget = prefill_budget(d, l, scheduler, scalar_max(decoding, T(1e-9)));
  const T c = scalar_min(T(cv / sqrt(T(1.0 + cv * cv))), T(budget / uncached_tokens(l) - 1.0));
  constexpr double least = 1e-3;  // a smaller distance leaves no difference to divide by it
  return lower(c) > least ? c : T(0.0);
}

/// Further context tokens before a random prompt token, since long prompts have more of the tokens:
/// I (cv^2 - c^2) / 2, where c is the part of the variation that two prompt lengths have.
template <Scalar T>
constexpr T past_of_long_lengths(const basic_service_load<T>& l, const T& range) {
  return 0.5 * l.input_tokens * scalar_max(T(l.input_cv * l.input_cv - range * range), T(0.0));
}

/// Engine step with one prompt of `factor` times the mean length. Tokens that fill a tile exactly,
/// or but for a share of a sequence that decodes, need no further one.
template <Scalar T>
constexpr basic_iteration<T> prefill_at_length(const basic_prefill_steps<T>& p, const T& factor) {
  constexpr double whole = 1.0 - 1e-6;
  basic_iteration<T> i = p.prefill_iteration;
  i.prefill_tokens = scalar_max(T(whole * (factor * i.prefill_tokens)), i.prefill_sequences);
  return i;
}

/// Sets the mean time of a step with one prompt, or one chunk of it. Step times are discontinuous
/// in the tokens (tiles), so the mean over prompt lengths is that of two lengths at the distance
/// `length_range` from their mean; the difference is the part proportional to the length:
///   t = (t(I (1 - c)) + t(I (1 + c))) / 2,    length part = (t(I (1 + c)) - t(I (1 - c))) / (2 c)
/// Source: Rosenblueth, "Point estimates for probability moments", PNAS 72(10), 1975.
/// Leaves out: the skewness of lengths; steps full of prefill, and chunks, of the mean length.
/// Test: tests/unit/service_by_hand.cpp, the mean square of a length.
template <Scalar T, class EstimateStep>
constexpr void add_step_of_one_prompt(basic_prefill_steps<T>& p, const EstimateStep& time_with,
                                      const char* evaluation) {
  const T& c = p.length_range;
  if (!(upper(c) > 0.0)) {
    p.prefill_step_time =
        named("step with one prefill", evaluation, time_with(p.prefill_iteration));
    return;
  }
  const duration<T> low =
      named("step with a short prompt", evaluation, time_with(prefill_at_length(p, T(1.0 - c))));
  const duration<T> high =
      named("step with a long prompt", evaluation, time_with(prefill_at_length(p, T(1.0 + c))));
  p.prefill_step_time = named("step with one prefill", evaluation, 0.5 * (low + high));
  p.length_time =
      min(max(duration<T>((high - low) / (2.0 * c)), duration<T>{}), p.prefill_step_time);
}

/// Step times at a decode batch of `decoding` sequences; time_with(iteration) returns the time of a
/// step with prefill. `decode_time` is the time of the step without prefill. Each data-parallel
/// group and pipeline stage has a token budget of its own. `evaluation` labels the recorded
/// formulas, for a service that evaluates this function more than once.
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
  // A share of a sequence that decodes is no further chunk.
  constexpr double whole = 1.0 - 1e-6;
  p.chunks = ceil(T(whole * (uncached / chunk)));
  p.steps_per_prefill = uncached / chunk;
  p.pipeline_stages = d.layout.pipeline;
  p.prefills_per_step =
      scalar_max(T(budget / uncached), T(1.0)) * (p.pipeline_stages * d.layout.data);
  // The prompts of a static batch start together, in a closed loop all of them.
  if (scheduler == scheduling::static_batches && l.is_closed())
    p.prefills_per_step = scalar_max(T(1.0), scalar_min(p.prefills_per_step, decoding));
  p.length_range = length_range(d, l, scheduler, decoding);
  const T past = tokens_before_chunk(l, chunk) + past_of_long_lengths(l, p.length_range);
  // A full step never exceeds the budget by rounding, which would cost a further tile.
  constexpr double below_budget = 1.0 - 1e-12;
  const auto iteration_of = [&](const T& prompts) {
    const T tokens = scalar_max(T(below_budget * (prompts * chunk)), prompts);
    return basic_iteration<T>{decode_batch, context, tokens, past, prompts};
  };
  p.prefill_iteration = iteration_of(T(1.0));
  add_step_of_one_prompt(p, time_with, evaluation);
  add_prefill_times(
      p, mixed,
      named("step full of prefill", evaluation, time_with(iteration_of(p.prefills_per_step))));
  return p;
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3
