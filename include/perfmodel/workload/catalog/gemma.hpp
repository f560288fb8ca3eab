// Google's Gemma 3, text part: four norms per layer, norms on query and key, five layers with a
// sliding window to one without, one vocabulary table.
#pragma once

#include <perfmodel/workload/model/transformer.hpp>

namespace perfmodel::catalog {

inline constexpr transformer gemma_3_1b{
    .name = "gemma_3_1b",
    .layers = 26,
    .hidden = 1152,
    .intermediate = 6912,
    .vocabulary = 262144,
    .attention = {.query_heads = 4, .kv_heads = 1, .head_dim = 256, .qk_norm = true},
    .sliding_layers = 22,
    .window = 512,
    .norms_per_layer = 4,
    .tied_embeddings = true,
    .max_context = 32768,
};

inline constexpr transformer gemma_3_4b{
    .name = "gemma_3_4b",
    .layers = 34,
    .hidden = 2560,
    .intermediate = 10240,
    .vocabulary = 262208,
    .attention = {.query_heads = 8, .kv_heads = 4, .head_dim = 256, .qk_norm = true},
    .sliding_layers = 29,
    .window = 1024,
    .norms_per_layer = 4,
    .tied_embeddings = true,
    .max_context = 131072,
};

inline constexpr transformer gemma_3_12b{
    .name = "gemma_3_12b",
    .layers = 48,
    .hidden = 3840,
    .intermediate = 15360,
    .vocabulary = 262208,
    .attention = {.query_heads = 16, .kv_heads = 8, .head_dim = 256, .qk_norm = true},
    .sliding_layers = 40,
    .window = 1024,
    .norms_per_layer = 4,
    .tied_embeddings = true,
    .max_context = 131072,
};

inline constexpr transformer gemma_3_27b{
    .name = "gemma_3_27b",
    .layers = 62,
    .hidden = 5376,
    .intermediate = 21504,
    .vocabulary = 262208,
    .attention = {.query_heads = 32, .kv_heads = 16, .head_dim = 128, .qk_norm = true},
    .sliding_layers = 52,
    .window = 1024,
    .norms_per_layer = 4,
    .tied_embeddings = true,
    .max_context = 131072,
};

}  // namespace perfmodel::catalog
