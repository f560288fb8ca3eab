// Decode attention (one new token a sequence over its KV cache), for the programs that run a whole
// engine step: split over the context, then merged.
//
// A block of four warps takes one KV head of one sequence and one split of its context; the query
// heads that share the KV head are handled in one go, so that every key and value is read once. A
// warp takes every fourth piece of 16 keys: cp.async loads its keys and values into a ring of three
// stages, two of them always in flight, and the tensor cores multiply them with the queries (S^T =
// K Q^T, O^T = V^T P^T; queries and probabilities are the operand of eight columns). Each warp
// keeps one online softmax (Milakov and Gimelshein 2018); the warps merge in shared memory, the
// splits by a second kernel (Dao et al. 2023, "Flash-Decoding").
//
// What it should reach on an H200, by arithmetic: at least 90 % of the bandwidth of a memory copy,
// from a cache of some 100 MB on; for smaller caches the launches count. In flight per SM are 2
// blocks x 4 warps x 2 stages x 8 KB = 128 KB; Little's law needs 4.8 TB/s x 1 us / 132 SMs = 36
// KB. The loop has some 290 instructions per warp and piece of 8 KB (sm_90; a version without
// tensor cores, one lane per dimension, had 1260). An SM can issue 1600 in the time that 8 KB take
// to arrive.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../algorithms/block_table.hpp"
#include "../algorithms/online_softmax.hpp"
#include "bf16x8.cuh"
#include "buffer.cuh"
#include "ptx.cuh"

