// Preemption in a service with outputs that outgrow its KV cache: by hand, and against the
// simulator.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/explain/plan_review.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/plan.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/serving/preemption.hpp>

#include "simulator/cases.hpp"
#include "support/near.hpp"
#include "support/refusal.hpp"
#include "support/scalars.hpp"

namespace unit_preempted_services {

namespace pm = perfmodel;
namespace sim = perfmodel_test::simulator;
using perfmodel_test::check_scalars;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

/// Some 40,000 cache tokens in addition to the weights of 8B.
const pm::deployment& small_cache() {
  return sim::services()[2].deployment;
}
double fitting(const pm::service_load& l) {
  return pm::kv_capacity(small_cache(), l.shared, pm::detail::mean_context(l)).sequences;
}
/// This multiple of the requests that fit on average.
pm::service_load crowd(double input, double output, std::optional<pm::preemption> preempts,
                       double times = 3) {
  pm::service_load l{.input_tokens = input,
                     .output_tokens = output,
                     .chunk_tokens = 2048,
                     .input_cv = 0.3,
                     .output_cv = 0.3,
                     .preemption_mode = preempts};
  l.host = pm::host_cache{.bandwidth_per_device = 25.0 * pm::GB_per_s};
  l.arrivals = pm::closed_loop{std::floor(times * fitting(l))};
  return l;
}
pm::serving_estimate served(const pm::service_load& l) {
  return pm::serving(small_cache(), l, sim::measured_like);
}
sim::outcome simulated(const pm::service_load& l, const sim::step_time& pass) {
  perfmodel_test::random_numbers r(5);
  const int concurrency = static_cast<int>(l.concurrency());
  sim::load s;
  s.jobs = sim::draw_jobs(r, 800, sim::lognormal(l.input_tokens, 0.3),
                          sim::lognormal(l.output_tokens, 0.3));
  s.concurrency = concurrency;
  s.endless = true;
  s.warm_up = 2 * concurrency;
  sim::scheduler with{.token_budget = 2048,
                      .max_sequences = 100000,
                      .kv_blocks = static_cast<int>(pm::kv_capacity(small_cache(), 16.0).blocks)};
  if (l.preemption_mode == pm::preemption::swap) {
    with.evict = sim::eviction::swap;
    with.swap_s_per_token = 131072 / 25e9;
  }
  return sim::simulate(s, with, pass);
}

}  // namespace

TEST_CASE("evictions: by hand") {
  CHECK(pm::detail::completions_until_restored(0.0) == 0);
  CHECK(pm::detail::completions_until_restored(3.0) == 1 + 2 + 3);
  // Ten in service for 10 s each, 30 in the system: 20 s for a place. Twice evicted, each time back
  // in 1 s: 12 s of service, a rate of 10 / 12, and three ends, 3 x 12 / 10 s, are waited for on
  // the way, not for a place.
  pm::service_state s{.throughput = 1.0 * pm::request_per_s, .wait = 20.0 * pm::second};
  s.ttft.add({1.0, 20.5 * pm::second});
  s.itl.add({1.0, 0.1 * pm::second});
  pm::detail::add_preemptions(s, {.preemptions = 2, .restore_time = 1.0 * pm::second}, {30.0}, 10.0,
                              100.0);
  CHECK(near(s.throughput.value(), 10.0 / 12));
  CHECK(near(s.wait.value(), 24 - 3.6));
  CHECK(near(s.ttft.mean().value(), 0.5 + 24 - 3.6));
  CHECK(near(s.itl.mean().value(), 0.1 + (2 * 1 + 3.6) / 100));
}

