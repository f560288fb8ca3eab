// Statistics of a simulation: latency histograms, means over time, counts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <perfmodel/serving/simulation/histogram.hpp>
#include <perfmodel/serving/simulation/request_source.hpp>

namespace perfmodel::inline v0_3 {

/// Statistics of the counted requests of a simulation. Inter-token latencies and means over time
/// are counted while `is_counting`.
class simulation_statistics {
 public:
  bool is_counting = true;
  std::optional<double> ttft_limit{}, itl_limit{};  ///< latency targets in seconds, for goodput

  latency_sample ttft{}, tpot{}, e2e{}, queueing{};
  latency_histogram itl{};
  simulation_timeline timeline{};
  std::int64_t host_units = 0, disk_units = 0;  ///< units fetched from host memory and from disk
  std::int64_t requests = 0, good_requests = 0, preemptions = 0;
  double input_tokens = 0.0, cached_tokens = 0.0, output_tokens = 0.0;

  void add_request(const request_record& r) {
    ttft.add(r.ttft);
    e2e.add(r.e2e);
    queueing.add(std::max(0.0, r.queueing));
    if (r.output_tokens > 1) tpot.add(r.tpot());
    ++requests;
    preemptions += r.preemptions;
    input_tokens += r.input_tokens;
    cached_tokens += r.cached_tokens;
    output_tokens += r.output_tokens;
    const bool is_good =
        !(ttft_limit && r.ttft > *ttft_limit) && !(itl_limit && r.tpot() > *itl_limit);
    if (is_good) ++good_requests;
  }
  /// Inter-token latency of `count` sequences.
  void add_itl(double time, int count) {
    if (is_counting && count > 0) itl.add(std::max(0.0, time), count);
  }
  /// Inter-token latencies that lie evenly between two values.
  void add_itls(double first, double last, double count) {
    if (is_counting) itl.add_range(first, last, count);
  }
  /// Output tokens that were emitted evenly between two times.
  void add_tokens(double begin, double end, double n) {
    timeline.add(begin, end, {.tokens = n});
    if (is_counting) tokens_ += n;
  }
  void add_decodes(double steps, double sequences) {
    if (!is_counting) return;
    decode_steps_ += steps;
    decoded_ += sequences;
  }
  void add_state(double begin, double end, double running, double waiting, double kv_use) {
    timeline.add(begin, end, {running, waiting, kv_use});
    if (is_counting) {
      time_ += end - begin;
      running_ += running * (end - begin);
      waiting_ += waiting * (end - begin);
      kv_use_ += kv_use * (end - begin);
    }
  }
  double time() const { return time_; }
  double token_rate() const { return time_ > 0.0 ? tokens_ / time_ : 0.0; }
  double mean_running() const { return time_ > 0.0 ? running_ / time_ : 0.0; }
  double mean_waiting() const { return time_ > 0.0 ? waiting_ / time_ : 0.0; }
  double mean_kv_use() const { return time_ > 0.0 ? kv_use_ / time_ : 0.0; }
  double mean_batch() const { return decode_steps_ > 0.0 ? decoded_ / decode_steps_ : 0.0; }

 private:
  double time_ = 0.0, tokens_ = 0.0, running_ = 0.0, waiting_ = 0.0, kv_use_ = 0.0;
  double decode_steps_ = 0.0, decoded_ = 0.0;
};

}  // namespace perfmodel::inline v0_3
