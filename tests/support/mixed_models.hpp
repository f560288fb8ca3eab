// Published models with other kinds of layers than the catalogue's, from their config.json files:
// one for each kind of mixer.
#pragma once

#include <perfmodel/model/transformer.hpp>

namespace perfmodel_test {

namespace pm = perfmodel;

/// 36 layers in chunks of 8,192 tokens, and each fourth without.
inline constexpr pm::transformer llama_4_scout = [] {
  pm::attention_shape full{.query_heads = 40, .kv_heads = 8, .head_dim = 128};
  pm::attention_shape chunks = full;
  chunks.window = 8192;
  chunks.chunked = true;
  const pm::expert_shape experts{
      .experts = 16, .top_k = 1, .intermediate = 8192, .shared_intermediate = 8192};
  return pm::transformer{.name = "Llama-4-Scout-17B-16E",
                         .hidden = 5120,
                         .vocabulary = 202048,
                         .layers = {{36, chunks, experts}, {12, full, experts}}};
}();

/// Latent attention over the 2,048 tokens that an indexer chooses.
inline constexpr pm::latent_attention_shape deepseek_v3_2_attention{
    .query_heads = 128,
    .head_dim = 192,
    .value_dim = 128,
    .kv_rank = 512,
    .rope_dim = 64,
    .query_rank = 1536,
    .indexer = pm::attention_indexer{.heads = 64, .dim = 128, .top_k = 2048}};
inline constexpr pm::transformer deepseek_v3_2{
    .name = "DeepSeek-V3.2",
    .hidden = 7168,
    .vocabulary = 129280,
    .layers = {{3, deepseek_v3_2_attention, pm::dense_shape{18432}},
               {58, deepseek_v3_2_attention,
                pm::expert_shape{.experts = 256,
                                 .top_k = 8,
                                 .intermediate = 2048,
                                 .shared_intermediate = 2048,
                                 .router_bias = true}}}};

/// Grouped queries over the tokens that an indexer chooses, 16 blocks of 128.
inline constexpr pm::attention_shape minimax_m3_dense{
    .query_heads = 64, .kv_heads = 4, .head_dim = 128, .qk_norm = true};
inline constexpr pm::attention_shape minimax_m3_sparse{
    .query_heads = 64,
    .kv_heads = 4,
    .head_dim = 128,
    .indexer = pm::attention_indexer{.heads = 4, .dim = 128, .top_k = 2048, .cache = pm::bf16},
    .qk_norm = true};
inline constexpr pm::transformer minimax_m3{
    .name = "MiniMax-M3",
    .hidden = 6144,
    .vocabulary = 200064,
    .layers = {{3, minimax_m3_dense, pm::dense_shape{12288}},
               {57, minimax_m3_sparse,
                pm::expert_shape{.experts = 128,
                                 .top_k = 4,
                                 .intermediate = 3072,
                                 .shared_intermediate = 3072,
                                 .router_bias = true}}}};

/// compress_ratios of DeepSeek-V4-Flash: 2 layers 0, 21 layers 4, 20 layers 128.
inline constexpr pm::compressed_attention_shape deepseek_v4_window{.query_heads = 64,
                                                                   .head_dim = 512,
                                                                   .query_rank = 1024,
                                                                   .output_groups = 8,
                                                                   .output_rank = 1024,
                                                                   .window = 128};
inline constexpr pm::compressed_attention_shape deepseek_v4_sparse = [] {
  auto a = deepseek_v4_window;
  a.ratio = 4;
  a.overlaps = true;
  a.indexer = pm::attention_indexer{.heads = 64, .dim = 128, .top_k = 512};
  return a;
}();
inline constexpr pm::compressed_attention_shape deepseek_v4_heavy = [] {
  auto a = deepseek_v4_window;
  a.ratio = 128;
  return a;
}();
inline constexpr pm::expert_shape deepseek_v4_experts{.experts = 256,
                                                      .top_k = 6,
                                                      .intermediate = 2048,
                                                      .shared_intermediate = 2048,
                                                      .router_bias = true};
inline constexpr pm::transformer deepseek_v4_flash{
    .name = "DeepSeek-V4-Flash",
    .hidden = 4096,
    .vocabulary = 129280,
    .layers = {{2, deepseek_v4_window, deepseek_v4_experts},
               {21, deepseek_v4_sparse, deepseek_v4_experts},
               {20, deepseek_v4_heavy, deepseek_v4_experts}}};

/// Gated DeltaNet in three layers of four, attention with an output gate in the fourth.
inline constexpr pm::recurrent_shape qwen_3_5_recurrence{.kind = pm::recurrence::gated_delta_net,
                                                         .key_heads = 16,
                                                         .value_heads = 64,
                                                         .key_dim = 128,
                                                         .value_dim = 128,
                                                         .conv_kernel = 4};
inline constexpr pm::attention_shape qwen_3_5_attention{
    .query_heads = 32, .kv_heads = 2, .head_dim = 256, .qk_norm = true, .output_gate = true};
inline constexpr pm::expert_shape qwen_3_5_experts{.experts = 512,
                                                   .top_k = 10,
                                                   .intermediate = 1024,
                                                   .shared_intermediate = 1024,
                                                   .shared_gate = true};
inline constexpr pm::transformer qwen_3_5_397b{
    .name = "Qwen3.5-397B-A17B",
    .hidden = 4096,
    .vocabulary = 248320,
    .layers = {{45, qwen_3_5_recurrence, qwen_3_5_experts},
               {15, qwen_3_5_attention, qwen_3_5_experts}}};

/// Kimi Delta Attention in 20 layers, latent attention in 7.
inline constexpr pm::recurrent_shape kimi_recurrence{.kind = pm::recurrence::kimi_delta,
                                                     .key_heads = 32,
                                                     .value_heads = 32,
                                                     .key_dim = 128,
                                                     .value_dim = 128,
                                                     .conv_kernel = 4};
inline constexpr pm::latent_attention_shape kimi_attention{
    .query_heads = 32, .head_dim = 192, .value_dim = 128, .kv_rank = 512, .rope_dim = 64};
inline constexpr pm::expert_shape kimi_experts{.experts = 256,
                                               .top_k = 8,
                                               .intermediate = 1024,
                                               .shared_intermediate = 1024,
                                               .router_bias = true};
inline constexpr pm::transformer kimi_linear_48b{
    .name = "Kimi-Linear-48B-A3B",
    .hidden = 2304,
    .vocabulary = 163840,
    .layers = {{1, kimi_recurrence, pm::dense_shape{9216}},
               {19, kimi_recurrence, kimi_experts},
               {7, kimi_attention, kimi_experts}}};

/// A layer is one block: Mamba-2, attention, or experts of two matrices.
inline constexpr pm::recurrent_shape nemotron_recurrence{.kind = pm::recurrence::mamba2,
                                                         .key_heads = 8,
                                                         .value_heads = 64,
                                                         .key_dim = 128,
                                                         .value_dim = 64,
                                                         .conv_kernel = 4,
                                                         .conv_bias = true};
inline constexpr pm::transformer nemotron_3_nano{
    .name = "Nemotron-3-Nano-30B-A3B",
    .hidden = 2688,
    .vocabulary = 131072,
    .layers = {{23, nemotron_recurrence, {}},
               {6, pm::attention_shape{.query_heads = 32, .kv_heads = 2, .head_dim = 128}, {}},
               {23,
                {},
                pm::expert_shape{.experts = 128,
                                 .top_k = 6,
                                 .intermediate = 1856,
                                 .shared_intermediate = 3712,
                                 .gated = false,
                                 .router_bias = true}}},
    .norms_per_layer = 1};

/// Lightning attention in seven layers of eight; shapes of the published config.
inline constexpr pm::recurrent_shape minimax_recurrence{.kind = pm::recurrence::lightning,
                                                        .key_heads = 64,
                                                        .value_heads = 64,
                                                        .key_dim = 128,
                                                        .value_dim = 128,
                                                        .state_format = pm::bf16};
inline constexpr pm::expert_shape minimax_experts{.experts = 32, .top_k = 2, .intermediate = 9216};
inline constexpr pm::transformer minimax_text_01{
    .name = "MiniMax-Text-01",
    .hidden = 6144,
    .vocabulary = 200064,
    .layers = {{70, minimax_recurrence, minimax_experts},
               {10, pm::attention_shape{.query_heads = 64, .kv_heads = 8, .head_dim = 128},
                minimax_experts}}};

inline constexpr const pm::transformer* mixed_models[] = {
    &llama_4_scout, &deepseek_v3_2,   &minimax_m3,      &deepseek_v4_flash,
    &qwen_3_5_397b, &kimi_linear_48b, &nemotron_3_nano, &minimax_text_01};

}  // namespace perfmodel_test
