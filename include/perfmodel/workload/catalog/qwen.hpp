// Alibaba's Qwen models: biases on query, key and value in 2.5; norms on query and key in 3.
#pragma once

#include <perfmodel/workload/model/transformer.hpp>

namespace perfmodel::catalog {

/// The sliding window that its config.json names is switched off there.
inline constexpr transformer qwen_2_5_3b{
    .name = "qwen_2_5_3b",
    .hidden = 2048,
    .vocabulary = 151936,
    .layers = {{36,
                attention_shape{
                    .query_heads = 16, .kv_heads = 2, .head_dim = 128, .qkv_bias = true},
                dense_shape{11008}}},
    .tied_embeddings = true,
    .max_context = 32768,
};

inline constexpr transformer qwen_2_5_7b{
    .name = "qwen_2_5_7b",
    .hidden = 3584,
    .vocabulary = 152064,
    .layers = {{28,
                attention_shape{
                    .query_heads = 28, .kv_heads = 4, .head_dim = 128, .qkv_bias = true},
                dense_shape{18944}}},
    .max_context = 131072,
};

inline constexpr transformer qwen_2_5_32b{
    .name = "qwen_2_5_32b",
    .hidden = 5120,
    .vocabulary = 152064,
    .layers = {{64,
                attention_shape{
                    .query_heads = 40, .kv_heads = 8, .head_dim = 128, .qkv_bias = true},
                dense_shape{27648}}},
    .max_context = 131072,
};

inline constexpr transformer qwen_3_8b{
    .name = "qwen_3_8b",
    .hidden = 4096,
    .vocabulary = 151936,
    .layers = {{36,
                attention_shape{.query_heads = 32, .kv_heads = 8, .head_dim = 128, .qk_norm = true},
                dense_shape{12288}}},
    .max_context = 40960,
};

inline constexpr transformer qwen_3_32b{
    .name = "qwen_3_32b",
    .hidden = 5120,
    .vocabulary = 151936,
    .layers = {{64,
                attention_shape{.query_heads = 64, .kv_heads = 8, .head_dim = 128, .qk_norm = true},
                dense_shape{25600}}},
    .max_context = 40960,
};

inline constexpr transformer qwen_3_30b_a3b{
    .name = "qwen_3_30b_a3b",
    .hidden = 2048,
    .vocabulary = 151936,
    .layers = {{48,
                attention_shape{.query_heads = 32, .kv_heads = 4, .head_dim = 128, .qk_norm = true},
                expert_shape{.experts = 128, .top_k = 8, .intermediate = 768}}},
    .max_context = 40960,
};

inline constexpr transformer qwen_3_235b_a22b{
    .name = "qwen_3_235b_a22b",
    .hidden = 4096,
    .vocabulary = 151936,
    .layers = {{94,
                attention_shape{.query_heads = 64, .kv_heads = 4, .head_dim = 128, .qk_norm = true},
                expert_shape{.experts = 128, .top_k = 8, .intermediate = 1536}}},
    .max_context = 40960,
};

}  // namespace perfmodel::catalog
