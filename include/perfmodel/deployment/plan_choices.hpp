// What a plan tries: formats that a device computes in, layouts, numbers of replicas, chunk budgets.
#pragma once

#include <algorithm>
#include <perfmodel/deployment/plan_request.hpp>
#include <vector>

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
  const double prompt = computed_tokens(q.load);
  std::vector<double> budgets = q.chunk_budgets;
  std::sort(budgets.begin(), budgets.end());
  for (const double tokens : budgets) {
    if (tokens != own) all.push_back(tokens);
    if (tokens >= prompt) break;
  }
  return all;
}

}  // namespace perfmodel::detail
