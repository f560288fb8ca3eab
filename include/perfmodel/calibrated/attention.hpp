// Attention as kernels run it: tiles over SMs, splits, what stays in L2, and the exponentials.
#pragma once

#include <perfmodel/calibrated/attention_profile.hpp>
#include <perfmodel/calibrated/cache_state.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/core/soft_max.hpp>
#include <perfmodel/workload/operators/attention.hpp>
#include <perfmodel/workload/operators/attention_decode.hpp>

namespace perfmodel {

namespace detail {

/// 1 where x is above 0, else 0, for counts.
template <Scalar T>
constexpr T any(const T& x) {
  using math::ceil;
  return scalar_max(T(0.0), scalar_min(T(1.0), T(ceil(x))));
}

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
                                        const basic_attention_parameters<T>& p,
                                        const bytes<T>& moved, const bytes<T>& distinct,
                                        cache_state state) {
  const T warm =
      named("share in L2",
            state == cache_state::cold ? T(0.0) : resident(distinct, a.l2.capacity.quantity()));
  detail::positive("dram.bandwidth", a.dram.bandwidth.quantity());
  const bytes<T> cold = named("bytes from DRAM", (1.0 - warm) * moved);
  return {cold / (p.dram_share * a.dram.bandwidth.quantity()) + warm * moved / p.l2_bandwidth,
          cold};
}

}  // namespace detail

/// Special functions (exp2) per clock and SM. Source: Shah et al., "FlashAttention-3", 2024,
/// section 3.1, on H100 (3.9 TFLOP/s); assumed of the others.
inline constexpr double special_functions_per_clock = 16.0;

/// Tokens of a block of keys and values in decode. Source: flash-attention, hdim 128, split kernel.
inline constexpr double decode_block_tokens = 128.0;
/// Query rows of a decode tile: a group of heads fills a part of it.
inline constexpr double decode_tile_rows = 64.0;

/// T = floor + hypot(blocks, memory) + splits + kernels + metadata [+ conversion].
/// units u = batch kv_heads ceil(group / 64); splits s = min(floor(slots / u), max_splits, blocks),
/// at least 1, evened out to ceil(blocks / s) blocks of 128 tokens; slots = SMs blocks_per_sm;
/// blocks = max(1, u s / slots) (tile_latency + 128 ceil(blocks / s) (d + v) / element_rate);
/// memory = bytes / (dram_share BW), or / l2_bandwidth where the cache is still in L2;
/// splits = (s - 1) split_cycles / clock; kernels = kernel_cycles / clock for one to combine
/// if s > 1 and for one to reorder heads, if the library does so and there are several sequences,
/// several KV heads and groups of queries; metadata = batch sequence_cost, up to
/// scheduled_sequences.
/// Source: the shape of the kernels (Dao et al., "Flash-Decoding", 2023; Dao, "FlashAttention-2",
/// 2023; flash_api.cpp num_splits_heuristic), fitted to AIConfigurator's published latencies.
/// Leaves out: contexts of unequal length in a batch, page-table latency, power.
/// Errors: as demand_of(attention_decode) and require_valid of both profiles; an element_rate of 0;
/// an accelerator without sms, clock, L2 or DRAM.
/// Tests: by hand, term by term; longer contexts and larger batches are never faster; published
/// latencies of five accelerators.
template <Scalar T>
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a,
                                                const basic_attention_decode<T>& w,
                                                const basic_attention_parameters<T>& p,
                                                const basic_attention_kernels<T>& k,
                                                cache_state state = cache_state::warm) {
  using math::ceil;
  using math::floor;
  require_valid(p);
  require_valid(k);
  const basic_demand<T> needs = demand_of(w);
  const T seen = attended_tokens(w.context, w.window);
  const T value_dim = detail::count_or("value_dim", w.value_dim, w.head_dim);
  const T group = w.query_heads / w.kv_heads;
  const T units = named("tiles", T(w.batch * w.kv_heads * ceil(T(group / decode_tile_rows))));
  const T sms = detail::positive("sms", a.sms).value();
  const T slots = sms * k.blocks_per_sm;
  const T blocks = ceil(T(seen / decode_block_tokens));
  const T wanted =
      scalar_min(scalar_max(T(1.0), T(floor(T(slots / units)))), scalar_min(k.max_splits, blocks));
  const T chunk = named("KV blocks per split", T(ceil(T(blocks / wanted))));
  const T splits = named("splits", scalar_max(T(1.0), T(ceil(T(blocks / chunk)))));
  const T waves = named("waves", scalar_max(T(1.0), T(units * splits / slots)));

  const T elements = chunk * decode_block_tokens * (w.head_dim + value_dim);
  const duration<T> block_time = named(
      "block time", p.tile_latency + elements / detail::positive("element_rate", p.element_rate));
  const duration<T> compute = waves * block_time;
  const auto memory = detail::warm_memory_of(a, p, needs.dram.total(), needs.dram.total(), state);

  const T split_kernel = detail::any(T(splits - 1.0));
  const T reorder_kernel = k.reorders_heads
                               ? detail::any(T(w.batch - 1.0)) * detail::any(T(w.kv_heads - 1.0)) *
                                     detail::any(T(group - 1.0))
                               : T(0.0);
  const frequency<T> clock = detail::positive("vector.clock", a.vector.clock.quantity());
  const T scheduled = 1.0 - detail::any(T(w.batch - k.scheduled_sequences));

  basic_estimate<T> e;
  const duration<T> blocks_take = e.terms.add(limiter::latency, "blocks", compute);
  const duration<T> memory_takes = e.terms.add(limiter::memory, "memory", memory.time);
  const duration<T> combined =
      named("blocks beside memory", detail::partly_hidden(blocks_take, memory_takes));
  e.limiter = e.terms.limiting();
  duration<T> fixed = e.terms.add(limiter::launch, "floor", p.floor);
  fixed += e.terms.add(limiter::latency, "splits", (splits - 1.0) * k.split_cycles / clock);
  fixed += e.terms.add(limiter::launch, "further kernels",
                       (split_kernel + reorder_kernel) * k.kernel_cycles / clock);
  fixed += e.terms.add(limiter::launch, "metadata", scheduled * w.batch * k.sequence_cost);
  if (w.kv_format.format != w.format) {
    fixed += e.terms.add(limiter::launch, "conversion", k.narrow_kv_time);
  }
  e.time = named("time", fixed + combined);
  e.mfu = needs.matrix_flop / peak(a, needs.format) / e.time;
  e.mbu = memory.from_dram / a.dram.bandwidth.quantity() / e.time;
  return e;
}

