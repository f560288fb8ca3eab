// Distribution of a latency over requests or tokens: mean, quantiles, and share within a limit.
#pragma once

#include <array>
#include <perfmodel/core/error.hpp>
#include <perfmodel/laws/order_statistics.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Part of a distribution: a share `weight` of all requests has a latency uniform between `from`
/// and `to`, in seconds, or, with a tail, `from` plus an exponential of mean `tail`.
struct latency_piece {
  double weight = 0.0;
  double from = 0.0;
  double to = 0.0;
  double tail = 0.0;

  /// Share of the piece with a latency of at most x, or below x.
  constexpr double share_below(double x) const {
    if (tail > 0.0) return x > from ? 1.0 - math::exp(-(x - from) / tail) : 0.0;
    if (x >= to) return 1.0;
    return x > from ? (x - from) / (to - from) : 0.0;
  }
  constexpr double share_before(double x) const {
    return tail > 0.0 || from < to || from != x ? share_below(x) : 0.0;
  }
  /// Latency at which the piece has a share of 0 to 1 below, for a piece that is not constant.
  constexpr double inverse(double share) const {
    return tail > 0.0 ? from - tail * math::log(1.0 - share) : from + share * (to - from);
  }
  /// Share below x, and the density there.
  struct slope {
    double share = 0.0, density = 0.0;
  };
  constexpr slope at(double x) const {
    if (x < from) return {};
    if (tail > 0.0) {
      const double left = math::exp(-(x - from) / tail);
      return {1.0 - left, left / tail};
    }
    if (x >= to) return {1.0, 0.0};
    return {(x - from) / (to - from), 1.0 / (to - from)};
  }
};

/// Latency distribution from pieces, with its exact quantiles.
template <std::size_t N>
class latency_pieces {
 public:
  constexpr void add(const latency_piece& p) { pieces_[count_++] = p; }

  /// Share of requests with a latency of at most x.
  constexpr double share_below(double x) const {
    double share = 0.0;
    for (std::size_t i = 0; i < count_; ++i) share += pieces_[i].weight * pieces_[i].share_below(x);
    return share;
  }

  /// Smallest latency with at least this share of requests at or below it. If the weights add up to
  /// less than the share, the largest end of a piece.
  constexpr double quantile(double share) const {
    double below = -infinity;  // last end below the share
    double above = infinity;   // first end at or above it
    double greatest = 0.0;
    double tail = 0.0;
    const auto look = [&](double x) {
      greatest = scalar_max(greatest, x);
      if (x > below && x < above) (share_below(x) < share ? below : above) = x;
    };
    double weights = 0.0;
    for (std::size_t i = 0; i < count_; ++i) {
      look(pieces_[i].from);
      if (!(pieces_[i].tail > 0.0)) look(pieces_[i].to);
      tail = scalar_max(tail, pieces_[i].tail);
      weights += pieces_[i].weight;
    }
    if (below == -infinity && above < infinity) return above;
    if (above == infinity) {
      if (!(tail > 0.0) || !(weights > share)) return greatest;
      double step = tail;  // doubled alone: a small one may be lost in `below`
      for (above = below + step; share_below(above) < share; above = below + step) step *= 2.0;
    } else if (share_before(above) <= share) {
      return above;  // the share lies on a constant latency
    }
    return root(share, below, above);
  }

 private:
  constexpr double share_before(double x) const {
    double share = 0.0;
    for (std::size_t i = 0; i < count_; ++i) {
      share += pieces_[i].weight * pieces_[i].share_before(x);
    }
    return share;
  }

  /// Quantile within a bracket without corners of the distribution. Where one piece alone rises
  /// there, it is the inverse of that piece; else Newton's method finds it.
  constexpr double root(double share, double below, double above) const {
    const latency_piece* rising = nullptr;
    int count = 0;
    double others = 0.0, least_tail = infinity;
    for (std::size_t i = 0; i < count_; ++i) {
      const latency_piece& p = pieces_[i];
      if (p.tail > 0.0) least_tail = scalar_min(least_tail, p.tail);
      if (p.from <= below && (p.tail > 0.0 || p.to > below)) {
        rising = &p;
        ++count;
      } else if (p.from <= below) {
        others += p.weight;
      }
    }
    if (count == 1) {
      const double x = rising->inverse((share - others) / rising->weight);
      return scalar_min(scalar_max(x, below), above);
    }
    return newton_root(share, below, above, least_tail);
  }

  /// Newton's method: with exponential pieces for ln S(x) = ln(S at the quantile), where S is the
  /// share above x, which is a line for one of them. Its error after a step is at most the step's
  /// square over twice the smaller of `least_tail` and S / density.
  constexpr double newton_root(double share, double below, double above, double least_tail) const {
    double weights = 0.0;
    for (std::size_t i = 0; i < count_; ++i) weights += pieces_[i].weight;
    double x = below;
    for (int step = 0; step < 200; ++step) {
      double sum = 0.0, density = 0.0;
      for (std::size_t i = 0; i < count_; ++i) {
        const latency_piece::slope s = pieces_[i].at(x);
        sum += pieces_[i].weight * s.share;
        density += pieces_[i].weight * s.density;
      }
      (sum < share ? below : above) = x;
      const double scale = density > 0.0 ? (weights - sum) / density : 0.0;
      const double rises = least_tail < infinity
                               ? scale * math::log((weights - sum) / (weights - share))
                               : (share - sum) / density;
      double next = x + rises;
      const double moved = rises < 0.0 ? -rises : rises;
      if (density > 0.0 && moved <= 1e-8 * scalar_min(scale, least_tail)) return next;
      if (!(next > below && next < above)) next = 0.5 * (below + above);
      x = next;
      if (above - below <= 1e-15 * above) break;
    }
    return x;
  }

