// Search for the incumbents of a plan: its first points, with the fastest deployments.
#pragma once

#include <algorithm>
#include <perfmodel/plan/candidates.hpp>
#include <perfmodel/plan/evaluate.hpp>
#include <perfmodel/plan/incumbents.hpp>
#include <span>
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
  const known_candidate nothing;
  std::vector<timed_candidate> all;
  for (const plan_candidate& c : candidates) {
    if (c.kind != candidate_kind::replicas || c.device != &a || c.chunk_tokens) continue;
    const auto& evaluator = evaluators.at(a, c.serving_engine);
    steps_of_variants<typename Evaluators::evaluator> steps;
    const auto time =
        candidate_evaluation(q, c, evaluator, steps, false, none, nothing).time_of_single_decode();
    if (time) all.push_back({&c, *time});
  }
  std::stable_sort(all.begin(), all.end(), [](const timed_candidate& x, const timed_candidate& y) {
    return x.decode_time < y.decode_time;
  });
  return all;
}

/// Whether a plan tries replicas of `ranks` devices on `gpus` of at most `most` devices.
inline bool is_count(int gpus, int ranks, int most) {
  if (gpus % ranks != 0) return false;
  const std::vector<int> counts = counts_up_to(most / ranks);
  return std::binary_search(counts.begin(), counts.end(), gpus / ranks);
}

/// Whether a point serves the load within the targets, and the request does not refuse it.
inline bool may_be_incumbent(const plan_request& q, const evaluated_point& x) {
  const auto is_of = [&x](const plan_refusal& r) { return refuses(r, x.point); };
  return x.point.serving.feasible && x.misses.worst() <= 1.0 &&
         std::none_of(q.refused.begin(), q.refused.end(), is_of);
}

/// Adds a point if it may be an incumbent, unless it exceeds its own bound.
inline void add_incumbent(const plan_request& q, evaluated_point& x, incumbent_list& all) {
  if (!may_be_incumbent(q, x) || all.has_better(x.point)) return;
  if (!x.is_within_bound && exceeded_bound(q, x.point)) return;
  x.is_within_bound = true;
  all.add(x.point);
}

/// Incumbents of a plan, and what is known of each candidate.
struct known_candidates {
  std::vector<known_candidate> candidates{};
  incumbent_list found{};
};

/// Incumbents of a plan for an open loop, where the cost of a point is known without its
/// evaluation. Each accelerator and number of GPUs has the point of the deployment with the least
/// decode time of one sequence, of the first three that fill these GPUs.
/// Test: tests/unit/plan_incumbents.cpp, the plan without incumbents.
template <class Evaluators>
known_candidates find_incumbents(const plan_request& q,
                                 const std::vector<plan_candidate>& candidates,
                                 const Evaluators& evaluators) {
  constexpr int tries = 3;
  const incumbent_list none;
  const known_candidate nothing;
  known_candidates all{std::vector<known_candidate>(candidates.size()),
                       incumbent_list(has_all_prices(q))};
  for (const accelerator& a : q.accelerators) {
    const auto fastest = fastest_candidates(q, a, candidates, evaluators);
    std::vector<steps_of_variants<typename Evaluators::evaluator>> steps(fastest.size());
    for (const int gpus : counts_up_to(q.gpus)) {
      int tried = 0;
      for (std::size_t i = 0; i < fastest.size() && tried < tries; ++i) {
        const plan_candidate& c = *fastest[i].candidate;
        if (!is_count(gpus, c.layout.ranks(), q.gpus)) continue;
        candidate_evaluation evaluation(q, c, evaluators.at(a, c.serving_engine), steps[i], false,
                                        none, nothing);
        const evaluated_point point = evaluation.evaluate_count(gpus / c.layout.ranks());
        all.candidates[static_cast<std::size_t>(&c - candidates.data())].points.push_back(point);
        ++tried;
        if (!may_be_incumbent(q, point)) continue;
        all.found.add(point.point);
        break;
      }
    }
  }
  return all;
}

/// Candidate with the merit of its most replicas: cost x ITL, the less the better.
struct ranked_candidate {
  std::size_t index = 0;
  double merit = 0.0;
};

/// For each accelerator, precision and number of ranks the candidate with the least merit.
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
    return a.device == b.device && a.precision == b.precision &&
           a.layout.ranks() == b.layout.ranks();
  }
  const std::vector<plan_candidate>& candidates_;
  std::vector<ranked_candidate> all_{};
};

