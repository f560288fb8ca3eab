// Techniques of a scheduler: continuous batching, paging, chunked prefill, prefix cache, pools.
#pragma once

#include <algorithm>
#include <cmath>
#include <perfmodel/laws/kv_cache.hpp>
#include <perfmodel/serving/state.hpp>
#include <perfmodel/tools/advise/adviser.hpp>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Longest output of a static batch over the mean output: the n/(n + 1) quantile of a lognormal
/// with coefficient of variation `cv`, over its mean. It is 1 for one sequence or cv = 0.
/// *Source:* the slot utilisation is sum of lengths / (n x longest): Yu et al., "Orca", OSDI 2022,
/// section 2.
/// *Test:* 1 for one sequence; the mean of largest draws by the sum over quantiles.
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

/// Selects static batches, for which the model has no preemption.
inline void use_static_batches(advised_service& s) {
  s.load.scheduler = scheduling::static_batches;
  s.load.preemption_mode.reset();
}

/// Adds the prefills of the batch and its longest output, which a bound of static batches lacks.
inline void compare_bound_of_static_batches(technique& t, const adviser& a) {
  advised_service other = a.service();
  use_static_batches(other);
  const serving_estimate e = a.evaluate(other);
  const double longer = static_batch_stretch(a.batch(), a.load().output_cv);
  const duration<> before =
      e.e2e + (a.batch() - 1.0) * e.prefill.time + (longer - 1.0) * a.load().output_tokens * e.itl;
  if (!a.current().feasible) return;
  t.gain = before / a.current().e2e;
  t.harmful = t.gain < 1.0 - 1e-3;
  t.reason = join_text("a static batch takes ", before, ", a request in a continuous one ",
                       a.current().e2e);
}

/// A static batch takes the time of its longest output. A load without a coefficient of variation
/// of outputs is assumed to have 1.
inline technique continuous_batching(const adviser& stated) {
  const technique_description words{"continuous_batching", "scheduling",
                                    "prefills interfere with decoding",
                                    "about one request runs at a time: there is no batch"};
  advised_service varied = stated.service();
  const bool assumed = varied.load.output_cv == 0.0;
  if (assumed) varied.load.output_cv = 1.0;
  const bool fixed = varied.load.scheduler == scheduling::static_batches;
  const adviser a = stated.adviser_for(varied);
  const double at_once = stated.current().batch;
  technique t = a.try_change(
      words,
      [fixed](advised_service& s) {
        use_static_batches(s);
        if (fixed) s.load.scheduler.reset();
      },
      !fixed);
  if (!fixed && a.current().ttft_distribution.size() == 0) {
    compare_bound_of_static_batches(t, a);
  }
  t.reason += join_text("; ", at_once, " running sequences");
  if (assumed) t.reason += ", output lengths assumed to have a coefficient of variation of 1";
  if (at_once <= 1.0) t.harmful = true;
  return t;
}

/// Without paging a sequence reserves the model's longest context, at most 4096 tokens over its
/// own.
inline technique paged_attention(const adviser& a) {
  const technique_description words{
      "paged_attention", "scheduling", "a block table that each step reads",
      "memory is no limit: all requests fit with the longest context reserved"};
  const double mean = a.context(), own = a.load().input_tokens + a.load().output_tokens;
  const double longest =
      (std::max)(own, (std::min)(a.deployed().model.max_context.value_or(4096.0), own + 4096.0));
  const double reserved = (std::max)(1.0, std::floor(a.current().capacity * mean / longest));
  technique t = a.try_change(
      words, [reserved](advised_service& s) { s.load.batch_limit = reserved; }, true);
  t.reason +=
      join_text("; ", a.current().capacity, " sequences fit in blocks, ", reserved, " with ",
                longest, " tokens reserved; waste ", 100.0 * paged_waste(mean, 16.0), " % and ",
                100.0 * contiguous_waste(mean, longest), " %");
  if (!t.makes_feasible && t.gain <= 1.0) t.harmful = true;
  return t;
}

inline technique chunked_prefill(const adviser& a) {
  const technique_description words{
      "chunked_prefill", "scheduling", "each chunk reads the KV cache of the earlier chunks",
      "chunks are too small: every step reads all weights for few tokens"};
  if (a.load().scheduler == scheduling::static_batches) {
    technique t = named_technique(words);
    t.reason = "batches are static: no sequence decodes during a prefill";
    return t;
  }
  if (a.load().chunk_tokens) {
    const double chunk = *a.load().chunk_tokens;
    technique t = a.try_change(
        words,
        [](advised_service& s) {
          s.load.chunk_tokens.reset();
          s.load.scheduler = scheduling::prefill_first;
        },
        true);
    t.reason += join_text("; chunks of ", chunk, " tokens");
    return t;
  }
  const bool mixed = a.load().scheduler.value_or(scheduling_of(a.deployed().serving_engine)) ==
                     scheduling::mixed_chunks;
  technique t = a.try_change(
      words,
      [mixed](advised_service& s) {
        s.load.scheduler = mixed ? scheduling::prefill_first : scheduling::mixed_chunks;
        if (!mixed) s.load.chunk_tokens = 2048.0;
      },
      mixed);
  t.reason += mixed ? "; with the engine's own budget" : "; chunks of 2048 tokens";
  return t;
}

