// Time of a GEMM: tiles in waves over SMs, operand bandwidth, DRAM traffic, power limit.
#pragma once

#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/scalar/math.hpp>

// Quantities of a GEMM that do not depend on its number of rows: rates and tiles.

namespace perfmodel::inline v0_3::detail {

/// Output tile of one thread block, and the names of its quantities in a printed derivation.
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
/// elements of K in one iteration of a tile's main loop
inline constexpr double least_split_depth = 64;
/// number of output elements of the tile for which tile_fill was fitted
inline constexpr double filled_results = 128.0 * 128.0;

/// Properties of the kernel that runs a GEMM, from its formats and its engine. An engine quantises
/// 16-bit activations at run time. With one scale per tensor or row, a kernel first reads all
/// activations to find the scale.
/// Kernels with 8-bit or 4-bit operands do not divide K among SMs if they have block scales or
/// matrix instructions of 64 rows (wgmma, tcgen05).
template <Scalar T>
struct gemm_path {
  flop_rate<T> matrix{};            ///< matrix rate of the whole chip
  duration<T> quantise_launches{};  ///< launch time of the kernels that quantise activations
  bool quantises = false;
  bool finds_scale{};  ///< a kernel reads every activation for the scale of a tensor or row
  bool splits = true;  ///< kernels may divide K among SMs (split-k)
  /// tile_fill scales with the tile's size, since wgmma and tcgen05 kernels overlap a tile's output
  /// with the next tile; else it is the same for all tiles
  bool fills_by_size = false;
  bool has_least_step = false;
  duration<T> least_step{};  ///< least time per element of K, for a tile of any size
  /// least_step in stand-alone GEMM benchmarks, with untuned kernels
  duration<T> replayed_step{};
  duration<T> dequantisation_launch{};  ///< time that dequantisation of weights adds to the launch
  duration<T> dequantisation{};         ///< time to dequantise one weight on one SM
};

template <Scalar T>
constexpr gemm_path<T> gemm_path_of(const basic_accelerator<T>& a, const basic_gemm<T>& g,
                                    number_format format,
                                    const basic_machine_parameters<T>& machine,
                                    const basic_engine_profile<T>& engine) {
  const bool low_precision = bits_of(format) < 16.0;
  const bool block_scaled = g.weights.group.has_value();
  const bool finds_scale = format == number_format::fp8 && !block_scaled;
  const bool large_instructions = lower(instruction_rows_of(a)) >= 64.0;
  const bool is_scaled_by_mma = format == number_format::fp4 && !large_instructions;
  const bool scales_in_hardware =
      is_scaled_by_mma || (format == number_format::fp8 && facts_of(a.architecture).scales_blocks);
  T share = machine.matrix_share;
  if (low_precision && block_scaled && !scales_in_hardware) {
    share = share * (large_instructions ? engine.block_scale_share : engine.mma_block_scale_share);
  }
  gemm_path<T> p;
  p.matrix = named("matrix rate", share * peak(a, format));
  p.quantise_launches = finds_scale ? engine.tensor_scale_floor : engine.quantise_floor;
  p.quantises = low_precision && upper(p.quantise_launches.value()) > 0.0;
  p.finds_scale = finds_scale;
  const bool is_dequantised = g.weights.bits() < bits_of(format);
  p.splits = !(low_precision && (block_scaled || large_instructions)) && !is_dequantised;
  p.fills_by_size = large_instructions;
  if (low_precision && large_instructions) {
    const bool four_bits = format == number_format::fp4;
    p.least_step = four_bits ? engine.four_bit_step : engine.low_precision_step;
    p.replayed_step = four_bits ? max(p.least_step, engine.untuned_four_bit_step) : p.least_step;
    p.has_least_step = upper(p.replayed_step.value()) > 0.0;
  }
  if (is_dequantised) p.dequantisation_launch = engine.dequantisation_floor;
  if (is_dequantised && upper(engine.dequantisation_cycles) > 0.0) {
    p.dequantisation = engine.dequantisation_cycles / clock_of(a);
  }
  return p;
}

/// Number of SMs, and the rates of one SM.
template <Scalar T>
struct sm_rates {
  T count{};
  flop_rate<T> matrix{};
  bandwidth<T> operands{};
  duration<T> dequantisation{};  ///< time to dequantise one weight
};

/// Quantities of a GEMM that do not depend on its number of rows: rates, column tiles, bytes per
/// element.
template <Scalar T>
struct gemm_rates {
  gemm_path<T> path{};
  bandwidth<T> dram{};
  sm_rates<T> sm{};
  T instruction_rows{};
  std::array<T, 3> column_tiles{};  ///< number of tile columns, for each of output_tiles
  /// weight bytes of a tile per element of K, for each of output_tiles
  std::array<bytes<T>, 3> column_operands{};
  bytes<> activation{}, weight{}, output{};  ///< bytes per element
};

template <Scalar T>
constexpr gemm_rates<T> rates_of_gemm(const basic_accelerator<T>& a, const basic_gemm<T>& g,
                                      const basic_machine_parameters<T>& machine,
                                      const basic_engine_profile<T>& engine) {
  using math::ceil;
  gemm_rates<T> r;
  r.path = gemm_path_of(a, g, wider(g.format, g.weights.format), machine, engine);
  r.dram = named("DRAM rate",
                 machine.dram_share * positive("dram.bandwidth", a.dram.bandwidth.quantity()));
  r.instruction_rows = instruction_rows_of(a);
  const T sms = count("sms", a.sms.value());
  const bandwidth<T> operands = positive("operand_bandwidth", machine.operand_bandwidth);
  r.sm = {sms, r.path.matrix / sms, operands / sms, r.path.dequantisation};
  r.activation = bytes_of(g.format);
  r.weight = bytes_of(g.weights);
  for (std::size_t i = 0; i < output_tiles.size(); ++i) {
    r.column_tiles[i] = ceil(g.n / T(output_tiles[i].columns));
    r.column_operands[i] = lift<T>(output_tiles[i].columns * r.weight);
  }
  r.output = bytes_of(g.output);
  return r;
}

}  // namespace perfmodel::inline v0_3::detail

