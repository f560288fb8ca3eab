// Ratio of the closed forms of `serving` to the simulation, as a table in Markdown.
// Usage: closed_form_table > validation/reports/closed_forms.md
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/serving/simulate.hpp>
#include <string>
#include <vector>

namespace {

namespace pm = perfmodel;

struct case_of_load {
  std::string scheduler{};
  double input = 1024, output = 256, cv = 0;
  int concurrency = 0;
  double load = 0;  // share of the largest rate of an open loop
  int pipeline = 1, data = 1;
  bool drafts = false, pools = false;
};

struct ratios {
  double ttft = 1, ttft99 = 1, itl = 1, e2e = 1, throughput = 1;
  double noise =
      0;  ///< of the simulated mean TTFT: half the difference of two runs over their mean
};

/// Means of one simulated run.
struct simulated {
  double ttft = 0, ttft99 = 0, itl = 0, e2e = 0, throughput = 0;
};

/// Both methods with the same step times: no overhead of an engine that only one of them models.
auto plain_policy(const pm::deployment& d) {
  auto policy = pm::calibrated_for(d);
  policy.engine.request_iterations = 0.0;
  policy.engine.prefill_step_factor = 1.0;
  policy.engine.run_start = {};
  return policy;
}

pm::deployment deployment_of(const case_of_load& c) {
  pm::deployment d{.device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_1_8b};
  if (c.data > 1) {
    d.device = pm::catalog::h200_sxm;
    d.model = pm::catalog::deepseek_v3;
    d.layout = {.expert = c.data, .data = c.data};
    d.weights = d.model.stored;
  }
  d.layout.pipeline = c.pipeline;
  d.serving_engine = c.scheduler == "sglang"   ? pm::engine::sglang
                     : c.scheduler == "trtllm" ? pm::engine::trtllm
                                               : pm::engine::vllm;
  d.limits.tokens = 2048.0 * 4;
  d.limits.sequences = 256.0;
  return d;
}

pm::scheduler_settings settings_of(const case_of_load& c, const pm::deployment& d) {
  pm::scheduler_settings s = pm::scheduler_of(d);
  if (c.scheduler == "static") {
    s = pm::schedulers::static_batches;
    s.max_running = std::max(1, c.concurrency);
    s.token_budget = 8192;
  }
  s.asynchronous = false;
  s.extra_steps = 0;
  s.prefill_overhead = 1.0;
  s.chunked_prefill = true;
  s.chunk_unit = 1;
  return s;
}

pm::service_load load_of(const case_of_load& c) {
  pm::service_load l{.input_tokens = c.input, .output_tokens = c.output};
  l.input_cv = l.output_cv = c.cv;
  l.arrivals = pm::closed_loop{double(std::max(1, c.concurrency))};
  if (c.scheduler == "static") {
    l.scheduler = pm::scheduling::static_batches;
    l.batch_limit = double(std::max(1, c.concurrency));
  }
  return l;
}

/// Number of requests of one of the two runs of a case. Near saturation waits are correlated over
/// 1 / (1 - utilisation)^2 requests. Of widely spread prompts more have one that the cache never
/// holds.
std::int64_t requests_of(const case_of_load& c) {
  if (c.load > 0.2 && c.cv >= 1.0) return 10000;
  if (c.load > 0.9) return 40000;
  if (c.load > 0.7) return 20000;
  if (c.load > 0.5) return 10000;
  return c.output > 500 ? 1000 : 2000;
}

template <class Policy>
std::optional<simulated> simulate_half(const case_of_load& c, const pm::deployment& d,
                                       const pm::service_load& load, const Policy& policy,
                                       const std::optional<pm::speculation>& drafts,
                                       const pm::disaggregated& pools, std::uint64_t seed) {
  const std::int64_t count = requests_of(c);
  const std::int64_t edge = std::max<std::int64_t>(200, 3 * c.concurrency);
  const pm::workload w = pm::workload_of(load, count + 2 * edge);
  pm::simulation_options o;
  o.scheduler = settings_of(c, d);
  o.warm_up = edge;
  o.count = count;
  o.speculate = drafts;
  o.seed = seed;
  o.frontend = pm::frontend_time{policy.engine.request_cpu_time.value()};
  const pm::simulation_result s =
      c.pools ? pm::simulate(pools, w, policy, o) : pm::simulate(d, w, policy, o);
  if (!s.feasible) {
    std::fprintf(stderr, "%s\n", s.feasible.reason);
    return {};
  }
  const auto& x = s.statistics;
  return simulated{x.ttft.mean(), x.ttft.quantile(0.99), x.itl.mean(), x.e2e.mean(),
                   s.requests_per_s()};
}

std::optional<ratios> compare(const case_of_load& c) {
  const pm::deployment d = deployment_of(c);
  const auto policy = plain_policy(d);
  pm::service_load load = load_of(c);
  const std::optional<pm::speculation> drafts =
      c.drafts ? std::optional(pm::speculation{
                     .by = pm::drafter::lookup, .length = 3, .acceptance = {0.7, 0.6, 0.5}})
               : std::nullopt;
  const pm::disaggregated pools{
      .prefill = {d, 1}, .decode = {d, 1}, .link = {.bandwidth_per_device = 50.0 * pm::GB_per_s}};
  const auto serve = [&](const pm::service_load& l) -> pm::serving_estimate {
    if (c.drafts) return pm::serving(d, l, *drafts, policy);
    return pm::serving(d, l, policy);
  };
  if (c.load > 0) {
    pm::service_load full = load;
    full.arrivals = pm::closed_loop{256.0};
    const double most = serve(full).throughput.value();
    load.arrivals = pm::open_loop{c.load * most * pm::request_per_s};
  }
  std::array<simulated, 2> halves;
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const auto half = simulate_half(c, d, load, policy, drafts, pools, i + 1);
    if (!half) return {};
    halves[i] = *half;
  }
  const auto mean = [&](double simulated::*x) { return 0.5 * (halves[0].*x + halves[1].*x); };
  const auto of = [&](const auto& e) -> std::optional<ratios> {
    if (!e.feasible) return {};
    ratios r;
    r.ttft = e.ttft.value() / mean(&simulated::ttft);
    if (e.ttft_distribution.size() > 0)
      r.ttft99 = e.ttft_distribution.quantile(0.99).value() / mean(&simulated::ttft99);
    if (mean(&simulated::itl) > 0) r.itl = e.itl.value() / mean(&simulated::itl);
    r.e2e = e.e2e.value() / mean(&simulated::e2e);
    r.throughput = e.throughput.value() / mean(&simulated::throughput);
    r.noise = 0.5 * std::abs(halves[0].ttft - halves[1].ttft) / mean(&simulated::ttft);
    return r;
  };
  if (c.pools) return of(pm::serving(pools, load, policy));
  return of(serve(load));
}

