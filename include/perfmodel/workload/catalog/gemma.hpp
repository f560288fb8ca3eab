// Google's Gemma 3, text part: four norms per layer, norms on query and key, five layers with a
// sliding window to one without, one vocabulary table.
#pragma once

#include <perfmodel/workload/model/transformer.hpp>

namespace perfmodel::catalog {

/// Five layers with a window, then one without.
constexpr layer_list gemma_3_layers(double windows, double without, attention_shape a,
                                    double window, double intermediate) {
  a.qk_norm = true;
  attention_shape windowed = a;
  windowed.window = window;
  return {{windows, windowed, dense_shape{intermediate}}, {without, a, dense_shape{intermediate}}};
}

inline constexpr transformer gemma_3_1b{
    .name = "gemma_3_1b",
    .hidden = 1152,
    .vocabulary = 262144,
    .layers = gemma_3_layers(22, 4, {.query_heads = 4, .kv_heads = 1, .head_dim = 256}, 512, 6912),
    .norms_per_layer = 4,
    .tied_embeddings = true,
    .max_context = 32768,
};

inline constexpr transformer gemma_3_4b{
    .name = "gemma_3_4b",
    .hidden = 2560,
    .vocabulary = 262208,
    .layers =
        gemma_3_layers(29, 5, {.query_heads = 8, .kv_heads = 4, .head_dim = 256}, 1024, 10240),
    .norms_per_layer = 4,
    .tied_embeddings = true,
    .max_context = 131072,
};

inline constexpr transformer gemma_3_12b{
    .name = "gemma_3_12b",
    .hidden = 3840,
    .vocabulary = 262208,
    .layers =
        gemma_3_layers(40, 8, {.query_heads = 16, .kv_heads = 8, .head_dim = 256}, 1024, 15360),
    .norms_per_layer = 4,
    .tied_embeddings = true,
    .max_context = 131072,
};

inline constexpr transformer gemma_3_27b{
    .name = "gemma_3_27b",
    .hidden = 5376,
    .vocabulary = 262208,
    .layers =
        gemma_3_layers(52, 10, {.query_heads = 32, .kv_heads = 16, .head_dim = 128}, 1024, 21504),
    .norms_per_layer = 4,
    .tied_embeddings = true,
    .max_context = 131072,
};

}  // namespace perfmodel::catalog
