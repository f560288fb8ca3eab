// Time of a block of experts, run as grouped GEMMs: libraries, tuned tiles, Triton's default tiles.
#pragma once

#include <optional>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/core/label.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/operators/moe.hpp>
#include <perfmodel/parallel/expert.hpp>
#include <perfmodel/units/quantity.hpp>

namespace perfmodel::inline v0_3 {

/// Work division and costs of one library of grouped GEMMs. Tile sizes and `all_rows_buffered` are
/// read in its source. The costs are fitted to measurements, for some libraries on one accelerator
/// model only. They scale rates of the accelerator and of its machine parameters.
template <Scalar T = double>
struct basic_moe_kernels {
  label name{};
  T least_tile_rows = T(16.0);  ///< rows of a tile with few tokens per expert
  T most_tile_rows = T(128.0);  ///< rows of a tile with many tokens per expert
  T tile_columns = T(128.0);
  bool all_rows_buffered = false;  ///< ranks buffer the rows of all ranks between GEMMs
  bool sums_own_rows = false;      ///< the sum reads the rank's rows only, not those of all ranks
  duration<T> floor{};      ///< launches of the five kernels: sort, two GEMMs, activation, sum
  T buffer_share = T(1.0);  ///< share of DRAM bandwidth for the buffers between kernels
  T matrix_ratio = T(1.0);  ///< matrix rate of these kernels / matrix rate of GEMMs
  /// tiles on a share x of the SMs reach min(1, dram_saturation x) of the DRAM bandwidth
  T dram_saturation = T(1.0);
  duration<T> tile_fill{};  ///< start and end of a tile
  /// exponent of the norm that overlaps matrix time and weight reads: 2 is the root of the sum of
  /// squares, more is nearer to the maximum
  T overlap = T(2.0);
  bool launcher_tiles = false;  ///< TensorRT-LLM's tiles without an autotuner, see moe_tile_rows
  /// raster order along N (all columns of a tile of rows, then the next rows): weights that L2 does
  /// not hold are read again
  bool columns_first = false;
  bool untuned = false;  ///< Triton's default tiles (untuned_experts), not the tile sizes here
  /// untuned 16 x 32 tiles: DRAM bandwidth that they reach / DRAM bandwidth of GEMMs
  T few_tokens_dram_ratio = T(1.0);
  /// untuned 64 x 64 tiles: DRAM bandwidth that they reach / DRAM bandwidth of GEMMs
  T many_tokens_dram_ratio = T(1.0);

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f(field::count("least_tile_rows"), s.least_tile_rows...);
    f(field::count("most_tile_rows"), s.most_tile_rows...);
    f(field::count("tile_columns"), s.tile_columns...);
    f("all_rows_buffered", s.all_rows_buffered...);
    f("sums_own_rows", s.sums_own_rows...);
    f(field::positive("floor"), s.floor...);
    f(field::positive("buffer_share"), s.buffer_share...);
    f(field::positive("matrix_ratio"), s.matrix_ratio...);
    f(field::positive("dram_saturation"), s.dram_saturation...);
    f(field::not_negative("tile_fill"), s.tile_fill...);
    f(field::positive("overlap"), s.overlap...);
    f("launcher_tiles", s.launcher_tiles...);
    f("columns_first", s.columns_first...);
    f("untuned", s.untuned...);
    f(field::positive("few_tokens_dram_ratio"), s.few_tokens_dram_ratio...);
    f(field::positive("many_tokens_dram_ratio"), s.many_tokens_dram_ratio...);
  }
};
using moe_kernels = basic_moe_kernels<>;

template <Scalar T = double>
using basic_moe_calibration = kernel_calibration<basic_moe_kernels<T>>;
using moe_calibration = basic_moe_calibration<>;

/// True if vLLM and SGLang ship tuned tiles for 16-bit experts on A100 (SXM, 80 GB). `experts` is
/// the number of experts on a rank, `width` their intermediate size there.
/// Source: vLLM 0.27.1, the files `E=<experts>,N=<width>,device_name=NVIDIA_A100-SXM4-80GB.json`.
/// Test: eight experts of 1,792 have a file, eight of 14,336 have none.
constexpr bool has_tuned_tiles_on_a100(double experts, double width) {
  constexpr double files[][2] = {{1, 1792},  {1, 3584},  {1, 7168},  {1, 14336}, {8, 1792},
                                 {8, 2048},  {8, 3584},  {8, 4096},  {8, 7168},  {16, 1344},
                                 {16, 1792}, {16, 2688}, {16, 3584}, {16, 7168}, {16, 14336},
                                 {64, 640},  {64, 1280}};
  for (const auto& file : files) {
    if (experts == file[0] && width == file[1]) return true;
  }
  return false;
}

