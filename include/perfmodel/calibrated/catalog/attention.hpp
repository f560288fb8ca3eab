// Libraries of attention kernels, and what accelerators were seen to reach with them.
#pragma once

#include <perfmodel/calibrated/attention_profile.hpp>
#include <perfmodel/calibrated/catalog/machines.hpp>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source aic_attention{
    basis::measured,
    "fitted to the attention latencies that ai-dynamo/aiconfigurator 095f58a5 collected (vllm)"};
}  // namespace sources

/// FlashAttention-2. Splits: flash_api.cpp, num_splits_heuristic over twice the SMs, at most 128.
/// Grouped queries are copied into one tile: the same file, seqlenq_ngroups_swapped.
inline constexpr attention_kernels flash_attention_2{.name = "flash_attention_2",
                                                     .max_splits = 128.0,
                                                     .blocks_per_sm = 2.0,
                                                     .tile_rows = 64.0,
                                                     .overlaps_memory = true,
                                                     .reorders_heads = true,
                                                     .kernel_cycles = 7300.0,
                                                     .split_cycles = 310.0};
/// FlashAttention-3 as vllm captures it: at most 32 splits in a graph (vllm pull request 35899).
inline constexpr attention_kernels flash_attention_3{.name = "flash_attention_3",
                                                     .max_splits = 32.0,
                                                     .blocks_per_sm = 1.0,
                                                     .tile_rows = 64.0,
                                                     .kernel_cycles = 2000.0,
                                                     .split_cycles = 165.0,
                                                     .sequence_cost = 0.02 * us,
                                                     .scheduled_sequences = 992.0,
                                                     .narrow_kv_time = 2.1 * us};
/// FlashInfer's own kernels, here with an 8-bit cache. Splits and blocks as in FlashAttention-2.
inline constexpr attention_kernels flashinfer{.name = "flashinfer",
                                              .max_splits = 128.0,
                                              .blocks_per_sm = 2.0,
                                              .tile_rows = 64.0,
                                              .overlaps_memory = true,
                                              .kernel_cycles = 4000.0,
                                              .partial_row_cycles = 350.0,
                                              .narrow_kv_time = 1.5 * us,
                                              .narrow_kv_matrix = 0.87};
/// TensorRT-LLM's kernels for Blackwell, through FlashInfer: two tiles of 128 query rows in flight.
/// The limit of 8 splits is what the latencies show; its source was not read. They show no further
/// kernel that combines.
inline constexpr attention_kernels tensorrt_llm{.name = "tensorrt_llm",
                                                .max_splits = 8.0,
                                                .blocks_per_sm = 1.0,
                                                .tile_rows = 256.0,
                                                .overlaps_exponential = true,
                                                .split_cycles = 400.0,
                                                .narrow_kv_time = 0.5 * us,
                                                .narrow_kv_matrix = 1.15};

// Printed by validation/calibrate/fit_attention.cpp. The bandwidth of the L2 is fitted here and stands
// in the machine profile, for all operators.
/// A100 SXM 80 GB with FlashAttention-2. At its limit, so not identified: element_rate (memory and
/// tile latency explain all). No row shows a cache that stayed in L2, so that its bandwidth is what
/// DRAM gives, and not the machine's: an older version of the benchmark than on the others.
inline constexpr attention_profile attention_a100_sxm{
    .name = "a100_sxm_80gb",
    .donor = &a100_sxm_80gb,
    .value = {.floor = 5.096 * us,
              .tile_latency = 8.669 * us,
              .element_rate = 500.0 * GHz,
              .matrix_share = 0.6411,
              .l2_bandwidth = 1.479 * TB_per_s},
    .standard_error = {.floor = 0.1720 * us,
                       .tile_latency = 0.2245 * us,
                       .element_rate = 1411. * GHz,
                       .matrix_share = 0.004142},
    .log_sigma = 0.084,
    .from = &sources::aic_attention};
/// H100 SXM with FlashAttention-3. A matrix_share above 1: the peak is stated at 1.83 GHz, the
/// clock goes to 1.98.
inline constexpr attention_profile attention_h100_sxm{
    .name = "h100_sxm",
    .donor = &h100_sxm,
    .value = {.floor = 8.184 * us,
              .tile_latency = 2.880 * us,
              .element_rate = 35.79 * GHz,
              .matrix_share = 1.077},
    .standard_error = {.floor = 0.06471 * us,
                       .tile_latency = 0.03658 * us,
                       .element_rate = 0.7106 * GHz,
                       .matrix_share = 0.007419},
    .log_sigma = 0.078,
    .from = &sources::aic_attention};
/// H200 SXM with FlashAttention-3.
inline constexpr attention_profile attention_h200_sxm{
    .name = "h200_sxm",
    .donor = &h200_sxm,
    .value = {.floor = 7.731 * us,
              .tile_latency = 3.051 * us,
              .element_rate = 32.23 * GHz,
              .matrix_share = 0.9879},
    .standard_error = {.floor = 0.06399 * us,
                       .tile_latency = 0.03582 * us,
                       .element_rate = 0.4175 * GHz,
                       .matrix_share = 0.006334},
    .log_sigma = 0.076,
    .from = &sources::aic_attention};
/// B200 with TensorRT-LLM kernels.
inline constexpr attention_profile attention_b200_sxm{
    .name = "b200_sxm",
    .donor = &b200_sxm,
    .value = {.floor = 7.473 * us,
              .tile_latency = 1.298 * us,
              .element_rate = 237.8 * GHz,
              .matrix_share = 0.6912},
    .standard_error = {.floor = 0.04970 * us,
                       .tile_latency = 0.02184 * us,
                       .element_rate = 12.44 * GHz,
                       .matrix_share = 0.005050},
    .log_sigma = 0.11,
    .from = &sources::aic_attention};
/// L40S with FlashAttention-2, and with FlashInfer where the cache is fp8.
inline constexpr attention_profile attention_l40s{.name = "l40s",
                                                  .donor = &l40s,
                                                  .value = {.floor = 3.144 * us,
                                                            .tile_latency = 5.570 * us,
                                                            .element_rate = 23.67 * GHz,
                                                            .matrix_share = 0.5440},
                                                  .standard_error = {.floor = 0.1384 * us,
                                                                     .tile_latency = 0.1624 * us,
                                                                     .element_rate = 1.742 * GHz,
                                                                     .matrix_share = 0.002683},
                                                  .log_sigma = 0.1,
                                                  .from = &sources::aic_attention};
/// The library whose kernels vllm 0.24 takes: FlashAttention-3 on Hopper, TensorRT-LLM's on
/// data-centre Blackwell, else FlashAttention-2, or FlashInfer where the cache is narrower
/// than bf16.
constexpr const attention_kernels& attention_kernels_of(const accelerator& a,
                                                        const storage_format& kv_format = bf16) {
  switch (a.architecture) {
    case chip_architecture::hopper: return flash_attention_3;
    case chip_architecture::blackwell:
    case chip_architecture::blackwell_ultra: return tensorrt_llm;
    default: return kv_format.bits() < 16.0 ? flashinfer : flash_attention_2;
  }
}

}  // namespace perfmodel::catalog
