// Grouped products of experts by Triton's default tiles, where no tuned ones are known.
#pragma once

#include <perfmodel/calibrated/conditions.hpp>
#include <perfmodel/calibrated/machine_profile.hpp>
#include <perfmodel/calibrated/moe_kernels.hpp>
#include <perfmodel/core/soft_max.hpp>
#include <perfmodel/workload/operators/moe.hpp>

namespace perfmodel {

/// Whether vLLM and SGLang carry tiles tuned for so many 16-bit experts on a rank, each so wide, on A100 (SXM,
/// 80 GB). Source: their files E=<experts>,N=<width>,device_name=NVIDIA_A100-SXM4-80GB.json; those of vLLM 0.27.1.
/// Test: eight of 1,792, not of 14,336.
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

/// The same of what a rank has of these experts.
template <Scalar T>
constexpr bool runs_tuned_tiles(const basic_moe_ffn<T>& x) {
  return has_tuned_tiles_on_a100(upper(x.experts) / upper(x.expert_parallel),
                                 upper(x.intermediate) / upper(x.tensor_parallel));
}

/// Experts of equal rows on one rank, and what their products share. Tiles are 16 x 32 as long as a rank has as
/// many experts as there are tokens, else 64 x 64.
template <Scalar T>
struct untuned_experts {
  T experts{}, rows{};
  T many{};  ///< 0 or 1: more tokens than experts
  T sms{};
  flop_rate<T> matrix{};
  bandwidth<T> dram{};
  std::optional<bandwidth<T>> l2{};
  bytes<T> weight{}, activation{};  ///< of one
};

/// One product of every expert. L2 gives each tile its rows and its columns, but DRAM the share of the rows that
/// L2 does not hold (`missing`); DRAM gives the weights once. Tiles on fewer SMs than there are take as long as one
/// on each, and draw little of DRAM.
template <Scalar T>
constexpr duration<T> untuned_gemm_time(const untuned_experts<T>& e, const T& columns,
                                        const T& depth, const T& missing,
                                        const basic_moe_kernels<T>& k) {
  using math::ceil;
  const T tile_rows = 16.0 + 48.0 * e.many;
  const T tile_columns = 32.0 + 32.0 * e.many;
  const T column_tiles = ceil(T(columns / tile_columns));
  const T tiles = named("tiles", T(e.experts * ceil(T(e.rows / tile_rows)) * column_tiles));
  const T waves = scalar_max(tiles, e.sms);  // what is idle takes as long as a tile
  duration<T> step = 2.0 * waves * tile_rows * tile_columns * depth * flop / e.matrix;
  if (e.l2) {
    const T longest = e.sms * scalar_min(e.rows, tile_rows);
    const bytes<T> rows =
        scalar_max(T(e.experts * column_tiles * e.rows), longest) * depth * e.activation;
    const bytes<T> weights = waves * tile_columns * depth * e.weight;
    step = max(step,
               duration<T>((weights + rows * (1.0 - missing)) / *e.l2 + rows * missing / e.dram));
  }
  const T readers = e.experts * column_tiles * tile_columns / (128.0 * e.sms);
  const T ratio =
      k.few_tokens_dram_ratio + (k.many_tokens_dram_ratio - k.few_tokens_dram_ratio) * e.many;
  const T drawn = ratio * scalar_min(T(1.0), T(k.dram_saturation * readers));
  return soft_max(
      named("operands' time", step),
      named("weights' time", e.experts * columns * depth * e.weight / (drawn * e.dram)));
}

/// Up (and gate) and down of such experts, of tokens whose activations are `read` in all, of which L2 holds no
/// more than its capacity.
template <Scalar T>
constexpr duration<T> untuned_time(const untuned_experts<T>& e, const basic_moe_ffn<T>& x,
                                   const T& width, const bytes<T>& read, const bytes<T>& held,
                                   const basic_moe_kernels<T>& k) {
  const T missing = named("activations not in L2", T(1.0 - scalar_min(T(1.0), T(held / read))));
  const T up = (perfmodel::ffn_matrices(x.gated) - 1.0) * width;
  return named("grouped up", untuned_gemm_time(e, up, x.hidden, missing, k)) +
         named("grouped down", untuned_gemm_time(e, x.hidden, width, T(0.0), k));
}

}  // namespace detail

}  // namespace perfmodel
