// Requests of a simulation: what each asks for, and a source that delivers them in time order.
#pragma once

#include <cstdint>
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

}  // namespace perfmodel::inline v0_3
