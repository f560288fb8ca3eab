// Libraries of expert kernels.
#pragma once

#include <array>
#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/kernels/moe.hpp>

namespace perfmodel::inline v0_3::catalog {

namespace sources {
// clang-format off
inline constexpr source nvfp4_experts_elsewhere{basis::transferred, "NVFP4 experts: CUTLASS's numbers from RTX PRO 6000, TRTLLM's from bf16 on B200; the machine's own shares"};
inline constexpr source aic_moe{basis::measured, "fitted to the balanced expert latencies that ai-dynamo/aiconfigurator 095f58a5 collected (vllm)"};
// clang-format on
}  // namespace sources

/// Library of expert kernels from a row: floor in us, buffer_share, matrix_ratio, dram_saturation.
/// Then the exponent of the overlap, the limits of its tile rows, all_rows_buffered and
/// launcher_tiles (see moe_kernels).
constexpr moe_kernels moe_row(const char* name, const std::array<double, 4>& fitted,
                              double overlap = 2.0, std::array<double, 2> tile_rows = {16.0, 128.0},
                              bool all_rows_buffered = false, bool from_launcher = false) {
  return {.name = name,
          .least_tile_rows = tile_rows[0],
          .most_tile_rows = tile_rows[1],
          .all_rows_buffered = all_rows_buffered,
          .floor = fitted[0] * us,
          .buffer_share = fitted[1],
          .matrix_ratio = fitted[2],
          .dram_saturation = fitted[3],
          .overlap = overlap,
          .launcher_tiles = from_launcher,
          .columns_first = from_launcher};
}

// Libraries on NVIDIA GPUs. The four numbers of Triton's and CUTLASS's are fitted to H100's and
// H200's rows (fit_moe.cpp); standard errors 1 to 8 %.
// Triton's grouped GEMM in vllm: in bf16, tiles by the tokens of an expert; in fp8 blocks of
// 128 x 128, tiles of 64 rows, whatever the tokens.
// TensorRT-LLM's generated kernels in bf16, which vllm takes from FlashInfer on Blackwell, with the
// launcher's untuned tiles. Fitted to B200's rows, two shapes (standard errors 2 to 6 %). The
// buffers are not fitted: they have the DRAM share of B200's GEMMs. Formats with scales in hardware
// (MXFP4, NVFP4) are assumed to run alike at their own peak: no rows are published. Its kernels
// with weights in fp8 blocks of 128 x 128 apply scales in software (standard errors 2 to 22 %).
// clang-format off
inline constexpr moe_kernels
    // floor us, buffer_share, matrix_ratio, dram_saturation; overlap, tile rows, all rows, launcher
    triton_experts = moe_row("triton_experts",         {30.34, 0.5025, 0.7881, 2.213}, 3.0, {16.0, 128.0}, true),
    triton_fp8_experts = moe_row("triton_fp8_experts", {29.60, 0.4378, 0.4315, 1.623}, 3.0, {64.0, 64.0}, true),
    trtllm_experts = moe_row("trtllm_experts",         {13.63, 0.8431, 0.6903, 3.406}, 3.0, {8.0, 64.0}, false, true),
    trtllm_fp8_experts = moe_row("trtllm_fp8_experts", {32.55, 0.8431, 0.2678, 3.381}, 3.0, {8.0, 64.0}, true, true);
// clang-format on
/// Row of a CUTLASS library: floor in us, buffer_share, matrix_ratio, dram_saturation, tile_fill in
/// us; limits of its tile rows. The sum reads the rank's own rows.
constexpr moe_kernels cutlass_row(const char* name, const std::array<double, 5>& fitted,
                                  std::array<double, 2> tile_rows = {16.0, 128.0}) {
  moe_kernels k = moe_row(name, {fitted[0], fitted[1], fitted[2], fitted[3]}, 3.0, tile_rows);
  k.sums_own_rows = true;
  k.tile_fill = fitted[4] * us;
  return k;
}
/// CUTLASS grouped GEMM through FlashInfer on Hopper with fp8 blocks of 128 x 128: fitted to 216
/// balanced rows, all on eight ranks, and 232 skewed ones on 2 to 256 ranks of that source. Mean
/// errors 9.7 % in sample, 10.6 % of shapes left out, 11.6 % with one of the two routings left out
/// (16 % where the sum reads the rows of all ranks). matrix_ratio stays at its upper limit.
inline constexpr moe_kernels cutlass_experts =
    cutlass_row("cutlass_experts", {22.16, 0.3078, 1.0, 2.185, 6.271});
/// FlashInfer's CUTLASS grouped GEMM on Hopper with fp8 weights and one scale per tensor, as vLLM
/// 0.24 runs ModelOpt's checkpoints in a benchmark without the autotuner: tiles of 256 rows and 16
/// columns. Fitted to 325 skewed rows of H100 and H200 in ai-dynamo/aiconfigurator 095f58a5 (no
/// balanced ones are published): 10.4 % off in sample, 11 % with a chip, a shape or a layout left
/// out. Its tiles draw the full DRAM bandwidth.
/// cutlass_experts, with block scales, would be 3 to 4 times too fast.
inline constexpr moe_kernels cutlass_fp8_per_tensor_experts{
    .name = "cutlass_fp8_per_tensor_experts",
    .least_tile_rows = 256.0,
    .most_tile_rows = 256.0,
    .tile_columns = 16.0,
    .sums_own_rows = true,
    .floor = 31.12 * us,
    .buffer_share = 0.3821,
    .matrix_ratio = 0.1805,
    .dram_saturation = 10.0,
    .tile_fill = 1.054 * us,
    .overlap = 3.0};
/// Triton's experts on RTX PRO 6000, as vLLM 0.19 ran them: its L2 of 128 MiB holds the buffers of
/// 2,048 tokens. Only buffer_share is fitted (fit_workstation.cpp); standard error 0.05.
/// matrix_ratio is Hopper's, from an earlier fit of all machines.
inline constexpr moe_kernels triton_experts_rtx_pro_6000 =
    moe_row("triton_experts_rtx_pro_6000", {30.34, 1.114, 0.8332, 2.213}, 3.0, {16.0, 128.0}, true);
// CUTLASS grouped GEMMs through FlashInfer on RTX PRO 6000 by vLLM 0.24, in bf16, fp8 with a scale
// per tensor, and NVFP4 with its tiles of 128 rows. fit_moe.cpp fits each to balanced and skewed
// rows of ai-dynamo/aiconfigurator 095f58a5 (167, 155, 209; without models that have no gate). Mean
// errors in sample 14, 13, 10 %, of shapes left out 15, 14, 10 %, of a routing left out 16, 14,
// 12 %. With a sum over the rows of all ranks, skewed rows left out were 21, 18, 20 % off.
// A tile_fill of bf16 and fp8 is not seen; NVFP4's dram_saturation and buffer_share are at limits.
// clang-format off
inline constexpr moe_kernels
    cutlass_bf16_experts_rtx_pro_6000 = cutlass_row("cutlass_bf16_experts_rtx_pro_6000",   {9.088, 0.5602, 0.5102, 3.745, 0.0}),
    cutlass_fp8_experts_rtx_pro_6000 = cutlass_row("cutlass_fp8_experts_rtx_pro_6000",     {14.40, 0.6208, 0.4745, 2.264, 0.0}),
    cutlass_nvfp4_experts_rtx_pro_6000 = cutlass_row("cutlass_nvfp4_experts_rtx_pro_6000", {20.84, 1.0,   0.6379, 10.0, 3.739}, {128.0, 128.0});
// clang-format on
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
/// 4-bit weights with 16-bit operands (Marlin, and Triton's kernels for MXFP4), dequantised on the
/// way to Triton's GEMMs. The matrix rate was fitted to 218
/// services of gpt-oss by vllm on H200, with the CPU time of a step and of a sequence, under an
/// earlier law of a service. fit_moe.cpp finds 0.349 by today's law, which is worse for their TTFT
/// (docs/laws/calibrated_moe.md).
inline constexpr moe_kernels dequantised_experts =
    moe_row("dequantised_experts", {30.34, 0.5025, 0.292, 2.213}, 2.0, {16.0, 128.0}, true);
// vLLM 0.24's 4-bit experts with 16-bit operands by library, fitted to skewed rows of H100 and H200
// in ai-dynamo/aiconfigurator 095f58a5: Marlin (54 rows of int4 and MXFP4; 19 % off in sample, 26
// and 30 % with a chip left out) and Triton's MXFP4 (21 rows of gpt-oss; 20, 26 and 28 %). With
// dequantised_experts they are 26 and 85 % off. Services of TensorRT-LLM take Marlin's, chosen
// among the three by 95 loads of gpt-oss-120b on H200, which fitted none: 10 % off in ITL (25 % in
// TTFT), 15 % with Triton's, 19 % with dequantised_experts. Other engines' services keep those.
// clang-format off
inline constexpr moe_kernels
    marlin_experts = moe_row("marlin_experts",             {67.6, 0.867, 0.303, 3.38}, 2.0, {16.0, 128.0}, true),
    triton_mxfp4_experts = moe_row("triton_mxfp4_experts", {53.4, 1.0,   0.793, 2.0},  2.0, {16.0, 128.0}, true);
// clang-format on

}  // namespace perfmodel::inline v0_3::catalog
