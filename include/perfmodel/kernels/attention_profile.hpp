// Calibration of attention: kernel libraries with their tiles and splits, and parameters of an
// accelerator model.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/named.hpp>

namespace perfmodel::inline v0_3 {

/// Work division and costs of the attention kernels of one library. The work division,
/// `block_memory` and the three flags are read in the library's source. `tail` follows from the
/// order of its tiles. The costs are fitted, at most five for one library.
template <Scalar T = double>
struct basic_attention_kernels {
  label name{};
  T max_splits = T(1.0);     ///< largest number of parts into which a context is split
  T blocks_per_sm = T(1.0);  ///< thread blocks per SM that the split of decodes aims at
  std::optional<bytes<T>> block_memory{};  ///< shared memory of a block, limits blocks per SM
  T decode_rows = T(64.0);  ///< query rows that a decode tile computes, filled with heads or not
  T tile_rows = T(64.0);    ///< query rows of a prefill tile
  T tile_keys = T(1.0);     ///< keys per step of a prefill tile; a tile computes whole steps
  T tail = T(0.65);         ///< idle time at the end of a prefill kernel / time of its longest tile
  bool overlaps_memory = false;       ///< one thread block computes while another loads and stores
  bool overlaps_exponential = false;  ///< exponentials overlap with the matrix units
  bool reorders_heads = false;  ///< an extra kernel reorders the heads of a group into one tile
  bool packs_heads = false;     ///< the query rows of a group of heads share prefill tiles
  T kernel_cycles{};  ///< SM cycles of each extra kernel: combination of splits, order of heads
  T split_cycles{};   ///< SM cycles to combine each split after the first
  /// SM cycles to write and combine one query row of one split; absent: prefill is not split
  std::optional<T> partial_row_cycles{};
  duration<T> sequence_cost{};  ///< time of scheduling metadata, per sequence of a decode batch
  T scheduled_sequences{};      ///< largest decode batch that has scheduling metadata
  duration<T> low_precision_kv_time{};  ///< time of one kernel that converts for an 8-bit KV cache
  T low_precision_element_cycles{};     ///< SM cycles per element converted for an 8-bit KV cache
  T low_precision_kv_matrix = T(1.0);   ///< matrix rate of prefill, 8-bit / 16-bit KV cache
  T dequantisation_cycles{};  ///< SM cycles per cached element that the chip converts in software

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f(field::count("max_splits"), s.max_splits...);
    f(field::count("blocks_per_sm"), s.blocks_per_sm...);
    f(field::positive("block_memory"), s.block_memory...);
    f(field::count("decode_rows"), s.decode_rows...);
    f(field::count("tile_rows"), s.tile_rows...);
    f(field::count("tile_keys"), s.tile_keys...);
    f(field::not_negative("tail"), s.tail...);
    f("overlaps_memory", s.overlaps_memory...);
    f("overlaps_exponential", s.overlaps_exponential...);
    f("reorders_heads", s.reorders_heads...);
    f("packs_heads", s.packs_heads...);
    f(field::not_negative("kernel_cycles"), s.kernel_cycles...);
    f(field::not_negative("split_cycles"), s.split_cycles...);
    f(field::positive("partial_row_cycles"), s.partial_row_cycles...);
    f(field::not_negative("sequence_cost"), s.sequence_cost...);
    f(field::not_negative("scheduled_sequences"), s.scheduled_sequences...);
    f(field::not_negative("low_precision_kv_time"), s.low_precision_kv_time...);
    f(field::not_negative("low_precision_element_cycles"), s.low_precision_element_cycles...);
    f(field::positive("low_precision_kv_matrix"), s.low_precision_kv_matrix...);
    f(field::not_negative("dequantisation_cycles"), s.dequantisation_cycles...);
  }
};
using attention_kernels = basic_attention_kernels<>;

/// Attention parameters of one accelerator model, in addition to its machine profile.
template <Scalar T = double>
struct basic_attention_parameters {
  duration<T> floor{};          ///< fixed time of attention, with the KV-cache write
  duration<T> tile_latency{};   ///< start, first load and end of a thread block on an idle SM
  frequency<T> element_rate{};  ///< KV elements per second of one SM, for a tile of 64 query rows
  T matrix_share = T(1.0);  ///< share of the dense matrix peak in prefill; above 1: faster clocks
  /// L2 bandwidth of attention; absent: that of the machine profile
  std::optional<perfmodel::bandwidth<T>> l2_bandwidth{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::positive("floor"), s.floor...);
    f(field::positive("tile_latency"), s.tile_latency...);
    f(field::positive("element_rate"), s.element_rate...);
    f(field::positive("matrix_share"), s.matrix_share...);
    f(field::positive("l2_bandwidth"), s.l2_bandwidth...);
  }
};
using attention_parameters = basic_attention_parameters<>;

using attention_profile = fitted_profile<attention_parameters>;

// Work division of attention kernels: contexts of decodes over idle SMs, prefills into tiles.

/// Tokens in one block of keys and values of decode. Source: flash-attention, the split-KV kernel
/// at head_dim 128.
inline constexpr double decode_block_tokens = 128.0;
/// Query rows of a decode tile. The query heads that share a KV head fill part of it.
inline constexpr double decode_tile_rows = 64.0;

