// MiniMax's models: norms over all heads in M2; in M3 all layers but the first three attend to 16
// blocks of 128 tokens that small heads choose.
#pragma once

#include <perfmodel/model/catalog/deepseek.hpp>

namespace perfmodel::inline v0_3::catalog {

inline constexpr attention_shape minimax_m2_attention{
    .query_heads = 48, .kv_heads = 8, .head_dim = 128, .qk_norm_whole = true};
inline constexpr expert_shape minimax_m2_experts{
    .experts = 256, .top_k = 8, .intermediate = 1536, .router_bias = true};
inline constexpr transformer minimax_m2_5{
    .name = "minimax_m2_5",
    .hidden = 3072,
    .vocabulary = 200064,
    .layers = {{62, minimax_m2_attention, minimax_m2_experts}},
    .max_context = 196608,
    .mtp = layer_shape{3, minimax_m2_attention, minimax_m2_experts},
    .stored = {fp8_blocks, number_format::bf16},
};

inline constexpr attention_shape minimax_m3_dense_attention{
    .query_heads = 64, .kv_heads = 4, .head_dim = 128, .qk_norm = true};
inline constexpr attention_shape minimax_m3_attention = [] {
  attention_shape a = minimax_m3_dense_attention;
  a.indexer =
      attention_indexer{.heads = 4, .dim = 128, .top_k = 2048, .cache = number_format::bf16};
  return a;
}();
inline constexpr expert_shape minimax_m3_experts{.experts = 128,
                                                 .top_k = 4,
                                                 .intermediate = 3072,
                                                 .shared_intermediate = 3072,
                                                 .router_bias = true};
inline constexpr transformer minimax_m3{
    .name = "minimax_m3",
    .hidden = 6144,
    .vocabulary = 200064,
    .layers = {{3, minimax_m3_dense_attention, dense_shape{12288}},
               {57, minimax_m3_attention, minimax_m3_experts}},
    .max_context = 1048576,
    .mtp = layer_shape{1, minimax_m3_attention, minimax_m3_experts},
};

// Xiaomi's MiMo-V2-Flash: windows of 128 tokens with more KV heads and sinks, values smaller than
// keys.

inline constexpr attention_shape mimo_v2_attention{
    .query_heads = 64, .kv_heads = 4, .head_dim = 192, .value_dim = 128};
inline constexpr attention_shape mimo_v2_window{.query_heads = 64,
                                                .kv_heads = 8,
                                                .head_dim = 192,
                                                .value_dim = 128,
                                                .window = 128,
                                                .sinks = true};
inline constexpr expert_shape mimo_v2_experts{
    .experts = 256, .top_k = 8, .intermediate = 2048, .router_bias = true};

inline constexpr transformer mimo_v2_flash{
    .name = "mimo_v2_flash",
    .hidden = 4096,
    .vocabulary = 152576,
    .layers = {{1, mimo_v2_attention, dense_shape{16384}},
               {8, mimo_v2_attention, mimo_v2_experts},
               {39, mimo_v2_window, mimo_v2_experts}},
    .max_context = 262144,
    .stored = {fp8_blocks, number_format::bf16},
};

/// The shapes of M2.5.
inline constexpr transformer minimax_m2_7 = [] {
  transformer m = minimax_m2_5;
  m.name = "minimax_m2_7";
  return m;
}();

// StepFun's Step-3.7-Flash: one layer in four attends to all tokens, the others, of more heads, to
// 512.

inline constexpr attention_shape step_3_7_attention{
    .query_heads = 64, .kv_heads = 8, .head_dim = 128, .qk_norm = true};
inline constexpr attention_shape step_3_7_window{
    .query_heads = 96, .kv_heads = 8, .head_dim = 128, .window = 512, .qk_norm = true};
inline constexpr expert_shape step_3_7_experts{.experts = 288,
                                               .top_k = 8,
                                               .intermediate = 1280,
                                               .shared_intermediate = 1280,
                                               .router_bias = true};
inline constexpr transformer step_3_7_flash{
    .name = "step_3_7_flash",
    .hidden = 4096,
    .vocabulary = 128896,
    .layers = {{1, step_3_7_attention, dense_shape{11264}},
               {2, step_3_7_window, dense_shape{11264}},
               {31, step_3_7_window, step_3_7_experts},
               {11, step_3_7_attention, step_3_7_experts}},
    .max_context = 65536,
    .mtp = layer_shape{3, step_3_7_window, step_3_7_experts},
    .stored = {fp8_blocks, number_format::bf16},
};

/// Its output projection stays in bf16.
inline constexpr transformer mimo_v2_5_pro = [] {
  const attention_shape full{.query_heads = 128, .kv_heads = 8, .head_dim = 192, .value_dim = 128};
  attention_shape windowed = full;
  windowed.window = 128;
  windowed.sinks = true;
  const expert_shape experts{.experts = 384, .top_k = 8, .intermediate = 2048, .router_bias = true};
  transformer m{.name = "mimo_v2_5_pro", .hidden = 6144, .vocabulary = 152576};
  m.layers = {{1, full, dense_shape{16384}}, {9, full, experts}, {60, windowed, experts}};
  m.max_context = 1048576;
  m.stored = {fp8_blocks, number_format::bf16};
  m.stored.attention.wide_share = 128.0 / (192.0 + 8.0 / 128.0 * (192.0 + 128.0) + 128.0);
  return m;
}();

}  // namespace perfmodel::inline v0_3::catalog
