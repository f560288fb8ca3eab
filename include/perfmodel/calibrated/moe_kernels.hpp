// Libraries of grouped products of experts.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/core/label.hpp>
#include <perfmodel/units/quantity.hpp>

namespace perfmodel {

/// How one library of grouped GEMMs divides the experts' work. Tile sizes and the flag are read in
/// its source; the costs are fitted. Nothing is fitted to experts on one accelerator: they take its
/// machine parameters.
template <Scalar T = double>
struct basic_moe_kernels {
  label name{};
  T least_tile_rows = T(16.0);  ///< tiles grow with the tokens of an expert, from this ...
  T most_tile_rows = T(128.0);  ///< ... to this
  T tile_columns = T(128.0);
  bool all_rows_buffered = false;  ///< between the GEMMs: rows of the whole group, on every rank
  duration<T> floor{};             ///< sort, two GEMMs, activation and sum, each started once
  T buffer_share = T(1.0);         ///< of DRAM bandwidth, through the buffers between kernels
  T matrix_ratio = T(1.0);  ///< share of the peak that these kernels reach, over matrix_share
  T dram_saturation =
      T(1.0);  ///< tiles on a share x of the SMs draw min(1, dram_saturation x) of DRAM
  /// Of a product, the exponent of multiplying beside reading weights: 2 is a root of squares, more is nearer to the
  /// longer of the two.
  T overlap = T(2.0);
  /// The rows of a tile are what TensorRT-LLM's launcher takes that nobody tuned: half of the tile that it counts on.
  bool launcher_tiles = false;
  /// All columns of an expert come before its next tile of rows: what L2 does not hold is read again.
  bool columns_first = false;
  bool untuned =
      false;  ///< by Triton's default tiles, see moe_untuned.hpp: the tile sizes here do not count
  T few_tokens_dram_ratio = T(1.0);   ///< untuned: of dram_share, that its tiles of 16 x 32 draw
  T many_tokens_dram_ratio = T(1.0);  ///< and those of 64 x 64

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

}  // namespace perfmodel
