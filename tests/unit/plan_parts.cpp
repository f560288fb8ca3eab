// What a plan is made of, by hand: batch limits, points that beat others, what is kept and what it costs.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/plan/ledger.hpp>
#include <perfmodel/plan/search.hpp>
#include <utility>
#include <vector>

#include "support/near.hpp"

namespace unit_plan_parts {

namespace pm = perfmodel;
using perfmodel_test::near;
using merit = pm::detail::plan_merit;

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
/// Of one chip, at two dollars an hour.
struct one_chip {
  pm::plan_request q{.accelerators = {chip("answers", 2.0)}, .gpus = 64};
  pm::deployment d{.device = q.accelerators[0]};
  pm::plan_precision bf16{"bf16"};
  pm::detail::plan_candidate candidate{.on = &d, .precision = &bf16};
  long told = 0;
};
/// So many copies of a device each.
pm::detail::plan_replicas copies(int n, double limit = 16.0) {
  return {.replicas = n, .gpus = n, .limit = limit};
}

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
  CHECK(way(a, a, 8)->per_device == 400.0 * pm::GB_per_s);
  CHECK(way(a, a, 9)->per_device == 50.0 * pm::GB_per_s);
  CHECK(way(a, a, 9)->latency == 2.0 * pm::us);
  CHECK(way(a, b, 2)->per_device == 25.0 * pm::GB_per_s);
  CHECK(way(a, b, 2)->latency == 2.0 * pm::us);
  CHECK(way(b, a, 2)->per_device == 25.0 * pm::GB_per_s);
  CHECK(pm::default_cache_link(a, a, 8.0)->over_fabric);
  CHECK_FALSE(pm::default_cache_link(a, a, 8.5)->over_fabric);
  CHECK_FALSE(pm::default_cache_link(a, b, 2.0)->over_fabric);
  b.host = {};
  CHECK_FALSE(way(a, b, 2));
  CHECK_FALSE(way(b, b, 2));
  CHECK(pm::detail::link_of({.link = pm::cache_link{.per_device = 1.0 * pm::GB_per_s}}, a, b, 2)
            ->per_device == 1.0 * pm::GB_per_s);
}

TEST_CASE("plan parts: three chunk budgets, each a fourth of the next") {
  const std::vector<double> budgets = pm::plan_request{}.chunk_budgets;
  REQUIRE(budgets.size() == 3);
  CHECK(budgets[2] == 8192);
  CHECK(budgets[1] == budgets[2] / 4);
  CHECK(budgets[0] == budgets[1] / 4);
}

TEST_CASE("plan parts: every count of copies to 64, then eight in each octave") {
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
  const merit m{.expense = 2.0, .itl = 3.0, .ttft = 4.0, .gpus = 8};
  CHECK(dominates(m, {.expense = 2.0, .itl = 3.5, .ttft = 1.0, .gpus = 1}));
  CHECK(dominates(m, {.expense = 2.5, .itl = 3.0, .ttft = 1.0, .gpus = 1}));
  CHECK_FALSE(dominates(m, {.expense = 1.5, .itl = 9.0, .ttft = 9.0, .gpus = 9}));
  CHECK_FALSE(dominates(m, {.expense = 9.0, .itl = 2.5, .ttft = 9.0, .gpus = 9}));
  CHECK(dominates(m, {.expense = 2.0, .itl = 3.0, .ttft = 4.5, .gpus = 1}));
  CHECK_FALSE(dominates(m, {.expense = 2.0, .itl = 3.0, .ttft = 3.5, .gpus = 9}));
  CHECK(dominates(m, {.expense = 2.0, .itl = 3.0, .ttft = 4.0, .gpus = 9}));
  CHECK_FALSE(dominates(m, {.expense = 2.0, .itl = 3.0, .ttft = 4.0, .gpus = 4}));
  CHECK(dominates(m, m));  // the first
}

