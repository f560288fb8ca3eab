// Libraries of attention and expert kernels, and what accelerators were seen to reach with them.
#pragma once

#include <perfmodel/hardware/attention_profile.hpp>
#include <string_view>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source aic_attention{
    basis::measured,
    "fitted to the attention latencies that ai-dynamo/aiconfigurator 095f58a5 collected (vllm)"};
inline constexpr source aic_moe{basis::measured,
                                "fitted to the balanced expert latencies that "
                                "ai-dynamo/aiconfigurator 095f58a5 collected (vllm)"};
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
                                              .split_cycles = 25.0,
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
/// CUTLASS grouped GEMM through FlashInfer, fp8: between the GEMMs only the rank's own rows.
inline constexpr moe_kernels cutlass_experts{
    .name = "cutlass_experts", .floor = 27.0 * us, .buffer_share = 0.55, .loads_per_sm = 2.4};

/// A100 SXM 80 GB with FlashAttention-2. At their bounds, so not identified: element_rate (memory
/// and tile latency explain all) and L2, as fast as DRAM (no row shows a cache that stayed there).
inline constexpr attention_profile attention_a100_sxm{
    .name = "a100_sxm_80gb",
    .value = {.floor = 4.912 * us,
              .tile_latency = 8.655 * us,
              .element_rate = 500.0 * GHz,
              .matrix_share = 0.6428,
              .dram_share = 0.6848,
              .l2_bandwidth = 1.396 * TB_per_s},
    .standard_error = {.floor = 0.1803 * us,
                       .tile_latency = 0.2271 * us,
                       .element_rate = 1441. * GHz,
                       .matrix_share = 0.004109,
                       .dram_share = 0.005145,
                       .l2_bandwidth = 0.03313 * TB_per_s},
    .spread = 0.083,
    .from = &sources::aic_attention};
/// H100 SXM with FlashAttention-3. A matrix_share above 1: the peak is stated at 1.83 GHz, the
/// clock goes to 1.98.
inline constexpr attention_profile attention_h100_sxm{
    .name = "h100_sxm",
    .value = {.floor = 8.060 * us,
              .tile_latency = 2.905 * us,
              .element_rate = 31.26 * GHz,
              .matrix_share = 1.048,
              .dram_share = 0.9438,
              .l2_bandwidth = 4.410 * TB_per_s},
    .standard_error = {.floor = 0.06308 * us,
                       .tile_latency = 0.03522 * us,
                       .element_rate = 0.5615 * GHz,
                       .matrix_share = 0.007161,
                       .dram_share = 0.006960,
                       .l2_bandwidth = 0.1149 * TB_per_s},
    .spread = 0.072,
    .from = &sources::aic_attention};
/// H200 SXM with FlashAttention-3.
inline constexpr attention_profile attention_h200_sxm{
    .name = "h200_sxm",
    .value = {.floor = 7.701 * us,
              .tile_latency = 3.112 * us,
              .element_rate = 30.44 * GHz,
              .matrix_share = 0.9749,
              .dram_share = 0.9204,
              .l2_bandwidth = 5.036 * TB_per_s},
    .standard_error = {.floor = 0.06455 * us,
                       .tile_latency = 0.03598 * us,
                       .element_rate = 0.4432 * GHz,
                       .matrix_share = 0.006462,
                       .dram_share = 0.009481,
                       .l2_bandwidth = 0.1573 * TB_per_s},
    .spread = 0.074,
    .from = &sources::aic_attention};
/// B200 with TensorRT-LLM kernels.
inline constexpr attention_profile attention_b200_sxm{
    .name = "b200_sxm",
    .value = {.floor = 7.477 * us,
              .tile_latency = 1.292 * us,
              .element_rate = 224.8 * GHz,
              .matrix_share = 0.6869,
              .dram_share = 0.8383,
              .l2_bandwidth = 7.048 * TB_per_s},
    .standard_error = {.floor = 0.04933 * us,
                       .tile_latency = 0.02157 * us,
                       .element_rate = 11.29 * GHz,
                       .matrix_share = 0.005054,
                       .dram_share = 0.006381,
                       .l2_bandwidth = 0.1380 * TB_per_s},
    .spread = 0.11,
    .from = &sources::aic_attention};
