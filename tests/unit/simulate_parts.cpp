// Parts of a simulation: random numbers, workloads, histograms, cache, routers, scaling and pools.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <list>
#include <set>

#include "support/random.hpp"
#include "support/simulation.hpp"

namespace unit_simulate_parts {

namespace pm = perfmodel;
using Catch::Approx;
using perfmodel_test::linear_policy;
using perfmodel_test::random_numbers;
using perfmodel_test::record;
using perfmodel_test::recorded_run;
using perfmodel_test::small_deployment;

// Random numbers and workloads.

TEST_CASE("SplitMix64 gives its published numbers", "[simulate]") {
  // Vigna, splitmix64.c, with seed 1234567, as listed by Rosetta Code; seed 0 by the same code.
  pm::random_generator r(1234567);
  CHECK(r.bits() == 6457827717110365317u);
  CHECK(r.bits() == 3203168211198807973u);
  CHECK(r.bits() == 9817491932198370423u);
  CHECK(r.bits() == 4593380528125082431u);
  CHECK(r.bits() == 16408922859458223821u);
  CHECK(pm::random_generator(0).bits() == 0xE220A8397B1DCDAFu);
}

struct moments {
  double mean = 0.0, cv = 0.0, least = 1e300, most = -1e300;
};
template <class Draw>
moments moments_of(int n, const Draw& draw) {
  double sum = 0.0, squares = 0.0;
  moments m;
  for (int i = 0; i < n; ++i) {
    const double x = draw();
    sum += x;
    squares += x * x;
    m.least = std::min(m.least, x);
    m.most = std::max(m.most, x);
  }
  m.mean = sum / n;
  m.cv = std::sqrt(std::max(0.0, squares / n - m.mean * m.mean)) / m.mean;
  return m;
}

TEST_CASE("lengths have their mean, variation and ends", "[simulate]") {
  pm::random_generator r(3);
  const auto of = [&](const pm::length_distribution& l) {
    return moments_of(100000, [&] { return l.draw(r); });
  };
  const moments lognormal = of(pm::length_distribution::lognormal(1000.0, 0.7));
  CHECK(lognormal.mean == Approx(1000.0).epsilon(0.01));
  CHECK(lognormal.cv == Approx(0.7).epsilon(0.03));
  const moments uniform = of(pm::length_distribution::uniform(5.0, 9.0));
  CHECK(uniform.mean == Approx(7.0).epsilon(0.01));
  CHECK(uniform.cv == Approx(std::sqrt(2.0) / 7.0).epsilon(0.02));
  CHECK(uniform.least == 5.0);
  CHECK(uniform.most == 9.0);
  const moments least = of(pm::length_distribution::lognormal(1.0, 0.3));  // none below one token
  CHECK(least.most == 1.0);
  const moments fixed = of(pm::length_distribution::fixed(17.0));
  CHECK(fixed.least == 17.0);
  CHECK(fixed.most == 17.0);
  pm::length_distribution limited = pm::length_distribution::lognormal(100.0, 2.0);
  limited.least = 50;
  limited.most = 150;
  CHECK(of(limited).least == 50.0);
  CHECK(of(limited).most == 150.0);
}

/// Times of arrival of an open workload.
std::vector<double> arrivals_of(const pm::open_arrivals& a, int n, std::uint64_t seed = 1) {
  pm::workload_source source({.requests = n, .arrivals = a}, seed);
  std::vector<double> times;
  pm::simulated_request r;
  while (source.next_arrival() < pm::request_source::never) {
    const double at = source.next_arrival();
    source.take(r);
    CHECK(r.arrival == at);
    times.push_back(at);
  }
  return times;
}

TEST_CASE("open arrivals have their rate, variation and bursts", "[simulate]") {
  constexpr int n = 100000;
  for (const double cv : {0.0, 0.5, 1.0, 3.0}) {
    const std::vector<double> at = arrivals_of({.requests_per_s = 4.0, .cv = cv}, n);
    REQUIRE(at.size() == std::size_t(n));
    std::size_t i = 0;
    const moments m = moments_of(n - 1, [&] {
      ++i;
      return at[i] - at[i - 1];
    });
    INFO("cv " << cv);
    CHECK(m.mean == Approx(0.25).epsilon(0.03));
    CHECK(m.cv == Approx(cv).epsilon(0.05).margin(1e-6));
    CHECK(m.least >= 0.0);
  }
  const std::vector<double> bursts =
      arrivals_of({.requests_per_s = 4.0, .requests_per_arrival = 5}, n);
  CHECK(bursts.size() == std::size_t(n));
  CHECK(std::set<double>(bursts.begin(), bursts.end()).size() == n / 5);
  CHECK(bursts.back() == Approx(n / 4.0).epsilon(0.03));
  CHECK(arrivals_of({}, 100, 7) == arrivals_of({}, 100, 7));
  CHECK(arrivals_of({}, 100, 7) != arrivals_of({}, 100, 8));
}

TEST_CASE("the rate of arrivals follows the time of day", "[simulate]") {
  const pm::open_arrivals a{
      .requests_per_s = 10.0, .changes = {{0.0, 0.5}, {30.0, 2.0}, {60.0, 1.0}}, .period = 100.0};
  const std::vector<double> at = arrivals_of(a, 100000);
  double counts[3] = {};
  const double cycles = std::floor(at.back() / 100.0);
  for (const double t : at) {
    if (t >= cycles * 100.0) break;
    const double in_cycle = std::fmod(t, 100.0);
    ++counts[in_cycle < 30.0 ? 0 : in_cycle < 60.0 ? 1 : 2];
  }
  CHECK(counts[0] / (cycles * 30.0) == Approx(5.0).epsilon(0.03));
  CHECK(counts[1] / (cycles * 30.0) == Approx(20.0).epsilon(0.03));
  CHECK(counts[2] / (cycles * 40.0) == Approx(10.0).epsilon(0.03));
}

TEST_CASE("the prompt of a turn extends that of the turn before it", "[simulate]") {
  pm::workload w{.requests = 40,
                 .input = pm::length_distribution::uniform(50.0, 200.0),
                 .output = pm::length_distribution::uniform(1.0, 90.0),
                 .arrivals = pm::closed_clients{.concurrency = 3}};
  w.sessions = pm::conversations{.turns = pm::length_distribution::fixed(4.0),
                                 .new_tokens = pm::length_distribution::uniform(1.0, 40.0)};
  w.shared = {{32.0, 1.0}, {24.0, 2.0}};
  pm::workload_source source(w, 5);
  std::vector<pm::simulated_request> last;
  std::vector<int> turns;
  pm::simulated_request r;
  int taken = 0;
  while (source.next_arrival() < pm::request_source::never) {
    source.take(r);
    ++taken;
    const auto s = std::size_t(r.session);
    if (s >= last.size()) last.resize(s + 1), turns.resize(s + 1);
    CHECK(r.blocks.size() >= std::size_t(r.input_tokens / 16));
    if (++turns[s] > 1) {
      CHECK(r.input_tokens > last[s].input_tokens + last[s].output_tokens);
      REQUIRE(r.blocks.size() >= last[s].blocks.size());
      CHECK(std::equal(last[s].blocks.begin(), last[s].blocks.end(), r.blocks.begin()));
    }
    last[s] = r;
    source.completed({.index = r.index, .session = r.session}, r.arrival + 1.0);
  }
  CHECK(taken == 40);
  CHECK(last.size() >= 10);  // four turns each, the last ones cut
  CHECK(last.size() <= 12);
  std::set<std::uint64_t> first, third;
  for (std::size_t s = 0; s < last.size(); ++s) {
    CHECK(turns[s] <= 4);
    first.insert(last[s].blocks[1]);  // tokens 16 to 32: the root
    third.insert(last[s].blocks[2]);  // tokens 32 to 48: one of two branches
  }
  CHECK(first.size() == 1);
  CHECK(third.size() == 2);
}

// Statistics.

TEST_CASE("quantiles are those of the sorted list", "[simulate]") {
  random_numbers r(2);
  for (const int n : {1, 2, 10, 1000, 65536, 65537, 300000}) {
    pm::latency_histogram histogram;
    pm::latency_sample sample;
    std::vector<double> all;
    for (int i = 0; i < n; ++i) {
      all.push_back(r.log_uniform(1e-6, 1e3));
      histogram.add(all.back());
      sample.add(all.back());
    }
    std::sort(all.begin(), all.end());
    const bool is_exact = n <= 65536;
    for (const double p : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
      INFO(n << " values, p " << p);
      const double place = p * (n - 1);
      const auto i = std::size_t(place);
      const double above = all[std::min(i + 1, all.size() - 1)];
      const double exact = all[i] + (place - std::floor(place)) * (above - all[i]);
      if (is_exact) CHECK(sample.quantile(p) == Approx(exact).epsilon(1e-12));
      if (!is_exact && p > 0.0) CHECK(sample.quantile(p) == Approx(exact).epsilon(0.004));
      if (n >= 1000 && p > 0.0 && p < 1.0) {
        const auto at = std::size_t(std::ceil(p * n)) - 1;
        CHECK(histogram.quantile(p) == Approx(all[at]).epsilon(0.005));
      }
    }
    double sum = 0.0;
    for (const double x : all) sum += x;
    CHECK(histogram.mean() == Approx(sum / n).epsilon(1e-12));
    CHECK(sample.mean() == Approx(sum / n).epsilon(1e-12));
    CHECK(sample.largest() == all.back());
    CHECK(histogram.largest() == all.back());
    CHECK(histogram.count() == n);
  }
}

TEST_CASE("ranges, zeros and sums of histograms", "[simulate]") {
  pm::latency_histogram h;
  h.add_range(1.0, 2.0, 1000.0);
  CHECK(h.mean() == Approx(1.5));
  CHECK(h.deviation() == Approx(std::sqrt(1.0 / 12.0)).epsilon(1e-9));
  CHECK(h.quantile(0.5) == Approx(1.5).epsilon(0.005));
  h.add(0.0, 3000.0);
  CHECK(h.quantile(0.5) == 0.0);
  CHECK(h.quantile(0.875) == Approx(1.5).epsilon(0.005));
  pm::latency_histogram other;
  other.add(8.0, 1000.0);
  h.merge(other);
  CHECK(h.count() == 5000.0);
  CHECK(h.mean() == Approx(1.9));
  CHECK(h.largest() == 8.0);
  CHECK(h.quantile(0.99) == Approx(8.0).epsilon(0.005));
  double count = 0.0;
  h.visit_bins([&](double low, double high, double n) {
    CHECK(low <= high);
    count += n;
  });
  CHECK(count == Approx(5000.0));
  CHECK(pm::latency_histogram().quantile(0.5) == 0.0);
  CHECK(pm::latency_sample().quantile(0.5) == 0.0);
}

TEST_CASE("the timeline merges intervals and keeps its sums", "[simulate]") {
  random_numbers r(4);
  pm::simulation_timeline t;
  double at = 0.0, running = 0.0, tokens = 0.0;
  for (int i = 0; i < 5000; ++i) {
    const double next = at + r.log_uniform(1e-3, 1.0);
    const double n = std::floor(r.uniform(0.0, 20.0));
    t.add(at, next, {.running = n, .tokens = 10.0});
    running += n * (next - at);
    tokens += 10.0;
    at = next;
  }
  t.add(at, at, {.tokens = 5.0});
  tokens += 5.0;
  CHECK(t.count() <= pm::simulation_timeline::size);
  CHECK(t.count() > pm::simulation_timeline::size / 2);
  CHECK(t.interval() * double(t.count()) >= at);
  double running_sum = 0.0, token_sum = 0.0;
  for (std::size_t i = 0; i < t.count(); ++i) {
    const double length = std::min(t.interval(), at - t.interval() * double(i));
    running_sum += t[i].running * length;
    token_sum += t[i].tokens * length;
  }
  CHECK(running_sum == Approx(running).epsilon(1e-9));
  CHECK(token_sum == Approx(tokens).epsilon(1e-9));
}

// The KV cache.

/// Cache as a list of units, the least recently used first.
struct naive_pool {
  struct unit {
    std::uint64_t id;
    std::int64_t tokens;
    int references;
  };
  std::int64_t empty;
  std::list<unit> unused{};
  std::vector<unit> used{};

