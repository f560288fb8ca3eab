// Grouped GEMMs of experts with Triton's default tiles, for shapes without tuned ones.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/core/label.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/operators/moe.hpp>
#include <perfmodel/scalar/p_norm.hpp>
#include <perfmodel/units/quantity.hpp>

// Libraries of grouped expert GEMMs.

namespace perfmodel::inline v0_3 {

/// Work division and costs of one library of grouped GEMMs. Tile sizes and the flag are read in its
/// source; the costs are fitted. Nothing is fitted to experts on one accelerator: they take its
/// machine parameters.
template <Scalar T = double>
struct basic_moe_kernels {
  label name{};
  T least_tile_rows = T(16.0);  ///< tile rows with few tokens per expert
  T most_tile_rows = T(128.0);  ///< tile rows with many tokens per expert
  T tile_columns = T(128.0);
  bool all_rows_buffered = false;  ///< between the GEMMs: rows of the whole group, on every rank
  duration<T> floor{};             ///< one launch each of sort, two GEMMs, activation and sum
  T buffer_share = T(1.0);         ///< share of DRAM bandwidth of the buffers between kernels
  T matrix_ratio = T(1.0);         ///< share of the matrix peak over matrix_share
  T dram_saturation =
      T(1.0);  ///< tiles on a share x of the SMs draw min(1, dram_saturation x) of DRAM
  /// Exponent of the overlap of multiplications and weight reads: 2 is a root of squares, more is
  /// nearer to the longer of the two.
  T overlap = T(2.0);
  /// Tile rows of TensorRT-LLM's untuned launcher: half of the tile that it counts on.
  bool launcher_tiles = false;
  /// All columns of an expert precede its next tile of rows: weights that L2 does not hold are
  /// re-read.
  bool columns_first = false;
  bool untuned =
      false;  ///< Triton's default tiles, see moe_untuned.hpp; the tile sizes here do not apply
  T few_tokens_dram_ratio = T(1.0);   ///< untuned: share of dram_share that its 16 x 32 tiles draw
  T many_tokens_dram_ratio = T(1.0);  ///< untuned: share of dram_share that its 64 x 64 tiles draw

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

/// Whether vLLM and SGLang ship tuned tiles for this number of 16-bit experts on a rank, of this
/// width, on A100 (SXM, 80 GB).
/// Source: their files `E=<experts>,N=<width>,device_name=NVIDIA_A100-SXM4-80GB.json`, of vLLM
/// 0.27.1. Test: eight of 1,792, not of 14,336.
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

/// Whether a rank's part of an expert block has tuned tiles.
template <Scalar T>
constexpr bool runs_tuned_tiles(const basic_moe_ffn<T>& x) {
  return has_tuned_tiles_on_a100(upper(x.experts) / upper(x.expert_parallel),
                                 upper(x.intermediate) / upper(x.tensor_parallel));
}

/// Experts of equal rows on one rank, and the values shared by their GEMMs. Tiles are 16 x 32 as
/// long as a rank has as many experts as there are tokens, else 64 x 64.
template <Scalar T>
struct untuned_experts {
  T experts{}, rows{};
  T many_tokens{};  ///< 0 or 1: more tokens than experts
  T sms{};
  flop_rate<T> matrix{};
  bandwidth<T> dram{};
  std::optional<bandwidth<T>> l2{};
  bytes<T> weight{}, activation{};
};

/// Time of one GEMM of every expert. L2 feeds each tile its rows and columns, except the share of
/// the rows that L2 does not hold (`missing_share`), which DRAM feeds; DRAM reads the weights once.
/// Fewer tiles than SMs take as long as one on each, and draw little of DRAM.
template <Scalar T>
constexpr duration<T> untuned_gemm_time(const untuned_experts<T>& e, const T& columns,
                                        const T& depth, const T& missing_share,
                                        const basic_moe_kernels<T>& k) {
  using math::ceil;
  const T tile_rows = 16.0 + 48.0 * e.many_tokens;
  const T tile_columns = 32.0 + 32.0 * e.many_tokens;
  const T column_tiles = ceil(T(columns / tile_columns));
  const T tiles = named("tiles", T(e.experts * ceil(T(e.rows / tile_rows)) * column_tiles));
  const T padded_tiles = scalar_max(tiles, e.sms);  // what is idle takes as long as a tile
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

/// Time of the up (and gate) and down projections of such experts. `read_bytes` is the size of the
/// tokens' activations, of which L2 holds at most its capacity.
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
