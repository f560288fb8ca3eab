// What five accelerators were seen to reach in matrix products, what two engines add to narrow
// ones, and what to take for an accelerator that nobody measured.
#pragma once

#include <array>
#include <perfmodel/calibrated/machine_profile.hpp>
#include <perfmodel/hardware/accelerator.hpp>
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
    .value = {.matrix_floor = 2.636 * us,
              .matrix_share = 0.8891,
              .dram_share = 0.7256,
              .operand_bandwidth = 8.668 * TB_per_s,
              .tile_fill = 3.664 * us,
              .split_cost = 3.794 * us,
              .power_slowdown = 0.08126,
              .l2_bandwidth = 3.855 * TB_per_s,
              .instruction_rows = 16.0,
              .l2_partitions = 2.0},
    .standard_error = {.matrix_floor = 0.2250 * us,
                       .matrix_share = 0.01018,
                       .dram_share = 0.004953,
                       .operand_bandwidth = 0.1435 * TB_per_s,
                       .tile_fill = 0.2654 * us,
                       .split_cost = 0.2439 * us,
                       .power_slowdown = 0.01805,
                       .l2_bandwidth = 0.030 * TB_per_s,
                       .instruction_rows = 0.0,
                       .l2_partitions = 0.0},
    .log_sigma = 0.0766,
    .from = &sources::aic_gemm};
inline constexpr machine_profile profile_b200_sxm{
    .name = "b200_sxm",
    .value = {.matrix_floor = 2.928 * us,
              .matrix_share = 0.7399,
              .dram_share = 0.8115,
              .operand_bandwidth = 51.18 * TB_per_s,
              .tile_fill = 0.000 * us,
              .split_cost = 5.965 * us,
              .power_slowdown = 0.1379,
              .l2_bandwidth = 7.066 * TB_per_s,
              .instruction_rows = 64.0,
              .l2_partitions = 2.0,
              .scales_blocks = true},
    .standard_error = {.matrix_floor = 0.03461 * us,
                       .matrix_share = 0.006151,
                       .dram_share = 0.004928,
                       .operand_bandwidth = 0.5086 * TB_per_s,
                       .tile_fill = 0.01987 * us,
                       .split_cost = 0.1643 * us,
                       .power_slowdown = 0.02111,
                       .l2_bandwidth = 0.13 * TB_per_s,
                       .instruction_rows = 0.0,
                       .l2_partitions = 0.0},
    .log_sigma = 0.0906,
    .from = &sources::aic_gemm};
inline constexpr machine_profile profile_h100_sxm{
    .name = "h100_sxm",
    .value = {.matrix_floor = 2.475 * us,
              .matrix_share = 0.8900,
              .dram_share = 0.8598,
              .operand_bandwidth = 22.82 * TB_per_s,
              .tile_fill = 0.4026 * us,
              .split_cost = 4.035 * us,
              .power_slowdown = 0.1758,
              .l2_bandwidth = 4.235 * TB_per_s,
              .instruction_rows = 64.0,
              .l2_partitions = 2.0},
    .standard_error = {.matrix_floor = 0.06734 * us,
                       .matrix_share = 0.005538,
                       .dram_share = 0.003717,
                       .operand_bandwidth = 0.4824 * TB_per_s,
                       .tile_fill = 0.08298 * us,
                       .split_cost = 0.1167 * us,
                       .power_slowdown = 0.01423,
                       .l2_bandwidth = 0.11 * TB_per_s,
                       .instruction_rows = 0.0,
                       .l2_partitions = 0.0},
    .log_sigma = 0.0662,
    .from = &sources::aic_gemm};
inline constexpr machine_profile profile_h200_sxm{
    .name = "h200_sxm",
    .value = {.matrix_floor = 2.832 * us,
              .matrix_share = 0.8733,
              .dram_share = 0.8608,
              .operand_bandwidth = 25.25 * TB_per_s,
              .tile_fill = 0.2188 * us,
              .split_cost = 3.661 * us,
              .power_slowdown = 0.1888,
              .l2_bandwidth = 4.910 * TB_per_s,
              .instruction_rows = 64.0,
              .l2_partitions = 2.0},
    .standard_error = {.matrix_floor = 0.06521 * us,
                       .matrix_share = 0.005350,
                       .dram_share = 0.004557,
                       .operand_bandwidth = 0.3897 * TB_per_s,
                       .tile_fill = 0.07592 * us,
                       .split_cost = 0.09928 * us,
                       .power_slowdown = 0.01483,
                       .l2_bandwidth = 0.14 * TB_per_s,
                       .instruction_rows = 0.0,
                       .l2_partitions = 0.0},
    .log_sigma = 0.0687,
    .from = &sources::aic_gemm};
