// Uncertainty of profiles on shapes outside their fits, by kind of operator: log_sigma.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <perfmodel/core/error.hpp>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/kernels/interval.hpp>
#include <perfmodel/kernels/service_posterior.hpp>

namespace perfmodel::inline v0_3::catalog {

namespace sources {
// clang-format off
inline constexpr source dequantised_elsewhere{basis::derived, "GEMMs of this machine; dequantisation was measured on A100 only"};
inline constexpr source own_services{basis::measured, "fitted to 68 services in ai-dynamo/aiconfigurator 095f58a5 and InferenceX (December 2025, Apache-2.0)"};
// clang-format on
}  // namespace sources

/// log_sigma of a transferred profile by kind: max(source GPU's, transfer's). A kind that was not
/// measured takes max(profile's, transfer's), in quadrature with unmeasured_format_log_sigma. All
/// stay 0 if the source GPU has no measured kind.
constexpr kind_log_sigmas transferred_log_sigmas(kind_log_sigmas log_sigmas, double profile,
                                                 double transfer) {
  if (std::ranges::all_of(log_sigmas, [](double w) { return w == 0.0; })) return log_sigmas;
  for (double& w : log_sigmas) {
    w = w > 0.0 ? (std::max)(w, transfer)
                : in_quadrature((std::max)(profile, transfer), unmeasured_format_log_sigma);
  }
  return log_sigmas;
}

/// log_sigma of a changed copy by kind: the original's, or that of the change where it is larger.
constexpr kind_log_sigmas changed_log_sigmas(kind_log_sigmas log_sigmas, const accelerator& a,
                                             const measured_machine& original) {
  for (double& w : log_sigmas) {
    if (w > 0.0) w = (std::max)(w, change_log_sigma(a, original.device()));
  }
  return log_sigmas;
}

/// log_sigma by kind of GEMMs, attention and experts on an accelerator: its own, or that of a
/// transfer. Dequantised GEMMs were measured on A100 only: other machines take A100's in quadrature
/// with a transfer from it.
/// Test: h100_sxm's are the table's; h20's are larger; so are H100's of dequantised GEMMs.
constexpr kind_log_sigmas transferred_gemm_log_sigmas(const accelerator& a,
                                                      const measured_machine& from) {
  return transferred_log_sigmas(from.gemm_log_sigmas, from.machine->log_sigma,
                                transfer_log_sigma(a, from.device()));
}
/// log_sigma by kind of attention with a profile from the source GPU `from`; prefill and decode
/// differ.
constexpr kind_log_sigmas transferred_attention_log_sigmas(const accelerator& a,
                                                           const measured_machine& from) {
  const auto of = [&](bool of_prefills) {
    return transferred_log_sigmas(from.attention_log_sigmas, from.attention->log_sigma,
                                  attention_transfer_log_sigma(a, from.device(), of_prefills));
  };
  const kind_log_sigmas decode = of(false);
  kind_log_sigmas log_sigmas = of(true);
  for (const attention_kind k : {attention_kind::decode, attention_kind::low_precision_decode}) {
    log_sigmas[static_cast<std::size_t>(k)] = decode[static_cast<std::size_t>(k)];
  }
  return log_sigmas;
}
/// log_sigma by kind of GEMM on an accelerator: its own, or that of a transfer.
constexpr kind_log_sigmas gemm_log_sigmas_of(const accelerator& a) {
  const measured_machine* original = original_of(a);
  const measured_machine& from = original != nullptr ? *original : gemm_donor_of(a);
  kind_log_sigmas log_sigmas = original != nullptr
                                   ? changed_log_sigmas(from.gemm_log_sigmas, a, from)
                                   : transferred_gemm_log_sigmas(a, from);
  constexpr auto kind = static_cast<std::size_t>(gemm_kind::dequantised);
  if (from.gemm_log_sigmas[kind] == 0.0 && !is_measured_amd(a)) {
    log_sigmas[kind] = in_quadrature(measured_a100.gemm_log_sigmas[kind],
                                     transfer_log_sigma(a, measured_a100.device()));
  }
  return log_sigmas;
}
/// log_sigma by kind of attention on an accelerator: its own, or that of a transfer.
constexpr kind_log_sigmas attention_log_sigmas_of(const accelerator& a) {
  const measured_machine* original = original_of(a);
  return original != nullptr ? changed_log_sigmas(original->attention_log_sigmas, a, *original)
                             : transferred_attention_log_sigmas(a, nearest_donor_of(a));
}
/// log_sigma of MoE experts with a profile from the source GPU `from`. AMD: the source's. Same
/// generation: the source's by measured kind, at least 0.065 (fp8 between H100 and H200 differs by
/// 0.04 to 0.06). Other generation: transferred_experts_log_sigma; for expert parallelism 0.14,
/// which covers 87 % of B200's measurements with Hopper's profile.
constexpr kind_log_sigmas transferred_expert_log_sigmas(const accelerator& a,
                                                        const measured_machine& from) {
  if (is_measured_amd(a)) return from.expert_log_sigmas;
  const double transfer = transfer_log_sigma(a, from.device());
  kind_log_sigmas log_sigmas{};
  if (is_same_generation(a, from.device())) {
    log_sigmas = from.expert_log_sigmas;
    const double seen = (std::max)(0.065, 0.15 * machine_distance(a, from.device()));
    for (double& w : log_sigmas) w = w > 0.0 ? (std::max)(w, seen) : 0.0;
  } else {
    log_sigmas.fill((std::max)(transferred_experts_log_sigma, transfer));
    log_sigmas[static_cast<std::size_t>(expert_kind::expert_parallel)] = (std::max)(0.14, transfer);
  }
  return log_sigmas;
}
/// log_sigma by kind of MoE experts on an accelerator: its own, or that of a transfer.
constexpr kind_log_sigmas expert_log_sigmas_of(const accelerator& a) {
  const measured_machine* original = original_of(a);
  return original != nullptr ? changed_log_sigmas(original->expert_log_sigmas, a, *original)
                             : transferred_expert_log_sigmas(a, gemm_donor_of(a));
}

// Variation of services around the shipped profile of their engine.

/// Variation over 68 published services of at least 8 runs each (five models; H100, H200, B200;
/// vLLM, SGLang, TensorRT-LLM): standard deviations of the engine parameters, and the noise of the
/// runs that remains (see service_residual_sigma). Printed by tools/fit/fit_services.cpp.
/// Tests: tests/property/own_services.cpp.
inline constexpr service_residual_sigma variation_between_services{
    .of = {0.0889, 578e-6, 5.42e-6, 0.202, 7.05e-3, 7.48},
    .token_noise = 0.0394,
    .first_token_noise = 0.0919,
    .noise_runs = 1.75,
    .from = &sources::own_services};

// Errors of engines' services in blind tests, with the services that share a model or chip left out
// of the fit.

/// log_sigma of a time per token in the measured disaggregated services, over all engines. None was
/// fitted: it holds 72 to 80 % of 127 loads on GB200 in InferenceX, and 86 % of 66 of DeepSeek-V3
/// by TensorRT-LLM in ai-dynamo/aiconfigurator 095f58a5.
inline constexpr double pool_token_log_sigma = 0.135;

/// Uncertainty of an engine's services on NVIDIA GPUs, in addition to that of the kernels. Of ITL,
/// what holds 80 to 85 % of held-out models; of 106 never fitted runs it holds 90 % (SGLang's 31
/// closed loops 81 %). Of TTFT, near what holds 90 %; SGLang's is set by other protocols (GPUStack,
/// sgl-cookbook), where it holds 79 and 84 %: parts of its TTFT are chosen by hand.
/// Printed by tools/fit/fit_engines.cpp, checked by tests/property/service_coverage_recorded.cpp.
// clang-format off
inline constexpr service_uncertainty
    //                    token  TTFT  dequantised experts, token in pools
    uncertainty_vllm =   {0.115, 0.36, 0.0,                 pool_token_log_sigma},
    uncertainty_sglang = {0.125, 0.70, 0.24,                pool_token_log_sigma},
    uncertainty_trtllm = {0.125, 0.36, 0.0,                 pool_token_log_sigma};
// clang-format on

/// Uncertainty of an engine's services on an accelerator. The default, from 89 loads of 13 services
/// on MI325X and MI355X, is for engine::none and for accelerators other than NVIDIA's.
/// Test: vllm's are its own on h200_sxm, and on mi355x those of none.
constexpr service_uncertainty service_uncertainty_of(const accelerator& a, engine by) {
  if (facts_of(a.architecture).kind != machine_kind::gpu_nvidia) return {};
  constexpr service_uncertainty all[] = {
      {}, uncertainty_vllm, uncertainty_sglang, uncertainty_trtllm};
  return perfmodel::detail::entry_of(all, by, "engine");
}

}  // namespace perfmodel::inline v0_3::catalog
