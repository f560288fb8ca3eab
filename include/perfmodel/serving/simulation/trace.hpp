// Recorded workloads: a trace in memory, and sources that replay one to a simulation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <perfmodel/core/error.hpp>
#include <perfmodel/serving/simulation/request_source.hpp>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Request of a trace.
struct trace_request {
  double arrival_s = 0.0;  ///< recorded time of arrival, from the begin of the trace
  double think_s =
      -1.0;  ///< from completion of `previous` to sending this one; -1: arrival_s holds
  std::int64_t first_block = 0;  ///< position in request_trace::blocks
  int block_count = 0;
  int input_tokens = 1;
  int output_tokens = 1;
  int session = -1;   ///< number of the conversation; -1: none
  int previous = -1;  ///< request that has to complete first, by its position; -1: none
};

/// Recorded workload.
struct request_trace {
  std::vector<trace_request> requests{};
  std::vector<std::uint64_t> blocks{};  ///< block identifiers of all requests
  int block_tokens = 16;                ///< tokens per block identifier
  bool blocks_cover_output = false;     ///< whether they go on over the output after the prompt
  std::string label{};
  std::string format{};
};

/// How a trace is replayed.
struct replay_options {
  double rate_factor = 1.0;         ///< arrivals come this many times as fast; think times stay
  std::int64_t first_requests = 0;  ///< number of requests replayed; 0: all
  /// Window of recorded time, in seconds. Later turns belong to the window of their first turn.
  double from_s = 0.0;
  double to_s = std::numeric_limits<double>::infinity();
  int in_flight_limit = 0;  ///< maximum concurrency of the client; 0: none
  int session_limit = 0;    ///< maximum number of conversations at once; 0: none
  /// Request rate that replaces the recorded arrivals of first turns; 0: recorded arrivals.
  double requests_per_s = 0.0;
  double arrival_cv = 1.0;  ///< coefficient of variation of these arrivals
  std::uint64_t seed = 1;
};

namespace detail {

/// Throws out_of_range.
inline void check_replay(const replay_options& o) {
  positive("rate_factor", o.rate_factor);
  within("first_requests", static_cast<double>(o.first_requests), 0.0, largest_count, "0 or more");
  not_negative("from_s", o.from_s);
  if (!(o.to_s > o.from_s)) out_of_range("to_s", o.to_s, "more than from_s");
  within("in_flight_limit", static_cast<double>(o.in_flight_limit), 0.0, 1e9, "0 or more");
  within("session_limit", static_cast<double>(o.session_limit), 0.0, 1e9, "0 or more");
  not_negative("requests_per_s", o.requests_per_s);
  within("arrival_cv", o.arrival_cv, 0.0, 100.0, "0 to 100");
}
[[noreturn]] inline void invalid_request(std::size_t index, const char* what) {
  throw error(error_code::inconsistent,
              "request " + std::to_string(index) + " of the trace " + what);
}
/// Throws inconsistent.
inline void check_replay(const trace_request& r, std::size_t index) {
  if (!(r.arrival_s >= 0.0 && r.arrival_s <= 1e12))
    invalid_request(index, "has no valid arrival_s");
  if (r.input_tokens < 1) invalid_request(index, "has input_tokens below 1");
  if (r.output_tokens < 1) invalid_request(index, "has output_tokens below 1");
  if (!(r.think_s <= 1e12)) invalid_request(index, "has no valid think_s");
  if (r.think_s >= 0.0 && (r.previous < 0 || static_cast<std::size_t>(r.previous) >= index)) {
    invalid_request(index, "has a think_s and no request before it as previous");
  }
}
/// Throws inconsistent, out_of_range.
inline void check_replay(const request_trace& t) {
  count("block_tokens", static_cast<double>(t.block_tokens));
  for (std::size_t i = 0; i < t.requests.size(); ++i) {
    const trace_request& r = t.requests[i];
    check_replay(r, i);
    const auto blocks = static_cast<std::int64_t>(t.blocks.size());
    if (r.block_count < 0 || r.first_block < 0 || r.first_block > blocks - r.block_count) {
      invalid_request(i, "has blocks outside its block list");
    }
  }
}

/// Times of first turns: recorded ones divided by a factor, or drawn at a rate.
class replayed_arrivals {
 public:
  explicit replayed_arrivals(const replay_options& o) : options_(o), random_(o.seed) {}
  double next(double recorded_s) {
    if (options_.requests_per_s > 0.0) {
      return at_ += random_.interval(1.0 / options_.requests_per_s, options_.arrival_cv);
    }
    return (recorded_s - options_.from_s) / options_.rate_factor;
  }

 private:
  replay_options options_;
  random_generator random_;
  double at_ = 0.0;
};

/// Limited number of something, such as requests in flight, and the time of the last release that
/// found none free.
class limited_slots {
 public:
  explicit limited_slots(int limit) : limit_(limit) {}
  /// Earliest time at which something that is due at `due` gets a slot, as far as known.
  double earliest(double due) const {
    if (limit_ > 0 && used_ >= limit_) return request_source::never;
    return (std::max)(due, freed_at_);
  }
  void acquire() { ++used_; }
  void release(double at) {
    if (limit_ > 0 && used_ == limit_) freed_at_ = at;
    --used_;
  }

