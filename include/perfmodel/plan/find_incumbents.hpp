// Search for the incumbents of a plan: its first points, with the fastest deployments.
#pragma once

#include <algorithm>
#include <perfmodel/plan/candidates.hpp>
#include <perfmodel/plan/evaluate.hpp>
#include <perfmodel/plan/incumbents.hpp>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Candidate with its decode time of one sequence.
struct timed_candidate {
  const plan_candidate* candidate = nullptr;
  duration<> decode_time{};
};

/// Candidates for replicas on an accelerator that fit in memory, with the engines' own token
/// budgets, by rising decode time of one sequence.
template <class Evaluators>
std::vector<timed_candidate> fastest_candidates(const plan_request& q, const accelerator& a,
                                                const std::vector<plan_candidate>& candidates,
                                                const Evaluators& evaluators) {
  const incumbent_list none;
  std::vector<timed_candidate> all;
  for (const plan_candidate& c : candidates) {
    if (c.kind != candidate_kind::replicas || c.device != &a || c.chunk_tokens) continue;
    const auto& evaluator = evaluators.at(a, c.serving_engine);
    const auto time = candidate_evaluation(q, c, evaluator, false, none).time_of_single_decode();
    if (time) all.push_back({&c, *time});
  }
  std::stable_sort(all.begin(), all.end(), [](const timed_candidate& x, const timed_candidate& y) {
    return x.decode_time < y.decode_time;
  });
  return all;
}

/// Incumbents of a plan for an open loop, where the cost of a point is known without its
/// evaluation. Each accelerator and number of GPUs has the point of the deployment with the least
/// decode time of one sequence, of the first three that fill these GPUs.
/// Test: tests/unit/plan_incumbents.cpp, the plan without incumbents.
template <class Evaluators>
incumbent_list find_incumbents(const plan_request& q, const std::vector<plan_candidate>& candidates,
                               const Evaluators& evaluators) {
  constexpr int tries = 3;
  const incumbent_list none;
  incumbent_list found(has_all_prices(q));
  for (const accelerator& a : q.accelerators) {
    const auto fastest = fastest_candidates(q, a, candidates, evaluators);
    for (const int gpus : counts_up_to(q.gpus)) {
      int tried = 0;
      for (const timed_candidate& x : fastest) {
        const int ranks = x.candidate->layout.ranks();
        const std::vector<int> counts = counts_up_to(q.gpus / ranks);
        if (gpus % ranks != 0 || !std::binary_search(counts.begin(), counts.end(), gpus / ranks))
          continue;
        const auto& evaluator = evaluators.at(a, x.candidate->serving_engine);
        candidate_evaluation evaluation(q, *x.candidate, evaluator, false, none);
        const evaluated_point point = evaluation.evaluate_count(gpus / ranks);
        if (point.point.serving.feasible && point.misses.worst() <= 1.0) {
          found.add(point.point);
          break;
        }
        if (++tried == tries) break;
      }
    }
  }
  return found;
}

}  // namespace perfmodel::inline v0_3::detail
