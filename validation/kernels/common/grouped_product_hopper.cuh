// The grouped GEMM of grouped_product.cuh by wgmma, Hopper's tensor-core instructions for a warp
// group.
//
// A block takes 128 rows of one group and 256 columns, 64 columns of both operands at a time, in
// four stages in shared memory. Its first warp group is the producer: TMA loads the matrix, and
// 16-byte cp.async the rows, which are not contiguous. Two consumer warp groups multiply 64 rows
// each by m64n256k16, and issue the next k step before they wait for the last.
//
// What it should reach on an H200, by arithmetic: 55 to 65 % of the bf16 peak where experts fill
// tiles of 128 rows and k is 2048 or more. It needs a byte from the L2 for 85 FLOP: the L2's 9.7
// TB/s are 83 % of the peak, and two blocks of a cluster do not share their loads here, as
// libraries do. Filling the stages and storing the accumulators, which nothing hides with one block
// per SM, take as long as three to five k steps.
#pragma once

#include "grouped_product.cuh"
#include "tma.cuh"
#include "wgmma.cuh"

#include <cstdint>

#ifndef PERFMODEL_EMULATED

namespace perfmodel::validation {

namespace hopper_grouped {
inline constexpr int rows = 128, columns = 256, depth = 64, stages = 4, threads = 384, lag = 2;
inline constexpr int row_bytes = rows * 128, column_bytes = columns * 128;
inline constexpr int stage_bytes = row_bytes + column_bytes;
inline constexpr int shared_bytes = stages * stage_bytes + 1024;

/// `full` expects the producer warp group's 128 arrivals and one with the matrix's bytes; `free`
/// one arrival from each consumer warp.
struct barriers {
  std::uint64_t full[stages], free[stages];
};
}  // namespace hopper_grouped

#if PERFMODEL_HAS_WGMMA
namespace hopper_grouped {

/// The producer warp group. k step `step` is use number n = step / stages of its stage: it waits
/// for the end of phase n - 1 of "free" (parity 1 of a new barrier has ended). A thread signals
/// that its loads have arrived `lag` steps later, after it has waited for them and made them
/// visible to the tensor cores (proxy fence). At most `lag` of the four stages wait in this way,
/// which leaves two to multiply.
__device__ inline void fetch(const grouped_shape& s, const CUtensorMap& matrix, barriers& b,
                             unsigned char* held, int group, int first, int limit,
                             int first_column) {
  constexpr int each = rows / 16;  // a thread loads chunk thread % 8 of every 16th row
  const int thread = static_cast<int>(threadIdx.x), chunk = thread % 8, my_row = thread / 8;
  int from[each];
#pragma unroll
  for (int j = 0; j < each; ++j) {
    const int row = first + my_row + j * 16;
    from[j] = row >= limit ? -1 : s.source == nullptr ? row : s.source[row];
  }
  bool alive = true;
  const int steps = (s.k + depth - 1) / depth;
  for (int step = 0; step < steps + lag; ++step) {
    if (step < steps) {
      const int stage = step % stages;
      tma::wait(&b.free[stage], static_cast<unsigned>(step / stages + 1) % 2U, alive);
      unsigned char* const to = held + stage * stage_bytes;
      const int at = step * depth + chunk * 8;
#pragma unroll
      for (int j = 0; j < each; ++j) {
        const bool there = from[j] >= 0 && at < s.k;
        ptx::copy_async(to + swizzled_byte(my_row + j * 16, chunk * 16),
                        there ? s.x + static_cast<std::size_t>(from[j]) * s.k + at : s.x, there);
      }
      if (thread == 0) {
        tma::arrive_expecting(&b.full[stage], column_bytes);
        tma::load(to + row_bytes, matrix, step * depth, first_column, group, &b.full[stage]);
      }
    }
    ptx::commit_copies();
    if (step >= lag) {
      ptx::wait_copies<lag>();
      wgmma::publish_stores();
      tma::arrive(&b.full[(step - lag) % stages]);
    }
  }
}

/// A multiplying warp group: 64 rows from `first` on.
__device__ inline void multiply(const grouped_shape& s, barriers& b, const unsigned char* held,
                                int half, int first, int limit, int first_column) {
  const int thread = static_cast<int>(threadIdx.x) % 128, lane = thread % 32;
  const std::uint32_t base = ptx::shared_address(held);
  bool alive = true;
  float d[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) d[i] = 0.0F;
  const int steps = (s.k + depth - 1) / depth;
  for (int step = 0; step < steps; ++step) {
    const int stage = step % stages;
    tma::wait(&b.full[stage], static_cast<unsigned>(step / stages) % 2U, alive);
    const std::uint32_t at = base + static_cast<std::uint32_t>(stage * stage_bytes);
    const std::uint64_t left =
        operand_descriptor(at + static_cast<std::uint32_t>(half * 64 * 128), 0, 1024);
    const std::uint64_t right =
        operand_descriptor(at + static_cast<std::uint32_t>(row_bytes), 0, 1024);
    wgmma::hold(d);
    wgmma::fence();
#pragma unroll
    for (std::uint64_t k = 0; k < depth / 16; ++k) {  // 32 bytes of a row, in units of 16
      wgmma::bf16_256(d, left + 2 * k, right + 2 * k, true);
    }
    wgmma::commit();
    wgmma::wait<1>();  // the step before is done
    if (step > 0 && lane == 0) tma::arrive(&b.free[(step - 1) % stages]);
  }
  wgmma::wait<0>();
  wgmma::hold(d);
  const float by = alive ? 1.0F : __int_as_float(0x7FFFFFFF);
#pragma unroll
  for (int i = 0; i < 128; i += 2) {
    const place p = place_of_d(lane, i % 4);
    const int row = first + thread / 32 * 16 + p.row;
    const int column = first_column + i / 4 * 8 + p.column;
    if (row < limit && column < s.n) {
      *reinterpret_cast<std::uint32_t*>(s.y + static_cast<std::size_t>(row) * s.n + column) =
          narrow2(d[i] * by, d[i + 1] * by);
    }
  }
}

}  // namespace hopper_grouped
#endif

/// `Fetching`, `Multiplying`: registers of a thread; 128 of the one and 256 of the other fit.
template <int Fetching = 56, int Multiplying = 224>
__global__ void __launch_bounds__(hopper_grouped::threads, 1)
    hopper_grouped_kernel(grouped_shape s, const __grid_constant__ CUtensorMap matrix) {
#if PERFMODEL_HAS_WGMMA
  using namespace hopper_grouped;
  extern __shared__ __align__(128) uint4 pool[];
  __shared__ barriers b;
  const int tile = static_cast<int>(blockIdx.x);
  if (tile >= *s.tiles) return;  // the whole block
  const int group = s.tile_group[tile], first = s.tile_first[tile], limit = s.offsets[group + 1];
  const int first_column = static_cast<int>(blockIdx.y) * columns;
  const std::uint32_t at = ptx::shared_address(pool);
  unsigned char* const held =
      reinterpret_cast<unsigned char*>(pool) + ((at + 1023U) / 1024U * 1024U - at);
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) {
      tma::start(&b.full[i], 128 + 1);
      tma::start(&b.free[i], 8);
    }
    tma::publish_barriers();
  }
  __syncthreads();
  const int half = static_cast<int>(threadIdx.x) / 128 - 1;
  if (half < 0) {
    wgmma::give_registers<Fetching>();
    fetch(s, matrix, b, held, group, first, limit, first_column);
  } else {
    wgmma::take_registers<Multiplying>();
    multiply(s, b, held, half, first + half * 64, limit, first_column);
  }
#endif
}

/// Like launch_grouped_product<128>; only where has_wgmma(). `groups`: matrices behind s.w.
inline void launch_hopper_grouped(const grouped_shape& s, int groups, int most_tiles,
                                  cudaStream_t stream) {
  using namespace hopper_grouped;
  if (s.n % 8 != 0 || s.k % 8 != 0) throw measurement_error("grouped product: n or k");
  const auto row = static_cast<std::size_t>(s.k);
  const CUtensorMap matrix =
      tma::tile_map(s.w, s.k, s.n, groups, row, row * static_cast<std::size_t>(s.n), columns);
  const auto kernel = hopper_grouped_kernel<>;
  PERFMODEL_CUDA(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  const dim3 grid(static_cast<unsigned>(most_tiles),
                  static_cast<unsigned>((s.n + columns - 1) / columns));
  kernel<<<grid, threads, shared_bytes, stream>>>(s, matrix);
  PERFMODEL_LAUNCHED("hopper_grouped_kernel");
}

}  // namespace perfmodel::validation

#endif