TEST_CASE("plan parts: a front drops what a new point beats and keeps the rest") {
  pm::detail::pareto_front front;
  const auto add = [&](double expense, double itl, int replicas) {
    pm::plan_point p;
    p.replicas = replicas;
    front.add({.expense = expense, .itl = itl}, p);
  };
  add(1.0, 9.0, 1);
  add(5.0, 5.0, 2);
  add(9.0, 1.0, 3);
  CHECK_FALSE(front.takes({.expense = 5.0, .itl = 6.0}));
  CHECK(front.takes({.expense = 4.0, .itl = 6.0}));
  add(4.0, 4.0, 4);
  REQUIRE(front.points.size() == 3);
  CHECK(front.points[0].replicas == 1);
  CHECK(front.points[1].replicas == 3);
  CHECK(front.points[2].replicas == 4);
  CHECK(front.takes({.expense = 8.0, .itl = 2.0}));  // neither of these is beaten by another
  CHECK_FALSE(front.takes({.expense = 9.0, .itl = 1.5}));
}

TEST_CASE("plan parts: of one reason the nearest miss is kept, and all are counted") {
  pm::plan_result r;
  const pm::plan_precision bf16{"bf16"};
  const auto note = [&](double needed, double available, int tensor) {
    pm::detail::note_rejection(r, "a", bf16, {.tensor = tensor},
                               pm::infeasible("no", "B", needed, available));
  };
  note(30, 10, 1);
  note(20, 10, 2);
  note(90, 40, 4);
  REQUIRE(r.rejected.size() == 1);
  CHECK(r.rejected[0].count == 3);
  CHECK(r.rejected[0].layout.tensor == 2);
  CHECK(r.rejected[0].needed == 20);
  CHECK(r.rejected[0].available == 10);
  note(18, 9, 8);  // as near
  CHECK(r.rejected[0].layout.tensor == 2);
  const auto never = [&](const char* reason, double needed) {
    pm::detail::note_rejection(r, "a", bf16, {}, pm::infeasible(reason, "", needed, 0));
    return r.rejected.back().needed;
  };
  CHECK(never("never", 5) == 5);  // of nothing, what is needed
  CHECK(never("never", 1) == 1);
  CHECK(never("never", 3) == 1);
  CHECK(r.rejected.size() == 2);
}

