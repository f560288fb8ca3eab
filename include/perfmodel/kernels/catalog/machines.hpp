// GEMM profiles of five measured accelerators, and the quantisation costs of engines.
#pragma once

#include <array>
#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/hardware/catalog/nvidia_ada.hpp>
#include <perfmodel/hardware/catalog/nvidia_ampere.hpp>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/machine_profile.hpp>

namespace perfmodel::inline v0_3::catalog {

namespace sources {
// clang-format off
inline constexpr source aic_gemm{basis::measured, "fitted to the GEMM latencies that ai-dynamo/aiconfigurator 095f58a5 (Apache-2.0) collected"};
inline constexpr source aic_gemm_and_services{basis::measured, "GEMMs: fitted to the latencies that ai-dynamo/aiconfigurator 095f58a5 (Apache-2.0) collected; CPU times: to the services there and in InferenceX (December 2025, Apache-2.0)"};
inline constexpr source services_and_vllm{basis::measured, "GEMMs: fitted to vLLM's latencies, since SGLang has none here; CPU times: fitted to the services in ai-dynamo/aiconfigurator 095f58a5 and InferenceX (December 2025, Apache-2.0)"};
// clang-format on
}  // namespace sources

/// Releases behind the profiles. Kernel tables name releases and no dates; the months of services
/// are those of InferenceX's runs and of AIConfigurator's dumps of them.
namespace releases {
// clang-format off
inline constexpr measured_releases
    gemms_on_a100{"SGLang 0.5.10, TensorRT-LLM 1.0"},
    gemms{"vLLM 0.24, TensorRT-LLM 1.3"},
    vllm_0_14{"vLLM 0.14"},
    vllm_0_24{"vLLM 0.24"},
    services_of_vllm{"vLLM 0.11 to 0.18", {2026, 4}, {0, 11}, {0, 18}},
    services_of_sglang{"SGLang 0.5.3 to 0.5.9", {2026, 4}, {0, 5, 3}, {0, 5, 9}},
    services_of_trtllm{"TensorRT-LLM 1.0 to 1.3", {2026, 4}, {1, 0}, {1, 3}};
// clang-format on
}  // namespace releases

/// Profile fitted to one machine, from a row of a table: values, then their standard errors.
template <class Parameters>
constexpr fitted_profile<Parameters> fitted_to(const accelerator& device, const source& from,
                                               double log_sigma, const Parameters& value,
                                               const Parameters& standard_error,
                                               const measured_releases& releases) {
  return {device.name, &device, value, standard_error, log_sigma, &from, &releases};
}
/// L2 bandwidth of a row in TB/s; 0 is an unknown one.
constexpr std::optional<bandwidth<>> l2_in_row(double x) {
  if (x == 0.0) return std::nullopt;
  return x * TB_per_s;
}
/// Parameters of a row in us, shares and TB/s, in the order of machine_parameters.
constexpr machine_parameters machine_row(const std::array<double, 9>& x) {
  return {x[0] * us,       x[1],           x[2], x[3] * TB_per_s, x[4] * us, x[5] * us, x[6],
          l2_in_row(x[7]), l2_in_row(x[8])};
}

// Printed by tools/fit/fit_gemm.cpp from bf16 rows; a test fits H100 again. The last column is the
// L2 bandwidth of element-wise kernels on Hopper, printed by tools/fit/fit_elementwise.cpp: fitted
// to the kernels of gpu-benches on GH200, which has the die of H100 and H200. Standard error: 0.08.
// Attention has the other L2 bandwidth.
// clang-format off
inline constexpr machine_profile
    //           floor    matrix    dram      operands  tile_fill  split    power    L2     L2 of
    //           us       share     share     TB/s      us         us       slowdown TB/s   streams
    profile_a100_sxm_80gb = fitted_to(a100_sxm_80gb, sources::aic_gemm, 0.0766,
    machine_row({2.636,   0.8891,   0.7256,   8.668,    3.664,     3.794,   0.08126, 3.855}),
    machine_row({0.2250,  0.01018,  0.004953, 0.1435,   0.2654,    0.2439,  0.01805, 0.030}), releases::gemms_on_a100),
    profile_b200_sxm = fitted_to(b200_sxm, sources::aic_gemm, 0.0889,
    machine_row({2.927,   0.7398,   0.8431,   51.18,    0.000,     5.966,   0.1377,  7.066}),
    machine_row({0.03225, 0.007649, 0.005105, 0.4453,   0.04396,   0.1643,  0.02265, 0.13}), releases::gemms),
    profile_h100_sxm = fitted_to(h100_sxm, sources::aic_gemm, 0.0628,
    machine_row({2.638,   0.9399,   0.8661,   22.90,    0.7949,    4.161,   0.2552,  4.235, 6.541}),
    machine_row({0.03201, 0.006830, 0.003212, 0.4074,   0.05930,   0.1623,  0.01616, 0.11}), releases::gemms),
    profile_h200_sxm = fitted_to(h200_sxm, sources::aic_gemm, 0.0648,
    machine_row({2.836,   0.9248,   0.8579,   24.89,    0.7779,    3.224,   0.2711,  4.386, 6.541}),
    machine_row({0.03542, 0.006760, 0.003974, 0.3837,   0.06140,   0.1113,  0.01687, 0.10}), releases::gemms),
    profile_l40s = fitted_to(l40s, sources::aic_gemm, 0.113,
    machine_row({1.000,   0.8690,   0.7641,   9.623,    2.434,     3.514,   0.6226,  2.599}),
    machine_row({0.3206,  0.01170,  0.004457, 0.2498,   0.3701,    0.1978,  0.03276, 0.043}), releases::gemms);
// clang-format on

// Costs of engines: around GEMMs, printed by tools/fit/fit_gemm.cpp; in a model and in a service by
// fit_engines.cpp, with standard errors at the numbers (docs/laws/engines.md). A number equal to a
// library's was not needed: more of them predict held-out services no better.

/// SM cycles to dequantise a weight: 3.7 instructions of the 128 lanes that an SM issues a clock.
/// Fitted with TensorRT-LLM's dequantisation_floor to its int8 and int4 weights with 16-bit
/// activations on A100. Standard error: 0.0017, of the floor 0.34 us.
/// Other kernels take the same: this project's own, for Hopper, is compiled to 3.8 (int8) and 2.1
/// (int4) instructions a weight in all (validation/kernels/weight_only.cu).
inline constexpr double dequantisation_cycles_per_weight = 0.02885;

/// Decode steps between the transfer of a KV cache and the first token, of all engines. It
/// minimises the errors of TTFT over 121 rows of TensorRT-LLM's pools in five groups (DeepSeek-R1,
/// gpt-oss; GB200, B200, H200), on a grid of 0, 3, 6, 9, 12, 16 steps. Without any one group the
/// same value is found; the median error is then 18 to 44 % (0 steps: 21 to 62 %). 20 steps leave
/// 28 % in the mean of the groups' medians, 16 30 %. SGLang's and vLLM's pools are assumed to be
/// alike.
/// Source: InferenceX and ai-dynamo/aiconfigurator 095f58a5, disaggregated rows.
inline constexpr double pool_iterations_of_engines = 16.0;

/// TensorRT-LLM 1.0 and 1.3, over A100, H100, H200, B200 and L40S: fp8, fp8 with block scales,
/// nvfp4 and SmoothQuant int8. Standard errors: 0.11 us, 0.059 us, 0.18, 0.004, 0.005, 0.019 ns; of
/// the untuned step 0.027 ns. The tuned one is vLLM's: services on B200 agree about as well
/// (docs/laws/calibrated_gemm.md). Services of four models on H100, H200 and B200.
/// Chosen by hand: prefill_latent_layer_time from DeepSeek-R1 on B200, with pools of DeepSeek-V3 in
/// view (median error of TTFT 26 -> 15 %); latent_layer_time from those pools on H200. Left out:
/// pools on H100, error of ITL 17 -> 9 %.
/// prefill_expert_launch_time (Hopper): a grid over 96 loads of gpt-oss-120b on H200. Median error
/// of TTFT 27 -> 14 %, mean error of ITL 9.5 -> 9.1 %. Chosen without one number of ranks it is 1.2
/// to 1.6 ms; error of TTFT there: four ranks 33 -> 10 %, eight 52 -> 29 %, two 13 -> 14 %. TTFT of
/// 1,024 tokens is 80 to 117 ms on one to eight ranks. Cause: Triton's experts, launched from
/// Python (SemiAnalysisAI/InferenceX, benchmarks/gptoss_fp4_h200_trt.sh). On B200 they are one
/// kernel, and TTFT is 36 to 45 ms.
// clang-format off
inline constexpr engine_profile engine_trtllm{
    .name = "trtllm", .tensor_scale_floor = 9.655 * us, .quantise_floor = 2.964 * us,
    .quantise_bytes = 10.12, .block_scale_share = 0.6808, .mma_block_scale_share = 0.5076,
    .low_precision_step = 0.7848 * ns, .four_bit_step = 0.7057 * ns, .untuned_four_bit_step = 1.975 * ns,
    .dequantisation_floor = 6.778 * us, .dequantisation_cycles = dequantisation_cycles_per_weight,
    .tensor_scale_share = 0.0,       // 0.037: hidden
    .quantise_share = 1.001,         // 0.13
    .latent_layer_time = 40.0 * us,
    .prefill_latent_layer_time = 600.0 * us,
    .prefill_expert_launch_time = 1400.0 * us,
    .rank_wait = 5.013 * us,         // 0.52
    .request_cpu_time = 34.72 * ms,  // 1.6
    .request_iterations = 1.161,     // 0.30
    .prefill_step_factor = 1.175,    // 0.021
    .pool_iterations = pool_iterations_of_engines,
    .log_sigma = 0.0909, .from = &sources::aic_gemm_and_services,
    .releases = &releases::services_of_trtllm};
/// vLLM 0.24, over H100, H200, B200 and L40S: fp8 and nvfp4. It has no rows with block-scaled fp8:
/// its floor is assumed to be that of the others, and on Ada the rate left is TensorRT-LLM's.
/// Standard errors: 0.082 us, -, 0.33, 74, 0.66 us, 0.009, -, 0.024 ns, 0.024 ns. Services of Llama
/// 3.1 70B and gpt-oss on H200 and B200, versions 0.11 to 0.18.
inline constexpr engine_profile engine_vllm{
    .name = "vllm", .tensor_scale_floor = 2.698 * us, .quantise_floor = 2.698 * us,
    .quantise_bytes = 9.877, .quantise_row_cycles = 781.9, .single_row_time = 14.54 * us,
    .block_scale_share = 0.6807, .mma_block_scale_share = 0.5076, .low_precision_step = 0.8324 * ns,
    .four_bit_step = 0.7057 * ns, .dequantisation_cycles = dequantisation_cycles_per_weight,
    .step_cpu_time = 601.4 * us,     // 18
    .request_cpu_time = 7.131 * ms,  // 0.54
    .request_iterations = 2.695,     // 0.10
    .prefill_step_factor = 1.294,    // 0.011
    .pool_iterations = pool_iterations_of_engines,
    .run_start = 45.05 * ms,         // 4.2
    .log_sigma = 0.104, .from = &sources::aic_gemm_and_services,
    .releases = &releases::services_of_vllm};
// clang-format on
/// vLLM's GEMMs; 268 loads of SGLang on A100, H100, H200 and B200: DeepSeek-R1, Qwen3-235B,
/// Qwen3.5-397B, gpt-oss-120b, Llama 3.1 70B and Qwen3-8B.
/// Its time grows with the layers: 22 us each, 25 us more with routed experts. One time per step
/// for all models (2.97 ms) errs by 16 % in the mean over 13 groups of services; this by 12.0 %, by
/// 12.7 % with the group's model left out, where the values stay within 22 to 30 and 15 to 25 us.
/// The grid: 10 to 38 us, 0 to 40 us, 0 to 15 us per sequence; mean |ln| error, groups alike.
/// Chosen by hand, without standard errors: run_start lies between InferenceX's and sgl-cookbook's
/// warm servers (0). compile_time (Hopper): InferenceX's servers of DeepSeek-R1 and Qwen3.5 in fp8
/// blocks on H200 answer their initial burst about 0.8 s later than warm ones; that DeepGEMM's
/// compilation is the cause is inferred. prefill_recurrent_layer_time: a grid over Qwen3.5 on B200,
/// those on H200 in view; 0.8 to 2.0 ms all help. Both together: median error of TTFT on H200 from
/// 53 to 15 % (Qwen3.5), 34 to 19 (DeepSeek-R1), and 47 to 37 (Qwen3-235B, in neither).
inline constexpr engine_profile engine_sglang = [] {
  engine_profile e = engine_vllm;
  e.name = "sglang";
  e.quantise_share = 0.0;  // 0.22: fused, and not told from 0
  e.step_cpu_time = {};
  e.sequence_cpu_time = 15.0 * us;
  e.layer_time = 22.0 * us;
  e.expert_layer_time = 25.0 * us;
  e.request_cpu_time = {};        // 13 ms: not told
  e.request_iterations = 2.899;   // 0.68
  e.prefill_step_factor = 1.389;  // 0.061
  e.prefill_recurrent_layer_time = 1600.0 * us;
  e.run_start = 400.0 * ms;
  e.compile_time = 600.0 * ms;
  e.from = &sources::services_and_vllm;
  e.releases = &releases::services_of_sglang;
  return e;
}();
inline constexpr engine_profile engine_none{.dequantisation_cycles =
                                                dequantisation_cycles_per_weight};

/// Test: find_engine names each of them; sglang's has vllm's GEMM parameters.
constexpr const engine_profile& engine_profile_of(engine e) {
  constexpr const engine_profile* all[] = {&engine_none, &engine_vllm, &engine_sglang,
                                           &engine_trtllm};
  return *perfmodel::detail::entry_of(all, e, "engine");
}

/// Engine profile of a name; null for an unknown one.
constexpr const engine_profile* find_engine(std::string_view name) {
  const std::optional<engine> e = perfmodel::find_engine(name);
  return e ? &engine_profile_of(*e) : nullptr;
}

/// Number of weight buffers that the published GEMM benchmark of an engine reads in turn.
/// TensorRT-LLM: as many as exceed the L2, at most 5; vLLM and SGLang: 6, and vLLM 1 in nvfp4. It
/// is the weight_copies of a prediction for such a measurement; in a model weights are cold.
/// Source: ai-dynamo/aiconfigurator, collector/{trtllm,vllm,sglang}/collect_gemm.py.
constexpr double benchmark_weight_copies(engine e, const bytes<>& weights, number_format format,
                                         const accelerator& a) {
  if (e == engine::trtllm) {
    const double exceed = a.l2.capacity.value() / weights.value();
    double copies = 1.0;
    while (copies < exceed && copies < 5.0) copies += 1.0;
    return copies;
  }
  return e == engine::vllm && format == number_format::fp4 ? 1.0 : 6.0;
}

}  // namespace perfmodel::inline v0_3::catalog
