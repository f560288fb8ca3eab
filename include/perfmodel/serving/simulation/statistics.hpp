// Statistics of a simulation: latency histograms, means over time, counts.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <perfmodel/serving/simulation/request_source.hpp>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Histogram of positive values with 256 bins per octave, from 2^-31 to 2^33: a quantile is exact
/// to 0.2 %. Count, sum and sum of squares are exact. Zeros have a bin of their own.
/// Test: quantiles of a million draws against the sorted list.
class latency_histogram {
 public:
  void add(double value, double count = 1.0) {
    if (!(count > 0.0)) return;
    moments(value, value, count);
    if (value < smallest) {
      zeros_ += count;
    } else {
      bins_[bin_of(value)] += count;
    }
  }
  /// Adds `count` values that lie evenly between `first` and `last`.
  void add_range(double first, double last, double count) {
    if (first < smallest || last < smallest) return add(0.5 * (first + last), count);
    if (!(count > 0.0)) return;
    moments(first, last, count);
    std::size_t low = bin_of(first), high = bin_of(last);
    if (low > high) std::swap(low, high);
    const double each = count / static_cast<double>(high - low + 1);
    for (std::size_t i = low; i <= high; ++i) bins_[i] += each;
  }
  void merge(const latency_histogram& other) {
    for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += other.bins_[i];
    zeros_ += other.zeros_;
    count_ += other.count_;
    sum_ += other.sum_;
    squares_ += other.squares_;
    largest_ = (std::max)(largest_, other.largest_);
  }

  double count() const { return count_; }
  double mean() const { return count_ > 0.0 ? sum_ / count_ : 0.0; }
  double largest() const { return largest_; }
  double deviation() const {
    if (!(count_ > 0.0)) return 0.0;
    return std::sqrt((std::max)(0.0, squares_ / count_ - mean() * mean()));
  }
  /// Value below which a share `p` of the values lies; 0 without values.
  double quantile(double p) const {
    double rest = p * count_ - zeros_;
    if (!(rest > 0.0)) return 0.0;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
      if (rest > bins_[i]) {
        rest -= bins_[i];
      } else if (bins_[i] > 0.0) {
        return (std::min)(largest_, edge(i) + (edge(i + 1) - edge(i)) * rest / bins_[i]);
      }
    }
    return largest_;
  }
  /// Calls visit(lower edge, upper edge, count) for each bin with values.
  template <class Visit>
  void visit_bins(const Visit& visit) const {
    if (zeros_ > 0.0) visit(0.0, 0.0, zeros_);
    for (std::size_t i = 0; i < bins_.size(); ++i)
      if (bins_[i] > 0.0) visit(edge(i), edge(i + 1), bins_[i]);
  }

 private:
  static constexpr int octaves = 64, per_octave_bits = 8;
  static constexpr double smallest = 0x1p-31;

  /// The exponent and the first 8 bits of the mantissa.
  static std::size_t bin_of(double value) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t first = std::bit_cast<std::uint64_t>(smallest) >> (52 - per_octave_bits);
    const std::uint64_t at = (bits >> (52 - per_octave_bits)) - first;
    return (std::min<std::size_t>)(at, (std::size_t{octaves} << per_octave_bits) - 1);
  }
  static double edge(std::size_t i) {
    const std::uint64_t first = std::bit_cast<std::uint64_t>(smallest) >> (52 - per_octave_bits);
    return std::bit_cast<double>((first + i) << (52 - per_octave_bits));
  }
  void moments(double first, double last, double count) {
    count_ += count;
    sum_ += 0.5 * (first + last) * count;
    squares_ += count * (first * first + first * last + last * last) / 3.0;
    largest_ = (std::max)(largest_, (std::max)(first, last));
  }

  std::vector<double> bins_ = std::vector<double>(std::size_t{octaves} << per_octave_bits);
  double zeros_ = 0.0, count_ = 0.0, sum_ = 0.0, squares_ = 0.0, largest_ = 0.0;
};

