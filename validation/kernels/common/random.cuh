// Random data that the host and the device make alike, so that a reference needs no download.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "buffer.cuh"

namespace perfmodel::validation {

/// 32 random bits of (seed, index). Source: the finaliser of MurmurHash3 (A. Appleby), twice.
__host__ __device__ constexpr std::uint32_t random_bits(std::uint32_t seed, std::uint64_t index) {
  std::uint32_t h = seed * 0x9E3779B9U + static_cast<std::uint32_t>(index);
  h ^= static_cast<std::uint32_t>(index >> 32U) * 0x85EBCA6BU;
  for (int round = 0; round < 2; ++round) {
    h ^= h >> 16U;
    h *= 0x85EBCA6BU;
    h ^= h >> 13U;
    h *= 0xC2B2AE35U;
    h ^= h >> 16U;
    h += 0x9E3779B9U;
  }
  return h;
}

/// In [-1, 1), of 24 random bits.
__host__ __device__ constexpr float random_value(std::uint32_t seed, std::uint64_t index) {
  return static_cast<float>(random_bits(seed, index) >> 8U) * (2.0F / 16777216.0F) - 1.0F;
}

/// Value in the format's storage.
template <class T>
__host__ __device__ inline T stored(float x) {
  return static_cast<T>(x);
}
template <>
__host__ __device__ inline __nv_bfloat16 stored<__nv_bfloat16>(float x) {
  return __float2bfloat16(x);
}
template <>
__host__ __device__ inline __nv_fp8_e4m3 stored<__nv_fp8_e4m3>(float x) {
  return __nv_fp8_e4m3(x);
}

/// The value that random_fill puts at `index`, as the reference sees it.
template <class T>
__host__ __device__ inline float random_stored(std::uint32_t seed, std::uint64_t index,
                                               float scale = 1.0F) {
  return static_cast<float>(stored<T>(scale * random_value(seed, index)));
}

template <class T>
__global__ void random_fill_kernel(T* out, std::size_t n, std::uint32_t seed, float scale) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step) {
    out[i] = stored<T>(scale * random_value(seed, i));
  }
}

/// Fills with scale * random_value(seed, index), and waits.
template <class T>
void random_fill(device_buffer<T>& buffer, std::uint32_t seed, float scale = 1.0F) {
  random_fill_kernel<T><<<1024, 256>>>(buffer.data(), buffer.size(), seed, scale);
  PERFMODEL_LAUNCHED("random_fill");
  PERFMODEL_CUDA(cudaDeviceSynchronize());
}

}  // namespace perfmodel::validation