  std::int64_t available() const {
    std::int64_t sum = empty;
    for (const unit& u : unused) sum += u.tokens;
    return sum;
  }
  bool allocate(std::int64_t tokens) {
    if (tokens > available()) return false;
    while (empty < tokens) {
      unit& u = unused.front();
      const std::int64_t part = u.id == 0 ? std::min(u.tokens, tokens - empty) : u.tokens;
      empty += part;
      u.tokens -= part;
      if (u.tokens == 0) unused.pop_front();
    }
    empty -= tokens;
    return true;
  }
  bool has(std::uint64_t id) const {
    const auto is = [&](const unit& u) { return u.id == id; };
    return std::any_of(unused.begin(), unused.end(), is) ||
           std::any_of(used.begin(), used.end(), is);
  }
  void acquire(std::uint64_t id) {
    for (unit& u : used)
      if (u.id == id) return void(++u.references);
    for (auto u = unused.begin(); u != unused.end(); ++u) {
      if (u->id != id) continue;
      used.push_back({id, u->tokens, 1});
      unused.erase(u);
      return;
    }
  }
  void publish(std::uint64_t id, std::int64_t tokens) {
    if (!has(id)) return used.push_back({id, tokens, 1});
    acquire(id);
    empty += tokens;
  }
  void abandon(std::uint64_t id) {
    for (auto u = used.begin(); u != used.end(); ++u) {
      if (u->id != id || --u->references > 0) continue;
      unused.push_back({id, u->tokens, 0});
      used.erase(u);
      return;
    }
  }
};

TEST_CASE("the KV cache equals a list that is searched", "[simulate]") {
  random_numbers r(9);
  pm::kv_pool pool(1000, true);
  naive_pool naive{.empty = 1000};
  std::vector<std::uint64_t> held;  // one entry for each reference
  std::int64_t owned = 0;
  int refused = 0, hits = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto id = static_cast<std::uint64_t>(1 + r.uniform() * 200.0);
    const std::span<const std::uint64_t> one(&id, 1);
    REQUIRE((pool.match(one) == 1) == naive.has(id));
    switch (static_cast<int>(r.uniform() * 5.0)) {
      case 0: {
        const auto n = static_cast<std::int64_t>(1 + r.uniform() * 500.0);
        const bool done = pool.allocate(n);
        REQUIRE(done == naive.allocate(n));
        if (done) owned += n;
        refused += done ? 0 : 1;
        break;
      }
      case 1:
        if (owned >= 16) {
          pool.publish(id, 16);
          naive.publish(id, 16);
          owned -= 16;
          held.push_back(id);
        }
        break;
      case 2:
        if (naive.has(id)) {
          pool.acquire(one);
          naive.acquire(id);
          held.push_back(id);
          ++hits;
        }
        break;
      case 3:
        if (!held.empty()) {
          const auto at = static_cast<std::size_t>(r.uniform() * double(held.size()));
          const std::uint64_t gone = held[at];
          pool.abandon(std::span<const std::uint64_t>(&gone, 1));
          naive.abandon(gone);
          held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
        }
        break;
      default:
        if (owned > 0) {
          const auto n = static_cast<std::int64_t>(1 + r.uniform() * double(owned));
          const bool is_cached = r.uniform() < 0.5;
          pool.release(std::min(n, owned), is_cached);
          if (is_cached) {
            naive.unused.push_back({0, std::min(n, owned), 0});
          } else {
            naive.empty += std::min(n, owned);
          }
          owned -= std::min(n, owned);
        }
    }
    REQUIRE(pool.available() == naive.available());
  }
  CHECK(refused > 1000);
  CHECK(hits > 1000);
}

