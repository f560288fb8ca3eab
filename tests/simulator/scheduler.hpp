// How a simulated engine schedules, and what it asks the time of.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "simulator/load.hpp"

namespace perfmodel_test::simulator {

enum class scheduling {
  mixed,          ///< decodes first, prompts fill the budget: vLLM; with whole prompts TensorRT-LLM
  prefill_first,  ///< prompts alone while any can be admitted, else all decode: SGLang
  static_batch,   ///< a batch is taken, prefilled and decoded to its last token before the next
};
enum class reservation {
  grow,          ///< the tokens there are, and a block more when they need one: vLLM
  whole_length,  ///< prompt and answer, on admission: TensorRT-LLM, "guaranteed no evict"
};
enum class eviction { recompute, swap };

/// `token_budget` bounds the tokens of a mixed iteration and the prompt tokens of any other.
/// Without `split_prompts` only a prompt longer than the budget is cut. `acceptance` of drafted
/// tokens is by position, each given that those before it were accepted; without it nothing is
/// drafted. Requests that come while only decodes run are looked at every `poll_interval`
/// iterations, and wait up to `wait_iterations` more until they have `wait_share` of the budget:
/// SGLang's scheduler-recv-interval, TensorRT-LLM's batch_wait_*. A client sees every
/// `stream_interval`-th token, and what came with it; with `stream_first` the first at once.
struct scheduler {
  scheduling kind = scheduling::mixed;
  int token_budget = 8192;
  bool split_prompts = true;
  int max_sequences = 256;
  int kv_blocks = 0;  ///< 0: as many as are asked for
  reservation reserve = reservation::grow;
  bool prefix_shared =
      false;  ///< cached tokens take no blocks of a prompt's own, but once those of its prefix
  eviction evict = eviction::recompute;
  double swap_s_per_token = 0;  ///< out, and again in
  double host_per_iteration = 0, host_per_sequence = 0;
  double host_per_request = 0;  ///< before it is in the queue
  double fetch_s_per_token = 0;
  std::vector<double> acceptance{};
  int poll_interval = 1, wait_iterations = 0;
  double wait_share = 1;
  int stream_interval = 1;
  bool stream_first = true;
  int stages =
      1;  ///< of a pipeline: so many micro-batches are in flight, each with sequences of its own
};
inline constexpr int block_tokens = 16;

/// One iteration: sequences that decode over a mean context, prompts with tokens of theirs and what
/// is cached before these, a mean over the tokens.
struct pass {
  int decoding = 0;
  double context = 0;
  int rows_per_sequence = 1;
  int prompts = 0;
  int prompt_tokens = 0;
  double past = 0;

  bool operator==(const pass&) const = default;
};
using step_time = std::function<double(const pass&)>;

/// A request in the engine. `computed` of its `known` tokens are in the cache.
struct sequence {
  int index = 0;
  job want{};
  double arrival = 0, ready = 0, in_line = 0, started = -1, first = 0, last = 0;
  int computed = 0, generated = 0, seen = 0, blocks = 0, preemptions = 0;
  int in_flight = 0;  ///< tokens of its prompt in iterations on their way
  bool swapped = false;

  int known() const { return want.input + generated; }
  int unplanned() const { return known() - computed - in_flight; }
  bool decodes() const { return generated > 0 && computed == want.input + generated - 1; }
  bool done() const { return generated >= want.output; }
};

/// Blocks of the cache. Those of a prefix are there while a sequence that has it is.
class block_pool {
 public:
  explicit block_pool(const scheduler& s) : s_(s) {}
  /// Whether the sequence has blocks now for this many tokens.
  bool hold(sequence& q, int tokens) {
    if (s_.kv_blocks == 0) return true;
    const int own = tokens - (s_.prefix_shared ? q.want.cached : 0);
    const int needed = (own + block_tokens - 1) / block_tokens;
    const int more = needed - q.blocks;
    if (more <= 0) return true;
    const bool joins = s_.prefix_shared && q.want.prefix >= 0 && q.blocks == 0;
    const int prefix = joins && users_[q.want.prefix] == 0 ? q.want.cached / block_tokens : 0;
    if (used_ + more + prefix > s_.kv_blocks) return false;
    if (joins) ++users_[q.want.prefix];
    q.blocks += more;
    used_ += more + prefix;
    return true;
  }
  void release(sequence& q) {
    if (s_.prefix_shared && q.want.prefix >= 0 && q.blocks > 0 && --users_[q.want.prefix] == 0)
      used_ -= q.want.cached / block_tokens;
    used_ -= q.blocks;
    q.blocks = 0;
  }
  int used() const { return used_; }

 private:
  const scheduler& s_;
  int used_ = 0;
  std::map<int, int> users_{};  ///< sequences of each prefix
};

}  // namespace perfmodel_test::simulator
