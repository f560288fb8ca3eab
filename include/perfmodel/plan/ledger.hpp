// What a plan keeps of the deployments that it tried, one after the other.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <perfmodel/plan/front.hpp>
#include <vector>

namespace perfmodel::detail {

/// What is tried beside replicas and batch limits.
struct plan_candidate {
  const deployment* on = nullptr;
  const plan_precision* precision = nullptr;
  std::optional<double> chunk_tokens{};
  std::optional<std::size_t> drafts{};
  const speculation* speculates = nullptr;
  double room = 1.0;  ///< sequences that fit one replica
};

/// So many copies, and how they serve.
struct plan_replicas {
  int replicas = 1;
  int gpus = 1;
  double limit = 0.0;
  double output_rate = 0.0;  ///< of the whole service, where pools serve it
  std::optional<plan_pool> prefill{};
  const accelerator* prefill_on = nullptr;  ///< null where it is of the kind that decodes
};

/// What a device of both pools costs in the mean; none where one has no price.
inline std::optional<price<>> price_of_device(const accelerator& decodes, const plan_replicas& n) {
  if (!decodes.price.is_stated()) return std::nullopt;
  const price<> own = decodes.price.quantity();
  if (n.prefill_on == nullptr) return own;
  if (!n.prefill_on->price.is_stated()) return std::nullopt;
  const double prompts = n.prefill->replicas * n.prefill->layout.ranks();
  return (prompts * n.prefill_on->price.quantity() + (n.gpus - prompts) * own) / n.gpus;
}

/// Whether smaller batch limits may yet meet the targets, where another deployment does.
inline bool tries_on(const plan_request& q, const serving_estimate& s) {
  const auto& ttft = q.targets.ttft;
  return !ttft || ttft->share || s.wait <= ttft->limit;
}

/// The points met, those missed while none was met, what was rejected, and how many were tried.
template <class Progress>
class plan_ledger {
 public:
  /// `holds_bounds`: whether a point beyond its own bound is rejected.
  plan_ledger(const plan_request& q, Progress& progress, bool holds_bounds = true)
      : q_(q), progress_(progress), holds_bounds_(holds_bounds) {
    for (const accelerator& a : q.accelerators) r_.all_priced &= a.price.is_stated();
    if (!q.pools) return;
    for (const accelerator& a : q.pools->prefill_on) r_.all_priced &= a.price.is_stated();
  }

  bool any_met() const { return !met_.points.empty(); }
  void prune(long limits = 1) { r_.pruned += limits; }
  void next_run() {}
  void reject(const label& accelerator, const plan_precision& f, const parallel_layout& l,
              const feasibility& why) {
    note_rejection(r_, accelerator, f, l, why);
  }

  /// Whether smaller batch limits are worth a try.
  bool note(const plan_candidate& c, plan_replicas n, const serving_estimate& s) {
    if (++r_.evaluated % 256 == 0) progress_(r_.evaluated);
    if (!s.feasible) {
      reject(c.on->device.name, *c.precision, c.on->layout, s.feasible);
      return true;
    }
    if (!n.prefill) n.output_rate = n.replicas * s.output_rate.value();
    const plan_misses miss = misses_of(q_, s);
    const bool met = miss.worst() <= 1.0;
    if (!met && !any_met() && (!r_.nearest || miss.worst() < r_.miss)) {
      const plan_point p = point_of(c, n, s, false);
      if (refuses(p)) return miss.of_queue() <= 1.0;
      r_.nearest = p;
      r_.miss = miss.worst();
    }
    if (miss.wait > 1.0) {
      reject(c.on->device.name, *c.precision, c.on->layout,
             infeasible("requests wait longer for a place than the longest wait", "s",
                        s.wait.value(), q_.longest_wait.value()));
      return false;
    }
    if (miss.queue > 1.0) {
      reject(c.on->device.name, *c.precision, c.on->layout,
             infeasible("requests queue for KV memory or a running-request slot", "%",
                        100.0 * s.queued, 100.0 * q_.queued_limit));
      return false;
    }
    if (met || !any_met()) {
      const double time = n.gpus * million_tokens.value() / n.output_rate;
      const auto price = r_.all_priced ? price_of_device(c.on->device, n) : std::nullopt;
      const plan_merit merit{price ? time * price->value() : time, s.itl.value(), s.ttft.value(),
                             n.gpus};
      pareto_front& front = met ? met_ : missed_;
      const bool fewest = met && is_fewest(merit);
      if (fewest || front.takes(merit)) {
        const plan_point p = point_of(c, n, s, met);
        if (refuses(p)) return true;
        if (met && !any_met()) missed_.clear();
        if (fewest) {
          r_.fewest = p;
          fewest_cost_ = merit.expense;
        }
        if (front.takes(merit)) front.add(merit, p);
      }
    }
    ++r_.feasible;
    return met || !any_met() || tries_on(q_, s);
  }
  /// Serves the points kept again, with the terms of their passes, that are of this engine here.
  template <class Serve>
  void complete(const accelerator& a, engine e, const Serve& serve) {
    const auto whole = [&](plan_point& p) {
      const bool plain = !p.drafts && !p.prefill;
      if (!plain || p.accelerator != a.name || p.serving_engine != e) return;
      if (p.serving.decode.terms.empty()) {
        p.serving = serve.whole(deployment_of(q_, p), load_of(q_, p));
      }
    };
    for (plan_point& p : met_.points) whole(p);
    for (plan_point& p : missed_.points) whole(p);
    if (r_.nearest) whole(*r_.nearest);
    if (r_.fewest) whole(*r_.fewest);
  }

