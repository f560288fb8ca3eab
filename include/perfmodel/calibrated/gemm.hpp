// How long a matrix product takes on a real machine: tiles, waves, operand feed, DRAM, power.
#pragma once

#include <perfmodel/calibrated/cache_state.hpp>
#include <perfmodel/calibrated/machine_profile.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/workload/operators/gemm.hpp>

namespace perfmodel {

/// Where the operands of a product come from, and whose kernels run it.
template <Scalar T = double>
struct basic_gemm_conditions {
  basic_engine_profile<T> engine{};
  /// Copies of the weights read in turn: those that fit L2 together are still there. 0: cold.
  T weight_copies{};
};
using gemm_conditions = basic_gemm_conditions<>;

namespace detail {

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
inline constexpr double least_split_depth = 64;  ///< of k; one step of a tile's main loop

/// What the parts of one product cost on one SM.
template <Scalar T>
struct tile_rates {
  T sms;
  flop_rate<T> matrix;    ///< of one SM
  bandwidth<T> operands;  ///< of one SM
  bandwidth<T> sums;      ///< of the chip, for the partial sums of a split
  duration<T> fill, split;
  T worked_rows;  ///< m up to whole matrix instructions
  bool splits;    ///< whether the library's kernels split k
};

/// Tiles go to SMs in waves. A tile's time is k steps, each as long as its multiplications or the
/// arrival of its operands, and a fill. Too few tiles: k is split until all SMs work, at a cost.
template <Scalar T>
constexpr duration<T> tiled_time(const basic_gemm<T>& g, const tile_rates<T>& r,
                                 const output_tile& t) {
  using math::ceil;
  using math::floor;
  const T grid = ceil(g.m / T(t.rows)) * ceil(g.n / T(t.columns));
  const T waves = named(t.waves, T(ceil(grid / r.sms)));
  const bytes<T> operands =
      scalar_min(g.m, T(t.rows)) * bytes_of(g.format) + t.columns * bytes_of(g.weights);
  const duration<T> step = named(
      t.step,
      max(duration<T>(2.0 * scalar_min(r.worked_rows, T(t.rows)) * (t.columns * flop) / r.matrix),
          duration<T>(operands / r.operands)));
  const duration<T> whole = waves * (g.k * step + r.fill);
  if (!r.splits) return named(t.whole, whole);
  const T parts = named(
      t.parts,
      scalar_max(T(1.0), T(floor(scalar_min(T(r.sms / grid), T(g.k / T(least_split_depth)))))));
  const bytes<T> sums = g.m * g.n * parts * bytes_of(number_format::fp32);
  const duration<T> split = waves * (g.k / parts * step + r.fill) + r.split + sums / r.sums;
  return min(named(t.whole, whole), named(t.split, split));
}

/// A part that is hidden under a longer one still costs: max + min^2 / (3 max), whose slope has no
/// jump where the two are equal.
template <Scalar T>
constexpr duration<T> mostly_overlapped(const duration<T>& a, const duration<T>& b) {
  const duration<T> longer = max(a, b);
  const duration<T> shorter = min(a, b);
  return longer + shorter / longer * shorter / 3.0;
}

inline constexpr duration<> power_settles = duration<>::from_value(1e-3);

/// Half of a working set of this many times the L2 is still found there when it is read in turn.
inline constexpr double l2_room = 1.1;

}  // namespace detail

/// time = floor + O + s X^2 / (O + 1 ms) + quantisation, with O = mostly_overlapped(C, M);
///   C = least over tiles (64x64, 128x128, 256x128), k whole or split p ways to fill the SMs, of
///       ceil(tiles / SMs) (k / p max(2 min(m', r) c / R_sm, (min(m, r) b_a + c b_w) / F_sm) +
///       fill)
///       [+ split cost + 4 m n p bytes / F], with m' = m up to whole matrix instructions;
///   M = DRAM bytes / (share BW), weights that stayed in L2 at l2_bandwidth where that is quicker
///       (at F where it is not known);
///   X = 2 m n k / R, R = share of the peak; s the power slowdown;
///   quantisation = launches + max(m k (2 B + b_a) / (share BW), m k cycles / (SMs f)), where an
///   engine narrows 16-bit activations while it runs, the cycles without block scales; its results
///   are 16 bit.
/// Sources: tiles and waves, NVIDIA "Matrix Multiplication Background User's Guide", sections 4 and
/// 5; split-k, CUTLASS "Efficient GEMM in CUDA"; the forms of the overlap and of the slowdown are
/// this project's own, chosen on measurements (docs/laws/calibrated_gemm.md).
/// Leaves out: the library's choice among its kernels, clocks other than the fitted card's.
/// Errors: as demand_of(gemm) and require_valid of the machine and the engine; weight_copies
/// negative; an operand_bandwidth of 0; a format the accelerator lacks.
/// Tests: never below the bound for shares up to 1 and cold weights; one wave more costs one tile.
template <Scalar T>
constexpr basic_estimate<T> calibrated_gemm(const basic_accelerator<T>& a, const basic_gemm<T>& g,
                                            const basic_machine_parameters<T>& machine,
                                            const basic_gemm_conditions<T>& conditions = {}) {
  const basic_engine_profile<T>& engine = conditions.engine;
  require_valid(machine);
  require_valid(engine);
  detail::not_negative("weight_copies", conditions.weight_copies);
  const basic_demand<T> d = demand_of(g);
  const flop_rate<T> full = peak(a, d.format);
  const bool block_scaled = g.weights.group > 0.0;
  const bool narrow_blocks = block_scaled && bits_of(d.format) < 16.0;
  // nvfp4 has both: a scale per block, and one per tensor that the kernels must find first.
  const bool tensor_scaled =
      d.format == number_format::fp4 || (d.format == number_format::fp8 && !block_scaled);
  const duration<T> engine_floor =
      tensor_scaled ? engine.tensor_scale_floor : engine.quantise_floor;
  const bool quantises = bits_of(d.format) < 16.0 && upper(engine_floor.value()) > 0.0;
  T share = machine.matrix_share;
  const bool by_matrix_units = d.format == number_format::fp8 && machine.scales_blocks;
  if (narrow_blocks && !by_matrix_units) share = share * engine.block_scale_share;
  const flop_rate<T> matrix = named("matrix rate", share * full);
  const T sms = detail::count("sms", a.sms.value());
  const bandwidth<T> operands = detail::positive("operand_bandwidth", machine.operand_bandwidth);
  const bandwidth<T> dram =
      named("DRAM rate",
            machine.dram_share * detail::positive("dram.bandwidth", a.dram.bandwidth.quantity()));

  using math::ceil;
  const T& rows = machine.instruction_rows;
  const detail::tile_rates<T> rates{sms,
                                    matrix / sms,
                                    operands / sms,
                                    operands,
                                    machine.tile_fill,
                                    machine.split_cost,
                                    ceil(g.m / rows) * rows,
                                    !narrow_blocks && !(g.weights.bits() < bits_of(d.format))};
  duration<T> compute = detail::tiled_time(g, rates, detail::output_tiles[0]);
  for (std::size_t i = 1; i < detail::output_tiles.size(); ++i) {
    compute = min(compute, detail::tiled_time(g, rates, detail::output_tiles[i]));
  }

  const bytes<T> weights = named("weights", g.k * g.n * bytes_of(g.weights));
  bytes<T> written = d.dram.written;
  if (quantises) written = max(written, bytes<T>(g.m * g.n * (2.0 * byte)));
  duration<T> memory = (d.dram.read + written) / dram;
  if (upper(conditions.weight_copies) > 0.0 && upper(a.l2.capacity.value()) > 0.0) {
    const bytes<T> room = detail::l2_room / machine.l2_partitions * a.l2.capacity.quantity();
    const T warm =
        named("warm share", detail::resident(bytes<T>(conditions.weight_copies * weights), room));
    const duration<T> from_dram = weights / dram;
    const bandwidth<T> l2 = upper(machine.l2_bandwidth.value()) > 0.0
                                ? detail::positive("l2_bandwidth", machine.l2_bandwidth)
                                : operands;
    const duration<T> from_l2 = min(duration<T>(weights / l2), from_dram);
    memory = memory - warm * (from_dram - from_l2);
  }

  basic_estimate<T> e;
  compute = e.terms.add(limiter::compute, "compute", compute);
  memory = e.terms.add(limiter::memory, "memory", memory);
  const duration<T> overlapped = named("overlapped", detail::mostly_overlapped(compute, memory));
  const duration<T> dense = named("dense time", d.matrix_flop / matrix);
  const duration<T> slowed = e.terms.add(
      limiter::compute, "power",
      machine.power_slowdown * (dense / (overlapped + detail::power_settles)) * dense);
  const duration<T> launch = e.terms.add(limiter::launch, "launch", machine.matrix_floor);
  duration<T> time = launch + overlapped + slowed;
  if (quantises) {
    duration<T> moved = g.m * g.k * (2.0 * byte + bytes_of(g.format)) / dram;
    if (tensor_scaled && !block_scaled) {
      const T cycles = g.m * g.k * engine.quantise_cycles;
      moved =
          max(moved, cycles / (sms * detail::positive("vector.clock", a.vector.clock.quantity())));
    }
    time += e.terms.add(limiter::launch, "quantise", engine_floor + moved);
  }
  e.limiter = e.terms.limiting();
  e.time = named("time", time);
  e.mfu = dense * share / e.time;
  e.mbu = d.dram.total() / a.dram.bandwidth.quantity() / e.time;
  return e;
}

}  // namespace perfmodel
