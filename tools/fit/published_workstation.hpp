// Rows of vLLM 0.19's kernels on RTX PRO 6000, published by LLMServingSim, as workloads of this
// library.
#pragma once

#include <algorithm>
#include <perfmodel/kernels/attention_mixed.hpp>
#include <perfmodel/kernels/elementwise.hpp>
#include <perfmodel/kernels/gemm.hpp>
#include <perfmodel/kernels/moe.hpp>
#include <perfmodel/roofline.hpp>
#include <string>
#include <variant>
#include <vector>

#include "tables.hpp"

namespace published {

/// What the two models of the tables are.
struct workstation_model {
  double hidden, query_heads, kv_heads, head_dim, intermediate, vocabulary;
  double experts_read;  ///< experts of a token; all tokens of the benchmark choose the same
};
inline const workstation_model& workstation_model_named(const std::string& name) {
  static constexpr workstation_model llama{4096, 32, 8, 128, 14336, 128256, 0};
  static constexpr workstation_model qwen{2048, 32, 4, 128, 768, 151936, 8};
  return name.starts_with("Qwen") ? qwen : llama;
}

/// Latency of one element-wise kernel as a step counts it: a norm with a residual is two of them.
struct workstation_row {
  std::string model, layer, group;  ///< group: layer and width, "qkv_proj 6144x4096"
  std::string source;               ///< model and ranks
  std::variant<pm::gemm, pm::elementwise, pm::norm, pm::embedding> workload;
  double copies =
      0.0;  ///< weight buffers: how often the bytes of the layer contain those of the weights
  const pm::accelerator* device = &pm::catalog::rtx_pro_6000;
  double seconds = 0.0;

