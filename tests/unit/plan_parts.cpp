// Parts of a plan by hand: batch limits, Pareto fronts, costs, rejections, pool sizes.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/plan/plan.hpp>
#include <utility>
#include <vector>

#include "support/near.hpp"
#include "support/random.hpp"

namespace unit_plan_parts {

namespace pm = perfmodel;
using perfmodel_test::near;
using objectives = pm::detail::plan_objectives;

namespace {

pm::accelerator chip(const char* name, double per_hour) {
  pm::accelerator a;
  a.name = name;
  a.price = pm::price<>(per_hour * pm::usd / (3600.0 * pm::second));
  return a;
}
pm::serving_estimate serves(double itl, double wait = 0.0, double output_rate = 1000.0) {
  pm::serving_estimate s;
  s.itl = itl * pm::second;
  s.ttft = 1.0 * pm::second;
  s.wait = wait * pm::second;
  s.output_rate = pm::token_rate<>::from_value(output_rate);
  return s;
}
/// A request on one chip, at two dollars an hour.
struct one_chip {
  pm::plan_request q{.accelerators = {chip("answers", 2.0)}, .gpus = 64};
  long told = 0;

  /// A point of n replicas on one device each, or on `gpus` in total.
  pm::detail::evaluated_point point(int n, const pm::serving_estimate& s, int gpus = 0) const {
    pm::plan_point p{.accelerator = q.accelerators[0].name, .precision = {"bf16"}};
    p.replicas = n;
    p.gpus = gpus > 0 ? gpus : n;
    p.batch_limit = 16.0;
    p.serving = s;
    p.output_rate = n * s.output_rate;
    pm::detail::set_cost(p, q.accelerators[0], q.accelerators[0]);
    const pm::detail::plan_misses misses = pm::detail::misses_of(q, s);
    p.meets_targets = misses.worst() <= 1.0;
    return {p, misses};
  }
};

}  // namespace

TEST_CASE("plan parts: batch limits fall to the next power of two") {
  CHECK(pm::detail::next_limit(10.0) == 8.0);
  CHECK(pm::detail::next_limit(8.0) == 4.0);
  CHECK(pm::detail::next_limit(1.0) == 0.5);
}

TEST_CASE(
    "plan parts: the cache's way is the fabric that joins both pools, else the slower host's "
    "link") {
  pm::accelerator a = chip("a", 1.0), b = chip("b", 1.0);
  a.fabric = {.kind = pm::link_kind::nvlink, .bandwidth = 400.0 * pm::GB_per_s, .ranks = 8};
  a.host = {.kind = pm::link_kind::pcie, .bandwidth = 50.0 * pm::GB_per_s};
  b.host = {.kind = pm::link_kind::pcie, .bandwidth = 25.0 * pm::GB_per_s};
  a.host.latency = 2.0 * pm::us;
  b.host.latency = 1.0 * pm::us;
  const auto way = [&](const pm::accelerator& prompts, const pm::accelerator& answers,
                       int devices) { return pm::detail::link_of({}, prompts, answers, devices); };
  CHECK(way(a, a, 8)->bandwidth_per_device == 400.0 * pm::GB_per_s);
  CHECK(way(a, a, 9)->bandwidth_per_device == 50.0 * pm::GB_per_s);
  CHECK(way(a, a, 9)->latency == 2.0 * pm::us);
  CHECK(way(a, b, 2)->bandwidth_per_device == 25.0 * pm::GB_per_s);
  CHECK(way(a, b, 2)->latency == 2.0 * pm::us);
  CHECK(way(b, a, 2)->bandwidth_per_device == 25.0 * pm::GB_per_s);
  CHECK(pm::default_cache_link(a, a, 8.0)->over_fabric);
  CHECK_FALSE(pm::default_cache_link(a, a, 8.5)->over_fabric);
  CHECK_FALSE(pm::default_cache_link(a, b, 2.0)->over_fabric);
  b.host = {};
  CHECK_FALSE(way(a, b, 2));
  CHECK_FALSE(way(b, b, 2));
  CHECK(pm::detail::link_of({.link = pm::cache_link{.bandwidth_per_device = 1.0 * pm::GB_per_s}}, a,
                            b, 2)
            ->bandwidth_per_device == 1.0 * pm::GB_per_s);
}

TEST_CASE("plan parts: three chunk budgets, each a fourth of the next") {
  const std::vector<double> budgets = pm::plan_request{}.chunk_budgets;
  REQUIRE(budgets.size() == 3);
  CHECK(budgets[2] == 8192);
  CHECK(budgets[1] == budgets[2] / 4);
  CHECK(budgets[0] == budgets[1] / 4);
}

TEST_CASE("plan parts: every number of replicas to 64, then eight in each octave") {
  const std::vector<int> all = pm::detail::counts_up_to(256);
  REQUIRE(all.size() == 64 + 8 + 8);
  CHECK(all[63] == 64);
  CHECK(all[64] == 72);
  CHECK(all[71] == 128);
  CHECK(all[72] == 144);
  CHECK(all.back() == 256);
  CHECK(pm::detail::tensor_degrees(72, 72).back() == 72);
  CHECK(pm::detail::tensor_degrees(8, 8) == std::vector<int>{1, 2, 4, 8});
}

TEST_CASE(
    "plan parts: a point beats what is neither cheaper nor quicker; of equals the sooner, then the "
    "smaller") {
  using pm::detail::dominates;
  const objectives m{.cost = 2.0, .itl = 3.0, .ttft = 4.0, .gpus = 8};
  CHECK(dominates(m, {.cost = 2.0, .itl = 3.5, .ttft = 1.0, .gpus = 1}));
  CHECK(dominates(m, {.cost = 2.5, .itl = 3.0, .ttft = 1.0, .gpus = 1}));
  CHECK_FALSE(dominates(m, {.cost = 1.5, .itl = 9.0, .ttft = 9.0, .gpus = 9}));
  CHECK_FALSE(dominates(m, {.cost = 9.0, .itl = 2.5, .ttft = 9.0, .gpus = 9}));
  CHECK(dominates(m, {.cost = 2.0, .itl = 3.0, .ttft = 4.5, .gpus = 1}));
  CHECK_FALSE(dominates(m, {.cost = 2.0, .itl = 3.0, .ttft = 3.5, .gpus = 9}));
  CHECK(dominates(m, {.cost = 2.0, .itl = 3.0, .ttft = 4.0, .gpus = 9}));
  CHECK_FALSE(dominates(m, {.cost = 2.0, .itl = 3.0, .ttft = 4.0, .gpus = 4}));
  CHECK(dominates(m, m));  // the first
}

TEST_CASE("plan parts: a front drops the points that a new one dominates") {
  pm::detail::plan_front front;
  const auto add = [&](double cost, double itl, int replicas) {
    pm::plan_point p;
    p.replicas = replicas;
    front.add({.cost = cost, .itl = itl}, p);
  };
  add(1.0, 9.0, 1);
  add(5.0, 5.0, 2);
  add(9.0, 1.0, 3);
  CHECK(front.dominates_point({.cost = 5.0, .itl = 6.0}));
  CHECK_FALSE(front.dominates_point({.cost = 4.0, .itl = 6.0}));
  add(4.0, 4.0, 4);
  const auto points = front.points();
  REQUIRE(points.size() == 3);
  CHECK(points[0].replicas == 1);
  CHECK(points[1].replicas == 3);
  CHECK(points[2].replicas == 4);
  CHECK_FALSE(front.dominates_point({.cost = 8.0, .itl = 2.0}));
  CHECK(front.dominates_point({.cost = 9.0, .itl = 1.5}));
}

TEST_CASE("plan parts: the Pareto front of random points is what no other point dominates") {
  perfmodel_test::random_numbers random(31);
  using point = std::pair<int, int>;
  const auto beats = [](const point& a, const point& b) {
    return a.first <= b.first && a.second <= b.second;
  };
  for (int n = 0; n < 50; ++n) {
    std::vector<point> all;
    for (int i = 0; i < 40; ++i) {
      all.emplace_back(static_cast<int>(random.uniform(0, 20)),
                       static_cast<int>(random.uniform(0, 20)));
    }
    const auto front = pm::detail::pareto_front(all, beats);
    std::vector<point> expected;
    for (const point& x : all) {
      const auto strictly = [&](const point& y) { return beats(y, x) && y != x; };
      const bool is_first = std::find(expected.begin(), expected.end(), x) == expected.end();
      if (is_first && std::none_of(all.begin(), all.end(), strictly)) expected.push_back(x);
    }
    CHECK(front == expected);
  }
}

TEST_CASE("plan parts: the nearest miss of each reason is reported, and all are counted") {
  std::vector<pm::plan_rejection> all;
  const pm::plan_precision bf16{"bf16"};
  const auto note = [&](double needed, double available, int tensor) {
    pm::detail::add_rejection(all, "a", bf16, {.tensor = tensor},
                              pm::infeasible("no", "B", needed, available));
  };
  note(30, 10, 1);
  note(20, 10, 2);
  note(90, 40, 4);
  REQUIRE(all.size() == 1);
  CHECK(all[0].count == 3);
  CHECK(all[0].layout.tensor == 2);
  CHECK(all[0].needed == 20);
  CHECK(all[0].available == 10);
  note(18, 9, 8);  // as near
  CHECK(all[0].layout.tensor == 2);
  const auto never = [&](const char* reason, double needed) {
    pm::detail::add_rejection(all, "a", bf16, {}, pm::infeasible(reason, "", needed, 0));
    return all.back().needed;
  };
  CHECK(never("never", 5) == 5);  // of nothing, what is needed
  CHECK(never("never", 1) == 1);
  CHECK(never("never", 3) == 1);
  CHECK(all.size() == 2);
}

TEST_CASE("plan parts: a point costs its devices' time, and their price") {
  one_chip x;
  const auto progress = [&](long) { ++x.told; };
  pm::detail::plan_collector collector(x.q, progress, false);
  CHECK(collector.add(x.point(3, serves(0.02), 6)));
  const auto r = collector.finish();
  REQUIRE(r.frontier.size() == 1);
  const pm::plan_point& p = r.frontier[0];
  CHECK(near(p.output_rate.value(), 3000));
  CHECK(near(p.gpu_time_per_million.value(), 6e6 / 3000));
  REQUIRE(p.cost_per_million);
  CHECK(near(p.cost_per_million->value(), 2000 * 2.0 / 3600));
  CHECK(p.batch_limit == 16);
  CHECK(p.meets_targets);
  CHECK(r.best == 0);
}

TEST_CASE(
    "plan parts: points that incumbents dominate are on no front, nor is their bound asked for") {
  one_chip x;
  const auto progress = [&](long) { ++x.told; };
  pm::detail::incumbent_list incumbents;
  const pm::detail::evaluated_point incumbent = x.point(2, serves(0.02)),
                                    slower = x.point(3, serves(0.03), 4);
  incumbents.add(incumbent.point);
  pm::detail::plan_collector collector(x.q, progress, true, incumbents);
  CHECK(collector.has_met_targets());
  CHECK(collector.add(slower));  // without a model, the bound of a point throws
  pm::detail::evaluated_point within = incumbent;
  within.is_within_bound = true;
  CHECK(collector.add(within));
  const auto r = collector.finish();
  REQUIRE(r.frontier.size() == 1);
  CHECK(r.frontier[0].replicas == 2);
  CHECK(r.feasible == 2);
}

TEST_CASE("plan parts: pools of two accelerators cost the mean price") {
  const pm::accelerator decode = chip("decode", 2.0), prefill = chip("prefill", 1.0);
  pm::plan_point p;
  p.gpus = 10;
  p.prefill = pm::plan_pool{.layout = {.tensor = 2}, .replicas = 3};
  const auto price = [&](const pm::accelerator& a, const pm::accelerator& b) {
    return pm::detail::price_per_device(a, b, p);
  };
  CHECK(near(price(decode, prefill)->value(), (6 * 1.0 + 4 * 2.0) / 10 / 3600));
  CHECK(near(price(decode, decode)->value(), 2.0 / 3600));
  const pm::accelerator unpriced{};
  CHECK_FALSE(price(decode, unpriced));
  CHECK_FALSE(price(unpriced, unpriced));
}

TEST_CASE("plan parts: a frontier of what meets the targets, cheapest first, or of what is there") {
  one_chip x;
  x.q.targets.itl = pm::latency_target{10.0 * pm::ms};
  x.q.max_queueing_time = 5.0 * pm::second;
  const auto progress = [&](long) { ++x.told; };
  pm::detail::plan_collector collector(x.q, progress, false);
  // Misses are kept while nothing meets; of them the nearest is named.
  CHECK(collector.add(x.point(1, serves(0.030))));
  CHECK(collector.add(x.point(2, serves(0.020))));
  CHECK(collector.add(x.point(3, serves(0.040))));
  CHECK_FALSE(collector.has_met_targets());
  // To wait as long as is allowed is a wait; longer ends a run.
  CHECK(collector.add(x.point(4, serves(0.010, 5.0, 500.0))));
  CHECK(collector.has_met_targets());
  CHECK_FALSE(collector.add(x.point(4, serves(0.010, 5.1))));
  CHECK(collector.add(x.point(5, serves(0.005, 0.0, 400.0))));
  CHECK(collector.add(x.point(1, serves(0.008, 0.0, 900.0))));
  const auto r = collector.finish();
  CHECK(r.evaluated == 7);
  CHECK(r.feasible == 6);
  CHECK_FALSE(r.nearest_point);
  CHECK(r.nearest_miss == 1.0);
  // A device at 900 tokens/s, then 5 at 400 each; 4 at 500 are beaten by the first.
  REQUIRE(r.frontier.size() == 2);
  CHECK(r.frontier[0].replicas == 1);
  CHECK(r.frontier[1].replicas == 5);
  REQUIRE(r.rejected.size() == 1);
  CHECK(near(r.rejected[0].needed, 5.1));
  CHECK(r.rejected[0].available == 5);

  pm::detail::plan_collector misses(x.q, progress, false);
  CHECK(misses.add(x.point(1, serves(0.030))));
  CHECK(misses.add(x.point(2, serves(0.020))));
  CHECK(misses.add(x.point(3, serves(0.040))));
  CHECK(misses.add(x.point(7, serves(0.020))));  // as far
  const auto none = misses.finish();
  CHECK_FALSE(none.best);
  CHECK(near(none.nearest_miss, 2.0));
  CHECK(none.nearest_point->replicas == 2);
  CHECK(none.frontier.size() == 1);  // as dear as the others, and quicker
  CHECK_FALSE(none.frontier[0].meets_targets);
}

TEST_CASE("plan parts: a refused point may be the nearest, by what its refusal says") {
  one_chip x;
  x.q.targets.itl = pm::latency_target{10.0 * pm::ms};
  const auto progress = [&](long) { ++x.told; };
  const auto refuse = [&](const pm::detail::evaluated_point& p, double simulated) {
    x.q.refused.push_back(
        pm::refusal_of(p.point, pm::infeasible("it misses", "s", simulated, 0.010)));
  };
  const auto near_misses = x.point(2, serves(0.009)), far = x.point(3, serves(0.008));
  refuse(near_misses, 0.015);
  refuse(far, 0.050);
  pm::detail::plan_collector none(x.q, progress, false);
  for (const auto& p : {far, x.point(1, serves(0.030)), near_misses, x.point(4, serves(0.020))})
    CHECK(none.add(p));
  const auto r = none.finish();
  CHECK_FALSE(r.best);
  REQUIRE(r.nearest_point);
  CHECK(r.nearest_point->replicas == 2);
  CHECK_FALSE(r.nearest_point->meets_targets);
  CHECK(near(r.nearest_miss, 1.5));
  CHECK(r.rejected.size() == 1);  // both, for one reason
  // One that meets the targets is chosen, and nothing is nearest.
  pm::detail::plan_collector some(x.q, progress, false);
  for (const auto& p : {near_misses, x.point(1, serves(0.010))}) CHECK(some.add(p));
  const auto met = some.finish();
  CHECK(met.best);
  CHECK_FALSE(met.nearest_point);
}

TEST_CASE("plan parts: smaller limits are tried while the mean wait is within the TTFT target") {
  one_chip x;
  CHECK(pm::detail::may_meet_with_less(x.q, serves(0.02, 9.0)));
  x.q.targets.ttft = pm::latency_target{2.0 * pm::second};
  CHECK(pm::detail::may_meet_with_less(x.q, serves(0.02, 2.0)));
  CHECK_FALSE(pm::detail::may_meet_with_less(x.q, serves(0.02, 2.5)));
  // Once the targets are met a sweep continues for that, or for a point that meets them.
  const auto progress = [&](long) { ++x.told; };
  pm::detail::plan_collector collector(x.q, progress, false);
  CHECK(collector.add(x.point(1, serves(0.02))));
  pm::serving_estimate s = serves(0.02, 2.5);
  s.ttft = 2.0 * pm::second;
  CHECK(collector.add(x.point(1, s)));
  s.ttft = 2.1 * pm::second;
  CHECK_FALSE(collector.add(x.point(1, s)));
}

TEST_CASE("plan parts: a point without speculation has none to tell") {
  pm::plan_point p;
  CHECK_THROWS_AS(pm::speculation_of(pm::plan_request{}, p), pm::error);
  p.speculation_index = 0;
  CHECK_THROWS_AS(pm::speculation_of(pm::plan_request{}, p), pm::error);
}

TEST_CASE("plan parts: progress is told every 256th of what is tried") {
  one_chip x;
  std::vector<long> told;
  const auto progress = [&](long done) { told.push_back(done); };
  pm::detail::plan_collector collector(x.q, progress, false);
  for (int i = 0; i < 600; ++i) collector.add(x.point(1, serves(0.02)));
  CHECK(told == std::vector<long>{256, 512});
}

TEST_CASE("plan parts: a sweep is collected up to the point that ends it") {
  one_chip x;
  x.q.max_queueing_time = 5.0 * pm::second;
  const auto progress = [&](long) { ++x.told; };
  pm::detail::plan_collector collector(x.q, progress, false);
  pm::detail::plan_evaluation e;
  e.sweeps = {
      {{}, 1},
      {{x.point(1, serves(0.02, 5.0)), x.point(2, serves(0.02, 6.0)), x.point(3, serves(0.01))},
       3},  // the second point ends the sweep
      {{x.point(4, serves(0.01))}, 2}};
  const pm::detail::plan_candidate candidate{.device = &x.q.accelerators[0]};
  collector.add(candidate, e);
  const auto r = collector.finish();
  CHECK(r.evaluated == 3);
  CHECK(r.pruned == 1 + 2);
  REQUIRE(r.frontier.size() == 1);
  CHECK(r.frontier[0].replicas == 4);
}

namespace {

/// Serves pools without a model: a slot of a prompt by the ranks of its replica, and the ratio that
/// balances them.
struct stated_pools {
  double ratio = 1.0;

