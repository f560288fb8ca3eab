// Microsoft's Phi models: Llama's layer in Phi-3 and Phi-4; LayerNorm, biases and experts in
// Phi-3.5-MoE.
#pragma once

#include <perfmodel/model/catalog/uniform.hpp>

namespace perfmodel::inline v0_3::catalog {

/// The 4k version; its window of 2047 is half its context.
inline constexpr transformer phi_3_mini = uniform_model(
    "phi_3_mini", {.layers = 32, .hidden = 3072, .vocabulary = 32064, .max_context = 4096},
    {.query_heads = 32, .kv_heads = 32, .head_dim = 96, .window = 2047}, dense_shape{8192});

inline constexpr transformer phi_4 = uniform_model(
    "phi_4", {.layers = 40, .hidden = 5120, .vocabulary = 100352, .max_context = 16384},
    {.query_heads = 40, .kv_heads = 10, .head_dim = 128}, dense_shape{17920});

inline constexpr transformer phi_3_5_moe{
    .name = "phi_3_5_moe",
    .hidden = 4096,
    .vocabulary = 32064,
    .layers = {{32,
                attention_shape{.query_heads = 32,
                                .kv_heads = 8,
                                .head_dim = 128,
                                .qkv_bias = true,
                                .output_bias = true},
                expert_shape{.experts = 16, .top_k = 2, .intermediate = 6400}}},
    .norm_bias = true,
    .head_bias = true,
    .max_context = 131072,
};

}  // namespace perfmodel::inline v0_3::catalog
