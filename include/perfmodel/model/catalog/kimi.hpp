// Moonshot AI's Kimi: DeepSeek-V3's layer with fewer heads and more experts in K2; in K3 three
// layers of Kimi Delta Attention to one of MLA, and experts on half of the hidden width.
#pragma once

#include <perfmodel/model/catalog/deepseek.hpp>
#include <perfmodel/model/catalog/gpt_oss.hpp>

namespace perfmodel::inline v0_3::catalog {

inline constexpr latent_attention_shape kimi_k2_attention{.query_heads = 64,
                                                          .head_dim = 192,
                                                          .value_dim = 128,
                                                          .kv_rank = 512,
                                                          .rope_dim = 64,
                                                          .query_rank = 1536};
inline constexpr expert_shape kimi_k2_experts{.experts = 384,
                                              .top_k = 8,
                                              .intermediate = 2048,
                                              .shared_intermediate = 2048,
                                              .router_bias = true};
inline constexpr transformer kimi_k2{
    .name = "kimi_k2",
    .hidden = 7168,
    .vocabulary = 163840,
    .layers = {{1, kimi_k2_attention, dense_shape{18432}},
               {60, kimi_k2_attention, kimi_k2_experts}},
    .max_context = 131072,
    .stored = {fp8_blocks, number_format::bf16},
};

/// Published with its experts in int4, a 16-bit scale per 32. Its tower of 27 layers has 417 M, the
/// projector 54 M.
inline constexpr transformer kimi_k2_5 = [] {
  transformer m = kimi_k2;
  m.name = "kimi_k2_5";
  m.max_context = 262144;
  m.encoder = encoder_shape{.parameters = 471.2e6};
  m.stored = {number_format::bf16, storage_format(number_format::int4, 32, 16),
              number_format::bf16};
  return m;
}();

/// Left out: attention residuals (a mix of earlier blocks' results before each part), and the norm
/// of the experts' latent. Its tower has 401 M without its projector.
inline constexpr transformer kimi_k3 = [] {
  recurrent_shape delta{.kind = recurrence::kimi_delta,
                        .key_heads = 96,
                        .value_heads = 96,
                        .key_dim = 128,
                        .value_dim = 128,
                        .conv_kernel = 4};
  delta.full_rank_gate = true;
  latent_attention_shape latent{.query_heads = 96,
                                .head_dim = 192,
                                .value_dim = 128,
                                .kv_rank = 512,
                                .rope_dim = 64,
                                .query_rank = 1536};
  latent.output_gate = true;
  const expert_shape experts{.experts = 896,
                             .top_k = 16,
                             .intermediate = 3072,
                             .shared_intermediate = 6144,
                             .latent = 3584,
                             .router_bias = true};
  transformer m{.name = "kimi_k3", .hidden = 7168, .vocabulary = 163840};
  m.layers = {{1, delta, dense_shape{33792}}, {68, delta, experts}, {24, latent, experts}};
  m.max_context = 1048576;
  m.encoder = encoder_shape{.parameters = 401e6};
  m.stored = {number_format::bf16, mxfp4, number_format::bf16};
  return m;
}();

/// Kimi-K2-Thinking and K2.6: the experts in int4, as K2.5.
inline constexpr transformer kimi_k2_thinking = [] {
  transformer m = kimi_k2;
  m.name = "kimi_k2_thinking";
  m.max_context = kimi_k2_5.max_context;
  m.stored = kimi_k2_5.stored;
  return m;
}();
inline constexpr transformer kimi_k2_6 = [] {
  transformer m = kimi_k2_5;
  m.name = "kimi_k2_6";
  return m;
}();

/// Three layers of Kimi Delta Attention to one of MLA without a query rank.
inline constexpr transformer kimi_linear_48b_a3b = [] {
  const recurrent_shape delta{.kind = recurrence::kimi_delta,
                              .key_heads = 32,
                              .value_heads = 32,
                              .key_dim = 128,
                              .value_dim = 128,
                              .conv_kernel = 4};
  const latent_attention_shape latent{
      .query_heads = 32, .head_dim = 192, .value_dim = 128, .kv_rank = 512, .rope_dim = 64};
  const expert_shape experts{.experts = 256,
                             .top_k = 8,
                             .intermediate = 1024,
                             .shared_intermediate = 1024,
                             .router_bias = true};
  transformer m{.name = "kimi_linear_48b_a3b", .hidden = 2304, .vocabulary = 163840};
  m.layers = {{1, delta, dense_shape{9216}}, {19, delta, experts}, {7, latent, experts}};
  m.max_context = 1048576;
  return m;
}();

}  // namespace perfmodel::inline v0_3::catalog
