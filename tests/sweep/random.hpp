// Numbers for the sweep that are the same on every machine: whole numbers only until the last step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace perfmodel_sweep {

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
class random {
 public:
  explicit random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  /// 0 .. n - 1.
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

  /// lo .. hi, every doubling as likely as every other: a number of bits first, then the number.
  double log_uniform(std::uint64_t lo, std::uint64_t hi) {
    const std::uint64_t first = bits(lo);
    const std::uint64_t length = first + below(bits(hi) - first + 1);
    std::uint64_t x = (std::uint64_t{1} << (length - 1)) + below(std::uint64_t{1} << (length - 1));
    if (x < lo) x = lo;
    if (x > hi) x = hi;
    return static_cast<double>(x);
  }
  /// lo .. hi, every number as likely as every other.
  double uniform(std::uint64_t lo, std::uint64_t hi) {
    return static_cast<double>(lo + below(hi - lo + 1));
  }
  template <class X, std::size_t N>
  const X& one_of(const std::array<X, N>& from) {
    return from[static_cast<std::size_t>(below(N))];
  }

 private:
  static std::uint64_t bits(std::uint64_t x) {
    std::uint64_t n = 1;
    while (x > 1) {
      x >>= 1U;
      ++n;
    }
    return n;
  }
  std::uint64_t state_;
};

}  // namespace perfmodel_sweep
