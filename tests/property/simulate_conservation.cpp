// Conservation of requests, tokens, cache and time in simulated services, over random workloads.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <sstream>

#include "support/random.hpp"
#include "support/simulation.hpp"

namespace property_simulate_conservation {

namespace pm = perfmodel;
using perfmodel_test::linear_policy;
using perfmodel_test::random_numbers;
using perfmodel_test::small_deployment;

// Random services.

/// A random service with its workload.
struct scenario {
  pm::deployment deployment = small_deployment();
  pm::workload workload{};
  pm::simulation_options options{};
  std::optional<pm::disaggregated> pools{};
  linear_policy policy{};
};

int between(random_numbers& r, int low, int high) {
  return low + static_cast<int>(r.uniform() * (high - low + 1));
}
bool coin(random_numbers& r, double p = 0.5) {
  return r.uniform() < p;
}
template <class T>
T one_of(random_numbers& r, std::initializer_list<T> of) {
  return *(of.begin() + between(r, 0, static_cast<int>(of.size()) - 1));
}

pm::length_distribution draw_length(random_numbers& r, int most) {
  const double mean = r.log_uniform(1.0, most);
  pm::length_distribution l = pm::length_distribution::fixed(std::floor(mean));
  const int kind = between(r, 0, 2);
  if (kind == 1) l = pm::length_distribution::lognormal(mean, r.uniform(0.1, 1.5));
  if (kind == 2) l = pm::length_distribution::uniform(1.0, std::ceil(mean));
  l.most = most;
  return l;
}

void draw_arrivals(random_numbers& r, pm::workload& w) {
  switch (between(r, 0, 2)) {
    case 0:
      w.arrivals = pm::closed_clients{.concurrency = between(r, 1, 12),
                                      .think_time = coin(r) ? 0.0 : r.log_uniform(1e-3, 1.0)};
      break;
    case 1: {
      pm::open_arrivals a{.requests_per_s = r.log_uniform(0.5, 200.0),
                          .cv = one_of(r, {0.0, 1.0, 0.5, 3.0}),
                          .requests_per_arrival = coin(r, 0.7) ? 1 : between(r, 2, 6)};
      if (coin(r, 0.2)) {
        a.changes = {{0.0, 0.5}, {0.3, 2.0}};
        a.period = coin(r) ? 0.0 : 1.0;
      }
      w.arrivals = a;
      break;
    }
    default: w.arrivals = pm::all_at_once{};
  }
}

pm::workload draw_workload(random_numbers& r) {
  pm::workload w{
      .requests = between(r, 1, 40), .input = draw_length(r, 300), .output = draw_length(r, 120)};
  draw_arrivals(r, w);
  if (coin(r, 0.3)) {
    w.sessions = pm::conversations{.turns = pm::length_distribution::uniform(1.0, 4.0),
                                   .new_tokens = draw_length(r, 60),
                                   .think_time = coin(r) ? 0.0 : r.log_uniform(1e-3, 0.5)};
  }
  if (coin(r, 0.3)) {
    w.shared = {{double(between(r, 1, 64)), 1.0}};
    if (coin(r)) w.shared.push_back({double(between(r, 1, 48)), double(between(r, 1, 4))});
  } else if (coin(r, 0.2)) {
    w.prefix_hit = r.uniform();
  }
  return w;
}
/// No request of the workload has more tokens.
int longest_request(const pm::workload& w) {
  int shared = 1;
  for (const auto& l : w.shared) shared += static_cast<int>(l.tokens);
  const int turns = w.sessions ? 3 * (60 + 120) : 0;
  return std::max(shared, 300) + 120 + turns;
}

pm::scheduler_settings draw_scheduler(random_numbers& r, int drafted, int longest) {
  pm::scheduler_settings s = *pm::schedulers::all[std::size_t(between(r, 0, 5))];
  if (coin(r, 0.3)) s.asynchronous = !s.asynchronous;
  if (coin(r, 0.3)) s.chunked_prefill = !s.chunked_prefill;
  if (coin(r, 0.3)) s.block_tokens = one_of(r, {1, 8, 16, 32, 64});
  if (coin(r, 0.2)) s.prefix_caching = false;
  if (coin(r, 0.2) && s.kind == pm::scheduler_kind::sglang) s.extra_steps = between(r, 0, 3);
  s.token_budget = static_cast<int>(r.log_uniform(64.0, 4096.0));
  if (!s.chunked_prefill) s.token_budget = std::max(s.token_budget, longest - 120);
  s.max_running = std::min(between(r, 1, 48), s.token_budget / (1 + drafted));
  if (coin(r, 0.2)) s.long_prefill_threshold = between(r, 16, 200);
  if (coin(r, 0.2)) s.watermark = r.uniform(0.0, 0.2);
  s.full_prompt_check = coin(r);
  s.mixed_chunk = coin(r, 0.3);
  if (coin(r, 0.2)) s.receive_interval = between(r, 1, 20);
  if (coin(r, 0.2)) s.max_prefill_tokens = between(r, 64, 1000);
  if (coin(r, 0.4)) s.conservativeness = r.uniform(0.0, 2.0);
  if (coin(r)) s.capacity = pm::capacity_policy::max_utilization;
  if (coin(r)) s.order = pm::chunk_order::equal_progress;
  if (coin(r, 0.2)) s.batching_wait_iterations = between(r, 1, 10);
  s.batching_wait_share = r.uniform();
  s.chunk_unit = one_of(r, {1, 16, 32, 64});
  s.pads_prefills = coin(r);
  return s;
}

void draw_replicas(random_numbers& r, pm::simulation_options& o) {
  o.router = one_of(r, {pm::routing::round_robin, pm::routing::least_loaded,
                        pm::routing::power_of_two, pm::routing::prefix_aware});
  if (coin(r, 0.4)) o.replicas = between(r, 2, 4);
  if (coin(r, 0.15)) {
    o.scaling = pm::autoscaling{.least = between(r, 1, 2),
                                .most = between(r, 2, 4),
                                .requests_per_replica = r.uniform(1.0, 8.0),
                                .start_up = r.log_uniform(1e-3, 1.0),
                                .cool_down = r.log_uniform(1e-3, 1.0)};
  }
}

scenario draw_scenario(random_numbers& r) {
  scenario s;
  const int layout = between(r, 0, 3);
  if (layout == 2) s.deployment = small_deployment(between(r, 2, 3));
  if (layout == 3) s.deployment = small_deployment(1, between(r, 2, 3));
  s.workload = draw_workload(r);
  pm::simulation_options& o = s.options;
  int drafted = 0;
  if (coin(r, 0.2)) {
    o.speculate = pm::speculation{.length = between(r, 1, 4), .acceptance = {r.uniform(0.01, 1.0)}};
    drafted = o.speculate->length;
  }
  const int longest = longest_request(s.workload);
  o.scheduler = draw_scheduler(r, drafted, longest);
  const int block = o.scheduler->block_tokens;
  const double least = longest + drafted + 2 * block + 2;
  const double size = coin(r, 0.6) ? least * r.log_uniform(1.0, 4.0) : least * 1000.0;
  o.cache_tokens = static_cast<std::int64_t>(size / block + 1.0) * block;
  draw_replicas(r, o);
  o.seed = static_cast<std::uint64_t>(between(r, 1, 1 << 20));
  o.frontend = pm::frontend_time{};
  if (coin(r, 0.3))
    o.frontend = {.latency = r.log_uniform(1e-4, 1e-2),
                  .per_request = r.log_uniform(1e-5, 1e-2),
                  .per_token = r.log_uniform(1e-7, 1e-4)};
  if (coin(r, 0.2)) o.idle_start = r.log_uniform(1e-5, 1e-2) * pm::second;
  if (coin(r, 0.2)) o.scheduler->prefill_overhead = r.uniform(1.0, 1.3);
  if (coin(r, 0.2)) {
    o.tiers.host = r.log_uniform(1e6, 1e9) * pm::byte;
    if (coin(r)) o.tiers.disk = r.log_uniform(1e6, 1e9) * pm::byte;
    o.tiers.host_bandwidth = r.log_uniform(1e8, 1e11) * pm::byte / pm::second;
    o.tiers.overlaps = coin(r);
  }
  if (coin(r, 0.12)) {
    pm::disaggregated pools;
    pools.prefill = {.deployment = s.deployment, .replicas = double(between(r, 1, 3))};
    pools.decode = {.deployment = s.deployment, .replicas = double(between(r, 1, 3))};
    pools.link = {.bandwidth_per_device = r.log_uniform(1e8, 1e11) * pm::byte / pm::second,
                  .latency = r.log_uniform(1e-6, 1e-2) * pm::second,
                  .streamed = coin(r)};
    pools.first_token_from_decode = coin(r);
    s.pools = pools;
    o.scaling.reset();
  }
  s.policy.context = r.log_uniform(1e-9, 1e-6);
  s.policy.most_steps = 200000;
  return s;
}

std::string describe(const scenario& s) {
  std::ostringstream out;
  const pm::scheduler_settings& c = *s.options.scheduler;
  const auto& o = s.options;
  out << c.name << " budget " << c.token_budget << " running " << c.max_running << " chunked "
      << c.chunked_prefill << " block " << c.block_tokens << " caching " << c.prefix_caching
      << " async " << c.asynchronous << " extra " << c.extra_steps << " long "
      << c.long_prefill_threshold << " full " << c.full_prompt_check << " watermark " << c.watermark
      << " mixed " << c.mixed_chunk << " max_prefill " << c.max_prefill_tokens << " conservative "
      << c.conservativeness << " capacity " << int(c.capacity) << " order " << int(c.order)
      << " unit " << c.chunk_unit << " wait " << c.batching_wait_iterations << " padded "
      << c.pads_prefills << " interval " << c.receive_interval << "; data "
      << s.deployment.layout.data << " pipeline " << s.deployment.layout.pipeline << " cache "
      << *o.cache_tokens << " replicas " << o.replicas << " router " << pm::name_of(o.router)
      << " scaling " << bool(o.scaling) << " drafts " << (o.speculate ? o.speculate->length : 0)
      << " host " << o.tiers.host.value() << " overlaps " << o.tiers.overlaps << " pools "
      << bool(s.pools) << "; requests " << s.workload.requests << " input " << s.workload.input.mean
      << " output " << s.workload.output.mean << " arrivals " << s.workload.arrivals.index()
      << " sessions " << bool(s.workload.sessions) << " shared " << s.workload.shared.size()
      << " hit " << s.workload.prefix_hit << " seed " << o.seed;
  return out.str();
}

// One run.

/// Source that counts what goes in, and checks that time does not go back.
class counted_source : public pm::workload_source {
 public:
  counted_source(const pm::workload& w, std::uint64_t seed) : pm::workload_source(w, seed) {}
  double next_arrival() override {
    if (++asked > 1000000) throw std::runtime_error("a simulation never ends");
    return pm::workload_source::next_arrival();
  }
  void take(pm::simulated_request& r) override {
    pm::workload_source::take(r);
    see(r.arrival);
    sent.push_back({.index = r.index,
                    .arrival = r.arrival,
                    .input_tokens = r.input_tokens,
                    .output_tokens = r.output_tokens});
  }
  void completed(const pm::request_record& r, double at) override {
    see(at);
    pm::workload_source::completed(r, at);
  }
  void see(double at) {
    if (at < last) ++steps_back;
    last = std::max(last, at);
  }
  std::vector<pm::request_record> sent{};
  double last = 0.0;
  int steps_back = 0;
  std::int64_t asked = 0;
};

struct run {
  pm::simulation_result result{};
  std::vector<pm::request_record> sent{}, done{};
  int steps_back = 0;
};

run run_of(const scenario& s) {
  run out;
  counted_source source(s.workload, s.options.seed);
  pm::simulation_options o = s.options;
  o.on_request = [&](const pm::request_record& r) { out.done.push_back(r); };
  out.result = s.pools ? pm::simulate(*s.pools, source, s.policy, s.policy, o)
                       : pm::simulate(s.deployment, source, s.policy, o);
  out.sent = source.sent;
  out.steps_back = source.steps_back;
  return out;
}

/// Run with one replica, in which the use of its cache is read after each event.
struct watched_run {
  std::vector<pm::request_record> done{};
  double most_use = 0.0, last_use = 0.0;
  int steps_back = 0;
};
watched_run watch(const scenario& s) {
  watched_run out;
  counted_source source(s.workload, s.options.seed);
  pm::simulation_statistics statistics;
  const pm::detail::replica_settings settings =
      pm::detail::replica_settings_of(s.deployment, s.policy, s.options);
  pm::step_prices<linear_policy> prices(s.deployment, s.policy);
  pm::detail::simulated_replica<linear_policy> replica(settings, prices, statistics, 0,
                                                       s.options.seed);
  pm::simulated_request r;
  bool is_pending = false;
  for (double now = 0.0;;) {
    const double arrival = source.next_arrival();
    const double next = std::min(arrival, replica.next_event());
    if (is_pending && next > now) {
      replica.start_ready(now);
      is_pending = false;
      continue;
    }
    if (next == pm::request_source::never) break;
    if (next < now) ++out.steps_back;
    now = next;
    is_pending = true;
    if (arrival <= replica.next_event()) {
      source.take(r);
      replica.enqueue(r, arrival);
    } else {
      replica.advance([&](const pm::request_record& done, double at) {
        out.done.push_back(done);
        source.completed(done, at);
      });
    }
    out.last_use = replica.kv_use();
    out.most_use = std::max(out.most_use, out.last_use);
  }
  return out;
}

bool are_equal(const pm::request_record& a, const pm::request_record& b) {
  return a.index == b.index && a.arrival == b.arrival && a.ttft == b.ttft && a.e2e == b.e2e &&
         a.queueing == b.queueing && a.preemptions == b.preemptions &&
         a.cached_tokens == b.cached_tokens && a.replica == b.replica;
}
bool are_near(double a, double b, double tolerance = 1e-9) {
  return std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

/// The first law that a run breaks; empty if it breaks none.
std::string broken_law(const scenario& s, const run& x) {
  const pm::simulation_statistics& t = x.result.statistics;
  std::ostringstream out;
  const auto n = static_cast<std::int64_t>(x.sent.size());
  if (n != s.workload.requests || x.result.simulated_requests != n ||
      x.result.completed_requests != n || static_cast<std::int64_t>(x.done.size()) != n) {
    out << "requests: " << s.workload.requests << " asked, " << n << " sent, " << x.done.size()
        << " done";
    return out.str();
  }
  std::vector<int> seen(x.sent.size());
  double outputs = 0.0, gaps = 0.0, system = 0.0, decoded = 0.0;
  for (const pm::request_record& r : x.done) {
    const pm::request_record& sent = x.sent.at(std::size_t(r.index));
    if (seen[std::size_t(r.index)]++ > 0) return "a request is done twice";
    if (r.input_tokens != sent.input_tokens || r.output_tokens != sent.output_tokens ||
        r.arrival != sent.arrival)
      return "a request has changed";
    outputs += r.output_tokens;
    gaps += r.output_tokens - 1;
    decoded += r.output_tokens > 1 ? r.output_tokens : 0;
    system += r.e2e;
    if (!(r.queueing >= -1e-12) || !(r.ttft > 0.0) || !(r.ttft >= r.queueing - 1e-12))
      return "a negative time";
    if (!(r.ttft <= r.e2e + 1e-12)) {
      out << "first token " << r.ttft << " after the last " << r.e2e << " of " << r.input_tokens
          << "/" << r.output_tokens << ", preempted " << r.preemptions << " at " << r.arrival;
      return out.str();
    }
    if (r.cached_tokens < 0 || r.cached_tokens >= r.input_tokens + r.output_tokens)
      return "cached tokens out of range";
  }
  if (x.result.steps > 100000 || x.result.makespan > 1e5) return "too many steps";
  if (x.steps_back > 0) return "time goes back";
  const double emitted = t.token_rate() * t.time();
  const double expected = !s.pools ? outputs : s.pools->first_token_from_decode ? decoded : gaps;
  if (!are_near(emitted, expected)) {
    out << "tokens: " << emitted << " emitted, " << expected << " asked";
    return out.str();
  }
  if (!are_near(t.itl.count(), gaps)) {
    out << "inter-token latencies: " << t.itl.count() << ", " << gaps << " expected";
    return out.str();
  }
  if (!s.pools && !are_near((t.mean_running() + t.mean_waiting()) * t.time(), system, 1e-7)) {
    out << "Little's law: " << (t.mean_running() + t.mean_waiting()) * t.time() << " in time, "
        << system << " in requests";
    return out.str();
  }
  for (std::size_t i = 0; i < t.timeline.count(); ++i) {
    const auto state = t.timeline[i];
    const double most = s.options.scaling ? 4.0 : std::max(s.options.replicas, 3);
    if (!(state.kv_use <= most * (1.0 + 1e-9)) || !(state.running >= 0.0) ||
        !(state.waiting >= 0.0))
      return "a state out of range";
  }
  return {};
}
std::string broken_law_of_cache(const run& x, const watched_run& w) {
  std::ostringstream out;
  if (w.done.size() != x.done.size()) return "the watched run differs";
  for (std::size_t i = 0; i < w.done.size(); ++i)
    if (!are_equal(w.done[i], x.done[i])) return "the watched run differs";
  if (w.steps_back > 0) out << "time goes back; ";
  if (!(w.most_use <= 1.0)) out << "cache use of " << w.most_use;
  if (w.last_use != 0.0) out << "cache use at the end of " << w.last_use;
  return out.str();
}

constexpr int workloads = 100000;

TEST_CASE("conservation over random workloads", "[simulate][long]") {
  std::int64_t preemptions = 0, steps = 0;
  for (int i = 0; i < workloads; ++i) {
    random_numbers r(static_cast<std::uint64_t>(i) * 7919 + 11);
    const scenario s = draw_scenario(r);
    std::string broken;
    try {
      const run x = run_of(s);
      broken = broken_law(s, x);
      preemptions += x.result.preemptions;
      steps += x.result.steps;
      const bool is_single = !s.pools && s.options.replicas == 1 && !s.options.scaling;
      if (broken.empty() && is_single) broken = broken_law_of_cache(x, watch(s));
      if (broken.empty() && i % 8 == 0) {
        const run again = run_of(s);
        for (std::size_t k = 0; k < x.done.size(); ++k)
          if (!are_equal(x.done[k], again.done[k])) broken = "the same seed, another result";
      }
    } catch (const std::exception& e) {
      broken = e.what();
    }
    if (broken.empty()) continue;
    INFO("workload " << i << ": " << describe(s));
    INFO(broken);
    CHECK(broken.empty());
  }
  std::printf("%d workloads, %lld engine steps, %lld preemptions\n", workloads,
              static_cast<long long>(steps), static_cast<long long>(preemptions));
  CHECK(preemptions > 1000);
}

// Runs with a known result.

TEST_CASE("an unloaded request is its prefill steps and its decode steps", "[simulate]") {
  random_numbers r(5);
  for (int i = 0; i < 2000; ++i) {
    const int input = between(r, 1, 5000), output = between(r, 1, 300);
    pm::scheduler_settings c = *pm::schedulers::all[std::size_t(between(r, 0, 5))];
    const int unit = c.kind == pm::scheduler_kind::trtllm ? c.chunk_unit : 1;
    c.chunked_prefill = c.chunked_prefill || coin(r);
    c.token_budget = c.chunked_prefill ? unit * between(r, 1, 100) : 8192;
    c.asynchronous = coin(r);
    c.prefill_overhead = r.uniform(1.0, 1.3);
    scenario s;
    s.deployment = small_deployment(1, between(r, 1, 3));
    const int requests = between(r, 1, 4);
    s.workload = {.requests = requests,
                  .input = pm::length_distribution::fixed(input),
                  .output = pm::length_distribution::fixed(output),
                  .arrivals = pm::closed_clients{.concurrency = 1}};
    s.options.scheduler = c;
    s.options.cache_tokens = 1 << 20;
    s.options.frontend = pm::frontend_time{};
    const run x = run_of(s);
    // Chunks of a prompt follow each other through the stages, those of a static batch do not.
    const int stages = s.deployment.layout.pipeline;
    const bool follow = c.kind != pm::scheduler_kind::static_batches;
    std::vector<double> free(std::size_t(stages), 0.0);
    double prefill = 0.0, decode = 0.0;
    for (int past = 0, n = 0; past < input; past += n) {
      n = std::min(input - past, c.token_budget);
      const double work = c.prefill_overhead * s.policy.time(0.0, 1.0, n, past);
      if (!follow) free.assign(free.size(), prefill);
      prefill = free.front();
      for (double& stage : free) prefill = stage = std::max(prefill, stage) + work / stages;
    }
    for (int k = 0; k + 1 < output; ++k) decode += s.policy.time(1.0, input + k, 0.0, 0.0);
    REQUIRE(x.done.size() == std::size_t(requests));
    INFO(describe(s));
    for (const pm::request_record& d : x.done) {
      // A finished sequence runs one step more, which the next request shares.
      if (c.extra_steps > 0 && d.index > 0) break;
      CHECK(d.ttft == Catch::Approx(prefill).epsilon(1e-9));
      CHECK(d.e2e == Catch::Approx(prefill + decode).epsilon(1e-9));
      CHECK(std::abs(d.queueing) < 1e-9);
    }
    if (c.extra_steps == 0)
      CHECK(x.result.makespan == Catch::Approx(requests * (prefill + decode)).epsilon(1e-9));
  }
}

TEST_CASE("one client: the simulation is the sum of the policy's steps", "[simulate]") {
  const pm::deployment d = small_deployment();
  auto policy = pm::calibrated_for(d);
  policy.engine.run_start = {};
  pm::step_prices prices(d, policy);
  pm::workload w{.requests = 5,
                 .input = pm::length_distribution::fixed(3000.0),
                 .output = pm::length_distribution::fixed(60.0),
                 .arrivals = pm::closed_clients{.concurrency = 1}};
  pm::simulation_options o;
  o.scheduler = pm::schedulers::vllm_0_24;
  o.scheduler->token_budget = 2048;
  o.frontend = pm::frontend_time{};
  const double factor = o.scheduler->prefill_overhead;
  const double prefill =
      factor * prices.step({.prefill_tokens = 2048.0, .prefills = 1.0}) +
      factor * prices.step({.prefill_tokens = 952.0, .prefill_past = 2048.0, .prefills = 1.0});
  double decode = 0.0;
  for (int k = 0; k < 59; ++k) decode += prices.decode(1, 3000.0 + k);
  const pm::simulation_result x = pm::simulate(d, w, policy, o);
  CHECK(x.statistics.ttft.mean() == Catch::Approx(prefill).epsilon(1e-9));
  CHECK(x.statistics.e2e.mean() == Catch::Approx(prefill + decode).epsilon(1e-9));
}

TEST_CASE("more replicas never take longer", "[simulate]") {
  random_numbers r(6);
  int later = 0, compared = 0, excused = 0;
  for (int i = 0; i < 3000; ++i) {
    scenario s = draw_scenario(r);
    s.pools.reset();
    s.options.scaling.reset();
    s.options.speculate.reset();
    s.options.scheduler->batching_wait_iterations = 0;  // fewer requests wait for more steps
    s.options.router = one_of(r, {pm::routing::round_robin, pm::routing::least_loaded});
    s.workload.arrivals = pm::all_at_once{};
    s.workload.sessions.reset();
    s.workload.shared.clear();
    s.workload.prefix_hit = 0.0;
    s.workload.input = pm::length_distribution::fixed(between(r, 1, 200));
    s.workload.output = pm::length_distribution::fixed(between(r, 1, 80));
    s.options.cache_tokens = 1 << 20;
    double before = pm::request_source::never;
    for (s.options.replicas = 1; s.options.replicas <= 4; ++s.options.replicas) {
      const double makespan = run_of(s).result.makespan;
      ++compared;
      // Parts of all prompts in each micro-batch of a pipeline: an order with less work at a time
      // may end later (Graham, "Bounds on multiprocessing timing anomalies", 1969).
      const pm::scheduler_settings& c = *s.options.scheduler;
      const bool shares = c.kind == pm::scheduler_kind::trtllm &&
                          c.order == pm::chunk_order::equal_progress &&
                          s.deployment.layout.pipeline > 1;
      if (shares && makespan > before && makespan < 1.02 * before) {
        ++excused;
      } else if (makespan > before * (1.0 + 1e-9)) {
        ++later;
        UNSCOPED_INFO(describe(s) << ": " << makespan << " after " << before);
      }
      before = makespan;
    }
  }
  std::printf("%d of %d comparisons of replicas are later, %d excused\n", later, compared, excused);
  CHECK(later == 0);
  CHECK(excused * 1000 <= compared);  // 1 of 12,000
}

TEST_CASE("a session finds the blocks of the turn before it", "[simulate]") {
  random_numbers r(7);
  for (int i = 0; i < 500; ++i) {
    scenario s;
    const int input = between(r, 1, 300), output = between(r, 1, 100), added = between(r, 1, 80);
    s.workload = {.requests = 5,
                  .input = pm::length_distribution::fixed(input),
                  .output = pm::length_distribution::fixed(output),
                  .arrivals = pm::closed_clients{.concurrency = 1}};
    s.workload.sessions = pm::conversations{.turns = pm::length_distribution::fixed(5.0),
                                            .new_tokens = pm::length_distribution::fixed(added),
                                            .think_time = 10.0};
    s.options.scheduler = *pm::schedulers::all[std::size_t(between(r, 0, 4))];
    s.options.scheduler->token_budget = 8192;
    s.options.cache_tokens = 1 << 20;
    const run x = run_of(s);
    REQUIRE(x.done.size() == 5);
    for (int turn = 0; turn < 5; ++turn) {
      const int prompt = input + turn * (output + added);
      // The last output token is not computed: the blocks of all others are cached.
      const int before = turn == 0 ? 0 : prompt - added - 1;
      INFO(describe(s) << " turn " << turn);
      CHECK(x.done[std::size_t(turn)].input_tokens == prompt);
      CHECK(x.done[std::size_t(turn)].cached_tokens == before / 16 * 16);
    }
  }
}

}  // namespace property_simulate_conservation
