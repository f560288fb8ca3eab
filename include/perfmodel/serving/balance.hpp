// Solver for the mean decode batch: the batch b with f(b) = b, where f(b) is the number of
// sequences in flight by Little's law.
#pragma once

#include <array>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel::inline v0_3::detail {

/// Search for the fixed point f(b) = b with 0 < b <= `largest`. f(b) is the number of sequences in
/// flight (arrival rate x time in service) if the decode batch is b. f need not be monotone.
///
/// Default: the search increases b until f(b) < b. It then narrows the bracket by inverse quadratic
/// interpolation of ln(f(b) / b), which is almost linear in ln b. It bisects whenever the last two
/// steps did not halve the residual, and therefore converges for any f. Where f jumps across b, the
/// result is the upper end of the bracket, at which no queue grows.
///
/// With a finite `resolution`: step times are discontinuous, so several fixed points may exist. The
/// result is the lowest, inf{b : f(b) <= b}, which a service reaches from an empty state. It never
/// decreases when f increases. The search climbs from 1 by factors of 2^(1/8), bisects to a ratio
/// of `resolution` on a grid that does not depend on f or `largest`, and ends as by default. It
/// evaluates no value between b and f(b): for a rising f, none of them is a fixed point (Tarski).
/// If f falls there and leaves no root, the search continues between evaluated values.
/// Source: Brent, "Algorithms for Minimization without Derivatives", 1973, section 4.2; Tarski, "A
/// lattice-theoretical fixpoint theorem and its applications", 1955.
/// Test: tests/unit/balance.cpp, tests/unit/balanced_batch.cpp.
class balance_search {
 public:
  constexpr explicit balance_search(double largest, double resolution = infinity)
      : largest_(largest), resolution_(resolution), guess_(scalar_min(1.0, largest)) {}

  /// Batch at which the caller evaluates f next; the fixed point once `done()`.
  constexpr double guess() const { return guess_; }
  constexpr bool done() const { return done_; }

  /// Takes f(guess()) and chooses the next guess.
  constexpr void learn(double in_flight) {
    if (done_) return;
    const double excess = in_flight - guess_;
    const bool exact = excess <= 1e-13 * guess_ && excess >= -1e-13 * guess_;
    done_ = exact || (excess > 0.0 && guess_ >= largest_);
    if (done_) return;
    (excess > 0.0 ? below_ : above_) = guess_;
    (excess > 0.0 ? least_ : most_) = {guess_, in_flight};
    seen_ = {point{guess_, math::log(in_flight / guess_)}, seen_[0], seen_[1]};
    ++steps_;
    if (resolution_ < infinity && above_ == infinity && guess_ >= 1.0) {
      climb(in_flight);
      return;
    }
    if (above_ < largest_) top_ = scalar_min(top_, above_);
    while (below_ >= 1.0 && top_ > resolution_ * below_) {
      const double middle = math::sqrt(below_ * top_);
      if (middle >= largest_) {
        top_ = middle;
      } else if (middle < least_.in_flight) {
        below_ = middle;
      } else if (middle > most_.in_flight) {
        top_ = above_ = middle;
      } else {
        guess_ = middle;
        return;
      }
    }
    above_ < infinity ? close_in(in_flight) : grow(in_flight);
  }

 private:
  struct point {
    double batch = 1.0;
    double ratio = infinity;  ///< ln(f(batch) / batch), the residual
  };

  /// Multiplies the guess by 2^(1/8), once at least, until it exceeds f(b).
  constexpr void climb(double in_flight) {
    constexpr double power = 1.0905077326652577;
    do {
      below_ = top_;
      top_ *= power;
    } while (top_ <= in_flight && top_ < largest_);
    guess_ = scalar_min(top_, largest_);
  }
  /// Increases the guess while no upper bracket is known.
  constexpr void grow(double in_flight) {
    const double next = interpolated();
    const double doubled = scalar_max(in_flight, 2.0 * guess_);
    guess_ = scalar_min(largest_, next > in_flight && next < 8.0 * doubled ? next : doubled);
  }
  /// Chooses the next guess inside the bracket from `below_` to `above_`.
  constexpr void close_in(double in_flight) {
    const double next = steps_ == 1 ? in_flight : interpolated();
    guess_ = next > below_ && next < above_ ? next : 0.5 * (below_ + above_);
    if (above_ - below_ > 1e-14 * above_ && steps_ <= 300) return;
    if (skips_ && (least_.batch < below_ || above_ < most_.batch)) {
      skips_ = false;  // f is not rising: no root between ends that were not evaluated
      top_ = below_ = least_.batch;
      above_ = most_.batch;
      guess_ = 0.5 * (below_ + above_);
      return;
    }
    guess_ = above_;
    done_ = true;
  }

