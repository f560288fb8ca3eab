// What a plan is asked: a load, targets, and what may be tried.
#pragma once

#include <algorithm>
#include <optional>
#include <perfmodel/serving/serving.hpp>
#include <vector>

namespace perfmodel {

/// Formats to try together: weights, operands that they multiply, and the KV cache. `run_by` and
/// `run_on`: by this engine and on this accelerator only, where they run a checkpoint differently.
struct plan_precision {
  label name{};
  weight_storage weights = number_format::bf16;
  number_format activations = number_format::bf16;
  storage_format kv = number_format::bf16;
  std::optional<number_format> expert_activations{};
  std::optional<engine> run_by{};
  label run_on{};  ///< empty: any accelerator
};

/// The precisions that a plan tries by default. Whether the answers stay good enough is the
/// caller's to judge: nothing here knows about quality.
inline std::vector<plan_precision> common_precisions() {
  return {
      {"bf16", number_format::bf16, number_format::bf16, number_format::bf16},
      {"fp16",
       {number_format::fp16, number_format::fp16},
       number_format::fp16,
       number_format::fp16},
      {"fp8", number_format::fp8, number_format::fp8, number_format::bf16},
      {"fp8 + fp8 KV", number_format::fp8, number_format::fp8, number_format::fp8},
      {"int8", number_format::int8, number_format::int8, number_format::bf16},
      {"int4 g128", number_format::int4, number_format::bf16, number_format::bf16},
      {"fp4 + fp8 KV", number_format::fp4, number_format::fp4, number_format::fp8},
  };
}

/// Pools apart: prompts on some replicas, answers on others. Without a link the cache goes over the
/// fabric, where it joins both pools, else over the host's link, behind which a network is; between two
/// kinds of chip over the slower of their hosts' links.
struct plan_pools {
  std::optional<cache_link> link{};
  bool first_token_from_decode = false;  ///< as in a disaggregated service
  /// Kinds of chip that are tried for prompts, beside the one that decodes.
  std::vector<accelerator> prefill_on{};
};

/// What is asked: serve `load` (of the whole service, not of a replica) on at most `gpus` devices (of
/// pools: both together) of one of the accelerators, within its targets. Nobody waits longer than
/// `longest_wait` for a place.
struct plan_request {
  std::vector<accelerator> accelerators{};
  transformer model{};
  int gpus = 8;
  service_load load{};
  service_targets targets{};  ///< a share of requests is 0.5 to 0.999
  duration<> longest_wait = 60.0 * second;
  /// Largest share of requests that may queue for KV memory or for one of the maximum running
  /// requests (serving_estimate::queued); 1: no limit.
  double queued_limit = 1.0;
  std::vector<plan_precision> precisions = common_precisions();
  std::optional<double> utilization{};  ///< of memory; this and the next as in a deployment
  std::optional<bytes<>> activation_bytes{};
  std::optional<bytes<>> runtime_bytes{};
  std::vector<engine> engines{};  ///< empty: those that a policy by engine has, see engines_on
  engine_limits limits{};
  /// Prompt tokens of a pass, tried beside the engine's own where its scheduler cuts prompts and the
  /// load does not say. Predictions only, as the next two.
  std::vector<double> chunk_budgets{512.0, 2048.0, 8192.0};
  std::vector<speculation> drafts{};  ///< each is tried, and none; a model that drafts is cut alike
  std::optional<plan_pools> pools{};  ///< tried too, where given
  int threads = 0;                    ///< that work on it; 0: as many as the machine runs at once
};

namespace detail {

inline void check_share(const char* name, const std::optional<latency_target>& target) {
  if (target && target->share) within(name, *target->share, 0.5, 0.999, "0.5 to 0.999");
}

inline void check_plan_pools(const plan_pools& pools) {
  if (pools.link) require_valid(*pools.link, "pools.link");
  for (std::size_t i = 0; i < pools.prefill_on.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (pools.prefill_on[i].name == pools.prefill_on[k].name) {
        fail(error_code::inconsistent, "pools.prefill_on has one name twice; allowed: each once");
      }
    }
  }
}

inline void check_request(const plan_request& q) {
  if (q.accelerators.empty()) fail(error_code::out_of_range, "accelerators: give at least one");
  if (q.precisions.empty()) fail(error_code::out_of_range, "precisions: give at least one");
  within("gpus", static_cast<double>(q.gpus), 1.0, 65536.0, "1 to 65536");
  within("threads", static_cast<double>(q.threads), 0.0, 1024.0, "0 to 1024");
  require_valid(q.targets, "targets");
  check_share("targets.ttft.share", q.targets.ttft);
  check_share("targets.itl.share", q.targets.itl);
  check_share("targets.e2e.share", q.targets.e2e);
  positive("longest_wait", q.longest_wait);
  within("queued_limit", q.queued_limit, 1e-6, 1.0, "1e-6 to 1");
  if (q.utilization) {
    positive("utilization", *q.utilization);
    fraction("utilization", *q.utilization);
  }
  for (const double tokens : q.chunk_budgets) count("chunk_budgets", tokens);
  for (const speculation& s : q.drafts) check_speculation(s);
  if (q.pools) check_plan_pools(*q.pools);
  check_load(q.load);
  checked(q.model);
}

/// What only predictions have. A bound has no distribution, and no engine that speculates.
inline void check_bound_request(const plan_request& q) {
  if (q.targets.has_percentiles()) {
    fail(error_code::inconsistent,
         "shares of requests are of predictions; a bound has means: plan(request, policy)");
  }
  if (!q.drafts.empty() || q.pools) {
    fail(error_code::inconsistent,
         "drafts and pools are of predictions; a bound has neither: plan(request, policy)");
  }
}

}  // namespace detail

}  // namespace perfmodel

