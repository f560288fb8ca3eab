// Measured GEMMs and element-wise kernels of RTX PRO 6000, also the source of GeForce's profiles.
#pragma once

#include <perfmodel/hardware/catalog/nvidia_rtx.hpp>
#include <perfmodel/kernels/attention.hpp>
#include <perfmodel/kernels/catalog/attention.hpp>
#include <perfmodel/kernels/catalog/machines.hpp>
#include <perfmodel/kernels/elementwise.hpp>

namespace perfmodel::inline v0_3::catalog {

namespace sources {
// clang-format off
inline constexpr source workstation_gemm{basis::measured, "fitted to the GEMM latencies that ai-dynamo/aiconfigurator 095f58a5 (Apache-2.0) collected; shares of the peaks to vLLM 0.19's kernels that casys-kaist/LLMServingSim 5daddb21 (MIT) published"};
inline constexpr source workstation_attention{basis::measured, "fitted to the attention latencies that ai-dynamo/aiconfigurator 095f58a5 (Apache-2.0) collected (vllm)"};
// clang-format on
}  // namespace sources
namespace releases {
inline constexpr measured_releases gemms_on_rtx_pro_6000{"vLLM 0.19 and 0.24"};
}  // namespace releases

// Printed by tools/fit/fit_workstation.cpp. Shares of the peaks: LLMServingSim's kernels, launched
// one by one. power_slowdown is at its lower limit: long GEMMs reach matrix_share too. The other
// four: 700 GEMMs of vLLM 0.24 in CUDA graphs, as engines run them, 12 % off (by a fit to
// LLMServingSim's alone 35 %); LLMServingSim's 1,536 are then 8.4 % off, outside this fit.
// clang-format off
inline constexpr machine_profile profile_rtx_pro_6000 = fitted_to(rtx_pro_6000, sources::workstation_gemm, 0.119,
    //           floor us, matrix, dram,   operands TB/s, tile_fill us, split us, power, L2 TB/s
    machine_row({1.034,    0.9696, 0.9303, 11.77,         1.200,        2.748,    0.0,   3.990}),
    machine_row({0.15,     0.0059, 0.0047, 0.22,          0.16,         0.089,    0.028}), releases::gemms_on_rtx_pro_6000);
// clang-format on

// Printed by tools/fit/fit_workstation.cpp: FlashAttention-2, and FlashInfer with an fp8 cache, by
// vLLM 0.24. Mean errors of 1,016 rows 12 to 17 %, largest for head sizes other than 128.
// clang-format off
inline constexpr attention_profile attention_rtx_pro_6000 = fitted_to(rtx_pro_6000, sources::workstation_attention, 0.18,
    //             floor    tile_latency  element_rate  matrix    L2
    attention_row({4.838,   3.047,        20.33,        0.6780,   3.613}),
    attention_row({0.118,   0.106,        1.36,         0.00656,  0.18}), releases::vllm_0_24);
// clang-format on

/// Prefill chunk with decodes on RTX PRO 6000, printed by the same program. Standard errors: 0.08
/// us, 0.04 us, 0.009 us, 0.0013, 0.005.
inline constexpr mixed_attention_parameters mixed_attention_rtx_pro_6000{
    3.041 * us, 1.741 * us, 0.3693 * us, 0.6217, 0.4901};
/// vLLM 0.19's element-wise kernels on RTX PRO 6000, printed by the same program. Standard errors:
/// 0.015 us, 0.011, 0.5 us, 0.07. The kernel that writes the KV cache was not measured.
// clang-format off
inline constexpr elementwise_kernels elementwise_kernels_rtx_pro_6000{
    .name = "vllm_0_19", .residual = true, .rotary = true, .head_norm = true, .activation = true, .sampler = true,
    .kernel_time = 2.343 * us, .head_norm_cycles = 0.8585, .sampler_floor = 18.56 * us, .sampler_passes = 2.775};
// clang-format on
/// vLLM 0.19's memory-bound kernels on RTX PRO 6000 in a benchmark of single kernels, printed by
/// the same program. Standard errors: 0.015 us, 0.009 us.
inline constexpr memory_bound_kernels memory_bound_kernels_rtx_pro_6000{
    .name = "vllm_0_19", .kernel_time = 2.343 * us, .serial_lookup_time = 0.2922 * us};
/// log_sigma of the mixed attention kernel. For 80 % of the rows of held-out models
/// ln(measured / predicted)
///  is below z90 x log_sigma.
inline constexpr double mixed_attention_log_sigma = 0.091;

}  // namespace perfmodel::inline v0_3::catalog
