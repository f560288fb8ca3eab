// Causal attention of a chunk of one sequence's prompt over its cache, by tensor cores, tiled with
// an online softmax (Dao 2023, "FlashAttention-2").
//
// A block of four warps takes 64 queries of one head, a warp 16 of them; tiles of 64 keys and
// values pass through shared memory, with rows padded by 16 bytes so that ldmatrix meets no
// bank twice.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bf16x8.cuh"
#include "buffer.cuh"
#include "decode_attention.cuh"
#include "ptx.cuh"

namespace perfmodel::validation {

/// `tokens` queries at positions past .. past + tokens - 1 of one sequence; query head h of token t
/// is at t * query_stride + h * head_dim. Position p of KV head g is at (g * capacity + p) *
/// head_dim.
struct prefill_attention_shape {
  const __nv_bfloat16* queries = nullptr;
  const __nv_bfloat16* keys = nullptr;
  const __nv_bfloat16* values = nullptr;
  __nv_bfloat16* out = nullptr;
  int tokens = 0, past = 0, query_heads = 0, kv_heads = 0, query_stride = 0, capacity = 0;
  float scale = 0;      ///< factor of the scores, times log2 e
  int head_stride = 0;  ///< stride of queries and out, 0: head_dim, heads of a token side by side
  int ahead = 0;        ///< keys that a query sees beyond its own position: 0, but for a fault
};

inline constexpr int prefill_tile = 64;

/// Rows first .. first + 63 of `from`, zeros from row `rows` on, into shared memory.
template <int HeadDim>
__device__ void load_tile(__nv_bfloat16 (*to)[HeadDim + 8], const __nv_bfloat16* from,
                          std::size_t stride, int first, int rows) {
  constexpr int vectors = HeadDim / 8;
  for (int i = static_cast<int>(threadIdx.x); i < prefill_tile * vectors; i += 128) {
    const int row = i / vectors, at = i % vectors * 8;
    const bool there = first + row < rows;
    ptx::copy_async(&to[row][at],
                    from + static_cast<std::size_t>(there ? first + row : 0) * stride + at, there);
  }
}

template <int HeadDim>
__global__ void __launch_bounds__(128) prefill_attention_kernel(prefill_attention_shape a) {
  constexpr int steps = HeadDim / 16, columns = prefill_tile / 8;
  __shared__ __align__(16) __nv_bfloat16 keys[prefill_tile][HeadDim + 8];
  __shared__ __align__(16) __nv_bfloat16 values[prefill_tile][HeadDim + 8];
  // The last queries see the most keys: they go first.
  const int first_query = static_cast<int>(gridDim.x - 1 - blockIdx.x) * prefill_tile;
  const int head = static_cast<int>(blockIdx.y), kv_head = head / (a.query_heads / a.kv_heads);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::size_t cache = static_cast<std::size_t>(kv_head) * a.capacity * HeadDim;

  // Queries pass through the keys' place into registers, as the left operand of the products.
  const std::size_t head_stride =
      a.head_stride == 0 ? HeadDim : static_cast<std::size_t>(a.head_stride);
  load_tile<HeadDim>(keys, a.queries + static_cast<std::size_t>(head) * head_stride,
                     static_cast<std::size_t>(a.query_stride), first_query, a.tokens);
  ptx::commit_copies();
  ptx::wait_copies<0>();
  __syncthreads();
  std::uint32_t q[steps][4];
#pragma unroll
  for (int k = 0; k < steps; ++k) {
    ptx::load_matrices(q[k], &keys[warp * 16 + lane % 16][k * 16 + lane / 16 * 8]);
  }

  float out[HeadDim / 8][4] = {};
  float maximum[2] = {softmax_nothing, softmax_nothing}, sum[2] = {0.0F, 0.0F};
  // This lane's two rows, 8 apart.
  const int row = first_query + warp * 16 + lane / 4;
  const int all = a.past + a.tokens;
  const int end = (std::min)(a.past + first_query + prefill_tile + a.ahead, all);
  for (int tile = 0; tile < end; tile += prefill_tile) {
    __syncthreads();
    load_tile<HeadDim>(keys, a.keys + cache, HeadDim, tile, all);
    load_tile<HeadDim>(values, a.values + cache, HeadDim, tile, all);
    ptx::commit_copies();
    ptx::wait_copies<0>();
    __syncthreads();

    float score[columns][4] = {};
#pragma unroll
    for (int j = 0; j < columns; ++j) {
#pragma unroll
      for (int k = 0; k < steps; k += 2) {
        std::uint32_t b[4];  // keys 8 j .. 8 j + 7, dimensions 16 k .. 16 k + 31
        ptx::load_matrices(b, &keys[j * 8 + lane % 8][k * 16 + lane / 8 * 8]);
        const std::uint32_t low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
        ptx::mma_bf16(score[j], q[k], low);
        ptx::mma_bf16(score[j], q[k + 1], high);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int sees = a.past + row + 8 * half + a.ahead;
      float above = maximum[half];
#pragma unroll
      for (int j = 0; j < columns; ++j) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const int key = tile + j * 8 + lane % 4 * 2 + c;
          float& x = score[j][2 * half + c];
          x = key <= sees && key < all ? x * a.scale : softmax_nothing;
          above = fmaxf(above, x);
        }
      }
      above = fmaxf(above, __shfl_xor_sync(0xFFFFFFFFU, above, 1));
      above = fmaxf(above, __shfl_xor_sync(0xFFFFFFFFU, above, 2));
      const float shrink = ptx::power_of_two(maximum[half] - above);
      maximum[half] = above;
      sum[half] *= shrink;
#pragma unroll
      for (int d = 0; d < HeadDim / 8; ++d) {
        out[d][2 * half] *= shrink;
        out[d][2 * half + 1] *= shrink;
      }
#pragma unroll
      for (int j = 0; j < columns; ++j) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          float& x = score[j][2 * half + c];
          // Key 0 is in the first tile and every query sees it: `above` is a score from then on.
          x = ptx::power_of_two(x - above);
          sum[half] += x;
        }
      }
    }
    // The accumulator's layout is the left operand's, two column blocks at a time.
