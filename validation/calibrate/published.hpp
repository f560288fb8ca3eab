// Rows of the published attention and expert latencies, as this project's workloads.
#pragma once

#include <perfmodel/calibrated/attention.hpp>
#include <perfmodel/calibrated/catalog/transfer.hpp>
#include <perfmodel/calibrated/moe.hpp>
#include <perfmodel/hardware/catalog/nvidia_ada.hpp>
#include <perfmodel/hardware/catalog/nvidia_ampere.hpp>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <string>
#include <vector>

#include "csv.hpp"

namespace published {

namespace pm = perfmodel;

inline const pm::accelerator* accelerator_of(const std::string& name) {
  if (name == "a100_sxm") return &pm::catalog::a100_sxm_80gb;
  if (name == "h100_sxm") return &pm::catalog::h100_sxm;
  if (name == "h200_sxm") return &pm::catalog::h200_sxm;
  if (name == "b200_sxm") return &pm::catalog::b200_sxm;
  if (name == "l40s") return &pm::catalog::l40s;
  return nullptr;
}

inline const pm::attention_kernels& attention_kernels_of(const std::string& backend) {
  if (backend.find("trtllm") != std::string::npos) return pm::catalog::tensorrt_llm;
  if (backend.find("fa3") != std::string::npos) return pm::catalog::flash_attention_3;
  if (backend.find("_fi") != std::string::npos) return pm::catalog::flashinfer;
  return pm::catalog::flash_attention_2;
}

inline const pm::moe_kernels& moe_kernels_of(const std::string& backend) {
  if (backend.find("cutlass") != std::string::npos) return pm::catalog::cutlass_experts;
  if (backend.find("fp8moe") != std::string::npos) return pm::catalog::triton_fp8_experts;
  return pm::catalog::triton_experts;
}

inline pm::number_format format_of(const std::string& name) {
  return name.rfind("fp8", 0) == 0 ? pm::fp8 : pm::bf16;
}

/// One latency of attention, over a cache (decode) or a prompt.
struct attention_row {
  std::string gpu, group;  ///< group: the head counts, "32/8"
  bool decode = false;
  double batch = 0.0, length = 0.0, query_heads = 0.0, kv_heads = 0.0, head_dim = 0.0;
  pm::number_format format{}, kv_format{};
  const pm::accelerator* device = nullptr;
  const pm::attention_kernels* kernels = nullptr;
  double seconds = 0.0;

  template <class T>
  pm::basic_estimate<T> estimate(const pm::basic_accelerator<T>& a,
                                 const pm::basic_attention_parameters<T>& p) const {
    const auto k = pm::lift<T>(*kernels);
    if (decode)
      return pm::calibrated_estimate(a, pm::lift<T>(decode_workload()), {p, k},
                                     {.cache = pm::cache_state::warm});
    return pm::calibrated_estimate(a, pm::lift<T>(prefill_workload()), {p, k},
                                   {.cache = pm::cache_state::warm});
  }
  pm::estimate estimate(const pm::attention_parameters& p) const { return estimate(*device, p); }
  /// "decode bf16", "prefill fp8": the format is the cache's.
  std::string kind() const {
    return std::string(decode ? "decode " : "prefill ") + pm::name_of(kv_format);
  }
  pm::attention_decode decode_workload() const {
    return {.batch = batch,
            .context = length,
            .query_heads = query_heads,
            .kv_heads = kv_heads,
            .head_dim = head_dim,
            .format = format,
            .kv_format = kv_format};
  }
  pm::attention_prefill prefill_workload() const {
    return {.batch = batch,
            .tokens = length,
            .query_heads = query_heads,
            .kv_heads = kv_heads,
            .head_dim = head_dim,
            .format = format,
            .kv_format = kv_format};
  }
};

inline std::vector<attention_row> attention_rows(const std::string& folder) {
  std::vector<attention_row> out;
  for (const bool decode : {true, false}) {
    const char* file = decode ? "/aic_attn_decode_public.csv" : "/aic_attn_context_public.csv";
    for (const auto& r : rows_of(folder + file)) {
      attention_row x{.gpu = r[0],
                      .group = r[6] + "/" + r[7],
                      .decode = decode,
                      .batch = std::stod(r[4]),
                      .length = std::stod(r[5]),
                      .query_heads = std::stod(r[6]),
                      .kv_heads = std::stod(r[7]),
                      .head_dim = std::stod(r[8]),
                      .format = format_of(r[2]),
                      .kv_format = format_of(r[3]),
                      .device = accelerator_of(r[0]),
                      .kernels = &attention_kernels_of(r[1]),
                      .seconds = std::stod(r[9]) * 1e-6};
      if (x.device != nullptr) out.push_back(x);
    }
  }
  return out;
}

/// One latency of an expert block.
struct moe_row {
  std::string gpu, group;  ///< group: the model's shape, "4096x14336x8"
  pm::moe_ffn workload;
  const pm::accelerator* device = nullptr;
  const pm::moe_kernels* kernels = nullptr;
  double seconds = 0.0;

  std::string kind() const { return kernels->name.c_str(); }
  template <class T>
  pm::basic_estimate<T> estimate(const pm::basic_accelerator<T>& a,
                                 const pm::basic_machine_parameters<T>& p) const {
    return pm::calibrated_estimate(a, pm::lift<T>(workload), {p, pm::lift<T>(*kernels)},
                                   {.routing = pm::routing::balanced});
  }
  pm::estimate estimate(const pm::machine_parameters& p) const { return estimate(*device, p); }
};

/// Rows whose router may not choose freely: of 256 experts in 8 groups a token takes 4 groups, and in
/// the published benchmark every token the same ones, so half of the experts are never read (64 tokens
/// take no longer than 151 experts do at the full bandwidth). No law here has that routing.
inline bool routed_by_groups(const std::string& experts) {
  return experts == "256";
}

inline std::vector<moe_row> moe_rows(const std::string& folder) {
  std::vector<moe_row> out;
  for (const auto& r : rows_of(folder + "/aic_moe_balanced_public.csv")) {
    if (routed_by_groups(r[7])) continue;
    moe_row x{.gpu = r[0],
              .group = r[4] + "x" + r[5] + "x" + r[7],
              .workload = {.tokens = std::stod(r[3]),
                           .hidden = std::stod(r[4]),
                           .intermediate = std::stod(r[5]),
                           .experts = std::stod(r[7]),
                           .top_k = std::stod(r[6]),
                           .tensor_parallel = std::stod(r[8]),
                           .expert_parallel = std::stod(r[9]),
                           .format = format_of(r[2])},
              .device = accelerator_of(r[0]),
              .kernels = &moe_kernels_of(r[1]),
              .seconds = std::stod(r[10]) * 1e-6};
    if (x.device != nullptr) out.push_back(x);
  }
  return out;
}

}  // namespace published