inline technique prefix_cache(const adviser& a) {
  const technique_description words{"prefix_cache", "scheduling", "memory for cached blocks",
                                    "requests share no prefix: there are no hits"};
  const double found = resolve_prefix_hit(a.deployed(), a.load()).prefix_hit;
  if (found > 0.0) {
    const auto remove_cache = [](advised_service& s) {
      s.load.prefix_hit = 0.0;
      s.load.shared = {};
      s.load.host.reset();
    };
    technique t = a.try_change(words, remove_cache, true);
    t.reason += join_text("; ", 100.0 * found, " % of a prompt is cached");
    return t;
  }
  technique t = a.try_change(words, [](advised_service& s) { s.load.prefix_hit = 0.5; });
  t.reason = "prefix_hit is 0: requests share no prefix. With half of each prompt cached: ";
  t.reason += t.makes_feasible && !t.has_ratio ? std::string("feasible")
                                               : join_text("x", t.applies ? t.gain : 1.0);
  t.makes_feasible = false;
  t.has_ratio = true;
  t.e2e = {};
  t.gain = 1.0;
  t.applies = false;
  t.harmful = true;
  t.apply = {};
  return t;
}

/// Prefill and decode pools on the same devices, connected by the fabric.
inline disaggregated split_into_pools(const adviser& a, double prefilling) {
  const advised_service& s = a.service();
  disaggregated d;
  d.prefill.deployment = d.decode.deployment = s.deployment;
  if (s.replicas >= 2.0) {
    d.prefill.replicas = prefilling;
    d.decode.replicas = s.replicas - prefilling;
  } else {
    for (auto* pool : {&d.prefill, &d.decode}) {
      pool->deployment.layout.tensor /= 2;
      pool->deployment.layout.expert = (std::max)(1, pool->deployment.layout.expert / 2);
    }
  }
  const interconnect& fabric = s.deployment.device.fabric;
  d.link.bandwidth_per_device =
      (fabric.exists() ? fabric : s.deployment.device.host).bandwidth.quantity();
  return d;
}

inline technique disaggregation(const adviser& a) {
  const technique_description words{
      "disaggregation", "scheduling",
      "the KV cache of every prompt is sent; memory of the prefill pool is idle",
      "the pools are unbalanced, or the link is slower than the prefill", "layout"};
  technique best = named_technique(words);
  const advised_service& s = a.service();
  const bool halves = s.deployment.layout.tensor % 2 == 0 && s.deployment.layout.data == 1;
  const interconnect& fabric = s.deployment.device.fabric;
  const bool link = fabric.exists() ? fabric.bandwidth.is_stated()
                                    : s.deployment.device.host.bandwidth.is_stated();
  if (s.pools || s.speculation || s.load.preemption_mode || !link ||
      (s.replicas < 2.0 && !halves)) {
    best.in_use = s.pools.has_value();
    best.reason = s.pools         ? "the service is disaggregated already"
                  : s.speculation ? "the model does not combine disaggregated pools and speculation"
                  : s.load.preemption_mode
                      ? "the model does not combine disaggregated pools and preemption"
                  : !link ? "no link is stated between devices"
                          : "there are no two groups of devices";
    return best;
  }
  const double most = s.replicas >= 2.0 ? s.replicas - 1.0 : 1.0;
  const double stride = (std::max)(1.0, std::floor(most / 4.0));
  for (double n = 1.0; n <= most; n += stride) {
    const disaggregated pools = split_into_pools(a, n);
    technique t = a.try_change(words, [pools](advised_service& other) {
      other.pools = pools;
      other.load.batching_wait_iterations = 0.0;  // prefills do not wait for decode steps
      other.load.scheduler.reset();
    });
    t.reason += s.replicas >= 2.0 ? join_text("; ", n, " of ", s.replicas, " replicas prefill")
                                  : std::string("; half of the ranks prefill");
    if (n == 1.0 || outranks(t, best)) best = t;
  }
  return best;
}

}  // namespace detail

/// Continuous batching, paged attention, chunked prefill, prefix cache, disaggregation.
inline std::vector<technique> scheduling_techniques(const adviser& a) {
  return {detail::continuous_batching(a), detail::paged_attention(a), detail::chunked_prefill(a),
          detail::prefix_cache(a), detail::disaggregation(a)};
}

}  // namespace perfmodel::inline v0_3
