// What five accelerators were seen to reach in matrix products, what two engines add to narrow
// ones, and what to take for an accelerator that nobody measured.
#pragma once

#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/hardware/profile.hpp>
#include <string_view>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source aic_gemm{
    basis::measured,
    "fitted to the GEMM latencies that ai-dynamo/aiconfigurator 095f58a5 (Apache-2.0) collected"};
inline constexpr source gemm_relative{
    basis::assumed, "the GEMM profile of the nearest measured accelerator, by architecture"};
inline constexpr source vllm_for_sglang{basis::assumed, "vllm's, for want of sglang's own rows"};
}  // namespace sources

// Printed by validation/calibrate/fit_gemm.cpp from bf16 rows; a test fits H100 again.
inline constexpr machine_profile profile_a100_sxm_80gb{
    .name = "a100_sxm_80gb",
    .value = {.matrix_floor = 2.710 * us,
              .matrix_share = 0.8895,
              .dram_share = 0.7268,
              .operand_bandwidth = 8.672 * TB_per_s,
              .tile_fill = 3.682 * us,
              .split_cost = 3.710 * us,
              .power_slowdown = 0.08158,
              .instruction_rows = 16.0},
    .standard_error = {.matrix_floor = 0.2249 * us,
                       .matrix_share = 0.01009,
                       .dram_share = 0.004946,
                       .operand_bandwidth = 0.1424 * TB_per_s,
                       .tile_fill = 0.2616 * us,
                       .split_cost = 0.2412 * us,
                       .power_slowdown = 0.01793,
                       .instruction_rows = 0.0},
    .spread = 0.0742,
    .from = &sources::aic_gemm};
inline constexpr machine_profile profile_b200_sxm{
    .name = "b200_sxm",
    .value = {.matrix_floor = 3.169 * us,
              .matrix_share = 0.7416,
              .dram_share = 0.8218,
              .operand_bandwidth = 51.35 * TB_per_s,
              .tile_fill = 0.000 * us,
              .split_cost = 5.758 * us,
              .power_slowdown = 0.1429,
              .instruction_rows = 64.0},
    .standard_error = {.matrix_floor = 0.03517 * us,
                       .matrix_share = 0.006156,
                       .dram_share = 0.005054,
                       .operand_bandwidth = 0.5077 * TB_per_s,
                       .tile_fill = 0.01973 * us,
                       .split_cost = 0.1663 * us,
                       .power_slowdown = 0.02124,
                       .instruction_rows = 0.0},
    .spread = 0.091,
    .from = &sources::aic_gemm};
inline constexpr machine_profile profile_h100_sxm{
    .name = "h100_sxm",
    .value = {.matrix_floor = 2.581 * us,
              .matrix_share = 0.8915,
              .dram_share = 0.8641,
              .operand_bandwidth = 22.72 * TB_per_s,
              .tile_fill = 0.4296 * us,
              .split_cost = 3.930 * us,
              .power_slowdown = 0.1780,
              .instruction_rows = 64.0},
    .standard_error = {.matrix_floor = 0.06871 * us,
                       .matrix_share = 0.005474,
                       .dram_share = 0.003768,
                       .operand_bandwidth = 0.4642 * TB_per_s,
                       .tile_fill = 0.07960 * us,
                       .split_cost = 0.1158 * us,
                       .power_slowdown = 0.01421,
                       .instruction_rows = 0.0},
    .spread = 0.0656,
    .from = &sources::aic_gemm};
inline constexpr machine_profile profile_h200_sxm{
    .name = "h200_sxm",
    .value = {.matrix_floor = 2.915 * us,
              .matrix_share = 0.8743,
              .dram_share = 0.8645,
              .operand_bandwidth = 25.26 * TB_per_s,
              .tile_fill = 0.2226 * us,
              .split_cost = 3.571 * us,
              .power_slowdown = 0.1909,
              .instruction_rows = 64.0},
    .standard_error = {.matrix_floor = 0.06695 * us,
                       .matrix_share = 0.005285,
                       .dram_share = 0.004594,
                       .operand_bandwidth = 0.3836 * TB_per_s,
                       .tile_fill = 0.07468 * us,
                       .split_cost = 0.09831 * us,
                       .power_slowdown = 0.01474,
                       .instruction_rows = 0.0},
    .spread = 0.0676,
    .from = &sources::aic_gemm};
inline constexpr machine_profile profile_l40s{
    .name = "l40s",
    .value = {.matrix_floor = 2.238 * us,
              .matrix_share = 0.8478,
              .dram_share = 0.7707,
              .operand_bandwidth = 8.069 * TB_per_s,
              .tile_fill = 1.100 * us,
              .split_cost = 3.899 * us,
              .power_slowdown = 0.5502,
              .instruction_rows = 16.0},
    .standard_error = {.matrix_floor = 0.4858 * us,
                       .matrix_share = 0.01491,
                       .dram_share = 0.005679,
                       .operand_bandwidth = 0.3983 * TB_per_s,
                       .tile_fill = 0.5404 * us,
                       .split_cost = 0.2152 * us,
                       .power_slowdown = 0.03879,
                       .instruction_rows = 0.0},
    .spread = 0.138,
    .from = &sources::aic_gemm};

