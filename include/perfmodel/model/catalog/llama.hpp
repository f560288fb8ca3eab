// Meta's Llama models: RMSNorm, SwiGLU, grouped-query attention (multi-head in the small Llama 2).
#pragma once

#include <perfmodel/model/transformer.hpp>

namespace perfmodel::inline v0_3::catalog {

inline constexpr transformer llama_2_7b{
    .name = "llama_2_7b",
    .hidden = 4096,
    .vocabulary = 32000,
    .layers = {{32, attention_shape{.query_heads = 32, .kv_heads = 32, .head_dim = 128},
                dense_shape{11008}}},
    .max_context = 4096,
    .stored = {number_format::fp16, number_format::fp16},
};

inline constexpr transformer llama_2_70b{
    .name = "llama_2_70b",
    .hidden = 8192,
    .vocabulary = 32000,
    .layers = {{80, attention_shape{.query_heads = 64, .kv_heads = 8, .head_dim = 128},
                dense_shape{28672}}},
    .max_context = 4096,
    .stored = {number_format::fp16, number_format::fp16},
};

inline constexpr transformer llama_3_8b{
    .name = "llama_3_8b",
    .hidden = 4096,
    .vocabulary = 128256,
    .layers = {{32, attention_shape{.query_heads = 32, .kv_heads = 8, .head_dim = 128},
                dense_shape{14336}}},
    .max_context = 8192,
};

inline constexpr transformer llama_3_70b{
    .name = "llama_3_70b",
    .hidden = 8192,
    .vocabulary = 128256,
    .layers = {{80, attention_shape{.query_heads = 64, .kv_heads = 8, .head_dim = 128},
                dense_shape{28672}}},
    .max_context = 8192,
};

/// Llama 3.1 has the shapes of Llama 3 and a longer context.
inline constexpr transformer llama_3_1_8b{
    .name = "llama_3_1_8b",
    .hidden = 4096,
    .vocabulary = 128256,
    .layers = {{32, attention_shape{.query_heads = 32, .kv_heads = 8, .head_dim = 128},
                dense_shape{14336}}},
    .max_context = 131072,
};

/// Also the shape of Llama 3.3 70B.
inline constexpr transformer llama_3_1_70b{
    .name = "llama_3_1_70b",
    .hidden = 8192,
    .vocabulary = 128256,
    .layers = {{80, attention_shape{.query_heads = 64, .kv_heads = 8, .head_dim = 128},
                dense_shape{28672}}},
    .max_context = 131072,
};

/// With 8 KV heads; 16 are sometimes quoted for its first release.
inline constexpr transformer llama_3_1_405b{
    .name = "llama_3_1_405b",
    .hidden = 16384,
    .vocabulary = 128256,
    .layers = {{126, attention_shape{.query_heads = 128, .kv_heads = 8, .head_dim = 128},
                dense_shape{53248}}},
    .max_context = 131072,
};

inline constexpr transformer llama_3_2_1b{
    .name = "llama_3_2_1b",
    .hidden = 2048,
    .vocabulary = 128256,
    .layers = {{16, attention_shape{.query_heads = 32, .kv_heads = 8, .head_dim = 64},
                dense_shape{8192}}},
    .tied_embeddings = true,
    .max_context = 131072,
};

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

}  // namespace perfmodel::inline v0_3::catalog
