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
