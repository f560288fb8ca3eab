// Causal attention of a prefill chunk on Hopper: the kernel of prefill_attention.cuh with wgmma and
// with tiles loaded by TMA, after Shah et al. 2024, "FlashAttention-3", without its ping-pong
// scheduling of warp groups and without a persistent grid.
//
// A block takes 128 queries of one head: the first thread of one warp group loads tiles of 128 keys
// and values, two of each in shared memory; two warp groups have 64 queries each. While the tensor
// cores multiply the next tile's keys, and this tile's probabilities with their values, a warp
// group computes the softmax of the next tile.
//
// What it should reach on an H200, by arithmetic: 45 to 55 % of its bf16 peak over 8192 tokens. A
// tile of 128 x 128 takes 2048 cycles of tensor cores and 1024 of exponentials, which overlap in
// part; FlashAttention-3 reaches 55 to 65 % with what is left out here. Over 512 tokens it is 128
// blocks of one to four tiles: under 25 %.
#pragma once

#include "prefill_attention.cuh"
#include "tma.cuh"
#include "wgmma.cuh"

#include <cstdint>

#ifndef PERFMODEL_EMULATED

namespace perfmodel::validation {

namespace hopper_prefill {
inline constexpr int queries = 128, keys = 128, head_dim = 128, stages = 2;
inline constexpr int groups = 3, threads = groups * 128, consumers = 2;
/// A tile is two panels of 64 columns, 128 rows of 128 bytes each.
inline constexpr int panel_bytes = 128 * 128, tile_bytes = 2 * panel_bytes;
inline constexpr int shared_bytes = (1 + 2 * stages) * tile_bytes + 1024;

struct maps {
  CUtensorMap queries, keys, values;
};

/// Barriers. Full: one arrival and a tile's bytes. Empty: one arrival of each consuming warp.
struct barriers {
  std::uint64_t queries, keys[stages], values[stages], keys_free[stages], values_free[stages];
};
}  // namespace hopper_prefill

#if PERFMODEL_HAS_WGMMA
namespace hopper_prefill {

/// The producer, one thread. Use number n of a stage (tile / stages) waits for the end of phase n -
/// 1 of its "free" barrier, parity (n - 1) % 2, so that the first use of a new barrier passes with
/// parity 1. Phase n of the "full" barrier ends when the tile has arrived.
__device__ inline void produce(const prefill_attention_shape& a, const maps& m, barriers& b,
                               unsigned char* tiles, int first_query, int head, int kv_head,
                               int count) {
  bool alive = true;
  const auto fetch = [&](const CUtensorMap& map, std::uint64_t* full, unsigned char* to, int row,
                         int plane) {
    tma::arrive_expecting(full, tile_bytes);
    tma::load(to, map, 0, row, plane, full);
    tma::load(to + panel_bytes, map, 64, row, plane, full);
  };
  fetch(m.queries, &b.queries, tiles, first_query, head);
  for (int tile = 0; tile < count; ++tile) {
    const int stage = tile % stages;
    const unsigned before = static_cast<unsigned>(tile / stages + 1) % 2U;
    unsigned char* const to = tiles + (1 + 2 * stage) * tile_bytes;
    tma::wait(&b.keys_free[stage], before, alive);
    fetch(m.keys, &b.keys[stage], to, tile * keys, kv_head);
    tma::wait(&b.values_free[stage], before, alive);
    fetch(m.values, &b.values[stage], to + tile_bytes, tile * keys, kv_head);
  }
}

/// Online softmax of one tile: raises the two rows' maxima by the tile's scores, turns the scores
/// into probabilities and sums them. `shrink` returns the factor that rescales the earlier sums.
__device__ inline void soften(float (&score)[64], float (&maximum)[2], float (&sum)[2],
                              float (&shrink)[2], float scale) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float above = maximum[half];
#pragma unroll
    for (int i = 0; i < 32; ++i) above = fmaxf(above, score[i / 2 * 4 + 2 * half + i % 2]);
    above = fmaxf(above, __shfl_xor_sync(0xFFFFFFFFU, above, 1));
    above = fmaxf(above, __shfl_xor_sync(0xFFFFFFFFU, above, 2));
    shrink[half] = ptx::power_of_two((maximum[half] - above) * scale);
    maximum[half] = above;
    const float less = above * scale;
    float more = 0.0F;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      float& x = score[i / 2 * 4 + 2 * half + i % 2];
      x = ptx::power_of_two(fmaf(x, scale, -less));
      more += x;
    }
    sum[half] = fmaf(sum[half], shrink[half], more);
  }
}