/// Search for the incumbents of a plan for a closed loop. First the most replicas of every
/// candidate are evaluated, then all replica counts of the best of them: one for each accelerator,
/// precision and number of ranks. The evaluation of the plan takes over the points found here.
/// Test: tests/unit/plan_incumbents.cpp, the plan without incumbents.
template <class Evaluators, class Executor>
class closed_incumbent_search {
 public:
  closed_incumbent_search(const plan_request& q, const std::vector<plan_candidate>& candidates,
                          const Evaluators& evaluators, const Executor& executor)
      : q_(q),
        candidates_(candidates),
        evaluators_(evaluators),
        executor_(executor),
        all_{std::vector<known_candidate>(candidates.size()), incumbent_list(has_all_prices(q))},
        best_(candidates) {}

  known_candidates find() {
    evaluate_most_replicas();
    evaluate_best();
    return std::move(all_);
  }

 private:
  using steps_type = steps_of_variants<typename Evaluators::evaluator>;
  static constexpr std::size_t first_round = 4;

  auto evaluation_of(std::size_t i, const incumbent_list& known, steps_type& steps) const {
    const plan_candidate& c = candidates_[i];
    return candidate_evaluation(q_, c, evaluators_.at(*c.device, c.serving_engine), steps, true,
                                known, all_.candidates[i]);
  }

  void evaluate_most_replicas() {
    const candidate_groups groups(candidates_);
    executor_(
        groups.size(),
        [&](std::size_t group, bool) {
          steps_type steps;
          return groups.evaluate(group, [&](std::size_t i) -> plan_evaluation {
            if (candidates_[i].kind != candidate_kind::replicas) return {};
            return evaluation_of(i, none_, steps).evaluate_most_replicas();
          });
        },
        [&](std::size_t group, const group_evaluation& all) {
          auto e = all.begin();
          groups.visit(group, [&](std::size_t i) { note_most_replicas(i, *e++); });
          return true;
        });
  }
  void note_most_replicas(std::size_t i, const plan_evaluation& e) {
    known_candidate& known = all_.candidates[i];
    known.memory = e.memory;
    if (e.sweeps.empty() || e.sweeps.front().points.empty()) return;
    known.points.push_back(e.sweeps.front().points.front());
    evaluated_point& x = known.points.back();
    const plan_point& p = x.point;
    if (!p.serving.feasible) return;
    const double cost = cost_of(p, all_.found.all_priced());
    known.most_replicas = {p.output_rate, p.serving.itl};
    best_.add({i, cost * p.serving.itl.value()});
    add_incumbent(q_, x, all_.found);
    // A point that is dominated is not asked for again.
    if (all_.found.dominate(p.gpus, cost, p.serving.itl)) known.points.clear();
  }

  /// Evaluates the best candidates in rounds, each with the incumbents of the rounds before it.
  void evaluate_best() {
    std::vector<ranked_candidate> best = best_.all();
    std::stable_sort(
        best.begin(), best.end(),
        [](const ranked_candidate& x, const ranked_candidate& y) { return x.merit < y.merit; });
    std::size_t begin = 0;
    for (std::size_t size = first_round; begin < best.size(); size *= 2) {
      const std::size_t count = (std::min)(size, best.size() - begin);
      evaluate_round({best.data() + begin, count});
      begin += count;
    }
  }
  void evaluate_round(std::span<const ranked_candidate> round) {
    const incumbent_list found = all_.found;
    executor_(
        round.size(),
        [&](std::size_t k, bool) {
          steps_type steps;
          group_evaluation one;
          one.push_back(evaluation_of(round[k].index, found, steps).evaluate_replicas(false));
          return one;
        },
        [&](std::size_t k, const group_evaluation& all) {
          known_candidate& known = all_.candidates[round[k].index];
          known.points.clear();
          for (const batch_sweep& sweep : all.front().sweeps) {
            const std::size_t first_of_sweep = known.points.size();
            known.points.insert(known.points.end(), sweep.points.begin(), sweep.points.end());
            add_incumbents({known.points.data() + first_of_sweep, sweep.points.size()});
          }
          return true;
        });
  }
  /// Adds the points of a sweep up to one after which the collector takes none.
  void add_incumbents(std::span<evaluated_point> sweep) {
    for (evaluated_point& x : sweep) {
      add_incumbent(q_, x, all_.found);
      if (!may_try_less(q_, x, true)) return;
    }
  }

  const plan_request& q_;
  const std::vector<plan_candidate>& candidates_;
  const Evaluators& evaluators_;
  const Executor& executor_;
  const incumbent_list none_{};
  known_candidates all_;
  best_of_ranks best_;
};

/// Incumbents of a plan for a closed loop.
template <class Evaluators, class Executor>
known_candidates find_closed_incumbents(const plan_request& q,
                                        const std::vector<plan_candidate>& candidates,
                                        const Evaluators& evaluators, const Executor& executor) {
  return closed_incumbent_search(q, candidates, evaluators, executor).find();
}

}  // namespace perfmodel::inline v0_3::detail