TEST_CASE("evicted prefixes go to host memory, then to disk", "[simulate]") {
  pm::kv_pool pool(64, true, 32, 16);
  const std::vector<std::uint64_t> ids{1, 2, 3, 4};
  REQUIRE(pool.allocate(64));
  for (const std::uint64_t id : ids) pool.publish(id, 16);
  pool.abandon(ids);
  CHECK(pool.available() == 64);
  // The end of a prefix is evicted first: 4, 3, 2, 1. Host memory has two units, the disk one.
  REQUIRE(pool.allocate(48));
  CHECK(pool.match(ids) == 1);
  CHECK(pool.tier_of(4) == 2);
  CHECK(pool.tier_of(3) == 1);
  CHECK(pool.tier_of(2) == 1);
  REQUIRE(pool.allocate(16));
  CHECK(pool.tier_of(4) == 0);
  CHECK(pool.tier_of(3) == 2);
  CHECK(pool.tier_of(1) == 1);
}

TEST_CASE("fetches share one link", "[simulate]") {
  pm::kv_pool pool(64, true, 32, 64);
  const std::vector<std::uint64_t> ids{1, 2, 3, 4};
  REQUIRE(pool.allocate(64));
  for (const std::uint64_t id : ids) pool.publish(id, 16);
  pool.abandon(ids);
  REQUIRE(pool.allocate(64));  // 1 and 2 in host memory, 3 and 4 on disk
  pm::detail::tier_fetches fetches(0.001, 0.01);
  pm::simulation_statistics statistics;
  pm::detail::simulated_sequence s;
  s.request = {.input_tokens = 64, .blocks = ids};
  s.target = 64;
  // The last token is always computed: three units.
  CHECK(fetches.time_of(s, pool, statistics) == Approx(16 * (0.001 + 0.001 + 0.01)));
  CHECK(s.fetched_units == 3);
  CHECK(statistics.host_units == 2);
  CHECK(statistics.disk_units == 1);
  fetches.start(7, 1.0, 0.5);
  fetches.start(8, 1.2, 0.25);
  CHECK(fetches.count() == 2);
  CHECK(fetches.next() == Approx(1.5));
  std::vector<int> received;
  fetches.receive(1.6, [&](int entry) { received.push_back(entry); });
  CHECK(received == std::vector<int>{7});
  CHECK(fetches.next() == Approx(1.75));
}