namespace detail {

/// Split of contexts by a decode kernel. Each sequence and KV head has a tile. It is split into
/// parts of whole blocks as long as thread blocks are free; kernels ignore the cost of combining.
template <Scalar T>
struct decode_splits {
  T tiles{};              ///< tiles before the split
  T concurrent_blocks{};  ///< thread blocks that run at the same time on all SMs
  T chunk{};              ///< blocks of keys and values in one split
  T count{};              ///< number of splits of one context
};

template <Scalar T>
constexpr decode_splits<T> splits_of(const basic_attention_decode<T>& w,
                                     const basic_attention_kernels<T>& k, const T& sms) {
  using math::ceil;
  using math::floor;
  const T group = w.query_heads / w.kv_heads;
  const T tiles = named("tiles", T(w.batch * w.kv_heads * ceil(T(group / decode_tile_rows))));
  const T concurrent_blocks = sms * k.blocks_per_sm;
  const T blocks = ceil(T(attended_tokens(w) / decode_block_tokens));
  const T split_limit = scalar_min(scalar_max(T(1.0), T(floor(T(concurrent_blocks / tiles)))),
                                   scalar_min(k.max_splits, blocks));
  const T chunk = named("KV blocks per split", T(ceil(T(blocks / split_limit))));
  return {tiles, concurrent_blocks, chunk,
          named("splits", scalar_max(T(1.0), T(ceil(T(blocks / chunk)))))};
}

/// Thread blocks of an attention kernel that run on one SM at the same time, limited by shared
/// memory. If an accelerator does not state its shared memory, the number is the kernel's
/// blocks_per_sm.
template <Scalar T>
constexpr T blocks_per_sm_of(const basic_accelerator<T>& a, const basic_attention_kernels<T>& k,
                             const T& sms) {
  using math::floor;
  if (!k.block_memory || !a.shared.capacity.is_stated()) return k.blocks_per_sm;
  const T blocks_in_memory = floor(T(a.shared.capacity.quantity() / sms / *k.block_memory));
  return scalar_max(T(1.0), scalar_min(k.blocks_per_sm, blocks_in_memory));
}

/// Tiles of one prefill layer. Each has rows of one head. The heads of a group share tiles in
/// kernels that pack heads, up to one tile of tokens, and in all with one token, which engines run
/// as a decode.
/// With a causal mask the last rows have the most keys.
/// Sources: FlashAttention-3, heuristics.h, should_pack_gqa (always with a variable length, as
/// engines call it); FlashInfer, FA2DetermineCtaTileQ of the packed length; FlashAttention-2,
/// seqlenq_ngroups_swapped.
/// Test: 256 prefills of one token with 40 query heads on one KV head are 256 tiles.
template <Scalar T>
struct prefill_tiles {
  T rows{};             ///< query rows of a tile
  T count{};            ///< number of tiles, all sequences and heads
  T mean_pairs{};       ///< query-key pairs of the mean tile
  T longest_columns{};  ///< keys of the last row of tiles, which has the most
  T uniform{};  ///< 1 if all tiles take equally long (one row of tiles, or no causal mask), else 0
};

template <Scalar T>
constexpr prefill_tiles<T> tiles_of(const basic_attention_prefill<T>& w,
                                    const basic_attention_kernels<T>& k) {
  using math::ceil;
  const T single = 1.0 - indicator(T(w.tokens - 1.0));  // 1 for one token, else 0
  const T least_rows = scalar_min(k.tile_rows, T(decode_tile_rows));
  const T rows = k.tile_rows - single * (k.tile_rows - least_rows);
  const T step = scalar_max(rows, k.tile_keys);  // keys from one row of tiles to the next
  const T row_blocks = ceil(T(w.tokens / rows));
  const T packed = w.kv_heads * ceil(T(w.tokens * (w.query_heads / w.kv_heads) / rows));
  const T by_head = w.query_heads * row_blocks;
  const T packs = k.packs_heads ? T(1.0 - indicator(T(row_blocks - 1.0))) : single;
  const T of_sequence = by_head - packs * (by_head - packed);
  const T count = named("tiles", T(w.batch * of_sequence));
  const T padded = row_blocks * rows;
  T columns = padded + w.past;
  if (upper(k.tile_keys) > upper(rows)) columns = ceil(T(columns / step)) * step;
  if (!w.causal) return {rows, count, rows * columns, columns, T(1.0)};
  const T mean_past = w.past + (step - 1.0) / 2.0;
  T pairs = causal_pairs(padded, mean_past);  // pairs of one head
  if (w.window) {
    const T seen = *w.window + step;  // largest number of keys of a row
    columns = scalar_min(columns, seen);
    pairs = scalar_min(causal_pairs(padded, mean_past, seen), T(padded * seen));
  }
  const T uniform = 1.0 - indicator(T(row_blocks - 1.0));
  return {rows, count, uniform * rows * columns + (1.0 - uniform) * pairs / row_blocks, columns,
          uniform};
}

/// Number of parts into which a prefill kernel splits the keys if its tiles do not fill the SMs; a
/// tile has 128 query rows of a group of heads. It takes as many parts as fit the SMs, of at least
/// 128 keys, and ignores the cost of combining. With a sliding window, a tile reads the keys of its
/// own rows and of the window before them.
/// Source: FlashInfer, include/flashinfer/attention/scheduler.cuh.
template <Scalar T>
constexpr T prefill_splits(const basic_attention_prefill<T>& w, const basic_attention_kernels<T>& k,
                           const T& sms) {
  using math::ceil;
  using math::floor;
  if (!k.partial_row_cycles) return T(1.0);
  const T group = w.query_heads / w.kv_heads;
  const T tiles = w.batch * w.kv_heads * ceil(T(w.tokens * group / 128.0));
  const T fitting_splits = floor(T(sms * k.blocks_per_sm / tiles));
  T keys = w.tokens + w.past;
  if (w.causal && w.window) keys = scalar_min(keys, T(*w.window + 128.0));
  return scalar_max(T(1.0), scalar_min(fitting_splits, T(ceil(T(keys / 128.0)))));
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3