/// Scores of keys that the two rows do not see.
__device__ inline void mask(float (&score)[64], int first_key, int sees, int all) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int key = first_key + i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (key > sees + i / 2 % 2 * 8 || key >= all) score[i] = softmax_nothing;
  }
}

/// Sixteen columns of the probabilities as a left operand, which is laid out like the sums.
__device__ inline void to_operand(const float (&score)[64], int k, std::uint32_t (&p)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) p[i] = narrow2(score[8 * k + 2 * i], score[8 * k + 2 * i + 1]);
}

/// A warp group: 64 queries from `first_query` on.
__device__ inline void consume(const prefill_attention_shape& a, barriers& b,
                               const unsigned char* tiles, int group, int first_query, int head,
                               int count) {
  const int thread = static_cast<int>(threadIdx.x) % 128, lane = thread % 32;
  const int row = first_query + thread / 32 * 16 + lane / 4;  // and 8 further
  const int all = a.past + a.tokens, sees = a.past + row + a.ahead;
  const int all_see = a.past + first_query + a.ahead;  // keys up to here need no mask
  const std::uint32_t base = ptx::shared_address(tiles);
  const std::uint64_t q =
      operand_descriptor(base + static_cast<std::uint32_t>(group * 64) * 128U, 0, 1024);
  const auto tile_at = [&](int stage, int which) {
    return base + static_cast<std::uint32_t>((1 + 2 * stage + which) * tile_bytes);
  };
  // In units of 16 bytes: 32 bytes of a row a step along the dimensions, four steps a panel.
  const auto score_tile = [&](float(&score)[64], int stage) {
    const std::uint64_t k = operand_descriptor(tile_at(stage, 0), 0, 1024);
#pragma unroll
    for (int step = 0; step < head_dim / 16; ++step) {
      const auto along = static_cast<std::uint64_t>(step / 4 * panel_bytes / 16 + step % 4 * 2);
      wgmma::bf16_128(score, q + along, k + along, step > 0);
    }
  };
  // Sixteen keys are 2048 bytes; the panels of 64 dimensions are the leading step.
  const auto weigh_tile = [&](float(&out)[64], const std::uint32_t(&p)[keys / 16][4], int stage,
                              bool onto) {
    const std::uint64_t v = operand_descriptor(tile_at(stage, 1), panel_bytes, 1024);
#pragma unroll
    for (int step = 0; step < keys / 16; ++step) {
      wgmma::bf16_128_held(out, p[step], v + static_cast<std::uint64_t>(step) * 128U,
                           onto || step > 0);
    }
  };
  const auto release = [&](std::uint64_t* free) {
    if (lane == 0) tma::arrive(free);
  };

  bool alive = true;
  float out[64], score[64], shrink[2];
  float maximum[2] = {softmax_nothing, softmax_nothing}, sum[2] = {0.0F, 0.0F};
  std::uint32_t p[keys / 16][4];
#pragma unroll
  for (int i = 0; i < 64; ++i) out[i] = 0.0F;
  tma::wait(&b.queries, 0, alive);
  tma::wait(&b.keys[0], 0, alive);
  wgmma::hold(score);
  wgmma::fence();
  score_tile(score, 0);
  wgmma::commit();
  wgmma::wait<0>();
  wgmma::hold(score);
  release(&b.keys_free[0]);
  if (keys - 1 > all_see || keys > all) mask(score, 0, sees, all);
  soften(score, maximum, sum, shrink, a.scale);
#pragma unroll
  for (int k = 0; k < keys / 16; ++k) to_operand(score, k, p[k]);

  for (int tile = 1; tile < count; ++tile) {
    const int stage = tile % stages, before = (tile - 1) % stages;
    tma::wait(&b.keys[stage], static_cast<unsigned>(tile / stages) % 2U, alive);
    wgmma::hold(score);
    wgmma::hold(out);
    wgmma::fence();
    score_tile(score, stage);
    wgmma::commit();
    tma::wait(&b.values[before], static_cast<unsigned>((tile - 1) / stages) % 2U, alive);
    weigh_tile(out, p, before, true);
    wgmma::commit();
    wgmma::wait<1>();
    wgmma::hold(score);
    release(&b.keys_free[stage]);
    const int first_key = tile * keys;
    if (first_key + keys - 1 > all_see || first_key + keys > all) mask(score, first_key, sees, all);
    soften(score, maximum, sum, shrink, a.scale);
    wgmma::wait<0>();
    wgmma::hold(out);
    release(&b.values_free[before]);
#pragma unroll
    for (int i = 0; i < 64; ++i) out[i] *= shrink[i / 2 % 2];
#pragma unroll
    for (int k = 0; k < keys / 16; ++k) to_operand(score, k, p[k]);
  }
  const int last = (count - 1) % stages;
  tma::wait(&b.values[last], static_cast<unsigned>((count - 1) / stages) % 2U, alive);
  wgmma::hold(out);
  wgmma::fence();
  weigh_tile(out, p, last, true);
  wgmma::commit();
  wgmma::wait<0>();
  wgmma::hold(out);

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    sum[half] += __shfl_xor_sync(0xFFFFFFFFU, sum[half], 1);
    sum[half] += __shfl_xor_sync(0xFFFFFFFFU, sum[half], 2);
    const int token = row + 8 * half;
    if (token >= a.tokens) continue;
    const float by = alive ? 1.0F / sum[half] : __int_as_float(0x7FFFFFFF);
    const std::size_t token_step = a.head_stride == 0 ? a.query_heads * head_dim : head_dim;
    const std::size_t head_step = a.head_stride == 0 ? head_dim : a.head_stride;
    __nv_bfloat16* const to = a.out + static_cast<std::size_t>(token) * token_step +
                              static_cast<std::size_t>(head) * head_step + lane % 4 * 2;
#pragma unroll
    for (int d = 0; d < head_dim / 8; ++d) {
      *reinterpret_cast<std::uint32_t*>(to + d * 8) =
          narrow2(out[4 * d + 2 * half] * by, out[4 * d + 2 * half + 1] * by);
    }
  }
}

}  // namespace hopper_prefill
#endif

