// Sequences of a simulated engine, and the batch of those that decode.
#pragma once

#include <algorithm>
#include <cstdint>
#include <perfmodel/serving/simulation/request_source.hpp>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3::detail {

inline constexpr int no_sequence = -1;

class engine_group;

/// State of a request in a simulated engine.
struct simulated_sequence {
  simulated_request request{};
  double received = 0.0;    ///< time at which the engine has it in its queue
  double scheduled = -1.0;  ///< time of its first admission
  double begun = -1.0;      ///< begin of its first engine step
  double first_token = -1.0, last_token = -1.0;
  int cached_tokens = 0;  ///< prompt tokens found in the prefix cache at the first admission
  int computed = 0;       ///< tokens in the cache, scheduled ones included
  int target = 0;     ///< tokens that prefill computes: the prompt, and outputs after preemption
  int generated = 0;  ///< output tokens when it last joined the decode batch
  int preemptions = 0;
  std::int64_t private_tokens = 0;  ///< KV-cache tokens of its own
  int received_tokens = 0;          ///< tokens received from a prefill pool
  int fetched_units = 0;            ///< prefix blocks fetched from host memory or disk
  int shared_units = 0;             ///< leading prompt blocks that it shares in the prefix cache
  // In the decode batch:
  bool is_decoding = false;
  int context = 0;             ///< tokens in the cache when it joined
  double growth = 1.0;         ///< tokens per step; above 1 with speculation
  std::int64_t joined = 0;     ///< number of the batch's step at which it joined
  std::int64_t last_step = 0;  ///< number of the step that emits its last token
  // In the order of admission:
  std::int64_t admission = 0;
  int previous = no_sequence, next = no_sequence;
  int lane = 0;
  engine_group* group = nullptr;  ///< runs it
  /// generation of this table entry: one more for each new request and each preemption
  std::uint32_t use = 0;
  bool has_ended = false;  ///< it has emitted its last token
  /// Output tokens that came in the same step as another, and are not yet counted in ITL.
  int batched_tokens = 0;
  /// fraction of a token left by rounding at a preemption (speculation)
  double uncounted_tokens = 0.0;
};

/// Decoding sequences of one group or micro-batch. All of them advance together, so the batch
/// stores sums and a queue of ends instead of one counter for each sequence.
class decode_batch {
 public:
  int size() const { return size_; }
  std::int64_t step() const { return step_; }
  double growth() const { return growth_ / size_; }  ///< mean tokens per sequence and step
  int ended() const { return ended_; }               ///< sequences that have emitted all tokens
  int emitting() const { return size_ - ended_; }
  /// Output tokens of a step.
  double emitted() const { return ended_ == 0 ? growth_ : growth_ - ended_growth_; }
  double mean_context() const { return (context_ + growth_ * static_cast<double>(step_)) / size_; }

