// Xiaomi's MiMo-V2-Flash: windows of 128 tokens with more KV heads and sinks, values narrower than keys.
#pragma once

#include <perfmodel/workload/catalog/deepseek.hpp>

namespace perfmodel::catalog {

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

}  // namespace perfmodel::catalog
