// Time of one attention kernel that computes prefill chunks and decodes of a batch.
#pragma once

#include <perfmodel/core/estimate.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>

namespace perfmodel::inline v0_3 {

/// Parameters of the mixed attention kernel (prefill chunks and decodes) on one accelerator model.
template <Scalar T = double>
struct basic_mixed_attention_parameters {
  duration<T> floor{};         ///< fixed time of one kernel
  duration<T> tile_latency{};  ///< start, first load and end of one tile
  /// time of an empty tile: the grid gives each decode, which has one row, as many tiles as a chunk
  duration<T> idle_tile{};
  /// share of the dense matrix peak, with exponentials and loads included
  T matrix_share = T(1.0);
  T tail{};  ///< idle time at the end of the kernel / time of its longest tile

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::not_negative("floor"), s.floor...);
    f(field::not_negative("tile_latency"), s.tile_latency...);
    f(field::not_negative("idle_tile"), s.idle_tile...);
    f(field::positive("matrix_share"), s.matrix_share...);
    f(field::not_negative("tail"), s.tail...);
  }
};
using mixed_attention_parameters = basic_mixed_attention_parameters<>;

/// Parameters of one accelerator model and of the mixed attention kernel on it.
template <Scalar T = double>
struct basic_mixed_attention_calibration {
  basic_machine_parameters<T> machine{};
  basic_mixed_attention_parameters<T> attention{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("machine", s.machine...);
    f("attention", s.attention...);
  }
};
using mixed_attention_calibration = basic_mixed_attention_calibration<>;

/// Query rows of a tile, and keys in one step of its main loop: kBlockM 64 and kBlockN 128 at
/// head_dim 128. Source: flash-attention 2, flash_fwd_launch_template.h,
/// run_mha_fwd_splitkv_dispatch; paged KV caches take this path.
inline constexpr double mixed_tile_rows = 64.0;
inline constexpr double mixed_step_keys = 128.0;

namespace detail {

/// Number of times that decodes read each key from DRAM. Query heads are the slowest index of the
/// grid: if the tiles of all sequences fill the SMs, the heads of a group run in sequence. They
/// find their keys in L2 only if the keys of all sequences fit there.
template <Scalar T>
constexpr T key_reads(const basic_accelerator<T>& a, const basic_attention_decode<T>& w) {
  const T group = w.query_heads / w.kv_heads;
  const T concurrent_heads = scalar_max(T(1.0), T(group * w.batch / a.sms.value()));
  const bytes<T> head_bytes =
      w.batch * attended_tokens(w) * (w.head_dim + w.value_width()) * bytes_of(w.kv_format);
  const T resident_share = l2_resident_share(head_bytes, a.l2.capacity.quantity());
  return named("reads of the keys",
               1.0 + (scalar_min(group, concurrent_heads) - 1.0) * (1.0 - resident_share));
}

}  // namespace detail

/// Time of a prefill chunk and decodes in one FlashAttention-2 kernel. A decode's query is a tile
/// of one row that takes the time of a whole tile. No context is split, and the tiles share the
/// SMs.
///
///     time = floor + sqrt(tiles^2 + memory^2)
///     tiles = max(longest, (sum of tiles) / SMs + tail x longest x min(1, tiles / SMs))
///     a tile = tile_latency + steps x step
///     step = (2 x 64 x 128 (head_dim + value_dim) FLOP) / (share x peak / SMs)
///
/// Sources: flash-attention 2, flash_fwd_launch_template.h; Dao, "FlashAttention-2", 2023. The
/// formulas of overlap and tail are this project's own.
/// Leaves out: a head_dim other than 128, which was not measured; contexts of different length;
/// prefill tokens already in L2.
/// Errors: those of demand_of for the prefill and for the decodes; an accelerator without sms, L2
/// or DRAM; a calibration outside its limits.
/// Tests: one tile computed by hand; published latencies of RTX PRO 6000; never faster than the
/// roofline.
template <Scalar T>
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a,
                                                const basic_attention_prefill<T>& prefill,
                                                const basic_attention_decode<T>& decodes,
                                                const basic_mixed_attention_calibration<T>& c) {
  using math::ceil;
  using math::sqrt;
  require_valid(c, "calibration");
  const basic_mixed_attention_parameters<T>& p = c.attention;
  const basic_demand<T> prefill_demand = demand_of(prefill);
  const basic_demand<T> decode = demand_of(decodes);
  const T sms = detail::count("sms", a.sms.value());
  const flops<T> step_flop = 2.0 * mixed_tile_rows * mixed_step_keys *
                             (prefill.head_dim + prefill.value_width()) * lift<T>(1.0 * flop);
  const duration<T> step =
      named("time of a step", step_flop / (p.matrix_share * peak(a, prefill_demand.format) / sms));

  const T rows = ceil(T(prefill.tokens / mixed_tile_rows));  // rows of tiles of one head
  const T prefill_tiles = prefill.batch * prefill.query_heads * rows;
  const T decode_tiles = named("decode tiles", T(decodes.batch * decodes.query_heads));
  const T mean_steps =
      (prefill.past + (rows + 1.0) * mixed_tile_rows / 2.0) / mixed_step_keys + 0.5;
  const T longest_prefill = (prefill.past + prefill.tokens) / mixed_step_keys + 0.5;
  const T decode_steps = ceil(T((attended_tokens(decodes) + 1.0) / mixed_step_keys));
  const T tiles = prefill_tiles + decode_tiles;
  const duration<T> all_tiles =
      named("all tiles", tiles * p.tile_latency +
                             (prefill_tiles * mean_steps + decode_tiles * decode_steps) * step +
                             (rows - 1.0) * decode_tiles * p.idle_tile);
  const duration<T> longest =
      named("longest tile", p.tile_latency + scalar_max(longest_prefill, decode_steps) * step);
  const duration<T> shared_time =
      all_tiles / sms + p.tail * scalar_min(T(1.0), T(tiles / sms)) * longest;

  basic_estimate<T> e;
  const duration<T> work = e.terms.add(limiter::compute, "tiles", max(longest, shared_time));
  const bytes<T> keys = decodes.batch * attended_tokens(decodes) * decodes.kv_heads *
                        (decodes.head_dim + decodes.value_width()) * bytes_of(decodes.kv_format);
  const bytes<T> moved = prefill_demand.dram.total() + decode.dram.total() +
                         (detail::key_reads(a, decodes) - 1.0) * keys;
  const duration<T> memory = e.terms.add(
      limiter::memory, "memory",
      moved /
          (c.machine.dram_share * detail::positive("dram.bandwidth", a.dram.bandwidth.quantity())));
  e.limiter = e.terms.limiting();
  const T ratio = min(work, memory) / max(work, memory);
  const duration<T> overlapped = max(work, memory) * sqrt(T(1.0 + ratio * ratio));
  e.time = named("time", e.terms.add(limiter::launch, "floor", p.floor) + overlapped);
  e.mfu =
      (prefill_demand.matrix_flop + decode.matrix_flop) / peak(a, prefill_demand.format) / e.time;
  e.mbu = moved / a.dram.bandwidth.quantity() / e.time;
  return e;
}

}  // namespace perfmodel::inline v0_3
