// State of a service under load: throughput, decode batch, and distributions of TTFT and ITL.
#pragma once

#include <optional>
#include <perfmodel/laws/queueing.hpp>
#include <perfmodel/serving/latency_distribution.hpp>
#include <perfmodel/serving/prefill_steps.hpp>
#include <perfmodel/serving/prefix_cache.hpp>

namespace perfmodel::inline v0_3 {

/// Breakdown of the mean time to first token. The prefill itself is not in it
/// (basic_prefill_steps::prefill_time).
/// Test: these terms and the prefill add up to the mean TTFT, except in the initial burst of a run.
template <Scalar T = double>
struct basic_ttft_terms {
  duration<T> frontend_time{};     ///< CPU time per request, outside engine steps
  duration<T> scheduling_delay{};  ///< engine steps before the request joins one
  T scheduling_steps{};            ///< number of engine steps in `scheduling_delay`
  T coscheduled_prefills{};        ///< other prefills in the same step
  duration<T> prefill_queueing{};  ///< queueing behind the prefills of other requests
  duration<T> admission_delay{};   ///< queueing for KV memory or a batch slot
  duration<T> kv_fetch{};          ///< fetch of a cached prefix from host memory, with queueing
  T queued{};                      ///< share of requests with an admission delay
};
using ttft_terms = basic_ttft_terms<>;

/// State of a service, in steady state or averaged over a run. Latencies are those that a client
/// sees.
template <Scalar T = double>
struct basic_service_state {
  T batch{};  ///< mean number of decoding sequences
  request_rate<T> throughput{};
  duration<T> wait{};                    ///< mean admission delay and prefill queueing
  basic_latency_distribution<T> ttft{};  ///< time to first token
  basic_latency_distribution<T> itl{};   ///< inter-token latency, prefill interference included
  basic_ttft_terms<T> ttft_terms{};
};
using service_state = basic_service_state<>;

/// Parameters of a service other than its step times, from the load and the policy of the engine.
template <Scalar T = double>
struct basic_service_terms {
  scheduling scheduler = scheduling::mixed_chunks;
  T output_tokens = T(1.0);
  T output_cv{};
  T input_cv{};
  duration<T> request_cpu_time{};  ///< CPU time per request, outside engine steps
  T scheduling_steps{};            ///< engine steps before a request joins one
  /// Decode steps before the first streamed message; part of `scheduling_steps`.
  T stream_steps{};
  T collecting_steps = T(1.0);              ///< steps between two prefill steps, at least
  T prefill_slowdown = T(1.0);              ///< time of a step with prefill / time of its kernels
  T pool_iterations{};                      ///< decode steps of a request between both pools
  duration<T> startup_time{};               ///< delay of the initial burst of a run
  duration<T> compile_time{};               ///< compilation of GEMMs with fp8 blocks
  T max_running = T(1.0);                   ///< maximum number of running requests
  std::optional<T> prefills_per_request{};  ///< above 1 if preempted requests recompute
  duration<T> full_itl{};  ///< ITL with all batch slots taken, of an open loop; 0 if not known

