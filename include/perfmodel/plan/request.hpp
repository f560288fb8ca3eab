// Request of a deployment plan: load, targets and the choices to try.
#pragma once

#include <concepts>
#include <optional>
#include <perfmodel/serving/serving.hpp>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Formats of a deployment: weights, activations and KV cache. An engine that runs a checkpoint in
/// formats of its own has a precision of its own.
struct plan_precision {
  label name{};
  weight_storage weights = number_format::bf16;
  number_format activations = number_format::bf16;
  storage_format kv = number_format::bf16;
  std::optional<number_format> expert_activations{};
  std::optional<engine> only_engine{};  ///< none: any engine
  label only_accelerator{};             ///< empty: any accelerator
};

/// Default precisions of a plan. Leaves out: the effect of a format on output quality.
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

/// Disaggregated serving: a prefill pool and a decode pool. Without a link the KV cache crosses the
/// fabric if it joins both pools, else the slower host link, with a network behind it.
struct plan_pools {
  std::optional<cache_link> link{};
  bool first_token_from_decode = false;
  std::vector<accelerator> prefill_accelerators{};  ///< in addition to the decode accelerator
};

/// Request of a plan: serve the whole `load` on at most `gpus` devices of one accelerator within
/// the targets. Both pools of a disaggregated service count against `gpus`.
struct plan_request {
  std::vector<accelerator> accelerators{};
  transformer model{};
  int gpus = 8;
  service_load load{};
  service_targets targets{};                     ///< shares of requests from 0.5 to 0.999
  duration<> max_queueing_time = 60.0 * second;  ///< largest mean admission delay
  /// Largest share of requests that queue for KV memory or for one of the maximum running requests
  /// (`serving_estimate::queued`); 1: no limit.
  double queued_limit = 1.0;
  std::vector<plan_precision> precisions = common_precisions();
  std::optional<double> utilization{};  ///< `deployment::utilization`
  std::optional<bytes<>> activation_bytes{};
  std::optional<bytes<>> runtime_bytes{};
  std::vector<engine> engines{};  ///< empty: `engines_on(accelerator)` for a policy by engine
  engine_limits limits{};
  /// Token budgets of an engine step, in addition to the default of an engine with chunked prefill.
  /// Predictions only, like `speculations` and `pools`.
  std::vector<double> chunk_budgets{512.0, 2048.0, 8192.0};
  std::vector<speculation> speculations{};  ///< tried in addition to plain decoding
  std::optional<plan_pools> pools{};        ///< tried in addition to one pool
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

/// Checks a request; a template, so that only a program that plans compiles it.
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

inline const accelerator* find_accelerator(const std::vector<accelerator>& all, const label& name) {
  for (const accelerator& a : all) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

/// Refuses options without a bound: quantiles, speculative decoding and disaggregation.
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
