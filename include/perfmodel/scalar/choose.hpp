// Choosing by cost, for scalars on which `if` has no one answer.
#pragma once

#include <perfmodel/scalar/scalar.hpp>

namespace perfmodel::inline v0_3::detail {

/// A scalar made of one double for each lane: value_of(lane).
template <Scalar T, class F>
constexpr T from_lanes(F&& value_of) {
  if constexpr (lanes_of<T>::count == 1) {
    return T(value_of(std::size_t{0}));
  } else {
    std::array<double, lanes_of<T>::count> x{};
    for (std::size_t lane = 0; lane < x.size(); ++lane) x[lane] = value_of(lane);
    return T::load(x.data());
  }
}

/// What f(lane) gives, once for each lane of T.
template <Scalar T, class F>
constexpr auto on_each_lane(F&& f) {
  using X = decltype(f(std::size_t{0}));
  if constexpr (lanes_of<T>::count == 1) {
    return f(std::size_t{0});
  } else {
    per_lane<T, X> x{};
    for (std::size_t lane = 0; lane < x.size(); ++lane) x[lane] = f(lane);
    return x;
  }
}

/// A scalar that is a range of numbers.
template <class T>
concept Range = requires(const T& x) {
  { x.lo() } -> std::same_as<double>;
  { x.hi() } -> std::same_as<double>;
  T(x.lo(), x.hi());
};

/// Index of the least of the first n costs in one lane; the first of equals.
template <Scalar T, std::size_t N>
constexpr std::size_t index_of_least(const std::array<T, N>& cost, std::size_t n,
                                     std::size_t lane) {
  std::size_t least = 0;
  for (std::size_t i = 1; i < n; ++i) {
    if (lanes_of<T>::lane(cost[i], lane) < lanes_of<T>::lane(cost[least], lane)) least = i;
  }
  return least;
}

/// value[i] of the least cost[i], i < n. Over a range it covers every i that can be the least.
template <Scalar T, std::size_t N>
constexpr T value_of_least(const std::array<T, N>& cost, const std::array<T, N>& value,
                           std::size_t n) {
  if constexpr (Range<T>) {
    double reachable = cost[0].hi();
    for (std::size_t i = 1; i < n; ++i) reachable = scalar_min(reachable, cost[i].hi());
    double lo = infinity;
    double hi = -infinity;
    for (std::size_t i = 0; i < n; ++i) {
      if (cost[i].lo() > reachable) continue;
      lo = scalar_min(lo, value[i].lo());
      hi = scalar_max(hi, value[i].hi());
    }
    return T(lo, hi);
  } else if constexpr (lanes_of<T>::count == 1) {
    return value[index_of_least(cost, n, 0)];
  } else {
    return from_lanes<T>([&](std::size_t lane) {
      return lanes_of<T>::lane(value[index_of_least(cost, n, lane)], lane);
    });
  }
}

/// x(c) where x is known only through root(double) -> double, increasing, and slope(double root) =
/// d c / d x there: by lane, by end of a range, and for anything else by one step of Newton's
/// method from the root, which carries the derivative (implicit function theorem). residual(x, c)
/// is 0 at the root.
template <Scalar T, class Root, class Slope, class Residual>
constexpr T solved(const T& c, Root&& root, Slope&& slope, Residual&& residual) {
  if constexpr (Range<T>) {
    return T(root(c.lo()), root(c.hi()));
  } else if constexpr (lanes_of<T>::count > 1) {
    return from_lanes<T>([&](std::size_t lane) { return root(lanes_of<T>::lane(c, lane)); });
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(root(static_cast<double>(c)));
  } else {
    const double at = root(mid(c));
    return T(at) - residual(T(at), c) / T(slope(at));
  }
}

}  // namespace perfmodel::inline v0_3::detail
