// Random numbers that are the same on every machine.
#pragma once

#include <cmath>
#include <cstdint>

namespace perfmodel_test {

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}
  /// Uniform in (0, 1).
  double uniform() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
  }
  double uniform(double lo, double hi) { return lo + (hi - lo) * uniform(); }
  /// Uniform in the logarithm.
  double log_uniform(double lo, double hi) { return std::exp(uniform(std::log(lo), std::log(hi))); }
  double exponential(double mean) { return -mean * std::log(uniform()); }

 private:
  std::uint64_t state_;
};

}  // namespace perfmodel_test