namespace perfmodel::validation {

/// Sequence b, KV head g, position p are at ((b * kv_heads + g) * capacity + p) * head_dim of
/// `keys` and of `values`; query head h of b at b * query_stride + h * head_dim; results alike,
/// densely.
struct decode_attention_shape {
  const __nv_bfloat16* queries = nullptr;
  const __nv_bfloat16* keys = nullptr;
  const __nv_bfloat16* values = nullptr;
  __nv_bfloat16* out = nullptr;
  float* parts = nullptr;    ///< batch * query_heads * splits * head_dim, where splits > 1
  float2* states = nullptr;  ///< batch * query_heads * splits: maximum and sum
  int batch = 0, query_heads = 0, kv_heads = 0, query_stride = 0;
  int capacity = 0, context = 0, splits = 1, keys_per_split = 0;
  float scale = 0;  ///< factor of the scores, times log2 e
  /// Block table of a paged cache: position p of sequence b is in block table[b * blocks + p /
  /// 2^block_shift]. A block holds its positions for every KV head, and `capacity` is
  /// 2^block_shift. Null: contiguous, one block per sequence.
  const int* table = nullptr;
  int blocks = 0, block_shift = 0;
};

inline constexpr int decode_attention_warps = 4, decode_attention_stages = 3;
inline constexpr int decode_attention_piece = 16;  ///< keys of a warp at a time
inline constexpr int most_decode_splits = 64;
inline constexpr float softmax_nothing = softmax_state::nothing;

/// Shared memory of keys and values in flight.
template <int HeadDim>
inline constexpr int decode_attention_bytes =
    decode_attention_warps* decode_attention_stages * 2 * decode_attention_piece* HeadDim * 2;

template <int HeadDim, int Group, bool Paged = false>
__global__ void __launch_bounds__(decode_attention_warps * 32, 2)
    decode_attention_kernel(decode_attention_shape a) {
  constexpr int warps = decode_attention_warps, stages = decode_attention_stages;
  constexpr int piece_keys = decode_attention_piece;
  constexpr int chunks = HeadDim / 8, rows_at_once = 32 / chunks;  // of one copy of the warp
  constexpr int piece_vectors = piece_keys * chunks;
  static_assert(HeadDim % 64 == 0 && 32 % chunks == 0 && Group <= 8);
  extern __shared__ __align__(128) uint4 pool[];
  __shared__ float2 block_states[warps][Group];

  const int split = static_cast<int>(blockIdx.x), kv_head = static_cast<int>(blockIdx.y);
  const int sequence = static_cast<int>(blockIdx.z);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int first = split * a.keys_per_split;
  const int last = (std::min)(first + a.keys_per_split, a.context);
  const int pieces = (last - first + piece_keys - 1) / piece_keys;
  const std::size_t cache =
      (static_cast<std::size_t>(Paged ? 0 : sequence) * a.kv_heads + kv_head) * a.capacity *
          HeadDim +
      lane % chunks * 8;
  uint4* const ring = pool + warp * stages * 2 * piece_vectors;

  // Keys beyond the last are the last once more: finite, and masked below.
  const auto block_of = [&](int piece) {
    const int p = (std::min)(first + piece * piece_keys + lane % piece_keys, last - 1);
    return Paged ? a.table[sequence * a.blocks + (p >> a.block_shift)] : 0;
  };
  // The chunks of 16 bytes of row r lie at chunk xor r % 8: ldmatrix meets no bank twice.
  const auto fetch = [&](int piece, int stage, int block) {
    uint4* const to = ring + stage * 2 * piece_vectors;
#pragma unroll
    for (int i = 0; i < piece_keys / rows_at_once; ++i) {
      const int row = i * rows_at_once + lane / chunks;
      const int p = (std::min)(first + piece * piece_keys + row, last - 1);
      std::size_t at = static_cast<std::size_t>(p);
      if (Paged) {
        at = paged_position(__shfl_sync(0xFFFFFFFFU, block, row), p, a.block_shift, a.kv_heads);
      }
      const std::size_t from = cache + at * HeadDim;
      uint4* const slot = to + row * chunks + (lane % chunks ^ row % 8);
      ptx::copy_async(slot, a.keys + from);
      ptx::copy_async(slot + piece_vectors, a.values + from);
    }
  };
  int next = warp, block = 0;
  if (next < pieces) block = block_of(next);
#pragma unroll
  for (int s = 0; s < stages - 1; ++s) {
    if (next < pieces) {
      const int now = block;
      if (next + warps < pieces) block = block_of(next + warps);
      fetch(next, s, now);
    }
    ptx::commit_copies();
    next += warps;
  }

  // Queries as the right operand: dimensions 16 k + 2 (lane % 4) and the next, of head lane / 4.
  std::uint32_t q[HeadDim / 16][2];
#pragma unroll
  for (int k = 0; k < HeadDim / 16; ++k) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      q[k][half] = 0;
      if (lane / 4 < Group) {
        q[k][half] = *reinterpret_cast<const std::uint32_t*>(
            a.queries + static_cast<std::size_t>(sequence) * a.query_stride +
            (kv_head * Group + lane / 4) * HeadDim + k * 16 + half * 8 + lane % 4 * 2);
      }
    }
  }

  // Softmax state of this lane's two heads, 2 (lane % 4) and the next; `sum` is over its own keys
  // alone.
  float maximum[2] = {softmax_nothing, softmax_nothing}, sum[2] = {0.0F, 0.0F};
  float out[HeadDim / 16][4] = {};  // dimensions 16 d + lane / 4 and 8 further, of those two heads
  int stage = 0;
  for (int piece = warp; piece < pieces; piece += warps) {
    ptx::wait_copies<stages - 2>();
    __syncwarp();  // all lanes' loads have arrived, and no lane still reads the stage filled next
    if (next < pieces) {
      const int now = block;
      if (next + warps < pieces) block = block_of(next + warps);
      fetch(next, stage == 0 ? stages - 1 : stage - 1, now);
    }
    ptx::commit_copies();
    next += warps;

    const uint4* const keys = ring + stage * 2 * piece_vectors;
    const uint4* const values = keys + piece_vectors;
    float part[2][4] = {};  // keys lane / 4 and 8 further, of the two heads
#pragma unroll
    for (int k = 0; k < HeadDim / 16; ++k) {
      std::uint32_t left[4];
      ptx::load_matrices(left, keys + lane % 16 * chunks + ((2 * k + lane / 16) ^ (lane % 8)));
      ptx::mma_bf16(part[k % 2], left, q[k]);
    }
    float score[4], shrink[2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const bool there = first + piece * piece_keys + lane / 4 + i / 2 * 8 < last;
      score[i] = there ? (part[0][i] + part[1][i]) * a.scale : softmax_nothing;
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float above = fmaxf(maximum[h], fmaxf(score[h], score[h + 2]));
#pragma unroll
      for (int with = 4; with < 32; with *= 2) {
        above = fmaxf(above, __shfl_xor_sync(0xFFFFFFFFU, above, with));
      }
      shrink[h] = ptx::power_of_two(maximum[h] - above);
      maximum[h] = above;
      score[h] = ptx::power_of_two(score[h] - above);
      score[h + 2] = ptx::power_of_two(score[h + 2] - above);
      sum[h] = fmaf(sum[h], shrink[h], score[h] + score[h + 2]);
    }
    const std::uint32_t p[2] = {ptx::transpose_matrix(narrow2(score[0], score[1])),
                                ptx::transpose_matrix(narrow2(score[2], score[3]))};
    const int row = lane % 8 + lane / 16 * 8;
#pragma unroll
    for (int d = 0; d < HeadDim / 16; ++d) {
      std::uint32_t left[4];
      ptx::load_matrices_transposed(left,
                                    values + row * chunks + ((2 * d + lane / 8 % 2) ^ (lane % 8)));
#pragma unroll
      for (int i = 0; i < 4; ++i) out[d][i] *= shrink[i % 2];
      ptx::mma_bf16(out[d], left, p);
    }
    stage = stage == stages - 1 ? 0 : stage + 1;
  }

  // The warps of the block become one, in the ring's place.
  ptx::wait_copies<0>();
  __syncthreads();
  float* const block_sums = reinterpret_cast<float*>(pool);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
#pragma unroll
    for (int with = 4; with < 32; with *= 2) {
      sum[h] += __shfl_xor_sync(0xFFFFFFFFU, sum[h], with);
    }
    const int head = lane % 4 * 2 + h;
    if (head >= Group) continue;
    if (lane < 4) block_states[warp][head] = {maximum[h], sum[h]};
