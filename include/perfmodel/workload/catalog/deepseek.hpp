// DeepSeek's models: multi-head latent attention, many small experts, some always on, and the first
// layers dense.
#pragma once

#include <perfmodel/workload/model/transformer.hpp>

namespace perfmodel::catalog {

/// fp8 with a 32-bit scale per block of 128 x 128. Source: DeepSeek-V3's config.json,
/// quantization_config, and its technical report (arXiv 2412.19437), section 3.3.2.
inline constexpr storage_format fp8_blocks{number_format::fp8, 128 * 128, 32};

/// head_dim 192 = 128 without position + 64 rotary. Its router's bias is the selection bias that
/// balances the load (arXiv 2412.19437, section 2.1.2).
inline constexpr latent_attention_shape deepseek_v3_attention{.query_heads = 128,
                                                              .head_dim = 192,
                                                              .value_dim = 128,
                                                              .kv_rank = 512,
                                                              .rope_dim = 64,
                                                              .query_rank = 1536};
inline constexpr expert_shape deepseek_v3_experts{.experts = 256,
                                                  .top_k = 8,
                                                  .intermediate = 2048,
                                                  .shared_intermediate = 2048,
                                                  .router_bias = true};

inline constexpr transformer deepseek_v3{
    .name = "deepseek_v3",
    .hidden = 7168,
    .vocabulary = 129280,
    .layers = {{3, deepseek_v3_attention, dense_shape{18432}},
               {58, deepseek_v3_attention, deepseek_v3_experts}},
    .max_context = 163840,
    .mtp = layer_shape{1, deepseek_v3_attention, deepseek_v3_experts},
    .stored = {fp8_blocks, number_format::bf16},
};

/// The shapes of DeepSeek-V3, trained further.
inline constexpr transformer deepseek_r1 = [] {
  transformer m = deepseek_v3;
  m.name = "deepseek_r1";
  return m;
}();

/// DeepSeek-V3 with sparse attention: an indexer chooses the 2048 tokens that a query attends to.
inline constexpr latent_attention_shape deepseek_v3_2_attention = [] {
  latent_attention_shape a = deepseek_v3_attention;
  a.indexer = attention_indexer{.heads = 64, .dim = 128, .top_k = 2048};
  return a;
}();
inline constexpr transformer deepseek_v3_2{
    .name = "deepseek_v3_2",
    .hidden = 7168,
    .vocabulary = 129280,
    .layers = {{3, deepseek_v3_2_attention, dense_shape{18432}},
               {58, deepseek_v3_2_attention, deepseek_v3_experts}},
    .max_context = 163840,
    .mtp = layer_shape{1, deepseek_v3_2_attention, deepseek_v3_experts},
    .stored = {fp8_blocks, number_format::bf16},
};

inline constexpr latent_attention_shape deepseek_v2_lite_attention{
    .query_heads = 16, .head_dim = 192, .value_dim = 128, .kv_rank = 512, .rope_dim = 64};

inline constexpr transformer deepseek_v2_lite{
    .name = "deepseek_v2_lite",
    .hidden = 2048,
    .vocabulary = 102400,
    .layers = {{1, deepseek_v2_lite_attention, dense_shape{10944}},
               {26, deepseek_v2_lite_attention,
                expert_shape{
                    .experts = 64, .top_k = 6, .intermediate = 1408, .shared_intermediate = 2816}}},
    .max_context = 163840,
};

}  // namespace perfmodel::catalog
