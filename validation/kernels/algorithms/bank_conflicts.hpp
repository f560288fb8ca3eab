// Bank of a word in shared memory, and the ways of conflict among the words of a warp.
#pragma once

#include <array>

#include "host_device.hpp"

namespace perfmodel::validation {

inline constexpr int banks =
    32;  ///< banks of 4 bytes each. Source: CUDA C++ Programming Guide, shared memory

/// Position of element (row, column) in a tile of 32 x 32 words with columns swizzled by XOR with
/// the row: a row's words stay in the row, and a column's words are in 32 different banks.
/// Test: a bijection of the tile; rows and columns without conflicts.
PERFMODEL_HOST_DEVICE constexpr int swizzled(int row, int column) {
  return row * banks + (column ^ (row % banks));
}
/// Position with a word of padding after each row.
PERFMODEL_HOST_DEVICE constexpr int padded(int row, int column) {
  return row * (banks + 1) + column;
}

/// Degree of a warp's bank conflict: the most distinct words that its 32 lanes request in one bank,
/// so the number of shared-memory wavefronts.
/// Test: stride s collides gcd(s, 32) ways.
template <class WordOfLane>
constexpr int conflict_ways(WordOfLane word) {
  int most = 0;
  for (int bank = 0; bank < banks; ++bank) {
    std::array<int, 32> seen{};
    int distinct = 0;
    for (int lane = 0; lane < 32; ++lane) {
      const int w = word(lane);
      if (w % banks != bank) continue;
      bool known = false;
      for (int i = 0; i < distinct; ++i) known = known || seen[static_cast<std::size_t>(i)] == w;
      if (!known) seen[static_cast<std::size_t>(distinct++)] = w;
    }
    most = distinct > most ? distinct : most;
  }
  return most;
}

}  // namespace perfmodel::validation