#pragma unroll
    for (int k = 0; k < columns / 2; ++k) {
      const std::uint32_t p[4] = {narrow2(score[2 * k][0], score[2 * k][1]),
                                  narrow2(score[2 * k][2], score[2 * k][3]),
                                  narrow2(score[2 * k + 1][0], score[2 * k + 1][1]),
                                  narrow2(score[2 * k + 1][2], score[2 * k + 1][3])};
#pragma unroll
      for (int d = 0; d < HeadDim / 8; d += 2) {
        std::uint32_t b[4];  // keys 16 k .. 16 k + 15, dimensions 8 d .. 8 d + 15
        ptx::load_matrices_transposed(b, &values[k * 16 + lane % 16][d * 8 + lane / 16 * 8]);
        const std::uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
        ptx::mma_bf16(out[d], p, left);
        ptx::mma_bf16(out[d + 1], p, right);
      }
    }
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    sum[half] += __shfl_xor_sync(0xFFFFFFFFU, sum[half], 1);
    sum[half] += __shfl_xor_sync(0xFFFFFFFFU, sum[half], 2);
    const int token = row + 8 * half;
    if (token >= a.tokens) continue;
    const float by = 1.0F / sum[half];
    __nv_bfloat16* to =
        a.out +
        static_cast<std::size_t>(token) * (a.head_stride == 0 ? a.query_heads * HeadDim : HeadDim) +
        static_cast<std::size_t>(head) * head_stride + lane % 4 * 2;
#pragma unroll
    for (int d = 0; d < HeadDim / 8; ++d) {
      *reinterpret_cast<std::uint32_t*>(to + d * 8) =
          narrow2(out[d][2 * half] * by, out[d][2 * half + 1] * by);
    }
  }
}

template <int HeadDim>
void launch_prefill_attention(const prefill_attention_shape& a, cudaStream_t stream) {
  if (a.tokens == 0) return;
  const dim3 grid(static_cast<unsigned>((a.tokens + prefill_tile - 1) / prefill_tile),
                  static_cast<unsigned>(a.query_heads));
  prefill_attention_kernel<HeadDim><<<grid, 128, 0, stream>>>(a);
  PERFMODEL_LAUNCHED("prefill_attention_kernel");
}

}  // namespace perfmodel::validation
