// What a simulated run was like: one record per request, every gap between tokens, means over time.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

namespace perfmodel_test::simulator {

/// Seconds. `queued` is the wait for the first iteration, without the host's time before it; `held`
/// is its part after the iteration that was under way, which is what vLLM reports as queued.
struct record {
  double arrival = 0, queued = 0, held = 0, ttft = 0, tpot = 0, e2e = 0;
  int input = 0, output = 0, preemptions = 0;
};

/// Values, sorted; a quantile between two of them is interpolated.
class sample {
 public:
  explicit sample(std::vector<double> values) : values_(std::move(values)) {
    std::sort(values_.begin(), values_.end());
  }
  std::size_t size() const { return values_.size(); }
  double sum() const { return std::accumulate(values_.begin(), values_.end(), 0.0); }
  double mean() const { return sum() / static_cast<double>(size()); }
  double at(double quantile) const {
    const double place = quantile * static_cast<double>(size() - 1);
    const auto i = static_cast<std::size_t>(place);
    const double below = values_[i], above = values_[std::min(i + 1, size() - 1)];
    return below + (place - static_cast<double>(i)) * (above - below);
  }

 private:
  std::vector<double> values_;
};

/// Gaps between tokens, counted in bins of half a per cent; their number and sum are exact.
class gap_counts {
 public:
  void add(double seconds) {
    if (seconds != last_) {  // the gaps of an iteration are mostly alike
      last_ = seconds;
      bin_ = seconds > 0 ? static_cast<int>(std::lround(std::log(seconds) / bin_width))
                         : std::numeric_limits<int>::min();
    }
    ++bins_[bin_];
    ++count_;
    sum_ += seconds;
  }
  double count() const { return static_cast<double>(count_); }
  double sum() const { return sum_; }
  double mean() const { return sum_ / count(); }
  double at(double quantile) const {
    double rest = quantile * count();
    for (const auto& [bin, n] : bins_) {
      rest -= static_cast<double>(n);
      if (rest <= 0) return std::exp(bin * bin_width);
    }
    return std::exp(bins_.rbegin()->first * bin_width);
  }

 private:
  static constexpr double bin_width = 0.005;
  std::map<int, long> bins_{};
  long count_ = 0;
  double sum_ = 0, last_ = -1;
  int bin_ = 0;
};

/// Sums over time and over iterations. Those of a window are differences of two.
struct totals {
  double time = 0;
  double in_system = 0;  ///< requests x seconds, from arrival to last token
  double admitted = 0;   ///< sequences x seconds, from first iteration to last token
  double decoding = 0;   ///< sequences x iterations, over iterations that decode
  double decodes = 0;    ///< iterations that decode
  double tokens = 0;     ///< given out
  double finished = 0;   ///< requests
  double preemptions = 0;

  friend totals operator-(totals a, const totals& b) {
    a.time -= b.time;
    a.in_system -= b.in_system;
    a.admitted -= b.admitted;
    a.decoding -= b.decoding;
    a.decodes -= b.decodes;
    a.tokens -= b.tokens;
    a.finished -= b.finished;
    a.preemptions -= b.preemptions;
    return a;
  }
};

/// The requests that count, by arrival, and the sums from the first of their arrivals to the last;
/// in a run where every request counts, over the whole run.
struct outcome {
  std::vector<record> requests{};
  gap_counts gaps{};
  totals during{};

  sample of(double record::*what) const {
    std::vector<double> values;
    for (const record& r : requests) values.push_back(r.*what);
    return sample(std::move(values));
  }
  double throughput() const { return during.finished / during.time; }
  double output_rate() const { return during.tokens / during.time; }
  double in_system() const { return during.in_system / during.time; }
  double batch() const { return during.decoding / std::max(1.0, during.decodes); }
};

}  // namespace perfmodel_test::simulator