#pragma unroll
    for (int d = 0; d < HeadDim / 16; ++d) {
      float* const to = block_sums + (warp * Group + head) * HeadDim + d * 16 + lane / 4;
      to[0] = out[d][h];
      to[8] = out[d][h + 2];
    }
  }
  __syncthreads();
  for (int i = thread; i < Group * HeadDim; i += warps * 32) {
    const int g = i / HeadDim, d = i % HeadDim;
    softmax_state all;
    float whole = 0.0F;
    for (int w = 0; w < warps; ++w) {
      const merge_weights by = merge(all, {block_states[w][g].x, block_states[w][g].y});
      whole = whole * by.first + block_sums[(w * Group + g) * HeadDim + d] * by.second;
    }
    const std::size_t head =
        static_cast<std::size_t>(sequence) * a.query_heads + kv_head * Group + g;
    if (a.splits == 1) {
      a.out[head * HeadDim + d] = __float2bfloat16(whole * (1.0F / all.sum));
    } else {
      a.parts[(head * a.splits + split) * HeadDim + d] = whole;
      if (d == 0) a.states[head * a.splits + split] = {all.maximum, all.sum};
    }
  }
}

/// Merges the splits: one block per sequence and query head, one thread per dimension. A lane
/// computes the weights of two splits, then all are summed, eight loads in flight at a time.
/// `merged`: number of splits to merge; a correct step merges them all.
template <int HeadDim>
__global__ void __launch_bounds__(HeadDim)
    merge_attention_kernel(const float* __restrict__ parts, const float2* __restrict__ states,
                           __nv_bfloat16* __restrict__ out, int splits, int merged) {
  const std::size_t row = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float2 state[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    state[i] = {softmax_nothing, 0.0F};
    if (lane + 32 * i < merged) state[i] = states[row * splits + lane + 32 * i];
  }
  float above = fmaxf(state[0].x, state[1].x);
#pragma unroll
  for (int with = 16; with > 0; with /= 2) {
    above = fmaxf(above, __shfl_xor_sync(0xFFFFFFFFU, above, with));
  }
  float weight[2], all = 0.0F;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    weight[i] = exp2f(state[i].x - above);
    all = fmaf(weight[i], state[i].y, all);
  }
#pragma unroll
  for (int with = 16; with > 0; with /= 2) all += __shfl_xor_sync(0xFFFFFFFFU, all, with);
  float sum = 0.0F;
#pragma unroll 8
  for (int s = 0; s < merged; ++s) {
    const float w = __shfl_sync(0xFFFFFFFFU, s < 32 ? weight[0] : weight[1], s % 32);
    sum = fmaf(w, parts[(row * splits + s) * HeadDim + threadIdx.x], sum);
  }
  out[row * HeadDim + threadIdx.x] = __float2bfloat16(sum * (1.0F / all));
}

/// Into as many splits as fit at once, at two blocks an SM, which is what shared memory allows: a
/// block more would wait for the others and then run alone. None below `least` keys, none empty.
inline void choose_splits(decode_attention_shape& a, int sms, int least = 128) {
  const int heads = a.batch * a.kv_heads, wanted = 2 * sms / heads;
  const int most = (std::max)(1, (std::min)(most_decode_splits, a.context / least));
  const int splits = (std::clamp)(wanted, 1, most);
  constexpr int round = decode_attention_warps * decode_attention_piece;
  a.keys_per_split = ((a.context + splits - 1) / splits + round - 1) / round * round;
  a.splits = (a.context + a.keys_per_split - 1) / a.keys_per_split;
}

/// `drop_split`: leaves the last split out of the merge, for the check to notice.
template <int HeadDim, int Group>
void launch_decode_attention(const decode_attention_shape& a, cudaStream_t stream,
                             bool drop_split = false) {
  if (a.batch == 0) return;
  if (a.splits > most_decode_splits) throw measurement_error("decode attention: splits");
  if (a.query_heads != Group * a.kv_heads) throw measurement_error("decode attention: head counts");
  const dim3 grid(static_cast<unsigned>(a.splits), static_cast<unsigned>(a.kv_heads),
                  static_cast<unsigned>(a.batch));
  constexpr int bytes = decode_attention_bytes<HeadDim>;
  const auto kernel = a.table != nullptr ? decode_attention_kernel<HeadDim, Group, true>
                                         : decode_attention_kernel<HeadDim, Group, false>;
  PERFMODEL_CUDA(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, decode_attention_warps * 32, bytes, stream>>>(a);
  PERFMODEL_LAUNCHED("decode_attention_kernel");
  if (a.splits == 1) return;
  merge_attention_kernel<HeadDim>
      <<<static_cast<unsigned>(a.batch * a.query_heads), HeadDim, 0, stream>>>(
          a.parts, a.states, a.out, a.splits, a.splits - (drop_split ? 1 : 0));
  PERFMODEL_LAUNCHED("merge_attention_kernel");
}

}  // namespace perfmodel::validation
