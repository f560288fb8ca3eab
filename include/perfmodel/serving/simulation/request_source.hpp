// Requests of a simulation, their source in time order, and the front end that they pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <numbers>
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

// Random numbers of simulated workloads, equal on every machine for a seed.

namespace perfmodel::inline v0_3 {

/// Generator of random numbers: SplitMix64.
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
/// Test: the first numbers of seed 0 are those of the published code.
class random_generator {
 public:
  explicit random_generator(std::uint64_t seed = 1) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// Uniform in (0, 1).
  double uniform() { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double exponential(double mean) { return -mean * std::log(uniform()); }
  /// Standard normal. Source: Box and Muller 1958.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
  /// Gamma distribution with mean 1.
  /// Source: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
  double gamma(double shape) {
    const double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0;
    const double c = 1.0 / std::sqrt(9.0 * d);
    const double factor = shape < 1.0 ? std::pow(uniform(), 1.0 / shape) : 1.0;
    for (;;) {
      const double x = normal();
      const double v = std::pow(1.0 + c * x, 3.0);
      if (1.0 + c * x > 0.0 && std::log(uniform()) < x * x / 2.0 + d - d * v + d * std::log(v))
        return factor * d * v / shape;
    }
  }
  /// Time between arrivals with this mean and coefficient of variation: 0 periodic, 1 exponential,
  /// otherwise gamma.
  double interval(double mean, double cv) {
    if (cv == 0.0) return mean;
    return cv == 1.0 ? exponential(mean) : mean * gamma(1.0 / (cv * cv));
  }

 private:
  std::uint64_t state_;
};

/// Distribution of request lengths in tokens. A draw is rounded, and limited to `least` to `most`.
struct length_distribution {
  enum class shape { fixed, lognormal, uniform };
  shape kind = shape::fixed;
  double mean = 1.0;
  double cv = 0.0;               ///< coefficient of variation, of a lognormal distribution
  double low = 1.0, high = 1.0;  ///< ends of a uniform distribution
  int least = 1, most = 1 << 30;

  static length_distribution fixed(double tokens) { return {.mean = tokens}; }
  /// Lengths have at least one token, so those of a mean of one are equal.
  static length_distribution lognormal(double mean_tokens, double coefficient) {
    const bool varies = coefficient > 0.0 && mean_tokens > 1.0;
    return {
        .kind = varies ? shape::lognormal : shape::fixed, .mean = mean_tokens, .cv = coefficient};
  }
  static length_distribution uniform(double from, double to) {
    return {.kind = shape::uniform, .mean = 0.5 * (from + to), .low = from, .high = to};
  }

  int draw(random_generator& random) const {
    double tokens = mean;
    if (kind == shape::lognormal) {
      const double s2 = std::log1p(cv * cv);
      tokens = mean * std::exp(std::sqrt(s2) * random.normal() - 0.5 * s2);
    } else if (kind == shape::uniform) {
      tokens = std::floor(random.uniform(low, high + 1.0));
    }
    const double limited = std::clamp(tokens, double(least), double(most));
    return static_cast<int>(std::lround(limited));
  }
};

}  // namespace perfmodel::inline v0_3
