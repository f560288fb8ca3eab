// Open loop of prompts that share engine steps: those that arrive in one step run in the next.
#pragma once

#include <optional>
#include <perfmodel/serving/state.hpp>

namespace perfmodel::inline v0_3::detail {

/// Length of the engine step in progress when a request arrives, 0 without one: mean and mean
/// square, over all arrivals.
template <Scalar T>
struct step_in_progress {
  duration<T> mean{};
  T square{};  ///< in s^2

  /// Adds steps of mean length L that have `share` of the time, and E[L^2] / E[L] = `seen`. As for
  /// a gamma distribution E[L^3] / E[L] is seen (2 seen - L).
  constexpr void add(const T& share, const duration<T>& length, const duration<T>& seen) {
    mean += share * seen;
    square += share * seen.value() * (2.0 * seen.value() - length.value());
  }
};

/// Interval between two decode steps of a prefill-first scheduler at arrival rate lambda. The
/// engine prefills until no prompt waits; the prompts that arrive during a prefill step form the
/// next one.
/// With g prefill steps in an interval, of k prompts each:
///   ITL = D + g (P - M) + lambda ITL M      all prompts that arrive are prefilled
///   g   = (1 - exp(-lambda D)) exp(lambda (P - M) + k (1 - exp(-lambda M))),   k = lambda ITL / g
/// D is the time of a decode step, P that of a prefill, M its marginal time. During a step with a
/// Poisson number of prompts (mean k), no prompt arrives with probability 1 / exp(...).
/// u = lambda D / g solves u exp(b u) = constant, by Newton's method for Lambert's W.
/// Exact where prompts do not share a step (M = P: the busy period of M/G/1) and where a step costs
/// the same for any number of them (M = 0).
/// Test: both limits; the simulation, tests/simulator/closed_forms.cpp.
template <Scalar T>
struct prefill_first_interval {
  T marginal{};       ///< lambda M
  T prefill_steps{};  ///< g
  duration<T> mean{};
  duration<T> prefill_step{};  ///< mean prefill step, at most a full one

  constexpr prefill_first_interval(const basic_service_terms<T>& s, const basic_prefill_steps<T>& p,
                                   const request_rate<T>& rate) {
    using math::exp;
    using math::log;
    const duration<T> shared = max(p.prefill_time - p.marginal_prefill_time, duration<T>{});
    marginal = scalar_min(T(rate * p.marginal_prefill_time / request), T(1.0 - 1e-6));
    const T decode = scalar_max(T(rate * p.decode_time / request), T(1e-12));
    const T b = any_of(marginal) / (1.0 - marginal);
    const T scale = decode / any_of(decode) * exp(T(-1.0 * T(rate * shared / request) * (1.0 + b)));
    const T z = b * scale;
    T w = log(T(1.0 + z));
    for (int i = 0; i < 4; ++i) w = (w * w + z * exp(T(-w))) / (w + 1.0);
    prefill_steps = decode / scalar_max(T(scale * exp(T(-w))), T(1e-30));
    mean = (p.decode_time + prefill_steps * shared) / (1.0 - marginal);
    const duration<T> full = p.prefills_per_step * p.saturated_prefill_time;
    const T steps = scalar_max(prefill_steps, T(1e-12));
    prefill_step = max(p.prefill_time, min(full, duration<T>((mean - p.decode_time) / steps)));
    // With all batch slots taken no prompt is admitted, and the engine decodes.
    if (upper(s.full_itl.value()) > 0.0) mean = max(p.decode_time, min(mean, s.full_itl));
    prefill_steps = scalar_min(prefill_steps, T((mean - p.decode_time) /
                                                max(p.prefill_time, duration<T>(1e-12 * second))));
  }

  /// Mean time of the prefills that follow where k prompts wait, given that any do:
  /// (g' (P - M) + k M) / (1 - lambda M), with g' steps in the ratio of those that wait.
  constexpr duration<T> after(const basic_prefill_steps<T>& p, const T& waiting, const T& any,
                              const T& stalled) const {
    const duration<T> shared = max(p.prefill_time - p.marginal_prefill_time, duration<T>{});
    return (prefill_steps / stalled * shared + waiting / any * p.marginal_prefill_time) /
           (1.0 - marginal);
  }

