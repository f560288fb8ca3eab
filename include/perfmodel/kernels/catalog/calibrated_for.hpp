// Calibration of an accelerator and an engine from the catalogue, as one policy.
#pragma once

#include <perfmodel/engine/moe_backend.hpp>
#include <perfmodel/kernels/catalog/collectives.hpp>
#include <perfmodel/kernels/catalog/experts.hpp>
#include <perfmodel/kernels/catalog/uncertainty.hpp>
#include <perfmodel/kernels/operator_prediction.hpp>

namespace perfmodel::inline v0_3 {

/// Calibrated policy of an accelerator under an engine: calibrated_for(catalog::h100_sxm,
/// engine::vllm).
/// Profiles are those fitted to the accelerator, else transferred ones with a larger log_sigma.
/// Expert kernels are vLLM's, on AMD AITER's; the all-reduce kernels of `none` are vLLM's.
/// TensorRT-LLM's dequantised experts are Marlin's, without the overlap that vLLM's services show.
/// Its NVFP4 experts on data-centre Blackwell are CUTLASS's, with RTX PRO 6000's numbers, for that
/// moe_backend: services of DeepSeek-R1 that ran CUTLASS are 5 % off in ITL, and 13 % with TRTLLM's
/// kernels; those that ran TRTLLM 53 % and 4 %. None was fitted.
/// Errors: inconsistent for a kind of machine without measurements: CDNA 2, Apple, TPU, LPU, wafer.
/// Tests: tests/property/calibrated_recorded.cpp; each member is the catalogue's.
constexpr calibrated calibrated_for(const accelerator& a, engine e = engine::none,
                                    engine_release r = engine_release::latest) {
  catalog::require_calibrated_kind(a);
  const machine_profile machine = catalog::machine_profile_of(a);
  const attention_profile attention = catalog::attention_profile_of(a);
  const machine_profile experts = catalog::moe_profile_of(a);
  const collective_profile links = catalog::collective_profile_of(a);
  const collective_profile network =
      catalog::collective_profile_of(interconnect{.kind = link_kind::infiniband});
  const engine_all_reduce_kernels& kernels = catalog::all_reduce_kernels_of(e, r);
  calibrated c;
  c.machine = machine.value;
  c.engine = catalog::engine_profile_of(e);
  c.attention = attention.value;
  c.attention_kernels = catalog::attention_kernels_of(a, bf16);
  c.low_precision_attention_kernels = catalog::attention_kernels_of(a, fp8);
  const catalog::expert_libraries& libraries = *catalog::donors_of(a.architecture)[0]->experts;
  c.moe_kernels = *libraries.sixteen_bit;
  c.dequantised_moe_kernels = *libraries.dequantised;
  c.low_precision_moe_kernels = *libraries.low_precision;
  c.expert_parallel_moe_kernels = *libraries.expert_parallel;
  if (libraries.untuned != nullptr) c.untuned_moe_kernels = *libraries.untuned;
  if (libraries.four_bit != nullptr) c.four_bit_moe_kernels = *libraries.four_bit;
  if (e == engine::trtllm && facts_of(a.architecture).kind == machine_kind::gpu_nvidia)
    c.dequantised_moe_kernels = catalog::marlin_experts;
  const bool runs_nvfp4 = has_two_moe_backends(e, a.architecture);
  if (runs_nvfp4) c.nvfp4_moe_kernels = catalog::cutlass_nvfp4_experts_rtx_pro_6000;
  if (catalog::is_measured_amd(a)) {
    c.engine.mma_block_scale_share = catalog::block_scale_share_of(a);
    catalog::set_engine_on_amd(c.engine, a, e);
    // A compute unit issues 64 lanes a clock, an SM 128; assumed.
    c.engine.dequantisation_cycles *= 2.0;
  }
  // Times on Hopper: of fp8 blocks compilation by SGLang and projections by TensorRT-LLM, and its
  // launches of MXFP4 experts.
  if (a.architecture != chip_architecture::hopper)
    c.engine.compile_time = c.engine.latent_layer_time = c.engine.prefill_expert_launch_time = {};
  const catalog::measured_machine* original = catalog::original_of(a);
  if (original == &catalog::measured_rtx_pro_6000) {
    c.mixed_attention = catalog::mixed_attention_rtx_pro_6000;
    c.elementwise_kernels = catalog::elementwise_kernels_rtx_pro_6000;
    c.kernel_time = c.elementwise_kernels.kernel_time;
  }
  c.links = calibrated_collectives_on(a, links, kernels);
  c.network = calibrated_collectives_on(a, network);
  const auto note = [](profile_part part, const auto& p, const kind_log_sigmas& log_sigmas = {}) {
    return profile_note{.part = part,
                        .donor = p.transferred() ? p.donor : nullptr,
                        .from = p.from,
                        .log_sigma = p.log_sigma,
                        .by_kind = log_sigmas,
                        .releases = p.releases};
  };
  profile_note gemms = note(profile_part::gemms, machine, catalog::gemm_log_sigmas_of(a));
  if (original != &catalog::measured_a100) {
    gemms.dequantisation_source = &catalog::sources::dequantised_elsewhere;
  }
  profile_note of_experts = note(profile_part::experts, experts, catalog::expert_log_sigmas_of(a));
  if (runs_nvfp4) {
    of_experts.as_stored_source = &catalog::sources::nvfp4_experts_elsewhere;
    of_experts.by_kind[static_cast<std::size_t>(expert_kind::as_stored)] =
        catalog::measured_rtx_pro_6000.expert_log_sigmas[0];
  }
  c.notes = {gemms,
             profile_note{.part = profile_part::quantisation,
                          .from = c.engine.from,
                          .log_sigma = c.engine.log_sigma},
             note(profile_part::attention, attention, catalog::attention_log_sigmas_of(a)),
             of_experts,
             note(profile_part::links, links, catalog::link_log_sigmas_of(a)),
             note(profile_part::network, network)};
  c.target = {a.name, a.architecture, e};
  c.services = catalog::service_uncertainty_of(a, e);
  require_valid(c, "calibration");
  return c;
}

/// Calibrated policy of a deployment: calibrated_for(d.device, d.serving_engine, d.release).
template <class Deployment>
  requires requires(const Deployment& d) {
    { d.device } -> std::convertible_to<const accelerator&>;
    { d.serving_engine } -> std::convertible_to<engine>;
    { d.release } -> std::convertible_to<engine_release>;
  }
constexpr calibrated calibrated_for(const Deployment& d) {
  return calibrated_for(d.device, d.serving_engine, d.release);
}

}  // namespace perfmodel::inline v0_3