/// Cases that differ from each other in loads and prompts.
std::vector<case_of_load> around(case_of_load c) {
  std::vector<case_of_load> all;
  for (const double input : {256.0, 1024.0, 12000.0}) {
    c.input = input;
    c.load = 0;
    for (const int n : {1, 4, 16, 64, 192}) {
      c.concurrency = n;
      all.push_back(c);
    }
    if (c.scheduler == "static") continue;
    c.concurrency = 0;
    for (const double load : {0.02, 0.3, 0.6, 0.8, 0.95}) {
      c.load = load;
      all.push_back(c);
    }
  }
  return all;
}

double quantile(std::vector<double> v, double p) {
  if (v.empty()) return 0.0;
  std::sort(v.begin(), v.end());
  return v[static_cast<std::size_t>(p * static_cast<double>(v.size() - 1))];
}

/// Counts of cases: all, those with every mean within 10 %, and those with p99 of TTFT within 25 %.
struct agreement {
  int cases = 0, means = 0, tails = 0;
  std::vector<double> noise{};
  void add(const ratios& r) {
    noise.push_back(100.0 * r.noise);
    const auto off = [](double x) { return std::abs(x - 1.0); };
    ++cases;
    if (std::max({off(r.ttft), off(r.itl), off(r.e2e), off(r.throughput)}) <= 0.10) ++means;
    if (off(r.ttft99) <= 0.25) ++tails;
  }
  std::string share(int n) const { return std::to_string(100 * n / std::max(cases, 1)); }
};
std::map<std::string, agreement> by_load;

/// Closed loops of short and of long outputs, and open loops by their share of the largest rate.
std::string load_name(const case_of_load& c) {
  if (c.load > 0) return "open loop at " + std::to_string(int(std::lround(100 * c.load))) + " %";
  if (c.concurrency == 1) return "closed loop of 1";
  return c.output < 64 ? "closed loops, outputs below 64" : "closed loops, outputs from 64";
}

