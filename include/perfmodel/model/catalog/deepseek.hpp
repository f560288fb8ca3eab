// DeepSeek's models: multi-head latent attention, many small experts, some always on, and the first
// layers dense.
#pragma once

#include <perfmodel/model/catalog/gpt_oss.hpp>
#include <perfmodel/model/transformer.hpp>

namespace perfmodel::inline v0_3::catalog {

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

/// DeepSeek-V3 with another attention, such as V3.2's with an indexer.
constexpr transformer deepseek_v3_with(const char* name, const latent_attention_shape& a) {
  return {.name = name,
          .hidden = 7168,
          .vocabulary = 129280,
          .layers = {{3, a, dense_shape{18432}}, {58, a, deepseek_v3_experts}},
          .max_context = 163840,
          .mtp = layer_shape{1, a, deepseek_v3_experts},
          .stored = {fp8_blocks, number_format::bf16}};
}
inline constexpr transformer deepseek_v3 = deepseek_v3_with("deepseek_v3", deepseek_v3_attention);
/// The shapes of DeepSeek-V3, trained further.
inline constexpr transformer deepseek_r1 = deepseek_v3_with("deepseek_r1", deepseek_v3_attention);

/// DeepSeek-V3 with sparse attention: an indexer chooses the 2048 tokens that a query attends to.
inline constexpr latent_attention_shape deepseek_v3_2_attention = [] {
  latent_attention_shape a = deepseek_v3_attention;
  a.indexer = attention_indexer{.heads = 64, .dim = 128, .top_k = 2048};
  return a;
}();
inline constexpr transformer deepseek_v3_2 =
    deepseek_v3_with("deepseek_v3_2", deepseek_v3_2_attention);

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

// DeepSeek-V4: a window of 128 tokens and compressed entries for 4 or 128 tokens each, experts in
// MXFP4 and the rest in fp8. Left out: the hyper-connections of its residual stream.

/// Attention of DeepSeek-V4: a window of 128 tokens, and one entry per `ratio` tokens.
constexpr compressed_attention_shape deepseek_v4_attention(std::optional<double> ratio) {
  compressed_attention_shape a{.query_heads = 64,
                               .head_dim = 512,
                               .query_rank = 1024,
                               .output_groups = 8,
                               .output_rank = 1024,
                               .window = 128,
                               .ratio = ratio};
  a.overlaps = ratio == 4.0;
  if (a.overlaps) a.indexer = attention_indexer{.heads = 64, .dim = 128, .top_k = 512};
  return a;
}
inline constexpr expert_shape deepseek_v4_flash_experts{.experts = 256,
                                                        .top_k = 6,
                                                        .intermediate = 2048,
                                                        .shared_intermediate = 2048,
                                                        .router_bias = true};

inline constexpr transformer deepseek_v4_flash{
    .name = "deepseek_v4_flash",
    .hidden = 4096,
    .vocabulary = 129280,
    .layers = {{2, deepseek_v4_attention({}), deepseek_v4_flash_experts},
               {21, deepseek_v4_attention(4), deepseek_v4_flash_experts},
               {20, deepseek_v4_attention(128), deepseek_v4_flash_experts}},
    .max_context = 1048576,
    .mtp = layer_shape{1, deepseek_v4_attention({}), deepseek_v4_flash_experts},
    .stored = {fp8_blocks, mxfp4, number_format::bf16},
};

// Meituan's LongCat-Flash: each of 28 layers has two attentions and two dense networks, the first
// with experts. A token takes 12 of 512 experts and 256 empty ones, 8 experts on average.

inline constexpr latent_attention_shape longcat_flash_attention{.query_heads = 64,
                                                                .head_dim = 192,
                                                                .value_dim = 128,
                                                                .kv_rank = 512,
                                                                .rope_dim = 64,
                                                                .query_rank = 1536};
inline constexpr expert_shape longcat_flash_experts{
    .experts = 512, .top_k = 8, .intermediate = 2048, .shared_intermediate = 12288};
inline constexpr transformer longcat_flash{
    .name = "longcat_flash",
    .hidden = 6144,
    .vocabulary = 131072,
    .layers = {{28, longcat_flash_attention, longcat_flash_experts},
               {28, longcat_flash_attention, dense_shape{12288}}},
    .max_context = 131072,
};

inline constexpr transformer deepseek_v3_1 =
    deepseek_v3_with("deepseek_v3_1", deepseek_v3_attention);

}  // namespace perfmodel::inline v0_3::catalog
