// Request of a deployment plan: the load, the targets, and the choices to try.
#pragma once

#include <concepts>
#include <optional>
#include <perfmodel/serving/serving.hpp>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Number formats of a deployment: weights, activations and KV cache. If an engine runs a
/// checkpoint in other formats than the rest, it has a precision of its own (`only_engine`).
struct plan_precision {
  label name{};
  weight_storage weights = number_format::bf16;
  number_format activations = number_format::bf16;
  storage_format kv = number_format::bf16;
  std::optional<number_format> expert_activations{};
  std::optional<engine> only_engine{};  ///< engine that uses it; empty: any
  label only_accelerator{};             ///< accelerator that uses it; empty: any
};

/// Precisions that a plan tries by default.
/// Leaves out: the effect of a format on the quality of outputs.
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

/// Choices of disaggregated serving, with a prefill pool and a decode pool. If `link` is empty, KV
/// caches cross the fabric if it connects both pools, else the slower of the two host links
/// (default_cache_link).
struct plan_pools {
  std::optional<cache_link> link{};
  bool first_token_from_decode = false;
  /// Accelerators of prefill pools, in addition to that of the decode pool.
  std::vector<accelerator> prefill_accelerators{};
};

/// Prefill pool of a disaggregated service.
struct plan_pool {
  parallel_layout layout{};
  int replicas = 1;
  label accelerator{};  ///< empty: that of the decode pool

  friend bool operator==(const plan_pool&, const plan_pool&) = default;
};

/// A candidate that a plan does not choose, whatever its estimate says: for example because it
/// misses a target when simulated.
struct plan_refusal {
  label accelerator{};
  label precision{};
  engine serving_engine = engine::none;
  parallel_layout layout{};
  std::optional<plan_pool> prefill{};
  std::optional<double> chunk_tokens{};
  std::optional<std::size_t> speculation_index{};
  int replicas = 1;
  double batch_limit = 0;  ///< maximum running requests of a replica
  feasibility why{};
};

/// Request of a plan: deployments that serve the whole `load` within the targets. Each uses at most
/// `gpus` devices of one accelerator model. In a disaggregated service both pools count against
/// `gpus`, and the prefill pool may use another accelerator model.
struct plan_request {
  std::vector<accelerator> accelerators{};
  transformer model{};
  int gpus = 8;
  service_load load{};
  service_targets targets{};  ///< latency targets; percentiles from 0.5 to 0.999
  /// Maximum of the mean `serving_estimate::wait`.
  duration<> max_queueing_time = 60.0 * second;
  /// Largest share of requests that queue for KV memory or for one of the maximum running requests
  /// (`serving_estimate::queued`); 1: no limit.
  double queued_limit = 1.0;
  std::vector<plan_precision> precisions = common_precisions();
  std::optional<double> utilization{};  ///< sets `deployment::utilization`
  std::optional<bytes<>> activation_bytes{};
  std::optional<bytes<>> runtime_bytes{};
  /// Engines to try. If empty: every engine of the accelerator for a policy that is a function of
  /// the engine, else `engine::none`.
  std::vector<engine> engines{};
  engine_limits limits{};
  bool prefix_caching = false;
  std::optional<basic_lora<>> lora{};
  /// Each engine adapts routed experts or does not by its default, whatever `lora` says.
  bool lora_experts_by_engine = false;
  bool cuda_graphs = true;
  /// Token budgets of an engine step to try with chunked prefill, in addition to the engine's
  /// default. Like `speculations` and `pools`, only a prediction uses them, not a bound.
  std::vector<double> chunk_budgets{512.0, 2048.0, 8192.0};
  std::vector<speculation> speculations{};  ///< tried in addition to plain decoding
  std::optional<plan_pools> pools{};        ///< tried in addition to one pool
  std::vector<plan_refusal> refused{};      ///< candidates not to choose
};

namespace detail {

inline void check_share(const char* name, const std::optional<latency_target>& target) {
  if (target && target->share) within(name, *target->share, 0.5, 0.999, "0.5 to 0.999");
}

inline void check_plan_pools(const plan_pools& pools) {
  if (pools.link) require_valid(*pools.link, "pools.link");
  const std::vector<accelerator>& all = pools.prefill_accelerators;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (all[i].name == all[k].name) {
        fail(error_code::inconsistent,
             "pools.prefill_accelerators has one name twice; allowed: each once");
      }
    }
  }
}

/// Checks a request. It is a template so that only programs that plan compile it.
template <std::same_as<plan_request> Request>
void check_request(const Request& q) {
  if (q.accelerators.empty()) fail(error_code::out_of_range, "accelerators: give at least one");
  if (q.precisions.empty()) fail(error_code::out_of_range, "precisions: give at least one");
  within("gpus", static_cast<double>(q.gpus), 1.0, 65536.0, "1 to 65536");
  require_valid(q.targets, "targets");
  check_share("targets.ttft.share", q.targets.ttft);
  check_share("targets.itl.share", q.targets.itl);
  check_share("targets.e2e.share", q.targets.e2e);
  positive("max_queueing_time", q.max_queueing_time);
  within("queued_limit", q.queued_limit, 1e-6, 1.0, "1e-6 to 1");
  if (q.utilization) {
    positive("utilization", *q.utilization);
    fraction("utilization", *q.utilization);
  }
  for (const double tokens : q.chunk_budgets) count("chunk_budgets", tokens);
  for (const speculation& s : q.speculations) check_speculation(s);
  if (q.pools) check_plan_pools(*q.pools);
  check_load(q.load);
  checked(q.model);
}

/// Accelerator of this name; null if there is none.
inline const accelerator* find_accelerator(const std::vector<accelerator>& all, const label& name) {
  for (const accelerator& a : all) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

/// Refuses options that have no bound: percentiles, speculative decoding and disaggregation.
inline void check_bound_request(const plan_request& q) {
  if (q.targets.has_percentiles()) {
    fail(error_code::inconsistent,
         "shares of requests are of predictions; a bound has means: plan(request, policy)");
  }
  if (!q.speculations.empty() || q.pools) {
    fail(error_code::inconsistent,
         "speculations and pools are of predictions; a bound has neither: plan(request, policy)");
  }
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3
