// What AMD's Instinct was seen to reach in products and experts, and what to take where nobody measured.
#pragma once

#include <perfmodel/hardware/catalog/amd.hpp>
#include <perfmodel/kernels/catalog/attention.hpp>
#include <perfmodel/kernels/catalog/machines.hpp>
#include <perfmodel/kernels/moe_untuned.hpp>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source aiter_gemm{
    basis::measured,
    "fitted to the tuned products of ROCm/aiter e4048607 (MIT): winners of sweeps, device time"};
inline constexpr source aiter_moe{
    basis::measured,
    "fitted to the tuned experts of ROCm/aiter e4048607 (MIT): winners of sweeps, device time"};
inline constexpr source borrowed_attention{
    basis::assumed, "Hopper's times and shares: nobody published attention on this machine"};
}  // namespace sources

// Printed by tools/fit/fit_amd.cpp. Not fitted: matrix_share is the best bf16 product that others
// measured (stas00/ml-engineering, mamf: 668.4 of 1307.4 TFLOP/s and 1565.0 of 2516.6), power_slowdown 0, as
// the fit found it, dram_share a choice between 0.68 of products and 0.87 of MXFP4 experts (MI355X), and a
// warm L2 feeds as operands come: the tables are cold.
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
/// Its rows are fp8 blocks alone, none of them split: split_cost is MI355X's too.
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

/// Of the matrix rate that AITER's products with scales of fp8 blocks keep: no engine's number, as on NVIDIA's,
/// for all of them call these kernels. Standard errors 0.007 and 0.005.
/// Test: a large product on either chip takes its FLOP at that rate.
constexpr double block_scale_share_of(const accelerator& a) {
  return a.architecture == chip_architecture::cdna3 ? 0.6226 : 0.4889;
}

/// AITER's fused experts (CK, assembler), in bf16 on both chips; the same program fits them. Standard errors: 7 %,
/// 9 %, 13 %, 19 %; of the next two 6, 4, 7 and 8 %, and 5, 3, 6 and 5 %.
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
/// MXFP4 beside fp8 or MXFP4, on MI355X.
inline constexpr moe_kernels aiter_mxfp4_experts{.name = "aiter_mxfp4_experts",
                                                 .floor = 9.459 * us,
                                                 .buffer_share = 0.4928,
                                                 .matrix_ratio = 1.100,
                                                 .dram_saturation = 1.422};
/// 4-bit weights (int4, MXFP4) beside bf16, on MI355X; taken for MI300X's too.
inline constexpr moe_kernels aiter_widened_experts{.name = "aiter_widened_experts",
                                                   .floor = 21.49 * us,
                                                   .buffer_share = 0.4224,
                                                   .matrix_ratio = 0.6762,
                                                   .dram_saturation = 8.0};

/// Of machine_profile::log_sigma, for experts of model shapes held out.
inline constexpr double aiter_experts_log_sigma = 0.14;

/// Hopper's floor and latencies beside the machine's own share of its peak. Stated wide: nothing was seen.
constexpr attention_profile borrowed_attention(const machine_profile& machine) {
  attention_profile p = attention_h100_sxm;
  p.name = machine.name;
  p.value.matrix_share = machine.value.matrix_share;
  p.standard_error = {};
  p.log_sigma = 0.5;
  p.from = &sources::borrowed_attention;
  return p;
}
inline constexpr attention_profile attention_mi300x = borrowed_attention(profile_mi300x);
inline constexpr attention_profile attention_mi355x = borrowed_attention(profile_mi355x);

}  // namespace perfmodel::catalog