// What a plan tries: formats that a device computes in, layouts, numbers of replicas, chunk budgets.

namespace perfmodel::detail {

/// Powers of two up to n. What is tried for n is tried for more than n too, so that more devices are
/// never worse.
inline std::vector<int> powers_up_to(int n) {
  std::vector<int> s;
  for (int i = 1; i <= n; i *= 2) s.push_back(i);
  return s;
}
/// Every count up to 64, then eight in each octave.
inline std::vector<int> counts_up_to(int n) {
  std::vector<int> s;
  for (int i = 1, stride = 1; i <= n; i += stride) {
    s.push_back(i);
    if (i >= 64 && (i & (i - 1)) == 0) stride = i / 8;
  }
  return s;
}
/// Tensor-parallel degrees on a fabric: powers of two, and all of it.
inline std::vector<int> tensor_degrees(int gpus, int fabric) {
  std::vector<int> s = powers_up_to((std::min)(gpus, fabric));
  if (fabric <= gpus && s.back() != fabric) s.push_back(fabric);
  return s;
}

/// Whether the accelerator has every format that a precision multiplies in: linear layers, experts,
/// attention, and the head and router, which stay in the format of `others`.
constexpr bool computes(const accelerator& a, const plan_precision& f) {
  return supports(a, wider(f.activations, f.weights.linear.format)) &&
         supports(a,
                  wider(f.expert_activations.value_or(f.activations), f.weights.experts.format)) &&
         supports(a, wider(f.activations, f.kv.format)) && supports(a, f.weights.others);
}

/// Tensor and pipeline degrees, experts cut by tensor or spread; and where experts are spread,
/// data-parallel attention, every group with a whole expert or more.
/// Test: 10 of a dense model on 8 devices of a fabric; one with data 8 and experts 8 of a mixture.
inline std::vector<parallel_layout> layouts_of(const transformer& m, const accelerator& a,
                                               int gpus) {
  const int fabric = a.fabric.exists() ? (std::max)(1, a.fabric.ranks) : 1;
  const bool routed = experts_of(m).has_value();
  std::vector<parallel_layout> all;
  for (const int ranks : tensor_degrees(gpus, fabric)) {
    for (const int pipeline : powers_up_to(gpus / ranks)) {
      all.push_back({.tensor = ranks, .pipeline = pipeline});
      if (routed && ranks > 1) {
        all.push_back({.tensor = ranks, .pipeline = pipeline, .expert = ranks});
      }
    }
    if (!routed) continue;
    for (int tensor = 1; tensor < ranks; tensor *= 2) {
      if (ranks % tensor != 0) continue;
      all.push_back({.tensor = tensor, .expert = ranks, .data = ranks / tensor});
    }
  }
  return all;
}

/// Budgets beside the engine's own (none), where its scheduler cuts prompts: those that differ from it
/// and are less than a prompt, and the least of those that are not.
inline std::vector<std::optional<double>> budgets_of(const plan_request& q, const accelerator& a,
                                                     engine e, int tensor) {
  std::vector<std::optional<double>> all{std::nullopt};
  const bool cuts = q.load.scheduler.value_or(scheduling_of(e)) == scheduling::mixed_chunks &&
                    !q.load.chunk_tokens && !q.limits.tokens;
  if (!cuts) return all;
  const double own = *engine_limits_on(e, q.limits, a.dram.capacity.quantity(), tensor,
                                       a.architecture == chip_architecture::ampere)
                          .tokens;
  const double prompt = uncached_tokens(q.load);
  std::vector<double> budgets = q.chunk_budgets;
  std::sort(budgets.begin(), budgets.end());
  for (const double tokens : budgets) {
    if (tokens != own) all.push_back(tokens);
    if (tokens >= prompt) break;
  }
  return all;
}

}  // namespace perfmodel::detail
