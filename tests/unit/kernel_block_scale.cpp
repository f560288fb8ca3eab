#include <array>
#include <bit>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/algorithms/block_scale.hpp"
#include "kernels/common/compare.hpp"

namespace unit_kernel_block_scale {

namespace pv = perfmodel::validation;

TEST_CASE("kernel block scale: a word by hand") {
  // 0x8000007F: nibbles F, 7, 0, 0, 0, 0, 0, 8 from the lowest on; bytes 7F, 0, 0, 80.
  constexpr std::uint32_t word = 0x8000007FU;
  CHECK(pv::nibble_of(word, 0) == -1);
  CHECK(pv::nibble_of(word, 1) == 7);
  CHECK(pv::nibble_of(word, 2) == 0);
  CHECK(pv::nibble_of(word, 7) == -8);
  CHECK(pv::byte_of(word, 0) == 127);
  CHECK(pv::byte_of(word, 1) == 0);
  CHECK(pv::byte_of(word, 3) == -128);
}

TEST_CASE(
    "kernel block scale: every value survives at every place, and leaves its neighbours "
    "unchanged") {
  for (const std::uint32_t around : {0x00000000U, 0xFFFFFFFFU, 0x12345678U}) {
    for (int i = 0; i < 8; ++i) {
      for (int v = -8; v <= 7; ++v) {
        const std::uint32_t word = pv::with_nibble(around, i, v);
        REQUIRE(pv::nibble_of(word, i) == v);
        for (int other = 0; other < 8; ++other) {
          if (other != i) REQUIRE(pv::nibble_of(word, other) == pv::nibble_of(around, other));
        }
      }
    }
  }
}

TEST_CASE("kernel block scale: each value has its block's scale") {
  // 512 columns in blocks of 128: four scales a row.
  CHECK(pv::scale_index(0, 0, 512, 128) == 0);
  CHECK(pv::scale_index(0, 127, 512, 128) == 0);
  CHECK(pv::scale_index(0, 128, 512, 128) == 1);
  CHECK(pv::scale_index(5, 511, 512, 128) == 23);
}

namespace {

float half_of(std::uint32_t pair, int i) {
  return std::bit_cast<float>(pair >> (16 * i) << 16U);
}

}  // namespace

TEST_CASE("kernel block scale: pairs of bf16 stand for the weights that they were made of") {
  for (const std::uint32_t around : {0x00000000U, 0xFFFFFFFFU, 0x12345678U}) {
    for (int i = 0; i < 8; ++i) {
      for (int v = -8; v <= 7; ++v) {
        const std::uint32_t word = pv::with_nibble(around, i, v);
        const std::uint32_t pair =
            (word >> (4 * (i % 4)) & pv::nibble_mask) ^ pv::two_of_nibble_offset;
        REQUIRE(half_of(pair, i / 4) - pv::nibble_offset == static_cast<float>(v));
      }
    }
    for (int i = 0; i < 4; ++i) {
      for (std::uint32_t v = 0; v < 256; ++v) {
        const std::uint32_t word = (around & ~(0xFFU << (8 * i))) | v << (8 * i);
        const std::uint32_t bits = word >> (8 * (i % 2));
        const std::uint32_t low = (bits & pv::low_bits_mask) | pv::two_of_128;
        const std::uint32_t sign = (bits & pv::sign_bits_mask) | pv::two_of_128;
        REQUIRE(half_of(low, i / 2) - half_of(sign, i / 2) ==
                static_cast<float>(static_cast<std::int8_t>(v)));
      }
    }
  }
}

namespace {

enum class fault { none, swap_nibbles, drop_scale };

/// A row of 256 weights in 4 bits, scales of blocks of 64, times a vector.
double error_with(fault f) {
  constexpr std::size_t k = 256, block = 64;
  std::mt19937 random(9);
  std::vector<int> weight(k);
  std::vector<float> x(k);
  const std::array<float, 4> scale{0.5F, 2.0F, 0.125F, 1.5F};
  std::vector<std::uint32_t> words(k / 8, 0U);
  double reference = 0;
  for (std::size_t i = 0; i < k; ++i) {
    weight[i] = static_cast<int>(random() % 16U) - 8;
    x[i] = static_cast<float>(random() % 2048U) / 1024.0F - 1.0F;
    words[i / 8] = pv::with_nibble(words[i / 8], static_cast<int>(i % 8), weight[i]);
    reference += static_cast<double>(weight[i]) * static_cast<double>(scale[i / block]) *
                 static_cast<double>(x[i]);
  }
  float sum = 0.0F;
  for (std::size_t i = 0; i < k; ++i) {
    const std::size_t from = f == fault::swap_nibbles ? i ^ 1U : i;
    const float by = f == fault::drop_scale ? 1.0F : scale[pv::scale_index(0, i, k, block)];
    sum +=
        static_cast<float>(pv::nibble_of(words[from / 8], static_cast<int>(from % 8))) * by * x[i];
  }
  const std::vector<float> result{sum};
  const std::vector<double> wanted{reference};
  return pv::relative_error<float>(result, wanted);
}

}  // namespace

TEST_CASE("kernel block scale: a check sees swapped nibbles and a scale dropped") {
  CHECK(error_with(fault::none) < 1e-5);
  CHECK(error_with(fault::swap_nibbles) > 1e-2);
  CHECK(error_with(fault::drop_scale) > 1e-2);
}

}  // namespace unit_kernel_block_scale