void row(const char* what, const std::vector<case_of_load>& cases) {
  std::vector<double> ttft, tail, itl, e2e, rate;
  agreement within;
  for (const case_of_load& c : cases) {
    const auto r = compare(c);
    if (!r) continue;
    within.add(*r);
    by_load[load_name(c)].add(*r);
    const auto off = [](double x) { return 100.0 * std::abs(x - 1.0); };
    ttft.push_back(off(r->ttft));
    tail.push_back(off(r->ttft99));
    itl.push_back(off(r->itl));
    e2e.push_back(off(r->e2e));
    rate.push_back(off(r->throughput));
    if (std::getenv("PERFMODEL_PRINT_CASES") != nullptr)
      std::fprintf(stderr,
                   "%s: input %g output %g cv %g concurrency %d load %g: TTFT %.3f p99 %.3f ITL "
                   "%.3f E2E %.3f throughput %.3f\n",
                   what, c.input, c.output, c.cv, c.concurrency, c.load, r->ttft, r->ttft99, r->itl,
                   r->e2e, r->throughput);
  }
  std::printf(
      "| %s | %zu | %.1f / %.0f | %.0f / %.0f | %.1f / %.0f | %.1f / %.0f | %.1f / %.0f | %s | %s "
      "|\n",
      what, ttft.size(), quantile(ttft, 0.5), quantile(ttft, 0.9), quantile(tail, 0.5),
      quantile(tail, 0.9), quantile(itl, 0.5), quantile(itl, 0.9), quantile(e2e, 0.5),
      quantile(e2e, 0.9), quantile(rate, 0.5), quantile(rate, 0.9),
      within.share(within.means).c_str(), within.share(within.tails).c_str());
}

void print_by_load() {
  std::printf(
      "\n| load | number | means within 10 %% | p99 within 25 %% | noise of TTFT |\n"
      "|---|---|---|---|---|\n");
  agreement all;
  for (const auto& [name, a] : by_load) {
    std::printf("| %s | %d | %s | %s | %.1f / %.1f |\n", name.c_str(), a.cases,
                a.share(a.means).c_str(), a.share(a.tails).c_str(), quantile(a.noise, 0.5),
                quantile(a.noise, 0.9));
    all.cases += a.cases;
    all.means += a.means;
    all.tails += a.tails;
  }
  std::printf("| all | %d | %s | %s | |\n", all.cases, all.share(all.means).c_str(),
              all.share(all.tails).c_str());
}

constexpr const char* introduction = R"(# Closed forms of a service against the simulation

Printed by `closed_form_table` (tests/simulator/closed_forms.cpp). What the rows are, and what they say:
[where the closed forms hold](../../docs/laws/research/closed_forms.md). Absolute deviations in per
cent, median / 90th percentile; then the share of cases, in per cent, with all four means within 10 %
and with p99 of TTFT within 25 %. Each case is simulated twice, with different seeds, and compared with
the mean of both. Noise is half their difference in mean TTFT, in per cent.

)";

}  // namespace

int main(int argc, char** argv) {
  std::printf("%s", introduction);
  std::printf("| cases | number | TTFT | TTFT p99 | ITL | E2E | throughput | means | p99 |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  const std::string only = argc > 1 ? argv[1] : "";
  const auto print = [&](const std::string& what, const case_of_load& c) {
    if (what.find(only) != std::string::npos) row(what.c_str(), around(c));
  };
  for (const char* scheduler : {"vllm", "sglang", "trtllm", "static"})
    for (const double output : {1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 1024.0})
      print(std::string(scheduler) + ", output " + std::to_string(int(output)),
            {.scheduler = scheduler, .output = output, .cv = scheduler[1] == 't' ? 0.0 : 0.3});
  for (const double cv : {0.0, 1.0})
    for (const char* scheduler : {"vllm", "sglang"})
      print(std::string(scheduler) + (cv > 0 ? ", coefficient of variation 1" : ", equal lengths"),
            {.scheduler = scheduler, .cv = cv});
  for (const char* scheduler : {"vllm", "sglang"}) {
    for (const double output : {1.0, 2.0, 8.0, 64.0, 256.0})
      print(std::string(scheduler) + ", 2 pipeline stages, output " + std::to_string(int(output)),
            {.scheduler = scheduler, .output = output, .cv = 0.3, .pipeline = 2});
    print(std::string(scheduler) + ", 4 pipeline stages",
          {.scheduler = scheduler, .cv = 0.3, .pipeline = 4});
  }
  print("vllm, 8 data-parallel groups", {.scheduler = "vllm", .cv = 0.3, .data = 8});
  for (const char* scheduler : {"vllm", "sglang"})
    for (const double output : {8.0, 256.0})
      print(
          std::string(scheduler) + ", speculative decoding, output " + std::to_string(int(output)),
          {.scheduler = scheduler, .output = output, .cv = 0.3, .drafts = true});
  print("pools", {.scheduler = "vllm", .cv = 0.3, .pools = true});
  print_by_load();
}
