// Alibaba's Qwen models: biases on query, key and value in 2.5; norms on query and key in 3.
#pragma once

#include <perfmodel/workload/model/transformer.hpp>

namespace perfmodel::catalog {

/// The sliding window that its config.json names is switched off there.
inline constexpr transformer qwen_2_5_3b{
    .name = "qwen_2_5_3b",
    .layers = 36,
    .hidden = 2048,
    .intermediate = 11008,
    .vocabulary = 151936,
    .attention = {.query_heads = 16, .kv_heads = 2, .head_dim = 128, .qkv_bias = true},
    .tied_embeddings = true,
    .max_context = 32768,
};

inline constexpr transformer qwen_2_5_7b{
    .name = "qwen_2_5_7b",
    .layers = 28,
    .hidden = 3584,
    .intermediate = 18944,
    .vocabulary = 152064,
    .attention = {.query_heads = 28, .kv_heads = 4, .head_dim = 128, .qkv_bias = true},
    .max_context = 131072,
};

inline constexpr transformer qwen_2_5_32b{
    .name = "qwen_2_5_32b",
    .layers = 64,
    .hidden = 5120,
    .intermediate = 27648,
    .vocabulary = 152064,
    .attention = {.query_heads = 40, .kv_heads = 8, .head_dim = 128, .qkv_bias = true},
    .max_context = 131072,
};

inline constexpr transformer qwen_3_8b{
    .name = "qwen_3_8b",
    .layers = 36,
    .hidden = 4096,
    .intermediate = 12288,
    .vocabulary = 151936,
    .attention = {.query_heads = 32, .kv_heads = 8, .head_dim = 128, .qk_norm = true},
    .max_context = 40960,
};

inline constexpr transformer qwen_3_32b{
    .name = "qwen_3_32b",
    .layers = 64,
    .hidden = 5120,
    .intermediate = 25600,
    .vocabulary = 151936,
    .attention = {.query_heads = 64, .kv_heads = 8, .head_dim = 128, .qk_norm = true},
    .max_context = 40960,
};

inline constexpr transformer qwen_3_30b_a3b{
    .name = "qwen_3_30b_a3b",
    .layers = 48,
    .hidden = 2048,
    .vocabulary = 151936,
    .attention = {.query_heads = 32, .kv_heads = 4, .head_dim = 128, .qk_norm = true},
    .moe = {.layers = 48, .experts = 128, .top_k = 8, .intermediate = 768},
    .max_context = 40960,
};

inline constexpr transformer qwen_3_235b_a22b{
    .name = "qwen_3_235b_a22b",
    .layers = 94,
    .hidden = 4096,
    .vocabulary = 151936,
    .attention = {.query_heads = 64, .kv_heads = 4, .head_dim = 128, .qk_norm = true},
    .moe = {.layers = 94, .experts = 128, .top_k = 8, .intermediate = 1536},
    .max_context = 40960,
};

}  // namespace perfmodel::catalog
