// What evictions do to the flow of a service whose answers outgrow its cache.
#pragma once

#include <perfmodel/service/state.hpp>

namespace perfmodel {

/// Of one request, from its first token to its last.
template <Scalar T = double>
struct basic_evictions {
  T times{};
  T prompts = T(1.0);   ///< computed for it in all, its own and what is computed anew
  duration<T> back{};   ///< each, alone: until its cache is there again
  duration<T> stall{};  ///< all of them, of the whole pass that waits for the transfers

  constexpr bool exist() const { return upper(times) > 0.0; }
};
using evictions = basic_evictions<>;

namespace detail {

/// Ends of others that a request waits for in all, evicted n times: n (n + 1) / 2, read off simulations.
/// What is evicted comes back, the oldest first, as others end; prompts that were admitted together are
/// evicted together, and one of them stays at each end.
template <Scalar T>
constexpr T ends_waited_for(const T& times) {
  return 0.5 * times * (1.0 + times);
}

/// A closed loop of `b` in service, with the time that evictions add: to the service, and to the gaps between
/// tokens the wait for the cache, which is a part of what requests beyond b would wait for a place. What is
/// computed anew is in the prompts that `state` meets (basic_service_terms::prompts).
/// Tests: by hand; Little's law; the simulator of tests/simulator, answers of 500 to 2000 tokens.
template <Scalar T>
constexpr void add_evictions(basic_service_state<T>& state, const basic_evictions<T>& e,
                             const basic_closed_loop<T>& loop, const T& b, const T& gaps) {
  const duration<T> before = b * request / state.throughput;
  const duration<T> in_service =
      named("time in service, evictions included", before + e.times * e.back);
  const T beyond = scalar_max(T(loop.concurrency - b), T(0.0)) / b;
  const duration<T> away =
      named("away, evicted", min(ends_waited_for(e.times) / b * in_service, beyond * in_service));
  const T slower = before / in_service;
  state.throughput = slower * state.throughput;
  const duration<T> place = beyond * (in_service - before) - away;
  state.wait += place;
  state.first.place += place;
  state.first_token.delay(place, {}, loop.requests ? 1 : 0);  // the first wave waits for none

  const T share = scalar_min(T(e.times / gaps), T(1.0));
  const T each = scalar_max(e.times, T(1e-9));
  const duration<T> mean_gap = state.gap.mean();
  basic_latency_distribution<T> gap;
  for (std::size_t i = 0; i < state.gap.size(); ++i) {
    basic_latency_part<T> part = state.gap[i];
    part.weight = (1.0 - share) * part.weight;
    gap.add(part);
  }
  gap.add({share, mean_gap + e.back, {}, away / each});
  state.gap = gap;
}

}  // namespace detail

}  // namespace perfmodel
