// Attention as kernels run it: tiles over SMs, splits, what stays in L2, and the exponentials.
#pragma once

#include <perfmodel/calibrated/attention_profile.hpp>
#include <perfmodel/calibrated/attention_splits.hpp>
#include <perfmodel/calibrated/conditions.hpp>
#include <perfmodel/calibrated/machine_profile.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/core/soft_max.hpp>
#include <perfmodel/workload/operators/attention.hpp>
#include <perfmodel/workload/operators/attention_decode.hpp>

namespace perfmodel {

/// The machine, what it reaches in attention, and whose kernels run on it.
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

namespace detail {

/// A calibration by reference: what a pass asks many times is copied nowhere.
template <Scalar T>
struct attention_silicon {
  const basic_machine_parameters<T>& machine;
  const basic_attention_parameters<T>& attention;
  const basic_attention_kernels<T>& kernels;

  /// Of bytes that the run before left in L2.
  constexpr const bandwidth<T>& l2_bandwidth() const {
    return required("l2_bandwidth",
                    attention.l2_bandwidth ? attention.l2_bandwidth : machine.l2_bandwidth);
  }
};

/// Time to move bytes, and how many of them DRAM moves.
template <Scalar T>
struct warm_memory {
  duration<T> time{};
  bytes<T> from_dram{};
};

/// Moves `moved` bytes of a working set of `distinct` ones: the share of it that the run before
/// left in L2 comes from there, the rest from DRAM.
template <Scalar T>
constexpr warm_memory<T> warm_memory_of(const basic_accelerator<T>& a,
                                        const attention_silicon<T>& c, const bytes<T>& moved,
                                        const bytes<T>& distinct, cache_state state) {
  const T warm =
      named("share in L2",
            state == cache_state::cold ? T(0.0) : resident(distinct, a.l2.capacity.quantity()));
  detail::positive("dram.bandwidth", a.dram.bandwidth.quantity());
  const bytes<T> cold = named("bytes from DRAM", (1.0 - warm) * moved);
  return {
      cold / (c.machine.dram_share * a.dram.bandwidth.quantity()) + warm * moved / c.l2_bandwidth(),
      cold};
}

/// What a kernel takes, and what of it DRAM moves.
template <Scalar T>
struct attention_time {
  duration<T> time{};
  bytes<T> from_dram{};
};

template <Scalar T, class Terms>
constexpr attention_time<T> time_of_attention(
    const basic_accelerator<T>& a, const basic_attention_decode<T>& w, const basic_demand<T>& needs,
    const attention_silicon<T>& c, const basic_call_conditions<T>& conditions, Terms&& terms) {
  const basic_attention_parameters<T>& p = c.attention;
  const basic_attention_kernels<T>& k = c.kernels;
  const T value_dim = w.value_width();
  const T group = w.query_heads / w.kv_heads;
  const decode_splits<T> cut = splits_of(w, k, positive("sms", a.sms).value());
  const T& splits = cut.count;
  const T waves = named("waves", scalar_max(T(1.0), T(cut.units * splits / cut.places)));

  const T elements = cut.chunk * decode_block_tokens * (w.head_dim + value_dim);
  const duration<T> block_time = named("block time", p.tile_latency + elements / p.element_rate);
  const duration<T> compute = waves * block_time;
  const auto memory =
      warm_memory_of(a, c, needs.dram.total(), needs.dram.total(), conditions.cache);

  const T split_kernel = any(T(splits - 1.0));
  const T reorder_kernel =
      k.reorders_heads ? any(T(w.batch - 1.0)) * any(T(w.kv_heads - 1.0)) * any(T(group - 1.0))
                       : T(0.0);
  const frequency<T> clock = positive("vector.clock", a.vector.clock.quantity());
  const T scheduled = 1.0 - any(T(w.batch - k.scheduled_sequences));

  const duration<T> blocks_take = terms.add(limiter::latency, "blocks", compute);
  const duration<T> memory_takes = terms.add(limiter::memory, "memory", memory.time);
  const duration<T> combined = named("blocks beside memory", soft_max(blocks_take, memory_takes));
  duration<T> fixed = terms.add(limiter::launch, "floor", p.floor);
  fixed += terms.add(limiter::latency, "splits", (splits - 1.0) * k.split_cycles / clock);
  fixed += terms.add(limiter::launch, "further kernels",
                     (split_kernel + reorder_kernel) * k.kernel_cycles / clock);
  fixed += terms.add(limiter::launch, "metadata", scheduled * w.batch * k.sequence_cost);
  if (w.kv_format.format != w.format) {
    fixed += terms.add(limiter::launch, "conversion", k.narrow_kv_time);
  }
  return {named("time", fixed + combined), memory.from_dram};
}

/// The query rows of a layer, cut into tiles of one head each: of a causal mask the last rows see
/// most columns.
template <Scalar T>
struct prefill_tiles {
  T count{};            ///< of all heads
  T pairs{};            ///< of a query and a key, in the mean tile
  T longest_columns{};  ///< of keys, that the longest row of tiles sees
};

template <Scalar T>
constexpr prefill_tiles<T> tiles_of(const basic_attention_prefill<T>& w, const T& rows) {
  using math::ceil;
  const T row_blocks = ceil(T(w.tokens / rows));
  const T padded = row_blocks * rows;
  T columns = padded + w.past;
  T pairs = padded * columns;  // of one head
  if (w.causal) {
    const T mean_past = w.past + (rows - 1.0) / 2.0;
    pairs = causal_pairs(padded, mean_past);
    if (w.window) {
      const T seen = *w.window + rows;  // by a row, at most
      columns = scalar_min(columns, seen);
      pairs = scalar_min(causal_pairs(padded, mean_past, seen), T(padded * seen));
    }
  }
  return {named("tiles", T(w.batch * w.query_heads * row_blocks)), pairs / row_blocks, columns};
}

/// How long a pair of a query and a key takes an SM: two products on the matrix units, and an
/// exponential, which some kernels run beside them.
template <Scalar T>
constexpr duration<T> pair_time(const basic_accelerator<T>& a, const basic_attention_prefill<T>& w,
                                const attention_silicon<T>& c, const T& sms) {
  const T value_dim = w.value_width();
  const bool narrow = w.kv_format.format != w.format;
  const T share =
      narrow ? T(c.attention.matrix_share * c.kernels.narrow_kv_matrix) : c.attention.matrix_share;
  const flop_rate<T> matrix = share * peak(a, w.format);
  const duration<T> products = sms * 2.0 * (w.head_dim + value_dim) * flop / matrix;
  const duration<T> exponential =
      1.0 / (special_functions_of(a) * positive("vector.clock", a.vector.clock.quantity()));
  return named("time per pair and SM", c.kernels.overlaps_exponential
                                           ? soft_max(products, exponential)
                                           : products + exponential);
}

/// A layer reads queries, writes results, and reads new keys and values, which it writes to the cache
/// and reads there; with a narrower cache both are converted, 2 bytes more for each.
template <Scalar T>
constexpr warm_memory<T> prefill_memory_of(const basic_accelerator<T>& a,
                                           const basic_attention_prefill<T>& w,
                                           const attention_silicon<T>& c, const bytes<T>& needed,
                                           cache_state state) {
  const T value_dim = w.value_width();
  const T kv_new = w.batch * w.tokens * w.kv_heads * (w.head_dim + value_dim);
  const bytes<T> distinct = needed + kv_new * bytes_of(w.format);
  bytes<T> moved = distinct + kv_new * bytes_of(w.kv_format);
  if (w.kv_format.format != w.format) {
    moved += (2.0 * w.batch * w.tokens * w.query_heads * w.head_dim + 2.0 * kv_new) * byte;
  }
  return warm_memory_of(a, c, moved, distinct, state);
}

/// Writing the rows of every part and a kernel that combines them.
template <Scalar T>
constexpr duration<T> combining_time(const basic_accelerator<T>& a,
                                     const basic_attention_prefill<T>& w,
                                     const basic_attention_kernels<T>& k, const T& splits,
                                     const T& sms) {
  const T partial_rows = any(T(splits - 1.0)) * splits * w.batch * w.tokens * w.query_heads;
  return (partial_rows * k.partial_row_cycles.value_or(T(0.0)) / sms +
          any(T(splits - 1.0)) * k.kernel_cycles) /
         positive("vector.clock", a.vector.clock.quantity());
}

template <Scalar T, class Terms>
constexpr attention_time<T> time_of_attention(const basic_accelerator<T>& a,
                                              const basic_attention_prefill<T>& w,
                                              const basic_demand<T>& needs,
                                              const attention_silicon<T>& c,
                                              const basic_call_conditions<T>& conditions,
                                              Terms&& terms) {
  const basic_attention_parameters<T>& p = c.attention;
  const basic_attention_kernels<T>& k = c.kernels;
  const prefill_tiles<T> tiles = tiles_of(w, k.tile_rows);
  const T sms = positive("sms", a.sms).value();
  const T waves = named("waves", T(tiles.count / sms));
  const T splits = prefill_splits(w, k, sms);
  const duration<T> pair = pair_time(a, w, c, sms);
  const duration<T> start = p.tile_latency / (2.0 * k.blocks_per_sm);
  const duration<T> mean = named("mean tile", start + tiles.pairs * pair);
  const duration<T> longest =
      named("longest tile", start + k.tile_rows * tiles.longest_columns * pair / splits);
  const duration<T> tail = 0.3 * scalar_min(T(1.0), waves) * longest;
  const auto memory = prefill_memory_of(a, w, c, needs.dram.total(), conditions.cache);

  const duration<T> tiles_take =
      terms.add(limiter::compute, "tiles", max(longest, duration<T>(waves * mean + tail)));
  const duration<T> memory_takes = terms.add(limiter::memory, "memory", memory.time);
  duration<T> fixed =
      terms.add(limiter::launch, "floor", p.floor + p.tile_latency / k.blocks_per_sm);
  if (w.kv_format.format != w.format) {
    fixed += terms.add(limiter::launch, "conversion", 2.0 * k.narrow_kv_time);
  }
  if (upper(splits) > 1.0) {
    fixed += terms.add(limiter::memory, "splits", combining_time(a, w, k, splits, sms));
  }
  const duration<T> both =
      k.overlaps_memory ? soft_max(tiles_take, memory_takes) : tiles_take + memory_takes;
  return {named("time", fixed + both), memory.from_dram};
}

/// What a kernel takes, with its terms and its shares of the peaks.
template <Scalar T, class Attention>
constexpr basic_estimate<T> estimate_of_attention(const basic_accelerator<T>& a, const Attention& w,
                                                  const basic_attention_calibration<T>& c,
                                                  const basic_call_conditions<T>& conditions) {
  const basic_demand<T> needs = demand_of(w);
  basic_estimate<T> e;
  const attention_time<T> t = time_of_attention(
      a, w, needs, attention_silicon<T>{c.machine, c.attention, c.kernels}, conditions, e.terms);
  e.time = t.time;
  e.limiter = e.terms.limiting(2);  // blocks or tiles, memory
  e.mfu = needs.matrix_flop / peak(a, needs.format) / e.time;
  e.mbu = t.from_dram / a.dram.bandwidth.quantity() / e.time;
  return e;
}

}  // namespace detail

/// A group of heads fills a part of a tile; the context is split while places are free, in whole
/// blocks; then blocks and memory hide each other in part.
/// Source: the shape of the kernels (Dao et al., "Flash-Decoding", 2023; Dao, "FlashAttention-2",
/// 2023; flash_api.cpp num_splits_heuristic), fitted to AIConfigurator's published latencies.
/// Leaves out: contexts of unequal length in a batch, page-table latency, power.
/// Errors: as demand_of(attention_decode); an accelerator without sms, clock, L2 or DRAM; bandwidth of
/// the L2 not known. The calibration is valid already: see calibrated_for.
/// Order: but for combining splits, a longer context, window or a larger batch never takes less time. With it,
/// only where there are fewer splits than before, or none: by less than half. The kernels do so:
/// their heuristics fill SMs and leave the cost out, and a law that took the cheapest number of splits
/// is further from A100's latencies (14 % in place of 7 %, 8 % when it is fitted again).
/// Tests: by hand, term by term; this order; published latencies of five accelerators.
template <Scalar T>
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a,
                                                const basic_attention_decode<T>& w,
                                                const basic_attention_calibration<T>& c,
                                                const basic_call_conditions<T>& conditions = {}) {
  return detail::estimate_of_attention(a, w, c, conditions);
}