  /// Step in progress when a request arrives. A prefill step takes all prompts that arrived in the
  /// step before it, so with the shares d and f of time for decode and prefill steps
  ///   E = F + u (F + v M + lambda M (d D + f E)),    d D + f E in all,
  /// F = P - M, u the share of a prefill step beyond F, v = Ca^2 + cv_I^2, E at most a full step.
  constexpr step_in_progress<T> seen(const basic_service_terms<T>& s,
                                     const basic_prefill_steps<T>& p,
                                     const basic_open_loop<T>& arrivals) const {
    const duration<T> shared = max(p.prefill_time - p.marginal_prefill_time, duration<T>{});
    const T decoders =
        arrivals.rate * mean / request * scalar_max(T(s.output_tokens - 1.0), T(0.0));
    const T decoding = any_of(decoders) * (p.decode_time / mean);
    const T prefilling = (mean - p.decode_time) / mean;
    const T beyond = 1.0 - shared / prefill_step;
    const T variation = arrivals.cv * arrivals.cv + s.input_cv * s.input_cv;
    const duration<T> full = max(prefill_step, p.prefills_per_step * p.saturated_prefill_time);
    const duration<T> prefill = (shared + beyond * (shared + variation * p.marginal_prefill_time +
                                                    marginal * (decoding * p.decode_time))) /
                                (1.0 - beyond * marginal * prefilling);
    step_in_progress<T> in_progress;
    in_progress.add(decoding, p.decode_time, p.decode_time);
    // Queueing for a server has the rest of the prompt in service.
    in_progress.add(prefilling * (1.0 - 1.0 / p.prefills_per_step), prefill_step,
                    min(full, max(prefill_step, prefill)));
    return in_progress;
  }
};

/// Mean number m of prefills that start between two engine steps at arrival rate lambda:
/// m = lambda (D + q S + (m - q) M) with q = 1 - exp(-m), as in itl_of, by Newton's method from the
/// value for q = 1. A prompt in chunks adds its stall to as many steps:
/// m = lambda D / (1 - lambda S).
/// At most what full steps can take.
/// Test: the equation itself; the simulation, tests/simulator/closed_forms.cpp.
template <Scalar T>
constexpr T arrivals_between_steps(const basic_service_terms<T>& s, const basic_prefill_steps<T>& p,
                                   const request_rate<T>& rate) {
  using math::exp;
  const auto within = [&](const duration<T>& time) { return T(rate * time / request); };
  const T decode = within(p.decode_time), stall = within(p.decode_stall);
  constexpr double below_one = 1.0 - 1e-6;
  if (s.scheduler == scheduling::mixed_chunks && upper(p.chunks) > 1.0) {
    const T steps = pipelined_chunk_steps(T(p.decode_steps_per_prefill * p.prefills_per_step),
                                          p.pipeline_stages);
    return scalar_min(T(decode / (1.0 - scalar_min(stall, T(below_one)))), T(1.0 / steps));
  }
  const T further = scalar_min(within(p.marginal_prefill_time), T(below_one));
  const T first = stall - further;
  T m = (decode + scalar_max(first, T(0.0))) / (1.0 - further);
  for (int i = 0; i < 5; ++i) {
    const T none = exp(T(-m));
    const T excess = m * (1.0 - further) - decode - (1.0 - none) * first;
    m = m - excess / scalar_max(T(1.0 - further - none * first), T(1e-9));
  }
  return scalar_min(scalar_max(m, decode), scalar_max(p.prefills_per_step, T(1.0)));
}

/// Chunks of prompts in the engine steps of data-parallel groups, which run at the same time. A
/// step without a chunk is followed by one with some with probability y, a step with k of them,
/// of length L, with probability x:
///   y = 1 - exp(-lambda D),    x = 1 - exp(-lambda L) / c^k,    c chunks of a prompt
///   share of steps with chunks  q = y / (1 + y - x)
///   L = D + (S + (k - 1) M) / c,    k = lambda c ((1 - q) D + q L) / q,  1 to the number of groups
/// The n intervals of an output follow the last chunk of its prompt, one of k chunks, so the share
/// of them with chunks is
///   q + (1 - q) r' (1 - r^n) / (n (1 - r)),    r = x - y,  r' with k - 1 chunks that go on
/// Test: the simulation, tests/simulator/closed_forms.cpp.
template <Scalar T>
struct chunks_in_groups {
  T share{};             ///< q
  T again{};             ///< r = x - y
  T first{};             ///< r behind the last chunk of a prompt
  T starts{};            ///< mean number of prefills that start in a step: q k / c
  duration<T> length{};  ///< L

