// One group of a simulated engine: its queue, its KV cache, and the planning of its next step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <perfmodel/core/error.hpp>
#include <perfmodel/serving/simulation/decode_batch.hpp>
#include <perfmodel/serving/simulation/kv_pool.hpp>
#include <perfmodel/serving/simulation/scheduler.hpp>
#include <string>

namespace perfmodel::inline v0_3::detail {

/// Part of a prefill in one engine step.
struct prefill_chunk {
  int entry = no_sequence;
  int tokens = 0;
  int past = 0;           ///< cached tokens before the chunk
  std::uint32_t use = 0;  ///< generation of the entry; a preemption since then made it stale
  bool is_last = false;   ///< the step emits the first token
};

/// Table of an engine's sequences. The entry of an ended sequence is reused.
class sequence_table {
 public:
  int take() {
    if (free_.empty()) {
      all_.emplace_back();
      return static_cast<int>(all_.size()) - 1;
    }
    const int entry = free_.back();
    free_.pop_back();
    return entry;
  }
  void give_back(int entry) {
    simulated_sequence& s = all_[std::size_t(entry)];
    const std::uint32_t use = s.use + 1;
    std::vector<std::uint64_t> storage = std::move(s.request.blocks);
    storage.clear();
    s = {};
    s.use = use;
    s.request.blocks = std::move(storage);
    free_.push_back(entry);
  }
  simulated_sequence& operator[](int entry) { return all_[std::size_t(entry)]; }
  const std::deque<simulated_sequence>& all() const { return all_; }
  std::int64_t next_admission() { return ++admissions_; }

 private:
  std::deque<simulated_sequence> all_{};
  std::vector<int> free_{};
  std::int64_t admissions_ = 0;
};

/// Group with a scheduler of its own: a data-parallel rank, a pipeline micro-batch, or the engine.
class engine_group {
 public:
  engine_group(const scheduler_settings& s, sequence_table& sequences, kv_pool& pool,
               std::deque<int>& waiting, int max_running, int drafted_tokens, bool has_identifiers)
      : settings_(s),
        sequences_(sequences),
        pool_(pool),
        waiting_(waiting),
        max_running_(max_running),
        drafted_(drafted_tokens),
        has_identifiers_(has_identifiers) {
    expected_share_ = first_share();
  }

  decode_batch& batch() { return batch_; }
  const decode_batch& batch() const { return batch_; }
  int running() const { return running_; }
  bool has_work() { return running_ > 0 || !waiting_.empty() || !prefills().empty(); }
  std::int64_t preemptions() const { return preemptions_; }
  bool reserves_whole_requests() const {
    return settings_.kind == scheduler_kind::static_batches ||
           (settings_.kind == scheduler_kind::trtllm &&
            settings_.capacity == capacity_policy::guaranteed_no_evict);
  }
  bool decodes_with_prefill() const {
    return settings_.kind == scheduler_kind::vllm || settings_.kind == scheduler_kind::trtllm ||
           settings_.mixed_chunk;
  }
  int sequence_tokens() const { return 1 + drafted_; }  ///< tokens of a decode in the budget

