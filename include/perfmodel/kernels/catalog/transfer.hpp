// Profiles of any NVIDIA GPU and of AMD's CDNA 3 and 4: its own where it was measured, else a
// transferred one, by the facts of the two machines.
#pragma once

#include <algorithm>
#include <array>
#include <perfmodel/kernels/catalog/amd.hpp>
#include <perfmodel/kernels/catalog/attention.hpp>
#include <perfmodel/kernels/catalog/experts.hpp>
#include <perfmodel/kernels/catalog/machines.hpp>
#include <perfmodel/kernels/catalog/workstation.hpp>
#include <perfmodel/kernels/interval.hpp>

namespace perfmodel::inline v0_3::catalog {

namespace sources {
// clang-format off
inline constexpr source transferred_gemm{basis::transferred, "the GEMM profile of the nearest measured accelerator, by architecture"};
inline constexpr source changed_machine{basis::transferred, "the measured profile of the machine that it is a changed copy of"};
inline constexpr source transferred_attention{basis::transferred, "the attention profile of the nearest measured accelerator, by architecture"};
inline constexpr source moe_elsewhere{basis::transferred, "the libraries' numbers from H100, H200 and B200, the machine's own shares"};
// clang-format on
}  // namespace sources

/// Expert kernels that engines run on a machine, by the formats of weights and operands.
struct expert_libraries {
  const moe_kernels* sixteen_bit;
  const moe_kernels* dequantised;
  const moe_kernels* low_precision;
  const moe_kernels* expert_parallel;     ///< 8 bits, with expert parallelism
  const moe_kernels* untuned = nullptr;   ///< 16 bits, for shapes without tuned tiles
  const moe_kernels* four_bit = nullptr;  ///< 4-bit weights with 8- or 4-bit operands
};
// vLLM's, with kernels for shapes without tuned tiles on A100. AITER's, which every engine calls on
// AMD's GPUs. RTX PRO 6000 has vLLM 0.19's Triton in 16 bits, by which its services were measured
// (0.24 runs CUTLASS there too). On CDNA 4 the policy has one place for 16-bit experts and for
// MXFP4 with 8-bit operands, which services run.
// clang-format off
inline constexpr expert_libraries
    triton_and_cutlass{&triton_experts,      &dequantised_experts,       &triton_fp8_experts, &cutlass_experts},
    untuned_on_a100{   &triton_experts,      &dequantised_experts,       &triton_fp8_experts, &cutlass_experts, &untuned_triton_experts},
    trtllm_on_b200{    &trtllm_experts,      &dequantised_experts,       &trtllm_fp8_experts, &trtllm_fp8_experts},
    cutlass_on_rtx{    &triton_experts_rtx_pro_6000, &dequantised_experts, &cutlass_fp8_experts_rtx_pro_6000, &cutlass_fp8_experts_rtx_pro_6000, nullptr, &cutlass_nvfp4_experts_rtx_pro_6000},
    aiter_on_cdna3{    &aiter_bf16_experts,  &aiter_dequantised_experts, &aiter_fp8_experts,  &aiter_fp8_experts},
    aiter_on_cdna4{    &aiter_mxfp4_experts, &aiter_dequantised_experts, &aiter_fp8_experts,  &aiter_fp8_experts};
// clang-format on

/// Measured machine: its profiles, and log_sigma by gemm_kind, attention_kind and expert_kind (0:
/// not measured). AMD's GPUs have measured GEMMs and experts; RTX PRO 6000's attention
/// has one log_sigma.
/// log_sigma is set by blind tests, each with a group of shapes left out of the fit: an n, a k or a
/// third of the m (GEMMs); head counts, batches or lengths (attention); a model's shape (experts).
/// Dequantised experts have no fit of their own: theirs cover the published rows of int4 and MXFP4.
/// Its 80 % interval covers 84 to 89 % of the held-out rows. Errors there are 1.2 to 1.5 times
/// those in sample.
/// Table: docs/validation/coverage.md. Test: tests/property/coverage_measured.cpp.
struct measured_machine {
  const machine_profile* machine;
  const attention_profile* attention;
  const expert_libraries* experts;
  kind_log_sigmas gemm_log_sigmas{}, attention_log_sigmas{}, expert_log_sigmas{};

