// GEMM profiles of five measured accelerators, and the quantisation costs of engines.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/hardware/catalog/nvidia_ada.hpp>
#include <perfmodel/hardware/catalog/nvidia_ampere.hpp>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/machine_profile.hpp>

namespace perfmodel::inline v0_3::catalog {

namespace sources {
inline constexpr source aic_gemm{
    basis::measured,
    "fitted to the GEMM latencies that ai-dynamo/aiconfigurator 095f58a5 (Apache-2.0) collected"};
inline constexpr source aic_gemm_and_services{
    basis::measured,
    "products: fitted to the GEMM latencies that ai-dynamo/aiconfigurator 095f58a5 (Apache-2.0) "
    "collected; the host: to the services there and in InferenceX (December 2025, Apache-2.0)"};
inline constexpr source services_and_vllm{
    basis::measured,
    "products: vllm's, for want of sglang's own rows; the host: fitted to the services in "
    "ai-dynamo/aiconfigurator 095f58a5 and InferenceX (December 2025, Apache-2.0)"};
}  // namespace sources

// Printed by tools/fit/fit_gemm.cpp from bf16 rows; a test fits H100 again.
inline constexpr machine_profile profile_a100_sxm_80gb{
    .name = "a100_sxm_80gb",
    .donor = &a100_sxm_80gb,
    .value = {.matrix_floor = 2.636 * us,
              .matrix_share = 0.8891,
              .dram_share = 0.7256,
              .operand_bandwidth = 8.668 * TB_per_s,
              .tile_fill = 3.664 * us,
              .split_cost = 3.794 * us,
              .power_slowdown = 0.08126,
              .l2_bandwidth = 3.855 * TB_per_s},
    .standard_error = {.matrix_floor = 0.2250 * us,
                       .matrix_share = 0.01018,
                       .dram_share = 0.004953,
                       .operand_bandwidth = 0.1435 * TB_per_s,
                       .tile_fill = 0.2654 * us,
                       .split_cost = 0.2439 * us,
                       .power_slowdown = 0.01805,
                       .l2_bandwidth = 0.030 * TB_per_s},
    .log_sigma = 0.0766,
    .from = &sources::aic_gemm};
inline constexpr machine_profile profile_b200_sxm{
    .name = "b200_sxm",
    .donor = &b200_sxm,
    .value = {.matrix_floor = 2.927 * us,
              .matrix_share = 0.7398,
              .dram_share = 0.8431,
              .operand_bandwidth = 51.18 * TB_per_s,
              .tile_fill = 0.000 * us,
              .split_cost = 5.966 * us,
              .power_slowdown = 0.1377,
              .l2_bandwidth = 7.066 * TB_per_s},
    .standard_error = {.matrix_floor = 0.03225 * us,
                       .matrix_share = 0.007649,
                       .dram_share = 0.005105,
                       .operand_bandwidth = 0.4453 * TB_per_s,
                       .tile_fill = 0.04396 * us,
                       .split_cost = 0.1643 * us,
                       .power_slowdown = 0.02265,
                       .l2_bandwidth = 0.13 * TB_per_s},
    .log_sigma = 0.0889,
    .from = &sources::aic_gemm};
/// L2 bandwidth of element-wise kernels on Hopper, printed by tools/fit/fit_elementwise.cpp: fitted
/// to the kernels of gpu-benches on GH200, which has the die of H100 and H200. Standard error:
/// 0.08. Attention gets the l2_bandwidth below.
inline constexpr bandwidth<> hopper_elementwise_l2 = 6.541 * TB_per_s;

inline constexpr machine_profile profile_h100_sxm{
    .name = "h100_sxm",
    .donor = &h100_sxm,
    .value = {.matrix_floor = 2.638 * us,
              .matrix_share = 0.9399,
              .dram_share = 0.8661,
              .operand_bandwidth = 22.90 * TB_per_s,
              .tile_fill = 0.7949 * us,
              .split_cost = 4.161 * us,
              .power_slowdown = 0.2552,
              .l2_bandwidth = 4.235 * TB_per_s,
              .elementwise_l2_bandwidth = hopper_elementwise_l2},
    .standard_error = {.matrix_floor = 0.03201 * us,
                       .matrix_share = 0.006830,
                       .dram_share = 0.003212,
                       .operand_bandwidth = 0.4074 * TB_per_s,
                       .tile_fill = 0.05930 * us,
                       .split_cost = 0.1623 * us,
                       .power_slowdown = 0.01616,
                       .l2_bandwidth = 0.11 * TB_per_s},
    .log_sigma = 0.0628,
    .from = &sources::aic_gemm};
inline constexpr machine_profile profile_h200_sxm{
    .name = "h200_sxm",
    .donor = &h200_sxm,
    .value = {.matrix_floor = 2.836 * us,
              .matrix_share = 0.9248,
              .dram_share = 0.8579,
              .operand_bandwidth = 24.89 * TB_per_s,
              .tile_fill = 0.7779 * us,
              .split_cost = 3.224 * us,
              .power_slowdown = 0.2711,
              .l2_bandwidth = 4.386 * TB_per_s,
              .elementwise_l2_bandwidth = hopper_elementwise_l2},
    .standard_error = {.matrix_floor = 0.03542 * us,
                       .matrix_share = 0.006760,
                       .dram_share = 0.003974,
                       .operand_bandwidth = 0.3837 * TB_per_s,
                       .tile_fill = 0.06140 * us,
                       .split_cost = 0.1113 * us,
                       .power_slowdown = 0.01687,
                       .l2_bandwidth = 0.10 * TB_per_s},
    .log_sigma = 0.0648,
    .from = &sources::aic_gemm};
inline constexpr machine_profile profile_l40s{
    .name = "l40s",
    .donor = &l40s,
    .value = {.matrix_floor = 1.000 * us,
              .matrix_share = 0.8690,
              .dram_share = 0.7641,
              .operand_bandwidth = 9.623 * TB_per_s,
              .tile_fill = 2.434 * us,
              .split_cost = 3.514 * us,
              .power_slowdown = 0.6226,
              .l2_bandwidth = 2.599 * TB_per_s},
    .standard_error = {.matrix_floor = 0.3206 * us,
                       .matrix_share = 0.01170,
                       .dram_share = 0.004457,
                       .operand_bandwidth = 0.2498 * TB_per_s,
                       .tile_fill = 0.3701 * us,
                       .split_cost = 0.1978 * us,
                       .power_slowdown = 0.03276,
                       .l2_bandwidth = 0.043 * TB_per_s},
    .log_sigma = 0.113,
    .from = &sources::aic_gemm};

// Costs of engines: around GEMMs, printed by tools/fit/fit_gemm.cpp; in a model and in a service by
// fit_engines.cpp, with standard errors at the numbers (docs/laws/engines.md). A number equal to a
// library's was not needed: more of them predict held-out services no better.

/// SM cycles to dequantise a weight: 3.7 instructions of the 128 lanes that an SM issues a clock.
/// Fitted with TensorRT-LLM's dequantisation_floor to its int8 and int4 weights with 16-bit
/// activations on A100. Standard error: 0.0017, of the floor 0.34 us.
/// Other kernels take the same: this project's own, for Hopper, is compiled to 3.8 (int8) and 2.1
/// (int4) instructions a weight in all (validation/kernels/weight_only.cu).
inline constexpr double dequantisation_cycles_per_weight = 0.02885;

/// TensorRT-LLM 1.0 and 1.3, over A100, H100, H200, B200 and L40S: fp8, fp8 with block scales,
/// nvfp4 and SmoothQuant int8. Standard errors: 0.11 us, 0.059 us, 0.18, 0.004, 0.005, 0.019 ns; of
/// the untuned step 0.027 ns. The tuned one is vLLM's: services on B200 agree about as well
/// (docs/laws/calibrated_gemm.md). Services of four models on H100, H200 and B200.
inline constexpr engine_profile engine_trtllm{
    .name = "trtllm",
    .tensor_scale_floor = 9.655 * us,
    .quantise_floor = 2.964 * us,
    .quantise_bytes = 10.12,
    .block_scale_share = 0.6808,
    .mma_block_scale_share = 0.5076,
    .low_precision_step = 0.7848 * ns,
    .four_bit_step = 0.7057 * ns,
    .untuned_four_bit_step = 1.975 * ns,
    .dequantisation_floor = 6.778 * us,
    .dequantisation_cycles = dequantisation_cycles_per_weight,
    .tensor_scale_share = 0.0,       // 0.037: hidden
    .quantise_share = 1.001,         // 0.13
    .rank_wait = 5.013 * us,         // 0.52
    .request_cpu_time = 34.72 * ms,  // 1.6
    .request_iterations = 1.161,     // 0.30
    .prefill_step_factor = 1.175,    // 0.021
    .log_sigma = 0.0909,
    .from = &sources::aic_gemm_and_services};
/// vLLM 0.24, over H100, H200, B200 and L40S: fp8 and nvfp4. It has no rows with block-scaled fp8:
/// its floor is assumed to be that of the others, and on Ada the rate left is TensorRT-LLM's.
/// Standard errors: 0.082 us, -, 0.33, 74, 0.66 us, 0.009, -, 0.024 ns, 0.024 ns. Services of Llama
/// 3.1 70B and gpt-oss on H200 and B200, versions 0.11 to 0.18.
inline constexpr engine_profile engine_vllm{
    .name = "vllm",
    .tensor_scale_floor = 2.698 * us,
    .quantise_floor = 2.698 * us,
    .quantise_bytes = 9.877,
    .quantise_row_cycles = 781.9,
    .single_row_time = 14.54 * us,
    .block_scale_share = 0.6807,
    .mma_block_scale_share = 0.5076,
    .low_precision_step = 0.8324 * ns,
    .four_bit_step = 0.7057 * ns,
    .dequantisation_cycles = dequantisation_cycles_per_weight,
    .step_cpu_time = 601.4 * us,     // 18
    .request_cpu_time = 7.131 * ms,  // 0.54
    .request_iterations = 2.695,     // 0.10
    .prefill_step_factor = 1.294,    // 0.011
    .run_start = 45.05 * ms,         // 4.2
    .log_sigma = 0.104,
    .from = &sources::aic_gemm_and_services};
/// vLLM's GEMMs; services of DeepSeek-R1, Qwen3-235B and Qwen3.5-397B on H200 and B200.
inline constexpr engine_profile engine_sglang = [] {
  engine_profile e = engine_vllm;
  e.name = "sglang";
  e.quantise_share = 0.0;            // 0.22: fused, and not told from 0
  e.step_cpu_time = 2972.0 * us;     // 120
  e.sequence_cpu_time = 9.708 * us;  // 4.1
  e.request_cpu_time = {};           // 13 ms: not told
  e.request_iterations = 2.899;      // 0.68
  e.prefill_step_factor = 1.389;     // 0.061
  e.run_start = 855.4 * ms;          // 100
  e.from = &sources::services_and_vllm;
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