/// Waves of tiles, of which the longest leave a tail; then memory, beside them where a neighbour
/// block computes meanwhile. A library with partial_row_cycles cuts the keys where SMs are free.
/// Sources: Dao, "FlashAttention-2", 2023, section 3; Shah et al., "FlashAttention-3", 2024, section
/// 3.1 (exponentials beside matrix units). The dependence on head_dim comes from the two rates, not
/// from a fit: with the H100's matrix_share it gives figure 5 of the latter at 64, 128 and 256.
/// Order: a longer prompt, past or window or a larger batch never takes less time at the same number of
/// parts. Another number, of a library with partial_row_cycles, can take less, by up to three quarters: it
/// fills SMs whatever combining costs (taking the cheaper of cut and whole has 13.0 % of L40S's
/// latencies with an 8-bit cache, this 10.9 %).
/// Leaves out: power, unequal lengths in a batch. Errors: as demand_of(attention_prefill); as
/// calibrated decode. Tests: by hand; this order; figure 5 of FlashAttention-3 to 10 % at 64, 128 and 256.
template <Scalar T>
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a,
                                                const basic_attention_prefill<T>& w,
                                                const basic_attention_calibration<T>& c,
                                                const basic_call_conditions<T>& conditions = {}) {
  return detail::estimate_of_attention(a, w, c, conditions);
}

}  // namespace perfmodel
