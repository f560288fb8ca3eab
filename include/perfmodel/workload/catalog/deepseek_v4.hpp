// DeepSeek-V4: a window of 128 tokens beside entries that stand for 4 or for 128 of them each, experts
// in MXFP4 and the rest in fp8. Left out: the hyper-connections of its residual stream.
#pragma once

#include <perfmodel/workload/catalog/deepseek.hpp>
#include <perfmodel/workload/catalog/gpt_oss.hpp>

namespace perfmodel::catalog {

constexpr compressed_attention_shape deepseek_v4_attention(std::optional<double> ratio) {
  compressed_attention_shape a{.query_heads = 64,
                               .head_dim = 512,
                               .query_rank = 1024,
                               .output_groups = 8,
                               .output_rank = 1024,
                               .window = 128,
                               .ratio = ratio};
  a.overlaps = ratio == 4.0;
  if (a.overlaps) a.indexer = attention_indexer{.heads = 64, .dim = 128, .top_k = 512};
  return a;
}
inline constexpr expert_shape deepseek_v4_flash_experts{.experts = 256,
                                                        .top_k = 6,
                                                        .intermediate = 2048,
                                                        .shared_intermediate = 2048,
                                                        .router_bias = true};

inline constexpr transformer deepseek_v4_flash{
    .name = "deepseek_v4_flash",
    .hidden = 4096,
    .vocabulary = 129280,
    .layers = {{2, deepseek_v4_attention({}), deepseek_v4_flash_experts},
               {21, deepseek_v4_attention(4), deepseek_v4_flash_experts},
               {20, deepseek_v4_attention(128), deepseek_v4_flash_experts}},
    .max_context = 1048576,
    .mtp = layer_shape{1, deepseek_v4_attention({}), deepseek_v4_flash_experts},
    .stored = {fp8_blocks, mxfp4, number_format::bf16},
};

}  // namespace perfmodel::catalog
