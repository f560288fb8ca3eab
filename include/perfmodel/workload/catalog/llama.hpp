// Meta's Llama models: RMSNorm, SwiGLU, grouped-query attention (multi-head in the small Llama 2).
#pragma once

#include <perfmodel/workload/model/transformer.hpp>

namespace perfmodel::catalog {

inline constexpr transformer llama_2_7b{
    .name = "llama_2_7b",
    .layers = 32,
    .hidden = 4096,
    .intermediate = 11008,
    .vocabulary = 32000,
    .attention = {.query_heads = 32, .kv_heads = 32, .head_dim = 128},
    .max_context = 4096,
    .stored = {number_format::fp16, number_format::fp16},
};

inline constexpr transformer llama_2_70b{
    .name = "llama_2_70b",
    .layers = 80,
    .hidden = 8192,
    .intermediate = 28672,
    .vocabulary = 32000,
    .attention = {.query_heads = 64, .kv_heads = 8, .head_dim = 128},
    .max_context = 4096,
    .stored = {number_format::fp16, number_format::fp16},
};

inline constexpr transformer llama_3_8b{
    .name = "llama_3_8b",
    .layers = 32,
    .hidden = 4096,
    .intermediate = 14336,
    .vocabulary = 128256,
    .attention = {.query_heads = 32, .kv_heads = 8, .head_dim = 128},
    .max_context = 8192,
};

inline constexpr transformer llama_3_70b{
    .name = "llama_3_70b",
    .layers = 80,
    .hidden = 8192,
    .intermediate = 28672,
    .vocabulary = 128256,
    .attention = {.query_heads = 64, .kv_heads = 8, .head_dim = 128},
    .max_context = 8192,
};

/// Llama 3.1 has the shapes of Llama 3 and a longer context.
inline constexpr transformer llama_3_1_8b{
    .name = "llama_3_1_8b",
    .layers = 32,
    .hidden = 4096,
    .intermediate = 14336,
    .vocabulary = 128256,
    .attention = {.query_heads = 32, .kv_heads = 8, .head_dim = 128},
    .max_context = 131072,
};

/// Also the shape of Llama 3.3 70B.
inline constexpr transformer llama_3_1_70b{
    .name = "llama_3_1_70b",
    .layers = 80,
    .hidden = 8192,
    .intermediate = 28672,
    .vocabulary = 128256,
    .attention = {.query_heads = 64, .kv_heads = 8, .head_dim = 128},
    .max_context = 131072,
};

/// With 8 KV heads; 16 are sometimes quoted for its first release.
inline constexpr transformer llama_3_1_405b{
    .name = "llama_3_1_405b",
    .layers = 126,
    .hidden = 16384,
    .intermediate = 53248,
    .vocabulary = 128256,
    .attention = {.query_heads = 128, .kv_heads = 8, .head_dim = 128},
    .max_context = 131072,
};

inline constexpr transformer llama_3_2_1b{
    .name = "llama_3_2_1b",
    .layers = 16,
    .hidden = 2048,
    .intermediate = 8192,
    .vocabulary = 128256,
    .attention = {.query_heads = 32, .kv_heads = 8, .head_dim = 64},
    .tied_embeddings = true,
    .max_context = 131072,
};

}  // namespace perfmodel::catalog
