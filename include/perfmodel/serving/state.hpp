// What a scheduler makes of a load: the flow of a service, and how its latencies are distributed.
#pragma once

#include <optional>
#include <perfmodel/serving/latency_distribution.hpp>
#include <perfmodel/serving/prefix_cache.hpp>
#include <perfmodel/serving/prompt_passes.hpp>

namespace perfmodel {

/// What the mean time to the first token is made of, beside the prompt itself (basic_prefill_steps::alone).
/// Test: together with it the mean of `first_token`, but for the first wave of a run.
template <Scalar T = double>
struct basic_first_token_terms {
  duration<T> host{};     ///< of the request
  duration<T> joining{};  ///< iterations that it lets go by, or what is left of the one it finds
  T iterations{};         ///< how many of them
  T beside{};             ///< prompts that come with it
  duration<T> behind{};   ///< other prompts
  duration<T> place{};    ///< until a sequence ends
  duration<T> fetch{};    ///< of a prefix that the host has
  T queued{};             ///< share of requests with an admission delay (`place`)
};
using first_token_terms = basic_first_token_terms<>;

/// A service in its steady state, or over a run. Latencies are what a client sees.
template <Scalar T = double>
struct basic_service_state {
  T batch{};  ///< sequences that decode at once, mean
  request_rate<T> throughput{};
  duration<T> wait{};  ///< for a place in the batch, and behind other prompts
  basic_latency_distribution<T> first_token{};
  basic_latency_distribution<T>
      gap{};  ///< between tokens of a request, the stalls of prompts included
  basic_first_token_terms<T> first{};
};
using service_state = basic_service_state<>;

/// What of a service its flow asks for beside the times of its iterations.
template <Scalar T = double>
struct basic_service_terms {
  scheduling kind = scheduling::mixed_chunks;
  T output_tokens = T(1.0);
  T output_cv{};
  T input_cv{};
  duration<T> request_cpu_time{};  ///< of a request, outside the engine's iterations
  T request_iterations{};          ///< that a request lets go by before it can join one
  T send_iterations{};      ///< of these, those of its own answer before its first tokens are sent
  T prompt_time = T(1.0);   ///< of an iteration with prompts, times that of its kernels
  duration<T> run_start{};  ///< that the first wave of a run waits for beside its prompts
  T room = T(1.0);          ///< sequences that are admitted at once
  std::optional<T> prompts{};  ///< computed for a request, where evictions make it more than one

