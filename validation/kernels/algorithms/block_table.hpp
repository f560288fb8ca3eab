// Position of a token's keys in a paged cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "host_device.hpp"

namespace perfmodel::validation {

/// Row of `position` for KV head 0 in a paged KV cache, counted from block 0. A block has 2^shift
/// positions for every KV head, one head's rows after the other's; head g is g 2^shift rows
/// further. Source: Kwon et al., "PagedAttention", SOSP 2023, section 4.
/// Test: with one block a sequence, the contiguous layout.
PERFMODEL_HOST_DEVICE constexpr std::size_t paged_position(int block, int position, int shift,
                                                           int kv_heads) {
  const int size = 1 << shift;
  return static_cast<std::size_t>(block) * static_cast<std::size_t>(kv_heads) *
             static_cast<std::size_t>(size) +
         static_cast<std::size_t>(position & (size - 1));
}

/// Physical blocks of `sequences` x `blocks` logical ones: in order, or shuffled, each used once.
inline std::vector<int> block_table(int sequences, int blocks, bool shuffled, std::uint32_t seed) {
  std::vector<int> table(static_cast<std::size_t>(sequences) * static_cast<std::size_t>(blocks));
  std::iota(table.begin(), table.end(), 0);
  if (!shuffled) return table;
  std::mt19937 random(seed);
  for (std::size_t i = table.size(); i-- > 1;) {
    std::swap(table[i], table[std::uniform_int_distribution<std::size_t>(0, i)(random)]);
  }
  return table;
}

}  // namespace perfmodel::validation
