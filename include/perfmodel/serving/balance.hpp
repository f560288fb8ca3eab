// Little's law on the tokens being decoded: the batch at which what arrives is what is served.
#pragma once

#include <array>
#include <perfmodel/scalar/choose.hpp>
#include <perfmodel/scalar/math.hpp>
#include <utility>

namespace perfmodel::detail {

/// Looks for the batch b at which as many sequences are in service as arrive during their answers,
/// `arriving` (b) = b, between 0 and `largest`. Over ln b the logarithm of arriving / b is close to a
/// line: it grows, and then closes in from both sides, by inverse interpolation of its last three
/// points (Brent, "Algorithms for minimization without derivatives", 1973, section 4.2), and by bisection
/// where two of these have not halved it, which converges for any function. Where `arriving` jumps past
/// b it takes the upper side, at which no queue grows.
/// Times of passes step, and several batches may be balanced. With `apart` it is the first of them from below, where
/// a service comes to that starts empty: inf { b: arriving (b) <= b } is no less where more arrives at each b,
/// whatever the shape of `arriving`, and room for more has no other. From 1 it climbs by powers of 2^(1/8), past all
/// that are below what arrives (as `arriving` rises, none of them is balanced: Tarski, "A lattice-theoretical
/// fixpoint theorem and its applications", 1955); then ends that are `apart` are halved, at the same batches
/// whatever arrives and whatever `largest` is, and then it closes in.
class balance_search {
 public:
  constexpr explicit balance_search(double largest, double apart = infinity)
      : largest_(largest), apart_(apart), guess_(scalar_min(1.0, largest)) {}

  constexpr double guess() const { return guess_; }
  constexpr bool done() const { return done_; }

  constexpr void learn(double arriving) {
    if (done_) return;
    const double excess = arriving - guess_;
    const bool exact = excess <= 1e-13 * guess_ && excess >= -1e-13 * guess_;
    done_ = exact || (excess > 0.0 && guess_ >= largest_);
    if (done_) return;
    (excess > 0.0 ? below_ : above_) = guess_;
    seen_ = {point{guess_, math::log(arriving / guess_)}, seen_[0], seen_[1]};
    ++steps_;
    if (apart_ < infinity && above_ == infinity && guess_ >= 1.0) {
      climb(arriving);
      return;
    }
    if (above_ < largest_) top_ = scalar_min(top_, above_);
    while (below_ >= 1.0 && top_ > apart_ * below_) {
      const double middle = math::sqrt(below_ * top_);
      if (middle < largest_) {
        guess_ = middle;
        return;
      }
      top_ = middle;
    }
    above_ < infinity ? close_in(arriving) : grow(arriving);
  }

 private:
  struct point {
    double batch = 1.0;
    double ratio = infinity;  ///< ln (arriving / batch)
  };

  /// To the next power, or the last that is not above what arrives.
  constexpr void climb(double arriving) {
    constexpr double power = 1.0905077326652577;
    do {
      top_ *= power;
    } while (top_ * power <= arriving && top_ < largest_);
    guess_ = scalar_min(top_, largest_);
  }
  constexpr void grow(double arriving) {
    const double next = interpolated();
    const double doubled = scalar_max(arriving, 2.0 * guess_);
    guess_ = scalar_min(largest_, next > arriving && next < 8.0 * doubled ? next : doubled);
  }
  constexpr void close_in(double arriving) {
    const double next = steps_ == 1 ? arriving : interpolated();
    guess_ = next > below_ && next < above_ ? next : 0.5 * (below_ + above_);
    if (above_ - below_ <= 1e-14 * above_ || steps_ > 300) {
      guess_ = above_;
      done_ = true;
    }
  }

  static constexpr double size(double x) { return x < 0.0 ? -x : x; }

  /// Where the ratio of the last three points, or of two, would be 0; none where it has not halved.
  constexpr double interpolated() const {
    const auto& [a, b, c] = seen_;
    if (steps_ < 2 || size(a.ratio) > 0.5 * size(c.ratio)) return not_a_number;
    const double to_b = math::log(b.batch / a.batch), to_c = math::log(c.batch / a.batch);
    const double by_two = to_b * a.ratio / (a.ratio - b.ratio);
    const double by_three = to_b * a.ratio / (b.ratio - a.ratio) * c.ratio / (b.ratio - c.ratio) +
                            to_c * a.ratio / (c.ratio - a.ratio) * b.ratio / (c.ratio - b.ratio);
    const double at = a.batch * math::exp(by_three);
    return at > below_ && at < above_ ? at : a.batch * math::exp(by_two);
  }

  double largest_;
  double apart_;
  double guess_;
  std::array<point, 3> seen_{};
  double below_ = 0.0, above_ = infinity;
  double top_ = 1.0;  ///< of the ends that are halved, beyond `largest` too
  int steps_ = 0;
  bool done_ = false;
};

/// The balanced batch of every lane; arriving(batch, lane values out) is asked for all at once.
template <Scalar T, class Arriving, class EndOf>
constexpr std::array<double, lanes_of<T>::count> balanced_lanes(const T& largest,
                                                                const Arriving& arriving,
                                                                const EndOf& end_of, double apart) {
  constexpr std::size_t n = lanes_of<T>::count;
  const auto search_of = [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::array<balance_search, n>{balance_search(end_of(largest, Index), apart)...};
  };
  std::array<balance_search, n> search = search_of(std::make_index_sequence<n>());
  const auto busy = [&] {
    bool any = false;
    for (const balance_search& s : search) any = any || !s.done();
    return any;
  };
  const auto guess = [&](std::size_t lane) { return search[lane].guess(); };
  while (busy()) {
    const T in_flight = arriving(from_lanes<T>(guess));
    for (std::size_t i = 0; i < n; ++i) search[i].learn(end_of(in_flight, i));
  }
  std::array<double, n> batch{};
  for (std::size_t i = 0; i < n; ++i) batch[i] = guess(i);
  return batch;
}

/// The batch b with arriving(b) = b, at most `largest`. A range is solved at both ends; a scalar
/// with derivatives takes one step of Newton's method from the root, which carries them (implicit
/// function theorem). A derivation takes the root as given. `apart`: balance_search.
template <Scalar T, class Arriving>
constexpr T balanced_batch(const T& largest, const Arriving& arriving, double apart = infinity) {
  if constexpr (Range<T>) {
    const auto low = [](const T& x, std::size_t) { return x.lo(); };
    const auto high = [](const T& x, std::size_t) { return x.hi(); };
    const double lo = balanced_lanes(largest, arriving, low, apart)[0];
    return T(lo, scalar_max(lo, balanced_lanes(largest, arriving, high, apart)[0]));
  } else {
    const auto root = balanced_lanes(
        largest, arriving, [](const T& x, std::size_t i) { return lanes_of<T>::lane(x, i); },
        apart);
    const T b = from_lanes<T>([&](std::size_t lane) { return root[lane]; });
    if constexpr (requires(const T& x) { x.partial(std::size_t{0}); }) {
      const T excess = arriving(b) - b;
      if (mid(excess) > 1e-9 * root[0]) return largest;  // it cannot keep up
      const double h = 1e-6 * root[0];
      const double slope =
          (mid(arriving(T(root[0] + h))) - mid(arriving(T(root[0] - h)))) / (2.0 * h);
      return mid(excess) < -1e-9 * root[0] ? b : b + excess / (1.0 - slope);
    } else {
      return b;
    }
  }
}

}  // namespace perfmodel::detail
