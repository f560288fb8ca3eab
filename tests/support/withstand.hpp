// Runs a law on meaningless inputs: the output is finite, or a named error.
#pragma once

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <perfmodel/core/error.hpp>
#include <string>

#include "support/random.hpp"

namespace perfmodel_test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr std::array nasty = {0.0,
                                     -0.0,
                                     1.0,
                                     -1.0,
                                     0.5,
                                     2.0,
                                     3.0,
                                     7.0,
                                     8.0,
                                     64.0,
                                     1000.5,
                                     1e-300,
                                     5e-324,
                                     1e15,
                                     1e16,
                                     1e30,
                                     1e31,
                                     1e300,
                                     1.7e308,
                                     -1e308,
                                     infinity,
                                     -infinity,
                                     std::numeric_limits<double>::quiet_NaN()};

struct source_of_trouble {
  random_numbers random{2026};
  double operator()() {
    if (random.uniform() < 0.5) return std::floor(random.log_uniform(1, 1e6));
    return nasty[static_cast<std::size_t>(random.uniform(0, static_cast<double>(nasty.size())))];
  }
  int whole() { return static_cast<int>(random.uniform(-3, 20)); }
};

// Runs the law, and counts what it did; the results it reports must be finite.
template <class Law>
void withstand(const char* name, Law&& law, int rounds = 4000) {
  source_of_trouble x;
  int answered = 0, refused = 0;
  for (int i = 0; i < rounds; ++i) {
    try {
      for (const double result : law(x)) {
        if (!std::isfinite(result)) {
          INFO(name << ", round " << i << ": " << result);
          CHECK(std::isfinite(result));
          return;
        }
      }
      ++answered;
    } catch (const perfmodel::error& e) {
      ++refused;
      CHECK(std::string(e.what()).find("nan") == std::string::npos);
    }
  }
  INFO(name << ": " << answered << " answered, " << refused << " refused");
  CHECK(answered > 0);
  CHECK(refused > 0);
}

}  // namespace perfmodel_test
