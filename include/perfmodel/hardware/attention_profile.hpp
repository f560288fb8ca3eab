// What measurements add to a data sheet, for attention and for grouped expert GEMMs.
#pragma once

#include <perfmodel/error.hpp>
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
  T loads_per_sm = T(1.0);  ///< tiles on a share x of the SMs draw min(1, loads_per_sm x) of DRAM

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
    f("loads_per_sm", s.loads_per_sm...);
  }
};
using moe_kernels = basic_moe_kernels<>;

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

/// Fitted parameters with what is known of their uncertainty: a standard error for each, and the
/// standard deviation of ln(measured / predicted) on data held out, for an 80 % interval of
/// exp(+-1.2816 spread).
template <class Parameters>
struct fitted_profile {
  label name{};
  Parameters value{};
  Parameters standard_error{};
  double spread = 0.0;
  const source* from = &given_by_caller;
};
using attention_profile = fitted_profile<attention_parameters>;
using moe_profile = fitted_profile<moe_parameters>;

}  // namespace perfmodel
