// What measurements add to a data sheet, for attention.
#pragma once

#include <perfmodel/calibrated/fitted_profile.hpp>
#include <perfmodel/core/error.hpp>
#include <perfmodel/hardware/accelerator.hpp>

namespace perfmodel {

/// How one library of attention kernels divides its work. What it divides into, `block_memory` and the three
/// flags are read in its source, `tail` follows from the order of its tiles; the costs are fitted, at most
/// five for one library.
template <Scalar T = double>
struct basic_attention_kernels {
  label name{};
  T max_splits = T(1.0);     ///< parts that the context of one sequence is cut into, at most
  T blocks_per_sm = T(1.0);  ///< thread blocks for each SM that decode is cut into
  std::optional<bytes<T>>
      block_memory{};       ///< shared memory of one, which limits how many run at once
  T decode_rows = T(64.0);  ///< query rows that a decode tile computes, however few a group has
  T tile_rows = T(64.0);    ///< query rows of a prefill tile
  T tile_keys = T(1.0);     ///< keys of its step: a row of tiles sees whole steps
  T tail = T(0.65);         ///< of the longest tile, that others wait for
  bool overlaps_memory = false;           ///< a neighbour block computes while one loads and stores
  bool overlaps_exponential = false;      ///< exponentials run beside the matrix units
  bool reorders_heads = false;            ///< copies grouped queries so that a group is one tile
  T kernel_cycles{};                      ///< SM cycles of one more kernel: combining, reordering
  T split_cycles{};                       ///< SM cycles that combining one more split takes
  std::optional<T> partial_row_cycles{};  ///< SM cycles to write and combine a row of one split,
                                          ///< where prefill is split
  duration<T> sequence_cost{};   ///< scheduling metadata, per sequence of a decode batch ...
  T scheduled_sequences{};       ///< ... of at most this many; larger ones are not scheduled
  duration<T> narrow_kv_time{};  ///< one conversion kernel of an 8-bit KV cache
  T narrow_element_cycles{};     ///< SM cycles that each element takes in it, in prefill
  T narrow_kv_matrix = T(1.0);   ///< matrix share with an 8-bit KV cache over that without

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f(field::count("max_splits"), s.max_splits...);
    f(field::count("blocks_per_sm"), s.blocks_per_sm...);
    f(field::positive("block_memory"), s.block_memory...);
    f(field::count("decode_rows"), s.decode_rows...);
    f(field::count("tile_rows"), s.tile_rows...);
    f(field::count("tile_keys"), s.tile_keys...);
    f(field::not_negative("tail"), s.tail...);
    f("overlaps_memory", s.overlaps_memory...);
    f("overlaps_exponential", s.overlaps_exponential...);
    f("reorders_heads", s.reorders_heads...);
    f(field::not_negative("kernel_cycles"), s.kernel_cycles...);
    f(field::not_negative("split_cycles"), s.split_cycles...);
    f(field::positive("partial_row_cycles"), s.partial_row_cycles...);
    f(field::not_negative("sequence_cost"), s.sequence_cost...);
    f(field::not_negative("scheduled_sequences"), s.scheduled_sequences...);
    f(field::not_negative("narrow_kv_time"), s.narrow_kv_time...);
    f(field::not_negative("narrow_element_cycles"), s.narrow_element_cycles...);
    f(field::positive("narrow_kv_matrix"), s.narrow_kv_matrix...);
  }
};
using attention_kernels = basic_attention_kernels<>;

/// What one accelerator reaches in attention, beside what its machine profile has for all operators.
template <Scalar T = double>
struct basic_attention_parameters {
  duration<T> floor{};         ///< everything that runs once per call, the KV write included
  duration<T> tile_latency{};  ///< start, first load and end of a thread block that has an SM alone
  frequency<T> element_rate{};  ///< KV elements that it works off, for a tile of 64 queries
  T matrix_share = T(1.0);      ///< of the dense peak, in prefill; above 1 where clocks boost
  std::optional<perfmodel::bandwidth<T>> l2_bandwidth{};  ///< where it is not the machine's

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::positive("floor"), s.floor...);
    f(field::positive("tile_latency"), s.tile_latency...);
    f(field::positive("element_rate"), s.element_rate...);
    f(field::positive("matrix_share"), s.matrix_share...);
    f(field::positive("l2_bandwidth"), s.l2_bandwidth...);
  }
};
using attention_parameters = basic_attention_parameters<>;

using attention_profile = fitted_profile<attention_parameters>;

}  // namespace perfmodel
