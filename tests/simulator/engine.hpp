// Sequences, and tokens of each, in an iteration of a simulated engine.
#pragma once

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "simulator/scheduler.hpp"

namespace perfmodel_test::simulator {

struct planned {
  sequence* who = nullptr;
  int tokens = 0;  ///< of a prompt, or of an evicted sequence's
};

/// First come, first served. Sources: vLLM 0.19 (v1/core/sched/scheduler.py), SGLang 0.5
/// (managers/schedule_policy.py), TensorRT-LLM 1.0 (docs: in-flight batching, capacity scheduler).
/// A pipeline of p stages has p micro-batches, each with running requests of its own, a p-th of the
/// places and the whole token budget; they share the waiting requests and the cache. The next chunk
/// of a prompt is one of the next micro-batch, which does not wait for the chunk before. Source:
/// SGLang 0.5, managers/scheduler_pp_mixin.py (a running batch for each micro-batch, scheduled in
/// turn; chunked_req); vLLM, v1/core/sched/scheduler.py (_update_after_schedule).
class engine {
 public:
  explicit engine(const scheduler& s)
      : s_(s),
        rows_(1 + static_cast<int>(s.acceptance.size())),
        places_(static_cast<std::size_t>((s.max_sequences + s.stages - 1) / s.stages)),
        pool_(s),
        batches_(static_cast<std::size_t>(s.stages)) {}

  void enqueue(sequence& q) {
    const int longest = q.want.input + q.want.output + block_tokens;
    if (s_.kv_blocks > 0 && longest > s_.kv_blocks * block_tokens) {
      throw std::invalid_argument("a request that the cache never holds");
    }
    waiting_.push_back(&q);
  }
  /// The next iteration of a micro-batch; empty where there is nothing to do.
  const std::vector<planned>& next(int micro_batch = 0) {
    select(micro_batch);
    plan_.clear();
    moved_ = 0;
    take_over_prompts();
    switch (s_.kind) {
      case scheduling::mixed: mix(); break;
      case scheduling::prefill_first:
        admit(continue_prompts());
        if (plan_.empty()) decode();
        break;
      case scheduling::static_batch:
        if (running().empty()) {
          while (can_take()) take();
        }
        continue_prompts();
        if (plan_.empty()) decode();
        break;
    }
    for (const planned& e : plan_)
      if (!e.who->decodes()) e.who->in_flight += e.tokens;
    return plan_;
  }
  /// Takes out what is done: of a static batch nothing before all are.
  void retire(int micro_batch = 0) {
    select(micro_batch);
    const auto done = [](const sequence* q) { return q->done(); };
    if (s_.kind == scheduling::static_batch &&
        !std::all_of(running().begin(), running().end(), done)) {
      return;
    }
    for (sequence* q : running()) {
      if (q->done()) pool_.release(*q);
    }
    std::erase_if(running(), done);
  }
  std::size_t admitted() const {
    std::size_t all = 0;
    for (const auto& batch : batches_) all += batch.size();
    return all;
  }
  int rows() const { return rows_; }
  int blocks_used() const { return pool_.used(); }
  /// Tokens of the cache that the iteration swaps, out and in.
  int moved() const { return moved_; }
  int preemption_effect() const { return evictions_; }

