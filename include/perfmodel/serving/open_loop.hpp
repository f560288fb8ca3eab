// An open loop: requests arrive at a rate, whatever the service does.
#pragma once

#include <perfmodel/serving/state.hpp>

namespace perfmodel {

namespace detail {

/// Requests that find every place taken, and how long they wait.
template <Scalar T>
struct admission_wait {
  T share{};
  duration<T> each{};  ///< mean of those that wait
};

/// Requests in the system as a birth and death process: births at the rate, deaths at n / C(n) with C
/// the time of a closed loop of n. Around n*, where rate x C(n*) = n*, n is normal with a variance of
/// n* / (1 - e), e = d ln C / d ln n: a service that slows as it fills holds on to its fluctuations.
/// Beyond the places its distribution is geometric, with the ratio rate / (places / C(places)).
template <Scalar T>
constexpr admission_wait<T> admission_wait_time(const basic_service_terms<T>& s,
                                                const basic_open_loop<T>& arrivals,
                                                const T& in_service, const request_rate<T>& most) {
  using math::exp;
  using math::log;
  using math::sqrt;
  const request_rate<T>& rate = arrivals.rate;
  const T ratio = scalar_min(T(rate / most), T(1.0 - 1e-6));
  const T n = scalar_min(scalar_max(in_service, T(1e-9)), T((1.0 - 1e-6) * s.room));
  // C(places) / C(n*) = (places / most) / (n* / rate) and its exponent over places / n*
  const T slows = scalar_max(T(0.0), scalar_min(T(0.95), T(1.0 + log(ratio) / log(T(s.room / n)))));
  const T bursts = arrivals.together * (1.0 + arrivals.cv * arrivals.cv) / 2.0;
  const T deviation = sqrt(T(bursts * n / (1.0 - slows)));
  const T z = (s.room - n) / deviation;
  if (lower(z) > 6.0) return {};
  const T below = 1.0 / (1.0 + exp(T(-1.5976 * z - 0.070566 * z * z * z)));
  const T density = 0.3989422804014327 * exp(T(-0.5 * z * z)) / deviation;
  const T all = below + density * ratio / (1.0 - ratio);
  const T varies = 0.8 * bursts * (1.0 + s.output_cv * s.output_cv);
  return {density / (1.0 - ratio) / all, varies * ratio / (1.0 - ratio) * (request / rate)};
}

}  // namespace detail

/// An open loop, beside the closed loop in which a request meets as many others as here: `p` and `loop`
/// are of that. `most` is the rate of a closed loop with every place taken. A request waits for the end
/// of the iteration that it finds, behind prompts that came before it (a queue with one server and
/// vacations: while no prompt waits the engine decodes), and for a place.
/// Sources: Pollaczek and Khinchine; Levy and Yechiali, Management Science 22(2), 1975 (vacations);
/// Allen and Cunneen for other gaps than Poisson's. Leaves out: preemption.
/// Order: a higher rate is never quicker, and more bandwidth or links never slower, but by less than 0.5 % ITL and the
/// whole time, as prompts that are through sooner leave more decoding at once, and the first token, where more prompts
/// fit into a pass then and are past a wave of attention. Where nine tenths of the room for prompts are taken, a
/// higher rate makes the longest gaps shorter: more decode in a full iteration, and fewer prompts.
/// Tests: the simulator of tests/simulator; no load is a prompt alone; M/D/1.
template <Scalar T>
constexpr basic_service_state<T> open_service(const basic_service_terms<T>& s,
                                              const basic_prefill_steps<T>& p,
                                              const basic_service_state<T>& loop,
                                              const basic_open_loop<T>& arrivals,
                                              const request_rate<T>& most) {
  basic_service_state<T> state = loop;
  const duration<T> t = named("mean gap", loop.gap.mean());
  state.throughput = arrivals.rate;
  state.batch = named("sequences decoding", T(arrivals.rate * s.output_tokens * t / request));

  // Mixed with prompts, decoding keeps the clock: prompts of a gap, each so many full iterations.
  const bool mixed = s.kind == scheduling::mixed_chunks;
  const T prompts = T(arrivals.rate * t / request);
  const T share = mixed ? T(prompts * p.decodes) : T(arrivals.rate * p.packed / request);
  const T busy = named("share of time for prompts", scalar_min(share, T(1.0 - 1e-6)));
  const T variation = (arrivals.cv * arrivals.cv + s.input_cv * s.input_cv) / 2.0;
  const duration<T> queue =
      named("behind other prompts", busy / (1.0 - busy) * variation * p.packed);
  const duration<T> burst = detail::behind(p, T(arrivals.together - 1.0)) / (1.0 - busy);

  const T found = detail::any_of(state.batch);
  const duration<T> residual = detail::rest_of_iteration(s, p, state, t);
  // Those that came in the same iteration join the same one.
  const T joined = scalar_min(T(arrivals.rate * residual / request * 2.0), T(p.together - 1.0));
  // It waits for others' iterations where there are any, and for its own answer's in any case.
  const T more = scalar_max(T(s.request_iterations - s.send_iterations - 1.0), T(0.0));
  const duration<T> let_by = (found * more + s.send_iterations) * t;
  const duration<T> own = named("own first token", s.request_cpu_time + let_by + p.alone + burst +
                                                       (mixed ? joined : T(0.0)) * p.next);
  const duration<T> at_once = own + residual + queue + s.later_intervals() * t;
  const detail::admission_wait<T> place =
      detail::admission_wait_time(s, arrivals, T(arrivals.rate * at_once / request), most);
  const T taken = named("share that finds no place", place.share);
  state.wait = queue + burst + taken * place.each;
  const T beside = mixed ? joined : T(0.0);
  state.first = {s.request_cpu_time,
                 let_by + residual,
                 found * more + s.send_iterations,
                 beside,
                 queue + burst + beside * p.next,
                 taken * place.each,
                 {},
                 taken};

  const T queued = scalar_max(busy, T(1e-9));
  const T placed = 1.0 - taken;
  state.first_token = {};
  state.first_token.add(
      detail::with_length(T(placed * (1.0 - queued)), own, p.alone, residual, s.input_cv));
  state.first_token.add(
      detail::with_length(T(placed * queued), own + residual, p.alone, queue / queued, s.input_cv));
  state.first_token.add({taken, own + residual, {}, queue + place.each});
  return state;
}

}  // namespace perfmodel