  bool is_gemm() const { return std::holds_alternative<pm::gemm>(workload); }
  const pm::gemm& product() const { return std::get<pm::gemm>(workload); }
  pm::duration<> bound() const {
    return std::visit([&](const auto& w) { return pm::roofline(*device, w).time; }, workload);
  }
  /// Whatever the run before left in L2 is found there.
  template <class T>
  pm::basic_estimate<T> streamed(const pm::basic_accelerator<T>& a,
                                 const pm::basic_machine_parameters<T>& p,
                                 const pm::basic_memory_bound_kernels<T>& k) const {
    const auto of = [&]<class Work>(const Work& w) -> pm::basic_estimate<T> {
      if constexpr (std::same_as<Work, pm::gemm>) {
        return {};
      } else {
        return pm::calibrated_estimate(a, pm::lift<T>(w), {p, k}, {.cache = pm::cache_state::warm});
      }
    };
    return std::visit(of, workload);
  }
};

/// Bytes of a layer's weights on one device; the benchmark runs the same layer repeatedly.
inline double workstation_layer_bytes(const workstation_model& m, double tp) {
  const double heads = (2.0 * m.query_heads + 2.0 * m.kv_heads) * m.head_dim;
  const double ffn =
      3.0 * m.intermediate * m.hidden * (m.experts_read > 0.0 ? m.experts_read : 1.0);
  return 2.0 * (heads * m.hidden + ffn) / tp;
}

/// Columns and depth of a layer's product; 0 for layers that are none.
inline pm::gemm workstation_gemm(const std::string& layer, const workstation_model& m, double tp) {
  pm::gemm g{.format = pm::bf16, .weights = pm::bf16, .output = pm::bf16};
  const double q = m.query_heads * m.head_dim / tp;
  if (layer == "qkv_proj") g.n = q + 2.0 * m.kv_heads * m.head_dim / tp, g.k = m.hidden;
  if (layer == "o_proj") g.n = m.hidden, g.k = q;
  if (layer == "gate_up_proj") g.n = 2.0 * m.intermediate / tp, g.k = m.hidden;
  if (layer == "down_proj") g.n = m.hidden, g.k = m.intermediate / tp;
  if (layer == "lm_head") g.n = m.vocabulary / tp, g.k = m.hidden;
  return g;
}

/// Element-wise kernels, without the normalisation of heads, which has too short blocks, and the
/// sampler, which is many kernels. The first normalisation of a layer has no residual, the last one
/// has.
inline bool set_streaming(workstation_row& r, const workstation_model& m, double tokens,
                          double tp) {
  const double heads = (m.query_heads + m.kv_heads) * m.head_dim / tp;
  if (r.layer == "layernorm" || r.layer == "final_layernorm") {
    r.workload =
        pm::norm{.rows = tokens, .width = m.hidden, .residual = r.layer == "final_layernorm"};
  } else if (r.layer == "rotary_emb") {
    r.workload = pm::elementwise{.elements = tokens * heads, .flop_per_element = 3.0};
  } else if (r.layer == "act_fn") {
    r.workload = pm::elementwise{
        .elements = tokens * m.intermediate / tp, .inputs = 2.0, .flop_per_element = 5.0};
  } else if (r.layer == "embedding") {
    r.workload = pm::embedding{.tokens = tokens, .vocabulary = m.vocabulary, .hidden = m.hidden};
  } else {
    return false;
  }
  return true;
}

/// GEMMs and element-wise kernels; neither experts nor the sampler.
inline std::vector<workstation_row> workstation_rows(const std::string& folder) {
  std::vector<workstation_row> rows;
  for (const auto& c : rows_of(folder, "rtx_pro_6000_ops_public.csv")) {
    const workstation_model& m = workstation_model_named(c.text("model"));
    const double tp = c.count("tp");
    const double tokens = c.count(c.has("tokens") ? "tokens" : "sequences");
    workstation_row r;
    r.model = c.text("model");
    r.source = common::cat(r.model, ' ', c.text("tp"));
    r.group = r.layer = c.text("layer");
    r.seconds = c.seconds();
    pm::gemm g = workstation_gemm(r.layer, m, tp);
    if (g.k > 0.0) {
      g.m = tokens;
      r.group = common::cat(r.layer, ' ', std::to_string(static_cast<int>(g.n)), 'x',
                            std::to_string(static_cast<int>(g.k)));
      if (r.layer != "lm_head") r.copies = workstation_layer_bytes(m, tp) / (2.0 * g.n * g.k);
      r.workload = g;
    } else if (!set_streaming(r, m, tokens, tp)) {
      continue;
    }
    rows.push_back(r);
  }
  return rows;
}

/// Latency of one element-wise kernel of a step. A norm with a residual counts as two of
/// them.
struct small_kernel_row {
  std::string model, layer;
  pm::elementwise_kernel kind{};
  std::variant<pm::elementwise, pm::norm> workload;
  std::optional<pm::norm> beside{};
  double seconds = 0.0;

  template <class T>
  T predicted(const pm::basic_accelerator<T>& a, const pm::basic_machine_parameters<T>& m,
              const pm::basic_elementwise_kernels<T>& s) const {
    const auto of = [&](const auto& w) {
      return pm::elementwise_kernel_time(a, kind, pm::lift<T>(w), m, s).value();
    };
    T time = std::visit(of, workload);
    if (beside) {
      time += pm::calibrated_estimate(a, pm::lift<T>(*beside), {m, {.kernel_time = s.kernel_time}},
                                      {.cache = pm::cache_state::warm})
                  .time.value();
    }
    return time;
  }
};

/// Rows of norms of heads are the same for one device and two: both have all heads.
inline std::vector<small_kernel_row> small_kernel_rows(const std::string& folder) {
  std::vector<small_kernel_row> rows;
  for (const auto& c : rows_of(folder, "rtx_pro_6000_ops_public.csv")) {
    const workstation_model& m = workstation_model_named(c.text("model"));
    const double tp = c.count("tp");
    const double tokens = c.count(c.has("tokens") ? "tokens" : "sequences");
    const double heads = m.query_heads + m.kv_heads;
    small_kernel_row r;
    r.model = c.text("model");
    r.layer = c.text("layer");
    r.seconds = c.seconds();
    if (r.layer == "final_layernorm") {
      r.kind = pm::elementwise_kernel::residual;
      r.workload = pm::elementwise{.elements = tokens * m.hidden};
      r.beside = pm::norm{.rows = tokens, .width = m.hidden};
    } else if (r.layer == "rotary_emb") {
      r.kind = pm::elementwise_kernel::rotary;
      r.workload = pm::elementwise{.elements = tokens * heads * m.head_dim / tp};
    } else if (r.layer == "qk_norm") {
      r.kind = pm::elementwise_kernel::head_norm;
      r.workload = pm::norm{.rows = tokens * heads, .width = m.head_dim};
    } else if (r.layer == "act_fn") {
      r.kind = pm::elementwise_kernel::activation;
      r.workload = pm::elementwise{.elements = tokens * m.intermediate / tp, .inputs = 2.0};
    } else if (r.layer == "sampler") {
      r.kind = pm::elementwise_kernel::sampler;
      r.workload = pm::elementwise{
          .elements = tokens * m.vocabulary, .outputs = 0.0, .format = pm::number_format::fp32};
    } else {
      continue;
    }
    rows.push_back(r);
  }
  return rows;
}

/// The latency of Qwen3's experts, of which the benchmark's tokens choose among a few.
struct expert_row {
  std::string group;  ///< how many
  pm::moe_ffn workload;
  double seconds = 0.0;