  /// Number of inter-token intervals of an output, at least 1.
  constexpr T intervals() const { return scalar_max(T(output_tokens - 1.0), T(1.0)); }
  /// Number of inter-token intervals after the first streamed message. The decode steps before it
  /// are part of TTFT.
  constexpr T intervals_after_ttft() const {
    return scalar_max(T(output_tokens - 1.0 - stream_steps), T(0.0));
  }
};
using service_terms = basic_service_terms<>;

namespace detail {

/// Whether prompts share engine steps: those that arrive in one step are prefilled in the next.
template <Scalar T>
constexpr bool shares_steps(const basic_service_terms<T>& s, const basic_prefill_steps<T>& p) {
  return s.scheduler != scheduling::static_batches && upper(p.prefills_per_step) > 1.0 &&
         !(upper(p.chunks) > 1.0) && p.pipeline_stages == 1.0;
}

/// Whether data-parallel groups run chunks of several prompts at the same time.
template <Scalar T>
constexpr bool runs_chunks_in_groups(const basic_service_terms<T>& s,
                                     const basic_prefill_steps<T>& p) {
  return s.scheduler == scheduling::mixed_chunks && upper(p.chunks) > 1.0 &&
         p.pipeline_stages == 1.0 && upper(p.prefills_per_step) > 1.0;
}

/// Probability that a Poisson count with this mean is not 0: 1 - exp(-mean).
template <Scalar T>
constexpr T any_of(const T& mean) {
  using math::exp;
  return 1.0 - exp(T(-mean));
}

/// Probability that any of n groups is busy, if k are on average: 1 - (1 - k / n)^n.
template <Scalar T>
constexpr T any_of_groups(const T& k, const T& n) {
  using math::exp;
  using math::log;
  const T idle = scalar_max(T(1.0 - k / n), T(1e-12));
  return 1.0 - exp(T(n * log(idle)));
}

/// Latency part `from` that includes a term `own` proportional to the length of a prompt. `cv` is
/// the coefficient of variation of that length. The variation is modelled as a shifted exponential
/// with the standard deviation min(cv, 1) own.
template <Scalar T>
constexpr basic_latency_part<T> with_length(const T& weight, const duration<T>& from,
                                            const duration<T>& own, const duration<T>& tail,
                                            const T& cv) {
  const duration<T> deviation = scalar_min(cv, T(1.0)) * own;
  return {weight, from - deviation, {}, tail + deviation};
}

/// Inter-token latency in a pipeline of p stages under prefill-first scheduling. p micro-batches
/// are in flight, each with 1 / p of the running requests. In each step a micro-batch either
/// prefills or decodes. All stages run at the pace of the slowest micro-batch, so one that prefills
/// slows the others.
///   ITL = D + (1 - (1 - f)^(p-1)) (F - D) + n S
/// D is the time of a decode step, S that of a prefill step, F the larger of both. n is the mean
/// number of prefill steps of a micro-batch between two of its decode steps. f = n / (1 + n) is the
/// share of prefill steps, which are assumed to occur at random.
/// Source: SGLang 0.5, managers/scheduler_pp_mixin.py (one running batch per micro-batch, scheduled
/// in turn).
/// Leaves out: chunks of one prompt in several micro-batches at the same time; micro-batches of
/// unequal size.
/// Test: the simulator of tests/simulator, 2 and 4 stages (tests/property/saturated_prefill.cpp).
template <Scalar T>
constexpr basic_latency_distribution<T> pipelined_itl(const basic_service_terms<T>& s,
                                                      const basic_prefill_steps<T>& p,
                                                      const T& prefills_per_interval) {
  const T own = prefills_per_interval / p.pipeline_stages;
  const T most = scalar_max(T(p.prefills_per_step / p.pipeline_stages), T(1.0));
  const T batches = scalar_max(scalar_max(any_of(own), T(own / most)), T(1e-12));
  const duration<T> full = p.prefills_per_step / p.steps_per_prefill * p.saturated_prefill_time;
  const duration<T> further = min(
      p.prefill_step_time, duration<T>(max(duration<T>(full - p.prefill_step_time), duration<T>{}) /
                                       scalar_max(T(most - 1.0), T(1e-9))));
  const T prefills = scalar_max(scalar_min(T(own / batches), most), T(1.0));  // of one step
  const duration<T> step =
      named("prefill step",
            max(p.prefill_step_time + (prefills - 1.0) * further, prefills / most * full));
  const T n = named("prefill steps between two decode steps", batches * p.steps_per_prefill);
  T all_decode = T(1.0);  // probability that the other micro-batches decode
  for (double i = 1.0; i < p.pipeline_stages; i += 1.0) all_decode = all_decode / (1.0 + n);
  const duration<T> slowed = max(step, p.decode_time);
  const T stalled = named("share of intervals with prefill", scalar_min(batches, T(1.0)));
  const duration<T> prefill =
      p.steps_per_prefill * step + max(duration<T>(p.decode_stall - p.prefill_time), duration<T>{});
  basic_latency_distribution<T> itl;
  itl.add({(1.0 - stalled) * all_decode, p.decode_time});
  itl.add({(1.0 - stalled) * (1.0 - all_decode), slowed});
  const duration<T> decode = all_decode * p.decode_time + (1.0 - all_decode) * slowed;
  itl.add(with_length(stalled, decode + prefill, prefill,
                      scalar_max(T(batches - 1.0), T(0.0)) * prefill, s.input_cv));
  return itl;
}

/// Distribution of the inter-token latency if on average m prefills (`prefills_per_interval`) start
/// in an interval.
///   share of intervals with prefill  q = max((1 - exp(-w m)) / w, m / prefills per step)
///   mean                             ITL = D + q S + (m - q) M
/// D is the time of a decode step, S the decode stall of one prefill, M the marginal prefill time.
/// w is the number of steps for which the scheduler collects prompts before it prefills them.
/// All coefficients are at least 0, so a slower step never lowers the mean. A prompt in c chunks
/// delays c intervals, or (c + p - 1) / p of them in a pipeline of p stages. A prefill-first
/// scheduler runs all waiting prompts, so m prompts take at least m saturated prefill times.
/// Tests: the schedule of two stages, step by step; tests/property/order_serving.cpp;
/// tests/property/saturated_prefill.cpp.
template <Scalar T>
constexpr basic_latency_distribution<T> itl_of(const basic_service_terms<T>& s,
                                               const basic_prefill_steps<T>& p,
                                               const T& prefills_per_interval) {
  const T& m = prefills_per_interval;
  if (s.scheduler == scheduling::prefill_first && p.pipeline_stages > 1.0 && upper(m) > 0.0)
    return pipelined_itl(s, p, m);
  basic_latency_distribution<T> itl;
  const bool chunked = s.scheduler == scheduling::mixed_chunks && upper(p.chunks) > 1.0;
  const T chunk_steps =
      pipelined_chunk_steps(T(p.decode_steps_per_prefill * p.prefills_per_step), p.pipeline_stages);
  const T any = chunked ? T(m * chunk_steps)
                        : scalar_max(T(any_of(T(s.collecting_steps * m)) / s.collecting_steps),
                                     T(m / scalar_max(p.prefills_per_step, T(1.0))));
  const bool in_groups = runs_chunks_in_groups(s, p);
  const T stalled =
      named("share of intervals with prefill",
            in_groups ? any_of_groups(any, p.prefills_per_step) : scalar_min(any, T(1.0)));
  itl.add({1.0 - stalled, p.decode_time});
  if (!(upper(stalled) > 0.0)) return itl;
  const T some = scalar_max(stalled, T(1e-12));
  if (chunked) {
    // In a full pipeline the next prompt follows at once and does not fill the stages anew.
    const T share = p.pipeline_stages > 1.0 ? T(1.0 / chunk_steps) : T(m / some);
    duration<T> stall = share * p.decode_stall;
    if (in_groups) {
      stall = (p.decode_stall + scalar_max(T(any / some - 1.0), T(0.0)) * p.marginal_prefill_time) /
              chunk_steps;
    }
    itl.add(with_length(stalled, p.decode_time + stall, {}, {}, s.input_cv));
  } else {
    duration<T> more = scalar_max(T(m - stalled), T(0.0)) / some * p.marginal_prefill_time;
    if (s.scheduler == scheduling::prefill_first)
      more = max(more, m / some * p.saturated_prefill_time - p.prefill_time);
    itl.add(with_length(stalled, p.decode_time + p.decode_stall, p.decode_stall, more, s.input_cv));
  }
  return itl;
}

/// Mean residual time of the engine step during which a random request arrives: E[X^2] / (2 E[X]) x
/// the probability that the engine is busy. X is the time of a step. In a pipeline of p stages the
/// request waits for the first stage, which each of p micro-batches takes for X / p.
template <Scalar T>
constexpr duration<T> residual_step_time(const basic_service_terms<T>& s,
                                         const basic_prefill_steps<T>& p,
                                         const basic_service_state<T>& state,
                                         const duration<T>& mean_itl) {
  const bool mixed = s.scheduler == scheduling::mixed_chunks;
  const duration<T> deviation = mixed ? state.itl.deviation() : duration<T>{};
  const duration<T> mean = mixed ? mean_itl : p.decode_time;
  const double stages = p.pipeline_stages;
  return any_of(T(state.batch / stages)) / stages * mean_residual_time(mean, deviation);
}

/// Mean queueing of a prompt that arrives at the same instant as n others. It is half the saturated
/// prefill time of the n others. Each other prompt in the same step adds half a marginal prefill
/// time.
template <Scalar T>
constexpr duration<T> coscheduled_prefill_delay(const basic_prefill_steps<T>& p, const T& n) {
  return 0.5 * n * p.saturated_prefill_time +
         0.5 * scalar_min(n, T(p.prefills_per_step - 1.0)) * p.marginal_prefill_time;
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3

// KV-cache capacity of a service, and the sequences that it admits.

namespace perfmodel::inline v0_3::detail {

/// Memory of a service: the budget, and the sequences that fit in it.
template <Scalar T>
struct service_memory {
  basic_memory_budget<T> budget{};
  /// Number of sequences of the longest context that fit.
  T sequences{};
  feasibility feasible{};
};

/// Memory of a service in which sequences grow to `longest` tokens. Each data-parallel group stores
/// a shared prefix once.
template <Scalar T>
constexpr service_memory<T> service_memory_of(const basic_deployment<T>& d,
                                              const basic_service_load<T>& l, const T& longest,
                                              const basic_memory_budget<T>& budget,
                                              const feasibility& group) {
  service_memory<T> m{.budget = budget, .feasible = group};
  if (m.feasible) {
    m.feasible = memory_fits(m.budget, cache_on_device(d, T(d.layout.data), longest));
  }
  const basic_kv_capacity<T> capacity =
      shared_prefix_capacity(d, m.budget, l.shared, longest, T(16.0));
  if (m.feasible && !capacity.feasible) m.feasible = capacity.feasible;
  m.sequences = capacity.sequences;
  return m;
}
template <Scalar T>
constexpr service_memory<T> service_memory_of(const basic_deployment<T>& d,
                                              const basic_service_load<T>& l, const T& longest) {
  return service_memory_of(d, l, longest, budget_of(d), group_fits(d));
}

/// Maximum number of running requests. It is the least of `capacity` (the sequences that fit), the
/// load's batch_limit, and the engine's limit (max_num_seqs) summed over the data-parallel groups.
/// SGLang's limit does not count: it is the largest captured graph and does not restrict admission.
template <Scalar T>
constexpr T admitted_sequences(const basic_deployment<T>& d, const basic_service_load<T>& l,
                               T capacity) {
  if (l.batch_limit) capacity = scalar_min(capacity, *l.batch_limit);
  if (d.limits.sequences && d.serving_engine != engine::sglang)
    capacity = scalar_min(capacity, T(*d.limits.sequences * T(d.layout.data)));
  return capacity;
}

}  // namespace perfmodel::inline v0_3::detail
