// Weights in 8 and 4 bits with a scale for every block along k.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host_device.hpp"

namespace perfmodel::validation {

/// Eight signed 4-bit values in a word: value i in bits 4 i to 4 i + 3, in two's complement, -8 to 7.
/// Test: every value survives; neighbours do not touch each other.
PERFMODEL_HOST_DEVICE constexpr int nibble_of(std::uint32_t word, int i) {
  const int v = static_cast<int>(word >> (4 * i) & 0xFU);
  return v >= 8 ? v - 16 : v;
}
PERFMODEL_HOST_DEVICE constexpr std::uint32_t with_nibble(std::uint32_t word, int i, int value) {
  const std::uint32_t mask = 0xFU << (4 * i);
  return (word & ~mask) | (static_cast<std::uint32_t>(value) << (4 * i) & mask);
}

/// Four signed 8-bit values in a word, alike.
PERFMODEL_HOST_DEVICE constexpr int byte_of(std::uint32_t word, int i) {
  const int v = static_cast<int>(word >> (8 * i) & 0xFFU);
  return v >= 128 ? v - 256 : v;
}

/// Of a matrix with k columns, blocks of `block` of them: the scale of (row, column).
PERFMODEL_HOST_DEVICE constexpr std::size_t scale_index(std::size_t row, std::size_t column,
                                                        std::size_t k, std::size_t block) {
  return row * (k / block) + column / block;
}

/// What a stored value stands for.
PERFMODEL_HOST_DEVICE constexpr float dequantised(int value, float scale) {
  return static_cast<float>(value) * scale;
}

}  // namespace perfmodel::validation
