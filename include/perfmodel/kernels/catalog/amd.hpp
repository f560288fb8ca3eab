// Profiles of AMD's Instinct GPUs: measured GEMMs and experts, and assumed attention.
#pragma once

#include <perfmodel/hardware/catalog/amd.hpp>
#include <perfmodel/kernels/catalog/attention.hpp>
#include <perfmodel/kernels/catalog/experts.hpp>
#include <perfmodel/kernels/catalog/machines.hpp>

namespace perfmodel::inline v0_3::catalog {

namespace sources {
// clang-format off
inline constexpr source aiter_gemm{basis::measured, "fitted to the tuned GEMMs of ROCm/aiter e4048607 (MIT): winners of sweeps, device time"};
inline constexpr source aiter_moe{basis::measured, "fitted to the tuned experts of ROCm/aiter e4048607 (MIT): winners of sweeps, device time"};
inline constexpr source assumed_attention{basis::assumed, "Hopper's times and shares: no attention is published for this machine"};
// clang-format on
}  // namespace sources
namespace releases {
// clang-format off
inline constexpr measured_releases
    aiter{"AITER e4048607"},
    services_of_sglang_on_amd{"SGLang 0.5.5 to 0.5.7", {2026, 1}, {0, 5, 5}, {0, 5, 7}},
    services_of_vllm_on_mi300x{"vLLM 0.10", {}, {0, 10}, {0, 10}};
// clang-format on
}  // namespace releases

// Printed by tools/fit/fit_amd.cpp, except for four parameters. matrix_share is the best bf16 GEMM
// of other measurements (stas00/ml-engineering, mamf: 668.4 of 1307.4 TFLOP/s and 1565.0 of
// 2516.6). power_slowdown is 0, as in the fit. dram_share lies between 0.68 of GEMMs and 0.87 of
// MXFP4 experts (MI355X). A warm L2 feeds at the operands' rate: the tables are cold.
// MI300X's rows are fp8 blocks without split k: its split_cost is MI355X's.
// clang-format off
inline constexpr machine_profile
    //           floor   matrix  dram   operands  tile_fill  split  power     L2
    //           us      share   share  TB/s      us         us     slowdown  TB/s
    profile_mi355x = fitted_to(mi355x, sources::aiter_gemm, 0.226,
    machine_row({0.5000, 0.6219, 0.74,  15.91,    3.152,     4.718, 0.0,      15.91}),
    machine_row({0.23,   0.0,    0.0,   0.18,     0.24,      0.19}), releases::aiter),
    profile_mi300x = fitted_to(mi300x, sources::aiter_gemm, 0.134,
    machine_row({1.817,  0.5112, 0.74,  18.03,    2.756,     4.718, 0.0,      18.03}),
    machine_row({0.30,   0.0,    0.0,   2.0,      0.24}), releases::aiter);
// clang-format on

/// matrix_share of MI325X: its best bf16 GEMM, 785 of 1307.4 TFLOP/s (stas00/ml-engineering, mamf).
/// It has MI300X's die with 1000 W instead of 750 W, and the power limit decides the clock.
inline constexpr double matrix_share_of_mi325x = 785.0 / 1307.4;

/// Share of the matrix rate that AITER's GEMMs with fp8 block scales reach. It belongs to the chip
/// and not to an engine, since all engines call these kernels. Standard errors 0.007 and 0.005.
/// Test: a large GEMM on either chip takes its FLOP at that rate.
constexpr double block_scale_share_of(const accelerator& a) {
  return a.architecture == chip_architecture::cdna3 ? 0.6226 : 0.4889;
}

/// Sets what differs in an engine on CDNA 3 or 4: the time of uncounted kernels per layer. Kernels
/// without a tuned entry, launches in a HIP graph, and fallbacks of attention are in it.
/// SGLang's layers with experts: 280 us on CDNA 3, fitted to DeepSeek-R1 on MI325X (15 loads of
/// InferenceX, 5 % mean error); 9 loads of DeepSeek-V3.1 on MI300X (sgl-cookbook, another version),
/// outside the fit, are 13 % off instead of 47 %. On CDNA 4 70 us, fitted to DeepSeek-R1 on MI355X.
/// vLLM: 11 us on CDNA 3, from Llama 3.1 70B on MI300X (16 static batches of ROCm/vllm, 7 % instead
/// of 14 %). The other cells are not known: those of NVIDIA's GPUs.
/// SGLang's initial burst waits 3 s for kernels that are compiled at their first use: MI325X alone
/// gives 3 s, MI355X 4 s, MI300X (sgl-cookbook) 1.5 s; mean TTFT 50 and 65 -> 18 and 30 %.
/// SGLang's prefills of recurrent layers add no host time here: with NVIDIA's, Qwen3.5 on MI355X
/// (concurrency 64, 1,024 tokens in and out) would make 1,996 tokens/s; 2,642 are published.
/// Test: a step of DeepSeek-R1's 61 layers by SGLang takes 58 x 210 us more on MI300X than with
/// CDNA 4's.
constexpr void set_engine_on_amd(engine_profile& e, const accelerator& a, engine by) {
  const bool cdna3 = a.architecture == chip_architecture::cdna3;
  if (by == engine::sglang) {
    e.expert_layer_time = (cdna3 ? 280.0 : 70.0) * us - e.layer_time;
    e.run_start = 3.0 * second;
    e.releases = &releases::services_of_sglang_on_amd;
    e.prefill_recurrent_layer_time = {};
  }
  if (by == engine::vllm && cdna3) {
    e.layer_time = 11.0 * us;
    e.releases = &releases::services_of_vllm_on_mi300x;
  }
}

/// AITER's fused expert kernels (Composable Kernel, assembly), fitted by tools/fit/fit_amd.cpp. In
/// this order: bf16; fp8 with block scales of 128 x 128; MXFP4 weights with fp8 or MXFP4 operands
/// (MI355X only); int4 or MXFP4 weights with bf16 operands (MI355X, assumed for MI300X). Standard
/// errors of the four columns: bf16 7, 9, 13, 19 %; fp8 6, 4, 7, 8 %; MXFP4 5, 3, 6, 5 %.
// clang-format off
inline constexpr moe_kernels
    //                          floor us, buffer_share, matrix_ratio, dram_saturation
    aiter_bf16_experts = moe_row("aiter_bf16_experts",               {16.11, 0.2603, 0.8442, 6.333}),
    aiter_fp8_experts = moe_row("aiter_fp8_experts",                 {16.09, 0.3835, 0.9583, 1.188}),
    aiter_mxfp4_experts = moe_row("aiter_mxfp4_experts",             {9.459, 0.4928, 1.100,  1.422}),
    aiter_dequantised_experts = moe_row("aiter_dequantised_experts", {21.49, 0.4224, 0.6762, 8.0});
// clang-format on

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
  p.releases = nullptr;
  return p;
}
inline constexpr attention_profile attention_mi300x = assumed_attention(profile_mi300x);
inline constexpr attention_profile attention_mi355x = assumed_attention(profile_mi355x);

}  // namespace perfmodel::inline v0_3::catalog
