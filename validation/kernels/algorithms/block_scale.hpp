// Weights in 8 and 4 bits with a scale for every block along k.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host_device.hpp"

namespace perfmodel::validation {

/// Signed 4-bit value i of the eight in a word: bits 4 i to 4 i + 3, in two's complement, -8 to 7.
/// Test: every value survives a round trip and leaves its neighbours unchanged.
PERFMODEL_HOST_DEVICE constexpr int nibble_of(std::uint32_t word, int i) {
  const int v = static_cast<int>(word >> (4 * i) & 0xFU);
  return v >= 8 ? v - 16 : v;
}
PERFMODEL_HOST_DEVICE constexpr std::uint32_t with_nibble(std::uint32_t word, int i, int nibble) {
  const std::uint32_t mask = 0xFU << (4 * i);
  return (word & ~mask) | (static_cast<std::uint32_t>(nibble) << (4 * i) & mask);
}

/// Four signed 8-bit values in a word, alike.
PERFMODEL_HOST_DEVICE constexpr int byte_of(std::uint32_t word, int i) {
  const int v = static_cast<int>(word >> (8 * i) & 0xFFU);
  return v >= 128 ? v - 256 : v;
}

/// int4 to bf16, two at a time: nibbles i and i + 4 of a word become the halves of ((word >> 4 i) &
/// nibble_mask) ^ two_of_nibble_offset, each too large by nibble_offset. 0x4300 is 128 in bf16, and
/// its last four bits count ones; flipping a nibble's sign bit adds 8. Source: Y. J. Kim et al.,
/// "Who says elephants can't run", 2022, there in fp16. Test: every value, at every place.
inline constexpr std::uint32_t nibble_mask = 0x000F000FU, two_of_nibble_offset = 0x43084308U;
inline constexpr int nibble_offset = 136;

/// int8 to bf16, two at a time: bytes i and i + 2 of a word are the difference of (bits &
/// low_bits_mask | two_of_128) and (bits & sign_bits_mask | two_of_128), bits = word >> 8 i. The
/// first is 128 plus the low seven bits; the second 128, or 256 where the sign bit raises the
/// exponent. Test: every value, at every place.
inline constexpr std::uint32_t low_bits_mask = 0x007F007FU, sign_bits_mask = 0x00800080U;
inline constexpr std::uint32_t two_of_128 = 0x43004300U;

/// Index of the scale of (row, column), for k columns in blocks of `block`.
PERFMODEL_HOST_DEVICE constexpr std::size_t scale_index(std::size_t row, std::size_t column,
                                                        std::size_t k, std::size_t block) {
  return row * (k / block) + column / block;
}

}  // namespace perfmodel::validation