namespace detail {

/// True if a rank's part of an expert block has tuned tiles.
template <Scalar T>
constexpr bool runs_tuned_tiles(const basic_moe_ffn<T>& x) {
  return has_tuned_tiles_on_a100(upper(x.experts) / upper(x.expert_parallel),
                                 upper(x.intermediate) / upper(x.tensor_parallel));
}

/// Experts with equally many rows on one rank, and the values that their GEMMs share. Tiles are 16
/// x 32 with no more tokens than experts of the rank, else 64 x 64.
template <Scalar T>
struct untuned_experts {
  T experts{}, rows{};
  T many_tokens{};  ///< 1 if there are more tokens than experts, else 0
  T sms{};
  flop_rate<T> matrix{};
  bandwidth<T> dram{};
  std::optional<bandwidth<T>> l2{};
  bytes<T> weight{}, activation{};
};

/// Time of one GEMM of all experts. L2 supplies the tiles; DRAM supplies the share of the rows that
/// L2 does not hold (`missing_share`), and reads the weights once.
/// With fewer tiles than SMs, the time is that of one tile on each SM, and the tiles draw less than
/// the full DRAM bandwidth.
template <Scalar T>
constexpr duration<T> untuned_gemm_time(const untuned_experts<T>& e, const T& columns,
                                        const T& depth, const T& missing_share,
                                        const basic_moe_kernels<T>& k) {
  using math::ceil;
  const T tile_rows = 16.0 + 48.0 * e.many_tokens;
  const T tile_columns = 32.0 + 32.0 * e.many_tokens;
  const T column_tiles = ceil(T(columns / tile_columns));
  const T tiles = named("tiles", T(e.experts * ceil(T(e.rows / tile_rows)) * column_tiles));
  const T padded_tiles = scalar_max(tiles, e.sms);  // idle SMs wait for one tile
  duration<T> step = 2.0 * padded_tiles * tile_rows * tile_columns * depth * flop / e.matrix;
  if (e.l2) {
    const T longest = e.sms * scalar_min(e.rows, tile_rows);
    const bytes<T> rows =
        scalar_max(T(e.experts * column_tiles * e.rows), longest) * depth * e.activation;
    const bytes<T> weights = padded_tiles * tile_columns * depth * e.weight;
    step = max(step, duration<T>((weights + rows * (1.0 - missing_share)) / *e.l2 +
                                 rows * missing_share / e.dram));
  }
  const T readers = e.experts * column_tiles * tile_columns / (128.0 * e.sms);
  const T ratio = k.few_tokens_dram_ratio +
                  (k.many_tokens_dram_ratio - k.few_tokens_dram_ratio) * e.many_tokens;
  const T drawn_share = ratio * scalar_min(T(1.0), T(k.dram_saturation * readers));
  return p_norm(
      named("operands' time", step),
      named("weights' time", e.experts * columns * depth * e.weight / (drawn_share * e.dram)));
}

/// Time of the up (and gate) and down projections of untuned experts. `read_bytes` is the size of
/// the tokens' activations; L2 holds at most its capacity of them.
template <Scalar T>
constexpr duration<T> untuned_time(const untuned_experts<T>& e, const basic_moe_ffn<T>& x,
                                   const T& width, const bytes<T>& read_bytes,
                                   const bytes<T>& l2_capacity, const basic_moe_kernels<T>& k) {
  const T missing_share =
      named("activations not in L2", T(1.0 - scalar_min(T(1.0), T(l2_capacity / read_bytes))));
  const T up = (perfmodel::ffn_matrices(x.gated) - 1.0) * width;
  return named("grouped up", untuned_gemm_time(e, up, x.hidden, missing_share, k)) +
         named("grouped down", untuned_gemm_time(e, x.hidden, width, T(0.0), k));
}

template <Scalar T>
using moe_view = calibration_view<T, basic_moe_kernels<T>>;

/// Rows of a tile: the least power of two that holds `expert_tokens` rows, between the kernel's
/// least_tile_rows and most_tile_rows (both powers of two, at most 256).
/// TensorRT-LLM's launcher without an autotuner (launcher_tiles): half of the least power of two
/// that holds the rows of all ranks.
/// Source: FlashInfer, csrc/trtllm_fused_moe_kernel_launcher.cu, computeSelectedTileN (num_tokens *
/// top_k / num_local_experts) and selectDefaultTileN, which is the choice without an autotuner.
template <Scalar T>
constexpr T moe_tile_rows(const T& expert_tokens, const T& ranks, const basic_moe_kernels<T>& k) {
  const T counted_tokens = k.launcher_tiles ? T(expert_tokens * ranks) : expert_tokens;
  T rows(8.0);
  for (double r : {8.0, 16.0, 32.0, 64.0, 128.0}) rows += r * indicator(T(counted_tokens - r));
  if (k.launcher_tiles) rows *= 0.5;
  return scalar_max(k.least_tile_rows, scalar_min(k.most_tile_rows, rows));
}

/// Rates that the grouped GEMMs of one block share.
template <Scalar T>
struct grouped_rates {
  flop_rate<T> matrix{};
  bandwidth<T> weights{};
  bytes<T> bytes_per_weight{};
  T sms{};
  bytes<T> l2_bytes{};  ///< weight bytes that stay in L2 until the next tile of rows
};

/// Groups of a grouped GEMM: the experts in use, or the shared experts. `row_tiles` is the mean.
template <Scalar T>
struct expert_groups {
  T count{}, tile_rows{}, row_tiles{};

