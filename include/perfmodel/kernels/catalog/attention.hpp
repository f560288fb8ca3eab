// Libraries of attention kernels, and the attention profiles of measured accelerators.
#pragma once

#include <perfmodel/kernels/attention_profile.hpp>
#include <perfmodel/kernels/catalog/machines.hpp>

namespace perfmodel::inline v0_3::catalog {

namespace sources {
// clang-format off
inline constexpr source aic_attention{basis::measured, "fitted to the attention latencies that ai-dynamo/aiconfigurator 095f58a5 collected (vllm)"};
// clang-format on
}  // namespace sources

// clang-format off
/// FlashAttention-2. Splits: num_splits_heuristic in flash_api.cpp over twice the SMs, at most 128.
/// GQA: the query heads of a KV head are rows of one tile (seqlenq_ngroups_swapped, same file).
/// A block has a tile of 64 queries and 128 keys, head_dim 128 in 16 bits:
/// run_mha_fwd_splitkv_dispatch in flash_fwd_launch_template.h, the path of a paged cache. Two
/// blocks fit in an SM of A100, one in the 100 KiB of shared memory of Ada and of Blackwell
/// workstation GPUs. Causal tiles start with the shortest; the default `tail` is the wait for the
/// longest.
inline constexpr attention_kernels flash_attention_2{
    .name = "flash_attention_2", .max_splits = 128.0, .blocks_per_sm = 2.0, .block_memory = 80.0 * KiB,
    .tile_rows = 64.0, .tile_keys = 128.0, .overlaps_memory = true, .reorders_heads = true,
    .kernel_cycles = 7300.0, .split_cycles = 310.0};
/// FlashAttention-3 as vllm captures it: at most 32 splits in a graph (vllm pull request 35899).
/// Its tile scheduler starts the longest tiles of causal attention first, which shortens the tail.
inline constexpr attention_kernels flash_attention_3{
    .name = "flash_attention_3", .max_splits = 32.0, .blocks_per_sm = 1.0, .tile_rows = 64.0, .tail = 0.25,
    .packs_heads = true, .kernel_cycles = 2000.0, .split_cycles = 165.0, .sequence_cost = 0.02 * us, .scheduled_sequences = 992.0,
    .low_precision_kv_time = 2.1 * us, .low_precision_element_cycles = 0.25};
/// FlashInfer's own kernels, here with an 8-bit cache. Splits as in FlashAttention-2. A decode tile
/// has 16 rows (FA2DetermineCtaTileQ in utils.cuh); with dequantised keys it takes as long as 32.
/// Two blocks fit in an SM, and by the latencies one loads while the other computes. No kernel
/// converts queries or new keys to 8 bits. Chips without fp8 convert keys and values as they
/// convert weights.
inline constexpr attention_kernels flashinfer{
    .name = "flashinfer", .max_splits = 128.0, .blocks_per_sm = 2.0, .block_memory = 64.0 * KiB,
    .decode_rows = 32.0, .tile_rows = 64.0, .overlaps_memory = true, .packs_heads = true, .kernel_cycles = 4000.0,
    .partial_row_cycles = 350.0, .low_precision_kv_time = 2.5 * us, .low_precision_kv_matrix = 0.81,
    .dequantisation_cycles = dequantisation_cycles_per_weight};
/// TensorRT-LLM's kernels for Blackwell, called through FlashInfer: two tiles of 128 query rows in
/// flight. Two properties are inferred from the latencies, not read in the source: at most 8
/// splits, and no separate kernel that merges them. 8-bit multiplications are less than twice as
/// fast, since the exponentials limit them.
inline constexpr attention_kernels tensorrt_llm{
    .name = "tensorrt_llm", .max_splits = 8.0, .blocks_per_sm = 1.0, .tile_rows = 256.0,
    .overlaps_exponential = true, .split_cycles = 400.0, .low_precision_kv_time = 0.5 * us,
    .low_precision_element_cycles = 0.25, .low_precision_kv_matrix = 1.54};

// clang-format on

/// Parameters of a row in us, us, GHz, a share and TB/s, in the order of attention_parameters.
constexpr attention_parameters attention_row(const std::array<double, 5>& x) {
  return {x[0] * us, x[1] * us, x[2] * GHz, x[3], l2_in_row(x[4])};
}

// Printed by tools/fit/fit_attention.cpp. Hopper's L2 is its machine profiles'.
// A100 SXM 80 GB with FlashAttention-2: no row shows a cache resident in L2, so its bandwidth is
// DRAM's, and not the machine's. The benchmark was an older version than on the others.
// H100 and H200 SXM with FlashAttention-3. A matrix_share above 1: the peak is stated at 1.83 GHz,
// the clock goes to 1.98. B200 with TensorRT-LLM kernels.
// L40S with FlashAttention-2, and with FlashInfer where the cache is fp8.
// clang-format off
inline constexpr attention_profile
    //             floor    tile_latency  element_rate  matrix    L2
    //             us       us            GHz           share     TB/s
    attention_a100_sxm = fitted_to(a100_sxm_80gb, sources::aic_attention, 0.065,
    attention_row({5.197,   2.870,        24.91,        0.6735,   1.568}),
    attention_row({0.1325,  0.06938,      0.8533,       0.003377}), releases::vllm_0_14),
    attention_h100_sxm = fitted_to(h100_sxm, sources::aic_attention, 0.07,
    attention_row({8.241,   2.716,        32.39,        1.072}),
    attention_row({0.05793, 0.03292,      0.5001,       0.006902}), releases::vllm_0_24),
    attention_h200_sxm = fitted_to(h200_sxm, sources::aic_attention, 0.068,
    attention_row({7.890,   2.838,        30.82,        1.002}),
    attention_row({0.05559, 0.03076,      0.3317,       0.005916}), releases::vllm_0_24),
    attention_b200_sxm = fitted_to(b200_sxm, sources::aic_attention, 0.084,
    attention_row({7.576,   1.239,        189.1,        0.7278,   8.927}),
    attention_row({0.04184, 0.01747,      6.238,        0.005048, 0.1768}), releases::vllm_0_24),
    attention_l40s = fitted_to(l40s, sources::aic_attention, 0.081,
    attention_row({5.388,   1.890,        14.39,        0.5850,   4.950}),
    attention_row({0.06368, 0.05516,      0.3952,       0.002223, 0.2206}), releases::vllm_0_24);
// clang-format on

/// Attention kernels of vllm 0.24: FlashAttention-3 on Hopper, TensorRT-LLM's on data-centre
/// Blackwell. Elsewhere FlashAttention-2, or FlashInfer where the cache is below 16 bits.
constexpr const attention_kernels& attention_kernels_of(const accelerator& a,
                                                        const storage_format& kv_format = bf16) {
  switch (a.architecture) {
    case chip_architecture::hopper: return flash_attention_3;
    case chip_architecture::blackwell:
    case chip_architecture::blackwell_ultra: return tensorrt_llm;
    default: return kv_format.bits() < 16.0 ? flashinfer : flash_attention_2;
  }
}

}  // namespace perfmodel::inline v0_3::catalog
