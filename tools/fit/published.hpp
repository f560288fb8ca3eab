// Rows of the published attention and expert latencies, as this project's workloads.
#pragma once

#include <perfmodel/kernels/attention.hpp>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/kernels/moe.hpp>
#include <string>
#include <vector>

#include "tables.hpp"

namespace published {

inline const pm::attention_kernels& attention_kernels_of(const std::string& backend) {
  if (backend.find("trtllm") != std::string::npos) return pm::catalog::tensorrt_llm;
  if (backend.find("fa3") != std::string::npos) return pm::catalog::flash_attention_3;
  if (backend.find("_fi") != std::string::npos) return pm::catalog::flashinfer;
  return pm::catalog::flash_attention_2;
}

/// Kernels for `experts` on a rank: SGLang's rows of A100 use tuned tiles where a file of them
/// exists.
inline const pm::moe_kernels& moe_kernels_of(const std::string& backend, double experts,
                                             double width) {
  if (backend.starts_with("sglang") && !pm::has_tuned_tiles_on_a100(experts, width)) {
    return pm::catalog::untuned_triton_experts;
  }
  if (backend.find("cutlass") != std::string::npos) return pm::catalog::cutlass_experts;
  if (backend.find("trtllmbf16") != std::string::npos) return pm::catalog::trtllm_experts;
  if (backend.find("trtllmfp8") != std::string::npos) return pm::catalog::trtllm_fp8_experts;
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
                                 pm::basic_attention_calibration<T> c) const {
    c.kernels = pm::lift<T>(*kernels);
    if (decode)
      return pm::calibrated_estimate(a, pm::lift<T>(decode_workload()), c,
                                     {.cache = pm::cache_state::warm});
    return pm::calibrated_estimate(a, pm::lift<T>(prefill_workload()), c,
                                   {.cache = pm::cache_state::warm});
  }
  pm::estimate estimate(const pm::machine_profile& m, const pm::attention_profile& p) const {
    return estimate(*device, pm::attention_calibration{m.value, p.value});
  }
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

inline attention_row attention_in(const common::table_row& r, bool decode,
                                  const pm::accelerator* device) {
  return {.gpu = r.text("gpu"),
          .group = common::cat(r.text("h_q"), '/', r.text("h_kv")),
          .decode = decode,
          .batch = r.count("batch"),
          .length = r.count(decode ? "kv_len" : "s_q"),
          .query_heads = r.count("h_q"),
          .kv_heads = r.count("h_kv"),
          .head_dim = r.count("head_dim"),
          .format = format_of(r.text("attn_dtype")),
          .kv_format = format_of(r.text("kv_dtype")),
          .device = device,
          .kernels = &attention_kernels_of(r.text("backend")),
          .seconds = r.seconds()};
}

inline std::vector<attention_row> attention_rows(const std::string& folder) {
  std::vector<attention_row> out;
  for (const bool decode : {true, false}) {
    for (const auto& r :
         rows_of(folder, decode ? "aic_attn_decode_public.csv" : "aic_attn_context_public.csv")) {
      const pm::accelerator* device = device_named(r.text("gpu"));
      if (device != nullptr) out.push_back(attention_in(r, decode, device));
    }
  }
  return out;
}

/// RTX PRO 6000 with vLLM 0.24's FlashAttention-2 and FlashInfer, without a window.
inline std::vector<attention_row> workstation_attention_rows(const std::string& folder) {
  std::vector<attention_row> out;
  for (const bool decode : {true, false}) {
    for (const auto& r : rows_of(folder, decode ? "aic_attn_decode_new_public.csv"
                                                : "aic_attn_context_new_public.csv")) {
      const bool triton = r.text("backend").find("triton") != std::string::npos;
      const bool windowed = r.text("window") != "0" && r.text("window") != "";
      if (r.text("gpu") == "rtx_pro_6000_server" && !triton && !windowed)
        out.push_back(attention_in(r, decode, &pm::catalog::rtx_pro_6000));
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
  pm::expert_routing routing = pm::expert_routing::balanced;
  double popularity_exponent = 1.2;
  bool fitted =
      true;  ///< sglang's by tuned tiles were not, nor 256 experts, nor what computes_all_choices

  std::string kind() const { return kernels->name.c_str(); }
  template <class T>
  pm::basic_call_conditions<T> conditions() const {
    return {.routing = routing, .popularity_exponent = T(popularity_exponent)};
  }
  template <class T>
  pm::basic_estimate<T> estimate(const pm::basic_accelerator<T>& a,
                                 const pm::basic_machine_parameters<T>& p) const {
    return pm::calibrated_estimate(a, pm::lift<T>(workload), {p, pm::lift<T>(*kernels)},
                                   conditions<T>());
  }
  pm::estimate estimate(const pm::machine_parameters& p) const { return estimate(*device, p); }
};

/// Rows with a restricted router: a token takes experts of 4 of 8 groups (256 experts). In the
/// published benchmark all tokens take the same groups, so half of the experts are never read (64
/// tokens take no longer than 151 experts at full bandwidth).
inline bool routed_by_groups(const std::string& experts) {
  return experts == "256";
}

/// SGLang's rows of 128 experts on 8 ranks of A100 take the time of one rank from 4,096 tokens on,
/// as if every choice of a token were computed.
inline bool computes_all_choices(const moe_row& r) {
  return r.kernels->untuned && r.workload.expert_parallel > 1.0;
}

/// The group of a row: "4096x14336x8".
inline std::string shape_in(const common::table_row& r) {
  return common::cat(r.text("hidden_size"), 'x', r.text("inter_size"), 'x', r.text("num_experts"));
}
/// The experts of a row, with weights and operands in one format.
inline pm::moe_ffn experts_in(const common::table_row& r, pm::number_format format) {
  return {.tokens = r.count("num_tokens"),
          .hidden = r.count("hidden_size"),
          .intermediate = r.count("inter_size"),
          .experts = r.count("num_experts"),
          .top_k = r.count("topk"),
          .tensor_parallel = r.count("tp"),
          .expert_parallel = r.count("ep"),
          .format = format};
}

/// `grouped`: those rows, and no others.
inline std::vector<moe_row> moe_rows(const std::string& folder, bool grouped = false) {
  std::vector<moe_row> out;
  for (const auto& r : rows_of(folder, "aic_moe_balanced_public.csv")) {
    if (routed_by_groups(r.text("num_experts")) != grouped) continue;
    moe_row x{.gpu = r.text("gpu"),
              .group = shape_in(r),
              .workload = experts_in(r, format_of(r.text("dtype"))),
              .device = device_named(r.text("gpu")),
              .kernels = &moe_kernels_of(r.text("backend"), r.count("num_experts") / r.count("ep"),
                                         r.count("inter_size") / r.count("tp")),
              .seconds = r.seconds(),
              .routing = grouped ? pm::expert_routing::grouped : pm::expert_routing::balanced,
              .fitted = !grouped};
    const bool tuned_sglang = r.text("backend").starts_with("sglang") && !x.kernels->untuned;
    x.fitted = x.fitted && !tuned_sglang && !computes_all_choices(x);
    if (x.device != nullptr) out.push_back(x);
  }
  return out;
}

/// Routing of a row: balanced, or by a power law with the exponent in its name.
inline void set_routing(moe_row& x, const std::string& distribution) {
  const std::string power_law = "power_law_";
  x.routing = pm::expert_routing::balanced;
  if (!distribution.starts_with(power_law)) return;
  x.routing = pm::expert_routing::power_law;
  x.popularity_exponent = std::stod(distribution.substr(power_law.size()));
}

/// Experts of vLLM 0.24 on RTX PRO 6000, by CUTLASS in bf16, fp8 and NVFP4, balanced or `skewed`.
/// Rows with 512 experts or a hidden size of 2,688 have no gate.
inline std::vector<moe_row> workstation_moe_rows(const std::string& folder, bool skewed = false) {
  namespace cat = pm::catalog;
  std::vector<moe_row> out;
  for (const auto& r : rows_of(folder, "aic_moe_new_public.csv")) {
    const std::string& dtype = r.text("dtype");
    const pm::moe_kernels* kernels = dtype == "bfloat16" ? &cat::cutlass_bf16_experts_rtx_pro_6000
                                     : dtype == "fp8"    ? &cat::cutlass_fp8_experts_rtx_pro_6000
                                     : dtype == "nvfp4"  ? &cat::cutlass_nvfp4_experts_rtx_pro_6000
                                                         : nullptr;
    const bool gated = r.count("num_experts") != 512.0 && r.count("hidden_size") != 2688.0;
    if (kernels == nullptr || !gated || r.text("gpu") != "rtx_pro_6000_server" ||
        (r.text("distribution") == "balanced") == skewed)
      continue;
    const pm::number_format format = dtype == "nvfp4" ? pm::fp4 : format_of(dtype);
    moe_row x{.gpu = "rtx_pro_6000",
              .group = shape_in(r),
              .workload = experts_in(r, format),
              .device = &cat::rtx_pro_6000,
              .kernels = kernels,
              .seconds = r.seconds(),
              .fitted = true};
    set_routing(x, r.text("distribution"));
    out.push_back(x);
  }
  return out;
}

/// Experts of vLLM 0.24 on H100 and H200 with routing by a power law. CUTLASS's are fitted: no
/// balanced ones with a scale per tensor are published, and those with block scales are all on
/// eight ranks. DeepSeek's 7168 x 2048 x 256 are not: their router restricts a token to groups.
/// Nemotron's have no gate.
inline std::vector<moe_row> skewed_moe_rows(const std::string& folder) {
  std::vector<moe_row> out;
  for (const auto& r : rows_of(folder, "aic_moe_new_public.csv")) {
    const std::string& dtype = r.text("dtype");
    const pm::accelerator* device = device_named(r.text("gpu"));
    const bool hopper = device != nullptr && device->architecture == pm::chip_architecture::hopper;
    if (!hopper || !r.text("distribution").starts_with("power_law_")) continue;
    if (dtype != "bfloat16" && dtype != "fp8" && dtype != "fp8_block") continue;
    const bool per_tensor = dtype == "fp8";
    const bool by_cutlass = r.text("backend").find("cutlass") != std::string::npos;
    moe_row x{.gpu = r.text("gpu"),
              .group = shape_in(r),
              .workload = experts_in(r, dtype == "bfloat16" ? pm::bf16 : pm::fp8),
              .device = device,
              .kernels = per_tensor            ? &pm::catalog::cutlass_fp8_per_tensor_experts
                         : dtype == "bfloat16" ? &pm::catalog::triton_experts
                         : by_cutlass          ? &pm::catalog::cutlass_experts
                                               : &pm::catalog::triton_fp8_experts,
              .seconds = r.seconds()};
    set_routing(x, r.text("distribution"));
    x.fitted = by_cutlass && x.group != "7168x2048x256";
    x.workload.gated = r.count("topk") != 22.0 && r.count("hidden_size") != 2688.0;
    out.push_back(x);
  }
  return out;
}

}  // namespace published