TEST_CASE("other requests decode while a prefix is fetched", "[simulate]") {
  // Request 1 leaves a prefix, request 2 evicts it, request 3 finds it in host memory.
  const pm::deployment d = small_deployment();
  pm::simulated_request first{.input_tokens = 320, .output_tokens = 1};
  for (unsigned i = 0; i < 20; ++i) first.blocks.push_back(100 + i);
  pm::simulated_request second{.arrival = 0.1, .input_tokens = 400, .output_tokens = 400};
  pm::simulated_request third = first;
  third.arrival = 0.2;
  third.output_tokens = 2;
  pm::scheduler_settings s = pm::schedulers::vllm_0_24;
  s.asynchronous = false;
  s.prefill_overhead = 1.0;
  const auto run_with = [&](bool overlaps) {
    pm::simulation_options o;
    o.cache_tokens = 1136;
    o.tiers.host = 1e9 * pm::byte;
    o.tiers.host_bandwidth = 1e9 * pm::byte / pm::second;
    o.tiers.overlaps = overlaps;
    pm::simulated_request filler{.arrival = 0.05, .input_tokens = 1100, .output_tokens = 1};
    return record(s, {first, filler, second, third}, o);
  };
  const double per_token = pm::detail::sequence_on_device(d, 2048.0).value() / 2048.0;
  const double fetch = 19 * 16 * per_token / 1e9;
  REQUIRE(fetch > 0.01);
  const recorded_run run = run_with(true);
  CHECK(run.result.statistics.host_units == 19);
  CHECK(run.requests[3].cached_tokens == 304);
  // It waits for the fetch and for the end of the step at that time, then computes 16 tokens.
  const linear_policy policy;
  const double step = policy.time(1.0, 600.0, 16.0, 304.0);
  CHECK(run.requests[3].ttft > fetch + step * 0.99);
  CHECK(run.requests[3].ttft < fetch + step + 0.0011);
  CHECK(run.result.statistics.itl.largest() < 0.002);
  const recorded_run stalled = run_with(false);
  CHECK(stalled.result.statistics.itl.largest() == Approx(fetch + step).epsilon(0.01));
}

