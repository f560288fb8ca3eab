// Loads of services for which the laws are held against simulations, and what was simulated of
// each.
#pragma once

#include <array>
#include <optional>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <string>

#include "simulator/simulate.hpp"
#include "simulator/step_times.hpp"

namespace perfmodel_test::simulator {

/// A deployment. Its cache holds all places of every workload, or is `small`.
struct service {
  const char* name;
  perfmodel::deployment deployment;
  bool small = false;
};
inline const perfmodel::derated measured_like{.compute_efficiency = 0.7, .memory_efficiency = 0.8};

inline const std::array<service, 4>& services() {
  namespace pm = perfmodel;
  const pm::deployment one{.device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_1_8b};
  const auto small = [&](pm::engine by) {
    pm::deployment d = one;
    d.utilization = 0.25;  // some 40,000 tokens beside the weights
    d.activation_bytes = 0.0 * pm::byte;
    d.runtime_bytes = 0.0 * pm::byte;
    d.serving_engine = by;
    return d;
  };
  const auto over_four = [&] {
    pm::deployment d = one;
    d.model = pm::catalog::llama_3_1_70b;
    d.layout.tensor = 4;
    return d;
  };
  static const std::array<service, 4> all{
      service{"8B", one}, service{"70B", over_four()},
      service{"8B, small cache that grows", small(pm::engine::vllm), true},
      service{"8B, small cache reserved", small(pm::engine::trtllm), true}};
  return all;
}

/// Lengths are lognormal with these means and this coefficient of variation.
struct workload {
  const char* name;
  double input, output, spread;
  scheduling kind;
  int budget, places;
  double cached = 0;  ///< share of a prompt

  scheduler settings(const service& s) const {
    scheduler r{.kind = kind, .token_budget = budget, .max_sequences = places};
    if (s.small) {
      r.kv_blocks = static_cast<int>(perfmodel::kv_capacity(s.deployment, block_tokens).blocks);
      const bool grows = s.deployment.serving_engine == perfmodel::engine::vllm;
      r.reserve = grows ? reservation::grow : reservation::whole_length;
    }
    return r;
  }
  std::vector<job> jobs(int n) const {
    random_numbers r(7);
    return draw_jobs(r, n, lognormal(input, spread), lognormal(output, spread), cached);
  }
};
inline constexpr workload workloads[] = {
    {"chat", 1024, 256, 0.3, scheduling::mixed, 2048, 128},
    {"chat, large budget", 1024, 256, 0.3, scheduling::mixed, 8192, 128},
    {"chat, wide spread", 1024, 256, 1.0, scheduling::mixed, 8192, 128},
    {"chat, half cached", 1024, 256, 0.3, scheduling::mixed, 2048, 128, 0.5},
    {"chat, prefill first", 1024, 256, 0.3, scheduling::prefill_first, 8192, 128},
    {"chat, prefill first, wide spread", 1024, 256, 1.0, scheduling::prefill_first, 8192, 128},
    {"long answers", 256, 800, 0.3, scheduling::mixed, 8192, 64},
    {"long prompts", 8000, 400, 0.3, scheduling::mixed, 2048, 32},
    {"long prompts, prefill first", 8000, 400, 0.3, scheduling::prefill_first, 8192, 32},
    {"chat, static batches", 1024, 256, 0.3, scheduling::static_batch, 8192, 32},
};

/// Small caches with few of them: the first and one with spread.
inline bool compared(const service& s, const workload& w) {
  return !s.small || &w == &workloads[0] || &w == &workloads[2];
}

/// A closed loop where there is a `concurrency`, a run of `requests` where there are any; else
/// arrivals.
struct arrival_case {
  std::string name{};
  int concurrency = 0, requests = 0;
  double rate = 0, variation = 1;
  int together = 1;
};

/// What is compared of a service. Quantiles are those at a little below and above the share that
/// they are named for, since many gaps are equal: the 90th at 89 and 91 %, the 99th at 98.8 and
/// 99.2 %.
struct figures {
  double ttft = 0, itl = 0, e2e = 0, throughput = 0;
  std::array<double, 2> ttft90{}, ttft99{}, itl90{}, itl99{}, e2e90{}, e2e99{};
};

template <class Sample>
std::array<double, 2> around_90(const Sample& s) {
  return {s.at(0.89), s.at(0.91)};
}
template <class Sample>
std::array<double, 2> around_99(const Sample& s) {
  return {s.at(0.988), s.at(0.992)};
}

/// Case of about n requests, equal in every run.
inline load load_of(const workload& w, const arrival_case& a, int n) {
  if (a.requests > 0) return {.jobs = w.jobs(a.requests), .concurrency = a.concurrency};
  if (a.concurrency > 0) {
    return {.jobs = w.jobs(n + 2 * a.concurrency),
            .concurrency = a.concurrency,
            .endless = true,
            .warm_up = 2 * a.concurrency};
  }
  random_numbers r(9);
  load l{.jobs = w.jobs(n), .warm_up = n / 20, .tail = n / 20};
  l.arrivals = a.together > 1 ? batch_arrivals(r, n, a.rate, a.together)
                              : renewal_arrivals(r, n, a.rate, a.variation);
  const double stretch = n / a.rate / l.arrivals.back();  // to exactly this rate
  for (double& at : l.arrivals) at *= stretch;
  return l;
}

inline figures simulated(const service& s, const workload& w, const arrival_case& a,
                         const step_time& pass, int n) {
  const outcome o = simulate(load_of(w, a, n), w.settings(s), pass);
  const sample ttft = o.of(&record::ttft), e2e = o.of(&record::e2e);
  return {ttft.mean(),     o.gaps.mean(),     e2e.mean(),        o.throughput(), around_90(ttft),
          around_99(ttft), around_90(o.gaps), around_99(o.gaps), around_90(e2e), around_99(e2e)};
}

}  // namespace perfmodel_test::simulator