/// L40S with FlashAttention-2, and with FlashInfer where the cache is fp8.
inline constexpr attention_profile attention_l40s{
    .name = "l40s",
    .value = {.floor = 3.178 * us,
              .tile_latency = 5.659 * us,
              .element_rate = 26.23 * GHz,
              .matrix_share = 0.5421,
              .dram_share = 0.7835,
              .l2_bandwidth = 2.577 * TB_per_s},
    .standard_error = {.floor = 0.1435 * us,
                       .tile_latency = 0.1694 * us,
                       .element_rate = 2.286 * GHz,
                       .matrix_share = 0.002792,
                       .dram_share = 0.004433,
                       .l2_bandwidth = 0.04618 * TB_per_s},
    .spread = 0.11,
    .from = &sources::aic_attention};
/// H100 SXM with vllm's Triton and CUTLASS experts.
inline constexpr moe_profile moe_h100_sxm{
    .name = "h100_sxm",
    .value = {.matrix_share = 0.7397, .dram_share = 0.8934},
    .standard_error = {.matrix_share = 0.0077, .dram_share = 0.0050},
    .spread = 0.085,
    .from = &sources::aic_moe};
/// H200 SXM with the same.
inline constexpr moe_profile moe_h200_sxm{
    .name = "h200_sxm",
    .value = {.matrix_share = 0.7242, .dram_share = 0.8928},
    .standard_error = {.matrix_share = 0.0068, .dram_share = 0.0063},
    .spread = 0.096,
    .from = &sources::aic_moe};

/// The attention profile of an accelerator: its own where its name has one; else that of its
/// nearest relative, with a spread of at least 0.15 within an architecture and 0.4 beyond
/// (parameters of one Hopper miss the other by 6-7 %, those of A100 and L40S miss each other by
/// 15-40 %). Shares carry over; L2 scales with SMs x clock. Test: h200_sxm has its own; h20 takes
/// h100_sxm's, gb200 b200_sxm's, rtx_4090 l40s's.
constexpr attention_profile attention_profile_of(const accelerator& a) {
  const auto is = [&a](const char* name) { return std::string_view(a.name.c_str()) == name; };
  const auto built_like = [&a](const char* name) {
    return std::string_view(a.architecture.c_str()).find(name) != std::string_view::npos;
  };
  if (is("a100_sxm_80gb")) return attention_a100_sxm;
  if (is("h100_sxm")) return attention_h100_sxm;
  if (is("h200_sxm")) return attention_h200_sxm;
  if (is("b200_sxm")) return attention_b200_sxm;
  if (is("l40s")) return attention_l40s;
  const bool large = a.dram.bandwidth.value() > 1.9e12;
  attention_profile p = attention_l40s;
  double slots = 142.0 * 2.52e9;  // SMs x clock of the relative
  double least = 0.4;
  if (built_like("Hopper")) {
    p = attention_h100_sxm;
    slots = 132.0 * 1.98e9;
    least = 0.15;
  } else if (built_like("Blackwell") && large) {
    p = attention_b200_sxm;
    slots = 148.0 * 1.98e9;
    least = 0.15;
  } else if (built_like("Ampere") && large) {
    p = attention_a100_sxm;
    slots = 108.0 * 1.41e9;
    least = 0.15;
  } else if (built_like("Ada")) {
    least = 0.2;
  }
  if (a.sms.value() > 0.0 && a.vector.clock.value() > 0.0) {
    p.value.l2_bandwidth = a.sms.value() * a.vector.clock.value() / slots * p.value.l2_bandwidth;
  }
  p.spread = p.spread < least ? least : p.spread;
  return p;
}

/// The library whose kernels vllm 0.24 takes: FlashAttention-3 on Hopper, TensorRT-LLM's on
/// datacenter Blackwell, else FlashAttention-2, or FlashInfer where the cache is narrower than
/// bf16.
constexpr const attention_kernels& attention_kernels_of(const accelerator& a,
                                                        const storage_format& kv_format = bf16) {
  const std::string_view built(a.architecture.c_str());
  if (built.find("Hopper") != std::string_view::npos) return flash_attention_3;
  if (built.find("Blackwell") != std::string_view::npos && a.dram.bandwidth.value() > 1.9e12) {
    return tensorrt_llm;
  }
  return kv_format.bits() < 16.0 ? flashinfer : flash_attention_2;
}

/// The expert profile of an accelerator: H100's and H200's are so close that every other one takes
/// H100's, with a spread of at least 0.25: no other accelerator was seen.
constexpr moe_profile moe_profile_of(const accelerator& a) {
  const std::string_view name(a.name.c_str());
  if (name == "h100_sxm") return moe_h100_sxm;
  if (name == "h200_sxm") return moe_h200_sxm;
  moe_profile p = moe_h100_sxm;
  p.spread = p.spread < 0.25 ? 0.25 : p.spread;
  return p;
}

}  // namespace perfmodel::catalog
