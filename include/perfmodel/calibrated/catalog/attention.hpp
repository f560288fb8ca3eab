// Libraries of attention and expert kernels, and what accelerators were seen to reach with them.
#pragma once

#include <perfmodel/calibrated/attention_profile.hpp>
#include <perfmodel/calibrated/catalog/machines.hpp>
#include <string_view>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source aic_attention{
    basis::measured,
    "fitted to the attention latencies that ai-dynamo/aiconfigurator 095f58a5 collected (vllm)"};
inline constexpr source aic_moe{basis::measured,
                                "fitted to the balanced expert latencies that "
                                "ai-dynamo/aiconfigurator 095f58a5 collected (vllm)"};
inline constexpr source moe_elsewhere{
    basis::assumed, "the libraries' numbers from H100 and H200, the machine's own shares"};
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

/// Triton's grouped GEMM in vllm, in bf16: tiles by the tokens of an expert. The four numbers of
/// each library are fitted to H100's and H200's rows together (fit_moe.cpp); standard errors 1 to 8
/// %.
inline constexpr moe_kernels triton_experts{.name = "triton_experts",
                                            .all_rows_buffered = true,
                                            .floor = 29.57 * us,
                                            .buffer_share = 0.5982,
                                            .matrix_ratio = 0.8169,
                                            .dram_saturation = 2.221};
/// The same with weights in fp8 blocks of 128 x 128: tiles of 64 rows, whatever the tokens.
inline constexpr moe_kernels triton_fp8_experts{.name = "triton_fp8_experts",
                                                .least_tile_rows = 64.0,
                                                .most_tile_rows = 64.0,
                                                .all_rows_buffered = true,
                                                .floor = 24.28 * us,
                                                .buffer_share = 0.4873,
                                                .matrix_ratio = 0.4721,
                                                .dram_saturation = 1.285};
/// CUTLASS grouped GEMM through FlashInfer, fp8: between the GEMMs only the rank's own rows.
inline constexpr moe_kernels cutlass_experts{.name = "cutlass_experts",
                                             .floor = 27.91 * us,
                                             .buffer_share = 0.6799,
                                             .matrix_ratio = 0.7279,
                                             .dram_saturation = 2.562};