TEST_CASE("preemption: only where outputs outgrow the cache, and a load says how") {
  const auto said = crowd(1000, 1000, pm::preemption::recompute, 0.5);
  auto unsaid = said;
  unsaid.preemption_mode.reset();
  CHECK(served(said).e2e == served(unsaid).e2e);  // all fit
  auto reserves = small_cache();
  reserves.serving_engine = pm::engine::trtllm;
  const auto full = crowd(1000, 1000, pm::preemption::recompute);
  unsaid = full;
  unsaid.preemption_mode.reset();
  CHECK(pm::serving(reserves, full, sim::measured_like).e2e ==
        pm::serving(reserves, unsaid, sim::measured_like).e2e);
  CHECK(served(full).itl > served(unsaid).itl);
  CHECK(served(full).itl_distribution.quantile(0.9999) >
        10.0 * served(unsaid).itl_distribution.quantile(0.9999));
  // Little's law, and a slow link.
  CHECK(near(served(full).throughput * served(full).e2e / pm::request, full.concurrency(), 1e-9));
  auto swaps = full;
  swaps.preemption_mode = pm::preemption::swap;
  const auto quick = served(swaps);
  CHECK(quick.throughput > served(full).throughput);
  swaps.host->bandwidth_per_device = 1.0 * pm::GB_per_s;
  CHECK(served(swaps).throughput < served(full).throughput);
}

TEST_CASE("evictions: an estimate says how many, of whom there are any") {
  const auto full = crowd(500, 1000, pm::preemption::recompute);
  CHECK(near(served(full).preemptions_per_request, 1000.0 / (500 + 100)));  // O / (I + O / 10)
  CHECK(served(crowd(500, 1000, pm::preemption::swap, 0.5)).preemptions_per_request ==
        0);  // all fit
  CHECK(served(crowd(500, 1000, {})).preemptions_per_request == 0);
  auto reserves = small_cache();
  reserves.serving_engine = pm::engine::trtllm;  // room for whole answers
  CHECK(pm::serving(reserves, full, sim::measured_like).preemptions_per_request == 0);
}

TEST_CASE("evictions: refused where they are not counted, and the largest rate leaves them out") {
  const pm::deployment& d = small_cache();
  const auto closed = crowd(500, 1000, pm::preemption::recompute);
  auto open = closed, fixed = closed;
  open.arrivals = pm::open_loop{.rate = 0.1 * pm::request_per_s};
  fixed.scheduler = pm::scheduling::static_batches;
  const pm::speculation drafts{.acceptance = {0.7}};
  const pm::disaggregated pools{.prefill = {d}, .decode = {d}, .link = {1.0 * pm::GB_per_s}};
  const auto both = [&](const auto& what, const pm::service_load& l, const auto&... more) {
    const std::string predicted =
        refusal([&] { (void)pm::serving(what, l, more..., sim::measured_like); });
    CHECK(refusal([&] { (void)pm::serving_bound(what, l, more...); }) == predicted);
    return predicted;
  };
  CHECK(both(d, open) == "PM-E031: preemption_mode is recompute; allowed: none in an open loop");
  CHECK(both(d, fixed) ==
        "PM-E031: preemption_mode is recompute; allowed: none with static batches");
  auto swaps = closed;
  swaps.preemption_mode = pm::preemption::swap;
  CHECK(both(d, swaps, drafts) ==
        "PM-E031: preemption_mode is swap; allowed: none with speculation");
  CHECK(both(pools, swaps) ==
        "PM-E031: preemption_mode is swap; allowed: none with disaggregated pools");
  CHECK(both(d, closed) == "nothing refused");

  const pm::service_targets within{.ttft = pm::latency_target{5.0 * pm::second}};
  auto unsaid = closed;
  unsaid.preemption_mode.reset();
  const auto rate = [&](const pm::service_load& l) {
    return pm::largest_rate(l, within, [](const pm::service_load& x) { return served(x); }).value();
  };
  CHECK(rate(closed) > 0);
  CHECK(rate(closed) == rate(unsaid));
}

