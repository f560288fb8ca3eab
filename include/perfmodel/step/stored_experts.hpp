// Memory of MXFP4 experts as vLLM's kernels store them: in whole tiles.
#pragma once

#include <perfmodel/hardware/architecture.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/step/deployment.hpp>

namespace perfmodel::inline v0_3::detail {

/// x up to a whole multiple of `tile`, over x.
template <Scalar T>
constexpr T tiled(const T& x, double tile) {
  using math::ceil;
  return T(tile * ceil(T(x / tile)) / x);
}

/// Bytes that a rank stores per byte of its MXFP4 experts (4-bit values in groups of 32) under
/// vLLM: hidden size h and width w in whole tiles.
/// Marlin (Ampere, Ada; Hopper before 0.11): h in tiles of 256, w of 128, with the scales.
/// Triton (Hopper): the values alone, in tiles of 256 of the dimension that a GEMM sums over: h of
/// two matrices, w of the third.
/// Source: vLLM, model_executor/layers/quantization/mxfp4.py; Triton's HopperMXValueLayout.
/// Leaves out: the tiles of Blackwell's kernels; other engines.
/// Errors: none.
/// Test: gpt-oss-120b on H100, 65.97 GiB (Marlin) and 64.38 GiB (Triton), and gpt-oss-20b on A100,
/// 13.72 GiB, as in logs (vllm-project/vllm#23278, #33155). The files have 60.77 and 12.82 GiB.
template <Scalar T>
constexpr T padding_of_experts(const basic_deployment<T>& d) {
  const storage_format& f = d.weights.experts;
  if (d.serving_engine != engine::vllm || f.format != number_format::fp4 || f.group != 32.0)
    return T(1.0);
  const auto e = experts_of(d.model);
  const chip_architecture chip = d.device.architecture;
  const bool is_hopper = chip == chip_architecture::hopper;
  const bool is_older = chip == chip_architecture::ampere ||
                        chip == chip_architecture::ampere_rtx || chip == chip_architecture::ada;
  if (!e || !(is_hopper || is_older)) return T(1.0);
  const T hidden = e->expert_hidden(d.model.hidden);
  const T width = T(e->intermediate / d.layout.expert_tensor());
  if (is_older || d.release == engine_release::vllm_0_10)
    return T(tiled(hidden, 256.0) * tiled(width, 128.0));
  const T values = T(bits_of(f.format) / f.bits());
  return T(1.0 + values * (2.0 * tiled(hidden, 256.0) + tiled(width, 256.0) - 3.0) / 3.0);
}

}  // namespace perfmodel::inline v0_3::detail
