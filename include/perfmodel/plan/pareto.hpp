// Pareto fronts: the points that no other point dominates.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Whether any point of the front dominates `x`. dominates(a, b) is a partial order that also holds
/// for equal points.
template <class Point, class Candidate, class Dominates>
bool is_dominated(const std::vector<Point>& front, const Candidate& x, const Dominates& dominates) {
  return std::any_of(front.begin(), front.end(),
                     [&](const Point& known) { return dominates(known, x); });
}

/// Adds `x` unless a point of the front dominates it, and removes the points that `x` dominates.
/// Returns whether it was added. Among equal points the first stays.
template <class Point, class Dominates>
bool add_to_front(std::vector<Point>& front, Point x, const Dominates& dominates) {
  if (is_dominated(front, x, dominates)) return false;
  std::erase_if(front, [&](const Point& known) { return dominates(x, known); });
  front.push_back(std::move(x));
  return true;
}

/// Pareto front of a list of points, in the order of the list.
/// Test: random points, compared with a test of all pairs.
template <class Point, class Dominates>
std::vector<Point> pareto_front(const std::vector<Point>& points, const Dominates& dominates) {
  std::vector<Point> front;
  for (const Point& x : points) (void)add_to_front(front, x, dominates);
  return front;
}

}  // namespace perfmodel::inline v0_3::detail
