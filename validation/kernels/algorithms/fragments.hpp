// How the lanes of a warp hold the operands of one tensor-core product.
#pragma once

#include <array>
#include <cstdint>

#include "host_device.hpp"

namespace perfmodel::validation {

/// Where a lane's value i of a fragment lies in its matrix.
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

}  // namespace perfmodel::validation
