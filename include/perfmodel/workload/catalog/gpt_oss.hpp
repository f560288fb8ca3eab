// OpenAI's gpt-oss: every layer routed, biases everywhere, attention sinks, a window of 128 in
// every other layer. Published with its experts in MXFP4 and the rest in bf16.
#pragma once

#include <perfmodel/workload/model/transformer.hpp>

namespace perfmodel::catalog {

inline constexpr transformer gpt_oss_20b{
    .name = "gpt_oss_20b",
    .layers = 24,
    .hidden = 2880,
    .vocabulary = 201088,
    .attention = {.query_heads = 64,
                  .kv_heads = 8,
                  .head_dim = 64,
                  .qkv_bias = true,
                  .output_bias = true,
                  .sinks = true},
    .moe = {.layers = 24,
            .experts = 32,
            .top_k = 4,
            .intermediate = 2880,
            .router_bias = true,
            .expert_bias = true},
    .sliding_layers = 12,
    .window = 128,
    .max_context = 131072,
};

inline constexpr transformer gpt_oss_120b{
    .name = "gpt_oss_120b",
    .layers = 36,
    .hidden = 2880,
    .vocabulary = 201088,
    .attention = {.query_heads = 64,
                  .kv_heads = 8,
                  .head_dim = 64,
                  .qkv_bias = true,
                  .output_bias = true,
                  .sinks = true},
    .moe = {.layers = 36,
            .experts = 128,
            .top_k = 4,
            .intermediate = 2880,
            .router_bias = true,
            .expert_bias = true},
    .sliding_layers = 18,
    .window = 128,
    .max_context = 131072,
};

}  // namespace perfmodel::catalog