namespace detail {

/// Parts that a prefill kernel cuts the keys into where its tiles, of 128 rows of a group's
/// queries, do not fill the slots: as many as fit, of at least 128 keys. Source: FlashInfer,
/// scheduler.cuh.
template <Scalar T>
constexpr T prefill_splits(const basic_attention_prefill<T>& w, const basic_attention_kernels<T>& k,
                           const T& sms) {
  using math::ceil;
  using math::floor;
  if (!(upper(k.partial_row_cycles) > 0.0)) return T(1.0);
  const T group = w.query_heads / w.kv_heads;
  const T tiles = w.batch * w.kv_heads * ceil(T(w.tokens * group / 128.0));
  const T fitting = floor(T(sms * k.blocks_per_sm / tiles));
  return scalar_max(T(1.0), scalar_min(fitting, T(ceil(T((w.tokens + w.past) / 128.0)))));
}

}  // namespace detail

/// T = floor + tile_latency / blocks_per_sm + tiles (+ or hypot) memory [+ 2 conversion].
/// A tile is M query rows of one head and takes t = tile_latency / (2 blocks_per_sm) + M c t_pair
/// for its c key columns, where t_pair = SMs (2 (d + v) / (matrix_share R) + 1 / X) and X = 16 SMs
/// clock exponentials a second (the hypot of both where the kernel overlaps them);
/// tiles = max(longest, waves t + 0.3 longest min(1, waves)) with t the mean and waves = tiles /
/// SMs: the longest rows of a causal mask leave a tail.
/// memory: queries, results, new keys and values read, the cache written and read; with an 8-bit
/// cache 2 bytes more for each query and each new key and value, which are converted.
/// A library with partial_row_cycles cuts the keys into s = prefill_splits parts, whose longest
/// tile is s times shorter, and adds s rows of every head x partial_row_cycles / (SMs clock) and a
/// kernel. Sources: Dao, "FlashAttention-2", 2023, section 3; Shah et al., "FlashAttention-3",
/// 2024, section 3.1 (exponentials beside matrix units). The d-dependence comes from the two rates,
/// not from a fit: with the H100's matrix_share it gives figure 5 of the latter at d = 64, 128,
/// 256. Leaves out: power, unequal lengths in a batch. Errors: as demand_of(attention_prefill); as
/// calibrated decode. Tests: by hand; figure 5 of FlashAttention-3 to 10 % at 64, 128 and 256.
template <Scalar T>
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a,
                                                const basic_attention_prefill<T>& w,
                                                const basic_attention_parameters<T>& p,
                                                const basic_attention_kernels<T>& k,
                                                cache_state state = cache_state::warm) {
  using math::ceil;
  require_valid(p);
  require_valid(k);
  const basic_demand<T> needs = demand_of(w);
  const T value_dim = detail::count_or("value_dim", w.value_dim, w.head_dim);
  const T& rows = k.tile_rows;
  const T row_blocks = ceil(T(w.tokens / rows));
  const T padded = row_blocks * rows;
  const bool windowed = upper(w.window) > 0.0;
  T columns = padded + w.past;  // of the longest row block
  T pairs = padded * columns;   // of one head
  if (w.causal) {
    T window = w.window;
    if (windowed) {
      window = w.window + rows;
      columns = scalar_min(columns, window);
    }
    pairs = causal_pairs(padded, T(w.past + (rows - 1.0) / 2.0), window);
  }
  const T tiles = named("tiles", T(w.batch * w.query_heads * row_blocks));
  const T sms = detail::positive("sms", a.sms).value();
  const T waves = named("waves", T(tiles / sms));

  const bool narrow = w.kv_format.format != w.format;
  const T share = narrow ? T(p.matrix_share * k.narrow_kv_matrix) : p.matrix_share;
  const flop_rate<T> matrix = share * peak(a, w.format);
  const duration<T> per_matrix = sms * 2.0 * (w.head_dim + value_dim) * flop / matrix;
  const duration<T> per_exponential =
      1.0 /
      (special_functions_per_clock * detail::positive("vector.clock", a.vector.clock.quantity()));
  const duration<T> pair_time =
      named("time per pair and SM", k.overlaps_exponential
                                        ? detail::partly_hidden(per_matrix, per_exponential)
                                        : per_matrix + per_exponential);
  const duration<T> start = p.tile_latency / (2.0 * k.blocks_per_sm);
  const duration<T> mean_tile = named("mean tile", start + pairs / row_blocks * pair_time);
  const T splits = detail::prefill_splits(w, k, sms);
  const duration<T> longest = named("longest tile", start + rows * columns * pair_time / splits);
  const duration<T> compute =
      max(longest, duration<T>(waves * mean_tile + 0.3 * scalar_min(T(1.0), waves) * longest));

  const T kv_new = w.batch * w.tokens * w.kv_heads * (w.head_dim + value_dim);
  const bytes<T> distinct = needs.dram.total() + kv_new * bytes_of(w.format);
  bytes<T> moved = distinct + kv_new * bytes_of(w.kv_format);
  if (narrow)
    moved += (2.0 * w.batch * w.tokens * w.query_heads * w.head_dim + 2.0 * kv_new) * byte;
  const auto memory = detail::warm_memory_of(a, p, moved, distinct, state);

  basic_estimate<T> e;
  const duration<T> tiles_take = e.terms.add(limiter::compute, "tiles", compute);
  const duration<T> memory_takes = e.terms.add(limiter::memory, "memory", memory.time);
  e.limiter = e.terms.limiting();
  duration<T> fixed =
      e.terms.add(limiter::launch, "floor", p.floor + p.tile_latency / k.blocks_per_sm);
  if (narrow) fixed += e.terms.add(limiter::launch, "conversion", 2.0 * k.narrow_kv_time);
  if (upper(splits) > 1.0) {
    const T partial_rows =
        detail::any(T(splits - 1.0)) * splits * w.batch * w.tokens * w.query_heads;
    fixed += e.terms.add(limiter::memory, "splits",
                         (partial_rows * k.partial_row_cycles / sms +
                          detail::any(T(splits - 1.0)) * k.kernel_cycles) /
                             detail::positive("vector.clock", a.vector.clock.quantity()));
  }
  e.time =
      named("time", fixed + (k.overlaps_memory ? detail::partly_hidden(tiles_take, memory_takes)
                                               : tiles_take + memory_takes));
  e.mfu = needs.matrix_flop / peak(a, needs.format) / e.time;
  e.mbu = memory.from_dram / a.dram.bandwidth.quantity() / e.time;
  return e;
}

}  // namespace perfmodel
