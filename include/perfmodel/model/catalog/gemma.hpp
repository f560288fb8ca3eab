// Google's Gemma 3, text part: four norms per layer, norms on query and key, five layers with a
// sliding window to one without, one vocabulary table.
#pragma once

#include <perfmodel/model/catalog/uniform.hpp>

namespace perfmodel::inline v0_3::catalog {

/// Layers of which `windows` have a window: five, then one without. `sizes.layers` counts all.
constexpr transformer gemma_3(const char* name, const uniform_sizes& sizes, double windows,
                              double window, attention_shape a, double intermediate) {
  a.qk_norm = true;
  transformer m = uniform_model(name, sizes, a, dense_shape{intermediate});
  attention_shape windowed = a;
  windowed.window = window;
  m.layers = {{windows, windowed, dense_shape{intermediate}},
              {sizes.layers - windows, a, dense_shape{intermediate}}};
  m.norms_per_layer = 4;
  m.tied_embeddings = true;
  return m;
}

inline constexpr transformer gemma_3_1b = gemma_3(
    "gemma_3_1b", {.layers = 26, .hidden = 1152, .vocabulary = 262144, .max_context = 32768}, 22,
    512, {.query_heads = 4, .kv_heads = 1, .head_dim = 256}, 6912);

inline constexpr transformer gemma_3_4b = gemma_3(
    "gemma_3_4b", {.layers = 34, .hidden = 2560, .vocabulary = 262208, .max_context = 131072}, 29,
    1024, {.query_heads = 8, .kv_heads = 4, .head_dim = 256}, 10240);

inline constexpr transformer gemma_3_12b = gemma_3(
    "gemma_3_12b", {.layers = 48, .hidden = 3840, .vocabulary = 262208, .max_context = 131072}, 40,
    1024, {.query_heads = 16, .kv_heads = 8, .head_dim = 256}, 15360);

inline constexpr transformer gemma_3_27b = gemma_3(
    "gemma_3_27b", {.layers = 62, .hidden = 5376, .vocabulary = 262208, .max_context = 131072}, 52,
    1024, {.query_heads = 32, .kv_heads = 16, .head_dim = 128}, 21504);

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
