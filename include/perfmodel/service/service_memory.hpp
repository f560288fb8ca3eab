// What of a service fits: whether one request does, and how many at once.
#pragma once

#include <perfmodel/service/shared_prefix.hpp>

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
    m.feasible = memory_holds(m.budget, cache_on_device(d, T(d.layout.data), longest));
  }
  const basic_kv_capacity<T> capacity = capacity_sharing(d, m.budget, l.shared, longest, T(16.0));
  if (m.feasible && !capacity.feasible) m.feasible = capacity.feasible;
  m.sequences = capacity.sequences;
  return m;
}

/// Of `room` sequences those that are let in at once: no more than the load's batch_limit, and than the engine
/// was started for, in each data-parallel group. SGLang's limit is of its graphs, and lets in more.
template <Scalar T>
constexpr T let_in(const basic_deployment<T>& d, const basic_service_load<T>& l, T room) {
  if (l.batch_limit) room = scalar_min(room, *l.batch_limit);
  if (d.limits.sequences && d.served_by != engine::sglang)
    room = scalar_min(room, T(*d.limits.sequences * T(d.layout.data)));
  return room;
}

}  // namespace perfmodel::detail
