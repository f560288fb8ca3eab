// NVIDIA's Nemotron models: blocks with one part each (Mamba-2, attention, dense networks or
// experts), and a Llama 3.3 pruned layer by layer.
#pragma once

#include <perfmodel/model/transformer.hpp>

namespace perfmodel::inline v0_3::catalog {

/// Mamba-2 layer of a Nemotron model; `state` is its key dimension.
constexpr recurrent_shape nemotron_mamba(double heads, double state) {
  recurrent_shape r{.kind = recurrence::mamba2,
                    .key_heads = 8,
                    .value_heads = heads,
                    .key_dim = state,
                    .value_dim = 64,
                    .conv_kernel = 4};
  r.conv_bias = true;
  return r;
}
/// MoE block of a Nemotron model: experts of `width` without a gate, and shared experts.
constexpr expert_shape nemotron_experts(double experts, double top_k, double width, double shared) {
  return {.experts = experts,
          .top_k = top_k,
          .intermediate = width,
          .shared_intermediate = shared,
          .gated = false,
          .router_bias = true};
}

inline constexpr transformer nemotron_3_nano_30b_a3b{
    .name = "nemotron_3_nano_30b_a3b",
    .hidden = 2688,
    .vocabulary = 131072,
    .layers = {{23, nemotron_mamba(64, 128), {}},
               {6, attention_shape{.query_heads = 32, .kv_heads = 2, .head_dim = 128}, {}},
               {23, {}, nemotron_experts(128, 6, 1856, 3712)}},
    .norms_per_layer = 1,
    .max_context = 262144,
};

/// Its experts work on a latent of 1024. The checkpoint in fp8.
inline constexpr transformer nemotron_3_super_120b_a12b = [] {
  expert_shape experts = nemotron_experts(512, 22, 2688, 5376);
  experts.latent = 1024;
  const attention_shape attention{.query_heads = 32, .kv_heads = 2, .head_dim = 128};
  transformer m{.name = "nemotron_3_super_120b_a12b", .hidden = 4096, .vocabulary = 131072};
  m.layers = {{40, nemotron_mamba(128, 128), {}}, {8, attention, {}}, {40, {}, experts}};
  m.norms_per_layer = 1;
  m.max_context = 262144;
  m.mtp = layer_shape{1, attention, experts};
  m.stored = {number_format::fp8, number_format::bf16};
  return m;
}();

inline constexpr transformer nemotron_h_56b = [] {
  recurrent_shape mamba = nemotron_mamba(256, 256);
  mamba.state_format = number_format::bf16;
  transformer m{.name = "nemotron_h_56b", .hidden = 8192, .vocabulary = 131072};
  m.layers = {{54, mamba, {}},
              {10, attention_shape{.query_heads = 64, .kv_heads = 8, .head_dim = 128}, {}},
              {54, {}, dense_shape{.intermediate = 32768, .gated = false}}};
  m.norms_per_layer = 1;
  m.max_context = 8192;
  return m;
}();

/// 49 of its 80 layers have attention. Their order is left out: so is which network goes with
/// which.
inline constexpr transformer llama_3_3_nemotron_super_49b{
    .name = "llama_3_3_nemotron_super_49b",
    .hidden = 8192,
    .vocabulary = 128256,
    .layers = {{49, attention_shape{.query_heads = 64, .kv_heads = 8, .head_dim = 128},
                dense_shape{28672}},
               {6, {}, dense_shape{14336}},
               {1, {}, dense_shape{17920}},
               {10, {}, dense_shape{7168}},
               {8, {}, dense_shape{5632}},
               {6, {}, dense_shape{2816}}},
    .max_context = 131072,
};

/// IBM's Granite 4.0 H Small: nine layers of Mamba-2 to one of attention, experts in all.
inline constexpr transformer granite_4_h_small = [] {
  recurrent_shape mamba = nemotron_mamba(128, 128);
  mamba.key_heads = 1;
  mamba.state_format = number_format::bf16;
  const attention_shape attention{.query_heads = 32, .kv_heads = 8, .head_dim = 128};
  const expert_shape experts{
      .experts = 72, .top_k = 10, .intermediate = 768, .shared_intermediate = 1536};
  transformer m{.name = "granite_4_h_small", .hidden = 4096, .vocabulary = 100352};
  m.layers = {{36, mamba, experts}, {4, attention, experts}};
  m.tied_embeddings = true;
  m.max_context = 131072;
  return m;
}();

}  // namespace perfmodel::inline v0_3::catalog
