// How the lanes of a warp hold the operands of one tensor-core product.
#pragma once

#include <array>
#include <cstdint>

#include "host_device.hpp"

namespace perfmodel::validation {

/// Position of a lane's value i of a fragment in its matrix.
struct place {
  int row, column;
};

/// mma.m16n8k16 for 16-bit values (PerRegister = 2) and mma.m16n8k32 for 8-bit values (4): a is
/// 16 x 8 PerRegister in 4 registers, b is 8 PerRegister x 8 in 2, d is 16 x 8 in 4 of fp32.
/// Source: NVIDIA PTX ISA, "Matrix Fragments for mma.m16n8k16" and "... m16n8k32".
/// Test: the 32 lanes hold every element of a, b and d exactly once.
template <int PerRegister>
PERFMODEL_HOST_DEVICE constexpr place place_of_a(int lane, int i) {
  const int reg = i / PerRegister;
  return {lane / 4 + (reg % 2 == 1 ? 8 : 0),
          lane % 4 * PerRegister + i % PerRegister + (reg >= 2 ? 4 * PerRegister : 0)};
}
template <int PerRegister>
PERFMODEL_HOST_DEVICE constexpr place place_of_b(int lane, int i) {
  return {lane % 4 * PerRegister + i % PerRegister + (i / PerRegister == 1 ? 4 * PerRegister : 0),
          lane / 4};
}
PERFMODEL_HOST_DEVICE constexpr place place_of_d(int lane, int i) {
  return {lane / 4 + (i >= 2 ? 8 : 0), lane % 4 * 2 + i % 2};
}

// --- operands in shared memory, for wgmma -------------------------------------------------------
//
// Rows of 128 bytes in groups of eight (1024 bytes, aligned to 1024) with swizzled 16-byte chunks:
// Hopper's mode "128B". A matrix with longer rows is cut into panels of 128 bytes.
// Source: NVIDIA PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout".

/// Position of byte `byte` (below 128) of row `row` in a panel: chunk xor row % 8.
PERFMODEL_HOST_DEVICE constexpr int swizzled_byte(int row, int byte) {
  return row * 128 + ((byte / 16 ^ row % 8) * 16) + byte % 16;
}

/// The 64 bits that stand for an operand at shared address `address`. Rows along k ("K-major"):
/// `stride` is from eight rows to the next eight, `leading` means nothing. Rows along m or n
/// ("MN-major", transposed): `stride` is from eight rows of k to the next eight, `leading` from a
/// panel of 64 columns to the next. Steps along k add to the address.
/// Test: kernel_warp_group.cpp walks the canonical layouts of the ISA.
PERFMODEL_HOST_DEVICE constexpr std::uint64_t operand_descriptor(std::uint32_t address,
                                                                 std::uint32_t leading,
                                                                 std::uint32_t stride) {
  constexpr std::uint64_t swizzle_128 = 1;
  const auto field = [](std::uint32_t bytes) {
    return static_cast<std::uint64_t>((bytes & 0x3FFFFU) >> 4U);
  };
  return field(address) | field(leading) << 16U | field(stride) << 32U | swizzle_128 << 62U;
}

}  // namespace perfmodel::validation
