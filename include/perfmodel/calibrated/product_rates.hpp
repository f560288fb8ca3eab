// What of a matrix product's time does not depend on how many rows it has: rates of the machine, tiles.
#pragma once

#include <perfmodel/calibrated/machine_profile.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/workload/operators/gemm.hpp>

namespace perfmodel::detail {

/// An output tile of one thread block, and the names of its two schedules in a derivation.
struct output_tile {
  double rows, columns;
  const char* waves;
  const char* step;
  const char* parts;
  const char* whole;
  const char* split;
};
inline constexpr std::array<output_tile, 3> output_tiles = {{
    {64, 64, "waves of 64x64 tiles", "time per k of 64x64", "parts of k of 64x64", "64x64 tiles",
     "64x64 tiles over split k"},
    {128, 128, "waves of 128x128 tiles", "time per k of 128x128", "parts of k of 128x128",
     "128x128 tiles", "128x128 tiles over split k"},
    {256, 128, "waves of 256x128 tiles", "time per k of 256x128", "parts of k of 256x128",
     "256x128 tiles", "256x128 tiles over split k"},
}};
inline constexpr double least_split_depth = 64;          ///< of k; one step of a tile's main loop
inline constexpr double filled_results = 128.0 * 128.0;  ///< of a tile that tile_fill is of

/// What the formats of a product and its engine's kernels decide. An engine narrows 16-bit
/// activations while it runs: with a scale per tensor or per row it must find that first. Kernels of narrow
/// formats do not split k where they have block scales, nor by instructions of 64 rows (wgmma, tcgen05).
template <Scalar T>
struct product_path {
  flop_rate<T> matrix{};  ///< of the chip
  duration<T> quantise_launches{};
  bool quantises = false;
  bool finds_scale = false;  ///< of all of a tensor or a row: kernels read every activation first
  bool splits = true;        ///< whether the kernels may split k over SMs
  bool fills_by_size =
      false;  ///< kernels by large instructions write a tile while they multiply the next
  bool has_least_step = false;
  duration<T> least_step{};     ///< of a k of any tile
  duration<T> replayed_step{};  ///< the same in a benchmark, whose kernels nobody may have tuned
  duration<T> widening_launch{};
  duration<T> widening{};  ///< of a weight, by one SM
};

template <Scalar T>
constexpr product_path<T> product_path_of(const basic_accelerator<T>& a, const basic_gemm<T>& g,
                                          number_format format,
                                          const basic_machine_parameters<T>& machine,
                                          const basic_engine_profile<T>& engine) {
  const bool narrow = bits_of(format) < 16.0;
  const bool block_scaled = g.weights.group.has_value();
  const bool finds_scale = format == number_format::fp8 && !block_scaled;
  const bool by_matrix_units =
      format == number_format::fp8 && facts_of(a.architecture).scales_blocks;
  const bool large_instructions = lower(instruction_rows_of(a)) >= 64.0;
  T share = machine.matrix_share;
  if (narrow && block_scaled && !by_matrix_units) {
    share = share * (large_instructions ? engine.block_scale_share : engine.mma_block_scale_share);
  }
  product_path<T> p;
  p.matrix = named("matrix rate", share * peak(a, format));
  p.quantise_launches = finds_scale ? engine.tensor_scale_floor : engine.quantise_floor;
  p.quantises = narrow && upper(p.quantise_launches.value()) > 0.0;
  p.finds_scale = finds_scale;
  const bool widens = g.weights.bits() < bits_of(format);
  p.splits = !(narrow && (block_scaled || large_instructions)) && !widens;
  p.fills_by_size = large_instructions;
  if (narrow && large_instructions) {
    const bool four_bits = format == number_format::fp4;
    p.least_step = four_bits ? engine.four_bit_step : engine.narrow_step;
    p.replayed_step = four_bits ? max(p.least_step, engine.untuned_four_bit_step) : p.least_step;
    p.has_least_step = upper(p.replayed_step.value()) > 0.0;
  }
  if (widens) p.widening_launch = engine.widening_floor;
  if (widens && upper(engine.widening_cycles) > 0.0) {
    p.widening = engine.widening_cycles / positive("vector.clock", a.vector.clock.quantity());
  }
  return p;
}

/// What one SM does in its time.
template <Scalar T>
struct sm_rates {
  T count{};
  flop_rate<T> matrix{};
  bandwidth<T> operands{};
  duration<T> widening{};  ///< of one weight
};

/// What of a product is the same for any number of rows: the rates of the chip, and the bytes of elements.
template <Scalar T>
struct product_rates {
  product_path<T> path{};
  bandwidth<T> dram{};
  sm_rates<T> sm{};
  T instruction_rows{};
  std::array<T, 3> column_tiles{};            ///< of each of output_tiles
  std::array<bytes<T>, 3> column_operands{};  ///< the weights of a tile, of each k
  bytes<> activation{}, weight{}, output{};
};

template <Scalar T>
constexpr product_rates<T> rates_of_product(const basic_accelerator<T>& a, const basic_gemm<T>& g,
                                            const basic_machine_parameters<T>& machine,
                                            const basic_engine_profile<T>& engine) {
  using math::ceil;
  product_rates<T> r;
  r.path = product_path_of(a, g, wider(g.format, g.weights.format), machine, engine);
  r.dram = named("DRAM rate",
                 machine.dram_share * positive("dram.bandwidth", a.dram.bandwidth.quantity()));
  r.instruction_rows = instruction_rows_of(a);
  const T sms = count("sms", a.sms.value());
  const bandwidth<T> operands = positive("operand_bandwidth", machine.operand_bandwidth);
  r.sm = {sms, r.path.matrix / sms, operands / sms, r.path.widening};
  r.activation = bytes_of(g.format);
  r.weight = bytes_of(g.weights);
  for (std::size_t i = 0; i < output_tiles.size(); ++i) {
    r.column_tiles[i] = ceil(g.n / T(output_tiles[i].columns));
    r.column_operands[i] = lift<T>(output_tiles[i].columns * r.weight);
  }
  r.output = bytes_of(g.output);
  return r;
}

}  // namespace perfmodel::detail
