// Meta's Llama 4: three layers that attend within chunks of 8192 tokens to one that attends to all, one
// expert of sixteen beside a shared one. Left out: its vision tower.
#pragma once

#include <perfmodel/workload/model/transformer.hpp>

namespace perfmodel::catalog {

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

}  // namespace perfmodel::catalog
