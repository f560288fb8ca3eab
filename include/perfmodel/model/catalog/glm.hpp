// Z.ai's GLM-5: DeepSeek-V3.2's layer with heads of its own. In GLM-5.2 four layers share the
// tokens that an indexer chose.
#pragma once

#include <perfmodel/model/catalog/deepseek.hpp>
#include <perfmodel/model/catalog/uniform.hpp>

namespace perfmodel::inline v0_3::catalog {

/// MLA of GLM-5 with its indexer, its own or that of an earlier layer.
constexpr latent_attention_shape glm_5_attention(bool shares_index) {
  latent_attention_shape a{.query_heads = 64,
                           .head_dim = 256,
                           .value_dim = 256,
                           .kv_rank = 512,
                           .rope_dim = 64,
                           .query_rank = 2048};
  a.indexer = attention_indexer{.heads = 32, .dim = 128, .top_k = 2048};
  a.indexer->shared = shares_index;
  return a;
}
inline constexpr expert_shape glm_5_experts{.experts = 256,
                                            .top_k = 8,
                                            .intermediate = 2048,
                                            .shared_intermediate = 2048,
                                            .router_bias = true};

inline constexpr transformer glm_5{
    .name = "glm_5",
    .hidden = 6144,
    .vocabulary = 154880,
    .layers = {{3, glm_5_attention(false), dense_shape{12288}},
               {75, glm_5_attention(false), glm_5_experts}},
    .max_context = 202752,
    .mtp = layer_shape{1, glm_5_attention(false), glm_5_experts},
};

/// The checkpoint in fp8: 21 layers have an indexer.
inline constexpr transformer glm_5_2{
    .name = "glm_5_2",
    .hidden = 6144,
    .vocabulary = 154880,
    .layers = {{3, glm_5_attention(false), dense_shape{12288}},
               {18, glm_5_attention(false), glm_5_experts},
               {57, glm_5_attention(true), glm_5_experts}},
    .max_context = 1048576,
    .mtp = layer_shape{1, glm_5_attention(true), glm_5_experts},
    .stored = {fp8_blocks, number_format::bf16},
};

inline constexpr transformer glm_5_1 = [] {
  transformer m = glm_5;
  m.name = "glm_5_1";
  return m;
}();

// GLM-4.7 has grouped-query attention, its Flash a small MLA.

inline constexpr transformer glm_4_7 = [] {
  const attention_shape a{
      .query_heads = 96, .kv_heads = 8, .head_dim = 128, .qkv_bias = true, .qk_norm = true};
  const expert_shape experts{.experts = 160,
                             .top_k = 8,
                             .intermediate = 1536,
                             .shared_intermediate = 1536,
                             .router_bias = true};
  transformer m{.name = "glm_4_7", .hidden = 5120, .vocabulary = 151552};
  m.layers = {{3, a, dense_shape{12288}}, {89, a, experts}};
  m.max_context = 202752;
  m.mtp = layer_shape{1, a, experts};
  return m;
}();

inline constexpr transformer glm_4_6 = with_context(glm_4_7, "glm_4_6", 202752);

inline constexpr transformer glm_4_7_flash = [] {
  const latent_attention_shape a{.query_heads = 20,
                                 .head_dim = 256,
                                 .value_dim = 256,
                                 .kv_rank = 512,
                                 .rope_dim = 64,
                                 .query_rank = 768};
  const expert_shape experts{.experts = 64,
                             .top_k = 4,
                             .intermediate = 1536,
                             .shared_intermediate = 1536,
                             .router_bias = true};
  transformer m{.name = "glm_4_7_flash", .hidden = 2048, .vocabulary = 154880};
  m.layers = {{1, a, dense_shape{10240}}, {46, a, experts}};
  m.max_context = 202752;
  m.mtp = layer_shape{1, a, experts};
  return m;
}();

}  // namespace perfmodel::inline v0_3::catalog