  void set_last_token_time(double t) { last_token_time_ = t; }
  /// Makes room for one decode step; preempts sequences if the cache is full.
  void reserve_decode_step() {
    if (reserves_whole_requests()) return;
    for (;;) {
      const std::int64_t tokens =
          batch_.blocks_for(1, settings_.block_tokens) * settings_.block_tokens;
      if (pool_.allocate(tokens)) {
        has_reserved_ = batch_.size() > 0;
        return;
      }
      if (running_ <= 1 && peers_.empty())
        throw error(error_code::infeasible, "simulate: a request of " +
                                                std::to_string(longest_running()) +
                                                " tokens exceeds the KV-cache capacity of " +
                                                std::to_string(pool_.capacity()) + " tokens");
      if (settings_.kind == scheduler_kind::sglang && running_ > 1) {
        preempt(sglang_victim());
      } else {
        preempt_youngest();
      }
    }
  }
  /// Adds a group with the same KV cache, as the micro-batches of a pipeline have. It may be this
  /// one.
  void add_peer(engine_group& g) { peers_.push_back(&g); }
  /// Largest number of decode steps, up to `most`, that the cache has room for.
  std::int64_t steps_within_cache(std::int64_t most) const {
    if (reserves_whole_requests()) return most;
    const std::int64_t steps = batch_.steps_within(pool_.available() / settings_.block_tokens, most,
                                                   settings_.block_tokens);
    return (std::max<std::int64_t>)(1, steps);
  }
  /// Advances by n equal decode steps. The first one's cache blocks are reserved already; this
  /// allocates those of the others. Calls ended(entry, leaves) for each sequence that ends.
  template <class Ended>
  void advance(std::int64_t n, const Ended& ended) {
    has_reserved_ = false;
    if (!reserves_whole_requests() && n > 1) {
      const std::int64_t more = batch_.blocks_for(n, settings_.block_tokens) -
                                batch_.blocks_for(1, settings_.block_tokens);
      static_cast<void>(pool_.allocate(more * settings_.block_tokens));
    }
    if (settings_.kind == scheduler_kind::sglang) decay_share(static_cast<double>(n));
    batch_.advance(n, sequences_.all(), ended);
  }
  /// Moves a sequence to the decode batch after its last prefill chunk. `rounds` steps with
  /// `growth` tokens each follow.
  void join(int entry, std::int64_t rounds, double growth) {
    simulated_sequence& s = sequences_[entry];
    if (growth > 1.0 && !reserves_whole_requests()) {
      const double more = (growth - 1.0) * static_cast<double>(rounds);
      const std::int64_t tokens = rounded(static_cast<std::int64_t>(more));
      if (pool_.allocate(tokens)) s.private_tokens += tokens;
    }
    batch_.join(entry, s, s.target, rounds, growth, settings_.extra_steps, settings_.block_tokens,
                drafted_);
  }
  void publish_computed(int entry, int tokens) {
    simulated_sequence& s = sequences_[entry];
    if (!pool_.keeps_prefixes()) return;
    const int unit = s.request.block_tokens;
    while (std::size_t(s.shared_units) < s.request.blocks.size() &&
           (s.shared_units + 1) * std::int64_t{unit} <= tokens && s.private_tokens >= unit) {
      pool_.publish(s.request.blocks[std::size_t(s.shared_units)], unit);
      s.private_tokens -= unit;
      ++s.shared_units;
    }
  }
  /// A sequence leaves the engine; `context` tokens of it were computed.
  void end(int entry, int context) {
    simulated_sequence& s = sequences_[entry];
    if (s.is_decoding) leave_batch(s);
    publish_computed(entry, context);
    release_cache(s, true);
    unlink(entry);
    sequences_.give_back(entry);
    is_full_ = false;
  }
  /// Adds the blocks of its decode steps so far to a sequence's private tokens.
  void settle_growth(simulated_sequence& s) {
    if (reserves_whole_requests() || !s.is_decoding) return;
    const auto steps = batch_.step() - s.joined + (has_reserved_ ? 1 : 0);
    s.private_tokens += grown(s.context + drafted_, steps);
  }

 protected:
  /// Tokens in the blocks that `steps` decode steps added to a sequence of `covered` tokens.
  std::int64_t grown(std::int64_t covered, std::int64_t steps) const {
    const int b = settings_.block_tokens;
    const auto blocks = [&](std::int64_t tokens) { return (tokens + b - 1) / b; };
    return (blocks(covered + steps) - blocks(covered)) * b;
  }
  void leave_batch(simulated_sequence& s) {
    settle_growth(s);
    batch_.leave(s, settings_.block_tokens, drafted_);
    if (batch_.size() == 0) has_reserved_ = false;
  }
  std::int64_t longest_running() {
    std::int64_t most = 0;
    for (int e = last_; e != no_sequence; e = sequences_[e].previous) {
      const simulated_request& r = sequences_[e].request;
      most = (std::max<std::int64_t>)(most, std::int64_t{r.input_tokens} + r.output_tokens);
    }
    return most;
  }
  std::int64_t rounded(std::int64_t tokens) const {
    const int b = settings_.block_tokens;
    return (tokens + b - 1) / b * b;
  }

  double first_share() const { return (std::min)(1.0, 0.7 * settings_.conservativeness); }
  void decay_share(double steps) {
    const double least = 0.14 * first_share();
    expected_share_ = (std::max)(least, expected_share_ - (first_share() - least) / 600.0 * steps);
  }