  constexpr chunks_in_groups(const basic_prefill_steps<T>& p, const request_rate<T>& rate) {
    using math::exp;
    using math::log;
    const T chunks = p.decode_steps_per_prefill * p.prefills_per_step;
    const T idle = exp(T(-1.0 * T(rate * p.decode_time / request)));
    const T last = log(chunks);
    T k = T(1.0);
    for (int i = 0; i < 12; ++i) {
      length = p.decode_time + (p.decode_stall + (k - 1.0) * p.marginal_prefill_time) / chunks;
      const T ends = exp(T(-1.0 * T(rate * length / request) - k * last));
      again = scalar_max(T(idle - ends), T(0.0));
      first = scalar_max(T(idle - ends * chunks), T(0.0));
      share = (1.0 - idle) / (1.0 - idle + ends);
      const duration<T> mean = (1.0 - share) * p.decode_time + share * length;
      k = scalar_min(p.prefills_per_step,
                     scalar_max(T(1.0), T(rate * mean / request * chunks / share)));
    }
    starts = share * k / chunks;
  }

  /// Share of the n intervals of an output that have chunks.
  constexpr T share_of_output(const T& n) const {
    using math::exp;
    using math::log;
    const T r = scalar_max(again, T(1e-12));
    return share + (1.0 - share) * first * (1.0 - exp(T(n * log(r)))) / (n * (1.0 - r));
  }
};

/// Step in progress when a request arrives to mixed chunks. A step takes the N prompts that arrived
/// in the one before it, m = `between` on average and any with probability q. Its length is
/// L = D + J [N > 0] + M N, with J = P - M - D, so
///   Var L            = V / (1 - (lambda M)^2),  V = (1 - q) (q J^2 + 2 J M m) + v m M^2
///   E[L^2; N > 0]    = q A^2 + 2 A M m + M^2 m (v + m) + (lambda M)^2 Var L,    A = P - M
/// v = Ca^2 + cv_I^2; steps with prompts have E[L^2; N > 0] / E[L; N > 0], at most a full step.
/// Without a sequence that decodes the engine is idle between prompts.
template <Scalar T>
constexpr step_in_progress<T> mixed_step_in_progress(const basic_service_terms<T>& s,
                                                     const basic_prefill_steps<T>& p,
                                                     const basic_open_loop<T>& arrivals,
                                                     const T& between, const T& any) {
  using math::exp;
  const request_rate<T>& rate = arrivals.rate;
  const T served = scalar_min(T(rate * p.marginal_prefill_time / request), T(1.0 - 1e-6));
  const T feedback = served * served, none = 1.0 - any;
  const T starts = scalar_max(between, any);
  const T d = p.decode_time.value(), m = p.marginal_prefill_time.value();
  const T first = p.prefill_time.value() - m, jump = first - d;
  const T prefills = any * first + starts * m;
  const T random = none * d + prefills;
  const T decodes = scalar_max(T(s.output_tokens - 1.0), T(0.0)) *
                    T(rate / request * duration<T>::from_value(random));
  const T decoding = lower(decodes) > 12.0 ? T(1.0) : any_of(decodes);
  const T variation = arrivals.cv * arrivals.cv + s.input_cv * s.input_cv;
  const T variance = (none * jump * (any * jump + 2.0 * m * starts) + variation * starts * m * m) /
                     (1.0 - feedback);
  const T square = first * (any * first + 2.0 * m * starts) +
                   m * m * starts * (variation + starts) + feedback * variance;
  const duration<T> mean = duration<T>::from_value(T(prefills / any));
  const duration<T> seen = duration<T>::from_value(T(square / prefills));
  step_in_progress<T> in_progress;
  in_progress.add(T(decoding * none * d / random), p.decode_time, p.decode_time);
  in_progress.add(T(prefills / random), mean,
                  max(mean, min(seen, p.prefills_per_step * p.saturated_prefill_time)));
  return in_progress;
}

/// Queueing of a prompt behind prefills in an open loop, before its first step: M/G/1. A step with
/// prefill takes L on average and has room for K prompts (`prefills_per_step`), so the service time
/// is L / K; where prompts share no steps, the time of a prompt in full steps.
/// Exact for one prompt a step: the decode steps between are the vacations of the server.
/// Under shares_steps, a prompt first waits for the rest of the step in progress, and
/// shares the next one with those that arrived in it (gated service).
/// Source: Takagi, "Queueing Analysis", vol. 1, 1991, section 2.4 (gated service).
/// Test: a simulated gated queue, tests/unit/service_by_hand.cpp.
template <Scalar T>
struct prefill_queue {
  T utilisation{};
  duration<T> wait{};
  T coscheduled{};  ///< prefills of other requests in the own step
  step_in_progress<T> in_progress{};
  std::optional<T> between{};  ///< arrivals_between_steps, where the law of the step needs them
  T any{};                     ///< share of steps with prompts, where `between` is set
  std::optional<prefill_first_interval<T>> interval{};
  std::optional<chunks_in_groups<T>> groups{};
  bool is_shared = false;

