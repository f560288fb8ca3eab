// Attention of one new token a sequence over its cached keys and values, for the programs that need
// a whole step: split over the context, then merged.
//
// A block of four warps takes one KV head of one sequence and one split of its context; the query
// heads that share the KV head are handled together, so that every key and value is read once. A
// key is spread over HeadDim / 8 lanes, 16 bytes each; four keys and four values of a lane are in
// flight before the first is used. Each group of lanes keeps an online softmax of its own (Milakov
// and Gimelshein 2018); they are merged in the warp, in the block, and over the splits by a second
// kernel (Dao et al. 2023, "Flash-Decoding").
#pragma once

#include <algorithm>

#include "../algorithms/block_table.hpp"
#include "../algorithms/online_softmax.hpp"
#include "bf16x8.cuh"
#include "buffer.cuh"

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
  float scale = 0;  ///< of the scores, times log2 e
  /// Paged: position p of sequence b lies in block table[b * blocks + p / 2^block_shift]; a block holds
  /// its positions for every KV head, and `capacity` is 2^block_shift. Null: a sequence is a block.
  const int* table = nullptr;
  int blocks = 0, block_shift = 0;
};

inline constexpr int decode_attention_warps = 4;
inline constexpr float softmax_nothing = softmax_state::nothing;

template <int HeadDim, int Group, bool Paged = false>
__global__ void __launch_bounds__(decode_attention_warps * 32)
    decode_attention_kernel(decode_attention_shape a) {
  constexpr int warps = decode_attention_warps, unrolled = 4;
  constexpr int lanes = HeadDim / 8, keys_at_once = 32 / lanes;
  static_assert(HeadDim % 8 == 0 && 32 % lanes == 0);
  __shared__ float2 block_states[warps][Group];
  __shared__ float block_sums[warps][Group][HeadDim];

  const int split = static_cast<int>(blockIdx.x), kv_head = static_cast<int>(blockIdx.y);
  const int sequence = static_cast<int>(blockIdx.z);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int dim = lane % lanes * 8, mine = lane / lanes;
  const int first = split * a.keys_per_split;
  const int last = (std::min)(first + a.keys_per_split, a.context);
  const std::size_t cache =
      (static_cast<std::size_t>(Paged ? 0 : sequence) * a.kv_heads + kv_head) * a.capacity *
          HeadDim +
      dim;

  float q[Group][8];
#pragma unroll
  for (int g = 0; g < Group; ++g) {
    widen8(load8(a.queries + static_cast<std::size_t>(sequence) * a.query_stride +
                 (kv_head * Group + g) * HeadDim + dim),
           q[g]);
#pragma unroll
    for (int i = 0; i < 8; ++i) q[g][i] *= a.scale;
  }
  softmax_state state[Group];
  float out[Group][8];
#pragma unroll
  for (int g = 0; g < Group; ++g) {
#pragma unroll
    for (int i = 0; i < 8; ++i) out[g][i] = 0.0F;
  }

  for (int tile = first; tile < last; tile += warps * keys_at_once * unrolled) {
    uint4 key[unrolled], value[unrolled];
    bool there[unrolled];
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      const int p = tile + (u * warps + warp) * keys_at_once + mine;
      there[u] = p < last;
      key[u] = value[u] = {0, 0, 0, 0};
      if (there[u]) {
        std::size_t at = static_cast<std::size_t>(p);
        if (Paged) {
          at = paged_position(a.table[sequence * a.blocks + (p >> a.block_shift)], p, a.block_shift,
                              a.kv_heads);
        }
        key[u] = load8(a.keys + cache + at * HeadDim);
        value[u] = load8(a.values + cache + at * HeadDim);
      }
    }
    float score[unrolled][Group];
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      float k[8];
      widen8(key[u], k);
#pragma unroll
      for (int g = 0; g < Group; ++g) {
        float dot = 0.0F;
#pragma unroll
        for (int i = 0; i < 8; ++i) dot = fmaf(q[g][i], k[i], dot);
#pragma unroll
        for (int with = lanes / 2; with > 0; with /= 2) {
          dot += __shfl_xor_sync(0xFFFFFFFFU, dot, with);
        }
        score[u][g] = there[u] ? dot : softmax_nothing;
      }
    }
#pragma unroll
    for (int g = 0; g < Group; ++g) {
      float above = state[g].maximum;
#pragma unroll
      for (int u = 0; u < unrolled; ++u) above = fmaxf(above, score[u][g]);
      const float shrink = raise_maximum(state[g], above);
#pragma unroll
      for (int i = 0; i < 8; ++i) out[g][i] *= shrink;
#pragma unroll
      for (int u = 0; u < unrolled; ++u) {
        score[u][g] = there[u] ? exp2f(score[u][g] - above) : 0.0F;
        state[g].sum += score[u][g];
      }
    }
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      float v[8];
      widen8(value[u], v);
