// Z.ai's GLM-5: DeepSeek-V3.2's layer with heads of its own. In GLM-5.2 four layers share the
// tokens that an indexer chose.
#pragma once

#include <perfmodel/model/catalog/deepseek.hpp>

namespace perfmodel::inline v0_3::catalog {

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

}  // namespace perfmodel::inline v0_3::catalog
