// Stated log_sigma of profiles transferred to measured machines, by the operator names of the
// tables.
#pragma once

#include <algorithm>
#include <cstddef>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/kernels/catalog/uncertainty.hpp>
#include <stdexcept>
#include <string>

namespace transferred {

namespace pm = perfmodel;

struct named_kind {
  const char* operation;
  std::size_t kind;
};
inline constexpr named_kind products[] = {
    {"products bfloat16", static_cast<std::size_t>(pm::gemm_kind::sixteen_bit)},
    {"products fp8", static_cast<std::size_t>(pm::gemm_kind::eight_bit)},
    {"products fp8_block", static_cast<std::size_t>(pm::gemm_kind::eight_bit_blocks)},
    {"products nvfp4", static_cast<std::size_t>(pm::gemm_kind::four_bit)},
    {"products sq", static_cast<std::size_t>(pm::gemm_kind::integer)}};
inline constexpr named_kind attention[] = {
    {"decode bf16", static_cast<std::size_t>(pm::attention_kind::decode)},
    {"decode fp8", static_cast<std::size_t>(pm::attention_kind::low_precision_decode)},
    {"prefill bf16", static_cast<std::size_t>(pm::attention_kind::prefill)},
    {"prefill fp8", static_cast<std::size_t>(pm::attention_kind::low_precision_prefill)}};
inline constexpr named_kind experts[] = {
    {"experts bf16", static_cast<std::size_t>(pm::expert_kind::as_stored)},
    {"experts fp8", static_cast<std::size_t>(pm::expert_kind::low_precision)},
    {"experts fp8, spread", static_cast<std::size_t>(pm::expert_kind::expert_parallel)}};

/// Whether uncertainty.hpp states a log_sigma of transfers for it; links have their own.
inline bool is_transferred_operation(const std::string& operation) {
  return operation.starts_with("products") || operation.starts_with("experts") ||
         operation.starts_with("decode") || operation.starts_with("prefill");
}

/// log_sigma of a profile transferred from the nearest other machine, and the source's own for that
/// kind, 0 where it has no measurement.
struct uncertainty {
  double stated = 0.0, of_source = 0.0;
  bool is_same_generation = false;
};
inline uncertainty uncertainty_of(const std::string& operation, const pm::accelerator& a) {
  using namespace pm::catalog;
  const measured_machine &by = gemm_donor_of(a), &near = nearest_donor_of(a);
  const bool same = is_same_generation(a, by.device());
  for (const auto& [name, kind] : products) {
    if (operation != name) continue;
    return {transferred_gemm_log_sigmas(a, by)[kind], by.gemm_log_sigmas[kind], same};
  }
  for (const auto& [name, kind] : attention) {
    if (operation != name) continue;
    return {transferred_attention_log_sigmas(a, near)[kind], near.attention_log_sigmas[kind], same};
  }
  for (const auto& [name, kind] : experts) {
    if (operation != name) continue;
    return {transferred_expert_log_sigmas(a, by)[kind], by.expert_log_sigmas[kind], same};
  }
  throw std::invalid_argument("no such operation: " + operation);
}

}  // namespace transferred