  std::array<latency_piece, N> pieces_{};
  std::size_t count_ = 0;
};

}  // namespace detail

/// Part of a latency mixture, for a share `weight` of all requests or tokens. Its latency is `from`
/// plus one random term: uniform between 0 and `range`, or exponential with mean `tail`. Both are 0
/// for a constant latency.
template <Scalar T = double>
struct basic_latency_part {
  T weight{};
  duration<T> from{};
  duration<T> range{};
  duration<T> tail{};
};

/// Mixture distribution: the weighted sum of the distributions of its parts. Quantiles are exact.
template <Scalar T = double>
class basic_latency_distribution {
 public:
  /// Most parts: three of a pipeline, and one each of own prefills, preemptions and drafts.
  static constexpr std::size_t capacity = 6;

  constexpr void add(const basic_latency_part<T>& p) { parts_[count_++] = p; }

  /// Copy with all weights multiplied by `share`, to add parts for the other requests or tokens.
  constexpr basic_latency_distribution for_share(const T& share) const {
    basic_latency_distribution all = *this;
    for (std::size_t i = 0; i < count_; ++i) all.parts_[i].weight = share * all.parts_[i].weight;
    return all;
  }

  /// Adds a constant and an exponential wait of mean `wait` to all parts, except the first `skip`.
  /// Two exponential terms become one with the sum of their means (an approximation). Of a range
  /// and a wait, the one of the smaller deviation becomes its mean.
  constexpr void delay(const duration<T>& constant, const duration<T>& wait, std::size_t skip = 0) {
    for (std::size_t i = skip; i < count_; ++i) {
      basic_latency_part<T>& p = parts_[i];
      p.from += constant;
      const bool is_ranged = upper(p.range.value()) > 0.0 && upper(wait.value()) > 0.0;
      if (is_ranged && 3.4641016151377544 * upper(wait.value()) < upper(p.range.value())) {
        p.from += wait;  // a range has a deviation of range / sqrt(12)
        continue;
      }
      if (is_ranged) {
        p.from += 0.5 * p.range;
        p.range = {};
      }
      p.tail += wait;
    }
  }

  /// Mean: sum of weight x (from + range / 2 + tail) / sum of weights.
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
  /// Errors: a share outside 0 to 1; 1 with an exponential part, which has no largest latency.
  /// Tests: uniform, constant and exponential parts by hand (exponential: -ln(1 - share) x mean);
  /// bisection of share_within; never falls with the share.
  constexpr duration<T> quantile(double share) const {
    detail::fraction("share", share);
    for (std::size_t i = 0; i < count_; ++i) {
      if (share == 1.0 && upper(parts_[i].tail.value()) > 0.0)
        detail::out_of_range("share", share, "0 to less than 1");
    }
    if constexpr (detail::Range<T>) {
      // An interval weight counts where it is worse: late parts with the upper end, early with the
      // lower.
      const auto lo = [](const T& x) { return x.lo(); };
      const auto hi = [](const T& x) { return x.hi(); };
      const double low = pieces(hi, lo).quantile(share);
      return duration<T>::from_value(T(low, scalar_max(low, pieces(lo, hi).quantile(share))));
    } else {
      return carried(middle_pieces().quantile(share), share);
    }
  }

  /// Share of requests or tokens with at most this latency.
  /// Test: the inverse of quantile.
  constexpr double share_within(const duration<>& latency) const {
    return middle_pieces().share_below(latency.value());
  }

  constexpr std::size_t size() const { return count_; }
  constexpr const basic_latency_part<T>& operator[](std::size_t i) const { return parts_[i]; }

 private:
  constexpr auto middle_pieces() const {
    const auto middle = [](const T& x) { return mid(x); };
    return pieces(middle, middle);
  }

  template <class Weight, class Time>
  constexpr detail::latency_pieces<capacity> pieces(const Weight& weight, const Time& time) const {
    detail::latency_pieces<capacity> all;
    for (std::size_t i = 0; i < count_; ++i) {
      const basic_latency_part<T>& p = parts_[i];
      const double from = time(p.from.value());
      all.add({weight(p.weight), from, from + time(p.range.value()), time(p.tail.value())});
    }
    return all;
  }

  /// Adds derivatives to the quantile `at`. Where the distribution rises they come from one Newton
  /// step on it (implicit function theorem); at a constant latency they are those of the latency.
  constexpr duration<T> carried(double at, double share) const {
    if constexpr (std::is_floating_point_v<T>) {
      return duration<T>::from_value(T(at));
    } else {
      using math::exp;
      T below{}, nearest{};
      double density = 0.0;
      double distance = detail::infinity;
      const auto look = [&](const T& end) {
        const double away = mid(end) > at ? mid(end) - at : at - mid(end);
        if (away < distance) {
          distance = away;
          nearest = end;
        }
      };
      for (std::size_t i = 0; i < count_; ++i) {
        const basic_latency_part<T>& p = parts_[i];
        const T from = p.from.value(), range = p.range.value(), tail = p.tail.value();
        look(from);
        if (mid(tail) > 0.0) {
          if (!(at > mid(from))) continue;
          const T left = exp(T((from - at) / tail));
          below += p.weight * (T(1.0) - left);
          density += mid(p.weight) * mid(left) / mid(tail);
          continue;
        }
        look(from + range);
        if (at >= mid(from) + mid(range)) {
          below += p.weight;
        } else if (at > mid(from)) {
          below += p.weight * (at - from) / range;
          density += mid(p.weight) / mid(range);
        }
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
