// Libraries of attention and expert kernels, and what accelerators were seen to reach with them.
#pragma once

#include <perfmodel/hardware/attention_profile.hpp>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source aic_attention{
    basis::measured,
    "fitted to the attention latencies that ai-dynamo/aiconfigurator 095f58a5 collected (vllm)"};
inline constexpr source aic_moe{
    basis::measured,
    "fitted to the balanced expert latencies that ai-dynamo/aiconfigurator 095f58a5 collected (vllm)"};
}  // namespace sources

/// FlashAttention-2. Splits: flash_api.cpp, num_splits_heuristic over twice the SMs, at most 128.
/// Grouped queries are copied into one tile: the same file, seqlenq_ngroups_swapped.
inline constexpr attention_kernels flash_attention_2{.name = "flash_attention_2",
                                                     .max_splits = 128.0,
                                                     .blocks_per_sm = 2.0,
                                                     .tile_rows = 64.0,
                                                     .overlaps_memory = true,
                                                     .reorders_heads = true,
                                                     .split_cycles = 310.0};
/// FlashAttention-3 as vllm captures it: at most 32 splits in a graph (vllm pull request 35899).
inline constexpr attention_kernels flash_attention_3{.name = "flash_attention_3",
                                                     .max_splits = 32.0,
                                                     .blocks_per_sm = 1.0,
                                                     .tile_rows = 64.0,
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
                                              .split_cycles = 25.0,
                                              .narrow_kv_time = 1.5 * us,
                                              .narrow_kv_matrix = 0.87};
/// TensorRT-LLM's kernels for Blackwell, through FlashInfer: two tiles of 128 query rows in flight.
/// The limit of 8 splits is what the latencies show; its source was not read.
inline constexpr attention_kernels tensorrt_llm{.name = "tensorrt_llm",
                                                .max_splits = 8.0,
                                                .blocks_per_sm = 1.0,
                                                .tile_rows = 256.0,
                                                .overlaps_exponential = true,
                                                .split_cycles = 400.0,
                                                .narrow_kv_time = 0.5 * us,
                                                .narrow_kv_matrix = 1.15};

/// Triton's grouped GEMM in vllm, in bf16: tiles by the tokens of an expert.
inline constexpr moe_kernels triton_experts{.name = "triton_experts",
                                            .all_rows_buffered = true,
                                            .floor = 30.0 * us,
                                            .buffer_share = 0.55,
                                            .loads_per_sm = 2.4};
/// The same with weights in fp8 blocks of 128 x 128: tiles of 64 rows, whatever the tokens.
inline constexpr moe_kernels triton_fp8_experts{.name = "triton_fp8_experts",
                                                .least_tile_rows = 64.0,
                                                .most_tile_rows = 64.0,
                                                .all_rows_buffered = true,
                                                .floor = 30.0 * us,
                                                .buffer_share = 0.55,
                                                .narrow_matrix_ratio = 0.55,
                                                .loads_per_sm = 2.4};
/// CUTLASS grouped GEMM through FlashInfer, fp8: only the rank's own rows are buffered.
inline constexpr moe_kernels cutlass_experts{.name = "cutlass_experts",
                                             .floor = 32.0 * us,
                                             .buffer_share = 0.55,
                                             .narrow_matrix_ratio = 0.7,
                                             .loads_per_sm = 2.4};

// BEGIN FITTED
// END FITTED

}  // namespace perfmodel::catalog
