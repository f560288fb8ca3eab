// Into how many parts attention kernels cut keys and values where SMs would be idle.
#pragma once

#include <perfmodel/calibrated/attention_profile.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/named.hpp>
#include <perfmodel/workload/operators/attention.hpp>
#include <perfmodel/workload/operators/attention_decode.hpp>

namespace perfmodel {

/// Tokens of a block of keys and values in decode. Source: flash-attention, hdim 128, split kernel.
inline constexpr double decode_block_tokens = 128.0;
/// Query rows of a decode tile: a group of heads fills a part of it.
inline constexpr double decode_tile_rows = 64.0;

namespace detail {

/// How a decode kernel cuts the contexts: a tile for each sequence and KV head, each cut into as many
/// parts of whole blocks as places are free, whatever combining them costs.
template <Scalar T>
struct decode_splits {
  T units{};   ///< tiles before the cut
  T places{};  ///< thread blocks that run at once
  T chunk{};   ///< KV blocks of a part
  T count{};   ///< parts of one context
};

template <Scalar T>
constexpr decode_splits<T> splits_of(const basic_attention_decode<T>& w,
                                     const basic_attention_kernels<T>& k, const T& sms) {
  using math::ceil;
  using math::floor;
  const T group = w.query_heads / w.kv_heads;
  const T units = named("tiles", T(w.batch * w.kv_heads * ceil(T(group / decode_tile_rows))));
  const T places = sms * k.blocks_per_sm;
  const T blocks = ceil(T(attended_tokens(w) / decode_block_tokens));
  const T wanted =
      scalar_min(scalar_max(T(1.0), T(floor(T(places / units)))), scalar_min(k.max_splits, blocks));
  const T chunk = named("KV blocks per split", T(ceil(T(blocks / wanted))));
  return {units, places, chunk, named("splits", scalar_max(T(1.0), T(ceil(T(blocks / chunk)))))};
}

/// Parts that a prefill kernel cuts the keys into where its tiles, of 128 rows of a group's
/// queries, do not fill the places: as many as fit, of at least 128 keys, whatever combining them costs.
/// A window leaves a tile its own keys and those before its first row. Source: FlashInfer, scheduler.cuh.
template <Scalar T>
constexpr T prefill_splits(const basic_attention_prefill<T>& w, const basic_attention_kernels<T>& k,
                           const T& sms) {
  using math::ceil;
  using math::floor;
  if (!k.partial_row_cycles) return T(1.0);
  const T group = w.query_heads / w.kv_heads;
  const T tiles = w.batch * w.kv_heads * ceil(T(w.tokens * group / 128.0));
  const T fitting = floor(T(sms * k.blocks_per_sm / tiles));
  T keys = w.tokens + w.past;
  if (w.causal && w.window) keys = scalar_min(keys, T(*w.window + 128.0));
  return scalar_max(T(1.0), scalar_min(fitting, T(ceil(T(keys / 128.0)))));
}

}  // namespace detail

}  // namespace perfmodel
