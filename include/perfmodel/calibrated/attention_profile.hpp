// What measurements add to a data sheet, for attention and for grouped expert GEMMs.
#pragma once

#include <perfmodel/calibrated/fitted_profile.hpp>
#include <perfmodel/core/check_fields.hpp>
#include <perfmodel/core/error.hpp>
#include <perfmodel/hardware/accelerator.hpp>

namespace perfmodel {

/// How one library of attention kernels divides its work. `max_splits`, `blocks_per_sm`,
/// `tile_rows` and the three flags are read in its source; the costs are fitted, at most four for
/// one library.
template <Scalar T = double>
struct basic_attention_kernels {
  label name{};
  T max_splits = T(1.0);         ///< parts that the context of one sequence is cut into, at most
  T blocks_per_sm = T(1.0);      ///< thread blocks of the decode kernel that share an SM
  T tile_rows = T(64.0);         ///< query rows of a prefill tile
  bool overlaps_memory = false;  ///< a neighbour block computes while one loads and stores
  bool overlaps_exponential = false;  ///< exponentials run beside the matrix units
  bool reorders_heads = false;        ///< copies grouped queries so that a group is one tile
  T kernel_cycles{};                  ///< SM cycles of one more kernel: combining, reordering
  T split_cycles{};                   ///< SM cycles that combining one more split takes
  T partial_row_cycles{};  ///< SM cycles to write and combine a row of one split; 0: prefill is
                           ///< whole
  duration<T> sequence_cost{};   ///< scheduling metadata, per sequence of a decode batch ...
  T scheduled_sequences{};       ///< ... of at most this many; larger ones are not scheduled
  duration<T> narrow_kv_time{};  ///< one conversion kernel of an 8-bit KV cache
  T narrow_kv_matrix = T(1.0);   ///< matrix share with an 8-bit KV cache over that without

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f("max_splits", s.max_splits...);
    f("blocks_per_sm", s.blocks_per_sm...);
    f("tile_rows", s.tile_rows...);
    f("overlaps_memory", s.overlaps_memory...);
    f("overlaps_exponential", s.overlaps_exponential...);
    f("reorders_heads", s.reorders_heads...);
    f("kernel_cycles", s.kernel_cycles...);
    f("split_cycles", s.split_cycles...);
    f("partial_row_cycles", s.partial_row_cycles...);
    f("sequence_cost", s.sequence_cost...);
    f("scheduled_sequences", s.scheduled_sequences...);
    f("narrow_kv_time", s.narrow_kv_time...);
    f("narrow_kv_matrix", s.narrow_kv_matrix...);
  }
};
using attention_kernels = basic_attention_kernels<>;

/// Refuses what no library has, by the field's name: counts below 1, a share that is not positive,
/// cycles, times or sequences below 0, and each that is no number or not finite.
/// Test: each field, with each of these; every library of the catalogue passes.
template <Scalar T>
constexpr void require_valid(const basic_attention_kernels<T>& k) {
  detail::check_fields([&k](auto& check) {
    check.count("max_splits", k.max_splits);
    check.count("blocks_per_sm", k.blocks_per_sm);
    check.count("tile_rows", k.tile_rows);
    check.not_negative("kernel_cycles", k.kernel_cycles);
    check.not_negative("split_cycles", k.split_cycles);
    check.not_negative("partial_row_cycles", k.partial_row_cycles);
    check.not_negative("sequence_cost", k.sequence_cost);
    check.not_negative("scheduled_sequences", k.scheduled_sequences);
    check.not_negative("narrow_kv_time", k.narrow_kv_time);
    check.positive("narrow_kv_matrix", k.narrow_kv_matrix);
  });
}