 private:
  int limit_;
  int used_ = 0;
  double freed_at_ = 0.0;
};

}  // namespace detail

/// Replay of a trace in memory. A first turn is sent at its time, a later one `think_s` after
/// completion of its previous request. Requests with equal times keep the order of the trace;
/// `index` counts requests in the order of sending.
///
/// With `in_flight_limit` a request that is due waits in the client, first come first served, and
/// its `arrival` is the time at which it is sent. With `session_limit` a first turn waits for the
/// end of another conversation; a request without turns is a conversation of its own. The window,
/// `first_requests`, and the rates apply to first turns; turns follow them.
/// *Leaves out:* a turn that waits for several requests; requests that time out.
/// *Errors:* out_of_range, inconsistent. *Test:* tests/unit/trace_replay.cpp.
class trace_source : public request_source {
 public:
  /// The trace has to outlive the source.
  explicit trace_source(const request_trace& replayed, const replay_options& options = {})
      : trace_(replayed),
        arrivals_(options),
        in_flight_(options.in_flight_limit),
        sessions_(options.session_limit) {
    detail::check_replay(options);
    detail::check_replay(replayed);
    select(options);
    if (options.session_limit > 0) number_conversations();
    advance();
  }

  /// Number of requests that are replayed.
  std::int64_t size() const { return selected_; }
  /// Position in the trace of a request that was taken, by its `index`.
  std::size_t position(std::int64_t index) const {
    return static_cast<std::size_t>(sent_[static_cast<std::size_t>(index)]);
  }

  double next_arrival() override {
    const double root = sessions_.earliest(root_time_);
    const bool turn = !turns_.empty() && due_before_root(root);
    const double due = turn ? turns_.top().first : root;
    if (due == never) return never;
    return (std::max)(in_flight_.earliest(due), last_sent_);
  }

  void take(simulated_request& r) override {
    const double at = next_arrival();
    const double root = sessions_.earliest(root_time_);
    int index = 0;
    if (!turns_.empty() && due_before_root(root)) {
      index = turns_.top().second;
      turns_.pop();
    } else {
      index = roots_[next_root_++];
      sessions_.acquire();
      if (!open_.empty()) open_[static_cast<std::size_t>(index)] = 1;
      advance();
    }
    in_flight_.acquire();
    last_sent_ = at;
    fill(r, index, at);
    sent_.push_back(index);
  }

  void completed(const request_record& r, double at) override {
    in_flight_.release(at);
    const std::size_t index = position(r.index);
    int sent = 0;
    if (!first_turn_.empty()) {
      for (int i = first_turn_[index]; i >= 0;
           i = next_turn_[static_cast<std::size_t>(i)], ++sent) {
        turns_.emplace(at + trace_.requests[static_cast<std::size_t>(i)].think_s, i);
      }
    }
    if (open_.empty()) return;
    int& open = open_[static_cast<std::size_t>(conversation_[index])];
    open += sent - 1;
    if (open == 0) sessions_.release(at);
  }

 private:
  using due_turn = std::pair<double, int>;  ///< time, position