 private:
  std::vector<sequence*>& running() { return batches_[selected_]; }
  void select(int micro_batch) { selected_ = static_cast<std::size_t>(micro_batch); }
  /// Prompts that other micro-batches have begun, while there are places.
  void take_over_prompts() {
    if (s_.kind == scheduling::static_batch) return;
    for (auto& batch : batches_) {
      if (&batch == &running()) continue;
      for (std::size_t i = 0; i < batch.size() && running().size() < places_;) {
        sequence* q = batch[i];
        if (q->decodes() || q->done() || q->unplanned() == 0) {
          ++i;
          continue;
        }
        batch.erase(batch.begin() + static_cast<std::ptrdiff_t>(i));
        running().push_back(q);
      }
    }
  }
  void mix() {
    int budget = s_.token_budget;
    for (std::size_t i = 0; i < running().size() && budget > 0; ++i) {
      sequence& q = *running()[i];
      const int wanted = q.decodes() ? rows_ : q.unplanned();
      if (wanted == 0) continue;
      if (!make_room(q)) break;
      plan_.push_back({&q, std::min(wanted, budget)});
      budget -= plan_.back().tokens;
    }
    admit(budget);
  }
  /// Chunks of prompts that were begun; what is left of the budget.
  int continue_prompts() {
    int budget = s_.token_budget;
    for (sequence* q : running()) {
      if (budget == 0 || q->decodes() || q->unplanned() == 0) continue;
      plan_.push_back({q, std::min(q->unplanned(), budget)});
      budget -= plan_.back().tokens;
    }
    return budget;
  }
  void decode() {
    for (std::size_t i = 0; i < running().size(); ++i) {
      if (!running()[i]->decodes() && !running()[i]->done()) continue;
      if (!make_room(*running()[i])) break;
      plan_.push_back({running()[i], 1});
    }
  }
  void admit(int budget) {
    if (waits_for_more()) return;
    while (budget > 0 && !waiting_.empty()) {
      const int rest = waiting_.front()->known() - present(*waiting_.front());
      if (rest > budget && !s_.split_prompts && rest <= s_.token_budget) return;
      if (!can_take()) return;
      plan_.push_back({take(), std::min(rest, budget)});
      budget -= plan_.back().tokens;
    }
  }
  /// With decodes running, prefills wait until there are enough of them, or too long.
  bool waits_for_more() {
    if (s_.wait_iterations == 0 || waiting_.empty() || running().empty()) return false;
    double tokens = 0;
    for (const sequence* q : waiting_) tokens += q->known();
    const bool waits = waited_ < s_.wait_iterations && tokens < s_.wait_share * s_.token_budget;
    waited_ = waits ? waited_ + 1 : 0;
    return waits;
  }
  /// Tokens that are in the cache when a sequence is admitted.
  static int present(const sequence& q) {
    return q.swapped ? q.computed : std::min(q.want.cached, q.known() - 1);
  }
  /// Whether the first in line has its place and its blocks.
  bool can_take() {
    if (waiting_.empty() || running().size() >= places_) {
      return false;
    }
    sequence& q = *waiting_.front();
    const bool grows = s_.kind != scheduling::static_batch && s_.reserve == reservation::grow;
    return pool_.hold(q, grows ? q.known() : q.want.input + q.want.output);
  }
  sequence* take() {
    sequence* q = waiting_.front();
    waiting_.pop_front();
    running().push_back(q);
    if (q->swapped) moved_ += q->computed;
    q->computed = present(*q);
    q->swapped = false;
    return q;
  }
  /// Blocks for the tokens that the iteration computes, the newest sequences' if there are no
  /// others. No room: the sequence was the newest itself.
  bool make_room(sequence& q) {
    if (q.done()) return true;
    const int drafted = q.decodes() ? rows_ - 1 : 0;
    while (!pool_.hold(q, std::min(q.known() + drafted, q.want.input + q.want.output))) {
      sequence& newest = *running().back();
      evict(newest);
      if (&newest == &q) return false;
    }
    return true;
  }
  void evict(sequence& q) {
    pool_.release(q);
    ++q.preemptions;
    ++evictions_;
    if (s_.evict == eviction::swap) {
      q.swapped = true;
      moved_ += q.computed;
    } else {
      q.computed = 0;
    }
    running().pop_back();
    waiting_.push_front(&q);
  }

  const scheduler& s_;
  int rows_;            ///< of a sequence that decodes: 1, and what is drafted
  std::size_t places_;  ///< of a micro-batch
  block_pool pool_;
  std::deque<sequence*> waiting_{};
  std::vector<std::vector<sequence*>> batches_;  ///< each in the order of admission
  std::size_t selected_ = 0;
  std::vector<planned> plan_{};
  int moved_ = 0, evictions_ = 0, waited_ = 0;
};

}  // namespace perfmodel_test::simulator
