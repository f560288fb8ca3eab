// Google's Gemma 4 with experts: a dense network beside them in every layer, layers without a window
// with wider and fewer heads whose values are their keys.
#pragma once

#include <perfmodel/workload/model/transformer.hpp>

namespace perfmodel::catalog {

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

}  // namespace perfmodel::catalog