TEST_CASE("evictions: services against the simulator", "[long]") {
  const auto pass = sim::predicted_step(small_cache(), sim::measured_like);
  const auto compare = [&](const pm::service_load& l, double ttft_within, double within) {
    const auto law = served(l);
    const auto run = simulated(l, pass);
    const double ttft = run.of(&sim::record::ttft).mean(), itl = run.gaps.mean();
    INFO(name_of(*l.preemption_mode)
         << ", " << l.input_tokens << " and " << l.output_tokens << ", " << l.concurrency()
         << ": ttft " << law.ttft.value() / ttft << " itl " << law.itl.value() / itl
         << " throughput " << law.throughput.value() / run.throughput());
    CHECK(std::fabs(law.ttft.value() / ttft - 1) < ttft_within);
    CHECK(std::fabs(law.itl.value() / itl - 1) < within);
    CHECK(std::fabs(law.throughput.value() / run.throughput() - 1) < within);
  };
  for (const double input : {500.0, 1000.0, 2000.0}) {
    for (const double output : {500.0, 2000.0}) {
      compare(crowd(input, output, pm::preemption::recompute), 0.06, 0.05);
    }
    compare(crowd(input, 1000, pm::preemption::swap), 0.06, 0.05);
    // With few requests waiting, their admission delay is a small difference.
    compare(crowd(input, 1000, pm::preemption::recompute, 1.2), 0.6, 0.06);
  }
  compare(crowd(200, 500, pm::preemption::recompute), 0.1, 0.11);
  compare(crowd(200, 2000, pm::preemption::recompute), 0.1, 0.13);
}

/// Ways to serve the overload, on devices with a small cache.
static pm::plan_request crowded_plan(int gpus) {
  const pm::deployment& d = small_cache();
  pm::plan_request q{.accelerators = {d.device}, .model = d.model, .gpus = gpus};
  q.load = crowd(500, 1000, pm::preemption::recompute);
  q.utilization = d.utilization;
  q.activation_bytes = q.runtime_bytes = 0.0 * pm::byte;
  q.engines = {d.serving_engine};
  q.precisions = {pm::common_precisions()[0]};
  return q;
}

TEST_CASE("evictions: in a plan") {
  pm::plan_request q = crowded_plan(1);
  const auto best = [&] { return pm::plan(q, sim::measured_like).frontier.at(0); };
  const pm::plan_point with = best();
  const auto again = pm::serving(deployment_of(q, with), load_of(q, with), sim::measured_like);
  CHECK(near(with.serving.itl, again.itl, 1e-9));
  q.load.preemption_mode.reset();
  CHECK(with.output_rate < best().output_rate);
}

TEST_CASE(
    "preemption: points of a plan with speculation or pools admit no more than fit, and have "
    "none") {
  pm::plan_request q = crowded_plan(2);
  q.speculations = {{.acceptance = {0.8}}};
  q.pools.emplace();
  const auto with = pm::plan(q, sim::measured_like);
  q.load.preemption_mode.reset();
  const auto without = pm::plan(q, sim::measured_like);
  int drafted = 0;
  for (const pm::plan_point& p : with.frontier) {
    (void)pm::review_of(q, p, sim::measured_like);
    if (!p.speculation_index) continue;
    ++drafted;
    const auto again =
        pm::serving(deployment_of(q, p), load_of(q, p), speculation_of(q, p), sim::measured_like);
    CHECK(near(p.serving.itl, again.itl, 1e-9));
    CHECK(p.serving.preemptions_per_request == 0);
  }
  CHECK(drafted > 0);
  CHECK(without.evaluated > 0);
}

TEST_CASE("scalars: evictions") {
  check_scalars(
      [](const auto& x) {
        using T = std::remove_cvref_t<decltype(x[0])>;
        using time = pm::duration<T>;
        pm::basic_service_state<T> s{.throughput = pm::request_rate<T>::from_value(x[4])};
        s.ttft.add({T(1.0), time::from_value(T(20.0))});
        s.itl.add({T(1.0), time::from_value(x[3])});
        pm::detail::add_preemptions(s,
                                    {.preemptions = x[0], .restore_time = time::from_value(x[1])},
                                    {x[2]}, T(10.0), T(100.0));
        return T(s.itl.mean() * s.throughput / pm::request);
      },
      2.0, 1.0, 30.0, 0.1, 1.0);
}

}  // namespace unit_preempted_services