namespace perfmodel::inline v0_3 {

/// Machine parameters, and the engine profile with the quantising kernels; a library without an
/// engine has a default profile.
template <Scalar T = double>
struct basic_gemm_calibration {
  basic_machine_parameters<T> machine{};
  basic_engine_profile<T> engine{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("machine", s.machine...);
    f("engine", s.engine...);
  }
};
using gemm_calibration = basic_gemm_calibration<>;

namespace detail {

/// Number of waves in which SMs run all tiles: ceil(tiles / SMs).
template <Scalar T>
constexpr T waves_of(const T& tiles, const T& sms) {
  using math::ceil;
  if constexpr (std::is_floating_point_v<T>) {
    if (tiles <= sms) return T(1.0);
  }
  return ceil(tiles / sms);
}

/// Effective / nominal L2 capacity, for weight buffers that are read again in turn.
inline constexpr double effective_l2_ratio = 1.1;

/// Time scale tau of the power limit: much shorter kernels are not slowed.
inline constexpr duration<> power_time_constant = duration<>::from_value(1e-3);

/// Time of two overlapped parts of which the shorter still costs something: max + min^2 / (3 max).
/// The slope is continuous where both are equal.
template <Scalar T>
constexpr duration<T> partly_hidden_time(const duration<T>& a, const duration<T>& b) {
  const duration<T> longer = max(a, b);
  const duration<T> shorter = min(a, b);
  return longer + shorter / longer * shorter / 3.0;
}

/// Lower limit of a kernel's time before its power slowdown. The slowed time T(t) = t + s dense^2 /
/// (t + tau) has its minimum at t* = sqrt(s) dense - tau.
/// Below t*, faster memory saves nothing, so t is at least t*. `t` is the time without the power
/// limit, `dense` the FLOP / matrix rate, s = `slowdown`. For s <= 1 there is no limit.
template <Scalar T>
constexpr duration<T> power_limited_time(const duration<T>& t, const duration<T>& dense,
                                         const T& slowdown) {
  using math::sqrt;
  if (!(upper(slowdown) > 1.0)) return t;
  return max(t, duration<T>(sqrt(slowdown) * dense - lift<T>(power_time_constant)));
}

template <Scalar T>
using gemm_view = calibration_view<T, basic_engine_profile<T>>;

/// Rows of a GEMM: padded to whole matrix instructions, and the tile rows of each of output_tiles.
template <Scalar T>
struct gemm_rows {
  T padded{};
  std::array<T, 3> tiles{};

  constexpr gemm_rows() = default;
  constexpr gemm_rows(const T& rows, const T& of_instruction) {
    using math::ceil;
    padded = ceil(rows / of_instruction) * of_instruction;
    for (std::size_t i = 0; i < tiles.size(); ++i) tiles[i] = ceil(rows / T(output_tiles[i].rows));
  }
};

/// One call of a valid GEMM under a calibration. It refers to its parts, which must outlive it.
template <Scalar T>
struct gemm_call {
  const basic_accelerator<T>& a;
  const basic_gemm<T>& g;
  const gemm_rates<T>& r;
  const gemm_rows<T>& m;
  const basic_machine_parameters<T>& machine;
  const basic_engine_profile<T>& engine;
  const basic_call_conditions<T>& conditions;

