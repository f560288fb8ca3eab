// How far services of engines were seen to be off, with what they share with the fit left out of it.
#pragma once

#include <perfmodel/calibrated/engine.hpp>
#include <perfmodel/calibrated/service_widths.hpp>
#include <perfmodel/core/entry_of.hpp>
#include <perfmodel/hardware/accelerator.hpp>

namespace perfmodel::catalog {

/// Of the pools that were measured, with all engines.
inline constexpr double pool_token_log_sigma = 0.125;

/// Around the kernels of an engine's services where it was fitted, on NVIDIA's: what holds some 80 % of the
/// services of models, and of accelerators, that its fit had not seen. validation/calibrate/fit_engines.cpp
/// prints it, tests/property/service_coverage_recorded.cpp holds these to it.
inline constexpr service_widths widths_vllm{
    .token = 0.107, .first_token = 0.31, .pool_token = pool_token_log_sigma};
inline constexpr service_widths widths_sglang{.token = 0.155,
                                              .first_token = 0.70,
                                              .of_widened_experts = 0.24,
                                              .pool_token = pool_token_log_sigma};
inline constexpr service_widths widths_trtllm{.token = 0.14,
                                              .first_token = 0.30,
                                              .of_widened_experts = 0.24,
                                              .pool_token = pool_token_log_sigma};

/// Of an engine on an accelerator. What nobody fitted, an engine without a name or one on another maker's
/// accelerators, has the widths of 89 loads of 13 services on MI325X and MI355X.
/// Test: vllm's are its own on h200_sxm, and on mi355x those of none.
constexpr service_widths service_widths_of(const accelerator& a, engine by) {
  if (facts_of(a.architecture).kind != machine_kind::gpu_nvidia) return {};
  constexpr service_widths all[] = {{}, widths_vllm, widths_sglang, widths_trtllm};
  return perfmodel::detail::entry_of(all, by, "engine");
}

}  // namespace perfmodel::catalog
