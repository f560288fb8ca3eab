// Pareto fronts: the points that no other point dominates.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Whether a point of the front dominates `x`: dominates(a, b) is a partial order with equals.
template <class Point, class Candidate, class Dominates>
bool is_dominated(const std::vector<Point>& front, const Candidate& x, const Dominates& dominates) {
  return std::any_of(front.begin(), front.end(),
                     [&](const Point& known) { return dominates(known, x); });
}

/// Adds a point that no point of the front dominates, and removes the points that it dominates.
/// Returns whether it was added. The first of equal points stays.
template <class Point, class Dominates>
bool add_to_front(std::vector<Point>& front, Point x, const Dominates& dominates) {
  if (is_dominated(front, x, dominates)) return false;
  std::erase_if(front, [&](const Point& known) { return dominates(x, known); });
  front.push_back(std::move(x));
  return true;
}

/// The Pareto front of a list, in its order.
/// Test: random points against all pairs.
template <class Point, class Dominates>
std::vector<Point> pareto_front(const std::vector<Point>& points, const Dominates& dominates) {
  std::vector<Point> front;
  for (const Point& x : points) (void)add_to_front(front, x, dominates);
  return front;
}

}  // namespace perfmodel::inline v0_3::detail
