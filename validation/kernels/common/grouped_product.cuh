// Grouped GEMM: rows in groups, each group with a matrix of its own. It computes the experts of a
// mixture of experts in one launch.
//
// y[r][n] = sum over k of x[source(r)][k] w[group of r][n][k], bf16 in and out, sums in fp32, by
// mma.m16n8k16. A block of four warps takes Rows rows of one group and 128 columns; 64 columns of
// both operands at a time go through shared memory, in three or four stages filled by cp.async.
// Their 16-byte chunks are swizzled (chunk xor row % 8), so that ldmatrix has no bank conflict.
// Tiles of 16 rows are for decode with few tokens, where time goes with the weights' bytes; tiles
// of 64 and 128 rows for many.
//
// What it should reach on an H200, by arithmetic: tiles of 16 rows are limited by DRAM bandwidth
// (at least two stages of 16 KB in flight in each of three blocks of an SM), 80 % of it with enough
// tiles to fill the SMs. Tiles of 128 rows: 45 to 50 % of the bf16 peak, of the 62 % that mma.sync
// can reach (128 HMMA among 474 instructions per warp and k step on sm_90; tiles of 64 rows 64
// among 292), at 64 FLOP per byte from the L2.
#pragma once

#include "bf16x8.cuh"
#include "buffer.cuh"
#include "ptx.cuh"

#include <cstdint>