  constexpr expert_groups(const T& groups, const T& tokens, const T& ranks,
                          const basic_moe_kernels<T>& k)
      : count(groups), tile_rows(named("tile rows", moe_tile_rows(tokens, ranks, k))) {
    using math::ceil;
    row_tiles = ceil(T(tokens / tile_rows));
  }
};

/// L2 capacity for data that all SMs read: capacity / partitions, since each partition caches the
/// reads of its own SMs.
/// Source: NVIDIA, A100 whitepaper, "Each L2 partition caches data for memory accesses from SMs in
/// the GPCs directly connected to the partition". For experts on B200, 0.5 to 0.6 of the capacity
/// agrees best with measurements.
template <Scalar T>
constexpr bytes<T> partition_capacity(const basic_accelerator<T>& a) {
  return positive("l2.capacity", a.l2.capacity.quantity()) / l2_partitions_of(a);
}

/// Number of times that DRAM reads the weights of one group. It is 1, except with columns_first:
/// there, each tile of rows after the first reads again the weights that L2 does not hold.
template <Scalar T>
constexpr T weight_reads(const bytes<T>& weights, const T& row_tiles, const grouped_rates<T>& r,
                         const basic_moe_kernels<T>& k) {
  if (!k.columns_first) return T(1.0);
  const T missing = scalar_max(T(0.0), T(1.0 - r.l2_bytes / weights));
  return named("passes over weights", T(1.0 + (row_tiles - 1.0) * missing));
}

/// Time of one grouped GEMM, with n = `columns`, k = `depth` and rows padded to tiles: matrix time
/// overlapped with the time to read weights.
/// With less than one wave some SMs are idle. Few tiles draw less than the full DRAM bandwidth.
/// Tiles of the same columns and other rows read the same weights, so they draw no more.
template <Scalar T>
constexpr duration<T> grouped_gemm_time(const expert_groups<T>& g, const T& columns, const T& depth,
                                        const grouped_rates<T>& r, const basic_moe_kernels<T>& k) {
  using math::ceil;
  const T column_tiles = ceil(T(columns / k.tile_columns));
  const T waves = named("waves", T(g.count * g.row_tiles * column_tiles / r.sms));
  const T padded = g.count * g.row_tiles * g.tile_rows * column_tiles * k.tile_columns;
  const duration<T> compute = named(
      "matrix time", 2.0 * padded * depth * flop / r.matrix * scalar_max(T(1.0), T(1.0 / waves)) +
                         scalar_max(T(1.0), waves) * k.tile_fill);
  const T readers = named("tiles that read weights", T(g.count * column_tiles / r.sms));
  const T drawn_share = scalar_min(T(1.0), T(k.dram_saturation * readers));
  const bytes<T> weights = columns * depth * r.bytes_per_weight;
  const T read = g.count * weight_reads(weights, g.row_tiles, r, k);
  const duration<T> memory = named("weights' time", read * weights / (drawn_share * r.weights));
  return p_norm(compute, memory, k.overlap);
}

/// Time of the up (and gate) and down projections of all groups.
template <Scalar T>
constexpr duration<T> block_time(const expert_groups<T>& g, const basic_moe_ffn<T>& x,
                                 const T& width, const grouped_rates<T>& r,
                                 const basic_moe_kernels<T>& k) {
  const T up = (perfmodel::ffn_matrices(x.gated) - 1.0) * width;
  return named("grouped up", grouped_gemm_time(g, up, x.hidden, r, k)) +
         named("grouped down", grouped_gemm_time(g, x.hidden, width, r, k));
}

/// Time of the experts in use, with untuned tiles.
template <Scalar T>
constexpr duration<T> untuned_block_time(const basic_accelerator<T>& a, const basic_moe_ffn<T>& x,
                                         const moe_view<T>& c, const T& touched, const T& rank_rows,
                                         const grouped_rates<T>& r) {
  const bytes<T> activation = lift<T>(bytes_of(storage_format(x.format)));
  const T many_tokens = indicator(T(x.tokens - x.experts / x.expert_parallel));
  const untuned_experts<T> e{
      touched,   rank_rows / touched,    many_tokens,        r.sms,     r.matrix,
      r.weights, c.machine.l2_bandwidth, r.bytes_per_weight, activation};
  return untuned_time(e, x, T(x.intermediate / x.tensor_parallel),
                      bytes<T>(scalar_min(x.tokens, rank_rows) * x.hidden * activation),
                      positive("l2.capacity", a.l2.capacity.quantity()), c.kernels);
}

/// Rows of the busiest rank, and the number of its experts with at least one token (touched).
template <Scalar T>
struct routed_work {
  T rows{}, touched{};
  std::optional<basic_popular_experts<T>> popular{};  ///< with expert_routing::power_law
};

/// Rows and experts in use of the busiest rank. Rows are the mean x min(imbalance, capacity
/// factor), but no more than all tokens can send to the rank's experts.
/// With grouped routing, half of the experts are in use, all on the same ranks. With a power law,
/// those of popular_experts.
template <Scalar T>
constexpr routed_work<T> routed_to_rank(const basic_moe_ffn<T>& x,
                                        const basic_call_conditions<T>& conditions) {
  if (conditions.routing == expert_routing::power_law) {
    const auto p = popular_experts_of(x.tokens, x.top_k, x.experts, x.expert_parallel,
                                      conditions.popularity_exponent);
    return {p.rows, scalar_max(T(1.0), p.touched()), p};
  }
  const T own_experts = x.experts / x.expert_parallel;
  const bool grouped = conditions.routing == expert_routing::grouped;
  const T experts_in_routing = grouped ? scalar_max(x.top_k, T(0.5 * x.experts)) : x.experts;
  const T active_experts = grouped ? scalar_min(own_experts, experts_in_routing) : own_experts;
  T rows = x.tokens * x.top_k * active_experts / experts_in_routing;
  if (upper(x.expert_parallel) > 1.0) {
    detail::count("imbalance", conditions.imbalance);
    const T taken = conditions.capacity_factor.value_or(conditions.imbalance);
    const T busiest = scalar_min(conditions.imbalance, detail::count("capacity_factor", taken));
    rows = scalar_min(T(rows * busiest), T(x.tokens * scalar_min(x.top_k, active_experts)));
  }
  const T expected = scalar_max(T(1.0), experts_touched(x));
  const T balanced = scalar_min(active_experts, scalar_max(T(1.0), rows));
  return {rows, conditions.routing == expert_routing::random ? expected : balanced, std::nullopt};
}

/// Bytes that the kernels of a block write and read, with 2-byte values.
/// Between the GEMMs they are for the rank's own rows, or for the rows of all ranks if the library
/// buffers those. After the GEMMs the rank's rows are written; every rank reads and sums the rows
/// of all ranks.
/// A library that buffers all rows also converts them and the tokens for 8-bit GEMMs: 16 bits are
/// read, 8 bits are written and read.
/// A library with sums_own_rows reads the tokens, writes and reads the rank's rows, and writes a
/// result per token.
/// Source: FlashInfer, finalizeMoeRoutingKernel: it skips the experts of other ranks.
template <Scalar T>
constexpr bytes<T> buffer_bytes(const basic_moe_ffn<T>& x, const T& width, const T& rank_rows,
                                const basic_moe_kernels<T>& k) {
  const T up = (perfmodel::ffn_matrices(x.gated) - 1.0) * width;
  const T all_rows = x.tokens * (x.top_k + x.shared_experts);
  const T own_rows = rank_rows + x.tokens * x.shared_experts / x.expert_parallel;
  const T buffered_rows = k.all_rows_buffered ? all_rows : own_rows;
  const bool low_precision = bits_of(x.format) < 12.0;
  const double converted_bytes = low_precision && k.all_rows_buffered ? 2.0 : 0.0;
  const T outer_values = k.sums_own_rows
                             ? T(4.0 * (own_rows + x.tokens))
                             : T(2.0 * (own_rows + all_rows) + 2.0 * converted_bytes * x.tokens);
  return named("buffer bytes", (buffered_rows * (4.0 * (up + width) + converted_bytes * width) +
                                outer_values * x.hidden) *
                                   byte);
}

template <Scalar T, class Terms>
constexpr kernel_time<T> time_of_kernel(const basic_accelerator<T>& a, const basic_moe_ffn<T>& x,
                                        const basic_demand<T>& needs, const moe_view<T>& c,
                                        const basic_call_conditions<T>& conditions, Terms&& terms) {
  const basic_moe_kernels<T>& k = c.kernels;
  const T width = x.intermediate / x.tensor_parallel;
  const routed_work<T> routed = routed_to_rank(x, conditions);
  const T& rank_rows = routed.rows;
  const T touched = named("experts touched", routed.touched);
  const bandwidth<T> dram = positive("dram.bandwidth", a.dram.bandwidth.quantity());
  const grouped_rates<T> rates{k.matrix_ratio * c.machine.matrix_share * peak(a, needs.format),
                               c.machine.dram_share * dram, lift<T>(bytes_of(x.weights)),
                               positive("sms", a.sms).value(),
                               k.columns_first ? partition_capacity(a) : bytes<T>{}};
  const T expert_tokens = named("tokens per expert", T(rank_rows / touched));
  expert_groups<T> groups(touched, expert_tokens, x.expert_parallel, k);
  if (routed.popular) groups.row_tiles = routed.popular->row_tiles(groups.tile_rows) / touched;
  duration<T> gemms = k.untuned ? untuned_block_time(a, x, c, touched, rank_rows, rates)
                                : block_time(groups, x, width, rates, k);
  if (upper(x.shared_experts) > 0.0) {
    const T tokens = x.tokens / x.expert_parallel;
    gemms += block_time(expert_groups<T>(x.shared_experts, tokens, x.expert_parallel, k), x, width,
                        rates, k);
  }

  gemms = terms.add(limiter::compute, "grouped GEMMs", gemms);
  const bytes<T> buffers = buffer_bytes(x, width, rank_rows, k);
  const duration<T> buffer_time =
      terms.add(limiter::memory, "buffers", buffers / (k.buffer_share * dram));
  const duration<T> floor_time = terms.add(limiter::launch, "floor", k.floor);
  const bytes<T> extra_weights = (touched - scalar_max(T(1.0), experts_touched(x))) *
                                 ffn_matrices(x.gated) * x.hidden * width * rates.bytes_per_weight;
  return {named("time", gemms + buffer_time + floor_time), needs.dram.total() + extra_weights,
          2};  // GEMMs, buffers
}

}  // namespace detail