  constexpr T gaps() const { return scalar_max(T(output_tokens - 1.0), T(1.0)); }
  /// After the tokens that are sent first.
  constexpr T later_intervals() const {
    return scalar_max(T(output_tokens - 1.0 - send_iterations), T(0.0));
  }
};
using service_terms = basic_service_terms<>;

namespace detail {

/// 1 - exp(-mean): that a Poisson number is not 0.
template <Scalar T>
constexpr T any_of(const T& mean) {
  using math::exp;
  return 1.0 - exp(T(-mean));
}

/// Where a latency begins and how long its exponential tail is, when `own` of it varies with the length
/// of a prompt: as a shifted exponential of that standard deviation.
template <Scalar T>
constexpr basic_latency_part<T> with_length(const T& weight, const duration<T>& from,
                                            const duration<T>& own, const duration<T>& tail,
                                            const T& cv) {
  const duration<T> varies = scalar_min(cv, T(1.0)) * own;
  return {weight, from - varies, {}, tail + varies};
}

/// Inter-token latencies of a pipeline of p stages that prefills first. It has p micro-batches in
/// flight, each with a p-th of the running requests, and each prefills or decodes in a step of its
/// own. Stages hand on at the pace of the slowest micro-batch, so that any prefill in flight slows
/// the decoding of the others to its pace. Between two of its decode steps of time D a
/// micro-batch has n prefill steps, f = n / (1 + n) of its steps, if prefills come at random:
/// ITL = D + (1 - (1 - f)^(p-1)) (F - D) + n S, S a prefill step and F the longer of S and D.
/// Source: SGLang 0.5, managers/scheduler_pp_mixin.py (a running batch for each micro-batch,
/// scheduled in turn).
/// Leaves out: chunks of one prompt in several micro-batches at once; micro-batches of unequal
/// size.
/// Test: the simulator of tests/simulator, 2 and 4 stages (tests/property/saturated_prefill.cpp).
template <Scalar T>
constexpr basic_latency_distribution<T> pipelined_itl(const basic_service_terms<T>& s,
                                                      const basic_prefill_steps<T>& p,
                                                      const T& prompts) {
  const T own = prompts / p.stages;
  const T most = scalar_max(T(p.together / p.stages), T(1.0));  // prompts that a step takes
  const T batches = scalar_max(scalar_max(any_of(own), T(own / most)), T(1e-12));
  const duration<T> full = p.together / p.steps * p.packed;
  const duration<T> further =
      min(p.step, duration<T>(max(duration<T>(full - p.step), duration<T>{}) /
                              scalar_max(T(most - 1.0), T(1e-9))));
  const T each = scalar_max(scalar_min(T(own / batches), most), T(1.0));  // prompts of a step
  const duration<T> step =
      named("prefill step", max(p.step + (each - 1.0) * further, each / most * full));
  const T n = named("prefill steps between two decode steps", batches * p.steps);
  T alone = T(1.0);
  for (double i = 1.0; i < p.stages; i += 1.0) alone = alone / (1.0 + n);
  const duration<T> slowed = max(step, p.decode);
  const T stalls = named("share of gaps with prompts", scalar_min(batches, T(1.0)));
  const duration<T> prefill = p.steps * step + max(duration<T>(p.stall - p.alone), duration<T>{});
  basic_latency_distribution<T> gap;
  gap.add({(1.0 - stalls) * alone, p.decode});
  gap.add({(1.0 - stalls) * (1.0 - alone), slowed});
  const duration<T> decode = alone * p.decode + (1.0 - alone) * slowed;
  gap.add(with_length(stalls, decode + prefill, prefill,
                      scalar_max(T(batches - 1.0), T(0.0)) * prefill, s.input_cv));
  return gap;
}

/// The gaps between tokens where, on average, `prompts` begin in each: without a prompt, or with one,
/// and behind it those that come with it. By chance 1 - exp(-prompts) have any; no gap has more than a full iteration
/// takes, so that it is prompts / together at least. The mean is then one of decoding, of one prompt's iteration and of
/// a full one, each with a weight that is not below 0: none of the three can take longer and the mean less.
/// A prompt in chunks stalls a gap with each full one, or, of p stages, as many as it takes to go through them,
/// (chunks + p - 1) / p. Prefill first takes all prompts that wait, in as many iterations as they
/// need: n of them never take less than n saturated prefill times. Tests: the schedule of two
/// stages, stage by stage; tests/property/order_serving.cpp; tests/property/saturated_prefill.cpp.
template <Scalar T>
constexpr basic_latency_distribution<T> itl_of(const basic_service_terms<T>& s,
                                               const basic_prefill_steps<T>& p, const T& prompts) {
  if (s.kind == scheduling::prefill_first && p.stages > 1.0 && upper(prompts) > 0.0)
    return pipelined_itl(s, p, prompts);
  basic_latency_distribution<T> gap;
  const bool chunked = s.kind == scheduling::mixed_chunks && upper(p.chunks) > 1.0;
  const T rounds = iterations_through(T(p.decodes * p.together), p.stages);
  const T any = chunked ? T(prompts * rounds)
                        : scalar_max(any_of(prompts), T(prompts / scalar_max(p.together, T(1.0))));
  const T stalls = named("share of gaps with prompts", scalar_min(any, T(1.0)));
  gap.add({1.0 - stalls, p.decode});
  if (!(upper(stalls) > 0.0)) return gap;
  const T some = scalar_max(stalls, T(1e-12));
  if (chunked) {
    // In a pipeline that is full the next prompt follows: it does not fill the stages anew.
    const T each = p.stages > 1.0 ? T(1.0 / rounds) : T(prompts / some);
    gap.add(with_length(stalls, p.decode + each * p.stall, {}, {}, s.input_cv));
  } else {
    duration<T> more = scalar_max(T(prompts - stalls), T(0.0)) / some * p.next;
    if (s.kind == scheduling::prefill_first) more = max(more, prompts / some * p.packed - p.alone);
    gap.add(with_length(stalls, p.decode + p.stall, p.stall, more, s.input_cv));
  }
  return gap;
}

/// What is left of the iteration that somebody finds who comes at any time; none of an engine that is idle.
template <Scalar T>
constexpr duration<T> rest_of_iteration(const basic_service_terms<T>& s,
                                        const basic_prefill_steps<T>& p,
                                        const basic_service_state<T>& state,
                                        const duration<T>& mean_itl) {
  const bool mixed = s.kind == scheduling::mixed_chunks;
  const duration<T> spread = mixed ? state.gap.deviation() : duration<T>{};
  const duration<T> found = mixed ? mean_itl : p.decode;
  return 0.5 * any_of(state.batch) *
         (found + duration<T>::from_value(spread.value() * spread.value() / found.value()));
}

/// What a prompt waits for `others` that come with it, those before it on average: half of them, and
/// of those in the same iteration the rest too.
template <Scalar T>
constexpr duration<T> behind(const basic_prefill_steps<T>& p, const T& others) {
  return 0.5 * others * p.packed + 0.5 * scalar_min(others, T(p.together - 1.0)) * p.next;
}

}  // namespace detail

}  // namespace perfmodel

// What of a service fits: whether one request does, and how many at once.

namespace perfmodel::detail {

template <Scalar T>
struct service_memory {
  basic_memory_budget<T> budget{};
  T sequences{};  ///< of `longest` tokens, at once
  feasibility feasible{};
};

/// Of requests that grow to `longest` tokens. What they share is held once.
template <Scalar T>
constexpr service_memory<T> service_memory_of(const basic_deployment<T>& d,
                                              const basic_service_load<T>& l, const T& longest) {
  service_memory<T> m{.budget = budget_of(d), .feasible = group_fits(d)};
  if (m.feasible) {
    m.feasible = memory_fits(m.budget, cache_on_device(d, T(d.layout.data), longest));
  }
  const basic_kv_capacity<T> capacity = capacity_sharing(d, m.budget, l.shared, longest, T(16.0));
  if (m.feasible && !capacity.feasible) m.feasible = capacity.feasible;
  m.sequences = capacity.sequences;
  return m;
}

/// Of `room` sequences those that are let in at once: no more than the load's batch_limit, and than the engine
/// was started for, in each data-parallel group. SGLang's limit is of its graphs, and lets in more.
template <Scalar T>
constexpr T admitted_sequences(const basic_deployment<T>& d, const basic_service_load<T>& l,
                               T room) {
  if (l.batch_limit) room = scalar_min(room, *l.batch_limit);
  if (d.limits.sequences && d.serving_engine != engine::sglang)
    room = scalar_min(room, T(*d.limits.sequences * T(d.layout.data)));
  return room;
}

}  // namespace perfmodel::detail
