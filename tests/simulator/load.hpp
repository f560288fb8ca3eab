// What a simulated service is asked for: lengths, and when requests arrive. The same on every
// machine: no distribution is the standard library's.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "support/random.hpp"

namespace perfmodel_test::simulator {

/// Tokens in, tokens out, and how many of the prompt's tokens are in the cache when it arrives;
/// whose they are, where they are shared. Those that are `fetched` come over the host's link, one
/// request after the other, before it is in the queue.
struct job {
  int input = 1;
  int output = 1;
  int cached = 0;
  int prefix = -1;
  int fetched = 0;
};

/// With `arrivals`, ascending, job i comes at its time, whatever the service does. Without, the
/// loop is closed: the first `concurrency` come at 0 and each that finishes sends the next; an
/// `endless` one goes on with copies of the jobs, so that the load stays until all that count are
/// done. The first `warm_up` requests and the last `tail` are not counted.
struct load {
  std::vector<job> jobs{};
  std::vector<double> arrivals{};
  int concurrency = 1;
  bool endless = false;
  int warm_up = 0;
  int tail = 0;
};

// --- lengths -------------------------------------------------------------------------------------

using length_law = std::function<double(random_numbers&)>;

inline int whole_tokens(double x) {
  return std::max(1, static_cast<int>(std::lround(x)));
}
/// Box and Muller 1958.
inline double normal(random_numbers& r) {
  const double radius = std::sqrt(-2 * std::log(r.uniform()));
  return radius * std::cos(2 * std::numbers::pi * r.uniform());
}
inline length_law constant(double tokens) {
  return [=](random_numbers&) { return tokens; };
}
inline length_law uniform(double lo, double hi) {
  return [=](random_numbers& r) { return r.uniform(lo, hi); };
}
inline length_law exponential(double mean) {
  return [=](random_numbers& r) { return r.exponential(mean); };
}
/// Value with this mean and coefficient of variation.
inline length_law lognormal(double mean, double variation) {
  const double s2 = std::log1p(variation * variation);
  return [=](random_numbers& r) { return mean * std::exp(std::sqrt(s2) * normal(r) - s2 / 2); };
}
/// Any of a list, each as likely.
inline length_law one_of(std::vector<double> values) {
  return [=](random_numbers& r) {
    return values[static_cast<std::size_t>(r.uniform() * static_cast<double>(values.size()))];
  };
}

/// n jobs, a share of each prompt in the cache; one token of a prompt is always computed.
inline std::vector<job> draw_jobs(random_numbers& r, int n, const length_law& input,
                                  const length_law& output, double cached_share = 0) {
  std::vector<job> jobs;
  for (int i = 0; i < n; ++i) {
    job j{whole_tokens(input(r)), whole_tokens(output(r)), 0};
    j.cached = std::min(j.input - 1, static_cast<int>(std::lround(j.input * cached_share)));
    jobs.push_back(j);
  }
  return jobs;
}

// --- arrivals ------------------------------------------------------------------------------------

/// Mean 1, shape > 0. Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
inline double gamma_of_mean_1(random_numbers& r, double shape) {
  const double d = std::max(shape, shape < 1 ? shape + 1 : 0) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  const double boost = shape < 1 ? std::pow(r.uniform(), 1 / shape) : 1;
  for (;;) {
    const double x = normal(r), v = std::pow(1 + c * x, 3);
    if (1 + c * x > 0 && std::log(r.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) {
      return boost * d * v / shape;
    }
  }
}
/// n arrivals with independent gamma gaps of this coefficient of variation: 1 is Poisson, 0 a
/// clock.
inline std::vector<double> renewal_arrivals(random_numbers& r, int n, double rate,
                                            double variation = 1) {
  std::vector<double> times;
  for (double clock = 0; static_cast<int>(times.size()) < n;) {
    if (variation == 0) {
      clock += 1 / rate;
    } else if (variation == 1) {
      clock += r.exponential(1 / rate);
    } else {
      clock += gamma_of_mean_1(r, 1 / (variation * variation)) / rate;
    }
    times.push_back(clock);
  }
  return times;
}
/// n arrivals, `size` at a time, at random.
inline std::vector<double> batch_arrivals(random_numbers& r, int n, double rate, int size) {
  std::vector<double> times;
  double clock = 0;
  for (int i = 0; i < n; ++i) {
    if (i % size == 0) clock += r.exponential(size / rate);
    times.push_back(clock);
  }
  return times;
}

}  // namespace perfmodel_test::simulator
