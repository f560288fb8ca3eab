// How far a service is from the targets of a plan.
#pragma once

#include <algorithm>
#include <concepts>
#include <perfmodel/deployment/plan_request.hpp>

namespace perfmodel::detail {

/// What misses a target by how much, and the wait and the queued share over their limits.
struct plan_misses : target_misses {
  double wait = 0.0;
  double queue = 0.0;  ///< queued share over its limit; 0 without a limit

  constexpr double of_targets() const { return target_misses::worst(); }
  constexpr double of_queue() const { return (std::max)(wait, queue); }
  constexpr double worst() const { return (std::max)(of_targets(), of_queue()); }
};

template <std::same_as<serving_estimate> Estimate>
plan_misses misses_of(const plan_request& q, const Estimate& s) {
  return {perfmodel::misses_of(s, q.targets), s.wait.value() / q.longest_wait.value(),
          q.queued_limit < 1.0 ? s.queued / q.queued_limit : 0.0};
}

}  // namespace perfmodel::detail
