// Distribution of a latency over requests or tokens: mean, quantiles, share within a limit.
#pragma once

#include <array>
#include <perfmodel/core/error.hpp>
#include <perfmodel/scalar/choose.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

/// A share of requests with a latency uniform between two ends, in seconds.
struct latency_piece {
  double weight = 0.0;
  double from = 0.0;
  double to = 0.0;
};

/// Cumulative distribution of uniform pieces, linear between their ends.
template <std::size_t N>
class piecewise_latency {
 public:
  constexpr void add(const latency_piece& p) { pieces_[count_++] = p; }

  constexpr double share_below(double x) const {
    double share = 0.0;
    for (std::size_t i = 0; i < count_; ++i) {
      const latency_piece& p = pieces_[i];
      if (x >= p.to) {
        share += p.weight;
      } else if (x > p.from) {
        share += p.weight * (x - p.from) / (p.to - p.from);
      }
    }
    return share;
  }

  /// Smallest latency with at least this share at or below it; the largest where the pieces weigh
  /// less.
  constexpr double quantile(double share) const {
    double below = -infinity;  // last end below the share
    double above = infinity;   // first end at or above it
    double greatest = 0.0;
    const auto look = [&](double x) {
      greatest = scalar_max(greatest, x);
      if (x > below && x < above) (share_below(x) < share ? below : above) = x;
    };
    for (std::size_t i = 0; i < count_; ++i) {
      look(pieces_[i].from);
      look(pieces_[i].to);
    }
    if (above == infinity) return greatest;
    if (below == -infinity) return above;
    const double low = share_below(below), high = share_before(above);
    return high > share ? below + (above - below) * (share - low) / (high - low) : above;
  }

 private:
  /// Share below x, without pieces of zero length at x.
  constexpr double share_before(double x) const {
    double share = share_below(x);
    for (std::size_t i = 0; i < count_; ++i) {
      if (pieces_[i].from == x && pieces_[i].to == x) share -= pieces_[i].weight;
    }
    return share;
  }

  std::array<latency_piece, N> pieces_{};
  std::size_t count_ = 0;
};

/// Quantile of the standard normal distribution, within 4.5e-4.
/// Source: Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.2.23.
constexpr double normal_quantile(double share) {
  if (share < 0.5) return -normal_quantile(1.0 - share);
  const double t = math::sqrt(-2.0 * math::log(1.0 - share));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

}  // namespace detail

/// One part of a latency mixture: a share `weight` of all takes `from`, plus a uniform term between
/// 0 and `range`, plus an exponential of mean `tail`. A part has one of the two terms, or none.
template <Scalar T = double>
struct basic_latency_part {
  T weight{};
  duration<T> from{};
  duration<T> range{};
  duration<T> tail{};
};

/// Mixture of latency parts. Quantiles come from a piecewise linear cumulative distribution. An
/// exponential is cut at its 50th, 90th, 99th and 99.9th percentile, where it is exact.
template <Scalar T = double>
class basic_latency_distribution {
 public:
  static constexpr std::size_t capacity = 4;

  constexpr void add(const basic_latency_part<T>& p) { parts_[count_++] = p; }

  /// Adds a constant and an exponential wait to all parts from the `skip`-th on.
  constexpr void delay(const duration<T>& constant, const duration<T>& wait, std::size_t skip = 0) {
    for (std::size_t i = skip; i < count_; ++i) {
      parts_[i].from += constant;
      parts_[i].tail += wait;
    }
  }

  /// Mean: sum of weight (from + range / 2 + tail) over the sum of weights.
  constexpr duration<T> mean() const {
    duration<T> sum{};
    T weights{};
    for (std::size_t i = 0; i < count_; ++i) {
      const basic_latency_part<T>& p = parts_[i];
      sum += p.weight * (p.from + 0.5 * p.range + p.tail);
      weights += p.weight;
    }
    return sum / weights;
  }

  /// Standard deviation of the mixture.
  constexpr duration<T> deviation() const {
    using math::sqrt;
    const T m = mean().value();
    T squares{};
    T weights{};
    for (std::size_t i = 0; i < count_; ++i) {
      const basic_latency_part<T>& p = parts_[i];
      const T range = p.range.value(), tail = p.tail.value();
      const T away = p.from.value() + 0.5 * range + tail - m;
      squares += p.weight * (away * away + range * range / 12.0 + tail * tail);
      weights += p.weight;
    }
    return duration<T>::from_value(sqrt(T(squares / weights)));
  }