/// Time of a block of experts on one rank: two grouped GEMMs of the experts in use, those of the
/// shared experts, buffers between the kernels, and launches.
/// Experts in use: with balanced routing as many as there are rows, at most all of the rank; with
/// random routing the expected number; with a power law those of popular_experts. With expert
/// parallelism the result is for the busiest rank (conditions.imbalance, capacity_factor).
/// Source: the structure of the kernels: vLLM, fused_moe. The parameters are fitted to
/// AIConfigurator's published latencies. Experts without tuned Triton tiles: untuned_experts.
/// Leaves out: imbalance among the experts of one rank, except with a power law; dispatch and
/// combine between ranks; tiles tuned for single shapes or at the start of TensorRT-LLM.
/// Errors: those of demand_of(moe_ffn); an accelerator without sms or without the format.
/// Tests: values computed by hand, on one rank and on two; more tokens are never faster; published
/// latencies of two accelerators.
template <Scalar T>
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a,
                                                const basic_moe_ffn<T>& x,
                                                const basic_moe_calibration<T>& c,
                                                const basic_call_conditions<T>& conditions = {}) {
  return detail::estimate_of_kernel(a, x, detail::moe_view<T>{c.machine, c.kernels}, conditions);
}

}  // namespace perfmodel::inline v0_3
