// Requests of a simulation, their source in time order, and the front end that they pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Request of a simulated workload.
struct simulated_request {
  std::int64_t index = 0;  ///< position in the workload
  double arrival = 0.0;    ///< time at which the client sends it, in seconds
  int input_tokens = 1;
  int output_tokens = 1;
  std::int64_t session = -1;  ///< conversation of the request; -1: none
  /// Identifiers of the full blocks of the prompt, and of the output after it if known. Each stands
  /// for all tokens up to the end of its block; equal identifiers are equal prefixes. Empty: the
  /// prompt shares nothing.
  std::vector<std::uint64_t> blocks{};
  int block_tokens = 16;         ///< tokens per identifier
  int assumed_hit_tokens = 0;    ///< prompt tokens taken as cached, whatever the cache holds
  double first_token_at = -1.0;  ///< time at which a prefill pool emitted the first token; -1: none
};

/// Result of one simulated request. Times are in seconds.
struct request_record {
  std::int64_t index = 0;
  std::int64_t session = -1;
  double arrival = 0.0;
  double queueing = 0.0;   ///< from the engine's receipt to the first engine step
  double scheduled = 0.0;  ///< begin of the first engine step
  double ttft = 0.0;
  double e2e = 0.0;
  int input_tokens = 0;
  int output_tokens = 0;
  int cached_tokens = 0;  ///< prompt tokens found in the prefix cache
  int preemptions = 0;
  int replica = 0;

  /// Time per output token after the first: (e2e - ttft) / (output_tokens - 1).
  double tpot() const { return output_tokens > 1 ? (e2e - ttft) / (output_tokens - 1) : 0.0; }
};

/// Source of requests. The simulation asks for the time of the next arrival, takes it when it is
/// due, and reports completions, after which a closed loop or a session may send more.
class request_source {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  virtual ~request_source() = default;
  /// Time of the next known arrival; `never` if none is known. Not before an arrival taken already.
  virtual double next_arrival() = 0;
  /// Moves the next arrival into `r`.
  virtual void take(simulated_request& r) = 0;
  /// The request completed at time `at`.
  virtual void completed(const request_record& r, double at) {
    static_cast<void>(r);
    static_cast<void>(at);
  }
};

/// Front end of a replica. A request occupies it for `per_request` and `per_token` of its prompt,
/// and is delayed by `latency` in addition (network, other processes). All in seconds.
struct frontend_time {
  double latency = 0.0;
  double per_request = 0.0;
  double per_token = 0.0;
};

namespace detail {

/// Requests in the front end, one server, first come first served.
/// Source: vLLM and SGLang have one API server process with one tokeniser by default.
/// Test: two requests that arrive at once: the second is ready after both times.
class frontend_queue {
 public:
  explicit frontend_queue(const frontend_time& t) : time_(t) {}

  void push(const simulated_request& r, double at) {
    free_ = (std::max)(free_, at) + time_.per_request + time_.per_token * r.input_tokens;
    waiting_.push_back({r, free_ + time_.latency});
  }
  std::size_t count() const { return waiting_.size(); }
  /// Time at which the first request is ready; `request_source::never` without requests.
  double next() const { return waiting_.empty() ? request_source::never : waiting_.front().ready; }
  const simulated_request& first() const { return waiting_.front().request; }
  void pop() { waiting_.pop_front(); }

 private:
  struct entry {
    simulated_request request{};
    double ready = 0.0;
  };
  frontend_time time_;
  double free_ = 0.0;
  std::deque<entry> waiting_{};
};

}  // namespace detail

}  // namespace perfmodel::inline v0_3
