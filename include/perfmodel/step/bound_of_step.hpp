// Lower bound of an engine step with checked inputs.
#pragma once

#include <perfmodel/step/step_times.hpp>

namespace perfmodel::inline v0_3::detail {

/// Parts of the lower bound of a step.
template <Scalar T>
struct bound_parts {
  duration<T> weights{}, cache{}, compute{}, vector{}, host_link{}, communication{};
  duration<T> matrix{};  ///< compute, without its name in a derivation

  constexpr duration<T> on_chip() const {
    return max(max(duration<T>(weights + cache), compute), max(vector, host_link));
  }
};

/// Parts of the bound of a step with checked inputs. `add(limiter, name, time)` names each for the
/// derivation.
template <Scalar T, class Cost, class Add>
constexpr bound_parts<T> bound_parts_of_step(const rank_step<T>& p, collective_memo<T, Cost>& links,
                                             const Add& add) {
  const basic_deployment<T>& d = p.replica;
  const basic_step_demand<T> s = demand_of_rank(p);
  bound_parts<T> b;
  b.communication = communication_of_step(p, links);
  const T resident = 1.0 - host_weight_share(d);
  b.weights =
      add(limiter::memory, "weights", duration<T>(resident * s.weights / d.device.dram.bandwidth));
  b.cache = add(limiter::memory, "kv_cache", duration<T>(s.cache / d.device.dram.bandwidth));
  b.matrix = s.compute;
  b.compute = add(limiter::compute, "compute", s.compute);
  if (upper(s.vector_flop.value()) > 0.0 && has_vector_peak(d.device)) {
    b.vector =
        add(limiter::vector_compute, "vector", duration<T>(s.vector_flop / vector_peak(d.device)));
  }
  b.host_link = host_link_time(d, s.weights);
  if (upper(b.host_link.value()) > 0.0) add(limiter::link, "host_link", b.host_link);
  return b;
}

/// Completes the estimate of a bound: `e` has its terms already.
template <Scalar T>
constexpr void add_bound(basic_estimate<T>& e, const bound_parts<T>& b) {
  basic_step_demand<T> s;
  s.compute = b.matrix;
  add_communication(e, b.on_chip(), s, duration<T>(b.weights + b.cache), b.vector, b.communication,
                    b.host_link);
}

/// Lower bound of a step with checked inputs; step_fits checks its memory separately.
template <Scalar T, class Cost>
constexpr basic_estimate<T> bound_of_step(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                          const Cost& links) {
  const engine_formats formats = formats_of(d);
  collective_memo<T, Cost> none(links);
  basic_estimate<T> e;
  const bound_parts<T> b =
      bound_parts_of_step(rank_step<T>{d, i, formats}, none,
                          [&e](limiter kind, const char* name, const duration<T>& t) {
                            return e.terms.add(kind, name, t);
                          });
  add_bound(e, b);
  return e;
}

}  // namespace perfmodel::inline v0_3::detail