/// What one accelerator reaches in attention: four numbers fitted to it, and two that are its
/// machine profile's, shared with every other operator: dram_share and l2_bandwidth.
template <Scalar T = double>
struct basic_attention_parameters {
  duration<T> floor{};          ///< everything that runs once per call, the KV write included
  duration<T> tile_latency{};   ///< start, first load and end of one thread block
  frequency<T> element_rate{};  ///< KV elements that one thread block works off
  T matrix_share = T(1.0);      ///< of the dense peak, in prefill; above 1 where clocks boost
  T dram_share = T(1.0);        ///< of the data sheet's bandwidth
  perfmodel::bandwidth<T> l2_bandwidth{};  ///< of bytes that the run before left in L2

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("floor", s.floor...);
    f("tile_latency", s.tile_latency...);
    f("element_rate", s.element_rate...);
    f("matrix_share", s.matrix_share...);
    f("dram_share", s.dram_share...);
    f("l2_bandwidth", s.l2_bandwidth...);
  }
};
using attention_parameters = basic_attention_parameters<>;

/// Refuses what no machine has, by the field's name: a time, rate or share that is not positive, a
/// dram_share above 1, and each that is no number or not finite. element_rate may be 0, not known:
/// prefill does not need it. Test: each field, with each of these.
template <Scalar T>
constexpr void require_valid(const basic_attention_parameters<T>& p) {
  detail::check_fields([&p](auto& check) {
    check.positive("floor", p.floor);
    check.positive("tile_latency", p.tile_latency);
    check.not_negative("element_rate", p.element_rate);
    check.positive("matrix_share", p.matrix_share);
    check.share("dram_share", p.dram_share);
    check.positive("l2_bandwidth", p.l2_bandwidth);
  });
}

/// How one library of grouped GEMMs divides the experts' work. Tile sizes and the flag are read in
/// its source; the four costs are fitted.
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

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f("least_tile_rows", s.least_tile_rows...);
    f("most_tile_rows", s.most_tile_rows...);
    f("tile_columns", s.tile_columns...);
    f("all_rows_buffered", s.all_rows_buffered...);
    f("floor", s.floor...);
    f("buffer_share", s.buffer_share...);
    f("matrix_ratio", s.matrix_ratio...);
    f("dram_saturation", s.dram_saturation...);
  }
};
using moe_kernels = basic_moe_kernels<>;

/// Refuses what no library has, by the field's name: tiles of less than 1 row or column, a floor or
/// a share that is not positive, and each that is no number or not finite.
/// Test: each field, with each of these; every library of the catalogue passes.
template <Scalar T>
constexpr void require_valid(const basic_moe_kernels<T>& k) {
  detail::check_fields([&k](auto& check) {
    check.count("least_tile_rows", k.least_tile_rows);
    check.count("most_tile_rows", k.most_tile_rows);
    check.count("tile_columns", k.tile_columns);
    check.positive("floor", k.floor);
    check.positive("buffer_share", k.buffer_share);
    check.positive("matrix_ratio", k.matrix_ratio);
    check.positive("dram_saturation", k.dram_saturation);
  });
}

/// What one accelerator reaches in an expert block: both are its machine profile's, nothing is
/// fitted to experts but the four numbers of a library.
template <Scalar T = double>
struct basic_moe_parameters {
  T matrix_share = T(1.0);  ///< of the dense peak
  T dram_share = T(1.0);    ///< of the data sheet's bandwidth, reading weights

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("matrix_share", s.matrix_share...);
    f("dram_share", s.dram_share...);
  }
};
using moe_parameters = basic_moe_parameters<>;

/// Refuses a share that is not positive, no number or not finite, and a dram_share above 1.
/// Test: each field, with each of these.
template <Scalar T>
constexpr void require_valid(const basic_moe_parameters<T>& p) {
  detail::check_fields([&p](auto& check) {
    check.positive("matrix_share", p.matrix_share);
    check.share("dram_share", p.dram_share);
  });
}

using attention_profile = fitted_profile<attention_parameters>;
using moe_profile = fitted_profile<moe_parameters>;

}  // namespace perfmodel
