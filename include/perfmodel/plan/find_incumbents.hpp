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
    steps_of_variants<typename Evaluators::evaluator> steps;
    const auto time =
        candidate_evaluation(q, c, evaluator, steps, false, none).time_of_single_decode();
    if (time) all.push_back({&c, *time});
  }
  std::stable_sort(all.begin(), all.end(), [](const timed_candidate& x, const timed_candidate& y) {
    return x.decode_time < y.decode_time;
  });
  return all;
}

/// Whether a point serves the load within the targets, and the request does not refuse it.
inline bool may_be_incumbent(const plan_request& q, const evaluated_point& x) {
  const auto is_of = [&x](const plan_refusal& r) { return refuses(r, x.point); };
  return x.point.serving.feasible && x.misses.worst() <= 1.0 &&
         std::none_of(q.refused.begin(), q.refused.end(), is_of);
}

/// Adds a point unless it exceeds its own bound.
inline void add_incumbent(const plan_request& q, const evaluated_point& x, incumbent_list& all) {
  if (!all.has_better(x.point) && !exceeded_bound(q, x.point)) all.add(x.point);
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
    std::vector<steps_of_variants<typename Evaluators::evaluator>> steps(fastest.size());
    for (const int gpus : counts_up_to(q.gpus)) {
      int tried = 0;
      for (const timed_candidate& x : fastest) {
        const int ranks = x.candidate->layout.ranks();
        const std::vector<int> counts = counts_up_to(q.gpus / ranks);
        if (gpus % ranks != 0 || !std::binary_search(counts.begin(), counts.end(), gpus / ranks))
          continue;
        const auto& evaluator = evaluators.at(a, x.candidate->serving_engine);
        const auto index = static_cast<std::size_t>(&x - fastest.data());
        candidate_evaluation evaluation(q, *x.candidate, evaluator, steps[index], false, none);
        const evaluated_point point = evaluation.evaluate_count(gpus / ranks);
        if (may_be_incumbent(q, point)) {
          found.add(point.point);
          break;
        }
        if (++tried == tries) break;
      }
    }
  }
  return found;
}

/// Incumbents of a closed loop, and for each candidate the result of its most replicas.
struct closed_incumbents {
  std::vector<sized_result> most_replicas{};
  incumbent_list found{};
};

/// Candidate with the merit of its most replicas: cost x ITL, the less the better.
struct ranked_candidate {
  std::size_t index = 0;
  double merit = 0.0;
};

/// For each accelerator and number of ranks the candidate with the least merit.
class best_of_ranks {
 public:
  explicit best_of_ranks(const std::vector<plan_candidate>& candidates) : candidates_(candidates) {}

  void add(const ranked_candidate& x) {
    for (ranked_candidate& known : all_) {
      if (!is_alike(candidates_[known.index], candidates_[x.index])) continue;
      if (x.merit < known.merit) known = x;
      return;
    }
    all_.push_back(x);
  }
  const std::vector<ranked_candidate>& all() const { return all_; }

 private:
  static bool is_alike(const plan_candidate& a, const plan_candidate& b) {
    return a.device == b.device && a.layout.ranks() == b.layout.ranks();
  }
  const std::vector<plan_candidate>& candidates_;
  std::vector<ranked_candidate> all_{};
};

/// Incumbents of a plan for a closed loop. First the most replicas of every candidate are
/// evaluated, then all replica counts of the best of them: one for each accelerator and number of
/// ranks.
/// Test: tests/unit/plan_incumbents.cpp, the plan without incumbents.
template <class Evaluators, class Executor>
closed_incumbents find_closed_incumbents(const plan_request& q,
                                         const std::vector<plan_candidate>& candidates,
                                         const Evaluators& evaluators, const Executor& executor) {
  const bool all_priced = has_all_prices(q);
  closed_incumbents all{std::vector<sized_result>(candidates.size()), incumbent_list(all_priced)};
  best_of_ranks best(candidates);
  using steps_type = steps_of_variants<typename Evaluators::evaluator>;
  const auto evaluation_of = [&](std::size_t i, const incumbent_list& known, steps_type& steps) {
    const plan_candidate& c = candidates[i];
    return candidate_evaluation(q, c, evaluators.at(*c.device, c.serving_engine), steps, true,
                                known, all.most_replicas[i]);
  };
  const auto note_most_replicas = [&](std::size_t i, const plan_evaluation& e) {
    if (e.sweeps.empty() || e.sweeps.front().points.empty()) return;
    const evaluated_point& x = e.sweeps.front().points.front();
    const plan_point& p = x.point;
    if (!p.serving.feasible) return;
    all.most_replicas[i] = {p.output_rate, p.serving.itl};
    best.add({i, cost_of(p, all_priced) * p.serving.itl.value()});
    if (may_be_incumbent(q, x)) add_incumbent(q, x, all.found);
  };
  const incumbent_list none;
  const candidate_groups groups(candidates);
  executor(
      groups.size(),
      [&](std::size_t group, bool) {
        steps_type steps;
        group_evaluation evaluations;
        groups.visit(group, [&](std::size_t i) {
          evaluations.emplace_back();
          if (candidates[i].kind != candidate_kind::replicas) return;
          evaluations.back() = evaluation_of(i, none, steps).evaluate_most_replicas();
        });
        return evaluations;
      },
      [&](std::size_t group, const group_evaluation& evaluations) {
        auto e = evaluations.begin();
        groups.visit(group, [&](std::size_t i) { note_most_replicas(i, *e++); });
        return true;
      });
  const incumbent_list first = all.found;
  executor(
      best.all().size(),
      [&](std::size_t k, bool) {
        steps_type steps;
        return group_evaluation{
            evaluation_of(best.all()[k].index, first, steps).evaluate_replicas(false)};
      },
      [&](std::size_t, const group_evaluation& evaluations) {
        for (const batch_sweep& sweep : evaluations.front().sweeps) {
          for (const evaluated_point& x : sweep.points) {
            if (may_be_incumbent(q, x)) add_incumbent(q, x, all.found);
          }
        }
        return true;
      });
  return all;
}

}  // namespace perfmodel::inline v0_3::detail