  constexpr const accelerator& device() const { return *machine->donor; }
};
// clang-format off
inline constexpr measured_machine
    measured_a100{&profile_a100_sxm_80gb, &attention_a100_sxm, &untuned_on_a100,
                  {0.10, 0.0, 0.0, 0.0, 0.155, 0.155}, {0.086, 0.0, 0.066, 0.0},     {0.15}},
    measured_h100{&profile_h100_sxm, &attention_h100_sxm, &triton_and_cutlass,
                  {0.078, 0.086, 0.093},               {0.079, 0.094, 0.081, 0.080}, {0.135, 0.30, 0.052, 0.096}},
    measured_h200{&profile_h200_sxm, &attention_h200_sxm, &triton_and_cutlass,
                  {0.086, 0.086, 0.118},               {0.088, 0.082, 0.071, 0.085}, {0.15, 0.30, 0.070, 0.112}},
    measured_b200{&profile_b200_sxm, &attention_b200_sxm, &trtllm_on_b200,
                  {0.118, 0.13, 0.082, 0.133},         {0.114, 0.100, 0.103, 0.090}, {0.10, 0.0, 0.14, 0.105}},
    measured_l40s{&profile_l40s, &attention_l40s, &triton_and_cutlass,
                  {0.160, 0.150, 0.220},               {0.071, 0.097, 0.112, 0.103}, {}},
    measured_rtx_pro_6000{&profile_rtx_pro_6000, &attention_rtx_pro_6000, &cutlass_on_rtx,
                  {0.125},                             {},                           {0.165, 0.45, 0.165, 0.165}},
    measured_mi300x{&profile_mi300x, &attention_mi300x, &aiter_on_cdna3,
                  {0.0, 0.0, 0.16},                    {},                           {0.062, 0.0, 0.225}},
    measured_mi355x{&profile_mi355x, &attention_mi355x, &aiter_on_cdna4,
                  {0.26, 0.19, 0.25, 0.0, 0.35},       {},                           {0.145, 0.14, 0.20}};
// clang-format on
/// Machines with measured GEMMs and attention.
inline constexpr std::array measured_machines{&measured_a100, &measured_h100, &measured_h200,
                                              &measured_b200, &measured_l40s};

/// Whether a GPU is CDNA 3 or 4, with published tuned kernels.
constexpr bool is_measured_amd(const accelerator& a) {
  return a.architecture == chip_architecture::cdna3 || a.architecture == chip_architecture::cdna4;
}

/// Whether profiles exist for this kind of machine: kernels do not transfer between kinds.
constexpr bool can_be_calibrated(const accelerator& a) {
  return facts_of(a.architecture).kind == machine_kind::gpu_nvidia || is_measured_amd(a);
}
/// Errors: inconsistent, for a kind of machine without measurements.
constexpr void require_calibrated_kind(const accelerator& a) {
  if (!can_be_calibrated(a)) {
    perfmodel::detail::no_calibration(a.name.c_str(), name_of(facts_of(a.architecture).kind));
  }
}

/// Whether kernels take equally long on both: one die at equal peaks, clock, caches, memory speed
/// and power. The name, the price, the links, the size of the memory and fp64, which no model runs
/// in, may differ. Test: h800_sxm is h100_sxm, and h100_sxm with another fp8 peak is not.
constexpr bool is_same_machine(const accelerator& a, const accelerator& b) {
  const auto peaks = [](const compute_unit& x, const compute_unit& y) {
    return std::ranges::all_of(all_formats, [&](number_format f) {
      return f == fp64 || x.peak[f].value() == y.peak[f].value();
    });
  };
  return a.architecture == b.architecture && a.sms.value() == b.sms.value() &&
         a.vector.clock.value() == b.vector.clock.value() && peaks(a.matrix, b.matrix) &&
         peaks(a.vector, b.vector) && a.l2.capacity.value() == b.l2.capacity.value() &&
         a.l2.bandwidth.value() == b.l2.bandwidth.value() &&
         a.instruction_rows.value() == b.instruction_rows.value() &&
         a.l2_partitions.value() == b.l2_partitions.value() &&
         a.special_functions.value() == b.special_functions.value() &&
         a.dram.bandwidth.value() == b.dram.bandwidth.value() && a.tdp.value() == b.tdp.value();
}

/// Machines with a profile of their own.
inline constexpr std::array machines_with_profiles{
    &measured_a100, &measured_h100,         &measured_h200,   &measured_b200,
    &measured_l40s, &measured_rtx_pro_6000, &measured_mi300x, &measured_mi355x};

/// Measured machine equal to an accelerator; null where there is none.
constexpr const measured_machine* measured_machine_of(const accelerator& a) {
  for (const measured_machine* m : machines_with_profiles) {
    if (is_same_machine(a, m->device())) return m;
  }
  return nullptr;
}

/// Accelerators of the catalogue that are the same machine as a measured one, by name.
struct equal_machine {
  std::string_view name{}, measured{};
};
inline constexpr equal_machine equal_machines[] = {{"a800_sxm_80gb", "a100_sxm_80gb"},
                                                   {"h800_sxm", "h100_sxm"}};

/// Whether `a` is `original` or a copy of it with other facts: one architecture, and the name of
/// the original, or of an equal machine, or either and "_changed".
/// Test: every accelerator that is a measured machine, with 1 ppm more bandwidth.
constexpr bool is_copy_of(const accelerator& a, const accelerator& original) {
  std::string_view name = a.name.view();
  if (constexpr std::string_view changed = "_changed"; name.ends_with(changed))
    name.remove_suffix(changed.size());
  const std::string_view own = original.name.view();
  return a.architecture == original.architecture &&
         (name == own || std::ranges::any_of(equal_machines, [&](const equal_machine& e) {
            return name == e.name && own == e.measured;
          }));
}

/// Measured machine of an accelerator: an equal one, else the one that it is a changed copy of;
/// null where there is neither. A changed copy keeps its original's profile, so that answers are
/// continuous in every fact.
/// Test: h200_sxm with 1 ppm more bandwidth has h200_sxm's, and not h100_sxm's.
constexpr const measured_machine* original_of(const accelerator& a) {
  if (const measured_machine* own = measured_machine_of(a)) return own;
  for (const measured_machine* m : machines_with_profiles) {
    if (is_copy_of(a, m->device())) return m;
  }
  return nullptr;
}

/// Source GPUs of an architecture's transferred profiles, the nearest first.
constexpr std::array<const measured_machine*, 3> donors_of(chip_architecture a) {
  switch (a) {
    case chip_architecture::volta:
    case chip_architecture::ampere: return {&measured_a100, &measured_l40s, &measured_h100};
    case chip_architecture::blackwell:
    case chip_architecture::blackwell_ultra:
    case chip_architecture::rubin:
    case chip_architecture::rubin_ultra: return {&measured_b200, &measured_h200, &measured_h100};
    case chip_architecture::blackwell_rtx:
      return {&measured_rtx_pro_6000, &measured_l40s, &measured_a100};
    case chip_architecture::hopper: return {&measured_h100, &measured_h200, &measured_a100};
    case chip_architecture::cdna3: return {&measured_mi300x, &measured_mi355x, &measured_mi355x};
    case chip_architecture::cdna4: return {&measured_mi355x, &measured_mi300x, &measured_mi300x};
    default: return {&measured_l40s, &measured_a100, &measured_h100};
  }
}

/// Whether a GPU is a GeForce: its matrix units accumulate in fp32 at half rate, and 8-bit integers
/// run at four times that. Neither power nor ECC limits it as it limits L40S.
constexpr bool is_geforce(const accelerator& a) {
  return a.matrix.peak.int8.value() > 3.0 * a.matrix.peak.bf16.value() &&
         a.matrix.peak.bf16.value() > 0.0 &&
         (a.architecture == chip_architecture::ada ||
          a.architecture == chip_architecture::ampere_rtx ||
          a.architecture == chip_architecture::blackwell_rtx);
}

/// The first of the source GPUs, or the second where the accelerator equals the first.
constexpr const measured_machine& nearest_donor_of(const accelerator& a) {
  require_calibrated_kind(a);
  const auto donors = donors_of(a.architecture);
  return is_same_machine(a, donors[0]->device()) ? *donors[1] : *donors[0];
}

/// Source GPU of a transferred GEMM profile; for a measured machine, the nearest other. GeForce
/// takes RTX PRO 6000's.
/// Test: h20 takes h100_sxm's, gb200 b200_sxm's, rtx_4090 rtx_pro_6000's, l4 l40s's; h100_sxm
/// without its own, h200's.
constexpr const measured_machine& gemm_donor_of(const accelerator& a) {
  const measured_machine& nearest = nearest_donor_of(a);
  return is_geforce(a) ? measured_rtx_pro_6000 : nearest;
}

/// True if both run kernels of the same generation.
constexpr bool is_same_generation(const accelerator& a, const accelerator& donor) {
  return a.architecture == donor.architecture ||
         (a.architecture == chip_architecture::blackwell_ultra &&
          donor.architecture == chip_architecture::blackwell);
}

/// Distance of two machines: the largest |ln| of the ratios of their dense 16-bit peaks, of their
/// DRAM bandwidths and of their SMs x clock, where both state them.
/// Test: 0.36 between H100 and H200, 0.82 between H200 and B200.
constexpr double machine_distance(const accelerator& a, const accelerator& b) {
  double most = 0.0;
  const auto consider = [&most](double x, double y) {
    if (!(x > 0.0 && y > 0.0)) return;
    const double distance = math::log(x / y);
    most = (std::max)(most, distance < 0.0 ? -distance : distance);
  };
  const auto peak16 = [](const accelerator& x) {
    return (std::max)(x.matrix.peak.bf16.value(), x.matrix.peak.fp16.value());
  };
  consider(peak16(a), peak16(b));
  consider(a.dram.bandwidth.value(), b.dram.bandwidth.value());
  consider(a.sms.value() * a.vector.clock.value(), b.sms.value() * b.vector.clock.value());
  return most;
}

/// Additional log_sigma of a transfer between generations: 0.3 x (machine_distance - 0.87), at
/// least 0. The slope is the median of ten transfers among A100, Hopper, L40S and B200. Without the
/// transfers to any one of these it is 0.25 to 0.35.
constexpr double distance_log_sigma(const accelerator& a, const accelerator& donor) {
  return 0.3 * (std::max)(0.0, machine_distance(a, donor) - 0.87);
}

/// log_sigma of a transferred GEMM profile, unless the source's own is larger. Its 80 % interval
/// covers 80 % of the errors when each measured machine is predicted from another one.
/// Same generation: max(0.09, 0.15 machine_distance), from H100 and H200. Other generation: 0.13 +
/// distance_log_sigma, from A100, L40S and B200 predicted by their nearest source. AMD: 0.21, from
/// MI355X predicted by MI300X.
/// Tables: docs/validation/transferred_profiles.md.
constexpr double transfer_log_sigma(const accelerator& a, const accelerator& donor) {
  if (is_measured_amd(a)) return 0.21;
  const double distance = machine_distance(a, donor);
  if (is_same_generation(a, donor)) return (std::max)(0.09, 0.15 * distance);
  return 0.13 + distance_log_sigma(a, donor);
}
/// log_sigma of a transferred attention profile: at least transfer_log_sigma. Between generations
/// it is at least 0.17 for prefill and 0.53 for decode (one transfer, H200 to B200). If both run
/// FlashAttention-2, decode has 0.095 + distance_log_sigma (A100 to L40S and back). AMD's attention
/// was not measured: it has transfer_log_sigma.
constexpr double attention_transfer_log_sigma(const accelerator& a, const accelerator& donor,
                                              bool of_prefills) {
  const double any = transfer_log_sigma(a, donor);
  if (is_same_generation(a, donor) || is_measured_amd(a)) return any;
  const auto older = [](const accelerator& x) { return instruction_rows_of(x) < 64.0; };
  if (!of_prefills && older(donor) && older(a)) return 0.095 + distance_log_sigma(a, donor);
  return (std::max)(any, of_prefills ? 0.17 : 0.53);
}
/// log_sigma of a changed copy of a measured machine, where the machine's own is not larger: 0.15
/// of the distance, as for transfers within a generation.
constexpr double change_log_sigma(const accelerator& a, const accelerator& original) {
  return 0.15 * machine_distance(a, original);
}
/// log_sigma that a transfer adds, in quadrature, for a format that was not measured on the source
/// GPU. The 80 % interval then covers 72 to 87 % of GEMMs in fp8, nvfp4 and int8 and of attention
/// with fp8 caches, and 53 % of fp8 GEMMs with block scales on L40S.
inline constexpr double unmeasured_format_log_sigma = 0.13;

/// Sum of independent uncertainties: sqrt(a^2 + b^2).
constexpr double in_quadrature(double a, double b) {
  return math::sqrt(a * a + b * b);
}

/// Profile transferred from another machine, by default the nearest. Shares and floors stay. Cache
/// bandwidths scale with SMs x clock. 1 + power_slowdown scales with peak FLOP per joule: dense
/// bf16 peak (fp16 where that is not stated) / power limit of the accelerator, over that of the
/// source.
/// Test: GB200 with twice the fp16 peak has the same profile.
/// Errors: a kind of machine without measurements.
constexpr machine_profile transferred_machine_profile(const accelerator& a,
                                                      const measured_machine& from) {
  const accelerator& donor = from.device();
  machine_profile p = *from.machine;
  if (a.sms.is_stated() && a.vector.clock.is_stated()) {
    const auto sm_cycles = [](const accelerator& x) {
      return x.sms.value() * x.vector.clock.value();
    };
    const double cycles = sm_cycles(a) / sm_cycles(donor);
    p.value.operand_bandwidth *= cycles;
    for (auto* l2 : {&p.value.l2_bandwidth, &p.value.elementwise_l2_bandwidth}) {
      if (*l2) **l2 *= cycles;
    }
  }
  const peak_rates& peaks = a.matrix.peak;
  if (a.tdp.is_stated() && (peaks.bf16.is_stated() || peaks.fp16.is_stated())) {
    const auto joule_per_flop = [](const accelerator& x) {
      const peak_rates& of = x.matrix.peak;
      return x.tdp.value() / (of.bf16.is_stated() ? of.bf16 : of.fp16).value();
    };
    const double slower =
        (1.0 + p.value.power_slowdown) * joule_per_flop(donor) / joule_per_flop(a) - 1.0;
    p.value.power_slowdown = slower > 0.0 ? slower : 0.0;
  }
  if (is_same_machine(a, mi325x) || is_copy_of(a, mi325x)) {
    p.value.matrix_share = matrix_share_of_mi325x;
  }
  p.name = a.name;
  p.log_sigma = (std::max)(p.log_sigma, transfer_log_sigma(a, donor));
  p.from = &sources::transferred_gemm;
  return p;
}
/// Machine profile transferred from the nearest measured GPU.
constexpr machine_profile transferred_machine_profile(const accelerator& a) {
  return transferred_machine_profile(a, gemm_donor_of(a));
}

/// Profile of a changed copy of a measured machine: shares, floors and energy per FLOP are equal,
/// bandwidths of caches scale with SMs x clock, and the slowdown with the power limit.
/// Test: at 1 ppm more of any fact no number moves by more than 2 ppm.
constexpr machine_profile changed_machine_profile(const accelerator& a,
                                                  const measured_machine& original) {
  machine_profile p = transferred_machine_profile(a, original);
  p.value.power_slowdown = original.machine->value.power_slowdown;
  if (a.tdp.is_stated() && original.device().tdp.is_stated()) {
    const double slower =
        (1.0 + p.value.power_slowdown) * original.device().tdp.value() / a.tdp.value() - 1.0;
    p.value.power_slowdown = slower > 0.0 ? slower : 0.0;
  }
  p.log_sigma = (std::max)(original.machine->log_sigma, change_log_sigma(a, original.device()));
  p.from = &sources::changed_machine;
  return p;
}

/// The machine's own profile, its original's, or a transferred one.
constexpr machine_profile machine_profile_of(const accelerator& a) {
  if (const measured_machine* own = measured_machine_of(a)) return *own->machine;
  const measured_machine* original = original_of(a);
  return original != nullptr ? changed_machine_profile(a, *original)
                             : transferred_machine_profile(a);
}

/// Attention profile of the nearest other machine. Times, rate and shares stay: scaled by the clock
/// they were less accurate. The L2 bandwidth is that of the transferred machine profile.
constexpr attention_profile transferred_attention_profile(const accelerator& a) {
  const measured_machine& donor = nearest_donor_of(a);
  attention_profile p = *donor.attention;
  p.name = a.name;
  p.value.l2_bandwidth = {};
  for (const bool of_prefills : {false, true}) {
    p.log_sigma =
        (std::max)(p.log_sigma, attention_transfer_log_sigma(a, donor.device(), of_prefills));
  }
  if (p.from->how != basis::assumed) p.from = &sources::transferred_attention;
  return p;
}

/// The machine's own attention profile, its original's (the L2 scales with SMs x clock), or a
/// transferred one.
constexpr attention_profile attention_profile_of(const accelerator& a) {
  const measured_machine* original = original_of(a);
  if (original == nullptr) return transferred_attention_profile(a);
  attention_profile p = *original->attention;
  if (measured_machine_of(a) == original) return p;
  const accelerator& b = original->device();
  if (p.value.l2_bandwidth && a.sms.is_stated() && a.vector.clock.is_stated()) {
    *p.value.l2_bandwidth *=
        a.sms.value() * a.vector.clock.value() / (b.sms.value() * b.vector.clock.value());
  }
  p.name = a.name;
  p.log_sigma = (std::max)(p.log_sigma, change_log_sigma(a, b));
  if (p.from->how == basis::measured) p.from = &sources::changed_machine;
  return p;
}

/// log_sigma of MoE experts transferred between generations. The 80 % interval covers 76 to 83 % of
/// the rows of A100 and B200, predicted with Hopper's Triton kernels and the shares of the nearest
/// source GPU.
inline constexpr double transferred_experts_log_sigma = 0.3;

/// Machine profile for expert kernels: that of GEMMs, with the experts' log_sigma and source.
/// Triton and CUTLASS experts were measured on H100 and H200, CUTLASS's on RTX PRO 6000, AITER's on
/// AMD's GPUs; on other machines they count as transferred.
constexpr machine_profile moe_profile_of(const accelerator& a) {
  machine_profile p = machine_profile_of(a);
  const measured_machine* original = original_of(a);
  if (is_measured_amd(a)) {
    p.log_sigma = aiter_experts_log_sigma;
    p.from = original != nullptr ? &sources::aiter_moe : &sources::moe_elsewhere;
    p.releases = &releases::aiter;
    return p;
  }
  const bool workstation = original == &measured_rtx_pro_6000;
  const bool seen = original == &measured_h100 || original == &measured_h200 || workstation;
  p.log_sigma =
      seen ? (std::max)(workstation ? 0.165 : 0.096, change_log_sigma(a, original->device()))
           : transferred_experts_log_sigma;
  p.from = seen ? &sources::aic_moe : &sources::moe_elsewhere;
  p.releases = &releases::vllm_0_24;
  return p;
}

}  // namespace perfmodel::inline v0_3::catalog