inline constexpr machine_profile profile_l40s{
    .name = "l40s",
    .value = {.matrix_floor = 1.000 * us,
              .matrix_share = 0.8690,
              .dram_share = 0.7641,
              .operand_bandwidth = 9.623 * TB_per_s,
              .tile_fill = 2.434 * us,
              .split_cost = 3.514 * us,
              .power_slowdown = 0.6226,
              .l2_bandwidth = 2.599 * TB_per_s,
              .instruction_rows = 16.0,
              .l2_partitions = 1.0},
    .standard_error = {.matrix_floor = 0.3206 * us,
                       .matrix_share = 0.01170,
                       .dram_share = 0.004457,
                       .operand_bandwidth = 0.2498 * TB_per_s,
                       .tile_fill = 0.3701 * us,
                       .split_cost = 0.1978 * us,
                       .power_slowdown = 0.03276,
                       .l2_bandwidth = 0.043 * TB_per_s,
                       .instruction_rows = 0.0,
                       .l2_partitions = 0.0},
    .log_sigma = 0.113,
    .from = &sources::aic_gemm};

/// TensorRT-LLM 1.0 and 1.3, over A100, H100, H200, B200 and L40S: fp8, fp8 with block scales,
/// nvfp4 and SmoothQuant int8. Standard errors: 0.10 us, 0.075 us, 0.013, 0.005.
inline constexpr engine_profile engine_trtllm{.name = "trtllm",
                                              .tensor_scale_floor = 10.04 * us,
                                              .quantise_floor = 3.208 * us,
                                              .quantise_cycles = 0.5550,
                                              .block_scale_share = 0.6737,
                                              .log_sigma = 0.126,
                                              .from = &sources::aic_gemm};
