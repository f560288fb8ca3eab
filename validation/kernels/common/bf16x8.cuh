// Eight bf16 values as the 16 bytes that one load moves.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <cstring>

namespace perfmodel::validation {

/// The upper half of an fp32 is a bf16, so conversion to fp32 is a shift.
__device__ inline void widen8(uint4 from, float (&to)[8]) {
  const std::uint32_t words[4] = {from.x, from.y, from.z, from.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[2 * i] = __uint_as_float(words[i] << 16U);
    to[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000U);
  }
}

/// Two values, the first in the low half, rounded to nearest.
__device__ inline std::uint32_t narrow2(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  std::uint32_t bits = 0;
  memcpy(&bits, &both, sizeof(bits));
  return bits;
}

/// Two differences, each rounded to nearest.
__device__ inline std::uint32_t subtract2(std::uint32_t of, std::uint32_t less) {
  __nv_bfloat162 a, b;
  memcpy(&a, &of, sizeof(a));
  memcpy(&b, &less, sizeof(b));
  const __nv_bfloat162 difference = __hsub2(a, b);
  std::uint32_t bits = 0;
  memcpy(&bits, &difference, sizeof(bits));
  return bits;
}

__device__ inline uint4 narrow8(const float (&from)[8]) {
  return {narrow2(from[0], from[1]), narrow2(from[2], from[3]), narrow2(from[4], from[5]),
          narrow2(from[6], from[7])};
}

/// `at` and every pointer below are aligned to 16 bytes.
__device__ inline uint4 load8(const __nv_bfloat16* at) {
  return *reinterpret_cast<const uint4*>(at);
}
__device__ inline void store8(__nv_bfloat16* at, uint4 v) {
  *reinterpret_cast<uint4*>(at) = v;
}

}  // namespace perfmodel::validation
