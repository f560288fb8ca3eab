// Time of attention kernels: tiles over SMs, splits of the context, L2 residency, exponentials.
#pragma once

#include <perfmodel/kernels/attention_profile.hpp>
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>

namespace perfmodel::inline v0_3 {

/// Parameters of one accelerator model and of the attention kernels that run on it.
template <Scalar T = double>
struct basic_attention_calibration {
  basic_machine_parameters<T> machine{};
  basic_attention_parameters<T> attention{};
  basic_attention_kernels<T> kernels{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("machine", s.machine...);
    f("attention", s.attention...);
    f("kernels", s.kernels...);
  }
};
using attention_calibration = basic_attention_calibration<>;

/// DRAM bandwidth of attention / DRAM bandwidth of GEMMs. Attention reads long rows and writes
/// almost nothing. One value for all machines, chosen on the measurements of all of them.
inline constexpr double attention_dram_gain = 1.06;

namespace detail {

/// References to the parts of a calibration, so that frequent calls copy nothing.
template <Scalar T>
struct attention_view {
  const basic_machine_parameters<T>& machine;
  const basic_attention_parameters<T>& attention;
  const basic_attention_kernels<T>& kernels;

  /// L2 bandwidth for data that the previous run left in L2.
  constexpr const bandwidth<T>& l2_bandwidth() const {
    return required("l2_bandwidth",
                    attention.l2_bandwidth ? attention.l2_bandwidth : machine.l2_bandwidth);
  }
};

/// Time of memory traffic, and its bytes from DRAM.
template <Scalar T>
struct warm_memory {
  duration<T> time{};
  bytes<T> from_dram{};
};

/// Time of `moved` bytes of memory traffic on `distinct` different bytes. The share that the
/// previous run left in L2 is read from L2, no slower than from DRAM. The rest is read from DRAM.
template <Scalar T>
constexpr warm_memory<T> warm_memory_of(const basic_accelerator<T>& a, const attention_view<T>& c,
                                        const bytes<T>& moved, const bytes<T>& distinct,
                                        cache_state state) {
  const T warm = named("share in L2", state == cache_state::cold
                                          ? T(0.0)
                                          : l2_resident_share(distinct, a.l2.capacity.quantity()));
  detail::positive("dram.bandwidth", a.dram.bandwidth.quantity());
  const bytes<T> cold = named("bytes from DRAM", (1.0 - warm) * moved);
  const T share = scalar_min(T(1.0), T(attention_dram_gain * c.machine.dram_share));
  const bandwidth<T> dram = share * a.dram.bandwidth.quantity();
  return {cold / dram +
              min(duration<T>(warm * moved / c.l2_bandwidth()), duration<T>(warm * moved / dram)),
          cold};
}

/// Time to convert the cache of a decode batch to 16 bits on the vector units, where the chip has
/// no instruction for the cache's format. It does not overlap with the loads: assumed.
template <Scalar T>
constexpr duration<T> dequantisation_time(const basic_accelerator<T>& a,
                                          const basic_attention_decode<T>& w,
                                          const basic_attention_kernels<T>& k, const T& sms) {
  if (supports(a, w.kv_format.format)) return {};
  const T elements = w.batch * attended_tokens(w) * w.kv_heads * (w.head_dim + w.value_width());
  return k.dequantisation_cycles * elements / sms / clock_of(a);
}

template <Scalar T, class Terms>
constexpr kernel_time<T> time_of_kernel(const basic_accelerator<T>& a,
                                        const basic_attention_decode<T>& w,
                                        const basic_demand<T>& needs, const attention_view<T>& c,
                                        const basic_call_conditions<T>& conditions, Terms&& terms) {
  using math::ceil;
  const basic_attention_parameters<T>& p = c.attention;
  const basic_attention_kernels<T>& k = c.kernels;
  const T value_dim = w.value_width();
  const T group = w.query_heads / w.kv_heads;
  const T sms = positive("sms", a.sms).value();
  const decode_splits<T> split = splits_of(w, k, sms);
  const T& splits = split.count;
  const T blocks_per_sm = blocks_per_sm_of(a, k, sms);  // blocks on one SM share its rates
  const T waves = named("waves", T(ceil(T(split.tiles * splits / (sms * blocks_per_sm)))));

  const T elements = split.chunk * decode_block_tokens * (w.head_dim + value_dim);
  const T computed_elements = k.decode_rows / decode_tile_rows * elements;
  const duration<T> block_time =
      named("block time", blocks_per_sm * (p.tile_latency + computed_elements / p.element_rate));
  const duration<T> compute = waves * block_time;
  const auto memory =
      warm_memory_of(a, c, needs.dram.total(), needs.dram.total(), conditions.cache);

  const T split_kernel = indicator(T(splits - 1.0));
  const T reorder_kernel =
      k.reorders_heads
          ? indicator(T(w.batch - 1.0)) * indicator(T(w.kv_heads - 1.0)) * indicator(T(group - 1.0))
          : T(0.0);
  const frequency<T> clock = clock_of(a);
  const T is_scheduled = 1.0 - indicator(T(w.batch - k.scheduled_sequences));

  const duration<T> blocks_take = terms.add(limiter::latency, "blocks", compute);
  const duration<T> memory_takes = terms.add(limiter::memory, "memory", memory.time);
  const duration<T> combined = named("blocks and memory", p_norm(blocks_take, memory_takes));
  duration<T> fixed_time = terms.add(limiter::launch, "floor", p.floor);
  fixed_time += terms.add(limiter::latency, "splits", (splits - 1.0) * k.split_cycles / clock);
  fixed_time += terms.add(limiter::launch, "further kernels",
                          (split_kernel + reorder_kernel) * k.kernel_cycles / clock);
  fixed_time += terms.add(limiter::launch, "metadata", is_scheduled * w.batch * k.sequence_cost);
  if (w.kv_format.format != w.format) {
    fixed_time += terms.add(limiter::launch, "conversion", k.low_precision_kv_time);
    fixed_time +=
        terms.add(limiter::vector_compute, "dequantisation", dequantisation_time(a, w, k, sms));
  }
  return {named("time", fixed_time + combined), memory.from_dram, 2};  // blocks, memory
}

/// Time of one query-key pair on one SM: multiplications with key and value on the matrix units,
/// and an exponential. Some kernels overlap the exponential with the multiplications.
template <Scalar T>
constexpr duration<T> pair_time(const basic_accelerator<T>& a, const basic_attention_prefill<T>& w,
                                const attention_view<T>& c, const T& sms) {
  const T value_dim = w.value_width();
  const bool low_precision = w.kv_format.format != w.format;
  const T share = low_precision ? T(c.attention.matrix_share * c.kernels.low_precision_kv_matrix)
                                : c.attention.matrix_share;
  const flop_rate<T> matrix = share * peak(a, w.format);
  const duration<T> matrix_time = sms * 2.0 * (w.head_dim + value_dim) * flop / matrix;
  const duration<T> exponential = 1.0 / (special_functions_of(a) * clock_of(a));
  return named("time per pair and SM", c.kernels.overlaps_exponential
                                           ? p_norm(matrix_time, exponential)
                                           : matrix_time + exponential);
}

/// Number of elements of the new keys and values of one layer.
template <Scalar T>
constexpr T new_elements(const basic_attention_prefill<T>& w) {
  return w.batch * w.tokens * w.kv_heads * (w.head_dim + w.value_width());
}

/// Time to convert queries, new keys and new values for an 8-bit KV cache: two kernels, and SM
/// cycles for each element.
template <Scalar T>
constexpr duration<T> conversion_time(const basic_accelerator<T>& a,
                                      const basic_attention_prefill<T>& w,
                                      const basic_attention_kernels<T>& k, const T& sms) {
  const T elements = w.batch * w.tokens * w.query_heads * w.head_dim + new_elements(w);
  return 2.0 * k.low_precision_kv_time +
         k.low_precision_element_cycles * elements / sms / clock_of(a);
}

/// Time to write the partial results of each split, and to combine them in another kernel.
template <Scalar T>
constexpr duration<T> combining_time(const basic_accelerator<T>& a,
                                     const basic_attention_prefill<T>& w,
                                     const basic_attention_kernels<T>& k, const T& splits,
                                     const T& sms) {
  const T partial_rows = indicator(T(splits - 1.0)) * splits * w.batch * w.tokens * w.query_heads;
  return (partial_rows * k.partial_row_cycles.value_or(T(0.0)) / sms +
          indicator(T(splits - 1.0)) * k.kernel_cycles) /
         clock_of(a);
}

template <Scalar T, class Terms>
constexpr kernel_time<T> time_of_kernel(const basic_accelerator<T>& a,
                                        const basic_attention_prefill<T>& w,
                                        const basic_demand<T>& needs, const attention_view<T>& c,
                                        const basic_call_conditions<T>& conditions, Terms&& terms) {
  const basic_attention_parameters<T>& p = c.attention;
  const basic_attention_kernels<T>& k = c.kernels;
  using math::ceil;
  const prefill_tiles<T> tiles = tiles_of(w, k);
  const T sms = positive("sms", a.sms).value();
  const T waves = named("waves", T(tiles.count / sms));
  const T splits = prefill_splits(w, k, sms);
  const duration<T> pair = pair_time(a, w, c, sms);
  const duration<T> latency = blocks_per_sm_of(a, k, sms) / k.blocks_per_sm * p.tile_latency;
  const duration<T> start = latency / 2.0;
  const duration<T> mean = named("mean tile", start + tiles.mean_pairs * pair);
  const duration<T> longest =
      named("longest tile", start + tiles.rows * tiles.longest_columns * pair / splits);
  const T waiting_share = tiles.uniform * (ceil(waves) - waves) +
                          (1.0 - tiles.uniform) * k.tail * scalar_min(T(1.0), waves);
  const duration<T> tail = waiting_share * longest;
  // A separate kernel reads the new keys and values and writes them to the cache; attention reads
  // them back.
  const bytes<T> new_bytes = new_elements(w) * bytes_of(w.format);
  const bytes<T> distinct = needs.dram.total() + new_bytes;
  const auto memory = warm_memory_of(a, c, needs.dram.total(), distinct, conditions.cache);
  const auto stored = warm_memory_of(a, c, new_bytes + new_elements(w) * bytes_of(w.kv_format),
                                     distinct, conditions.cache);

  const duration<T> tiles_take =
      terms.add(limiter::compute, "tiles", max(longest, duration<T>(waves * mean + tail)));
  const duration<T> memory_takes = terms.add(limiter::memory, "memory", memory.time);
  duration<T> fixed_time = terms.add(limiter::launch, "floor", p.floor + latency);
  fixed_time += terms.add(limiter::memory, "cache write", stored.time);
  if (w.kv_format.format != w.format) {
    fixed_time += terms.add(limiter::launch, "conversion", conversion_time(a, w, k, sms));
  }
  if (upper(splits) > 1.0) {
    fixed_time += terms.add(limiter::memory, "splits", combining_time(a, w, k, splits, sms));
  }
  const duration<T> overlapped =
      k.overlaps_memory ? p_norm(tiles_take, memory_takes) : tiles_take + memory_takes;
  return {named("time", fixed_time + overlapped), memory.from_dram + stored.from_dram, 2};
}

}  // namespace detail

/// Time of decode attention. The query heads that share a KV head fill part of a tile. The context
/// is split into whole blocks of keys as long as thread blocks are free. Then computation and
/// memory traffic overlap partly.
/// Sources: the structure of the kernels: Dao et al., "Flash-Decoding", 2023; Dao,
/// "FlashAttention-2", 2023; flash-attention, flash_api.cpp, num_splits_heuristic. The parameters
/// are fitted to AIConfigurator's published latencies.
/// Leaves out: contexts of different length in a batch, latency of page tables, power.
/// Errors: those of demand_of(attention_decode); an accelerator without sms, clock, L2 or DRAM; an
/// L2 bandwidth that is not known. The calibration itself is not checked here; calibrated_for makes
/// valid ones.
/// Order: a longer context, a longer window or a larger batch never takes less time, with two
/// exceptions. Fewer splits may take less, by less than half. Batches above `scheduled_sequences`
/// save their metadata: 20 us at 993 sequences on FlashAttention-3
/// (docs/laws/calibrated_attention.md).
/// Tests: each part computed by hand; this order; published latencies of five accelerators.
template <Scalar T>
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a,
                                                const basic_attention_decode<T>& w,
                                                const basic_attention_calibration<T>& c,
                                                const basic_call_conditions<T>& conditions = {}) {
  return detail::estimate_of_kernel(
      a, w, detail::attention_view<T>{c.machine, c.attention, c.kernels}, conditions);
}

