// Mistral AI's models: Llama's layer, with a sliding window in the first release only.
#pragma once

#include <perfmodel/model/transformer.hpp>

namespace perfmodel::inline v0_3::catalog {

/// Version 0.3: version 0.1 has 32,000 tokens of vocabulary and a window of 4096.
inline constexpr transformer mistral_7b{
    .name = "mistral_7b",
    .hidden = 4096,
    .vocabulary = 32768,
    .layers = {{32, attention_shape{.query_heads = 32, .kv_heads = 8, .head_dim = 128},
                dense_shape{14336}}},
    .max_context = 32768,
};

inline constexpr transformer mistral_7b_v0_1{
    .name = "mistral_7b_v0_1",
    .hidden = 4096,
    .vocabulary = 32000,
    .layers = {{32,
                attention_shape{.query_heads = 32, .kv_heads = 8, .head_dim = 128, .window = 4096},
                dense_shape{14336}}},
    .max_context = 32768,
};

inline constexpr transformer mistral_small_3_24b{
    .name = "mistral_small_3_24b",
    .hidden = 5120,
    .vocabulary = 131072,
    .layers = {{40, attention_shape{.query_heads = 32, .kv_heads = 8, .head_dim = 128},
                dense_shape{32768}}},
    .max_context = 32768,
};

inline constexpr transformer mixtral_8x7b{
    .name = "mixtral_8x7b",
    .hidden = 4096,
    .vocabulary = 32000,
    .layers = {{32, attention_shape{.query_heads = 32, .kv_heads = 8, .head_dim = 128},
                expert_shape{.experts = 8, .top_k = 2, .intermediate = 14336}}},
    .max_context = 32768,
};

inline constexpr transformer mixtral_8x22b{
    .name = "mixtral_8x22b",
    .hidden = 6144,
    .vocabulary = 32000,
    .layers = {{56, attention_shape{.query_heads = 48, .kv_heads = 8, .head_dim = 128},
                expert_shape{.experts = 8, .top_k = 2, .intermediate = 16384}}},
    .max_context = 65536,
};

}  // namespace perfmodel::inline v0_3::catalog
