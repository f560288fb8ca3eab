// How a latency is distributed over requests: its mean, its quantiles, the share within a target.
#pragma once

#include <array>
#include <perfmodel/core/error.hpp>
#include <perfmodel/scalar/choose.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel {

namespace detail {

/// A share of all requests whose latency is even between two ends, in seconds.
struct latency_piece {
  double weight = 0.0;
  double from = 0.0;
  double to = 0.0;
};

/// The cumulative distribution of pieces, linear between their ends.
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

  /// The least latency that at least this share is not above; the greatest where all are fewer.
  constexpr double quantile(double share) const {
    double below = -infinity;  // the last end at which fewer are
    double above = infinity;   // the first at which as many are
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
  /// Just before x: without the pieces that are of x alone.
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

/// The standard normal quantile, within 4.5e-4. Source: Abramowitz and Stegun, "Handbook of Mathematical
/// Functions", 26.2.23.
constexpr double normal_quantile(double share) {
  if (share < 0.5) return -normal_quantile(1.0 - share);
  const double t = math::sqrt(-2.0 * math::log(1.0 - share));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

}  // namespace detail

/// A latency over many requests (or over the gaps between tokens), as a mixture: a share `weight` of
/// them takes `from` + an even spread of `spread` + an exponential of mean `tail`, of which a part has
/// one or none.
template <Scalar T = double>
struct basic_latency_part {
  T weight{};
  duration<T> from{};
  duration<T> spread{};
  duration<T> tail{};
};

/// Quantiles are read off a cumulative distribution that is linear between the ends of its pieces; an
/// exponential is cut at its own 50th, 90th, 99th and 99.9th percentile, where it is exact.
template <Scalar T = double>
class basic_latency_distribution {
 public:
  static constexpr std::size_t capacity = 4;

  constexpr void add(const basic_latency_part<T>& p) { parts_[count_++] = p; }

  /// Of all but some parts: `first` more, and then a wait, exponential of this mean.
  constexpr void delay(const duration<T>& first, const duration<T>& wait, std::size_t but = 0) {
    for (std::size_t i = but; i < count_; ++i) {
      parts_[i].from += first;
      parts_[i].tail += wait;
    }
  }

  /// sum of weight (from + spread / 2 + tail), over the sum of weights.
  constexpr duration<T> mean() const {
    duration<T> sum{};
    T weights{};
    for (std::size_t i = 0; i < count_; ++i) {
      const basic_latency_part<T>& p = parts_[i];
      sum += p.weight * (p.from + 0.5 * p.spread + p.tail);
      weights += p.weight;
    }
    return sum / weights;
  }

  /// Over all: the root of the mean square distance from the mean.
  constexpr duration<T> deviation() const {
    using math::sqrt;
    const T m = mean().value();
    T squares{};
    T weights{};
    for (std::size_t i = 0; i < count_; ++i) {
      const basic_latency_part<T>& p = parts_[i];
      const T spread = p.spread.value(), tail = p.tail.value();
      const T away = p.from.value() + 0.5 * spread + tail - m;
      squares += p.weight * (away * away + spread * spread / 12.0 + tail * tail);
      weights += p.weight;
    }
    return duration<T>::from_value(sqrt(T(squares / weights)));
  }

  /// The latency that a share of all stays within. Errors: a share outside 0 to 1.
  /// Tests: one even part; an exponential at its 50th, 90th and 99th percentile; steps; the pieces
  /// sampled; never falls with the share.
  constexpr duration<T> quantile(double share) const {
    detail::fraction("share", share);
    if constexpr (detail::Range<T>) {
      // What a weight may be more or less counts where it is worse: late parts above, early below.
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

  /// The share of all that is not above a latency. Test: the inverse of quantile.
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

  /// The pieces of a part, weights by one reading of their scalar and times by another.
  template <class X, class Weight, class Time, class Visit>
  static constexpr void cut(const basic_latency_part<T>& p, const Weight& weight, const Time& time,
                            Visit&& visit) {
    // -ln(1 - p) at p = 0, 0.5, 0.9, 0.99 and 0.999
    constexpr double ends[] = {0.0, 0.6931471805599453, 2.302585092994046, 4.605170185988091,
                               6.907755278982137};
    constexpr double shares[] = {0.5, 0.4, 0.09, 0.01};
    const X w = weight(p.weight), from = time(p.from.value()), tail = time(p.tail.value());
    if (!(upper(p.tail.value()) > 0.0)) {
      visit(piece<X>{w, from, from + time(p.spread.value())});
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

  /// The quantile `at` with the derivatives of what makes it: one step of Newton's method on the
  /// cumulative distribution (implicit function theorem), or those of the step that it stands on.
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

}  // namespace perfmodel
