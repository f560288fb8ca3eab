// Front end of a simulated replica: HTTP, tokenisation and detokenisation, one request at a time.
#pragma once

#include <algorithm>
#include <deque>
#include <perfmodel/serving/simulation/request_source.hpp>

namespace perfmodel::inline v0_3 {

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
    free_ = std::max(free_, at) + time_.per_request + time_.per_token * r.input_tokens;
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