  pm::disaggregated_estimate serve_pools(const pm::disaggregated& pools, const pm::service_load&,
                                         const stated_pools&) const {
    const int tensor = pools.prefill.deployment.layout.tensor;
    pm::disaggregated_estimate s;
    s.throughput = pm::request_rate<>::from_value(2.0);
    s.prefill_utilisation = tensor == 1 ? 0.5 : 0.2;  // 0.25 s; 2 x 0.1 s; 4 x 0.1 s of devices
    s.prefill.time = (tensor == 1 ? 1.0 : 1.0 / tensor) * pm::second;
    s.balanced_ratio = ratio;
    return s;
  }
};
pm::plan_request pooled(double concurrency) {
  return {
      .accelerators = {pm::catalog::h100_sxm},
      .model = pm::catalog::llama_3_8b,
      .gpus = 12,
      .load = {.input_tokens = 512, .output_tokens = 256, .arrivals = pm::closed_loop{concurrency}},
      .pools = pm::plan_pools{.link = pm::cache_link{.bandwidth_per_device = 1.0 * pm::GB_per_s}}};
}
std::vector<pm::deployment> tensor_parallel_deployments(const pm::plan_request& q,
                                                        const std::vector<int>& ranks) {
  std::vector<pm::deployment> all;
  for (const int tensor : ranks) {
    all.push_back({.device = q.accelerators[0], .model = q.model, .layout = {.tensor = tensor}});
  }
  return all;
}
/// Pools with these deployments for prefill and for decode.
pm::detail::pool_choices<stated_pools> choices_of(const pm::plan_request& q,
                                                  const stated_pools& serve,
                                                  const std::vector<pm::deployment>& all) {
  const pm::accelerator& a = q.accelerators[0];
  return {a, serve, all, a, serve, all};
}
/// Replicas that decode and that prefill, of two devices each, in the order in which they are
/// tried.
using tried = std::vector<std::pair<double, double>>;
tried pools_of_two(double ratio, double concurrency) {
  const pm::plan_request q = pooled(concurrency);
  const stated_pools serve{ratio};
  const auto able = tensor_parallel_deployments(q, {2});
  tried all;
  pm::detail::visit_pools(q, choices_of(q, serve, able),
                          [&](const pm::disaggregated& pools, double limit, const auto&) {
                            CHECK(limit == concurrency / pools.decode.replicas);
                            all.emplace_back(pools.decode.replicas, pools.prefill.replicas);
                          });
  return all;
}

}  // namespace

TEST_CASE(
    "plan parts: replicas that prefill are one, and what balances those that decode, down and up") {
  // On 12 devices 1, 2 and 4 replicas of two decode, with at most 5, 4 and 2 for prefill.
  CHECK(pools_of_two(1.3, 64) == tried{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {2, 3}, {4, 1}, {4, 2}});
  CHECK(pools_of_two(0.4, 64) == tried{{1, 1}, {2, 1}, {4, 1}, {4, 2}});
  CHECK(pools_of_two(1.0, 64) == tried{{1, 1}, {2, 1}, {2, 2}, {4, 1}, {4, 2}});
  CHECK(pools_of_two(3.0, 64) == tried{{1, 1}, {1, 3}, {2, 1}, {2, 4}, {4, 1}, {4, 2}});
  // Two concurrent requests do not give each of four replicas one.
  CHECK(pools_of_two(1.0, 2) == tried{{1, 1}, {2, 1}, {2, 2}});
}

TEST_CASE("plan parts: in an open loop a pool decodes as many as fit with their whole outputs") {
  pm::plan_request q = pooled(1);
  q.load.output_tokens = 4096;
  q.load.arrivals = pm::open_loop{1.0 * pm::request / pm::second};
  const stated_pools serve;
  const auto able = tensor_parallel_deployments(q, {2});
  const double fit = pm::kv_capacity(able[0], 512.0 + 4096.0).sequences;
  CHECK(fit > 100.0);
  pm::detail::visit_pools(
      q, choices_of(q, serve, able),
      [&](const pm::disaggregated&, double limit, const auto&) { CHECK(limit == fit); });
}

TEST_CASE("plan parts: prefill pools are those on the Pareto front of cost and time") {
  const pm::plan_request q = pooled(64);
  const stated_pools serve;
  const auto able = tensor_parallel_deployments(q, {1, 2, 4, 2});
  const auto pools = pm::detail::prefill_front(q, choices_of(q, serve, able));
  REQUIRE(pools.size() == 2);
  CHECK(pools[0].runs == &able[1]);
  CHECK(near(pools[0].device_time, 0.2));
  CHECK(pools[0].unloaded_time == 0.5);
  CHECK(pools[1].runs == &able[2]);
  CHECK(near(pools[1].device_time, 0.4));
}

}  // namespace unit_plan_parts