  /// Latency at or below which a share of all lies.
  /// Errors: a share outside 0 to 1.
  /// Test: one uniform part; an exponential at its 50th, 90th and 99th percentile; steps; the
  /// pieces sampled; never falls with the share.
  constexpr duration<T> quantile(double share) const {
    detail::fraction("share", share);
    if constexpr (detail::Range<T>) {
      // An interval weight counts where it is worse: late parts with the upper end, early with the
      // lower.
      const auto lo = [](const T& x) { return x.lo(); };
      const auto hi = [](const T& x) { return x.hi(); };
      const double low = pieces(hi, lo).quantile(share);
      return duration<T>::from_value(T(low, scalar_max(low, pieces(lo, hi).quantile(share))));
    } else if constexpr (lanes_of<T>::count > 1) {
      return duration<T>::from_value(detail::from_lanes<T>(
          [&](std::size_t lane) { return pieces(in_lane(lane), in_lane(lane)).quantile(share); }));
    } else {
      return carried(pieces(in_lane(0), in_lane(0)).quantile(share), share);
    }
  }

  /// Share of all at or below a latency.
  /// Test: the inverse of quantile.
  constexpr double share_within(const duration<>& latency) const {
    return pieces(in_lane(0), in_lane(0)).share_below(latency.value());
  }

  constexpr std::size_t size() const { return count_; }
  constexpr const basic_latency_part<T>& operator[](std::size_t i) const { return parts_[i]; }

 private:
  template <class X>
  struct piece {
    X weight{}, from{}, to{};
  };

  constexpr auto in_lane(std::size_t lane) const {
    return [lane](const T& x) { return lanes_of<T>::lane(x, lane); };
  }

  /// Uniform pieces of a part; `weight` and `time` read a plain number from the scalar.
  template <class X, class Weight, class Time, class Visit>
  static constexpr void cut(const basic_latency_part<T>& p, const Weight& weight, const Time& time,
                            Visit&& visit) {
    // -ln(1 - p) at p = 0, 0.5, 0.9, 0.99 and 0.999
    constexpr double ends[] = {0.0, 0.6931471805599453, 2.302585092994046, 4.605170185988091,
                               6.907755278982137};
    constexpr double shares[] = {0.5, 0.4, 0.09, 0.01};
    const X w = weight(p.weight), from = time(p.from.value()), tail = time(p.tail.value());
    if (!(upper(p.tail.value()) > 0.0)) {
      visit(piece<X>{w, from, from + time(p.range.value())});
      return;
    }
    for (std::size_t k = 0; k < std::size(shares); ++k) {
      visit(piece<X>{shares[k] * w, from + ends[k] * tail, from + ends[k + 1] * tail});
    }
  }

  template <class Weight, class Time>
  constexpr detail::piecewise_latency<4 * capacity> pieces(const Weight& weight,
                                                           const Time& time) const {
    detail::piecewise_latency<4 * capacity> all;
    for (std::size_t i = 0; i < count_; ++i) {
      cut<double>(parts_[i], weight, time, [&](const piece<double>& p) {
        all.add({p.weight, p.from, p.to});
      });
    }
    return all;
  }

  /// The quantile `at` with derivatives: one step of Newton's method on the cumulative distribution
  /// (implicit function theorem), or those of the piece end that it stands on.
  constexpr duration<T> carried(double at, double share) const {
    if constexpr (std::is_floating_point_v<T>) {
      return duration<T>::from_value(T(at));
    } else {
      T below{}, nearest{};
      double density = 0.0;
      double distance = detail::infinity;
      const auto itself = [](const T& x) { return x; };
      const auto look = [&](const T& end) {
        const double away = mid(end) > at ? mid(end) - at : at - mid(end);
        if (away < distance) {
          distance = away;
          nearest = end;
        }
      };
      for (std::size_t i = 0; i < count_; ++i) {
        cut<T>(parts_[i], itself, itself, [&](const piece<T>& p) {
          look(p.from);
          look(p.to);
          if (at >= mid(p.to)) {
            below += p.weight;
          } else if (at > mid(p.from)) {
            below += p.weight * (at - p.from) / (p.to - p.from);
            density += mid(p.weight) / (mid(p.to) - mid(p.from));
          }
        });
      }
      const double miss = mid(below) - share;
      const bool inside = density > 0.0 && miss < 1e-9 && miss > -1e-9;
      return duration<T>::from_value(inside ? T(at + (share - below) / density) : nearest);
    }
  }

  std::array<basic_latency_part<T>, capacity> parts_{};
  std::size_t count_ = 0;
};
using latency_distribution = basic_latency_distribution<>;

}  // namespace perfmodel::inline v0_3
