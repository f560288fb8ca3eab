// Hopper's tensor memory accelerator (TMA): loads of whole tiles, and the mbarriers in shared
// memory on which they complete. Source: NVIDIA PTX ISA, "mbarrier" and "cp.async.bulk.tensor";
// CUDA driver API, "Tensor Map Object Management". Used only with PERFMODEL_HAS_WGMMA; the emulated
// device has none of it.
#pragma once

#ifndef PERFMODEL_EMULATED

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>

#include "checked.cuh"
#include "ptx.cuh"
#include "wgmma.cuh"

namespace perfmodel::validation::tma {

#if PERFMODEL_HAS_WGMMA

/// Initialises a barrier: a phase ends after `arrivals` arrivals and the bytes that they expect.
__device__ inline void start(std::uint64_t* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(ptx::shared_address(barrier)),
               "r"(arrivals)
               : "memory");
}
/// After start(), before a __syncthreads(): the copy engine sees the barriers.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}
__device__ inline void arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(ptx::shared_address(barrier))
               : "memory");
}
__device__ inline void arrive_expecting(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(
                   ptx::shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
__device__ inline bool reached(std::uint64_t* barrier, unsigned parity) {
  std::uint32_t done = 0;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}\n"
      : "=r"(done)
      : "r"(ptx::shared_address(barrier)), "r"(parity)
      : "memory");
  return done != 0;
}
/// Waits until phase number n with n % 2 == parity has ended; parity 1 of a new barrier has. Gives
/// up after a second, and at once where `alive` is false already: an error in these kernels fails a
/// check and does not hang the run.
__device__ inline void wait(std::uint64_t* barrier, unsigned parity, bool& alive) {
  if (!alive || reached(barrier, parity)) return;
  const std::uint64_t began = ptx::nanoseconds();
  while (!reached(barrier, parity)) {
    if (ptx::nanoseconds() - began > 1'000'000'000U) {
      alive = false;
      return;
    }
  }
}

/// The box of `map` at (column, row, plane) into shared memory; its bytes count on the barrier.
__device__ inline void load(void* to, const CUtensorMap& map, int column, int row, int plane,
                            std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];\n" ::"r"(ptx::shared_address(to)),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(column), "r"(row), "r"(plane),
      "r"(ptx::shared_address(barrier))
      : "memory");
}

#endif

/// Tensor map of planes of rows of `columns` bf16 values, in boxes of 64 columns and `box_rows`
/// rows, swizzled ("128B") in shared memory; out-of-bounds elements load as 0. Strides in elements,
/// multiples of 8.
inline CUtensorMap tile_map(const __nv_bfloat16* at, int columns, int rows, int planes,
                            std::size_t row_step, std::size_t plane_step, int box_rows) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
#if CUDART_VERSION >= 12050
  PERFMODEL_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                                  cudaEnableDefault, &status));
#else
  PERFMODEL_CUDA(
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &status));
#endif
  if (found == nullptr || status != cudaDriverEntryPointSuccess) {
    throw measurement_error("the driver has no cuTensorMapEncodeTiled");
  }
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
  const cuuint64_t sizes[3] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows),
                               static_cast<cuuint64_t>(planes)};
  const cuuint64_t steps[2] = {2 * row_step, 2 * plane_step};
  const cuuint32_t box[3] = {64, static_cast<cuuint32_t>(box_rows), 1}, each[3] = {1, 1, 1};
  CUtensorMap map{};
  const CUresult result =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<__nv_bfloat16*>(at), sizes,
             steps, box, each, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw measurement_error("cuTensorMapEncodeTiled: error " +
                            std::to_string(static_cast<int>(result)));
  }
  return map;
}

}  // namespace perfmodel::validation::tma

#endif
