// Warps: sectors of a stride, bank conflicts, divergence, and cycles.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/named.hpp>
#include <span>

namespace perfmodel::inline v0_3 {

inline constexpr int warp_lanes = 32;           ///< threads that issue together
inline constexpr int memory_banks = 32;         ///< shared-memory banks, 4 bytes wide each
inline constexpr bytes<> sector = 32.0 * byte;  ///< smallest transfer of L2 and DRAM

/// Time of a number of cycles at a clock. A published latency in cycles is a time only
/// with its clock. Test: 600 cycles at 1.98 GHz are 303 ns, 200 at 1.755 GHz 114 ns.
template <Scalar T>
constexpr duration<T> time_of_cycles(const std::type_identity_t<T>& cycles,
                                     const frequency<T>& clock) {
  return named("time", detail::not_negative("cycles", cycles) / detail::positive("clock", clock));
}

/// Lanes (CUDA cores) of one SM: its vector FLOP per clock / 2, a fused multiply-add being two.
/// Test: an RTX 5090's 170 SMs of 128 are 21,760.
template <Scalar T>
constexpr T lanes_per_sm(const basic_accelerator<T>& a) {
  return detail::positive("vector.flop_per_clock", a.vector.flop_per_clock.quantity()) /
         (2.0 * flop);
}

/// Shuffles that reduce the values of n lanes: ceil(log2 n). Test: 32 lanes take 5.
constexpr int reduction_steps(int lanes = warp_lanes) {
  detail::count("lanes", static_cast<double>(lanes));
  int steps = 0;
  for (long long reach = 1; reach < lanes; reach *= 2) ++steps;
  return steps;
}

/// Time of a divergent warp, which takes each path in turn: the sum of the paths.
/// Source: NVIDIA, "CUDA C++ Programming Guide", section on the SIMT architecture. Leaves out paths
/// without lanes. Test: two paths of equal length take twice as long.
template <Scalar T>
constexpr duration<T> divergent_time(std::span<const duration<T>> paths) {
  duration<T> sum{};
  for (const duration<T>& path : paths) sum += detail::not_negative("path", path);
  return named("divergent time", sum);
}

/// Sectors that one load or store of a warp moves, lane i at element i x stride, aligned:
/// with at most a sector between elements those of the span, else those of each element.
/// Source: NVIDIA, "CUDA C++ Best Practices Guide", section 9.2.1 (coalesced access).
/// Errors: a stride or an element below 1. Tests: 4-byte elements: 4 at stride 1, 32 at 8 and
/// above.
constexpr int sectors_per_request(int stride, int element_bytes) {
  detail::count("stride", static_cast<double>(stride));
  detail::within("element_bytes", static_cast<double>(element_bytes), 1.0, 16.0, "1 to 16");
  constexpr int size = 32;
  const long long step = static_cast<long long>(stride) * element_bytes;
  if (step >= size) return warp_lanes;  // an aligned element never crosses a sector
  return static_cast<int>(((warp_lanes - 1) * step + element_bytes + size - 1) / size);
}

/// Bytes moved over bytes wanted by such a request. Test: fully scattered 4-byte elements cost 8x.
constexpr double access_amplification(int stride, int element_bytes) {
  return sectors_per_request(stride, element_bytes) * (sector / byte) /
         (warp_lanes * element_bytes);
}

/// Share of the matrix peak per clock that instructions of fewer rows than the device's reach:
/// mma.sync on Hopper, 2,716 to 2,728 of 4,096 FLOP per clock and SM.
/// Source: validation/recordings/*/arithmetic_peak.json of this project, two H200 and an H100;
/// 62.9 % in Luo et al., arXiv 2402.13499, quoted at second hand.
inline constexpr double short_instruction_share = 0.665;

/// Share of the matrix peak that a matrix instruction of `rows` rows reaches: 1 with the rows of
/// the device's own instruction, else short_instruction_share. Leaves out other shapes. Errors: a
/// device without such an instruction. Test: 16 rows reach 1 on A100 and 0.665 on H100.
template <Scalar T>
constexpr T matrix_instruction_share(const basic_accelerator<T>& a, double rows) {
  return T(rows < lower(instruction_rows_of(a)) ? short_instruction_share : 1.0);
}

/// Layout of a tile in shared memory: row after row, or with each column index XORed with its row.
enum class tile_layout { rows, xor_swizzled };

/// Ways of the worst bank conflict when the lanes of a warp read one column of a tile, a row of
/// which is `row_words` words of 4 bytes: the most lanes that one bank serves, one after the other.
/// In rows it is gcd(row_words, 32). Swizzled, a column stays within its row: the XOR takes the row
/// modulo min(row_words, 32). Source: NVIDIA, "CUDA C++ Programming Guide", shared memory; Thakkar
/// et al., CUTLASS/CuTe, "Swizzle". Errors: swizzled rows that are no power of 2. Tests: 1, 2, 32,
/// 1 ways at 1, 2, 32, 33 words; swizzled 2, 4, 4, 2, 1 ways at 2, 4, 8, 16, 32 words.
constexpr int bank_conflict_ways(int row_words, tile_layout layout = tile_layout::rows) {
  detail::within("row_words", static_cast<double>(row_words), 1.0, 1e6, "1 to 1000000");
  const bool swizzled = layout == tile_layout::xor_swizzled;
  if (swizzled && (row_words & (row_words - 1)) != 0)
    detail::out_of_range("row_words", static_cast<double>(row_words), "a power of 2 if swizzled");
  const int columns = row_words < memory_banks ? row_words : memory_banks;
  std::array<int, memory_banks> lanes_on{};
  int worst = 0;
  for (int row = 0; row < warp_lanes; ++row) {
    const int column = swizzled ? row % columns : 0;
    const auto bank =
        static_cast<std::size_t>((row * (row_words % memory_banks) + column) % memory_banks);
    worst = ++lanes_on[bank] > worst ? lanes_on[bank] : worst;
  }
  return worst;
}

/// Elements of a format in the 16 bytes that matrix units and wide loads are aligned to.
/// Test: 8 in fp16, 16 in int8.
constexpr double aligned_elements(number_format format) {
  return 16.0 * byte / bytes_of(format);
}

/// Tiles (or chunks) that cover a length: ceil(length / tile). Tests: 8192 in 128s are 64; a prompt
/// of 65,536 in chunks of 2048 is 32.
template <Number Length, Number S>
constexpr auto tiles_of(const Length& length, const S& tile) {
  using math::ceil;
  using T = promoted<Length, S>;
  return named("tiles",
               T(ceil(T(detail::count("length", T(length)) / detail::count("tile", T(tile))))));
}

/// Share of the work that tiles spend on padding: 1 - length / (tiles x tile).
/// Test: 100 in tiles of 64 waste 21.9 %.
template <Number Length, Number S>
constexpr auto padding_waste(const Length& length, const S& tile) {
  using T = promoted<Length, S>;
  return named("padding waste", T(1.0 - T(length) / (tiles_of(T(length), T(tile)) * T(tile))));
}

}  // namespace perfmodel::inline v0_3