/// vLLM 0.24, over H100, H200, B200 and L40S: fp8 and nvfp4. It has no rows with block-scaled fp8,
/// whose floor is taken to be that of the others. Standard errors: 0.077 us, -, 0.013, 0.01.
inline constexpr engine_profile engine_vllm{.name = "vllm",
                                            .tensor_scale_floor = 3.978 * us,
                                            .quantise_floor = 3.978 * us,
                                            .quantise_cycles = 0.6739,
                                            .block_scale_share = 0.6593,
                                            .log_sigma = 0.129,
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

/// Copies of the weights that the published benchmark of an engine's matrix products read in turn:
/// TensorRT-LLM's as many as exceed the L2, at most 5; vLLM's and SGLang's 6, and vLLM's 1 in
/// nvfp4. To be given as weight_copies where such a measurement is predicted; in a model weights
/// are cold. Source: ai-dynamo/aiconfigurator, collector/{trtllm,vllm,sglang}/collect_gemm.py.
constexpr double benchmark_weight_copies(std::string_view engine, const bytes<>& weights,
                                         number_format format, const accelerator& a) {
  if (engine == "trtllm" || engine == "tensorrt_llm") {
    const double exceed = a.l2.capacity.value() / weights.value();
    double copies = 1.0;
    while (copies < exceed && copies < 5.0) copies += 1.0;
    return copies;
  }
  return engine == "vllm" && format == number_format::fp4 ? 1.0 : 6.0;
}

/// A machine that was measured, what its rates go with (SMs and Hz), and the energy it is given
/// for each FLOP of its peak: power limit over dense bf16.
struct measured_machine {
  const machine_profile* profile;
  double sms, clock;
  double joule_per_flop;
};
inline constexpr std::array measured_machines = {
    measured_machine{&profile_a100_sxm_80gb, 108.0, 1.41e9, 400.0 / 312e12},
    measured_machine{&profile_h100_sxm, 132.0, 1.98e9, 700.0 / 989e12},
    measured_machine{&profile_h200_sxm, 132.0, 1.98e9, 700.0 / 989e12},
    measured_machine{&profile_b200_sxm, 148.0, 1.98e9, 1000.0 / 2250e12},
    measured_machine{&profile_l40s, 142.0, 2.52e9, 350.0 / 362e12}};

/// The measured machine that is most like an accelerator: itself, unless `but_itself`, else of its
/// family. Families and their order: Hopper; data-centre Blackwell and Rubin; Volta and Ampere with
/// HBM; NVIDIA cards and SoCs with GDDR or LPDDR; everything else, which takes H100's.
constexpr const measured_machine& nearest_measured(const accelerator& a, bool but_itself = false) {
  const auto built_like = [&a](std::string_view name) {
    return a.architecture.view().find(name) != std::string_view::npos;
  };
  const bool card =
      a.vendor.view() == "NVIDIA" && !(a.dram.bandwidth.value() > 1.8e12) && !built_like("Volta");
  constexpr std::size_t ampere = 0, h100 = 1, h200 = 2, blackwell = 3, ada = 4;
  std::array<std::size_t, 3> order{h100, h200, ampere};
  if (card) {
    order = {ada, ampere, h100};
  } else if (built_like("Blackwell") || built_like("Rubin")) {
    order = {blackwell, h200, h100};
  } else if (built_like("Ampere") || built_like("Volta")) {
    order = {ampere, ada, h100};
  }
  for (const measured_machine& m : measured_machines) {
    if (!but_itself && m.profile->name.view() == a.name.view()) return m;
  }
  for (const std::size_t i : order) {
    if (measured_machines[i].profile->name.view() != a.name.view()) return measured_machines[i];
  }
  return measured_machines[h100];
}

/// The deviation that a loan from the nearest measured machine adds to the donor's own spread, so
/// that the two in quadrature cover what was seen where each measured machine was predicted by such
/// a loan: 0.06 between siblings (H100 and H200, together 0.07 seen), 0.13 between architectures
/// (together 0.11 seen of A100, 0.14 of B200 and L40S); beyond NVIDIA 0.4, which is assumed.
constexpr double transfer_spread(const accelerator& a, std::string_view donor) {
  if (a.vendor.view() != "NVIDIA") return 0.4;
  const auto both = [&](std::string_view architecture, std::string_view prefix) {
    return a.architecture.view().find(architecture) != std::string_view::npos &&
           donor.substr(0, prefix.size()) == prefix;
  };
  const bool siblings = both("Hopper", "h") || both("Blackwell", "b200") ||
                        both("Ampere", "a100") || both("Ada", "l40s");
  return siblings ? 0.06 : 0.13;
}

constexpr double combined_spread(double a, double b) {
  return math::sqrt(a * a + b * b);
}

/// What an accelerator would get that has no profile of its own: its nearest relative's shares and
/// floors, bandwidths of caches by SMs x clock, the slowdown that the relative's energy per FLOP
/// means at its own power limit, and the facts of its own architecture. The spread
/// is the donor's and transfer_spread in quadrature.
constexpr machine_profile transferred_machine_profile(const accelerator& a) {
  const measured_machine& donor = nearest_measured(a, true);
  machine_profile p = *donor.profile;
  const double own_clock = a.sms.value() * a.vector.clock.value();
  if (own_clock > 0.0) {
    p.value.operand_bandwidth = own_clock / (donor.sms * donor.clock) * p.value.operand_bandwidth;
    p.value.l2_bandwidth = own_clock / (donor.sms * donor.clock) * p.value.l2_bandwidth;
  }
  const double bf16 = a.matrix.peak.bf16.value();
  const double fp16 = a.matrix.peak.fp16.value();
  const double given = a.tdp.value() / (bf16 > fp16 ? bf16 : fp16);
  if (given > 0.0 && given < 1e-9) {  // else the one or the other is not stated
    const double slower = (1.0 + p.value.power_slowdown) * donor.joule_per_flop / given - 1.0;
    p.value.power_slowdown = slower > 0.0 ? slower : 0.0;
  }
  p.value.instruction_rows = instruction_rows_of(a);
  p.value.l2_partitions = l2_partitions_of(a);
  p.value.scales_blocks = scales_blocks_of(a);
  p.name = a.name;
  p.log_sigma = combined_spread(p.log_sigma, transfer_spread(a, donor.profile->name.view()));
  p.from = &sources::gemm_relative;
  return p;
}

/// The profile of any accelerator: its own, or on loan.
constexpr machine_profile machine_profile_of(const accelerator& a) {
  const machine_profile* own = find_profile(a.name.view());
  return own != nullptr ? *own : transferred_machine_profile(a);
}

}  // namespace perfmodel::catalog
