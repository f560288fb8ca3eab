// OpenAI's gpt-oss: every layer routed, biases everywhere, attention sinks, a window of 128 in
// every other layer. Published with its experts in MXFP4 and the rest in bf16.
#pragma once

#include <perfmodel/model/transformer.hpp>

namespace perfmodel::inline v0_3::catalog {

/// 4 bits and an 8-bit scale per 32 elements. Source: OCP Microscaling Formats (MX) 1.0, section 5.
inline constexpr storage_format mxfp4{number_format::fp4, 32, 8};

inline constexpr attention_shape gpt_oss_attention{.query_heads = 64,
                                                   .kv_heads = 8,
                                                   .head_dim = 64,
                                                   .qkv_bias = true,
                                                   .output_bias = true,
                                                   .sinks = true};
inline constexpr attention_shape gpt_oss_window = [] {
  attention_shape a = gpt_oss_attention;
  a.window = 128;
  return a;
}();
/// A gpt-oss model: layers with and without a window of 128 tokens, experts with top-4 routing.
constexpr transformer gpt_oss(const char* name, double layers, double experts) {
  const expert_shape e{.experts = experts,
                       .top_k = 4,
                       .intermediate = 2880,
                       .router_bias = true,
                       .expert_bias = true};
  return {.name = name,
          .hidden = 2880,
          .vocabulary = 201088,
          .layers = {{layers / 2.0, gpt_oss_window, e}, {layers / 2.0, gpt_oss_attention, e}},
          .max_context = 131072,
          .stored = {number_format::bf16, mxfp4, number_format::bf16}};
}
inline constexpr transformer gpt_oss_20b = gpt_oss("gpt_oss_20b", 24, 32);
inline constexpr transformer gpt_oss_120b = gpt_oss("gpt_oss_120b", 36, 128);

}  // namespace perfmodel::inline v0_3::catalog
