// Little's law on the tokens being decoded: the batch at which what arrives is what is served.
#pragma once

#include <array>
#include <perfmodel/scalar/choose.hpp>
#include <utility>

namespace perfmodel::detail {

/// Looks for the batch b at which as many sequences are in service as arrive during their answers,
/// `arriving` (b) = b, between 0 and `largest`. Doubles b until it suffices, then closes in from both
/// sides: by secants, with a bisection every third time, which converges for any function. Where
/// `arriving` jumps past b it takes the upper side, at which no queue grows.
class balance_search {
 public:
  constexpr explicit balance_search(double largest)
      : largest_(largest), guess_(scalar_min(1.0, largest)) {}

  constexpr double guess() const { return guess_; }
  constexpr bool done() const { return done_; }

  constexpr void learn(double arriving) {
    if (done_) return;
    const double excess = arriving - guess_;
    const bool exact = excess <= 1e-13 * guess_ && excess >= -1e-13 * guess_;
    if (exact || (excess > 0.0 && guess_ >= largest_)) {
      done_ = true;
    } else if (excess > 0.0) {
      if (last_ > 0) above_.excess *= 0.5;  // Illinois: the end that stays counts for less
      below_ = {guess_, excess};
      last_ = 1;
      bounded_ ? close_in() : grow(arriving);
    } else {
      if (last_ < 0) below_.excess *= 0.5;
      above_ = {guess_, excess};
      last_ = -1;
      bounded_ = true;
      close_in();
    }
  }

 private:
  struct point {
    double batch = 0.0;
    double excess = 0.0;
  };

  constexpr void grow(double arriving) {
    guess_ = scalar_min(largest_, scalar_max(arriving, 2.0 * guess_));
  }
  constexpr void close_in() {
    const double width = above_.batch - below_.batch;
    const double share = below_.excess / (below_.excess - above_.excess);
    const bool bisects = ++steps_ % 3 == 0 || !(share > 0.0 && share < 1.0);
    guess_ = below_.batch + (bisects ? 0.5 : share) * width;
    if (width <= 1e-14 * above_.batch || steps_ > 300) {
      guess_ = above_.batch;
      done_ = true;
    }
  }

  double largest_;
  double guess_;
  point below_{}, above_{};
  int steps_ = 0, last_ = 0;
  bool bounded_ = false, done_ = false;
};

/// The balanced batch of every lane; arriving(batch, lane values out) is asked for all at once.
template <Scalar T, class Arriving, class EndOf>
constexpr std::array<double, lanes_of<T>::count> balanced_lanes(const T& largest,
                                                                const Arriving& arriving,
                                                                const EndOf& end_of) {
  constexpr std::size_t n = lanes_of<T>::count;
  const auto search_of = [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::array<balance_search, n>{balance_search(end_of(largest, Index))...};
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
/// function theorem). A derivation takes the root as given.
template <Scalar T, class Arriving>
constexpr T balanced_batch(const T& largest, const Arriving& arriving) {
  if constexpr (Range<T>) {
    const auto low = [](const T& x, std::size_t) { return x.lo(); };
    const auto high = [](const T& x, std::size_t) { return x.hi(); };
    const double lo = balanced_lanes(largest, arriving, low)[0];
    return T(lo, scalar_max(lo, balanced_lanes(largest, arriving, high)[0]));
  } else {
    const auto root = balanced_lanes(
        largest, arriving, [](const T& x, std::size_t i) { return lanes_of<T>::lane(x, i); });
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