  bool due_before_root(double root) const {
    const due_turn& turn = turns_.top();
    return turn.first < root || (turn.first == root && turn.second < roots_[next_root_]);
  }
  /// Requests of the options, as first turns in order of time and as lists of later turns.
  void select(const replay_options& o) {
    const auto& all = trace_.requests;
    std::vector<char> chosen(all.size(), 0);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (o.first_requests > 0 && selected_ >= o.first_requests) break;
      const trace_request& r = all[i];
      const bool later = r.think_s >= 0.0;
      chosen[i] = later ? chosen[static_cast<std::size_t>(r.previous)]
                        : static_cast<char>(r.arrival_s >= o.from_s && r.arrival_s < o.to_s);
      if (chosen[i] == 0) continue;
      ++selected_;
      if (!later) roots_.push_back(static_cast<int>(i));
      if (later && first_turn_.empty()) {
        first_turn_.assign(all.size(), -1);
        next_turn_.assign(all.size(), -1);
      }
    }
    for (std::size_t i = first_turn_.size(); i-- > 0;) {  // lists in ascending order
      if (chosen[i] == 0 || all[i].think_s < 0.0) continue;
      int& first = first_turn_[static_cast<std::size_t>(all[i].previous)];
      next_turn_[i] = first;
      first = static_cast<int>(i);
    }
    const auto earlier = [&all](int a, int b) {
      return all[static_cast<std::size_t>(a)].arrival_s <
             all[static_cast<std::size_t>(b)].arrival_s;
    };
    if (!std::is_sorted(roots_.begin(), roots_.end(), earlier)) {
      std::stable_sort(roots_.begin(), roots_.end(), earlier);
    }
  }
  void number_conversations() {
    open_.assign(trace_.requests.size(), 0);
    conversation_.resize(trace_.requests.size());
    for (std::size_t i = 0; i < conversation_.size(); ++i) {
      const trace_request& r = trace_.requests[i];
      conversation_[i] = r.think_s < 0.0 ? static_cast<int>(i)
                                         : conversation_[static_cast<std::size_t>(r.previous)];
    }
  }
  void advance() {
    if (next_root_ >= roots_.size()) {
      root_time_ = never;
      return;
    }
    const auto index = static_cast<std::size_t>(roots_[next_root_]);
    root_time_ = arrivals_.next(trace_.requests[index].arrival_s);
  }
  void fill(simulated_request& to, int index, double at) const {
    const trace_request& r = trace_.requests[static_cast<std::size_t>(index)];
    to.index = static_cast<std::int64_t>(sent_.size());
    to.arrival = at;
    to.input_tokens = r.input_tokens;
    to.output_tokens = r.output_tokens;
    to.session = r.session;
    to.block_tokens = trace_.block_tokens;
    to.assumed_hit_tokens = 0;
    to.first_token_at = -1.0;
    const int covered = r.input_tokens + (trace_.blocks_cover_output ? r.output_tokens : 0);
    const auto first = trace_.blocks.begin() + r.first_block;
    to.blocks.assign(first, first + (std::min)(r.block_count, covered / trace_.block_tokens));
  }

  const request_trace& trace_;
  detail::replayed_arrivals arrivals_;
  detail::limited_slots in_flight_, sessions_;
  std::vector<int> sent_{};                      ///< positions in the order of sending
  std::vector<int> roots_{};                     ///< first turns, in order of time
  std::vector<int> first_turn_{}, next_turn_{};  ///< turns after a request; empty: no turns
  std::vector<int> conversation_{}, open_{};     ///< only with a limit of sessions
  std::priority_queue<due_turn, std::vector<due_turn>, std::greater<>> turns_{};
  std::size_t next_root_ = 0;
  std::int64_t selected_ = 0;
  double root_time_ = never;
  double last_sent_ = 0.0;
};

/// Requests of a trace in order of time, one at a time.
class trace_reader {
 public:
  virtual ~trace_reader() = default;
  /// Reads the next request and its block identifiers; false at the end. Times do not decrease.
  virtual bool next(trace_request& r, std::vector<std::uint64_t>& blocks) = 0;
  virtual int block_tokens() const = 0;
};

/// Replay of a trace that is read as it is needed: memory is constant in its length. `index` is the
/// number of the request in order of time. *Errors:* out_of_range; inconsistent for an invalid
/// request, a time that decreases, a think time, or a limit of sessions, which need a trace in
/// memory. *Test:* tests/unit/trace_replay.cpp.
class streamed_trace_source : public request_source {
 public:
  /// The reader has to outlive the source.
  explicit streamed_trace_source(trace_reader& reader, const replay_options& options = {})
      : reader_(reader),
        options_(options),
        arrivals_(options),
        in_flight_(options.in_flight_limit) {
    detail::check_replay(options);
    if (options.session_limit > 0) {
      detail::fail(error_code::inconsistent, "session_limit needs a trace in memory");
    }
    advance();
  }

  double next_arrival() override {
    return due_ == never ? never : (std::max)(in_flight_.earliest(due_), last_sent_);
  }

  void take(simulated_request& r) override {
    last_sent_ = next_arrival();
    r.index = index_++;
    r.arrival = last_sent_;
    r.input_tokens = next_.input_tokens;
    r.output_tokens = next_.output_tokens;
    r.session = next_.session;
    r.block_tokens = reader_.block_tokens();
    r.assumed_hit_tokens = 0;
    r.first_token_at = -1.0;
    r.blocks.swap(blocks_);
    const auto full = static_cast<std::size_t>(next_.input_tokens / r.block_tokens);
    if (r.blocks.size() > full) r.blocks.resize(full);
    in_flight_.acquire();
    advance();
  }

  void completed(const request_record& r, double at) override {
    static_cast<void>(r);
    in_flight_.release(at);
  }

 private:
  void advance() {
    due_ = never;
    if (options_.first_requests > 0 && index_ >= options_.first_requests) return;
    do {
      const double before = next_.arrival_s;
      next_ = {};
      if (!reader_.next(next_, blocks_)) return;
      const auto number = static_cast<std::size_t>(read_++);
      detail::check_replay(next_, number);
      if (next_.think_s >= 0.0)
        detail::invalid_request(number, "has a think_s: read it into memory");
      if (next_.arrival_s < before) detail::invalid_request(number, "is before the one before it");
    } while (next_.arrival_s < options_.from_s);
    if (next_.arrival_s < options_.to_s) due_ = arrivals_.next(next_.arrival_s);
  }

  trace_reader& reader_;
  replay_options options_;
  detail::replayed_arrivals arrivals_;
  detail::limited_slots in_flight_;
  trace_request next_{};
  std::vector<std::uint64_t> blocks_{};
  std::int64_t index_ = 0;
  std::int64_t read_ = 0;
  double due_ = never;
  double last_sent_ = 0.0;
};

}  // namespace perfmodel::inline v0_3
