// Calibration of attention: libraries of kernels, their tiles and splits, and a machine's
// parameters.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/named.hpp>

namespace perfmodel::inline v0_3 {

/// Work division and costs of one library of attention kernels. The division, `block_memory` and
/// the three flags are read in its source; `tail` follows from the order of its tiles. The costs
/// are fitted, at most five for one library.
template <Scalar T = double>
struct basic_attention_kernels {
  label name{};
  T max_splits = T(1.0);     ///< most parts of one sequence's context
  T blocks_per_sm = T(1.0);  ///< thread blocks per SM that decode is split for
  std::optional<bytes<T>>
      block_memory{};       ///< shared memory of a thread block, which limits the blocks per SM
  T decode_rows = T(64.0);  ///< query rows that a decode tile computes, however few a group has
  T tile_rows = T(64.0);    ///< query rows of a prefill tile
  T tile_keys = T(1.0);     ///< keys of a tile's step; a row of tiles sees whole steps
  T tail = T(0.65);         ///< share of the longest tile spent waiting at the end
  bool overlaps_memory = false;       ///< one block computes while another loads and stores
  bool overlaps_exponential = false;  ///< exponentials overlap with the matrix units
  bool reorders_heads = false;        ///< grouped queries are reordered into one tile
  T kernel_cycles{};                  ///< SM cycles of a further kernel: combining, reordering
  T split_cycles{};                   ///< SM cycles to combine one more split
  /// SM cycles to write and combine a row of one split, where prefill is split
  std::optional<T> partial_row_cycles{};
  duration<T> sequence_cost{};          ///< scheduling metadata, per sequence of a decode batch
  T scheduled_sequences{};              ///< largest batch that is scheduled ahead
  duration<T> low_precision_kv_time{};  ///< one conversion kernel of an 8-bit KV cache
  T low_precision_element_cycles{};     ///< SM cycles per element in the conversion, in prefill
  T low_precision_kv_matrix = T(1.0);   ///< matrix share with an 8-bit KV cache over that without

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
    f(field::not_negative("kernel_cycles"), s.kernel_cycles...);
    f(field::not_negative("split_cycles"), s.split_cycles...);
    f(field::positive("partial_row_cycles"), s.partial_row_cycles...);
    f(field::not_negative("sequence_cost"), s.sequence_cost...);
    f(field::not_negative("scheduled_sequences"), s.scheduled_sequences...);
    f(field::not_negative("narrow_kv_time"), s.low_precision_kv_time...);
    f(field::not_negative("narrow_element_cycles"), s.low_precision_element_cycles...);
    f(field::positive("narrow_kv_matrix"), s.low_precision_kv_matrix...);
  }
};
using attention_kernels = basic_attention_kernels<>;

/// Attention parameters of one accelerator, in addition to its machine profile.
template <Scalar T = double>
struct basic_attention_parameters {
  duration<T> floor{};  ///< fixed time of a call, the KV write included
  /// start, first load and end of a thread block on an otherwise idle SM
  duration<T> tile_latency{};
  frequency<T> element_rate{};  ///< KV elements per second of an SM, for a tile of 64 queries
  T matrix_share = T(1.0);      ///< share of the dense peak in prefill; above 1 where clocks boost
  std::optional<perfmodel::bandwidth<T>> l2_bandwidth{};  ///< absent: the machine's

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

// Work division of attention kernels: keys and values over idle SMs, prefills into tiles.

/// Tokens of a block of keys and values in decode. Source: flash-attention, hdim 128, split kernel.
inline constexpr double decode_block_tokens = 128.0;
/// Query rows of a decode tile; a group of heads fills a part of it.
inline constexpr double decode_tile_rows = 64.0;

namespace detail {

/// Split of contexts by a decode kernel: a tile for each sequence and KV head, split into as many
/// parts of whole blocks as thread blocks are free, whatever the cost of combining.
template <Scalar T>
struct decode_splits {
  T tiles{};              ///< tiles before the split
  T concurrent_blocks{};  ///< thread blocks that run at once
  T chunk{};              ///< KV blocks of a split
  T count{};              ///< splits of one context
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

/// Thread blocks of a decode kernel that run on one SM at once, limited by its shared memory.
/// Without a stated shared memory it is the number that the kernel assumes.
template <Scalar T>
constexpr T blocks_per_sm_of(const basic_accelerator<T>& a, const basic_attention_kernels<T>& k,
                             const T& sms) {
  using math::floor;
  if (!k.block_memory || !a.shared.capacity.is_stated()) return k.blocks_per_sm;
  const T blocks_in_memory = floor(T(a.shared.capacity.quantity() / sms / *k.block_memory));
  return scalar_max(T(1.0), scalar_min(k.blocks_per_sm, blocks_in_memory));
}

/// Query rows of a layer in tiles of one head each. With a causal mask the last rows see most
/// columns.
template <Scalar T>
struct prefill_tiles {
  T count{};            ///< number over all heads
  T mean_pairs{};       ///< query-key pairs of the mean tile
  T longest_columns{};  ///< keys that the longest row of tiles sees
  T uniform{};          ///< 1 where all tiles take equally long: one row of them, or no mask
};

template <Scalar T>
constexpr prefill_tiles<T> tiles_of(const basic_attention_prefill<T>& w,
                                    const basic_attention_kernels<T>& k) {
  using math::ceil;
  const T& rows = k.tile_rows;
  const T step = scalar_max(rows, k.tile_keys);  // of keys, from one row of tiles to the next
  const T row_blocks = ceil(T(w.tokens / rows));
  const T count = named("tiles", T(w.batch * w.query_heads * row_blocks));
  const T padded = row_blocks * rows;
  T columns = padded + w.past;
  if (upper(k.tile_keys) > upper(rows)) columns = ceil(T(columns / step)) * step;
  if (!w.causal) return {count, rows * columns, columns, T(1.0)};
  const T mean_past = w.past + (step - 1.0) / 2.0;
  T pairs = causal_pairs(padded, mean_past);  // of one head
  if (w.window) {
    const T seen = *w.window + step;  // by a row, at most
    columns = scalar_min(columns, seen);
    pairs = scalar_min(causal_pairs(padded, mean_past, seen), T(padded * seen));
  }
  const T uniform = 1.0 - indicator(T(row_blocks - 1.0));
  return {count, uniform * rows * columns + (1.0 - uniform) * pairs / row_blocks, columns, uniform};
}

/// Parts into which a prefill kernel splits the keys where its tiles, of 128 rows of a group's
/// queries, do not fill the SMs. It takes as many parts as fit, of at least 128 keys, whatever the
/// cost of combining. A window leaves a tile its own keys and those before its first row.
/// Source: FlashInfer, scheduler.cuh.
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