#pragma unroll
      for (int g = 0; g < Group; ++g) {
#pragma unroll
        for (int i = 0; i < 8; ++i) out[g][i] = fmaf(score[u][g], v[i], out[g][i]);
      }
    }
  }

  // The lane groups of a warp become one, then the warps of the block.
#pragma unroll
  for (int g = 0; g < Group; ++g) {
#pragma unroll
    for (int with = lanes; with < 32; with *= 2) {
      const softmax_state other{__shfl_xor_sync(0xFFFFFFFFU, state[g].maximum, with),
                                __shfl_xor_sync(0xFFFFFFFFU, state[g].sum, with)};
      const merge_weights by = merge(state[g], other);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float theirs = __shfl_xor_sync(0xFFFFFFFFU, out[g][i], with);
        out[g][i] = out[g][i] * by.first + theirs * by.second;
      }
    }
    if (mine == 0) {
      if (dim == 0) block_states[warp][g] = {state[g].maximum, state[g].sum};
#pragma unroll
      for (int i = 0; i < 8; ++i) block_sums[warp][g][dim + i] = out[g][i];
    }
  }
  __syncthreads();
  for (int i = thread; i < Group * HeadDim; i += warps * 32) {
    const int g = i / HeadDim, d = i % HeadDim;
    softmax_state all;
    float part = 0.0F;
    for (int w = 0; w < warps; ++w) {
      const merge_weights by = merge(all, {block_states[w][g].x, block_states[w][g].y});
      part = part * by.first + block_sums[w][g][d] * by.second;
    }
    const std::size_t row =
        static_cast<std::size_t>(sequence) * a.query_heads + kv_head * Group + g;
    if (a.splits == 1) {
      a.out[row * HeadDim + d] = __float2bfloat16(part / all.sum);
    } else {
      a.parts[(row * a.splits + split) * HeadDim + d] = part;
      if (d == 0) a.states[row * a.splits + split] = {all.maximum, all.sum};
    }
  }
}

/// A block a sequence and query head, a thread a dimension. `merged`: how many splits it takes in,
/// all of them in a step that is right.
template <int HeadDim>
__global__ void __launch_bounds__(HeadDim)
    merge_attention_kernel(const float* __restrict__ parts, const float2* __restrict__ states,
                           __nv_bfloat16* __restrict__ out, int splits, int merged) {
  const std::size_t row = blockIdx.x;
  softmax_state all;
  float sum = 0.0F;
  for (int s = 0; s < merged; ++s) {
    const float2 part = states[row * splits + s];
    const merge_weights by = merge(all, {part.x, part.y});
    sum = sum * by.first + parts[(row * splits + s) * HeadDim + threadIdx.x] * by.second;
  }
  out[row * HeadDim + threadIdx.x] = __float2bfloat16(sum / all.sum);
}

/// Into as many splits as fit at once, at four blocks an SM, which is what the registers allow: a
/// block more would wait for the others and then run alone. None below `least` keys, none empty.
inline void choose_splits(decode_attention_shape& a, int sms, int least = 128) {
  const int heads = a.batch * a.kv_heads, wanted = 4 * sms / heads;
  const int most = (std::max)(1, (std::min)(64, a.context / least));
  const int splits = (std::clamp)(wanted, 1, most);
  a.keys_per_split = ((a.context + splits - 1) / splits + 31) / 32 * 32;
  a.splits = (a.context + a.keys_per_split - 1) / a.keys_per_split;
}

/// `drop_split`: leaves the last split out of the merge, for the check to notice.
template <int HeadDim, int Group>
void launch_decode_attention(const decode_attention_shape& a, cudaStream_t stream,
                             bool drop_split = false) {
  if (a.batch == 0) return;
  if (a.query_heads != Group * a.kv_heads) throw measurement_error("decode attention: head counts");
  const dim3 grid(static_cast<unsigned>(a.splits), static_cast<unsigned>(a.kv_heads),
                  static_cast<unsigned>(a.batch));
  if (a.table != nullptr) {
    decode_attention_kernel<HeadDim, Group, true>
        <<<grid, decode_attention_warps * 32, 0, stream>>>(a);
  } else {
    decode_attention_kernel<HeadDim, Group><<<grid, decode_attention_warps * 32, 0, stream>>>(a);
  }
  PERFMODEL_LAUNCHED("decode_attention_kernel");
  if (a.splits == 1) return;
  merge_attention_kernel<HeadDim>
      <<<static_cast<unsigned>(a.batch * a.query_heads), HeadDim, 0, stream>>>(
          a.parts, a.states, a.out, a.splits, a.splits - (drop_split ? 1 : 0));
  PERFMODEL_LAUNCHED("merge_attention_kernel");
}

}  // namespace perfmodel::validation
