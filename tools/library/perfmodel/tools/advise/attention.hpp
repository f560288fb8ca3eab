// Techniques of attention, KV-cache offload, pinned memory, and speculative decoding.
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

namespace perfmodel::inline v0_3 {
namespace detail {

/// Unfused attention writes and reads scores and probabilities: 4 H_q S^2 b bytes a layer.
inline technique flash_attention(const adviser& a) {
  const technique_description words{
      "flash_attention", "attention", "a kernel for each head dimension",
      "sequences are short: scores are less traffic than keys and values"};
  technique t = named_technique(words);
  const auto* shape = std::get_if<attention_shape>(&a.deployed().model.layers.mixers[0].shape);
  if (shape == nullptr) {
    t.in_use = true;
    t.reason = "the law covers grouped-query attention only";
    return t;
  }
  const double tokens = (std::max)(1.0, a.load().input_tokens);
  const double heads = (std::max)(1.0, shape->query_heads / a.deployed().layout.tensor);
  const double ratio =
      attention_fusion_ratio(tokens, shape->head_dim, shape->query_heads, shape->kv_heads);
  const bytes<> scores = 4.0 * heads * tokens * tokens * bytes_of(number_format::bf16);
  const duration<> prompt = a.deployed().model.layers.mixers[0].layers * scores /
                            a.deployed().device.dram.bandwidth.quantity();
  t = a.saving(words, duration<>{}, prompt, true);
  t.reason = join_text("a layer's scores are ", scores, " of traffic, ", ratio,
                       " times that of keys, queries and values; ", prompt, " of a prefill");
  t.harmful = ratio < 2.0;
  return t;
}

/// An indexer of 64 heads of 128 selects 2048 tokens for each query, as in DeepSeek-V3.2.
inline technique sparse_attention(const adviser& a) {
  const technique_description words{
      "sparse_attention", "attention", "training for it; an indexer that scores every token",
      "contexts are short: the indexer reads more than attention saves"};
  technique t = named_technique(words);
  t.user = technique_user::model_owner;
  const auto add_indexer = [](auto& s) {
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
  transformer sparse = a.deployed().model;
  for (auto& kind : sparse.layers.mixers) {
    std::visit(
        [&](auto& s) {
          if constexpr (requires { s.window.has_value(); }) {
            if (s.window) return;
          }
          any = add_indexer(s) || any;
        },
        kind.shape);
  }
  if (!any) {
    t.in_use = true;
    t.reason = "attention is sparse already, or has no KV cache";
    return t;
  }
  t = a.try_change(words, [sparse](advised_service& s) { s.deployment.model = sparse; });
  t.reason += join_text("; attention reads 2048 of ", a.context(), " tokens");
  if (a.context() <= 2048.0) t.harmful = true;
  return t;
}

}  // namespace detail

/// Fused attention, sparse attention.
inline std::vector<technique> attention_techniques(const adviser& a) {
  return {detail::flash_attention(a), detail::sparse_attention(a)};
}

// Techniques of host memory: KV-cache offload and asynchronous transfers.

namespace detail {

/// Bandwidth of the host's link; a machine without a stated one is assumed to copy at 25 GB/s.
inline bandwidth<> host_bandwidth(const accelerator& a) {
  return a.host.exists() && a.host.bandwidth.is_stated() ? a.host.bandwidth.quantity()
                                                         : bandwidth<>::from_value(25e9);
}

/// The present offload, compared with computing that part of the prompt.
inline technique offload_in_use(const adviser& a, const technique_description& words) {
  const service_load found = resolve_prefix_hit(a.deployed(), a.load());
  const auto recompute = [hit = found.prefix_hit - found.host->hit](advised_service& s) {
    s.load.prefix_hit = hit;
    s.load.host.reset();
  };
  technique t = a.try_change(words, recompute, true);
  t.reason += join_text("; ", 100.0 * found.host->hit, " % of a prompt comes from the host, in ",
                        prefix_fetch_of(a.deployed(), found).transfer_time);
  return t;
}

/// Fetching a prompt's KV cache from host memory, compared with computing it.
inline technique offload(const adviser& a) {
  const technique_description words{"kv_offload", "memory", "memory of the host, and its link",
                                    "the link is slower than the prefill"};
  if (a.load().host) return offload_in_use(a, words);
  technique t = named_technique(words);
  const double tokens = std::floor(a.load().input_tokens);
  if (a.load().prefix_hit > 0.0 || !a.load().shared.empty()) {
    t.reason = "prefixes are cached in device memory";
    return t;
  }
  const host_tier tier{.tokens = 1e9, .bandwidth_per_device = host_bandwidth(a.deployed().device)};
  const duration<> fetch = fetch_time(a.deployed(), tier, tokens);
  const duration<> prefill = a.current().prefill.time;
  t = a.saving(words, duration<>{}, prefill - fetch, false);
  t.harmful = !(fetch < prefill);
  t.reason = join_text("a prompt of ", tokens, " tokens is fetched from host memory in ", fetch,
                       " and computed in ", prefill);
  return t;
}

/// Transfer of token ids and results between host and device in each engine step.
inline technique async_pinned_copy(const adviser& a) {
  const technique_description words{"async_pinned_copy", "memory",
                                    "pinned memory, which the host cannot page",
                                    "transfers are not on the critical path"};
  const bytes<> copied =
      a.batch() * 64.0 * byte;  // ids, positions, a row of a block table: assumed
  const bandwidth<> link = host_bandwidth(a.deployed().device);
  const bandwidth<> copy = bandwidth<>::from_value(10e9);
  const double gain = pinned_copy_gain(a.current().itl, copied, link, copy);
  technique t = a.saving(words, (gain - 1.0) * a.current().itl, duration<>{}, true);
  t.user = technique_user::kernel_author;
  t.reason = join_text(copied, " in an engine step of ", a.current().itl);
  t.harmful = gain < 1.001;
  return t;
}

}  // namespace detail

/// KV-cache offload and asynchronous transfers from pinned memory.
inline std::vector<technique> memory_techniques(const adviser& a) {
  return {detail::offload(a), detail::async_pinned_copy(a)};
}

// Techniques of speculative decoding.

/// Assumed acceptance of draft tokens.
/// `own_heads`: MTP heads of the model; the DeepSeek-V3 report, section 5.4.3, has 85 to 90 % for
/// the second token. `layer`: one draft layer, assumed; EAGLE (Li et al. 2024, table 1) has 3.3 to
/// 4.0 tokens of a round of about 5 on chat.
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
    "the model does not combine preemption and speculation";
inline constexpr const char* no_pools_with_speculation =
    "the model does not combine disaggregated pools and speculation";

/// The draft length of 1, 2 or 4 tokens with the largest gain.
inline technique best_draft_length(const adviser& a, const technique_description& words, drafter by,
                                   double acceptance, int longest) {
  technique best = named_technique(words);
  for (int length = 1; length <= longest; length *= 2) {
    speculation s{.by = by, .length = length};
    s.acceptance.push_back(acceptance);
    technique t = a.try_change(words, [s](advised_service& other) { other.speculation = s; });
    t.reason += join_text("; draft length ", double(length), ", acceptance ", acceptance, ", ",
                          a.current().batch, " sequences");
    if (length == 1 || outranks(t, best)) best = t;
  }
  return best;
}

inline technique speculative_decoding(const adviser& a, const advice_acceptance& assumed) {
  const technique_description words{
      "speculative_decoding", "speculation",
      "memory for a drafter; rejected tokens are computed too",
      "the batch leaves no idle compute in a step, or acceptance is low"};
  if (a.service().pools || a.load().preemption_mode) {
    technique t = named_technique(words);
    t.reason = a.service().pools ? no_pools_with_speculation : no_preemption_with_speculation;
    return t;
  }
  if (a.service().speculation) {
    technique t = a.try_change(
        words, [](advised_service& s) { s.speculation.reset(); }, true);
    t.reason += join_text("; draft length ", double(a.service().speculation->length));
    return t;
  }
  return best_draft_length(a, words, drafter::layer, assumed.layer, 4);
}

inline technique own_heads(const adviser& a, const advice_acceptance& assumed) {
  const technique_description words{"mtp", "speculation",
                                    "the module's weights and cache; trained with the model",
                                    "the batch leaves no idle compute in a step"};
  technique t = named_technique(words);
  if (!a.deployed().model.mtp || a.service().speculation || a.service().pools ||
      a.load().preemption_mode) {
    t.in_use = a.service().speculation.has_value() && a.service().speculation->by == drafter::layer;
    t.reason = !a.deployed().model.mtp   ? "the model has no MTP heads"
               : a.service().speculation ? "the service uses speculative decoding already"
               : a.service().pools       ? no_pools_with_speculation
                                         : no_preemption_with_speculation;
    return t;
  }
  return best_draft_length(a, words, drafter::layer, assumed.own_heads, 2);
}

}  // namespace detail

/// A separate drafter, and the model's MTP heads.
inline std::vector<technique> speculation_techniques(const adviser& a,
                                                     const advice_acceptance& assumed = {}) {
  return {detail::speculative_decoding(a, assumed), detail::own_heads(a, assumed)};
}

}  // namespace perfmodel::inline v0_3
