// A walk that visits every place once before it returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace perfmodel::validation {

/// next[i]: where to go from i. One cycle through all n places, each of the (n - 1)! alike.
/// Source: S. Sattolo, "An algorithm to generate a random cyclic permutation", Information
/// Processing Letters 22(6), 1986. Errors: none; n = 0 and 1 give what they can.
/// Test: n steps from anywhere lead back, and no fewer do.
inline std::vector<std::uint32_t> random_cycle(std::size_t n, std::uint32_t seed) {
  std::vector<std::uint32_t> next(n);
  for (std::size_t i = 0; i < n; ++i) next[i] = static_cast<std::uint32_t>(i);
  std::mt19937 random(seed);
  for (std::size_t i = n; i-- > 1;) {
    std::uniform_int_distribution<std::size_t> below(0, i - 1);
    std::swap(next[i], next[below(random)]);
  }
  return next;
}

/// Place after `hops` steps from place 0.
inline std::uint32_t walk(const std::vector<std::uint32_t>& next, std::size_t hops) {
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < hops; ++i) at = next[at];
  return at;
}

}  // namespace perfmodel::validation