/// Time of prefill attention: waves of tiles, with a tail of the longest ones, and memory traffic.
/// They overlap if another thread block computes meanwhile. Kernels with partial_row_cycles split
/// the keys if SMs are free.
/// Sources: Dao, "FlashAttention-2", 2023, section 3; Shah et al., "FlashAttention-3", 2024,
/// section 3.1 (exponentials concurrent with matrix units). The dependence on head_dim follows from
/// the matrix and exponential rates, not from a fit. With the H100's matrix_share it gives figure 5
/// of the latter at head_dim 64, 128 and 256.
/// Order: a longer prefill, past or window or a larger batch never takes less time, with two
/// exceptions. A second row of tiles after a split one may take some 7 % less. Another number of
/// splits may take up to three quarters less (docs/laws/calibrated_attention.md).
/// Leaves out: power; prefills of different length in a batch.
/// Errors: those of demand_of(attention_prefill) and of calibrated decode attention.
/// Tests: each part computed by hand; this order; figure 5 of FlashAttention-3 to 10 % at head_dim
/// 64, 128 and 256.
template <Scalar T>
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a,
                                                const basic_attention_prefill<T>& w,
                                                const basic_attention_calibration<T>& c,
                                                const basic_call_conditions<T>& conditions = {}) {
  return detail::estimate_of_kernel(
      a, w, detail::attention_view<T>{c.machine, c.attention, c.kernels}, conditions);
}

// One attention kernel that computes prefill chunks and decodes of a batch.

/// Parameters of the mixed attention kernel (prefill chunks and decodes) on one accelerator model.
template <Scalar T = double>
struct basic_mixed_attention_parameters {
  duration<T> floor{};         ///< fixed time of one kernel
  duration<T> tile_latency{};  ///< start, first load and end of one tile
  /// time of an empty tile: the grid gives each decode, which has one row, as many tiles as a chunk
  duration<T> idle_tile{};
  T matrix_share = T(1.0);  ///< share of the dense matrix peak, exponentials and loads included
  T tail{};                 ///< idle time at the end of the kernel / time of its longest tile

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

template <Scalar T = double>
using basic_mixed_attention_calibration = kernel_calibration<basic_mixed_attention_parameters<T>>;
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
  const basic_mixed_attention_parameters<T>& p = c.kernels;
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