  // Admission.

  /// Cached prefix of a waiting request: `units` blocks on the device, and `tokens` including
  /// blocks fetched or received from elsewhere. At least one prompt token is always computed.
  struct cached_prefix {
    std::size_t units = 0;
    int tokens = 0;
    int tokens_on_device = 0;
  };
  cached_prefix prefix_of(const simulated_sequence& s) const {
    const int unit = s.request.block_tokens;
    const std::size_t most =
        (std::min)(s.request.blocks.size(), std::size_t((s.target - 1) / unit));
    cached_prefix p;
    p.units = pool_.match(std::span(s.request.blocks).first(most));
    const std::size_t all = (std::min)(most, p.units + std::size_t(s.fetched_units));
    p.tokens_on_device = static_cast<int>(p.units) * unit;
    p.tokens =
        (std::max)(static_cast<int>(all) * unit, (std::min)(s.received_tokens, s.target - 1));
    return p;
  }
  /// Takes the first waiting request, if the cache of `covered` tokens can be allocated with
  /// `margin` left.
  bool admit(const cached_prefix& p, std::int64_t covered, std::int64_t margin) {
    const int entry = waiting_.front();
    simulated_sequence& s = sequences_[entry];
    const auto hit = std::span<const std::uint64_t>(s.request.blocks).first(p.units);
    const std::int64_t needed = rounded(covered) - p.tokens_on_device;
    if (needed + margin > pool_.available() - pool_.unused_among(hit)) return false;
    pool_.acquire(hit);
    static_cast<void>(pool_.allocate(needed));
    s.shared_units = static_cast<int>(p.units);
    s.private_tokens = needed;
    s.computed = p.tokens;
    if (p.tokens > p.tokens_on_device) publish_computed(entry, p.tokens);
    if (s.scheduled < 0.0) {
      s.scheduled = now_;
      s.cached_tokens = s.computed;
    }
    waiting_.pop_front();
    link(entry);
    return true;
  }
  void link(int entry) {
    sequences_[entry].admission = sequences_.next_admission();
    insert(entry);
  }
  /// Inserts an entry in the order of admission.
  void insert(int entry) {
    simulated_sequence& s = sequences_[entry];
    s.group = this;
    s.previous = last_;
    s.next = no_sequence;
    while (s.previous != no_sequence && sequences_[s.previous].admission > s.admission) {
      s.next = s.previous;
      s.previous = sequences_[s.next].previous;
    }
    if (s.previous != no_sequence) sequences_[s.previous].next = entry;
    (s.next == no_sequence ? last_ : sequences_[s.next].previous) = entry;
    ++running_;
  }
  /// Begun prefills, in order. The micro-batches of a pipeline share them: the next chunk of a
  /// prompt enters the first stage in the next micro-batch, behind the one before it.
  /// Source: vLLM v1/core/sched/scheduler.py (_update_after_schedule); SGLang (chunked_req).
  std::vector<int>& prefills() {
    const bool has_own = peers_.empty() || settings_.kind == scheduler_kind::static_batches;
    return has_own ? prefilling_ : peers_.front()->prefilling_;
  }
  /// Takes a begun prefill from the micro-batch that has it.
  void take_over(int entry) {
    sequences_[entry].group->unlink(entry);
    insert(entry);
  }
  void unlink(int entry) {
    simulated_sequence& s = sequences_[entry];
    if (s.previous != no_sequence) sequences_[s.previous].next = s.next;
    (s.next == no_sequence ? last_ : sequences_[s.next].previous) = s.previous;
    s.previous = s.next = no_sequence;
    --running_;
  }
  void release_cache(simulated_sequence& s, bool is_cached) {
    pool_.release(s.private_tokens, is_cached && has_identifiers_);
    pool_.abandon(
        std::span<const std::uint64_t>(s.request.blocks).first(std::size_t(s.shared_units)));
    s.private_tokens = 0;
    s.shared_units = 0;
  }

