// Meta's Llama models: RMSNorm, SwiGLU, grouped-query attention (multi-head in the small Llama 2).
#pragma once

#include <perfmodel/model/catalog/uniform.hpp>

namespace perfmodel::inline v0_3::catalog {

/// Llama 2, published in fp16.
constexpr transformer llama_2(const char* name, const uniform_sizes& sizes, double query_heads,
                              double kv_heads, double intermediate) {
  transformer m = uniform_model(name, sizes,
                                {.query_heads = query_heads, .kv_heads = kv_heads, .head_dim = 128},
                                dense_shape{intermediate});
  m.stored = {number_format::fp16, number_format::fp16};
  return m;
}
inline constexpr transformer llama_2_7b =
    llama_2("llama_2_7b", {.layers = 32, .hidden = 4096, .vocabulary = 32000, .max_context = 4096},
            32, 32, 11008);
inline constexpr transformer llama_2_70b =
    llama_2("llama_2_70b", {.layers = 80, .hidden = 8192, .vocabulary = 32000, .max_context = 4096},
            64, 8, 28672);

inline constexpr transformer llama_3_8b = uniform_model(
    "llama_3_8b", {.layers = 32, .hidden = 4096, .vocabulary = 128256, .max_context = 8192},
    {.query_heads = 32, .kv_heads = 8, .head_dim = 128}, dense_shape{14336});

inline constexpr transformer llama_3_70b = uniform_model(
    "llama_3_70b", {.layers = 80, .hidden = 8192, .vocabulary = 128256, .max_context = 8192},
    {.query_heads = 64, .kv_heads = 8, .head_dim = 128}, dense_shape{28672});

/// Llama 3.1 has the shapes of Llama 3 and a longer context.
inline constexpr transformer llama_3_1_8b = with_context(llama_3_8b, "llama_3_1_8b", 131072);

/// Also the shape of Llama 3.3 70B.
inline constexpr transformer llama_3_1_70b = with_context(llama_3_70b, "llama_3_1_70b", 131072);

/// With 8 KV heads; 16 are sometimes quoted for its first release.
inline constexpr transformer llama_3_1_405b = uniform_model(
    "llama_3_1_405b", {.layers = 126, .hidden = 16384, .vocabulary = 128256, .max_context = 131072},
    {.query_heads = 128, .kv_heads = 8, .head_dim = 128}, dense_shape{53248});

inline constexpr transformer llama_3_2_1b =
    uniform_model("llama_3_2_1b",
                  {.layers = 16,
                   .hidden = 2048,
                   .vocabulary = 128256,
                   .max_context = 131072,
                   .tied_embeddings = true},
                  {.query_heads = 32, .kv_heads = 8, .head_dim = 64}, dense_shape{8192});

// Meta's Llama 4: three layers with attention in chunks of 8192 tokens to one with full attention,
// and one of sixteen experts plus a shared one. Left out: its vision tower.

inline constexpr attention_shape llama_4_attention{
    .query_heads = 40, .kv_heads = 8, .head_dim = 128};
inline constexpr attention_shape llama_4_chunks = [] {
  attention_shape a = llama_4_attention;
  a.window = 8192;
  a.chunked = true;
  return a;
}();
inline constexpr expert_shape llama_4_scout_experts{
    .experts = 16, .top_k = 1, .intermediate = 8192, .shared_intermediate = 8192};

inline constexpr transformer llama_4_scout{
    .name = "llama_4_scout",
    .hidden = 5120,
    .vocabulary = 202048,
    .layers = {{36, llama_4_chunks, llama_4_scout_experts},
               {12, llama_4_attention, llama_4_scout_experts}},
    .max_context = 10485760,
};

inline constexpr transformer llama_3_3_70b = with_context(llama_3_1_70b, "llama_3_3_70b", 131072);

inline constexpr transformer llama_3_2_3b =
    uniform_model("llama_3_2_3b",
                  {.layers = 28,
                   .hidden = 3072,
                   .vocabulary = 128256,
                   .max_context = 131072,
                   .tied_embeddings = true},
                  {.query_heads = 24, .kv_heads = 8, .head_dim = 128}, dense_shape{8192});

}  // namespace perfmodel::inline v0_3::catalog