  constexpr prefill_queue(const basic_service_terms<T>& s, const basic_prefill_steps<T>& p,
                          const basic_open_loop<T>& arrivals) {
    is_shared = shares_steps(s, p);
    const bool mixed = s.scheduler == scheduling::mixed_chunks;
    if (mixed && upper(p.prefills_per_step) > 1.0) {
      if (runs_chunks_in_groups(s, p)) groups.emplace(p, arrivals.rate);
      between = groups ? groups->starts : arrivals_between_steps(s, p, arrivals.rate);
      any = groups ? groups->share : any_of(scalar_max(*between, T(1e-12)));
    }
    if (s.scheduler == scheduling::prefill_first && p.pipeline_stages == 1.0)
      interval.emplace(s, p, arrivals.rate);
    if (!is_shared) return;
    in_progress = mixed ? mixed_step_in_progress(s, p, arrivals, *between, any)
                        : interval->seen(s, p, arrivals);
    coscheduled =
        scalar_min(T(arrivals.rate * in_progress.mean / request), T(p.prefills_per_step - 1.0));
  }

  /// Sets the utilisation and the wait before the first step.
  constexpr void add_wait(const basic_service_terms<T>& s, const basic_prefill_steps<T>& p,
                          const basic_open_loop<T>& arrivals) {
    const duration<T> step = min(p.saturated_prefill_time, time_of_prompt(p, arrivals.rate));
    utilisation = scalar_min(T(arrivals.rate * step / request), T(1.0 - 1e-6));
    wait = single_server_wait(utilisation,
                              T((arrivals.cv * arrivals.cv + s.input_cv * s.input_cv) / 2.0), step);
  }

  /// Time from the start of the own step to that of its first decode step.
  constexpr duration<T> own_step(const basic_prefill_steps<T>& p) const {
    return p.prefill_time + coscheduled * p.marginal_prefill_time;
  }