  constexpr bool is_in_model() const {  // not a replayed benchmark
    return conditions.cache == cache_state::cold;
  }
  constexpr const bandwidth<T>& l2_bandwidth() const {
    return machine.l2_bandwidth ? *machine.l2_bandwidth : machine.operand_bandwidth;
  }

  /// Time of all tiles of one size, which the SMs run in waves.
  /// A tile takes K steps and a fill. A step is the time per element of K. It is the longest of
  /// four times: multiplications, arrival of operands, dequantisation of weights on the vector
  /// units, and the kernel's least step.
  /// The fill is tile_fill; with large instructions it is in proportion to the tile's size.
  /// With fewer tiles than SMs, K is divided into parts until all SMs work (split-k). That costs
  /// split_cost, a fill of at least tile_fill for each part, and the sum of the partial results.
  constexpr duration<T> tiled_time(std::size_t tile) const {
    using math::floor;
    const output_tile& t = output_tiles[tile];
    const sm_rates<T>& sm = r.sm;
    const T grid = m.tiles[tile] * r.column_tiles[tile];
    const T waves = named(t.waves, waves_of(grid, sm.count));
    const bytes<T> operands = scalar_min(g.m, T(t.rows)) * r.activation + r.column_operands[tile];
    const T rows = scalar_min(m.padded, T(t.rows));
    const flops<T> multiplications = 2.0 * rows * (t.columns * flop);
    duration<T> longest =
        max(duration<T>(multiplications / sm.matrix), duration<T>(operands / sm.operands));
    if (upper(sm.dequantisation.value()) > 0.0) {
      longest = max(longest, duration<T>(t.columns * sm.dequantisation));
    }
    if (r.path.has_least_step) {
      longest = max(longest, is_in_model() ? r.path.least_step : r.path.replayed_step);
    }
    const duration<T> step = named(t.step, longest);
    const duration<T> fill =
        r.path.fills_by_size ? duration<T>(rows * (t.columns / filled_results) * machine.tile_fill)
                             : machine.tile_fill;
    const duration<T> whole = named(t.whole, waves * (g.k * step + fill));
    if (!r.path.splits) return whole;
    // Number of parts of K: limited by the free SMs, and by least_split_depth per part on average.
    if constexpr (std::is_floating_point_v<T>) {
      if (2.0 * grid > sm.count)
        return whole;  // one part is never faster; other scalars compute both
    }
    const T fitting = floor(T(sm.count / grid));
    const T parts =
        named(t.parts, scalar_max(T(1.0), scalar_min(fitting, T(g.k / T(least_split_depth)))));
    const bytes<T> sums = g.m * g.n * parts * bytes_of(number_format::fp32);
    const duration<T> split = waves * (g.k / parts * step + max(fill, machine.tile_fill)) +
                              machine.split_cost + sums / machine.operand_bandwidth;
    return min(whole, named(t.split, split));
  }

  /// Time with the fastest tile size.
  constexpr duration<T> compute_time() const {
    duration<T> least = tiled_time(0);
    for (std::size_t i = 1; i < output_tiles.size(); ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        const output_tile& before = output_tiles[i - 1];
        if (g.m <= before.rows && before.columns == output_tiles[i].columns)
          continue;  // equal to the tile before
      }
      least = min(least, tiled_time(i));
    }
    return least;
  }

  /// Time of the memory traffic. Weights that are in L2 are read from there if that is faster than
  /// DRAM (at operand_bandwidth if l2_bandwidth is not known). GEMMs with run-time quantisation
  /// write 16-bit results.
  constexpr duration<T> memory_time(const basic_traffic<T>& traffic) const {
    bytes<T> written = traffic.written;
    if (r.path.quantises) written = max(written, bytes<T>(g.m * g.n * lift<T>(2.0 * byte)));
    const duration<T> all = (traffic.read + written) / r.dram;
    if (is_in_model() || !a.l2.capacity.is_stated()) return all;
    const bytes<T> weights = named("weights", g.k * g.n * lift<T>(bytes_of(g.weights)));
    const bytes<T> capacity = effective_l2_ratio / l2_partitions_of(a) * a.l2.capacity.quantity();
    const T warm = named("warm share",
                         l2_resident_share(bytes<T>(conditions.weight_copies * weights), capacity));
    const duration<T> from_dram = weights / r.dram;
    const duration<T> from_l2 = min(duration<T>(weights / l2_bandwidth()), from_dram);
    return all - warm * (from_dram - from_l2);
  }

