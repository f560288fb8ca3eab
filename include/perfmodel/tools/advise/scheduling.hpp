// Tricks of a scheduler: who joins a batch, what memory is kept, how prompts are cut, reused and moved.
#pragma once

#include <algorithm>
#include <cmath>
#include <perfmodel/laws/kv_cache.hpp>
#include <perfmodel/serving/state.hpp>
#include <perfmodel/tools/advise/adviser.hpp>
#include <vector>

namespace perfmodel {

/// How much longer a static batch runs than its mean answer: the longest of n answers over the mean, as of a
/// lognormal of that spread. Returns 1 for one sequence or no spread. Source: the share of slots in use
/// is sum of lengths / (n x longest): Yu et al., "Orca", OSDI 2022, section 2.
/// Test: 1 for one; the mean of largest draws by the sum over quantiles.
template <Scalar T>
constexpr T static_batch_stretch(const T& sequences, const T& cv) {
  using math::exp;
  using math::log;
  using math::sqrt;
  detail::count("sequences", sequences);
  const T variance = log(T(1.0 + detail::not_negative("cv", cv) * cv));
  const double share = lower(sequences) / (lower(sequences) + 1.0);
  return named(
      "stretch",
      scalar_max(T(1.0),
                 T(exp(T(detail::normal_quantile(share) * sqrt(variance) - 0.5 * variance)))));
}

namespace detail {

/// Batches in which none joins, of which nothing is known of evictions.
inline void batch_statically(advised_service& s) {
  s.load.scheduler = scheduling::static_batches;
  s.load.preemption_mode.reset();
}

/// A bound of static batches has neither other prompts nor a longest answer: both added.
inline void batches_by_bound(technique& t, const adviser& a) {
  advised_service other = a.service();
  batch_statically(other);
  const serving_estimate e = a.answer(other);
  const double longer = static_batch_stretch(a.batch(), a.load().output_cv);
  const duration<> before =
      e.e2e + (a.batch() - 1.0) * e.prefill.time + (longer - 1.0) * a.load().output_tokens * e.itl;
  if (!a.now().feasible) return;
  t.gain = before / a.now().e2e;
  t.harmful = t.gain < 1.0 - 1e-3;
  t.why =
      say("a batch that starts together takes ", before, ", a request that joins ", a.now().e2e);
}

/// What a batch that starts together takes is that of its longest answer: where a load states no spread of
/// answers, a coefficient of variation of 1 is assumed.
inline technique continuous_batching(const adviser& stated) {
  const technique_words words{"continuous_batching", "scheduling", "prompts interrupt answers",
                              "there is no batch to assemble: about one request at a time"};
  advised_service varied = stated.service();
  const bool assumed = varied.load.output_cv == 0.0;
  if (assumed) varied.load.output_cv = 1.0;
  const bool fixed = varied.load.scheduler == scheduling::static_batches;
  const adviser a = stated.adviser_of(varied);
  const double at_once = stated.now().batch;
  technique t = a.asked(
      words,
      [fixed](advised_service& s) {
        batch_statically(s);
        if (fixed) s.load.scheduler.reset();
      },
      !fixed);
  if (!fixed && a.now().ttft_distribution.size() == 0) batches_by_bound(t, a);
  t.why += say("; ", at_once, " sequences decode at once");
  if (assumed) t.why += ", of lengths that are assumed to vary by their mean";
  if (at_once <= 1.0) t.harmful = true;
  return t;
}

/// Without paging each sequence reserves the longest context that the model has, up to 4096 beyond its own.
inline technique paged_attention(const adviser& a) {
  const technique_words words{
      "paged_attention", "scheduling", "a table of blocks, read by each step",
      "memory is no limit: all requests fit even where each reserves the longest"};
  const double mean = a.context(), own = a.load().input_tokens + a.load().output_tokens;
  const double longest =
      (std::max)(own, (std::min)(a.runs().model.max_context.value_or(4096.0), own + 4096.0));
  const double reserved = (std::max)(1.0, std::floor(a.now().capacity * mean / longest));
  technique t = a.asked(
      words, [reserved](advised_service& s) { s.load.batch_limit = reserved; }, true);
  t.why += say("; ", a.now().capacity, " sequences fit in blocks, ", reserved,
               " where each reserves ", longest, " tokens; waste ", 100.0 * paged_waste(mean, 16.0),
               " % against ", 100.0 * contiguous_waste(mean, longest), " %");
  if (!t.enables && t.gain <= 1.0) t.harmful = true;
  return t;
}

inline technique chunked_prefill(const adviser& a) {
  const technique_words words{"chunked_prefill", "scheduling",
                              "the cache of a prompt is read again by each of its chunks",
                              "chunks are too fine: prompts wait for passes that the weights fill"};
  if (a.load().scheduler == scheduling::static_batches) {
    technique t = named_technique(words);
    t.why = "batches are static: nothing decodes beside a prompt";
    return t;
  }
  if (a.load().chunk_tokens) {
    const double chunk = *a.load().chunk_tokens;
    technique t = a.asked(
        words,
        [](advised_service& s) {
          s.load.chunk_tokens.reset();
          s.load.scheduler = scheduling::prefill_first;
        },
        true);
    t.why += say("; chunks of ", chunk, " tokens");
    return t;
  }
  const bool mixed = a.load().scheduler.value_or(scheduling_of(a.runs().serving_engine)) ==
                     scheduling::mixed_chunks;
  technique t = a.asked(
      words,
      [mixed](advised_service& s) {
        s.load.scheduler = mixed ? scheduling::prefill_first : scheduling::mixed_chunks;
        if (!mixed) s.load.chunk_tokens = 2048.0;
      },
      mixed);
  t.why += mixed ? "; with the engine's own budget" : "; chunks of 2048 tokens";
  return t;
}

inline technique prefix_cache(const adviser& a) {
  const technique_words words{"prefix_cache", "scheduling",
                              "blocks that are kept for later prompts",
                              "prefixes are not shared: nothing is found"};
  const double found = resolve_prefix_hit(a.runs(), a.load()).prefix_hit;
  if (found > 0.0) {
    const auto forget = [](advised_service& s) {
      s.load.prefix_hit = 0.0;
      s.load.shared = {};
      s.load.host.reset();
    };
    technique t = a.asked(words, forget, true);
    t.why += say("; ", 100.0 * found, " % of a prompt is found");
    return t;
  }
  technique t = a.asked(words, [](advised_service& s) { s.load.prefix_hit = 0.5; });
  t.why = "prefix_hit is 0: nothing is found. Were half of each prompt found, ";
  t.why += t.enables && !t.has_ratio ? std::string("the service would be feasible")
                                     : say("x", t.applies ? t.gain : 1.0);
  t.enables = false;
  t.has_ratio = true;
  t.e2e = {};
  t.gain = 1.0;
  t.applies = false;
  t.harmful = true;
  t.apply = {};
  return t;
}

/// The pools of the same devices at one split, over the fabric.
inline disaggregated split(const adviser& a, double prefilling) {
  const advised_service& s = a.service();
  disaggregated d;
  d.prefill.deployment = d.decode.deployment = s.runs;
  if (s.copies >= 2.0) {
    d.prefill.replicas = prefilling;
    d.decode.replicas = s.copies - prefilling;
  } else {
    for (auto* pool : {&d.prefill, &d.decode}) {
      pool->deployment.layout.tensor /= 2;
      pool->deployment.layout.expert = (std::max)(1, pool->deployment.layout.expert / 2);
    }
  }
  const interconnect& fabric = s.runs.device.fabric;
  d.link.per_device = (fabric.exists() ? fabric : s.runs.device.host).bandwidth.quantity();
  return d;
}

inline technique disaggregation(const adviser& a) {
  const technique_words words{
      "disaggregation", "scheduling",
      "the cache of every prompt is sent; memory of the prefill pool is idle",
      "one pool waits for the other, or the link is slower than the prompt", "layout"};
  technique best = named_technique(words);
  const advised_service& s = a.service();
  const bool halves = s.runs.layout.tensor % 2 == 0 && s.runs.layout.data == 1;
  const interconnect& fabric = s.runs.device.fabric;
  const bool link =
      fabric.exists() ? fabric.bandwidth.is_stated() : s.runs.device.host.bandwidth.is_stated();
  if (s.pools || s.drafts || s.load.preemption_mode || !link || (s.copies < 2.0 && !halves)) {
    best.in_use = s.pools.has_value();
    best.why = s.pools           ? "prompts have a pool of their own already"
               : s.drafts        ? "nothing is known of drafts in pools"
               : s.load.preemption_mode ? "nothing is known of evictions in pools"
               : !link           ? "no link is stated between devices"
                                 : "there are no two groups of devices";
    return best;
  }
  const double most = s.copies >= 2.0 ? s.copies - 1.0 : 1.0;
  const double stride = (std::max)(1.0, std::floor(most / 4.0));
  for (double n = 1.0; n <= most; n += stride) {
    const disaggregated pools = split(a, n);
    technique t = a.asked(words, [pools](advised_service& other) {
      other.pools = pools;
      other.load.batching_wait_iterations = 0.0;  // no prompt meets answers
      other.load.scheduler.reset();
    });
    t.why += s.copies >= 2.0 ? say("; ", n, " of ", s.copies, " copies prefill")
                             : std::string("; half of the ranks prefill");
    if (n == 1.0 || outranks(t, best)) best = t;
  }
  return best;
}

}  // namespace detail

/// continuous batching, paging, chunks, prefixes, pools.
inline std::vector<technique> scheduling_techniques(const adviser& a) {
  return {detail::continuous_batching(a), detail::paged_attention(a), detail::chunked_prefill(a),
          detail::prefix_cache(a), detail::disaggregation(a)};
}

}  // namespace perfmodel
