// Alibaba's Qwen models: biases on query, key and value in 2.5; norms on query and key in 3.
#pragma once

#include <perfmodel/model/catalog/uniform.hpp>

namespace perfmodel::inline v0_3::catalog {

/// The sliding window that its config.json names is switched off there.
inline constexpr transformer qwen_2_5_3b = uniform_model(
    "qwen_2_5_3b",
    {.layers = 36,
     .hidden = 2048,
     .vocabulary = 151936,
     .max_context = 32768,
     .tied_embeddings = true},
    {.query_heads = 16, .kv_heads = 2, .head_dim = 128, .qkv_bias = true}, dense_shape{11008});

inline constexpr transformer qwen_2_5_7b = uniform_model(
    "qwen_2_5_7b", {.layers = 28, .hidden = 3584, .vocabulary = 152064, .max_context = 131072},
    {.query_heads = 28, .kv_heads = 4, .head_dim = 128, .qkv_bias = true}, dense_shape{18944});

inline constexpr transformer qwen_2_5_32b = uniform_model(
    "qwen_2_5_32b", {.layers = 64, .hidden = 5120, .vocabulary = 152064, .max_context = 131072},
    {.query_heads = 40, .kv_heads = 8, .head_dim = 128, .qkv_bias = true}, dense_shape{27648});

inline constexpr transformer qwen_3_8b = uniform_model(
    "qwen_3_8b", {.layers = 36, .hidden = 4096, .vocabulary = 151936, .max_context = 40960},
    {.query_heads = 32, .kv_heads = 8, .head_dim = 128, .qk_norm = true}, dense_shape{12288});

inline constexpr transformer qwen_3_32b = uniform_model(
    "qwen_3_32b", {.layers = 64, .hidden = 5120, .vocabulary = 151936, .max_context = 40960},
    {.query_heads = 64, .kv_heads = 8, .head_dim = 128, .qk_norm = true}, dense_shape{25600});

inline constexpr transformer qwen_3_30b_a3b = uniform_model(
    "qwen_3_30b_a3b", {.layers = 48, .hidden = 2048, .vocabulary = 151936, .max_context = 40960},
    {.query_heads = 32, .kv_heads = 4, .head_dim = 128, .qk_norm = true},
    expert_shape{.experts = 128, .top_k = 8, .intermediate = 768});

inline constexpr transformer qwen_3_235b_a22b = uniform_model(
    "qwen_3_235b_a22b", {.layers = 94, .hidden = 4096, .vocabulary = 151936, .max_context = 40960},
    {.query_heads = 64, .kv_heads = 4, .head_dim = 128, .qk_norm = true},
    expert_shape{.experts = 128, .top_k = 8, .intermediate = 1536});

// Alibaba's Qwen3.5 and 3.6: three layers of Gated DeltaNet to one of attention with an output
// gate; and Qwen3-VL, which is Qwen 3 behind a vision tower.

/// 16 key heads; the states are kept in fp32.
constexpr recurrent_shape qwen_3_5_delta_net(double value_heads) {
  return {.kind = recurrence::gated_delta_net,
          .key_heads = 16,
          .value_heads = value_heads,
          .key_dim = 128,
          .value_dim = 128,
          .conv_kernel = 4};
}
/// Attention of Qwen 3.5: heads of 256, normalised queries and keys, an output gate.
constexpr attention_shape qwen_3_5_attention(double query_heads, double kv_heads) {
  return {.query_heads = query_heads,
          .kv_heads = kv_heads,
          .head_dim = 256,
          .qk_norm = true,
          .output_gate = true};
}
/// MoE block of Qwen 3.5: experts of `width`, and a gated shared expert.
constexpr expert_shape qwen_3_5_experts(double experts, double top_k, double width) {
  return {.experts = experts,
          .top_k = top_k,
          .intermediate = width,
          .shared_intermediate = width,
          .shared_gate = true};
}

inline constexpr transformer qwen_3_5_27b{
    .name = "qwen_3_5_27b",
    .hidden = 5120,
    .vocabulary = 248320,
    .layers = {{48, qwen_3_5_delta_net(48), dense_shape{17408}},
               {16, qwen_3_5_attention(24, 4), dense_shape{17408}}},
    .max_context = 262144,
    .mtp = layer_shape{1, qwen_3_5_attention(24, 4), dense_shape{17408}},
    .encoder = encoder_shape{.parameters = 460.7e6},
};

inline constexpr transformer qwen_3_5_397b_a17b{
    .name = "qwen_3_5_397b_a17b",
    .hidden = 4096,
    .vocabulary = 248320,
    .layers = {{45, qwen_3_5_delta_net(64), qwen_3_5_experts(512, 10, 1024)},
               {15, qwen_3_5_attention(32, 2), qwen_3_5_experts(512, 10, 1024)}},
    .max_context = 262144,
    .mtp = layer_shape{1, qwen_3_5_attention(32, 2), qwen_3_5_experts(512, 10, 1024)},
    .encoder = encoder_shape{.parameters = 456.0e6},
};

/// Qwen3-VL's language model is Qwen 3 with a longer context.
constexpr transformer qwen_3_vl(const transformer& text, const char* name, double tower) {
  transformer m = with_context(text, name, 262144);
  m.encoder = encoder_shape{.parameters = tower};
  return m;
}
inline constexpr transformer qwen_3_vl_8b = qwen_3_vl(qwen_3_8b, "qwen_3_vl_8b", 576.4e6);
inline constexpr transformer qwen_3_vl_30b_a3b =
    qwen_3_vl(qwen_3_30b_a3b, "qwen_3_vl_30b_a3b", 538.6e6);

inline constexpr transformer qwen_2_5_72b = uniform_model(
    "qwen_2_5_72b", {.layers = 80, .hidden = 8192, .vocabulary = 152064, .max_context = 32768},
    {.query_heads = 64, .kv_heads = 8, .head_dim = 128, .qkv_bias = true}, dense_shape{29568});

/// The smaller dense models of Qwen 3.
constexpr transformer qwen_3_dense(const char* name, double layers, double hidden, double heads,
                                   double width, bool tied) {
  return uniform_model(name,
                       {.layers = layers,
                        .hidden = hidden,
                        .vocabulary = 151936,
                        .max_context = 40960,
                        .tied_embeddings = tied},
                       {.query_heads = heads, .kv_heads = 8, .head_dim = 128, .qk_norm = true},
                       dense_shape{width});
}
inline constexpr transformer qwen_3_1_7b = qwen_3_dense("qwen_3_1_7b", 28, 2048, 16, 6144, true);
inline constexpr transformer qwen_3_4b = qwen_3_dense("qwen_3_4b", 36, 2560, 32, 9728, true);
inline constexpr transformer qwen_3_14b = qwen_3_dense("qwen_3_14b", 40, 5120, 40, 17408, false);

/// The releases of July 2025: the shapes of April with a longer context.
inline constexpr transformer qwen_3_30b_a3b_2507 =
    with_context(qwen_3_30b_a3b, "qwen_3_30b_a3b_2507", 262144);
inline constexpr transformer qwen_3_235b_a22b_2507 =
    with_context(qwen_3_235b_a22b, "qwen_3_235b_a22b_2507", 262144);
inline constexpr transformer qwen_3_coder_480b_a35b =
    uniform_model("qwen_3_coder_480b_a35b",
                  {.layers = 62, .hidden = 6144, .vocabulary = 151936, .max_context = 262144},
                  {.query_heads = 96, .kv_heads = 8, .head_dim = 128, .qk_norm = true},
                  expert_shape{.experts = 160, .top_k = 8, .intermediate = 2560});

/// Qwen3-Next keeps the states of Gated DeltaNet in bf16.
inline constexpr transformer qwen_3_next_80b_a3b = [] {
  recurrent_shape delta = qwen_3_5_delta_net(32);
  delta.state_format = number_format::bf16;
  const expert_shape experts = qwen_3_5_experts(512, 10, 512);
  transformer m{.name = "qwen_3_next_80b_a3b", .hidden = 2048, .vocabulary = 151936};
  m.layers = {{36, delta, experts}, {12, qwen_3_5_attention(16, 2), experts}};
  m.max_context = 262144;
  return m;
}();

inline constexpr transformer qwen_3_6_35b_a3b{
    .name = "qwen_3_6_35b_a3b",
    .hidden = 2048,
    .vocabulary = 248320,
    .layers = {{30, qwen_3_5_delta_net(32), qwen_3_5_experts(256, 8, 512)},
               {10, qwen_3_5_attention(16, 2), qwen_3_5_experts(256, 8, 512)}},
    .max_context = 262144,
    .mtp = layer_shape{1, qwen_3_5_attention(16, 2), qwen_3_5_experts(256, 8, 512)},
    .encoder = encoder_shape{.parameters = 445.4e6},
};

}  // namespace perfmodel::inline v0_3::catalog