  void join(int entry, simulated_sequence& s, int context, std::int64_t rounds, double growth,
            int extra_steps, int block_tokens, int lookahead) {
    s.is_decoding = true;
    s.context = context;
    s.growth = growth;
    s.joined = step_;
    s.last_step = step_ + rounds;
    ++size_;
    context_ += context - growth * static_cast<double>(step_);
    growth_ += growth;
    push({s.last_step, entry, s.use, false});
    if (extra_steps > 0) push({s.last_step + extra_steps, entry, s.use, true});
    const std::int64_t phase = (context + lookahead - step_) % block_tokens;
    if (phases_.size() != static_cast<std::size_t>(block_tokens))
      phases_.assign(static_cast<std::size_t>(block_tokens), 0);
    ++phases_[phase_index(phase, block_tokens)];
  }
  /// Marks that a sequence has emitted its last token; it stays in the batch until leave().
  void finish(simulated_sequence& s) {
    s.has_ended = true;
    ++ended_;
    ended_growth_ += s.growth;
  }
  void leave(simulated_sequence& s, int block_tokens, int lookahead) {
    s.is_decoding = false;
    --size_;
    if (s.has_ended) {
      --ended_;
      ended_growth_ -= s.growth;
    }
    context_ -= s.context - s.growth * static_cast<double>(s.joined);
    growth_ -= s.growth;
    const std::int64_t phase = (s.context + lookahead - s.joined) % block_tokens;
    --phases_[phase_index(phase, block_tokens)];
    if (size_ == 0) context_ = growth_ = ended_growth_ = 0.0;
  }
  /// Steps until the next sequence emits its last token or leaves; at least 1.
  template <class Sequences>
  std::int64_t steps_to_next_end(const Sequences& sequences) {
    while (!ends_.empty() && is_stale(ends_.front(), sequences)) pop();
    return ends_.empty() ? std::int64_t{1} << 40
                         : (std::max<std::int64_t>)(1, ends_.front().step - step_);
  }
  /// Advances by n steps, and calls ended(entry, leaves) for each end that is reached.
  template <class Sequences, class Ended>
  void advance(std::int64_t n, const Sequences& sequences, const Ended& ended) {
    step_ += n;
    while (!ends_.empty() && ends_.front().step <= step_) {
      const end e = ends_.front();
      pop();
      if (e.use == sequences[std::size_t(e.entry)].use &&
          sequences[std::size_t(e.entry)].is_decoding)
        ended(e.entry, e.is_leave);
    }
  }
  /// New KV-cache blocks that the batch needs for its next n steps.
  std::int64_t blocks_for(std::int64_t n, int block_tokens) const {
    if (size_ == 0) return 0;
    std::int64_t blocks = n / block_tokens * size_;
    for (std::int64_t i = 0; i < n % block_tokens; ++i) blocks += crossing(i, block_tokens);
    return blocks;
  }
  /// Largest number of steps, up to `most`, that need at most `blocks`.
  std::int64_t steps_within(std::int64_t blocks, std::int64_t most, int block_tokens) const {
    if (size_ == 0 || (most / block_tokens + 1) * size_ <= blocks) return most;
    std::int64_t steps = blocks / size_ * block_tokens;
    blocks %= size_;
    for (std::int64_t i = 0; steps < most; ++i, ++steps) {
      blocks -= crossing(i, block_tokens);
      if (blocks < 0) break;
    }
    return (std::min)(steps, most);
  }
  int count_of_ends_at(std::int64_t step) const {
    int count = 0;
    for (const end& e : ends_)
      if (e.step == step && !e.is_leave) ++count;
    return count;
  }

 private:
  struct end {
    std::int64_t step = 0;
    int entry = 0;
    std::uint32_t use = 0;
    bool is_leave = false;
    bool operator<(const end& e) const {
      return step > e.step || (step == e.step && entry > e.entry);
    }
  };
  template <class Sequences>
  static bool is_stale(const end& e, const Sequences& sequences) {
    const simulated_sequence& s = sequences[std::size_t(e.entry)];
    return e.use != s.use || !s.is_decoding;
  }
  void push(const end& e) {
    ends_.push_back(e);
    std::push_heap(ends_.begin(), ends_.end());
  }
  void pop() {
    std::pop_heap(ends_.begin(), ends_.end());
    ends_.pop_back();
  }
  static std::size_t phase_index(std::int64_t phase, int block_tokens) {
    return static_cast<std::size_t>(phase < 0 ? phase + block_tokens : phase);
  }
  /// Sequences that need a new block in the i-th step from now.
  std::int64_t crossing(std::int64_t i, int block_tokens) const {
    const std::int64_t full = (block_tokens - (step_ + i) % block_tokens) % block_tokens;
    return phases_[static_cast<std::size_t>(full)];
  }

  int size_ = 0;
  double context_ = 0.0;  ///< sum over sequences of context - growth x step at joining
  double growth_ = 0.0, ended_growth_ = 0.0;
  int ended_ = 0;
  std::int64_t step_ = 0;
  std::vector<end> ends_{};             ///< heap
  std::vector<std::int64_t> phases_{};  ///< count of sequences by position in their last block
};

/// Speculation rounds until `tokens` tokens are emitted. Each drafted token is accepted at random,
/// if those before it were; without drafts each round emits one token.
inline std::int64_t speculation_rounds(int tokens, const std::vector<double>& acceptance,
                                       random_generator& random) {
  if (acceptance.empty()) return tokens;
  std::int64_t rounds = 0;
  for (int left = tokens; left > 0; ++rounds) {
    --left;
    for (const double a : acceptance) {
      if (left == 0 || random.uniform() >= a) break;
      --left;
    }
  }
  return rounds;
}

}  // namespace perfmodel::inline v0_3::detail
