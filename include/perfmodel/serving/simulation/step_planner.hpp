// Planning of a simulated engine step: the loops of vLLM, SGLang, TensorRT-LLM and static batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <perfmodel/serving/simulation/engine_group.hpp>

namespace perfmodel::inline v0_3::detail {

/// Group of an engine with the loop of its scheduler.
/// Source: vLLM v1/core/sched/scheduler.py; SGLang managers/schedule_policy.py and scheduler.py;
/// TensorRT-LLM capacityScheduler.cpp and microBatchScheduler.cpp.
/// Test: worked schedules of each engine, token by token.
class step_planner : public engine_group {
 public:
  using engine_group::engine_group;

  /// Plans the prefill chunks of a step in which `decodes` sequences decode. Admits requests.
  void plan(int decodes, double now, std::vector<prefill_chunk>& out) {
    out.clear();
    now_ = now;
    const bool is_refused = has_preempted_;
    has_preempted_ = false;
    switch (settings_.kind) {
      case scheduler_kind::vllm: plan_vllm(decodes, is_refused, out); break;
      case scheduler_kind::sglang: plan_sglang(decodes, out); break;
      case scheduler_kind::trtllm: plan_trtllm(decodes, out); break;
      case scheduler_kind::static_batches: plan_static(out); break;
    }
  }
  /// Decode steps, at most `most`, after which the queue is looked at although nothing ended.
  std::int64_t steps_to_look(std::int64_t most) const {
    if (waited_ > 0) return 1;
    if (settings_.receive_interval == 1 || waiting_.empty()) return most;
    const std::int64_t since = batch_.step() - last_look_;
    return std::clamp<std::int64_t>(settings_.receive_interval - since, 1, most);
  }