// Routers, scaling and pools.

std::vector<int> replicas_of(pm::routing router, int replicas,
                             std::vector<pm::simulated_request> requests,
                             std::optional<pm::autoscaling> scaling = {}) {
  pm::simulation_options o;
  o.replicas = replicas;
  o.router = router;
  o.scaling = scaling;
  std::vector<int> of;
  for (const pm::request_record& r :
       record(pm::schedulers::vllm_0_24, std::move(requests), o).requests)
    of.push_back(r.replica);
  return of;
}

TEST_CASE("routers choose a replica", "[simulate]") {
  using pm::routing;
  const auto at = [](double time, int output) {
    return pm::simulated_request{.arrival = time, .input_tokens = 10, .output_tokens = output};
  };
  CHECK(replicas_of(routing::round_robin, 3, {at(0.0, 9), at(0.1, 9), at(0.2, 9), at(0.3, 9)}) ==
        std::vector<int>{0, 1, 2, 0});
  // The first two requests run on; the third ends before the fourth comes.
  CHECK(replicas_of(routing::least_loaded, 3,
                    {at(0.0, 2000), at(0.1, 2000), at(0.2, 5), at(0.21, 2000), at(0.5, 5)}) ==
        std::vector<int>{0, 1, 2, 2, 0});

  pm::simulated_request a = at(0.0, 5), b = at(0.5, 5);
  a.input_tokens = b.input_tokens = 96;
  for (unsigned i = 0; i < 6; ++i) {
    a.blocks.push_back(10 + i);
    b.blocks.push_back(20 + i);
  }
  pm::simulated_request a_again = a, b_again = b;
  b.arrival = 0.001;  // while the first one runs
  a_again.arrival = 1.0;
  b_again.arrival = 1.5;
  CHECK(replicas_of(routing::prefix_aware, 3, {a, b, a_again, b_again}) ==
        std::vector<int>{0, 1, 0, 1});

  // One replica of two is loaded: both random choices meet it in a quarter of the cases.
  std::vector<pm::simulated_request> many{at(0.0, 100000)};
  for (int i = 0; i < 1000; ++i) many.push_back(at(0.01 + 0.05 * i, 2));
  const std::vector<int> of = replicas_of(routing::power_of_two, 2, many);
  const auto loaded = std::count(of.begin() + 1, of.end(), of.front());
  CHECK(std::abs(double(loaded) - 250.0) < 55.0);  // four standard deviations
}

