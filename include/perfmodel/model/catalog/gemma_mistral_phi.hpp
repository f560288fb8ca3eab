// Families of a few models: Google's Gemma 3, Mistral AI's and Microsoft's Phi.
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

// Mistral AI's models: Llama's layer, with a sliding window in the first release only.

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

/// The checkpoint in fp8.
inline constexpr transformer devstral_2_123b = [] {
  transformer m =
      uniform_model("devstral_2_123b",
                    {.layers = 88, .hidden = 12288, .vocabulary = 131072, .max_context = 262144},
                    {.query_heads = 96, .kv_heads = 8, .head_dim = 128}, dense_shape{28672});
  m.stored = {number_format::fp8, number_format::bf16};
  return m;
}();

// Dense models of other makers with three layers of a window of 4096 to one without: Cohere's
// Command A, with one norm a layer, and LG's EXAONE 4.0; and Tencent's Hunyuan-A13B.

inline constexpr transformer command_a = [] {
  attention_shape full{.query_heads = 96, .kv_heads = 8, .head_dim = 128};
  attention_shape windowed = full;
  windowed.window = 4096;
  transformer m{.name = "command_a", .hidden = 12288, .vocabulary = 256000};
  m.layers = {{48, windowed, dense_shape{36864}}, {16, full, dense_shape{36864}}};
  m.norms_per_layer = 1;
  m.tied_embeddings = true;
  m.max_context = 131072;
  return m;
}();

inline constexpr transformer exaone_4_32b = [] {
  attention_shape full{.query_heads = 40, .kv_heads = 8, .head_dim = 128, .qk_norm = true};
  attention_shape windowed = full;
  windowed.window = 4096;
  transformer m{.name = "exaone_4_32b", .hidden = 5120, .vocabulary = 102400};
  m.layers = {{48, windowed, dense_shape{27392}}, {16, full, dense_shape{27392}}};
  m.max_context = 131072;
  return m;
}();

inline constexpr transformer hunyuan_a13b = uniform_model(
    "hunyuan_a13b",
    {.layers = 32,
     .hidden = 4096,
     .vocabulary = 128167,
     .max_context = 32768,
     .tied_embeddings = true},
    {.query_heads = 32, .kv_heads = 8, .head_dim = 128, .qk_norm = true},
    expert_shape{.experts = 64, .top_k = 8, .intermediate = 3072, .shared_intermediate = 3072});

}  // namespace perfmodel::inline v0_3::catalog

// Microsoft's Phi models: Llama's layer in Phi-3 and Phi-4; LayerNorm, biases and experts in
// Phi-3.5-MoE.

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
