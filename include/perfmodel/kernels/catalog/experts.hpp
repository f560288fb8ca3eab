// Libraries of expert kernels.
#pragma once

#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/kernels/moe_untuned.hpp>

namespace perfmodel::inline v0_3::catalog {

namespace sources {
inline constexpr source aic_moe{basis::measured,
                                "fitted to the balanced expert latencies that "
                                "ai-dynamo/aiconfigurator 095f58a5 collected (vllm)"};
}  // namespace sources

/// Triton's grouped GEMM in vllm, in bf16: tiles by the tokens of an expert. The four numbers of
/// each library are fitted to H100's and H200's rows (fit_moe.cpp); standard errors 1 to 8 %.
inline constexpr moe_kernels triton_experts{.name = "triton_experts",
                                            .all_rows_buffered = true,
                                            .floor = 30.34 * us,
                                            .buffer_share = 0.5025,
                                            .matrix_ratio = 0.7881,
                                            .dram_saturation = 2.213,
                                            .overlap = 3.0};
/// Triton's experts on RTX PRO 6000, with an L2 of 128 MiB that holds the buffers of 2,048 tokens.
/// Only their rate is fitted, to vLLM's kernel there (fit_workstation.cpp); standard error 0.05.
/// The ratio is over its own matrix share, which GEMMs of smaller instructions gave; it is Hopper's
/// from an earlier fit of all machines.
inline constexpr moe_kernels triton_experts_rtx_pro_6000 = [] {
  moe_kernels k = triton_experts;
  k.name = "triton_experts_rtx_pro_6000";
  k.buffer_share = 1.114;
  k.matrix_ratio = 0.8332;
  return k;
}();
/// Triton's experts with default tiles on A100, where few shapes were tuned: fitted to SGLang's
/// untuned rows there (fit_moe.cpp). Tiles read from L2 at the machine's l2_bandwidth, so no matrix
/// rate is fitted.
inline constexpr moe_kernels untuned_triton_experts{.name = "untuned_triton_experts",
                                                    .all_rows_buffered = true,
                                                    .floor = 42.9 * us,
                                                    .buffer_share = 1.0,
                                                    .dram_saturation = 3.70,
                                                    .untuned = true,
                                                    .few_tokens_dram_ratio = 1.332,
                                                    .many_tokens_dram_ratio = 0.851};
/// Triton's in fp8 blocks of 128 x 128: tiles of 64 rows, whatever the tokens.
inline constexpr moe_kernels triton_fp8_experts{.name = "triton_fp8_experts",
                                                .least_tile_rows = 64.0,
                                                .most_tile_rows = 64.0,
                                                .all_rows_buffered = true,
                                                .floor = 29.60 * us,
                                                .buffer_share = 0.4378,
                                                .matrix_ratio = 0.4315,
                                                .dram_saturation = 1.623,
                                                .overlap = 3.0};
/// CUTLASS grouped GEMM through FlashInfer, fp8: between the GEMMs only the rank's own rows.
inline constexpr moe_kernels cutlass_experts{.name = "cutlass_experts",
                                             .floor = 28.27 * us,
                                             .buffer_share = 0.4002,
                                             .matrix_ratio = 0.7514,
                                             .dram_saturation = 2.421,
                                             .overlap = 3.0};
/// TensorRT-LLM's generated kernels in bf16, which vllm takes from FlashInfer on Blackwell, with
/// the launcher's untuned tiles. Fitted to B200's rows, two shapes (standard errors 2 to 6 %). The
/// buffers are not fitted: they have the DRAM share of B200's GEMMs. Formats with scales in
/// hardware (MXFP4, NVFP4) are assumed to run alike at their own peak: no rows are published.
inline constexpr moe_kernels trtllm_experts{.name = "trtllm_experts",
                                            .least_tile_rows = 8.0,
                                            .most_tile_rows = 64.0,
                                            .floor = 13.63 * us,
                                            .buffer_share = 0.8431,
                                            .matrix_ratio = 0.6903,
                                            .dram_saturation = 3.406,
                                            .overlap = 3.0,
                                            .launcher_tiles = true,
                                            .columns_first = true};
/// TensorRT-LLM's kernels with weights in fp8 blocks of 128 x 128, with scales applied in software
/// (standard errors 2 to 22 %).
inline constexpr moe_kernels trtllm_fp8_experts{.name = "trtllm_fp8_experts",
                                                .least_tile_rows = 8.0,
                                                .most_tile_rows = 64.0,
                                                .all_rows_buffered = true,
                                                .floor = 32.55 * us,
                                                .buffer_share = 0.8431,
                                                .matrix_ratio = 0.2678,
                                                .dram_saturation = 3.381,
                                                .overlap = 3.0,
                                                .launcher_tiles = true,
                                                .columns_first = true};
/// 4-bit weights with 16-bit operands (Marlin, and Triton's kernels for MXFP4), dequantised on the
/// way to Triton's GEMMs. No rows of such kernels are published: the matrix rate was fitted to 218
/// services of gpt-oss by vllm on H200, with the CPU time of a step and of a sequence, under an
/// earlier law of a service. fit_moe.cpp finds 0.349 by today's law, which is worse for their TTFT
/// (docs/laws/calibrated_moe.md).
inline constexpr moe_kernels dequantised_experts = [] {
  moe_kernels k = triton_experts;
  k.name = "dequantised_experts";
  k.overlap = 2.0;
  k.matrix_ratio = 0.292;
  return k;
}();

}  // namespace perfmodel::inline v0_3::catalog
