// What a plan is asked: a load, targets, and what may be tried.
#pragma once

#include <optional>
#include <perfmodel/serving.hpp>
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
  bool decode_starts = false;  ///< as in a disaggregated service
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
  if (q.targets.of_shares()) {
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
