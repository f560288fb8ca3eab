// Libraries of grouped expert GEMMs, and experts with Triton's default tiles.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/core/label.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/operators/moe.hpp>
#include <perfmodel/units/quantity.hpp>

namespace perfmodel::inline v0_3 {

/// Work division and costs of one library of grouped GEMMs. Tile sizes and `all_rows_buffered` are
/// read in its source; the costs are fitted. No parameter is fitted to experts on one accelerator
/// model: those are its machine parameters.
template <Scalar T = double>
struct basic_moe_kernels {
  label name{};
  T least_tile_rows = T(16.0);  ///< rows of a tile with few tokens per expert
  T most_tile_rows = T(128.0);  ///< rows of a tile with many tokens per expert
  T tile_columns = T(128.0);
  /// every rank buffers the rows of all ranks between the GEMMs
  bool all_rows_buffered = false;
  duration<T> floor{};      ///< launches of the five kernels: sort, two GEMMs, activation, sum
  T buffer_share = T(1.0);  ///< share of DRAM bandwidth for the buffers between kernels
  /// matrix rate of these kernels / matrix rate of GEMMs on the machine
  T matrix_ratio = T(1.0);
  /// tiles on a share x of the SMs draw min(1, dram_saturation x) of DRAM bandwidth
  T dram_saturation = T(1.0);
  /// exponent of the norm that overlaps matrix time and weight reads: 2 is the root of the sum of
  /// squares, more is nearer to the maximum
  T overlap = T(2.0);
  /// tile rows as in TensorRT-LLM's launcher without an autotuner, see moe_tile_rows
  bool launcher_tiles = false;
  /// a tile of rows runs all columns of an expert before the next one: weights outside L2 are read
  /// again
  bool columns_first = false;
  /// Triton's default tiles, see untuned_experts; the tile sizes here do not apply
  bool untuned = false;
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
    f(field::positive("floor"), s.floor...);
    f(field::positive("buffer_share"), s.buffer_share...);
    f(field::positive("matrix_ratio"), s.matrix_ratio...);
    f(field::positive("dram_saturation"), s.dram_saturation...);
    f(field::positive("overlap"), s.overlap...);
    f("launcher_tiles", s.launcher_tiles...);
    f("columns_first", s.columns_first...);
    f("untuned", s.untuned...);
    f(field::positive("few_tokens_dram_ratio"), s.few_tokens_dram_ratio...);
    f(field::positive("many_tokens_dram_ratio"), s.many_tokens_dram_ratio...);
  }
};
using moe_kernels = basic_moe_kernels<>;

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

}  // namespace detail

}  // namespace perfmodel::inline v0_3