/// TensorRT-LLM 1.0 and 1.3, over A100, H100, H200, B200 and L40S: fp8, fp8 with block scales,
/// nvfp4 and SmoothQuant int8. Standard errors: 0.11 us, 0.077 us, 0.013, 0.005.
inline constexpr engine_profile engine_trtllm{.name = "trtllm",
                                              .tensor_scale_floor = 10.18 * us,
                                              .quantise_floor = 3.126 * us,
                                              .quantise_cycles = 0.5502,
                                              .block_scale_share = 0.7230,
                                              .spread = 0.131,
                                              .from = &sources::aic_gemm};
/// vLLM 0.24, over H100, H200, B200 and L40S: fp8 and nvfp4. It has no rows with block-scaled fp8,
/// whose floor is taken to be that of the others. Standard errors: 0.079 us, -, 0.014, 0.01.
inline constexpr engine_profile engine_vllm{.name = "vllm",
                                            .tensor_scale_floor = 4.020 * us,
                                            .quantise_floor = 4.020 * us,
                                            .quantise_cycles = 0.6731,
                                            .block_scale_share = 0.6586,
                                            .spread = 0.13,
                                            .from = &sources::aic_gemm};
inline constexpr engine_profile engine_sglang = [] {
  engine_profile e = engine_vllm;
  e.name = "sglang";
  e.from = &sources::vllm_for_sglang;
  return e;
}();
inline constexpr engine_profile engine_none{};

/// The profile fitted for an accelerator, by its name; null where there is none.
constexpr const machine_profile* find_profile(std::string_view accelerator_name) {
  for (const machine_profile* p : {&profile_a100_sxm_80gb, &profile_h100_sxm, &profile_h200_sxm,
                                   &profile_b200_sxm, &profile_l40s}) {
    if (p->name.view() == accelerator_name) return p;
  }
  return nullptr;
}

/// The engine of a name: none, vllm, sglang, trtllm (or tensorrt_llm); null for any other.
constexpr const engine_profile* find_engine(std::string_view name) {
  if (name == "tensorrt_llm") name = "trtllm";
  for (const engine_profile* e : {&engine_none, &engine_vllm, &engine_sglang, &engine_trtllm}) {
    if (e->name.view() == name) return e;
  }
  return nullptr;
}

/// The profile of any accelerator: its own, or its nearest measured relative's, whose shares and
/// floors it takes, with the operand bandwidth by SMs and clock. Relatives: data-centre Blackwell
/// and Rubin take B200's, Hopper H100's, Volta and Ampere A100's, cards and SoCs with GDDR or LPDDR
/// L40S's, everything else H100's. The spread is at least what such a loan showed: 0.07 between
/// H100 and H200 (one die), 0.14 to 0.25 between other machines; 0.4 beyond NVIDIA, which is
/// assumed.
constexpr machine_profile machine_profile_of(const accelerator& a) {
  if (const machine_profile* own = find_profile(a.name.view())) return *own;
  const auto built_like = [&a](std::string_view name) {
    return a.architecture.view().find(name) != std::string_view::npos;
  };
  const bool nvidia = a.vendor.view() == "NVIDIA";
  const bool wide_memory = a.dram.bandwidth.value() > 1.8e12;
  machine_profile p = profile_h100_sxm;
  double sm_clock = 132.0 * 1.98e9;  // of the relative: SMs x vector clock
  double least = nvidia ? 0.25 : 0.4;
  if (built_like("Hopper")) {
    least = 0.12;
  } else if (nvidia && !wide_memory && !built_like("Volta")) {
    p = profile_l40s;
    sm_clock = 142.0 * 2.52e9;
  } else if (built_like("Blackwell") || built_like("Rubin")) {
    p = profile_b200_sxm;
    sm_clock = 148.0 * 1.98e9;
    if (built_like("Blackwell")) least = 0.15;
  } else if (built_like("Ampere") || built_like("Volta")) {
    p = profile_a100_sxm_80gb;
    sm_clock = 108.0 * 1.41e9;
    if (built_like("Ampere")) least = 0.15;
  }
  const double own_clock = a.sms.value() * a.vector.clock.value();
  if (own_clock > 0.0) p.value.operand_bandwidth = own_clock / sm_clock * p.value.operand_bandwidth;
  p.name = a.name;
  p.spread = p.spread < least ? least : p.spread;
  p.from = &sources::gemm_relative;
  return p;
}

}  // namespace perfmodel::catalog