  plan_result ranked() {
    if (any_met()) {
      r_.best = 0;
      r_.nearest.reset();
      r_.miss = 1.0;
    }
    r_.frontier = std::move(r_.best ? met_.points : missed_.points);
    std::sort(r_.frontier.begin(), r_.frontier.end(),
              [&](const plan_point& x, const plan_point& y) {
                return expense(x, r_.all_priced) < expense(y, r_.all_priced);
              });
    return std::move(r_);
  }

 private:
  /// Rejects a point that its own bound does not allow: a prediction that is wrong, never one to
  /// recommend.
  bool refuses(const plan_point& p) {
    if (!holds_bounds_) return false;
    const auto most = exceeded_bound(q_, p);
    if (!most) return false;
    reject(p.accelerator, p.precision, p.layout,
           infeasible("the prediction exceeds its own bound", "tok/s", p.output_rate.value(),
                      most->value()));
    return true;
  }
  bool is_fewest(const plan_merit& m) const {
    if (!r_.fewest || m.gpus < r_.fewest->gpus) return true;
    return m.gpus == r_.fewest->gpus && m.expense < fewest_cost_;
  }
  plan_point point_of(const plan_candidate& c, const plan_replicas& n, const serving_estimate& s,
                      bool met) const {
    plan_point p{.accelerator = c.on->device.name,
                 .precision = *c.precision,
                 .serving_engine = c.on->serving_engine,
                 .layout = c.on->layout,
                 .chunk_tokens = c.chunk_tokens,
                 .drafts = c.drafts,
                 .prefill = n.prefill,
                 .replicas = n.replicas,
                 .gpus = n.gpus,
                 .batch_limit = n.limit,
                 .serving = s};
    p.output_rate = token_rate<>::from_value(n.output_rate);
    p.gpu_time_per_million = p.gpus * million_tokens / p.output_rate;
    if (const auto price = price_of_device(c.on->device, n)) {
      p.cost_per_million = p.gpu_time_per_million * *price;
    }
    p.meets_targets = met;
    return p;
  }

  const plan_request& q_;
  Progress& progress_;
  bool holds_bounds_;
  plan_result r_{};
  pareto_front met_{}, missed_{};
  double fewest_cost_ = 0.0;
};

/// What one piece of a plan's work tried, to be noted later, in the order in which it was tried. Batch limits
/// of one deployment are a run, which ends where the ledger has seen enough of it.
class plan_record {
 public:
  /// `met`: whether the ledger has met the targets with what is noted before.
  plan_record(const plan_request& q, const std::atomic<bool>& met) : q_(&q), met_(&met) {}

  /// False only where the ledger will say so too. A template, so that it is compiled where one plans.
  template <class Estimate>
  bool note(const plan_candidate& c, const plan_replicas& n, const Estimate& s) {
    tried_.push_back({.candidate = c, .copies = n, .serves = s, .run = run_});
    if (!s.feasible) return true;
    const plan_misses miss = misses_of(*q_, s);
    if (miss.of_queue() > 1.0) return false;
    return !met_->load(std::memory_order_relaxed) || tries_on(*q_, s) || miss.worst() <= 1.0;
  }
  void prune() {
    const bool after_one = !tried_.empty() && tried_.back().run == run_;
    ++(after_one ? tried_.back().pruned : pruned_);
  }
  void next_run() { ++run_; }

  template <class Ledger>
  void into(Ledger& ledger) const {
    long ended = -1;
    ledger.prune(pruned_);
    for (const attempt& x : tried_) {
      if (x.run == ended) continue;
      if (ledger.note(x.candidate, x.copies, x.serves)) {
        ledger.prune(x.pruned);
      } else {
        ended = x.run;
      }
    }
  }

 private:
  struct attempt {
    plan_candidate candidate{};
    plan_replicas copies{};
    serving_estimate serves{};
    long run = 0;
    long pruned = 0;  ///< of the run, after it
  };
  const plan_request* q_;
  const std::atomic<bool>* met_;
  std::deque<attempt> tried_{};
  long run_ = 0;
  long pruned_ = 0;  ///< before a run had an attempt
};

}  // namespace perfmodel::detail
