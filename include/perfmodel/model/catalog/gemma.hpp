// Google's Gemma 3, text part: four norms per layer, norms on query and key, five layers with a
// sliding window to one without, one vocabulary table.
#pragma once

#include <perfmodel/model/transformer.hpp>

namespace perfmodel::inline v0_3::catalog {

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

// Google's Gemma 4 with experts and a dense network in every layer. Layers without a window have
// fewer, larger heads and use their keys as values.

inline constexpr transformer gemma_4_26b_a4b = [] {
  const attention_shape windowed{
      .query_heads = 16, .kv_heads = 8, .head_dim = 256, .window = 1024, .qk_norm = true};
  const attention_shape full{
      .query_heads = 16, .kv_heads = 2, .head_dim = 512, .qk_norm = true, .value_is_key = true};
  const expert_shape experts{
      .experts = 128, .top_k = 8, .intermediate = 704, .shared_intermediate = 2112};
  transformer m{.name = "gemma_4_26b_a4b", .hidden = 2816, .vocabulary = 262144};
  m.layers = {{25, windowed, experts}, {5, full, experts}};
  m.norms_per_layer = 4;
  m.tied_embeddings = true;
  m.max_context = 262144;
  m.encoder = encoder_shape{.parameters = 572.8e6, .tokens_per_item = 280};
  return m;
}();

}  // namespace perfmodel::inline v0_3::catalog