  /// Time to quantise activations: launches, then a read of 16-bit and a write of low-precision
  /// activations at DRAM bandwidth.
  /// With scales per tensor or row, the traffic takes at least the time of its L2 bytes at L2
  /// bandwidth. Each row then adds the cycles of a thread block.
  constexpr duration<T> quantise_time() const {
    const T activations = g.m * g.k;
    duration<T> moving_time = activations * lift<T>(2.0 * byte + r.activation) / r.dram;
    if (r.path.finds_scale) {
      const bytes<T> l2_bytes = activations * engine.quantise_bytes * lift<T>(byte);
      moving_time = max(moving_time, duration<T>(l2_bytes / l2_bandwidth()));
      if (upper(engine.quantise_row_cycles) > 0.0) {
        const frequency<T> clock = clock_of(a);
        moving_time += g.m * engine.quantise_row_cycles / (a.sms.value() * clock);
      }
    }
    const duration<T> quantise = r.path.quantise_launches + moving_time;
    if (is_in_model()) {
      return (r.path.finds_scale ? engine.tensor_scale_share : engine.quantise_share) * quantise;
    }
    if (!r.path.finds_scale || !facts_of(a.architecture).scales_blocks) return quantise;
    return quantise + scalar_max(T(0.0), scalar_min(T(1.0), T(2.0 - g.m))) * engine.single_row_time;
  }

  /// FLOP and bytes, from the bytes per element in `r`.
  constexpr gemm_needs<T> needs() const {
    return needs_of_gemm(g.m, g.n, g.k, r.activation, bytes<T>(g.k * g.n * r.weight), r.output);
  }
  /// Time of all parts, which are added to the breakdown `terms`.
  template <class Terms>
  constexpr duration<T> time(const gemm_needs<T>& needs, Terms&& terms) const {
    const duration<T> compute = terms.add(limiter::compute, "compute", compute_time());
    const duration<T> memory = terms.add(limiter::memory, "memory", memory_time(needs.dram));
    const duration<T> overlapped = named("overlapped", partly_hidden_time(compute, memory));
    const duration<T> dense = named("dense time", needs.matrix_flop / r.path.matrix);
    const duration<T> limited = power_limited_time(overlapped, dense, machine.power_slowdown);
    const duration<T> power_time =
        terms.add(limiter::compute, "power",
                  machine.power_slowdown * (dense / (limited + power_time_constant)) * dense +
                      (limited - overlapped));
    const duration<T> launch =
        terms.add(limiter::launch, "launch", machine.matrix_floor + r.path.dequantisation_launch);
    duration<T> time = launch + overlapped + power_time;
    if (r.path.quantises) time += terms.add(limiter::launch, "quantise", quantise_time());
    return named("time", time);
  }
};

template <Scalar T, class Terms>
constexpr kernel_time<T> time_of_kernel(const basic_accelerator<T>& a, const basic_gemm<T>& g,
                                        const basic_demand<T>& needs, const gemm_view<T>& c,
                                        const basic_call_conditions<T>& conditions, Terms&& terms) {
  const gemm_rates<T> rates = rates_of_gemm(a, g, c.machine, c.kernels);
  const gemm_rows<T> rows(g.m, rates.instruction_rows);
  const gemm_call<T> call{a, g, rates, rows, c.machine, c.kernels, conditions};
  return {call.time({needs.matrix_flop, needs.dram}, terms), needs.dram.total(), 5};
}

}  // namespace detail

/// Time of a GEMM on a calibrated machine: tiles over SMs, DRAM traffic, power, launches and
/// quantisation (docs/laws/calibrated_gemm.md).
/// Sources: tiles and waves: NVIDIA, "Matrix Multiplication Background User's Guide", sections 4
/// and 5. Split-k: CUTLASS, "Efficient GEMM in CUDA". The formulas of overlap and power slowdown
/// are this project's own, chosen on measurements.
/// Leaves out: the library's choice among its kernels; clocks other than those of the fitted card.
/// Errors: those of demand_of(gemm); an operand_bandwidth of 0; a format that the accelerator
/// lacks; facts that neither the accelerator nor its architecture states. The calibration itself is
/// not checked here; calibrated_for makes valid ones.
/// Tests: with shares up to 1 and cold weights, never below the roofline. One more wave costs one
/// tile. A larger GEMM or less bandwidth is never faster, with one exception below 1 %: more rows
/// or columns may leave SMs for fewer parts of K, so with fewer partial sums.
template <Scalar T>
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a,
                                                const basic_gemm<T>& g,
                                                const basic_gemm_calibration<T>& c,
                                                const basic_call_conditions<T>& conditions = {}) {
  return detail::estimate_of_kernel(a, g, detail::gemm_view<T>{c.machine, c.engine}, conditions);
}

}  // namespace perfmodel::inline v0_3