/// Latencies of requests: every value up to 65,536 of them, then a histogram.
/// Test: a quantile is that of the sorted list, linear between two values.
class latency_sample {
 public:
  void add(double value) {
    sum_ += value;
    squares_ += value * value;
    largest_ = (std::max)(largest_, value);
    ++count_;
    if (count_ <= most_values) {
      values_.push_back(value);
      is_sorted_ = false;
      return;
    }
    if (!values_.empty()) {
      for (const double v : values_) histogram_.add(v);
      values_.clear();
      values_.shrink_to_fit();
    }
    histogram_.add(value);
  }
  double count() const { return static_cast<double>(count_); }
  double mean() const { return count_ > 0 ? sum_ / count() : 0.0; }
  double largest() const { return largest_; }
  double deviation() const {
    return count_ > 0 ? std::sqrt((std::max)(0.0, squares_ / count() - mean() * mean())) : 0.0;
  }
  /// Value below which a share `p` of the values lies; 0 without values.
  double quantile(double p) const {
    if (count_ == 0) return 0.0;
    if (count_ > most_values) return histogram_.quantile(p);
    if (!is_sorted_) std::sort(values_.begin(), values_.end());
    is_sorted_ = true;
    const double place = p * static_cast<double>(values_.size() - 1);
    const auto i = static_cast<std::size_t>(place);
    const double above = values_[(std::min)(i + 1, values_.size() - 1)];
    return values_[i] + (place - static_cast<double>(i)) * (above - values_[i]);
  }

 private:
  static constexpr std::int64_t most_values = 1 << 16;
  mutable std::vector<double> values_{};
  mutable bool is_sorted_ = true;
  latency_histogram histogram_{};
  std::int64_t count_ = 0;
  double sum_ = 0.0, squares_ = 0.0, largest_ = 0.0;
};

/// Means over equal intervals of time, of the state of a simulated service. The number of intervals
/// is at most `size`: when time goes beyond them, pairs are merged and the interval doubles.
class simulation_timeline {
 public:
  struct state {
    double running = 0.0;  ///< running requests
    double waiting = 0.0;  ///< requests that queue in an engine
    double kv_use = 0.0;   ///< share of the KV cache in use by running requests
    double tokens = 0.0;   ///< output tokens per second
  };
  static constexpr std::size_t size = 512;

  /// Adds a state from `begin` to `end`; `tokens` is the number of output tokens in that time.
  void add(double begin, double end, const state& s) {
    while (end >= interval_ * size) halve();
    const double duration = end - begin;
    if (!(duration > 0.0)) {
      if (s.tokens > 0.0) cells_[index(end)].tokens += s.tokens;
      return;
    }
    for (std::size_t i = index(begin); i <= index(end); ++i) {
      const double from = (std::max)(begin, interval_ * static_cast<double>(i));
      const double to = (std::min)(end, interval_ * static_cast<double>(i + 1));
      const double part = (std::max)(0.0, to - from);
      cells_[i].running += s.running * part;
      cells_[i].waiting += s.waiting * part;
      cells_[i].kv_use += s.kv_use * part;
      cells_[i].tokens += s.tokens * part / duration;
    }
    end_ = (std::max)(end_, end);
  }
  double interval() const { return interval_; }
  std::size_t count() const { return end_ > 0.0 ? index(end_) + 1 : 0; }
  /// Mean state in interval i.
  state operator[](std::size_t i) const {
    state s = cells_[i];
    const double begin = interval_ * static_cast<double>(i);
    const double width = (std::max)(1e-12, (std::min)(interval_, end_ - begin));
    s.running /= width;
    s.waiting /= width;
    s.kv_use /= width;
    s.tokens /= width;
    return s;
  }

 private:
  std::size_t index(double at) const {
    return (std::min)(size - 1, static_cast<std::size_t>(at / interval_));
  }
  void halve() {
    for (std::size_t i = 0; i < size; ++i) {
      state merged;
      for (std::size_t j = 2 * i; j < (std::min)(2 * i + 2, size); ++j) {
        merged.running += cells_[j].running;
        merged.waiting += cells_[j].waiting;
        merged.kv_use += cells_[j].kv_use;
        merged.tokens += cells_[j].tokens;
      }
      cells_[i] = merged;
    }
    interval_ *= 2.0;
  }

  std::array<state, size> cells_{};
  double interval_ = 0.0625;
  double end_ = 0.0;
};

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
    queueing.add((std::max)(0.0, r.queueing));
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
    if (is_counting && count > 0) itl.add((std::max)(0.0, time), count);
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
