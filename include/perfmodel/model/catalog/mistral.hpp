// Mistral AI's models: Llama's layer, with a sliding window in the first release only.
#pragma once

#include <perfmodel/model/catalog/uniform.hpp>

namespace perfmodel::inline v0_3::catalog {

/// Version 0.3: version 0.1 has 32,000 tokens of vocabulary and a window of 4096.
inline constexpr transformer mistral_7b = uniform_model(
    "mistral_7b", {.layers = 32, .hidden = 4096, .vocabulary = 32768, .max_context = 32768},
    {.query_heads = 32, .kv_heads = 8, .head_dim = 128}, dense_shape{14336});

inline constexpr transformer mistral_7b_v0_1 = uniform_model(
    "mistral_7b_v0_1", {.layers = 32, .hidden = 4096, .vocabulary = 32000, .max_context = 32768},
    {.query_heads = 32, .kv_heads = 8, .head_dim = 128, .window = 4096}, dense_shape{14336});

inline constexpr transformer mistral_small_3_24b =
    uniform_model("mistral_small_3_24b",
                  {.layers = 40, .hidden = 5120, .vocabulary = 131072, .max_context = 32768},
                  {.query_heads = 32, .kv_heads = 8, .head_dim = 128}, dense_shape{32768});

inline constexpr transformer mixtral_8x7b = uniform_model(
    "mixtral_8x7b", {.layers = 32, .hidden = 4096, .vocabulary = 32000, .max_context = 32768},
    {.query_heads = 32, .kv_heads = 8, .head_dim = 128},
    expert_shape{.experts = 8, .top_k = 2, .intermediate = 14336});

inline constexpr transformer mixtral_8x22b = uniform_model(
    "mixtral_8x22b", {.layers = 56, .hidden = 6144, .vocabulary = 32000, .max_context = 65536},
    {.query_heads = 48, .kv_heads = 8, .head_dim = 128},
    expert_shape{.experts = 8, .top_k = 2, .intermediate = 16384});

}  // namespace perfmodel::inline v0_3::catalog