  /// Allocates the cache of a prefill up to `tokens`; preempts the last admitted request if it is
  /// full.
  bool cover(int entry, int tokens) {
    simulated_sequence& s = sequences_[entry];
    for (;;) {
      const std::int64_t has =
          s.private_tokens + std::int64_t{s.shared_units} * s.request.block_tokens;
      const std::int64_t more = rounded(tokens) - has;
      if (more <= 0) return true;
      if (pool_.allocate(more)) {
        s.private_tokens += more;
        return true;
      }
      if (preempt_youngest() == entry) return false;
    }
  }

  // Preemption.

  /// Preempts the last admitted request of those that use the cache, and returns it.
  int preempt_youngest() {
    engine_group* from = this;
    for (engine_group* g : peers_)
      if (g->last_ != no_sequence &&
          (from->last_ == no_sequence ||
           sequences_[g->last_].admission > sequences_[from->last_].admission))
        from = g;
    const int victim = from->last_;
    from->preempt(victim);
    has_preempted_ = true;
    return victim;
  }
  /// Returns a sequence to the front of the queue. Its full blocks stay cached until evicted.
  void preempt(int entry) {
    simulated_sequence& s = sequences_[entry];
    if (s.has_ended) return end(entry, s.request.input_tokens + s.request.output_tokens - 1);
    if (s.is_decoding) {
      const auto steps = static_cast<double>(batch_.step() - s.joined);
      const int emitted = static_cast<int>(steps * s.growth + 0.5);
      leave_batch(s);
      s.batched_tokens = emitted - static_cast<int>(steps);
      s.uncounted_tokens = emitted - steps * s.growth;
      s.generated += emitted;
      keep_blocks(entry, s.context + emitted);
      s.last_token = (std::max)(s.last_token, last_token_time_);
    } else {
      std::erase(prefills(), entry);
    }
    release_cache(s, true);
    unlink(entry);
    s.target = s.request.input_tokens + s.generated;
    s.computed = 0;
    ++s.preemptions;
    ++s.use;
    ++preemptions_;
    has_preempted_ = true;
    waiting_.push_front(entry);
  }
  /// Keeps the computed blocks of a preempted sequence in the prefix cache. Without block
  /// identifiers it gets unique ones.
  void keep_blocks(int entry, int computed) {
    simulated_sequence& s = sequences_[entry];
    if (!pool_.keeps_prefixes()) return;
    if (s.request.blocks.empty()) {
      s.request.block_tokens = settings_.block_tokens;
      for (int i = 0; (i + 1) * settings_.block_tokens <= computed; ++i)
        s.request.blocks.push_back(
            ((std::uint64_t(s.request.index) + 1) << 32) * 0x9E3779B97F4A7C15u + std::uint64_t(i));
    }
    publish_computed(entry, computed);
  }
  /// SGLang keeps long outputs: the victim has the fewest output tokens, then the longest prompt.
  int sglang_victim() {
    int victim = last_;
    const auto rank = [&](int e) {
      const simulated_sequence& s = sequences_[e];
      const std::int64_t out = s.generated + (s.is_decoding ? batch_.step() - s.joined : 0);
      return std::pair<std::int64_t, int>(out, -s.request.input_tokens);
    };
    double decoded = 0.0, asked = 0.0;
    for (int e = last_; e != no_sequence; e = sequences_[e].previous) {
      if (rank(e) < rank(victim)) victim = e;
      decoded += static_cast<double>(rank(e).first);
      asked += sequences_[e].request.output_tokens;
    }
    expected_share_ = (std::min)(1.0, (decoded + 20.0 * running_) / (asked + 1.0));
    return victim;
  }

  const scheduler_settings& settings_;
  sequence_table& sequences_;
  kv_pool& pool_;
  std::deque<int>& waiting_;
  int max_running_;
  int drafted_;
  bool has_identifiers_;
  decode_batch batch_{};
  std::vector<int> prefilling_{};  ///< admitted requests with tokens to prefill (`prefills`)
  int last_ = no_sequence;         ///< the last in the order of admission
  int running_ = 0;
  std::vector<engine_group*> peers_{};
  bool has_preempted_ = false, is_full_ = false;
  bool has_reserved_ = false;    ///< the tokens of the batch's next step are allocated
  double expected_share_ = 0.7;  ///< SGLang's new_token_ratio
  double now_ = 0.0, last_token_time_ = 0.0;
  std::int64_t preemptions_ = 0;
};

}  // namespace perfmodel::inline v0_3::detail
