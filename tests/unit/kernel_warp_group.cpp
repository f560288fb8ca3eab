// Operands of a warp group's products in shared memory: what is written where swizzled_byte says is
// what the tensor cores read, by the canonical layouts of the PTX ISA (Swizzle<3,4,3> of "128B").
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <set>

#include "kernels/algorithms/fragments.hpp"

namespace unit_kernel_warp_group {

namespace pv = perfmodel::validation;

namespace {

struct fields {
  std::uint32_t address, leading, stride, swizzle, rest;
};

/// By the ISA's table of the descriptor: bits 0-13, 16-29, 32-45, 62-63; the others are 0.
fields fields_of(std::uint64_t d) {
  const auto at = [&](unsigned bit) {
    return static_cast<std::uint32_t>(d >> bit & 0x3FFFU) << 4U;
  };
  return {at(0), at(16), at(32), static_cast<std::uint32_t>(d >> 62U),
          static_cast<std::uint32_t>((d >> 14U & 3U) | (d >> 30U & 3U) | (d >> 46U & 0xFFFFU))};
}

/// Address bits 4 to 6 xor bits 7 to 9.
std::uint32_t swizzled(std::uint32_t address) {
  return address ^ (address >> 7U & 7U) << 4U;
}

/// K-major: ((8, m), (T, 2 k)) : ((8 T, SBO), (1, T)) in elements, T of them in 16 bytes.
std::uint32_t along_k(std::uint64_t d, std::uint32_t row, std::uint32_t byte) {
  const fields f = fields_of(d);
  return swizzled(f.address + row / 8 * f.stride + row % 8 * 128 + byte);
}

/// MN-major, 16 bits: ((T, 8, m), (8, k)) : ((1, T, LBO), (8 T, SBO)), T = 8.
std::uint32_t along_n(std::uint64_t d, std::uint32_t column, std::uint32_t k) {
  const fields f = fields_of(d);
  return swizzled(f.address + column / 64 * f.leading + column % 64 * 2 + k / 8 * f.stride +
                  k % 8 * 128);
}

}  // namespace

TEST_CASE("kernel warp group: a descriptor's fields are where the ISA has them") {
  const fields f = fields_of(pv::operand_descriptor(0x2C400, 16384, 1024));
  CHECK(f.address == 0x2C400);
  CHECK(f.leading == 16384);
  CHECK(f.stride == 1024);
  CHECK(f.swizzle == 1);
  CHECK(f.rest == 0);
}

TEST_CASE(
    "kernel warp group: a panel's swizzle separates rows and distributes a column over banks") {
  std::set<int> all;
  for (int row = 0; row < 64; ++row) {
    for (int byte = 0; byte < 128; ++byte) all.insert(pv::swizzled_byte(row, byte));
  }
  CHECK(all.size() == std::size_t{64} * 128);
  CHECK(*all.rbegin() == 64 * 128 - 1);
  std::set<int> chunks;
  for (int row = 0; row < 8; ++row) chunks.insert(pv::swizzled_byte(row, 48) % 128 / 16);
  CHECK(chunks.size() == 8);
}

TEST_CASE("kernel warp group: rows along k are read as they were written") {
  constexpr std::uint32_t base = 5 * 1024;
  for (std::uint32_t step = 0; step < 4; ++step) {
    const std::uint64_t d = pv::operand_descriptor(base, 0, 1024) + 2 * step;
    for (std::uint32_t row = 0; row < 256; ++row) {
      for (std::uint32_t byte = 0; byte < 32; ++byte) {
        const int at = pv::swizzled_byte(static_cast<int>(row), static_cast<int>(32 * step + byte));
        REQUIRE(along_k(d, row, byte) == base + static_cast<std::uint32_t>(at));
      }
    }
  }
}

TEST_CASE("kernel warp group: rows along n, in two panels of 64, are read as they were written") {
  // 128 keys of 128 values: a panel is 128 rows of 128 bytes.
  constexpr std::uint32_t base = 96 * 1024, panel = 128 * 128;
  for (std::uint32_t step = 0; step < 8; ++step) {
    const std::uint64_t d = pv::operand_descriptor(base + step * 16 * 128, panel, 1024);
    for (std::uint32_t key = 0; key < 16; ++key) {
      for (std::uint32_t column = 0; column < 128; ++column) {
        const int at =
            pv::swizzled_byte(static_cast<int>(16 * step + key), static_cast<int>(column % 64 * 2));
        REQUIRE(along_n(d, column, key) ==
                base + column / 64 * panel + static_cast<std::uint32_t>(at));
      }
    }
  }
}

}  // namespace unit_kernel_warp_group