 private:
  /// L / K, or the time of a prompt in full steps.
  constexpr duration<T> time_of_prompt(const basic_prefill_steps<T>& p,
                                       const request_rate<T>& rate) const {
    if (is_shared && interval) return interval->prefill_step / p.prefills_per_step;
    if (!between) return p.saturated_prefill_time;
    if (groups) return T(*between * p.decode_steps_per_prefill) * (request / rate);
    const T starts = scalar_min(T(*between / any), p.prefills_per_step);
    return (p.prefill_time + scalar_max(T(starts - 1.0), T(0.0)) * p.marginal_prefill_time) /
           p.prefills_per_step;
  }
};

/// Distribution of the inter-token latency of mixed chunks that prompts share. The first interval
/// of an output has k = lambda x own step prompts; the number in later steps decreases by lambda M
/// in each, to that of a random step. In n intervals the excess is that of the first one times
/// g = (1 - (lambda M)^n) / (n (1 - lambda M)), so a share g of them is like the first.
template <Scalar T>
constexpr basic_latency_distribution<T> shared_steps_itl(const basic_service_terms<T>& s,
                                                         const basic_prefill_steps<T>& p,
                                                         const request_rate<T>& rate,
                                                         const prefill_queue<T>& queue) {
  using math::exp;
  using math::log;
  const T behind =
      scalar_min(scalar_max(T(rate * queue.own_step(p) / request), T(1e-12)), p.prefills_per_step);
  const T followed = named("share of requests with a prompt behind", any_of(behind));
  const T served =
      scalar_max(T(1e-9), scalar_min(T(rate * p.marginal_prefill_time / request), T(1.0 - 1e-6)));
  const T n = s.intervals(), decays = n * (1.0 - served);
  const T left = lower(decays) > 12.0 ? T(0.0) : T(exp(T(n * log(served))));
  const T like_first = named("share of intervals behind a prefill", (1.0 - left) / decays);
  const T& m = *queue.between;
  const T rest = 1.0 - like_first, &w = s.collecting_steps;
  const T any = upper(w) > 1.0 ? T(any_of(T(w * m)) / w) : queue.any;
  const T stalled = named("share of intervals with prefill",
                          scalar_min(scalar_max(any, T(m / p.prefills_per_step)), T(1.0)));
  basic_latency_distribution<T> itl;
  itl.add({rest * (1.0 - stalled), p.decode_time});
  itl.add(with_length(
      T(rest * stalled), p.decode_time + p.decode_stall, p.decode_stall,
      scalar_max(T(m - stalled), T(0.0)) / scalar_max(stalled, T(1e-12)) * p.marginal_prefill_time,
      s.input_cv));
  itl.add({like_first * (1.0 - followed), p.decode_time});
  itl.add(with_length(T(like_first * followed), p.decode_time + p.decode_stall, p.decode_stall,
                      (behind / followed - 1.0) * p.marginal_prefill_time, s.input_cv));
  return itl;
}

/// Adds the TTFT of prompts that share steps, for a share `weight` of all requests. Beyond its own
/// prefill a request waits X = R + N M + W: the rest R of the step in progress, of length L, N
/// prompts that arrive in L, and W for full steps. Its variance is
///   E[L^2] / 12 + lambda M E[L] v M + (1/2 + lambda M)^2 Var L + W^2
/// A share w of the requests has a constant and an exponential wait of this mean and variance,
/// the others none: w < 1 where the deviation exceeds the mean.
/// Test: a simulated gated queue, tests/unit/service_by_hand.cpp.
template <Scalar T>
constexpr void add_shared_ttft(basic_latency_distribution<T>& ttft, const T& weight,
                               const basic_service_terms<T>& s, const basic_prefill_steps<T>& p,
                               const prefill_queue<T>& queue, const request_rate<T>& rate,
                               const duration<T>& unqueued, const duration<T>& further) {
  using math::sqrt;
  const T m = p.marginal_prefill_time.value(), served = rate * p.marginal_prefill_time / request;
  const T length = queue.in_progress.mean.value(), square = queue.in_progress.square;
  const duration<T> cosched = queue.coscheduled * p.marginal_prefill_time;
  const duration<T> first = unqueued - cosched;
  const T mean = scalar_max(T((further + cosched).value()), T(1e-12));
  const T half = 0.5 + served, full = queue.wait.value();
  const T variance = square / 12.0 + served * length * (1.0 + s.input_cv * s.input_cv) * m +
                     half * half * scalar_max(T(square - length * length), T(0.0)) + full * full;
  const T share = scalar_min(T(1.0), T(2.0 * mean * mean / (variance + mean * mean)));
  const T waits = mean / share;  // of those that wait, with this deviation
  const T deviation =
      scalar_min(waits, T(sqrt(T((variance + mean * mean) / share - waits * waits))));
  const T own = scalar_min(s.input_cv, T(1.0)) * p.length_time.value();
  ttft.add(with_length(T(weight * (1.0 - share)), first, p.length_time, {}, s.input_cv));
  const T tail = sqrt(T(deviation * deviation + own * own));
  ttft.add({T(weight * share),
            first + duration<T>::from_value(T(waits - tail)),
            {},
            duration<T>::from_value(tail)});
}

}  // namespace perfmodel::inline v0_3::detail
