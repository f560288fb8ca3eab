// Attention as kernels run it: tiles over SMs, splits, what stays in L2, and the exponentials.
#pragma once

#include <perfmodel/core/estimate.hpp>
#include <perfmodel/kernels/attention_profile.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>
#include <perfmodel/scalar/p_norm.hpp>

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

/// What attention reaches of DRAM over what products do, whose share a machine profile has: it reads long rows
/// and next to nothing is written. One number of all machines, chosen with all of their rows in view.
inline constexpr double attention_dram_gain = 1.06;

namespace detail {

/// A calibration by reference: what a pass asks many times is copied nowhere.
template <Scalar T>
struct attention_calibration_view {
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
/// left in L2 comes from there, no slower than from DRAM, and the rest from DRAM.
template <Scalar T>
constexpr warm_memory<T> warm_memory_of(const basic_accelerator<T>& a,
                                        const attention_calibration_view<T>& c,
                                        const bytes<T>& moved, const bytes<T>& distinct,
                                        cache_state state) {
  const T warm =
      named("share in L2",
            state == cache_state::cold ? T(0.0) : resident(distinct, a.l2.capacity.quantity()));
  detail::positive("dram.bandwidth", a.dram.bandwidth.quantity());
  const bytes<T> cold = named("bytes from DRAM", (1.0 - warm) * moved);
  const T share = scalar_min(T(1.0), T(attention_dram_gain * c.machine.dram_share));
  const bandwidth<T> dram = share * a.dram.bandwidth.quantity();
  return {cold / dram +
              min(duration<T>(warm * moved / c.l2_bandwidth()), duration<T>(warm * moved / dram)),
          cold};
}

/// What a kernel takes, and what of it DRAM moves.
template <Scalar T>
struct attention_time {
  duration<T> time{};
  bytes<T> from_dram{};
};

template <Scalar T, class Terms>
constexpr attention_time<T> time_of_attention(const basic_accelerator<T>& a,
                                              const basic_attention_decode<T>& w,
                                              const basic_demand<T>& needs,
                                              const attention_calibration_view<T>& c,
                                              const basic_call_conditions<T>& conditions,
                                              Terms&& terms) {
  using math::ceil;
  const basic_attention_parameters<T>& p = c.attention;
  const basic_attention_kernels<T>& k = c.kernels;
  const T value_dim = w.value_width();
  const T group = w.query_heads / w.kv_heads;
  const T sms = positive("sms", a.sms).value();
  const decode_splits<T> cut = splits_of(w, k, sms);
  const T& splits = cut.count;
  const T together = running_blocks(a, k, sms);  // share what an SM does
  const T waves = named("waves", T(ceil(T(cut.units * splits / (sms * together)))));

  const T elements = cut.chunk * decode_block_tokens * (w.head_dim + value_dim);
  const T computed = k.decode_rows / decode_tile_rows * elements;
  const duration<T> block_time =
      named("block time", together * (p.tile_latency + computed / p.element_rate));
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
  const duration<T> combined = named("blocks beside memory", p_norm(blocks_take, memory_takes));
  duration<T> fixed = terms.add(limiter::launch, "floor", p.floor);
  fixed += terms.add(limiter::latency, "splits", (splits - 1.0) * k.split_cycles / clock);
  fixed += terms.add(limiter::launch, "further kernels",
                     (split_kernel + reorder_kernel) * k.kernel_cycles / clock);
  fixed += terms.add(limiter::launch, "metadata", scheduled * w.batch * k.sequence_cost);
  if (w.kv_format.format != w.format) {
    fixed += terms.add(limiter::launch, "conversion", k.low_precision_kv_time);
  }
  return {named("time", fixed + combined), memory.from_dram};
}

/// How long a pair of a query and a key takes an SM: two products on the matrix units, and an
/// exponential, which some kernels run beside them.
template <Scalar T>
constexpr duration<T> pair_time(const basic_accelerator<T>& a, const basic_attention_prefill<T>& w,
                                const attention_calibration_view<T>& c, const T& sms) {
  const T value_dim = w.value_width();
  const bool narrow = w.kv_format.format != w.format;
  const T share = narrow ? T(c.attention.matrix_share * c.kernels.low_precision_kv_matrix)
                         : c.attention.matrix_share;
  const flop_rate<T> matrix = share * peak(a, w.format);
  const duration<T> products = sms * 2.0 * (w.head_dim + value_dim) * flop / matrix;
  const duration<T> exponential =
      1.0 / (special_functions_of(a) * positive("vector.clock", a.vector.clock.quantity()));
  return named("time per pair and SM", c.kernels.overlaps_exponential
                                           ? p_norm(products, exponential)
                                           : products + exponential);
}

/// Elements of the new keys and values of a layer.
template <Scalar T>
constexpr T new_elements(const basic_attention_prefill<T>& w) {
  return w.batch * w.tokens * w.kv_heads * (w.head_dim + w.value_width());
}

/// Converting queries, new keys and new values for a narrower cache: two kernels, and each element's cycles.
template <Scalar T>
constexpr duration<T> conversion_time(const basic_accelerator<T>& a,
                                      const basic_attention_prefill<T>& w,
                                      const basic_attention_kernels<T>& k, const T& sms) {
  const T elements = w.batch * w.tokens * w.query_heads * w.head_dim + new_elements(w);
  return 2.0 * k.low_precision_kv_time + k.low_precision_element_cycles * elements / sms /
                                             positive("vector.clock", a.vector.clock.quantity());
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
                                              const attention_calibration_view<T>& c,
                                              const basic_call_conditions<T>& conditions,
                                              Terms&& terms) {
  const basic_attention_parameters<T>& p = c.attention;
  const basic_attention_kernels<T>& k = c.kernels;
  using math::ceil;
  const prefill_tiles<T> tiles = tiles_of(w, k);
  const T sms = positive("sms", a.sms).value();
  const T waves = named("waves", T(tiles.count / sms));
  const T splits = prefill_splits(w, k, sms);
  const duration<T> pair = pair_time(a, w, c, sms);
  const duration<T> latency = running_blocks(a, k, sms) / k.blocks_per_sm * p.tile_latency;
  const duration<T> start = latency / 2.0;
  const duration<T> mean = named("mean tile", start + tiles.pairs * pair);
  const duration<T> longest =
      named("longest tile", start + k.tile_rows * tiles.longest_columns * pair / splits);
  const T rest = tiles.alike * (ceil(waves) - waves) +
                 (1.0 - tiles.alike) * k.tail * scalar_min(T(1.0), waves);
  const duration<T> tail = rest * longest;
  // New keys and values are read and stored by a kernel of its own, and read back.
  const bytes<T> fresh = new_elements(w) * bytes_of(w.format);
  const bytes<T> distinct = needs.dram.total() + fresh;
  const auto memory = warm_memory_of(a, c, needs.dram.total(), distinct, conditions.cache);
  const auto stored = warm_memory_of(a, c, fresh + new_elements(w) * bytes_of(w.kv_format),
                                     distinct, conditions.cache);

  const duration<T> tiles_take =
      terms.add(limiter::compute, "tiles", max(longest, duration<T>(waves * mean + tail)));
  const duration<T> memory_takes = terms.add(limiter::memory, "memory", memory.time);
  duration<T> fixed = terms.add(limiter::launch, "floor", p.floor + latency);
  fixed += terms.add(limiter::memory, "cache write", stored.time);
  if (w.kv_format.format != w.format) {
    fixed += terms.add(limiter::launch, "conversion", conversion_time(a, w, k, sms));
  }
  if (upper(splits) > 1.0) {
    fixed += terms.add(limiter::memory, "splits", combining_time(a, w, k, splits, sms));
  }
  const duration<T> both =
      k.overlaps_memory ? p_norm(tiles_take, memory_takes) : tiles_take + memory_takes;
  return {named("time", fixed + both), memory.from_dram + stored.from_dram};
}

/// What a kernel takes, with its terms and its shares of the peaks.
template <Scalar T, class Attention>
constexpr basic_estimate<T> estimate_of_attention(const basic_accelerator<T>& a, const Attention& w,
                                                  const basic_attention_calibration<T>& c,
                                                  const basic_call_conditions<T>& conditions) {
  const basic_demand<T> needs = demand_of(w);
  basic_estimate<T> e;
  const attention_time<T> t = time_of_attention(
      a, w, needs, attention_calibration_view<T>{c.machine, c.attention, c.kernels}, conditions,
      e.terms);
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
/// Order: but for combining splits, a longer context, window or a larger batch never takes less time where an SM
/// holds all blocks that contexts are cut for. With it, or where blocks take turns (FlashAttention-2 in 100 KiB),
/// only where there are fewer splits than before, or none: by less than half. The kernels do so:
/// their heuristics fill SMs and leave the cost out, and a law that took the cheapest number of splits
/// is further from A100's latencies (14 % in place of 7 %, 8 % when it is fitted again).
/// And one step down with the batch: FlashAttention-3 schedules up to 992 sequences ahead (32 x 31 threads of
/// prepare_varlen_num_blocks, hopper/flash_api.cpp), at `sequence_cost` each, and more of them not at all: 993 take
/// 20 us less than 992. Latencies of 512 and of 1024 sequences, between which none were published, have it: those of
/// 1024 are 9.6 % off by this and 16.7 % by a law where more never take less, 12.8 % with 0.75 of `sequence_cost`.
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
/// parts, but by some 7 % where a second row of tiles follows one whose keys are cut. Another number, of a
/// library with partial_row_cycles, can take less, by up to three quarters: it fills SMs whatever combining
/// costs (taking the cheaper of cut and whole has 13.0 % of L40S's latencies with an 8-bit cache, this 10.9 %).
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