namespace perfmodel::validation {

/// Row r of tile t is tile_first[t] + r, below offsets[tile_group[t] + 1]. n and k: multiples of
/// 8. `tiles` is on the device: blocks beyond it have nothing to do.
struct grouped_shape {
  const __nv_bfloat16* x = nullptr;
  const int* source = nullptr;  ///< row of x for each row of y; null: the same
  const __nv_bfloat16* w = nullptr;
  __nv_bfloat16* y = nullptr;
  const int* offsets = nullptr;
  const int* tile_group = nullptr;
  const int* tile_first = nullptr;
  const int* tiles = nullptr;
  int n = 0, k = 0;
};

namespace grouped {
inline constexpr int threads = 128, columns = 128, depth = 64, chunks = depth / 8;
/// So that two blocks of the largest tiles fit into an SM of 228 KB.
template <int Rows>
inline constexpr int stages = Rows == 128 ? 3 : 4;
template <int Rows>
inline constexpr int stage_vectors = (Rows + columns) * chunks;
template <int Rows>
inline constexpr int shared_bytes = stages<Rows>* stage_vectors<Rows> * 16;
}  // namespace grouped

template <int Rows>
__global__ void __launch_bounds__(grouped::threads) grouped_product_kernel(grouped_shape s) {
  using namespace grouped;
  constexpr int stages = grouped::stages<Rows>;
  constexpr int down = Rows == 16 ? 1 : 2, across = 4 / down;  // warps
  constexpr int warp_rows = Rows / down, warp_columns = columns / across;
  extern __shared__ __align__(128) uint4 pool[];

  const int tile = static_cast<int>(blockIdx.x);
  if (tile >= *s.tiles) return;
  const int of = s.tile_group[tile], first = s.tile_first[tile], limit = s.offsets[of + 1];
  const int first_column = static_cast<int>(blockIdx.y) * columns;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const __nv_bfloat16* w = s.w + static_cast<std::size_t>(of) * s.n * s.k;

  // This thread loads chunk `chunk` of every 16th row of a stage.
  const int chunk = thread % chunks, my_row = thread / chunks;
  constexpr int between = threads / chunks;
  const __nv_bfloat16* from[Rows / between];
#pragma unroll
  for (int j = 0; j < Rows / between; ++j) {
    const int row = first + my_row + j * between;
    from[j] = nullptr;
    if (row < limit) {
      from[j] = s.x + static_cast<std::size_t>(s.source == nullptr ? row : s.source[row]) * s.k;
    }
  }
  const auto load = [&](int step, int stage) {
    uint4* a = pool + stage * stage_vectors<Rows>;
    uint4* b = a + Rows * chunks;
    const int at = step * depth + chunk * 8;
    const bool within = at < s.k;
#pragma unroll
    for (int j = 0; j < Rows / between; ++j) {
      const int row = my_row + j * between;
      const bool there = within && from[j] != nullptr;
      ptx::copy_async(a + row * chunks + (chunk ^ (row % 8)), there ? from[j] + at : s.x, there);
    }
#pragma unroll
    for (int j = 0; j < columns / between; ++j) {
      const int row = my_row + j * between, column = first_column + row;
      const bool there = within && column < s.n;
      ptx::copy_async(b + row * chunks + (chunk ^ (row % 8)),
                      there ? w + static_cast<std::size_t>(column) * s.k + at : w, there);
    }
  };

  const int row0 = warp / across * warp_rows, column0 = warp % across * warp_columns;
  float sum[warp_rows / 16][warp_columns / 8][4] = {};
  const int steps = (s.k + depth - 1) / depth;
#pragma unroll
  for (int step = 0; step < stages - 1; ++step) {
    if (step < steps) load(step, step);
    ptx::commit_copies();
  }
  for (int step = 0; step < steps; ++step) {
    ptx::wait_copies<stages - 2>();
    // All threads' loads have arrived, and no thread still reads the stage that is filled next.
    __syncthreads();
    const int next = step + stages - 1;
    if (next < steps) load(next, next % stages);
    ptx::commit_copies();
    const uint4* a = pool + step % stages * stage_vectors<Rows>;
    const uint4* b = a + Rows * chunks;
#pragma unroll
    for (int inner = 0; inner < depth / 16; ++inner) {
      std::uint32_t left[warp_rows / 16][4];
#pragma unroll
      for (int i = 0; i < warp_rows / 16; ++i) {
        const int row = row0 + i * 16 + lane % 16;
        ptx::load_matrices(left[i], a + row * chunks + ((inner * 2 + lane / 16) ^ (row % 8)));
      }
#pragma unroll
      for (int j = 0; j < warp_columns / 16; ++j) {
        const int row = column0 + j * 16 + lane / 16 * 8 + lane % 8;
        std::uint32_t right[4];
        ptx::load_matrices(right, b + row * chunks + ((inner * 2 + lane / 8 % 2) ^ (row % 8)));
        const std::uint32_t low[2] = {right[0], right[1]}, high[2] = {right[2], right[3]};
#pragma unroll
        for (int i = 0; i < warp_rows / 16; ++i) {
          ptx::mma_bf16(sum[i][2 * j], left[i], low);
          ptx::mma_bf16(sum[i][2 * j + 1], left[i], high);
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < warp_rows / 16; ++i) {
#pragma unroll
    for (int j = 0; j < warp_columns / 8; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first + row0 + i * 16 + half * 8 + lane / 4;
        const int column = first_column + column0 + j * 8 + lane % 4 * 2;
        if (row < limit && column < s.n) {
          *reinterpret_cast<std::uint32_t*>(s.y + static_cast<std::size_t>(row) * s.n + column) =
              narrow2(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
        }
      }
    }
  }
}

/// `most_tiles`: what *s.tiles can be at most.
template <int Rows>
void launch_grouped_product(const grouped_shape& s, int most_tiles, cudaStream_t stream) {
  if (s.n % 8 != 0 || s.k % 8 != 0) throw measurement_error("grouped product: n or k");
  constexpr int bytes = grouped::shared_bytes<Rows>;
  const auto kernel = grouped_product_kernel<Rows>;
  PERFMODEL_CUDA(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const dim3 grid(static_cast<unsigned>(most_tiles),
                  static_cast<unsigned>((s.n + grouped::columns - 1) / grouped::columns));
  kernel<<<grid, grouped::threads, bytes, stream>>>(s);
  PERFMODEL_LAUNCHED("grouped_product_kernel");
}

}  // namespace perfmodel::validation
