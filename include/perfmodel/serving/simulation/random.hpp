// Random numbers of simulated workloads, equal on every machine for a seed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace perfmodel::inline v0_3 {

/// Generator of random numbers: SplitMix64.
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
/// Test: the first numbers of seed 0 are those of the published code.
class random_generator {
 public:
  explicit random_generator(std::uint64_t seed = 1) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// Uniform in (0, 1).
  double uniform() { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double exponential(double mean) { return -mean * std::log(uniform()); }
  /// Standard normal. Source: Box and Muller 1958.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
  /// Gamma distribution with mean 1.
  /// Source: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
  double gamma(double shape) {
    const double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0;
    const double c = 1.0 / std::sqrt(9.0 * d);
    const double factor = shape < 1.0 ? std::pow(uniform(), 1.0 / shape) : 1.0;
    for (;;) {
      const double x = normal();
      const double v = std::pow(1.0 + c * x, 3.0);
      if (1.0 + c * x > 0.0 && std::log(uniform()) < x * x / 2.0 + d - d * v + d * std::log(v))
        return factor * d * v / shape;
    }
  }
  /// Time between arrivals with this mean and coefficient of variation: 0 periodic, 1 exponential,
  /// otherwise gamma.
  double interval(double mean, double cv) {
    if (cv == 0.0) return mean;
    return cv == 1.0 ? exponential(mean) : mean * gamma(1.0 / (cv * cv));
  }

 private:
  std::uint64_t state_;
};

/// Distribution of request lengths in tokens. A draw is rounded, and limited to `least` to `most`.
struct length_distribution {
  enum class shape { fixed, lognormal, uniform };
  shape kind = shape::fixed;
  double mean = 1.0;
  double cv = 0.0;               ///< coefficient of variation, of a lognormal distribution
  double low = 1.0, high = 1.0;  ///< ends of a uniform distribution
  int least = 1, most = 1 << 30;

  static length_distribution fixed(double tokens) { return {.mean = tokens}; }
  static length_distribution lognormal(double mean_tokens, double coefficient) {
    return {.kind = coefficient > 0.0 ? shape::lognormal : shape::fixed,
            .mean = mean_tokens,
            .cv = coefficient};
  }
  static length_distribution uniform(double from, double to) {
    return {.kind = shape::uniform, .mean = 0.5 * (from + to), .low = from, .high = to};
  }

  int draw(random_generator& random) const {
    double tokens = mean;
    if (kind == shape::lognormal) {
      const double s2 = std::log1p(cv * cv);
      tokens = mean * std::exp(std::sqrt(s2) * random.normal() - 0.5 * s2);
    } else if (kind == shape::uniform) {
      tokens = std::floor(random.uniform(low, high + 1.0));
    }
    const double limited = std::clamp(tokens, double(least), double(most));
    return static_cast<int>(std::lround(limited));
  }
};

}  // namespace perfmodel::inline v0_3
