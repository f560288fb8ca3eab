// Tricks of attention: scores that never leave the chip, and tokens that are not looked at.
#pragma once

#include <algorithm>
#include <cmath>
#include <perfmodel/laws/fusion.hpp>
#include <perfmodel/serving/kv_offload.hpp>
#include <perfmodel/serving/prefix_cache.hpp>
#include <perfmodel/tools/advise/adviser.hpp>
#include <perfmodel/tools/advise/kernel_laws.hpp>
#include <variant>
#include <vector>

namespace perfmodel {
namespace detail {

/// Unfused attention writes and reads scores and probabilities: 4 H_q S^2 b of each layer.
inline technique flash_attention(const adviser& a) {
  const technique_words words{"flash_attention", "attention",
                              "a kernel for each shape and head width",
                              "sequences are short beside the head: there are no scores to save"};
  technique t = named_technique(words);
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
inline technique sparse_attention(const adviser& a) {
  const technique_words words{"sparse_attention", "attention",
                              "training for it; an indexer that scores every token",
                              "contexts are short: the indexer reads more than attention saves"};
  technique t = named_technique(words);
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
inline std::vector<technique> attention_techniques(const adviser& a) {
  return {detail::flash_attention(a), detail::sparse_attention(a)};
}

// Tricks of memory beside the device: cache kept in the host's, and copies that nobody waits for.

namespace detail {

/// The host's link, where a machine states it; 25 GB/s of a pinned copy are assumed of one that does not.
inline bandwidth<> host_rate(const accelerator& a) {
  return a.host.exists() && a.host.bandwidth.is_stated() ? a.host.bandwidth.quantity()
                                                         : bandwidth<>::from_value(25e9);
}

/// What comes from the host now, against computing it anew.
inline technique offload_in_use(const adviser& a, const technique_words& words) {
  const service_load found = resolve_prefix_hit(a.runs(), a.load());
  const auto anew = [here = found.prefix_hit - found.host->hit](advised_service& s) {
    s.load.prefix_hit = here;
    s.load.host.reset();
  };
  technique t = a.asked(words, anew, true);
  t.why += say("; ", 100.0 * found.host->hit, " % of a prompt comes from the host, in ",
               prefix_fetch_of(a.runs(), found).transfer_time);
  return t;
}

/// A prompt's cache fetched from the host, against computing it.
inline technique offload(const adviser& a) {
  const technique_words words{"kv_offload", "memory", "memory of the host, and its link",
                              "the link is slower than computing the prompt anew"};
  if (a.load().host) return offload_in_use(a, words);
  technique t = named_technique(words);
  const double tokens = std::floor(a.load().input_tokens);
  if (a.load().prefix_hit > 0.0 || !a.load().shared.empty()) {
    t.why = "prefixes are found on the devices";
    return t;
  }
  const host_tier tier{.tokens = 1e9, .per_device = host_rate(a.runs().device)};
  const duration<> fetch = fetch_time(a.runs(), tier, tokens), anew = a.now().prefill.time;
  t = a.saving(words, duration<>{}, anew - fetch, false);
  t.harmful = !(fetch < anew);
  t.why = say("were a prompt of ", tokens, " tokens in the host: fetched in ", fetch,
              ", computed in ", anew);
  return t;
}

/// Token ids and results of a pass between host and device.
inline technique async_pinned_copy(const adviser& a) {
  const technique_words words{"async_pinned_copy", "memory",
                              "pinned memory, which the host cannot page",
                              "copies are off the critical path"};
  const bytes<> copied =
      a.batch() * 64.0 * byte;  // ids, positions, a row of a block table: assumed
  const bandwidth<> link = host_rate(a.runs().device), copy = bandwidth<>::from_value(10e9);
  const double gain = pinned_copy_gain(a.now().itl, copied, link, copy);
  technique t = a.saving(words, (gain - 1.0) * a.now().itl, duration<>{}, true);
  t.why = say(copied, " of a pass of ", a.now().itl);
  t.harmful = gain < 1.001;
  return t;
}

}  // namespace detail

/// Offload, and pinned copies beside work.
inline std::vector<technique> memory_techniques(const adviser& a) {
  return {detail::offload(a), detail::async_pinned_copy(a)};
}

// Tricks that draft tokens and check several in one pass.

/// What draft tokens are taken to be kept with where a service does not say. A model's own heads:
/// DeepSeek-V3's report, section 5.4.3, has 85 to 90 % of its second tokens. A layer before the head:
/// assumed; EAGLE's paper (Li et al. 2024, table 1) has 3.3 to 4.0 tokens of a round of about 5 on chat.
struct advice_acceptance {
  double own_heads = 0.85;
  double layer = 0.7;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::fraction("own_heads"), s.own_heads...);
    f(field::fraction("layer"), s.layer...);
  }
};

namespace detail {

inline constexpr const char* no_preemption_with_speculation =
    "nothing is known of evictions beside drafts";

/// Of one to four tokens, the length at which a request is done soonest.
inline technique drafted(const adviser& a, const technique_words& words, drafter by,
                         double acceptance, int longest) {
  technique best = named_technique(words);
  for (int length = 1; length <= longest; length *= 2) {
    speculation s{.by = by, .length = length};
    s.acceptance.push_back(acceptance);
    technique t = a.asked(words, [s](advised_service& other) { other.drafts = s; });
    t.why += say("; ", double(length), " drafted, ", acceptance, " kept of each, ", a.now().batch,
                 " sequences");
    if (length == 1 || outranks(t, best)) best = t;
  }
  return best;
}

inline technique speculative_decoding(const adviser& a, const advice_acceptance& assumed) {
  const technique_words words{
      "speculative_decoding", "speculation",
      "a drafter in memory; tokens that are computed and thrown away",
      "the batch is past what a pass has idle compute for, or few drafts are kept"};
  if (a.service().pools || a.load().preemption_mode) {
    technique t = named_technique(words);
    t.why =
        a.service().pools ? "nothing is known of drafts in pools" : no_preemption_with_speculation;
    return t;
  }
  if (a.service().drafts) {
    technique t = a.asked(
        words, [](advised_service& s) { s.drafts.reset(); }, true);
    t.why += say("; drafts of ", double(a.service().drafts->length));
    return t;
  }
  return drafted(a, words, drafter::layer, assumed.layer, 4);
}

inline technique own_heads(const adviser& a, const advice_acceptance& assumed) {
  const technique_words words{"mtp", "speculation",
                              "the module's weights and cache; trained with the model",
                              "the batch is past what a pass has idle compute for"};
  technique t = named_technique(words);
  if (!a.runs().model.mtp || a.service().drafts || a.service().pools || a.load().preemption_mode) {
    t.in_use = a.service().drafts.has_value() && a.service().drafts->by == drafter::layer;
    t.why = !a.runs().model.mtp  ? "the model has no heads for several tokens"
            : a.service().drafts ? "the service drafts already"
            : a.service().pools  ? "nothing is known of drafts in pools"
                                 : no_preemption_with_speculation;
    return t;
  }
  return drafted(a, words, drafter::layer, assumed.own_heads, 2);
}

}  // namespace detail

/// A drafter, and the model's own heads.
inline std::vector<technique> speculation_techniques(const adviser& a,
                                                     const advice_acceptance& assumed = {}) {
  return {detail::speculative_decoding(a, assumed), detail::own_heads(a, assumed)};
}

}  // namespace perfmodel