  static constexpr double magnitude(double x) { return x < 0.0 ? -x : x; }

  /// Root of the residual ln(f(b) / b), by inverse interpolation of the last three points, or of
  /// two if three leave the bracket. Returns not-a-number if the last two steps did not halve the
  /// residual.
  constexpr double interpolated() const {
    const auto& [a, b, c] = seen_;
    if (steps_ < 2 || magnitude(a.ratio) > 0.5 * magnitude(c.ratio)) return not_a_number;
    if (magnitude(a.ratio) == infinity || magnitude(b.ratio) == infinity || a.ratio == b.ratio) {
      return not_a_number;
    }
    const double to_b = math::log(b.batch / a.batch), to_c = math::log(c.batch / a.batch);
    const double by_two = to_b * a.ratio / (a.ratio - b.ratio);
    if (magnitude(c.ratio) == infinity || c.ratio == a.ratio || c.ratio == b.ratio) {
      return a.batch * math::exp(by_two);
    }
    const double by_three = to_b * a.ratio / (b.ratio - a.ratio) * c.ratio / (b.ratio - c.ratio) +
                            to_c * a.ratio / (c.ratio - a.ratio) * b.ratio / (c.ratio - b.ratio);
    const double at = a.batch * math::exp(by_three);
    return at > below_ && at < above_ ? at : a.batch * math::exp(by_two);
  }

  double largest_;
  double resolution_;
  double guess_;
  std::array<point, 3> seen_{};
  struct evaluated {
    double batch = 0.0, in_flight = 0.0;
  };
  evaluated least_{}, most_{infinity, infinity};  ///< last ones below and above a root
  double below_ = 0.0, above_ = infinity;
  double top_ = 1.0;  ///< upper end of the bisection; may exceed `largest_`
  int steps_ = 0;
  bool skips_ = true, done_ = false;
};

/// Fixed point of one number of a scalar, which end_of(x) takes from it.
template <Scalar T, class InFlight, class EndOf>
constexpr double balanced_end(const T& largest, const InFlight& in_flight, const EndOf& end_of,
                              double resolution) {
  balance_search search(end_of(largest), resolution);
  while (!search.done()) search.learn(end_of(in_flight(T(search.guess()))));
  return search.guess();
}

/// The fixed point b = in_flight(b), at most `largest`. An interval is solved at both of its ends.
/// A dual number does one Newton step from the root, so that the result has its derivatives
/// (implicit function theorem). The scalar that records formulas records the root as a constant.
/// `resolution`: see balance_search.
template <Scalar T, class InFlight>
constexpr T balanced_batch(const T& largest, const InFlight& in_flight,
                           double resolution = infinity) {
  if constexpr (Range<T>) {
    const auto low = [](const T& x) { return x.lo(); };
    const auto high = [](const T& x) { return x.hi(); };
    const double lo = balanced_end(largest, in_flight, low, resolution);
    return T(lo, scalar_max(lo, balanced_end(largest, in_flight, high, resolution)));
  } else {
    const auto middle = [](const T& x) { return mid(x); };
    const double root = balanced_end(largest, in_flight, middle, resolution);
    const T b(root);
    if constexpr (requires(const T& x) { x.partial(std::size_t{0}); }) {
      const T excess = in_flight(b) - b;
      if (mid(excess) > 1e-9 * root) return largest;  // it cannot keep up
      const double h = 1e-6 * root;
      const double slope = (mid(in_flight(T(root + h))) - mid(in_flight(T(root - h)))) / (2.0 * h);
      return mid(excess) < -1e-9 * root ? b : b + excess / (1.0 - slope);
    } else {
      return b;
    }
  }
}

}  // namespace perfmodel::inline v0_3::detail
