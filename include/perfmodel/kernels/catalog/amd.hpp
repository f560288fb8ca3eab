// Profiles of AMD's Instinct GPUs: measured GEMMs and experts, and assumed attention.
#pragma once

#include <perfmodel/hardware/catalog/amd.hpp>
#include <perfmodel/kernels/catalog/attention.hpp>
#include <perfmodel/kernels/catalog/machines.hpp>
#include <perfmodel/kernels/moe_untuned.hpp>

namespace perfmodel::inline v0_3::catalog {

namespace sources {
inline constexpr source aiter_gemm{
    basis::measured,
    "fitted to the tuned GEMMs of ROCm/aiter e4048607 (MIT): winners of sweeps, device time"};
inline constexpr source aiter_moe{
    basis::measured,
    "fitted to the tuned experts of ROCm/aiter e4048607 (MIT): winners of sweeps, device time"};
inline constexpr source assumed_attention{
    basis::assumed, "Hopper's times and shares: no attention is published for this machine"};
}  // namespace sources

// Printed by tools/fit/fit_amd.cpp, except for four parameters. matrix_share is the best bf16 GEMM
// of other measurements (stas00/ml-engineering, mamf: 668.4 of 1307.4 TFLOP/s and 1565.0 of
// 2516.6). power_slowdown is 0, as in the fit. dram_share lies between 0.68 of GEMMs and 0.87 of
// MXFP4 experts (MI355X). A warm L2 feeds at the operands' rate: the tables are cold.
inline constexpr machine_profile profile_mi355x{
    .name = "mi355x",
    .donor = &mi355x,
    .value = {.matrix_floor = 0.5000 * us,
              .matrix_share = 0.6219,
              .dram_share = 0.74,
              .operand_bandwidth = 15.91 * TB_per_s,
              .tile_fill = 3.152 * us,
              .split_cost = 4.718 * us,
              .l2_bandwidth = 15.91 * TB_per_s},
    .standard_error = {.matrix_floor = 0.23 * us,
                       .matrix_share = 0.0,
                       .dram_share = 0.0,
                       .operand_bandwidth = 0.18 * TB_per_s,
                       .tile_fill = 0.24 * us,
                       .split_cost = 0.19 * us},
    .log_sigma = 0.226,
    .from = &sources::aiter_gemm};
/// Its rows are fp8 blocks without split k: split_cost is MI355X's.
inline constexpr machine_profile profile_mi300x{
    .name = "mi300x",
    .donor = &mi300x,
    .value = {.matrix_floor = 1.817 * us,
              .matrix_share = 0.5112,
              .dram_share = 0.74,
              .operand_bandwidth = 18.03 * TB_per_s,
              .tile_fill = 2.756 * us,
              .split_cost = 4.718 * us,
              .l2_bandwidth = 18.03 * TB_per_s},
    .standard_error = {.matrix_floor = 0.30 * us,
                       .matrix_share = 0.0,
                       .dram_share = 0.0,
                       .operand_bandwidth = 2.0 * TB_per_s,
                       .tile_fill = 0.24 * us},
    .log_sigma = 0.134,
    .from = &sources::aiter_gemm};

/// Share of the matrix rate left by AITER's GEMMs with fp8 block scales. It is a number of the
/// machine, since all engines call these kernels. Standard errors 0.007 and 0.005.
/// Test: a large GEMM on either chip takes its FLOP at that rate.
constexpr double block_scale_share_of(const accelerator& a) {
  return a.architecture == chip_architecture::cdna3 ? 0.6226 : 0.4889;
}

/// AITER's fused experts (CK, assembler), in bf16 on both chips; the same program fits them.
/// Standard errors: 7 %, 9 %, 13 %, 19 %; for the next two 6, 4, 7 and 8 %, and 5, 3, 6 and 5 %.
inline constexpr moe_kernels aiter_bf16_experts{.name = "aiter_bf16_experts",
                                                .floor = 16.11 * us,
                                                .buffer_share = 0.2603,
                                                .matrix_ratio = 0.8442,
                                                .dram_saturation = 6.333};
/// fp8 in blocks of 128 x 128, on both chips.
inline constexpr moe_kernels aiter_fp8_experts{.name = "aiter_fp8_experts",
                                               .floor = 16.09 * us,
                                               .buffer_share = 0.3835,
                                               .matrix_ratio = 0.9583,
                                               .dram_saturation = 1.188};
/// MXFP4 weights with fp8 or MXFP4 operands, on MI355X.
inline constexpr moe_kernels aiter_mxfp4_experts{.name = "aiter_mxfp4_experts",
                                                 .floor = 9.459 * us,
                                                 .buffer_share = 0.4928,
                                                 .matrix_ratio = 1.100,
                                                 .dram_saturation = 1.422};
/// 4-bit weights (int4, MXFP4) with bf16 operands, on MI355X; assumed for MI300X.
inline constexpr moe_kernels aiter_dequantised_experts{.name = "aiter_dequantised_experts",
                                                       .floor = 21.49 * us,
                                                       .buffer_share = 0.4224,
                                                       .matrix_ratio = 0.6762,
                                                       .dram_saturation = 8.0};

/// log_sigma of experts of held-out model shapes.
inline constexpr double aiter_experts_log_sigma = 0.14;

/// Attention profile with Hopper's floor and latencies and the machine's own share of its peak. Its
/// interval is wide, without any measurement.
constexpr attention_profile assumed_attention(const machine_profile& machine) {
  attention_profile p = attention_h100_sxm;
  p.name = machine.name;
  p.value.matrix_share = machine.value.matrix_share;
  p.standard_error = {};
  p.log_sigma = 0.5;
  p.from = &sources::assumed_attention;
  return p;
}
inline constexpr attention_profile attention_mi300x = assumed_attention(profile_mi300x);
inline constexpr attention_profile attention_mi355x = assumed_attention(profile_mi355x);

}  // namespace perfmodel::inline v0_3::catalog