 private:
  /// Whether this group has a place for a begun prefill.
  bool has_place(int e) { return sequences_[e].group == this || running_ < max_running_; }
  int remaining(int entry) { return sequences_[entry].target - sequences_[entry].computed; }
  void schedule(int entry, int tokens, std::vector<prefill_chunk>& out) {
    simulated_sequence& s = sequences_[entry];
    if (s.group != this) take_over(entry);
    out.push_back({entry, tokens, s.computed, s.use, s.computed + tokens >= s.target});
    s.computed += tokens;
    if (settings_.kind == scheduler_kind::vllm) publish_computed(entry, s.computed);
  }
  void continue_prefills(int& budget, int cap, std::vector<prefill_chunk>& out) {
    // A prefill that the cache has no room for preempts those after it.
    for (std::size_t i = 0; i < prefills().size() && budget > 0; ++i) {
      const int entry = prefills()[i];
      if (!has_place(entry)) continue;
      int n = (std::min)(remaining(entry), budget);
      if (cap > 0) n = (std::min)(n, cap);
      if (!cover(entry, sequences_[entry].computed + n + drafted_)) break;
      schedule(entry, n, out);
      budget -= n;
    }
    std::erase_if(prefills(), [&](int e) { return remaining(e) <= 0; });
  }
  void plan_vllm(int decodes, bool is_refused, std::vector<prefill_chunk>& out) {
    int budget = settings_.token_budget - decodes * sequence_tokens();
    const int cap = settings_.long_prefill_threshold;
    continue_prefills(budget, cap, out);
    if (is_refused && (decodes > 0 || !out.empty())) return;
    const auto reserve =
        running_ > 0 ? static_cast<std::int64_t>(settings_.watermark * double(pool_.capacity()))
                     : 0;
    while (budget > 0 && !waiting_.empty() && running_ < max_running_) {
      simulated_sequence& s = sequences_[waiting_.front()];
      const cached_prefix p = prefix_of(s);
      int n = s.target - p.tokens;
      const bool is_first = decodes == 0 && out.empty();  // a preempted one may exceed the budget
      if (!settings_.chunked_prefill && n > budget && !is_first) return;
      if (cap > 0) n = (std::min)(n, cap);
      if (settings_.chunked_prefill) n = (std::min)(n, budget);
      const int entry = waiting_.front();
      const int covered = settings_.full_prompt_check ? s.target : p.tokens + n;
      if (!admit(p, covered + drafted_, reserve)) return;
      schedule(entry, n, out);
      budget -= n;
      if (remaining(entry) > 0) prefills().push_back(entry);
    }
  }
  static constexpr int most_future_tokens = 4096;
  /// Tokens that running sequences may still emit, each at most 4096.
  double future_tokens() {
    double sum = 0.0;
    for (int e = last_; e != no_sequence; e = sequences_[e].previous) {
      const simulated_sequence& s = sequences_[e];
      const auto done = s.generated + (s.is_decoding ? batch_.step() - s.joined : 0);
      sum += static_cast<double>(
          std::clamp<std::int64_t>(s.request.output_tokens - done, 0, most_future_tokens));
    }
    return sum;
  }
  void plan_sglang(int decodes, std::vector<prefill_chunk>& out) {
    if (running_ == 0) {
      expected_share_ = first_share();
      is_full_ = false;
    }
    if ((is_full_ || waiting_.empty()) && prefills().empty()) return;
    const bool looks = settings_.receive_interval == 1 || decodes == 0 ||
                       batch_.step() - last_look_ >= settings_.receive_interval;
    if (!looks && prefills().empty()) return;
    last_look_ = batch_.step();
    const int page = settings_.block_tokens;
    const int with = settings_.mixed_chunk ? decodes : 0;
    int chunk = settings_.chunked_prefill ? settings_.token_budget - with : 1 << 30;
    int most = settings_.max_prefill_tokens - with;
    double free_tokens = static_cast<double>(pool_.available()) - future_tokens() * expected_share_;
    if (!prefills().empty()) {
      const int entry = prefills().front();
      if (!has_place(entry)) return;
      const int n = (std::min)(remaining(entry), chunk);
      schedule(entry, n, out);
      chunk -= n;
      most -= n;
      if (remaining(entry) <= 0) prefills().clear();
    }
    while (!waiting_.empty() && chunk > 0 && most > 0 && free_tokens > 0.0 && prefills().empty()) {
      if (running_ >= max_running_) {
        is_full_ = true;
        return;
      }
      const int entry = waiting_.front();
      simulated_sequence& s = sequences_[entry];
      const cached_prefix p = prefix_of(s);
      const int uncached = s.target - p.tokens;
      const int future =
          (std::min)(s.request.output_tokens - s.generated, most_future_tokens) + page;
      if (uncached + future >= free_tokens) {
        is_full_ = true;
        return;
      }
      const auto paged = static_cast<int>(rounded(uncached));
      const int n = paged <= chunk ? uncached : chunk / page * page;
      if (n <= 0) return;
      if (!admit(p, s.target + drafted_, 0)) {
        is_full_ = true;
        return;
      }
      schedule(entry, n, out);
      chunk -= paged <= n ? paged : n;
      most -= n;
      free_tokens -= paged <= n ? paged + future : n;
      if (remaining(entry) > 0) prefills().push_back(entry);
    }
  }
  void plan_trtllm(int decodes, std::vector<prefill_chunk>& out) {
    const bool whole = settings_.capacity == capacity_policy::guaranteed_no_evict;
    // Micro-batches of a pipeline share the queue: each takes what its step has tokens for.
    std::int64_t pending = 0;
    for (const int e : prefills()) pending += remaining(e);
    while (!waiting_.empty() && running_ < max_running_ &&
           (peers_.empty() || pending < settings_.token_budget)) {
      const simulated_sequence& s = sequences_[waiting_.front()];
      const int entry = waiting_.front();
      const std::int64_t tokens =
          whole ? s.request.input_tokens + std::int64_t{s.request.output_tokens} : s.target;
      if (!admit(prefix_of(s), tokens + drafted_, 0)) break;
      prefills().push_back(entry);
      pending += remaining(entry);
    }
    if (prefills().empty() || waits_for_batch(decodes)) return;
    int budget = settings_.token_budget - decodes * sequence_tokens();
    std::int64_t all = 0;
    for (const int e : prefills()) all += remaining(e);
    const int places = max_running_ - decodes;
    if (settings_.chunked_prefill && settings_.order == chunk_order::equal_progress &&
        all > budget) {
      plan_equal_progress(budget, out);
    } else {
      int taken = 0;
      for (const int e : prefills()) {
        if (budget <= 0 || taken >= places) break;
        if (!has_place(e)) continue;
        int n = remaining(e);
        if (n > budget && !settings_.chunked_prefill) {
          if (decodes > 0 || taken > 0) break;
        } else if (n > budget) {
          n = budget / settings_.chunk_unit * settings_.chunk_unit;
          if (n == 0) break;
        }
        schedule(e, n, out);
        budget -= n;
        ++taken;
      }
    }
    std::erase_if(prefills(), [&](int e) { return remaining(e) <= 0; });
  }
  /// One unit for each prefill in turn, until the next does not fit.
  void plan_equal_progress(int budget, std::vector<prefill_chunk>& out) {
    shares_.assign(prefills().size(), 0);
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (std::size_t i = 0; i < prefills().size(); ++i) {
        if (!has_place(prefills()[i])) continue;
        const int unit = (std::min)(settings_.chunk_unit, remaining(prefills()[i]) - shares_[i]);
        if (unit <= 0 || unit > budget) continue;
        shares_[i] += unit;
        budget -= unit;
        goes_on = true;
      }
    }
    for (std::size_t i = 0; i < prefills().size(); ++i)
      if (shares_[i] > 0) schedule(prefills()[i], shares_[i], out);
  }
  /// Prefills wait for others while sequences decode (batch_wait_timeout_iters).
  bool waits_for_batch(int decodes) {
    if (settings_.batching_wait_iterations == 0 || decodes == 0) return false;
    double tokens = 0.0;
    for (const int e : prefills()) tokens += remaining(e);
    const bool waits = waited_ < settings_.batching_wait_iterations &&
                       tokens < settings_.batching_wait_share * settings_.token_budget;
    waited_ = waits ? waited_ + 1 : 0;
    return waits;
  }
  void plan_static(std::vector<prefill_chunk>& out) {
    if (batch_.size() == 0 && running_ == 0) {
      while (!waiting_.empty() && running_ < max_running_) {
        const simulated_sequence& s = sequences_[waiting_.front()];
        const int entry = waiting_.front();
        if (!admit({}, s.request.input_tokens + std::int64_t{s.request.output_tokens}, 0)) break;
        prefilling_.push_back(entry);
      }
    }
    int budget = settings_.token_budget;
    if (settings_.pads_prefills) {
      int longest = 0;
      for (const int e : prefilling_) longest = (std::max)(longest, sequences_[e].target);
      for (const int e : prefilling_) {
        sequences_[e].target = longest;
        schedule(e, longest, out);
      }
      prefilling_.clear();
    } else {
      continue_prefills(budget, 0, out);
    }
  }

  std::vector<int> shares_{};   ///< tokens of each prefill, with equal progress
  std::int64_t last_look_ = 0;  ///< step of the last look at the queue
  int waited_ = 0;              ///< steps that prefills have waited for others
};

}  // namespace perfmodel::inline v0_3::detail
