// How far a service is from the targets of a plan.
#pragma once

#include <algorithm>
#include <concepts>
#include <perfmodel/deployment/plan_request.hpp>

namespace perfmodel::detail {

/// What misses a target by how much, and the wait for a place over the longest that is allowed.
struct plan_misses : target_misses {
  double wait = 0.0;

  constexpr double of_targets() const { return target_misses::worst(); }
  constexpr double worst() const { return (std::max)(of_targets(), wait); }
};

template <std::same_as<serving_estimate> Estimate>
plan_misses misses_of(const plan_request& q, const Estimate& s) {
  return {perfmodel::misses_of(s, q.targets), s.wait.value() / q.longest_wait.value()};
}

}  // namespace perfmodel::detail
