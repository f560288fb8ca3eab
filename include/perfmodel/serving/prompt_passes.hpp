// What the iterations of a service take, as its scheduler puts prompts into them.
#pragma once

#include <perfmodel/serving/load.hpp>
#include <perfmodel/step/deployment.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel {

/// Times that a service under load is made of. Where prompts are mixed with decoding, the times of
/// prompts include the decoding that their iterations do.
template <Scalar T = double>
struct basic_prefill_steps {
  duration<T> decode{};  ///< an iteration without prompts
  duration<T> alone{};   ///< all iterations of a prompt that finds no other
  duration<T> stall{};   ///< what such a prompt adds to the gaps between the tokens of others
  duration<T> next{};    ///< what one more prompt adds to iterations that have one
  duration<T> packed{};  ///< of one prompt, where many wait and every iteration is full
  T together = T(1.0);   ///< prompts that a full iteration takes
  T chunks = T(1.0);     ///< iterations of one prompt
  T steps = T(1.0);      ///< engine steps of one prompt, by its tokens over those of a chunk
  duration<T> step{};    ///< engine step with one prompt, or a chunk of it
  T decodes{};          ///< iterations of decoding that come with one prompt, full ones: 0 if apart
  double stages = 1.0;  ///< of a pipeline, which a prompt's chunks follow each other through
  basic_iteration<T> with_prefill{};  ///< the one that takes a chunk of one prompt
};
using prefill_steps = basic_prefill_steps<>;

namespace detail {

/// A prompt on its own, but for what the cache has of it.
template <Scalar T>
constexpr basic_iteration<T> unloaded_prefill(const basic_service_load<T>& l) {
  return {.prefill_tokens = computed_tokens(l), .prefill_past = l.prefix_hit * l.input_tokens};
}

/// Tokens of an iteration, by the engine's limits.
template <Scalar T>
constexpr T tokens_of_step(const basic_deployment<T>& d) {
  return *engine_limits_on(d.serving_engine, d.limits, d.device.dram.capacity.quantity(),
                           d.layout.tensor, d.device.architecture == chip_architecture::ampere)
              .tokens;
}

/// One of each data-parallel group, at each stage of a pipeline.
template <Scalar T>
constexpr T steps_at_once(const basic_deployment<T>& d) {
  return T(d.layout.data) * T(d.layout.pipeline);
}

/// Prompt tokens that an iteration may take, beside its part of `decoding` sequences (one at
/// least, where there are any: share_of).
template <Scalar T>
constexpr T prefill_budget(const basic_deployment<T>& d, const basic_service_load<T>& l,
                           const scheduling kind, const T& decoding) {
  if (l.chunk_tokens) return *l.chunk_tokens;
  const T tokens = tokens_of_step(d);
  if (kind != scheduling::mixed_chunks) return tokens;
  const T each = upper(decoding) > 0.0 ? scalar_max(T(1.0), T(decoding / steps_at_once(d))) : T();
  return scalar_max(T(tokens - each), T(tokens / 16.0));
}

/// How many decode at once, at most, mixed with chunks, however many are in service. Each takes `gaps`
/// iterations, in which the budget brings the prompts (`prompts` of them for a request) of as many others:
/// n x prompts x tokens / gaps = budget (n) of all passes at once. More only wait, and leave each other less of it.
/// Test: the simulator of tests/simulator, loops of three times as many.
template <Scalar T>
constexpr T most_decoding(const basic_deployment<T>& d, const basic_service_load<T>& l,
                          const T& gaps, const T& prompts) {
  const T each = prompts * computed_tokens(l) / gaps;
  if (l.chunk_tokens) return *l.chunk_tokens / each * steps_at_once(d);
  const T tokens = tokens_of_step(d);
  return scalar_max(T(tokens / (1.0 + each)), T(tokens / (16.0 * each))) * steps_at_once(d);
}

/// The times at `decoding` sequences, whose own iteration takes `decode`, by time_with(iteration). Each
/// data-parallel group has a budget of its own, for each stage of a pipeline. `round`: the part of a
/// derivation, where a service asks for the times more than once.
template <Scalar T, class Pass>
constexpr basic_prefill_steps<T> prefill_steps_of(const basic_deployment<T>& d,
                                                  const basic_service_load<T>& l,
                                                  const scheduling kind, const T& decoding,
                                                  const duration<T>& decode, const Pass& time_with,
                                                  const char* round = nullptr) {
  using math::ceil;
  const T context = named("mean context", mean_context(l));
  const T computed = computed_tokens(l);
  const T budget = prefill_budget(d, l, kind, decoding);
  const T chunk = named("tokens of a chunk", scalar_min(budget, computed));
  const double stages = d.layout.pipeline;
  const bool mixed = kind == scheduling::mixed_chunks;
  const T beside = mixed ? decoding : T(0.0);

  basic_prefill_steps<T> p;
  p.decode = decode;
  p.chunks = ceil(computed / chunk);
  const T past = past_of_chunk(l, chunk);
  // A full pass has all tokens that it may have: by rounding it never has more, which would be a tile.
  constexpr double no_more = 1.0 - 1e-12;
  const auto iteration_of = [&](const T& prompts) {
    return basic_iteration<T>{beside, context, no_more * (prompts * chunk), past, prompts};
  };
  p.with_prefill = iteration_of(T(1.0));
  const T full_chunks = computed / chunk;
  p.steps = full_chunks;
  const duration<T> one = named("pass with a prompt", round, time_with(p.with_prefill));
  const duration<T> cut = mixed ? p.decode : duration<T>{};
  p.step = one;
  p.stages = stages;
  const T rounds = iterations_through(full_chunks, stages);
  p.alone = rounds * one + (p.chunks - full_chunks) * cut;
  p.stall = mixed ? rounds * max(one - cut, duration<T>{}) : p.alone;
  p.together = scalar_max(T(budget / computed), T(1.0)) * (stages * d.layout.data);
  const duration<T> full =
      named("pass full of prompts", round, time_with(iteration_of(p.together)));
  p.packed = full_chunks / p.together * full;
  if (mixed) p.decodes = full_chunks / p.together;
  // At most an iteration of its own: where hardly more than one prompt fits, the difference may be a tile's.
  p.next = upper(p.together) > 1.0
               ? full_chunks * min(one, duration<T>(max(full - one, duration<T>{}) /
                                                    scalar_max(T(p.together - 1.0), T(1e-9))))
               : max(p.packed - p.decodes * p.decode, duration<T>{});
  p.alone = named("prompt", p.alone);
  p.stall = named("stall", p.stall);
  p.next = named("next prompt", p.next);
  p.packed = named("prompt among many", p.packed);
  p.together = named("prompts together", p.together);
  return p;
}

}  // namespace detail

}  // namespace perfmodel
