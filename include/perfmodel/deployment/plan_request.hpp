// What a plan is asked and what it answers: precisions, targets, points, and what was left out.
#pragma once

#include <optional>
#include <perfmodel/cost.hpp>
#include <perfmodel/serving.hpp>
#include <string>
#include <vector>

namespace perfmodel {

/// Formats to try together: weights, the operands beside them, and the KV cache.
struct plan_precision {
  label name{};
  weight_storage weights = number_format::bf16;
  number_format activations = number_format::bf16;
  storage_format kv = number_format::bf16;
  std::optional<number_format> expert_activations{};
};

/// The precisions that a plan tries by default. Whether the answers stay good enough is the
/// caller's to judge: nothing here knows about quality.
inline std::vector<plan_precision> common_precisions() {
  const storage_format fp4_blocks(number_format::fp4, 16, 8);  // NVFP4: an FP8 scale per 16
  const storage_format int4_groups(number_format::int4, 128,
                                   16);  // GPTQ/AWQ: an FP16 scale per 128
  return {
      {"bf16", number_format::bf16, number_format::bf16, number_format::bf16},
      {"fp16",
       {number_format::fp16, number_format::fp16},
       number_format::fp16,
       number_format::fp16},
      {"fp8", number_format::fp8, number_format::fp8, number_format::bf16},
      {"fp8 + fp8 KV", number_format::fp8, number_format::fp8, number_format::fp8},
      {"int8", number_format::int8, number_format::int8, number_format::bf16},
      {"int4 weights", int4_groups, number_format::bf16, number_format::bf16},
      {"fp4 + fp8 KV", fp4_blocks, number_format::fp4, number_format::fp8},
  };
}

/// What is asked: serve `load` (of the whole service, not of a replica) on at most `gpus` devices of
/// one of the accelerators, within the targets that are given.
struct plan_request {
  std::vector<accelerator> accelerators{};
  transformer model{};
  int gpus = 8;
  service_load load{};
  std::optional<duration<>> ttft{};
  std::optional<duration<>> itl{};
  std::vector<plan_precision> precisions = common_precisions();
  std::optional<double> utilization{};  ///< of memory; this and the next as in a deployment
  std::optional<bytes<>> activation_bytes{};
  std::optional<bytes<>> runtime_bytes{};
  engine served_by = engine::none;
  engine_limits limits{};
};

struct plan_point {
  label accelerator{};
  plan_precision precision{};
  parallel_layout layout{};
  int replicas = 1;
  int gpus = 1;                               ///< in use: replicas x ranks
  double batch_limit = 0;                     ///< sequences per replica the scheduler admits
  serving_estimate serving{};                 ///< of one replica
  token_rate<> output_rate{};                 ///< of the whole service
  duration<> gpu_time_per_million{};          ///< device time that a million output tokens take
  std::optional<money<>> cost_per_million{};  ///< where the accelerator has a price
  bool meets_targets = true;
};

/// Deployments left out, by reason: the one that came nearest stands for all of them.
struct plan_rejection {
  label accelerator{};
  label precision{};
  parallel_layout layout{};
  std::string reason{};
  const char* unit = "";
  double needed = 0;
  double available = 0;
  long count = 0;
};

/// `frontier` holds the points that no other beats on both inter-token latency and cost, cheapest
/// first; of those within the targets, where any are. `best` indexes the cheapest one of these;
/// `all_priced` says whether cost is money or, where a price is missing, device time.
struct plan_result {
  std::vector<plan_point> frontier{};
  std::vector<plan_rejection> rejected{};
  long evaluated = 0;
  long feasible = 0;
  bool all_priced = true;
  std::optional<std::size_t> best{};
};

namespace detail {

inline void check_request(const plan_request& q) {
  if (q.accelerators.empty()) fail(error_code::out_of_range, "accelerators: give at least one");
  if (q.precisions.empty()) fail(error_code::out_of_range, "precisions: give at least one");
  within("gpus", static_cast<double>(q.gpus), 1.0, 65536.0, "1 to 65536");
  if (q.ttft) positive("ttft", *q.ttft);
  if (q.itl) positive("itl", *q.itl);
  if (q.utilization) {
    positive("utilization", *q.utilization);
    fraction("utilization", *q.utilization);
  }
  require_valid(q.load);
  checked(q.model);
}

/// The deployment of a request that has this precision and layout.
inline deployment deployment_of(const plan_request& q, const accelerator& a,
                                const plan_precision& f, const parallel_layout& l) {
  engine_limits limits = q.limits;
  if (!limits.tokens) limits.tokens = q.load.chunk_tokens;
  return {.device = a,
          .model = q.model,
          .layout = l,
          .weights = f.weights,
          .activations = f.activations,
          .expert_activations = f.expert_activations,
          .kv = f.kv,
          .utilization = q.utilization,
          .activation_bytes = q.activation_bytes,
          .runtime_bytes = q.runtime_bytes,
          .served_by = q.served_by,
          .limits = limits};
}

}  // namespace detail

/// The deployment behind a point, to evaluate or explain it again.
inline deployment deployment_of(const plan_request& q, const plan_point& p) {
  for (const accelerator& a : q.accelerators) {
    if (a.name == p.accelerator) return detail::deployment_of(q, a, p.precision, p.layout);
  }
  detail::fail(error_code::unknown_accelerator, "this point is not of this request");
}
/// The share of the load that one replica of a point serves.
inline service_load load_of(const plan_request& q, const plan_point& p) {
  service_load share = shared_out(q.load, p.replicas);
  share.batch_limit = p.batch_limit;
  return share;
}

}  // namespace perfmodel