TEST_CASE("autoscaling starts and drains replicas", "[simulate]") {
  const auto at = [](double time, int output) {
    return pm::simulated_request{.arrival = time, .input_tokens = 10, .output_tokens = output};
  };
  const pm::autoscaling scaling{
      .least = 1, .most = 2, .requests_per_replica = 1.0, .start_up = 0.05, .cool_down = 0.5};
  pm::simulation_options o;
  o.scaling = scaling;
  // The second request starts a replica, which serves from 0.06 s on. The service is idle from
  // 0.2 s on; the request at 1.0 s finds two replicas for too long, and one of them drains.
  const recorded_run run =
      record(pm::schedulers::vllm_0_24,
             {at(0.0, 150), at(0.01, 150), at(0.1, 2), at(0.4, 2), at(1.0, 2), at(1.2, 2)}, o);
  std::vector<int> of;
  for (const auto& r : run.requests) of.push_back(r.replica);
  CHECK(of == std::vector<int>{0, 0, 1, 0, 0, 0});
  CHECK(run.result.most_replicas == 2);
  const double end = run.requests[5].arrival + run.requests[5].e2e;
  CHECK(run.result.replica_seconds == Approx(end + (1.0 - 0.01)).epsilon(1e-9));
}

TEST_CASE("scaling does not drain the only replica that serves", "[simulate]") {
  const auto at = [](double time) {
    return pm::simulated_request{.arrival = time, .input_tokens = 10, .output_tokens = 2};
  };
  const pm::autoscaling scaling{
      .least = 1, .most = 3, .requests_per_replica = 1.0, .start_up = 100.0, .cool_down = 0.1};
  for (const pm::routing router : {pm::routing::round_robin, pm::routing::least_loaded,
                                   pm::routing::power_of_two, pm::routing::prefix_aware})
    CHECK(replicas_of(router, 1, {at(0.0), at(0.0001), at(1.0), at(2.0)}, scaling) ==
          std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("transfers of a replica queue", "[simulate]") {
  pm::detail::transfer_queue q;
  CHECK(q.next() == pm::request_source::never);
  q.send({.index = 1, .replica = 0}, 1.0, 0.5, 0.0);
  q.send({.index = 2, .replica = 0}, 1.1, 0.5, 0.0);
  q.send({.index = 3, .replica = 1}, 1.2, 0.1, 0.0);
  q.send({.index = 4, .replica = 0}, 5.0, 0.5, 0.0);
  std::vector<std::pair<std::int64_t, double>> order;
  while (q.next() < pm::request_source::never) {
    const auto t = q.take();
    order.emplace_back(t.prefill.index, t.ready);
  }
  // A cache joins its batch after the transfer, in which the next one is sent.
  q.send({.index = 5, .replica = 2}, 6.0, 0.5, 2.0);
  q.send({.index = 6, .replica = 2}, 6.0, 0.5, 2.0);
  CHECK(q.take().ready == Approx(8.5));
  CHECK(q.take().ready == Approx(9.0));
  REQUIRE(order.size() == 4);
  const std::pair<std::int64_t, double> expected[] = {{3, 1.3}, {1, 1.5}, {2, 2.0}, {4, 5.5}};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(order[i].first == expected[i].first);
    CHECK(order[i].second == Approx(expected[i].second));
  }
}

TEST_CASE("a request in two pools is a prefill, a transfer and decode steps", "[simulate]") {
  pm::disaggregated d;
  d.prefill = {.deployment = small_deployment()};
  d.decode = {.deployment = small_deployment()};
  d.link = {.bandwidth_per_device = 1e9 * pm::byte / pm::second,
            .latency = 1e-3 * pm::second,
            .streamed = false};
  const linear_policy policy;
  pm::simulation_options o;
  o.scheduler = pm::schedulers::vllm_0_24;
  o.scheduler->prefill_overhead = 1.0;
  o.cache_tokens = 1 << 20;
  o.frontend = pm::frontend_time{};
  const double transfer = pm::transfer_time(d, 500.0).value();
  const double prefill = policy.time(0.0, 1.0, 500.0, 0.0);
  for (const bool from_decode : {false, true}) {
    d.first_token_from_decode = from_decode;
    for (const int output : {1, 2, 40}) {
      perfmodel_test::request_list source({{.input_tokens = 500, .output_tokens = output}});
      std::vector<pm::request_record> done;
      o.on_request = [&](const pm::request_record& r) { done.push_back(r); };
      const pm::simulation_result x = pm::simulate(d, source, policy, policy, o);
      REQUIRE(done.size() == 1);
      // The first step of the decode pool computes one token of the prompt, or the first output.
      const int cached = from_decode ? 499 : 500;
      const int at_decode = output == 1 ? 0 : from_decode ? output : output - 1;
      double decode = 0.0, first = 0.0;
      for (int k = 0; k < at_decode; ++k) {
        decode +=
            k == 0 ? policy.time(0.0, 1.0, 1.0, cached) : policy.time(1.0, cached + k, 0.0, 0.0);
        if (k == 0) first = decode;
      }
      INFO("output " << output << ", first token from decode " << from_decode);
      const double ttft = prefill + transfer + (from_decode ? first : 0.0);
      CHECK(done[0].ttft == Approx(ttft).epsilon(1e-9));
      CHECK(done[0].e2e == Approx(prefill + transfer + decode).epsilon(1e-9));
      CHECK(done[0].queueing == 0.0);
      CHECK(done[0].cached_tokens == 0);
      CHECK(x.completed_requests == 1);
    }
  }
}

// Errors.

template <class F>
pm::error_code code_of(const F& f) {
  try {
    f();
  } catch (const pm::error& e) {
    return e.code();
  }
  return pm::error_code{};
}

TEST_CASE("a simulation refuses what can never run", "[simulate]") {
  using pm::error_code;
  const std::vector<pm::simulated_request> one{{.input_tokens = 100, .output_tokens = 28}};
  const auto code = [&](auto change, std::int64_t cache, int data = 1, int pipeline = 1) {
    pm::scheduler_settings s = pm::schedulers::vllm_0_24;
    change(s);
    pm::simulation_options o;
    o.cache_tokens = cache;
    return code_of([&] { record(s, one, o, small_deployment(data, pipeline)); });
  };
  const auto same = [](auto&) {};
  CHECK(code(same, 128) == error_code{});
  CHECK(code(same, 112) == error_code::infeasible);
  const auto sglang = [](auto& s) { s = pm::schedulers::sglang_0_5; };
  CHECK(code(sglang, 130) == error_code{});
  CHECK(code(sglang, 129) == error_code::infeasible);
  CHECK(code([](auto& s) { s.token_budget = 0; }, 128) == error_code::out_of_range);
  CHECK(code([](auto& s) { s.max_running = 0; }, 128) == error_code::out_of_range);
  CHECK(code([](auto& s) { s.watermark = 1.5; }, 128) == error_code::out_of_range);
  CHECK(code(
            [](auto& s) {
              s.chunked_prefill = false;
              s.token_budget = 99;
            },
            128) == error_code::out_of_range);
  CHECK(code(
            [](auto& s) {
              s = pm::schedulers::trtllm_1_0;
              s.token_budget = 99;
            },
            128) == error_code::out_of_range);
  CHECK(code(
            [](auto& s) {
              s = pm::schedulers::trtllm_1_0;
              s.chunked_prefill = true;
              s.token_budget = 31;
            },
            128) == error_code::inconsistent);
  CHECK(code(same, 128, 2, 2) == error_code::inconsistent);
}

TEST_CASE("a workload out of range is refused by the name of its field", "[simulate]") {
  const auto message = [](auto change) {
    pm::workload w{.requests = 4, .arrivals = pm::open_arrivals{}};
    change(w);
    try {
      const pm::workload_source source(w);
    } catch (const pm::error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const auto open = [](pm::workload& w) -> pm::open_arrivals& {
    return std::get<pm::open_arrivals>(w.arrivals);
  };
  CHECK(message([](auto&) {}).empty());
  CHECK(message([](auto& w) { w.requests = 0; }).find("requests is 0") == 0);
  CHECK(message([&](auto& w) { open(w).requests_per_s = 0.0; }).find("requests_per_s is 0") == 0);
  CHECK(message([&](auto& w) { open(w).changes = {{0.0, 0.0}}; }).find("changes.factor is 0") == 0);
  CHECK(message([&](auto& w) { open(w).cv = -1.0; }).find("cv is -1") == 0);
  CHECK(message([](auto& w) { w.output.mean = 0.0; }).find("output.mean is 0") == 0);
  CHECK(message([](auto& w) { w.prefix_hit = 1.5; }).find("prefix_hit is 1.5") == 0);
  CHECK(message([](auto& w) { w.arrivals = pm::closed_clients{0}; }).find("concurrency is 0") == 0);
}

}  // namespace unit_simulate_parts
