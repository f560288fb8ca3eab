// How far profiles are off on shapes that their fits have not seen, by kind of operator: log_sigma.
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

namespace perfmodel::catalog {

namespace sources {
inline constexpr source dequantised_elsewhere{
    basis::derived,
    "the machine's own products, and what widening a weight takes on A100, where it was measured"};
}  // namespace sources

/// log_sigma of one measured machine by kind, in the order of gemm_kind, attention_kind and expert_kind;
/// 0: not measured. 84 to 89 % of the rows that fits without their n, their k, a third of the m (products),
/// their head counts, batches or lengths (attention), or their model's shape (experts) had not seen are
/// inside: shapes further away than these groups were 1.2 to 1.5 times as far off as the same rows in sample.
/// docs/validation/coverage.md has the table, tests/property/coverage_measured.cpp repeats it.
struct measured_widths {
  const measured_machine* on;
  kind_log_sigmas products{}, attention{}, experts{};
};
inline constexpr std::array<measured_widths, 8> all_measured_widths = {{
    {&measured_a100, {0.10, 0.0, 0.0, 0.0, 0.155, 0.155}, {0.086, 0.0, 0.066, 0.0}, {0.15}},
    {&measured_h100,
     {0.078, 0.086, 0.093},
     {0.079, 0.094, 0.081, 0.080},
     {0.135, 0.0, 0.052, 0.096}},
    {&measured_h200,
     {0.086, 0.086, 0.118},
     {0.088, 0.082, 0.071, 0.085},
     {0.15, 0.0, 0.070, 0.112}},
    {&measured_b200,
     {0.118, 0.13, 0.082, 0.133},
     {0.114, 0.100, 0.103, 0.090},
     {0.11, 0.0, 0.14, 0.105}},
    {&measured_l40s, {0.160, 0.150, 0.220}, {0.071, 0.097, 0.112, 0.103}, {}},
    {&measured_rtx_pro_6000, {0.105}},
    {&measured_mi300x, {0.0, 0.0, 0.16}, {}, {0.062, 0.0, 0.225}},
    {&measured_mi355x, {0.26, 0.19, 0.25, 0.0, 0.35}, {}, {0.145, 0.14, 0.20}},
}};

constexpr const measured_widths& measured_widths_of(const measured_machine& on) {
  for (const measured_widths& w : all_measured_widths) {
    if (w.on == &on) return w;
  }
  return all_measured_widths[0];
}
/// What a loan states of each kind: the donor's width, or the loan's where that is wider; of a kind that the donor was
/// not measured in, the wider of its profile's and the loan's, and what an unseen format adds. None of a donor that
/// was measured in none.
constexpr kind_log_sigmas lent(kind_log_sigmas widths, double profile, double loan) {
  if (std::ranges::all_of(widths, [](double w) { return w == 0.0; })) return widths;
  for (double& w : widths) {
    w = w > 0.0 ? (std::max)(w, loan)
                : in_quadrature((std::max)(profile, loan), unseen_format_log_sigma);
  }
  return widths;
}

/// By kind of products, attention and experts on an accelerator: its own, or what a loan from its donor states.
/// Products of narrow weights were measured on A100 alone: elsewhere A100's, and what a loan from it states beside it.
/// Test: h100_sxm's are the table's; h20's are wider; so is what H100 says of narrow weights.
constexpr kind_log_sigmas lent_product_widths(const accelerator& a, const measured_machine& from) {
  return lent(measured_widths_of(from).products, from.machine->log_sigma,
              transfer_log_sigma(a, from.device()));
}
constexpr kind_log_sigmas lent_attention_widths(const accelerator& a,
                                                const measured_machine& from) {
  const auto of = [&](bool prompts) {
    return lent(measured_widths_of(from).attention, from.attention->log_sigma,
                attention_transfer_log_sigma(a, from.device(), prompts));
  };
  const kind_log_sigmas decode = of(false);
  kind_log_sigmas widths = of(true);
  for (const attention_kind k : {attention_kind::decode, attention_kind::low_precision_decode}) {
    widths[static_cast<std::size_t>(k)] = decode[static_cast<std::size_t>(k)];
  }
  return widths;
}
constexpr kind_log_sigmas gemm_log_sigmas_of(const accelerator& a) {
  const measured_machine* own = measured_as(a);
  const measured_machine& from = own != nullptr ? *own : donor_of(a);
  kind_log_sigmas widths =
      own != nullptr ? measured_widths_of(from).products : lent_product_widths(a, from);
  constexpr auto kind = static_cast<std::size_t>(gemm_kind::dequantised);
  if (measured_widths_of(from).products[kind] == 0.0 && !is_measured_amd(a)) {
    widths[kind] = in_quadrature(measured_widths_of(measured_a100).products[kind],
                                 transfer_log_sigma(a, measured_a100.device()));
  }
  return widths;
}
constexpr kind_log_sigmas attention_log_sigmas_of(const accelerator& a) {
  const measured_machine* own = measured_as(a);
  return own != nullptr ? measured_widths_of(*own).attention
                        : lent_attention_widths(a, nearest_relative_of(a));
}
/// Of AMD's by chip or its relative; elsewhere the machine's own or those of its generation, by the kinds that were
/// measured, 0.065 or more (fp8 between H100 and H200: 0.04 to 0.06); between generations moe_profile_of states what
/// is taken, and less of whole experts on each rank (B200's by CUTLASS's numbers from Hopper: 0.14 holds 87 %).
constexpr kind_log_sigmas lent_expert_widths(const accelerator& a, const measured_machine& from) {
  if (is_measured_amd(a)) return measured_widths_of(from).experts;
  const double loan = transfer_log_sigma(a, from.device());
  kind_log_sigmas widths{};
  if (same_generation(a, from.device())) {
    widths = measured_widths_of(from).experts;
    const double seen = (std::max)(0.065, 0.15 * machine_distance(a, from.device()));
    for (double& w : widths) w = w > 0.0 ? (std::max)(w, seen) : 0.0;
  } else {
    widths.fill((std::max)(lent_experts_log_sigma, loan));
    widths[static_cast<std::size_t>(expert_kind::spread)] = (std::max)(0.14, loan);
  }
  return widths;
}
constexpr kind_log_sigmas expert_log_sigmas_of(const accelerator& a) {
  const measured_machine* own = measured_as(a);
  return own != nullptr ? measured_widths_of(*own).experts : lent_expert_widths(a, donor_of(a));
}

// How services differ from the shipped profile of their engine.

namespace sources {
inline constexpr source own_services{
    basis::measured,
    "fitted to 68 services in ai-dynamo/aiconfigurator 095f58a5 and InferenceX (December 2025, "
    "Apache-2.0)"};
}  // namespace sources

/// Printed by tools/fit/fit_services.cpp: the spread of the parameters over 68 published
/// services of at least 8 runs (five models, H100, H200, B200; vLLM, SGLang, TensorRT-LLM), what is
/// left of their runs' errors, and how alike that is from service to service.
/// Tests: tests/property/own_services.cpp.
inline constexpr service_residual_sigma spread_between_services{
    .of = {0.0889, 578e-6, 5.42e-6, 0.202, 7.05e-3, 7.48},
    .token_noise = 0.0394,
    .first_token_noise = 0.0919,
    .noise_runs = 1.75,
    .from = &sources::own_services};

// How far services of engines were seen to be off, with what they share with the fit left out of it.

/// Of the pools that were measured, with all engines.
inline constexpr double pool_token_log_sigma = 0.125;

/// Around the kernels of an engine's services where it was fitted, on NVIDIA's: what holds some 80 % of the
/// services of models, and of accelerators, that its fit had not seen. tools/fit/fit_engines.cpp
/// prints it, tests/property/service_coverage_recorded.cpp holds these to it.
inline constexpr service_uncertainty widths_vllm{
    .token = 0.107, .first_token = 0.31, .pool_token = pool_token_log_sigma};
inline constexpr service_uncertainty widths_sglang{.token = 0.155,
                                                   .first_token = 0.70,
                                                   .of_dequantised_experts = 0.24,
                                                   .pool_token = pool_token_log_sigma};
inline constexpr service_uncertainty widths_trtllm{.token = 0.14,
                                                   .first_token = 0.30,
                                                   .of_dequantised_experts = 0.24,
                                                   .pool_token = pool_token_log_sigma};

/// Of an engine on an accelerator. What nobody fitted, an engine without a name or one on another maker's
/// accelerators, has the widths of 89 loads of 13 services on MI325X and MI355X.
/// Test: vllm's are its own on h200_sxm, and on mi355x those of none.
constexpr service_uncertainty service_uncertainty_of(const accelerator& a, engine by) {
  if (facts_of(a.architecture).kind != machine_kind::gpu_nvidia) return {};
  constexpr service_uncertainty all[] = {{}, widths_vllm, widths_sglang, widths_trtllm};
  return perfmodel::detail::entry_of(all, by, "engine");
}

}  // namespace perfmodel::catalog
