// Whether a simulated service keeps up with the arrivals of an open loop.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <perfmodel/serving/simulation/request_source.hpp>
#include <vector>

namespace napkin {

/// What a simulated open loop says of its arrival rate.
struct arrival_trend {
  bool falls_behind = false;  ///< requests arrive faster than they are served
  bool is_unclear = false;    ///< a queue stays, perhaps by chance
  double served_per_s = 0.0;  ///< requests served per second, of a service that falls behind
  /// Share of the requests of the last half that queue longer than half a prefill.
  double queued_share = 0.0;
};

/// Throughput of a service with a queue that never ends, and its standard error over it.
struct saturated_throughput {
  double requests_per_s = 0.0;
  double error = 0.0;
};

/// Decides by the saturated throughput what a sample leaves open. Where requests arrive slower, a
/// queue ends. Where they arrive faster, a queue that forms never ends, though it may take long to
/// form: a full KV cache preempts, so that the service is slower with a queue than without. A
/// decision needs three standard errors. A service that falls behind has the saturated throughput.
/// Test: both sides of a throughput and near it (tests/unit/arrival_trend.cpp).
inline void decide(arrival_trend& t, double rate, const saturated_throughput& x) {
  const double margin = 3.0 * x.error * x.requests_per_s;
  if (rate < x.requests_per_s - margin) {
    t.is_unclear = false;
  } else if (t.falls_behind) {
    t.served_per_s = x.requests_per_s;
  } else if (rate > x.requests_per_s + margin) {
    t.is_unclear = true;
  }
}

namespace trends {

/// Batches of a window of n arrivals, and the one-sided 99.9 % quantile of Student's t for them.
struct trend_batches {
  std::size_t count = 0;
  double quantile = 0.0;

  constexpr explicit trend_batches(std::size_t n) {
    if (n >= 400) {
      count = 20;
      quantile = 3.6;
    } else if (n >= 100) {
      count = 10;
      quantile = 4.3;
    } else if (n >= 25) {
      count = 5;
      quantile = 7.2;
    }
  }
};

/// Events per batch of equal time between `from` and `to`.
inline std::vector<double> counts_between(const std::vector<double>& times, double from, double to,
                                          std::size_t batches) {
  std::vector<double> counts(batches);
  for (const double t : times) {
    if (t < from || t >= to) continue;
    const auto i =
        static_cast<std::size_t>(static_cast<double>(batches) * (t - from) / (to - from));
    counts[std::min(i, batches - 1)] += 1.0;
  }
  return counts;
}

/// Mean of differences in succession, and its standard error with their correlation: requests of
/// equal length end in waves, and a batch with many is followed by one with few.
/// Source: Newey and West, Econometrica 55 (1987), with lags up to n / 5, and at least `floor` of
/// the variance of independent values.
struct trend_mean {
  double mean = 0.0, error = 0.0;

  trend_mean(const std::vector<double>& x, double floor) {
    const auto n = static_cast<double>(x.size());
    for (const double v : x) mean += v / n;
    const auto covariance = [&](std::size_t lag) {
      double sum = 0.0;
      for (std::size_t i = lag; i < x.size(); ++i) sum += (x[i] - mean) * (x[i - lag] - mean);
      return sum / (n - 1.0);
    };
    const std::size_t lags = x.size() / 5;
    const double alone = covariance(0);
    double all = alone;
    for (std::size_t k = 1; k <= lags; ++k)
      all += 2.0 * (1.0 - static_cast<double>(k) / static_cast<double>(lags + 1)) * covariance(k);
    error = std::sqrt(std::max(all, floor * alone) / n);
  }
};

}  // namespace trends

/// Compares arrivals with admissions, and with completions, between the arrivals `first` and `last`
/// of a run without a load at its begin. `rate` is that of the arrivals; `is_drawn` where they are
/// drawn at it independently. Then expected arrivals are compared, since those drawn scatter by
/// sqrt(n), and a saturated service hardly does.
/// Method: batch means, d_b = rate T - served_b over 20 batches; behind where mean(d) exceeds 0.3 %
/// of the arrivals and Student's 99.9 % quantile of its error, and a queue stays (admissions) or
/// requests take longer (completions). Leaves out: a queue of the last half alone.
/// Errors: none; under 25 arrivals no verdict.
/// Test: a queue with one server, 3 % above and below its rate (tests/unit/arrival_trend.cpp).
inline arrival_trend trend_of_arrivals(std::vector<perfmodel::request_record> all, double rate,
                                       bool is_drawn, std::size_t first, std::size_t last) {
  arrival_trend out;
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.arrival < b.arrival; });
  last = std::min(last, all.size());
  if (last <= first + 1) return out;
  const trends::trend_batches batches(last - first);
  const double from = all[first].arrival, to = all[last - 1].arrival;
  if (batches.count == 0 || !(to > from)) return out;
  const auto mean = [&](std::size_t begin, std::size_t end, const auto& of) {
    double sum = 0.0;
    for (std::size_t i = begin; i < end; ++i) sum += of(all[i]);
    return sum / static_cast<double>(std::max<std::size_t>(1, end - begin));
  };
  const std::size_t quarter = (last - first) / 4;
  const auto whole = [](const auto& r) { return r.e2e; };
  const bool grows = mean(last - quarter, last, whole) > mean(first, first + quarter, whole);
  // A queue that no request of the last half finds empty, or hardly one: each waits for half a
  // prefill and more.
  const double least =
      0.5 * mean(last - 2 * quarter, last, [](const auto& r) { return r.ttft - r.queueing; });
  const double waiting = mean(last - 2 * quarter, last,
                              [least](const auto& r) { return r.queueing > least ? 1.0 : 0.0; });
  out.queued_share = waiting;
  const bool is_queued = waiting == 1.0, is_nearly_queued = waiting > 0.9;
  const auto times_of = [&](const auto& of) {
    std::vector<double> t(all.size());
    std::transform(all.begin(), all.end(), t.begin(), of);
    return t;
  };
  const double each = (to - from) / static_cast<double>(batches.count);
  const std::vector<double> arrived = trends::counts_between(
      times_of([](const auto& r) { return r.arrival; }), from, to, batches.count);
  const auto compare = [&](const std::vector<double>& served_at, bool is_longer, double floor) {
    std::vector<double> behind = trends::counts_between(served_at, from, to, batches.count);
    for (std::size_t b = 0; b < behind.size(); ++b)
      behind[b] = (is_drawn ? rate * each : arrived[b]) - behind[b];
    const trends::trend_mean d(behind, floor);
    if (d.mean <= 0.003 * rate * each) return;
    if (is_longer && d.mean > batches.quantile * d.error) {
      const double served = rate - d.mean / each;
      out.served_per_s = out.falls_behind ? std::min(out.served_per_s, served) : served;
      out.falls_behind = true;
    } else if (is_nearly_queued) {
      out.is_unclear = true;
    }
  };
  compare(times_of([](const auto& r) { return r.arrival + r.queueing; }), is_queued, 0.125);
  // Completions lag behind arrivals until the first requests have long ended.
  if (from - all.front().arrival > 2.0 * mean(0, std::max<std::size_t>(1, first), whole))
    compare(times_of([](const auto& r) { return r.arrival + r.e2e; }), grows, 1.0);
  if (out.falls_behind) out.is_unclear = false;
  return out;
}

}  // namespace napkin