TEST_CASE("plan parts: a point costs its devices' time, and their price") {
  one_chip x;
  const auto progress = [&](long) { ++x.told; };
  pm::detail::plan_ledger ledger(x.q, progress, false);
  pm::detail::plan_replicas n = copies(3);
  n.gpus = 6;
  CHECK(ledger.note(x.candidate, n, serves(0.02)));
  const auto r = ledger.ranked();
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

TEST_CASE("plan parts: of two kinds of chip the mean price") {
  const pm::accelerator answers = chip("answers", 2.0), prompts = chip("prompts", 1.0);
  pm::detail::plan_replicas n{.gpus = 10,
                              .prefill = pm::plan_pool{.layout = {.tensor = 2}, .replicas = 3},
                              .prefill_on = &prompts};
  CHECK(near(pm::detail::price_of_device(answers, n)->value(), (6 * 1.0 + 4 * 2.0) / 10 / 3600));
  n.prefill_on = nullptr;
  CHECK(near(pm::detail::price_of_device(answers, n)->value(), 2.0 / 3600));
  const pm::accelerator free{};
  n.prefill_on = &free;
  CHECK_FALSE(pm::detail::price_of_device(answers, n));
}

TEST_CASE("plan parts: a frontier of what meets the targets, cheapest first, or of what is there") {
  one_chip x;
  x.q.targets.itl = pm::latency_target{10.0 * pm::ms};
  x.q.longest_wait = 5.0 * pm::second;
  const auto progress = [&](long) { ++x.told; };
  pm::detail::plan_ledger ledger(x.q, progress, false);
  // Misses are kept while nothing meets; of them the nearest is named.
  CHECK(ledger.note(x.candidate, copies(1), serves(0.030)));
  CHECK(ledger.note(x.candidate, copies(2), serves(0.020)));
  CHECK(ledger.note(x.candidate, copies(3), serves(0.040)));
  CHECK_FALSE(ledger.any_met());
  // To wait as long as is allowed is a wait; longer ends a run.
  CHECK(ledger.note(x.candidate, copies(4), serves(0.010, 5.0, 500.0)));
  CHECK(ledger.any_met());
  CHECK_FALSE(ledger.note(x.candidate, copies(4), serves(0.010, 5.1)));
  CHECK(ledger.note(x.candidate, copies(5), serves(0.005, 0.0, 400.0)));
  CHECK(ledger.note(x.candidate, copies(1), serves(0.008, 0.0, 900.0)));
  const auto r = ledger.ranked();
  CHECK(r.evaluated == 7);
  CHECK(r.feasible == 6);
  CHECK_FALSE(r.nearest);
  CHECK(r.miss == 1.0);
  // A device at 900 tokens/s, then 5 at 400 each; 4 at 500 are beaten by the first.
  REQUIRE(r.frontier.size() == 2);
  CHECK(r.frontier[0].replicas == 1);
  CHECK(r.frontier[1].replicas == 5);
  REQUIRE(r.rejected.size() == 1);
  CHECK(near(r.rejected[0].needed, 5.1));
  CHECK(r.rejected[0].available == 5);

  pm::detail::plan_ledger misses(x.q, progress, false);
  CHECK(misses.note(x.candidate, copies(1), serves(0.030)));
  CHECK(misses.note(x.candidate, copies(2), serves(0.020)));
  CHECK(misses.note(x.candidate, copies(3), serves(0.040)));
  CHECK(misses.note(x.candidate, copies(7), serves(0.020)));  // as far
  const auto none = misses.ranked();
  CHECK_FALSE(none.best);
  CHECK(near(none.miss, 2.0));
  CHECK(none.nearest->replicas == 2);
  CHECK(none.frontier.size() == 1);  // as dear as the others, and quicker
  CHECK_FALSE(none.frontier[0].meets_targets);
}

TEST_CASE(
    "plan parts: smaller limits are tried while the mean wait is within the target on first "
    "tokens") {
  one_chip x;
  CHECK(pm::detail::tries_on(x.q, serves(0.02, 9.0)));
  x.q.targets.ttft = pm::latency_target{2.0 * pm::second};
  CHECK(pm::detail::tries_on(x.q, serves(0.02, 2.0)));
  CHECK_FALSE(pm::detail::tries_on(x.q, serves(0.02, 2.5)));
  // Where the ledger has met the targets a record goes on for that, or for what meets them.
  const std::atomic<bool> met = true;
  pm::detail::plan_record record(x.q, met);
  pm::serving_estimate s = serves(0.02, 2.5);
  s.ttft = 2.0 * pm::second;
  CHECK(record.note(x.candidate, copies(1), s));
  s.ttft = 2.1 * pm::second;
  CHECK_FALSE(record.note(x.candidate, copies(1), s));
}

TEST_CASE("plan parts: a point without drafts has none to tell") {
  pm::plan_point p;
  CHECK_THROWS_AS(pm::speculation_of(pm::plan_request{}, p), pm::error);
  p.drafts = 0;
  CHECK_THROWS_AS(pm::speculation_of(pm::plan_request{}, p), pm::error);
}

TEST_CASE("plan parts: progress is told every 256th of what is tried") {
  one_chip x;
  std::vector<long> told;
  const auto progress = [&](long done) { told.push_back(done); };
  pm::detail::plan_ledger ledger(x.q, progress, false);
  for (int i = 0; i < 600; ++i) ledger.note(x.candidate, copies(1), serves(0.02));
  CHECK(told == std::vector<long>{256, 512});
}

TEST_CASE("plan parts: a record is noted run by run, as the ledger itself would have") {
  one_chip x;
  x.q.longest_wait = 5.0 * pm::second;
  const auto progress = [&](long) { ++x.told; };
  const std::atomic<bool> met = false;
  pm::detail::plan_record record(x.q, met);
  record.prune();
  record.next_run();
  CHECK(record.note(x.candidate, copies(1), serves(0.02, 5.0)));
  record.prune();
  record.prune();
  CHECK_FALSE(record.note(x.candidate, copies(2), serves(0.02, 6.0)));  // which ends the run
  record.prune();
  record.note(x.candidate, copies(3), serves(0.01));
  record.next_run();
  record.prune();
  CHECK(record.note(x.candidate, copies(4), serves(0.01)));
  pm::detail::plan_ledger ledger(x.q, progress, false);
  record.into(ledger);
  const auto r = ledger.ranked();
  CHECK(r.evaluated == 3);
  CHECK(r.pruned == 2 + 2);
  REQUIRE(r.frontier.size() == 1);
  CHECK(r.frontier[0].replicas == 4);
}

namespace {

/// Serves pools without a model: a slot of a prompt by the ranks of its replica, and the ratio that balances them.
struct stated_pools {
  double ratio = 1.0;

  pm::disaggregated_estimate apart(const pm::disaggregated& pools, const pm::service_load&,
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
      .pools = pm::plan_pools{.link = pm::cache_link{.per_device = 1.0 * pm::GB_per_s}}};
}
std::vector<pm::deployment> cut_over(const pm::plan_request& q, const std::vector<int>& ranks) {
  std::vector<pm::deployment> all;
  for (const int tensor : ranks) {
    all.push_back({.device = q.accelerators[0], .model = q.model, .layout = {.tensor = tensor}});
  }
  return all;
}
/// Replicas that decode and that prefill, of two devices each, in the order in which they are tried.
using tried = std::vector<std::pair<double, double>>;
tried pools_of_two(double ratio, double concurrency) {
  const pm::plan_request q = pooled(concurrency);
  const stated_pools serve{ratio};
  const auto able = cut_over(q, {2});
  tried all;
  pm::detail::each_pools(
      q, pm::detail::pool_kinds{q.accelerators[0], serve, q.accelerators[0], serve}, able, able,
      [&](const pm::disaggregated& pools, double limit, const auto&) {
        CHECK(limit == concurrency / pools.decode.replicas);
        all.emplace_back(pools.decode.replicas, pools.prefill.replicas);
      });
  return all;
}

}  // namespace

TEST_CASE(
    "plan parts: replicas that prefill are one, and what balances those that decode, down and up") {
  // Of 12 devices 1, 2 and 4 replicas of two decode, beside at most 5, 4 and 2.
  CHECK(pools_of_two(1.3, 64) == tried{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {2, 3}, {4, 1}, {4, 2}});
  CHECK(pools_of_two(0.4, 64) == tried{{1, 1}, {2, 1}, {4, 1}, {4, 2}});
  CHECK(pools_of_two(1.0, 64) == tried{{1, 1}, {2, 1}, {2, 2}, {4, 1}, {4, 2}});
  CHECK(pools_of_two(3.0, 64) == tried{{1, 1}, {1, 3}, {2, 1}, {2, 4}, {4, 1}, {4, 2}});
  // Of two requests at once no four replicas have one each.
  CHECK(pools_of_two(1.0, 2) == tried{{1, 1}, {2, 1}, {2, 2}});
}

TEST_CASE("plan parts: of an open load a pool decodes as many as fit with their whole answers") {
  pm::plan_request q = pooled(1);
  q.load.output_tokens = 4096;
  q.load.arrivals = pm::open_loop{1.0 * pm::request / pm::second};
  const stated_pools serve;
  const auto able = cut_over(q, {2});
  const double fit = pm::kv_capacity(able[0], 512.0 + 4096.0).sequences;
  CHECK(fit > 100.0);
  pm::detail::each_pools(
      q, pm::detail::pool_kinds{q.accelerators[0], serve, q.accelerators[0], serve}, able, able,
      [&](const pm::disaggregated&, double limit, const auto&) { CHECK(limit == fit); });
}

TEST_CASE("plan parts: prompts are computed where no other way is both cheaper and quicker") {
  const pm::plan_request q = pooled(64);
  const stated_pools serve;
  const auto able = cut_over(q, {1, 2, 4, 2});
  const auto pools = pm::detail::prompt_pools(
      q, pm::detail::pool_kinds{q.accelerators[0], serve, q.accelerators[0], serve}, able);
  REQUIRE(pools.size() == 2);
  CHECK(pools[0].on == &able[1]);
  CHECK(near(pools[0].device_time, 0.2));
  CHECK(pools[0].alone == 0.5);
  CHECK(pools[1].on == &able[2]);
  CHECK(near(pools[1].device_time, 0.4));
}

}  // namespace unit_plan_parts
