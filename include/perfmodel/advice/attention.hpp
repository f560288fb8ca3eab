// Tricks of attention: scores that never leave the chip, and tokens that are not looked at.
#pragma once

#include <algorithm>
#include <perfmodel/advice/adviser.hpp>
#include <perfmodel/fusion.hpp>
#include <variant>
#include <vector>

namespace perfmodel {
namespace detail {

/// Unfused attention writes and reads scores and probabilities: 4 H_q S^2 b of each layer.
inline trick flash_attention(const adviser& a) {
  const trick_words words{"flash_attention", "attention", "a kernel for each shape and head width",
                          "sequences are short beside the head: there are no scores to save"};
  trick t = named_trick(words);
  const auto* shape = std::get_if<attention_shape>(&a.runs().model.layers.mixers[0].shape);
  if (shape == nullptr) {
    t.in_use = true;
    t.why = "the law has grouped-query attention";
    return t;
  }
  const double tokens = (std::max)(1.0, a.load().input_tokens);
  const double heads = (std::max)(1.0, shape->query_heads / a.runs().layout.tensor);
  const double ratio =
      attention_fusion_ratio(tokens, shape->head_dim, shape->query_heads, shape->kv_heads);
  const bytes<> scores = 4.0 * heads * tokens * tokens * bytes_of(number_format::bf16);
  const duration<> prompt =
      a.runs().model.layers.mixers[0].layers * scores / a.runs().device.dram.bandwidth.quantity();
  t = a.saving(words, duration<>{}, prompt, true);
  t.why = say("a layer's scores are ", scores, " of traffic, ", ratio,
              " times that of keys, queries and values; ", prompt, " of a prompt");
  t.harmful = ratio < 2.0;
  return t;
}

/// Each token attends to 2048 that an indexer of 64 heads of 128 chooses, as DeepSeek-V3.2 does.
inline trick sparse_attention(const adviser& a) {
  const trick_words words{"sparse_attention", "attention",
                          "training for it; an indexer that scores every token",
                          "contexts are short: the indexer reads more than attention saves"};
  trick t = named_trick(words);
  const auto indexed = [](auto& s) {
    if constexpr (requires {
                    s.indexer;
                    s.seen_tokens(1.0);
                    s.head_dim;
                  }) {
      if (s.indexer) return false;
      s.indexer = attention_indexer{.heads = 64.0, .dim = 128.0, .top_k = 2048.0};
      return true;
    } else {
      return false;
    }
  };
  bool any = false;
  transformer sparse = a.runs().model;
  for (auto& kind : sparse.layers.mixers) {
    std::visit(
        [&](auto& s) {
          if constexpr (requires { s.window.has_value(); }) {
            if (s.window) return;
          }
          any = indexed(s) || any;
        },
        kind.shape);
  }
  if (!any) {
    t.in_use = true;
    t.why = "attention is sparse already, or keeps no token";
    return t;
  }
  t = a.asked(words, [sparse](advised_service& s) { s.runs.model = sparse; });
  t.why += say("; 2048 of ", a.context(), " tokens are looked at");
  if (a.context() <= 2048.0) t.harmful = true;
  return t;
}

}  // namespace detail

/// Fused attention, sparse attention.
inline std::vector<trick> attention_tricks(const adviser& a) {
  return {detail::flash_attention(a), detail::sparse_attention(a)};
}

}  // namespace perfmodel
