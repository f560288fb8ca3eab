// An open loop: requests arrive at a rate, whatever the service does.
#pragma once

#include <perfmodel/queueing.hpp>
#include <perfmodel/service/state.hpp>

namespace perfmodel {

namespace detail {

/// The mean gap between tokens at `rate`: t = D + the prompts that arrive in t. Each gap with a prompt
/// has a first one and further ones, so (1 - rate next) t = D + (stall - next) (1 - exp(-rate t)).
/// Without end where prompts alone fill the time.
template <Scalar T>
constexpr duration<T> gap_at(const basic_prompt_passes<T>& p, const request_rate<T>& rate) {
  const T load = T(rate * p.next / request);
  const T idle = scalar_max(T(1.0 - load), T(1e-9));
  duration<T> t = p.decode / idle;
  for (int i = 0; i < 4; ++i) {
    const T prompts = scalar_min(T(rate * t / request), T(1e9));
    t = max(p.decode + any_of(prompts) * (p.stall - p.next), p.decode) / idle;
  }
  return t;
}

/// The share of arrivals that find every place taken and what they wait: places are as many servers
/// with Poisson arrivals, of which (room - batch) / sqrt(batch) standard deviations are free
/// (Halfin and Whitt, Operations Research 29(3), 1981); answers of equal length wait half.
template <Scalar T>
constexpr duration<T> wait_for_place(const T& room, const T& batch, const duration<T>& holding,
                                     const T& cv) {
  using math::exp;
  using math::sqrt;
  const T free = scalar_max(T(room - batch), T(1e-6 * room));
  const T z = free / sqrt(scalar_max(batch, T(1e-9)));
  if (lower(z) > 6.0) return {};
  // phi(z) / Phi(z), with the logistic approximation of the normal distribution.
  const T below = 1.0 / (1.0 + exp(T(-1.5976 * z - 0.070566 * z * z * z)));
  const T density = 0.3989422804014327 * exp(T(-0.5 * z * z));
  const T all_taken = 1.0 / (1.0 + z * below / density);
  return all_taken * (1.0 + cv * cv) / 2.0 / free * holding;
}

}  // namespace detail

/// An open loop in its steady state at `batch` sequences, to which `p` belongs. A request waits for the
/// end of the iteration that it finds, behind prompts that came before it (a queue with one server and
/// vacations: while no prompt waits the engine decodes), and for a place.
/// Sources: Pollaczek and Khinchine; Levy and Yechiali, Management Science 22(2), 1975 (vacations);
/// Allen and Cunneen for other gaps than Poisson's. Leaves out: that the batch fluctuates; preemption.
/// Tests: the simulator of tests/simulator; no load is a prompt alone; M/D/1.
template <Scalar T>
constexpr basic_service_state<T> open_service(const basic_service_terms<T>& s,
                                              const basic_prompt_passes<T>& p, const T& batch,
                                              const basic_open_loop<T>& loop) {
  basic_service_state<T> state;
  state.batch = batch;
  state.throughput = loop.rate;
  const duration<T> t = detail::gap_at(p, loop.rate);
  const T prompts = T(loop.rate * t / request);
  state.gap = detail::gaps_of(s, p, prompts);

  const T busy = scalar_min(T(loop.rate * p.packed / request), T(1.0 - 1e-6));
  const T variation = (loop.cv * loop.cv + s.input_cv * s.input_cv) / 2.0;
  const duration<T> queue = busy / (1.0 - busy) * variation * p.packed;
  const duration<T> burst = detail::behind(p, T(loop.together - 1.0));
  const duration<T> holding = s.output_tokens * t;
  const duration<T> place = detail::wait_for_place(s.room, batch, holding, s.output_cv);
  const T found = detail::any_of(batch);  // that it finds the engine in an iteration
  const duration<T> residual = 0.5 * found * p.decode;
  const T more = scalar_max(T(s.request_iterations - 1.0), T(0.0));
  state.wait = queue + burst + place;

  const duration<T> own = s.request_host + found * more * t + p.alone + burst;
  state.first_token.add({1.0 - busy, own, 2.0 * residual});
  const T queued = scalar_max(busy, T(1e-9));
  state.first_token.add({queued, own + residual, {}, (queue + place) / queued});
  return state;
}

}  // namespace perfmodel