template <int HeadDim>
__global__ void __launch_bounds__(hopper_prefill::threads, 1)
    hopper_prefill_kernel(prefill_attention_shape a,
                          const __grid_constant__ hopper_prefill::maps m) {
#if PERFMODEL_HAS_WGMMA
  using namespace hopper_prefill;
  static_assert(HeadDim == head_dim);
  extern __shared__ __align__(128) uint4 pool[];
  __shared__ barriers b;
  const std::uint32_t at = ptx::shared_address(pool);
  unsigned char* const tiles =
      reinterpret_cast<unsigned char*>(pool) + ((at + 1023U) / 1024U * 1024U - at);
  const int head = static_cast<int>(blockIdx.x), kv_head = head / (a.query_heads / a.kv_heads);
  // The last queries see the most keys: they go first, of all heads.
  const int first_query = static_cast<int>(gridDim.y - 1 - blockIdx.y) * queries;
  const int end = (std::min)(a.past + first_query + queries + a.ahead, a.past + a.tokens);
  const int count = (end + keys - 1) / keys;
  if (threadIdx.x == 0) {
    tma::start(&b.queries, 1);
    for (int s = 0; s < stages; ++s) {
      tma::start(&b.keys[s], 1);
      tma::start(&b.values[s], 1);
      tma::start(&b.keys_free[s], consumers * 4);
      tma::start(&b.values_free[s], consumers * 4);
    }
    tma::publish_barriers();
  }
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / 128 - 1;
  if (group < 0) {
    wgmma::give_registers<24>();
    if (threadIdx.x == 0) produce(a, m, b, tiles, first_query, head, kv_head, count);
  } else {
    wgmma::take_registers<240>();
    consume(a, b, tiles, group, first_query + group * 64, head, count);
  }
#endif
}

/// Like launch_prefill_attention; only where has_wgmma().
template <int HeadDim>
void launch_hopper_prefill(const prefill_attention_shape& a, cudaStream_t stream) {
  using namespace hopper_prefill;
  if (a.tokens == 0) return;
  const auto head_step = static_cast<std::size_t>(a.head_stride == 0 ? HeadDim : a.head_stride);
  const std::size_t cache = static_cast<std::size_t>(a.capacity) * HeadDim;
  const int all = a.past + a.tokens;
  const maps m{
      tma::tile_map(a.queries, HeadDim, a.tokens, a.query_heads,
                    static_cast<std::size_t>(a.query_stride), head_step, queries),
      tma::tile_map(a.keys, HeadDim, all, a.kv_heads, HeadDim, cache, hopper_prefill::keys),
      tma::tile_map(a.values, HeadDim, all, a.kv_heads, HeadDim, cache, hopper_prefill::keys)};
  const auto kernel = hopper_prefill_kernel<HeadDim>;
  PERFMODEL_CUDA(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  const dim3 grid(static_cast<unsigned>(a.query_heads),
                  static_cast<unsigned>((a.tokens + queries - 1) / queries));
  kernel<<<grid, threads, shared_bytes, stream>>>(a, m);
  PERFMODEL_LAUNCHED("hopper_prefill_kernel");
}

}  // namespace perfmodel::validation

#endif