  template <class T>
  T predicted(const pm::basic_accelerator<T>& a, const pm::basic_machine_parameters<T>& m,
              const pm::basic_moe_kernels<T>& k) const {
    return pm::calibrated_estimate(a, pm::lift<T>(workload), {m, k},
                                   {.routing = pm::expert_routing::balanced})
        .time.value();
  }
};

/// Rows without those of 8 experts, which keep 75 MB in L2 from run to run.
inline std::vector<expert_row> expert_rows(const std::string& folder) {
  std::vector<expert_row> rows;
  for (const auto& c : rows_of(folder, "rtx_pro_6000_ops_public.csv")) {
    if (c.text("layer") != "moe" || c.text("activated_experts") == "8") continue;
    expert_row r;
    r.group = c.text("activated_experts");
    r.workload = {.tokens = c.count("tokens"),
                  .hidden = 2048.0,
                  .intermediate = 768.0,
                  .experts = c.count("activated_experts"),
                  .top_k = 8.0};
    r.seconds = c.seconds();
    rows.push_back(r);
  }
  return rows;
}

/// The latency of one attention kernel over a chunk of a prompt and decodes.
struct mixed_attention_row {
  std::string model, decodes_group, context_group, chunk_group;
  pm::attention_prefill prompt;
  pm::attention_decode decodes;
  double seconds = 0.0;

  /// FLOP and bytes of both parts at the data sheet's rates.
  double bound(const pm::accelerator& a) const {
    const auto x = demand_of(prompt), y = demand_of(decodes);
    return std::max((x.matrix_flop + y.matrix_flop).value() / pm::peak(a, pm::bf16).value(),
                    (x.dram.total() + y.dram.total()).value() / a.dram.bandwidth.value());
  }
};

/// Rows with both parts.
inline std::vector<mixed_attention_row> mixed_attention_rows(const std::string& folder) {
  std::vector<mixed_attention_row> out;
  for (const auto& c : rows_of(folder, "rtx_pro_6000_attention_mixed_public.csv")) {
    const workstation_model& m = workstation_model_named(c.text("model"));
    if (c.text("decode_sequences") == "0" || c.text("prefill_chunk_tokens") == "0") continue;
    const double tp = c.count("tp");
    mixed_attention_row r;
    r.model = c.text("model");
    r.decodes_group = c.text("decode_sequences");
    r.context_group = c.text("decode_kv_tokens_each");
    r.chunk_group = c.text("prefill_chunk_tokens");
    r.prompt = {.batch = 1.0,
                .tokens = c.count("prefill_chunk_tokens"),
                .query_heads = m.query_heads / tp,
                .kv_heads = m.kv_heads / tp,
                .head_dim = m.head_dim,
                .past = c.number("prefill_past_tokens")};
    r.decodes = {.batch = c.count("decode_sequences"),
                 .context = c.count("decode_kv_tokens_each"),
                 .query_heads = m.query_heads / tp,
                 .kv_heads = m.kv_heads / tp,
                 .head_dim = m.head_dim};
    r.seconds = c.seconds();
    out.push_back(r);
  }
  return out;
}

}  // namespace published