// Printed by validation/calibrate/fit_attention.cpp. Four numbers each are attention's own, and
// dram_share is the machine profile's; l2_bandwidth is fitted here and stands there, for all
// operators.
/// A100 SXM 80 GB with FlashAttention-2. At its limit, so not identified: element_rate (memory and
/// tile latency explain all). No row shows a cache that stayed in L2, so that its bandwidth is what
/// DRAM gives: an older version of the benchmark than on the other accelerators.
inline constexpr attention_profile attention_a100_sxm{
    .name = "a100_sxm_80gb",
    .value = {.floor = 5.096 * us,
              .tile_latency = 8.669 * us,
              .element_rate = 500.0 * GHz,
              .matrix_share = 0.6411,
              .dram_share = profile_a100_sxm_80gb.value.dram_share,
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
    .value = {.floor = 8.184 * us,
              .tile_latency = 2.880 * us,
              .element_rate = 35.79 * GHz,
              .matrix_share = 1.077,
              .dram_share = profile_h100_sxm.value.dram_share,
              .l2_bandwidth = profile_h100_sxm.value.l2_bandwidth},
    .standard_error = {.floor = 0.06471 * us,
                       .tile_latency = 0.03658 * us,
                       .element_rate = 0.7106 * GHz,
                       .matrix_share = 0.007419},
    .log_sigma = 0.078,
    .from = &sources::aic_attention};
/// H200 SXM with FlashAttention-3.
inline constexpr attention_profile attention_h200_sxm{
    .name = "h200_sxm",
    .value = {.floor = 7.775 * us,
              .tile_latency = 3.083 * us,
              .element_rate = 32.25 * GHz,
              .matrix_share = 0.9877,
              .dram_share = profile_h200_sxm.value.dram_share,
              .l2_bandwidth = profile_h200_sxm.value.l2_bandwidth},
    .standard_error = {.floor = 0.06413 * us,
                       .tile_latency = 0.03592 * us,
                       .element_rate = 0.4140 * GHz,
                       .matrix_share = 0.006297},
    .log_sigma = 0.074,
    .from = &sources::aic_attention};
/// B200 with TensorRT-LLM kernels.
inline constexpr attention_profile attention_b200_sxm{
    .name = "b200_sxm",
    .value = {.floor = 7.473 * us,
              .tile_latency = 1.298 * us,
              .element_rate = 237.8 * GHz,
              .matrix_share = 0.6912,
              .dram_share = profile_b200_sxm.value.dram_share,
              .l2_bandwidth = profile_b200_sxm.value.l2_bandwidth},
    .standard_error = {.floor = 0.04970 * us,
                       .tile_latency = 0.02184 * us,
                       .element_rate = 12.44 * GHz,
                       .matrix_share = 0.005050},
    .log_sigma = 0.11,
    .from = &sources::aic_attention};
/// L40S with FlashAttention-2, and with FlashInfer where the cache is fp8.
inline constexpr attention_profile attention_l40s{
    .name = "l40s",
    .value = {.floor = 3.144 * us,
              .tile_latency = 5.570 * us,
              .element_rate = 23.67 * GHz,
              .matrix_share = 0.5440,
              .dram_share = profile_l40s.value.dram_share,
              .l2_bandwidth = profile_l40s.value.l2_bandwidth},
    .standard_error = {.floor = 0.1384 * us,
                       .tile_latency = 0.1624 * us,
                       .element_rate = 1.742 * GHz,
                       .matrix_share = 0.002683},
    .log_sigma = 0.1,
    .from = &sources::aic_attention};
/// The attention profile fitted for an accelerator, by its name; null where there is none.
constexpr const attention_profile* find_attention_profile(std::string_view accelerator_name) {
  for (const attention_profile* p : {&attention_a100_sxm, &attention_h100_sxm, &attention_h200_sxm,
                                     &attention_b200_sxm, &attention_l40s}) {
    if (p->name.view() == accelerator_name) return p;
  }
  return nullptr;
}

/// What an attention profile on loan costs, as transfer_spread: 0.06 between siblings, 0.2 between
/// architectures that run FlashAttention-2, 0.4 elsewhere (B200 by H200's: 0.4, most of it decode);
/// beyond NVIDIA 0.6, which is assumed.
constexpr double attention_loan_spread(const accelerator& a, std::string_view donor) {
  if (a.vendor.view() != "NVIDIA") return 0.6;
  if (transfer_spread(a, donor) < 0.1) return 0.06;
  const bool lender_older = donor == "l40s" || donor == "a100_sxm_80gb";
  return lender_older && instruction_rows_of(a) < 64.0 ? 0.2 : 0.4;
}

/// The attention profile of an accelerator's nearest measured relative, but itself: its times,
/// rate and shares as they are (by the clock they predicted worse); DRAM and L2 as its machine
/// profile on loan. The spread is the donor's and attention_loan_spread in quadrature.
constexpr attention_profile attention_profile_on_loan(const accelerator& a) {
  const measured_machine& donor = nearest_measured(a, true);
  attention_profile p = *find_attention_profile(donor.profile->name.view());
  const machine_parameters machine = transferred_machine_profile(a).value;
  p.value.dram_share = machine.dram_share;
  p.value.l2_bandwidth = machine.l2_bandwidth;
  p.log_sigma = combined_spread(p.log_sigma, attention_loan_spread(a, donor.profile->name.view()));
  return p;
}

/// The attention profile of an accelerator: its own where its name has one, else its nearest
/// relative's. Test: h200_sxm has its own; h20 takes h100_sxm's, gb200 b200_sxm's, rtx_4090 l40s's.
constexpr attention_profile attention_profile_of(const accelerator& a) {
  const attention_profile* own = find_attention_profile(a.name.view());
  return own != nullptr ? *own : attention_profile_on_loan(a);
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

/// The expert profile of an accelerator: the shares of its machine profile. The libraries' numbers
/// come from H100 and H200; no other accelerator was seen, so its spread is at least 0.25.
constexpr moe_profile moe_profile_of(const accelerator& a) {
  const machine_profile machine = machine_profile_of(a);
  const bool seen = a.name.view() == "h100_sxm" || a.name.view() == "h200_sxm";
  moe_profile p;
  p.name = a.name;
  p.value = {.matrix_share = machine.value.matrix_share, .dram_share = machine.value.dram_share};
  p.standard_error = {.matrix_share = machine.standard_error.matrix_share,
                      .dram_share = machine.standard_error.dram_share};
  p.log_sigma = seen ? 0.096 : 0.25;
  p.from = seen ? &sources::aic_moe : &sources::moe_elsewhere;
  return p;
}

}  // namespace perfmodel::catalog
