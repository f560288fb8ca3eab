// Plans of predictions: engines, percentiles, budgets, pools, drafts, and why a point is as it is.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/explain/plan_review.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_plan_choices {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

pm::plan_request request() {
  return {.accelerators = {cat::h100_sxm},
          .model = cat::llama_3_70b,
          .gpus = 8,
          .load = {.input_tokens = 2048, .output_tokens = 512, .arrivals = pm::closed_loop{64}},
          .precisions = {{"fp8 + fp8 KV", pm::fp8, pm::fp8, pm::fp8}}};
}
pm::calibrated measured(const pm::accelerator& a, pm::engine e) {
  return pm::calibrated_for(a, e);
}
double cost_of_best(const pm::plan_request& q) {
  const auto r = pm::plan(q, measured);
  return r.best ? r.frontier[0].cost_per_million->value() : 1e300;
}

}  // namespace

TEST_CASE(
    "plan: the engine of a point is that of the best plan by engine, and never silently none") {
  CHECK(pm::engines_on(cat::h100_sxm).size() == 3);
  CHECK(pm::engines_on(cat::v100_sxm_32gb).size() == 1);
  CHECK(pm::engines_on(cat::mi300x).size() == 2);
  CHECK(pm::engines_on(cat::tpu_v5e).empty());
  auto q = request();
  const auto r = pm::plan(q, measured);
  REQUIRE(r.best);
  for (const auto& p : r.frontier) CHECK(p.serving_engine != pm::engine::none);
  double least = 1e300;
  for (const auto e : {pm::engine::vllm, pm::engine::sglang, pm::engine::trtllm}) {
    q.engines = {e};
    const double cost = cost_of_best(q);
    if (r.frontier[0].serving_engine == e) CHECK(cost == r.frontier[0].cost_per_million->value());
    least = std::fmin(least, cost);
  }
  CHECK(least == r.frontier[0].cost_per_million->value());
}

TEST_CASE("plan: an engine that does not run on an accelerator is left out, with the reason") {
  CHECK(pm::engine_runs_on(pm::engine::trtllm, cat::h100_sxm));
  CHECK_FALSE(pm::engine_runs_on(pm::engine::trtllm, cat::mi300x));
  CHECK_FALSE(pm::engine_runs_on(pm::engine::trtllm, cat::tpu_v5e));
  CHECK(pm::engine_runs_on(pm::engine::vllm, cat::mi300x));
  CHECK(pm::engine_runs_on(pm::engine::trtllm, pm::accelerator{}));  // of an unknown kind
  auto q = request();
  q.accelerators = {cat::mi300x};
  q.engines = {pm::engine::trtllm};
  const auto none = pm::plan(q, measured);
  CHECK(none.frontier.empty());
  REQUIRE(none.rejected.size() == 1);
  CHECK(none.rejected[0].reason.find("TensorRT-LLM needs an NVIDIA GPU") != std::string::npos);
  q.engines = {pm::engine::trtllm, pm::engine::vllm};
  for (const auto& p : pm::plan(q, measured).frontier) CHECK(p.serving_engine == pm::engine::vllm);
  q.accelerators.push_back(cat::h100_sxm);
  const auto mixed = pm::plan(q, measured);
  REQUIRE(mixed.best);
  for (const auto& p : mixed.frontier)
    CHECK((p.accelerator == cat::h100_sxm.name || p.serving_engine == pm::engine::vllm));
}

TEST_CASE("plan: a policy of one engine, or of none, is no engine's unless the request says so") {
  auto q = request();
  const pm::derated policy{.compute_efficiency = 0.7, .memory_efficiency = 0.8};
  CHECK(pm::plan(q, policy).frontier[0].serving_engine == pm::engine::none);
  q.engines = {pm::engine::sglang};
  CHECK(pm::plan(q, policy).frontier[0].serving_engine == pm::engine::sglang);
}

TEST_CASE("plan: no pruned candidate would have been on the frontier") {
  auto q = request();
  q.engines = {pm::engine::vllm};
  q.chunk_budgets = {512};
  const auto r = pm::plan(q, measured);
  CHECK(r.pruned > 0);
  const auto calibration = measured(q.accelerators[0], pm::engine::vllm);
  int tried = 0;
  for (const int tensor : {1, 2, 4, 8}) {
    for (int replicas = 1; replicas * tensor <= 8; ++replicas) {
      for (double limit = 1; limit <= 64.0 / replicas; limit *= 2) {
        pm::plan_point p{.accelerator = q.accelerators[0].name,
                         .precision = q.precisions[0],
                         .serving_engine = pm::engine::vllm,
                         .layout = {.tensor = tensor},
                         .chunk_tokens = 512.0};
        p.replicas = replicas;
        p.batch_limit = limit;
        if (!pm::fits(pm::deployment_of(q, p), 1.0, 2560.0)) continue;
        const auto s = pm::serving(pm::deployment_of(q, p), pm::load_of(q, p), calibration);
        if (!s.feasible || s.wait > q.max_queueing_time) continue;
        ++tried;
        const double cost = tensor * q.accelerators[0].price.value() * 1e6 / s.output_rate.value();
        bool matched = false;
        for (const auto& f : r.frontier) {
          matched = matched || (f.cost_per_million->value() <= 1.0000001 * cost &&
                                f.serving.itl <= 1.0000001 * s.itl);
        }
        CHECK(matched);
      }
    }
  }
  CHECK(tried >= 20);
}

TEST_CASE(
    "plan: a target on a percentile holds for that share, and costs no less than on the mean") {
  auto q = request();
  q.targets.ttft = pm::latency_target{0.6 * pm::second};
  q.targets.itl = pm::latency_target{40.0 * pm::ms};
  const double on_means = cost_of_best(q);
  q.targets.ttft->share = 0.9;
  q.targets.itl->share = 0.99;
  const auto r = pm::plan(q, measured);
  REQUIRE(r.best);
  for (const auto& p : r.frontier) {
    CHECK(p.serving.ttft_distribution.quantile(0.9) <= q.targets.ttft->limit);
    CHECK(p.serving.itl_distribution.quantile(0.99) <= q.targets.itl->limit);
  }
  CHECK(r.frontier[0].cost_per_million->value() >= on_means);
  q.targets.e2e = pm::latency_target{r.frontier[0].serving.e2e_quantile(0.5), 0.9};
  CHECK(cost_of_best(q) > r.frontier[0].cost_per_million->value());
}

TEST_CASE("plan: who waits for minutes is left out, and the nearest is named") {
  auto q = request();
  q.gpus = 1;
  q.load.arrivals = pm::closed_loop{4096};
  q.accelerators = {cat::h200_sxm};
  const auto r = pm::plan(q, measured);
  CHECK_FALSE(r.best);
  CHECK(r.frontier.empty());
  REQUIRE(r.nearest_point);
  CHECK(r.nearest_point->serving.wait > q.max_queueing_time);
  CHECK(near(r.nearest_miss, r.nearest_point->serving.wait / q.max_queueing_time));
  bool said = false;
  for (const auto& x : r.rejected) {
    said = said || (x.reason == "the mean queueing time exceeds its limit" && x.available == 60.0 &&
                    x.needed > 60.0);
  }
  CHECK(said);
  q.max_queueing_time = r.nearest_point->serving.wait;
  CHECK(pm::plan(q, measured).best);
}

TEST_CASE("plan: more candidates never cost more, and each point is serving's result") {
  auto q = request();
  q.targets.itl = pm::latency_target{16.0 * pm::ms};
  q.chunk_budgets.clear();
  const double plain = cost_of_best(q);
  q.chunk_budgets = {512, 2048};
  CHECK(cost_of_best(q) <= plain);
  q.speculations = {{.by = pm::drafter::lookup, .length = 3, .acceptance = {0.6}}};
  q.pools = pm::plan_pools{};
  const auto r = pm::plan(q, measured);
  CHECK(r.frontier[0].cost_per_million->value() <= plain);
  int pools = 0, drafts = 0, chunks = 0;
  const auto check = [&](const pm::plan_point& p) {
    const auto calibration = measured(q.accelerators[0], p.serving_engine);
    const auto load = pm::load_of(q, p);
    pm::serving_estimate s;
    if (p.prefill) {
      ++pools;
      const auto apart = pm::pools_of(q, p);
      CHECK(apart.devices() == p.gpus);
      CHECK(near(apart.link.bandwidth_per_device.value(), 450e9));  // both on one NVLink fabric
      s = pm::serving(apart, load, calibration);
    } else if (p.speculation_index) {
      ++drafts;
      s = pm::serving(pm::deployment_of(q, p), load, pm::speculation_of(q, p), calibration);
    } else {
      s = pm::serving(pm::deployment_of(q, p), load, calibration);
    }
    if (p.chunk_tokens) {
      ++chunks;
      CHECK(*pm::deployment_of(q, p).limits.tokens == *p.chunk_tokens);
    }
    CHECK(near(s.itl, p.serving.itl));
    CHECK(near(s.ttft, p.serving.ttft));
    const double rate = (p.prefill ? 1 : p.replicas) * s.output_rate.value();
    CHECK(near(p.cost_per_million->value(), p.gpus * q.accelerators[0].price.value() * 1e6 / rate));
  };
  for (const auto& p : r.frontier) check(p);
  q.speculations.clear();
  for (const auto& p : pm::plan(q, measured).frontier) check(p);
  q.pools.reset();
  for (const auto& p : pm::plan(q, measured).frontier) check(p);
  q.speculations = {{.by = pm::drafter::lookup, .length = 3, .acceptance = {0.9}}};
  for (const auto& p : pm::plan(q, measured).frontier) check(p);
  CHECK(pools > 0);
  CHECK(drafts > 0);
  CHECK(chunks > 0);
}

TEST_CASE("plan: expert parallelism over data-parallel attention is among the layouts") {
  const auto all = pm::detail::layouts_of(cat::deepseek_v3, cat::h200_sxm, 8);
  const auto has = [&](const pm::parallel_layout& l) {
    return std::find(all.begin(), all.end(), l) != all.end();
  };
  CHECK(has({.tensor = 1, .expert = 8, .data = 8}));
  CHECK(has({.tensor = 2, .expert = 8, .data = 4}));
  CHECK(has({.tensor = 8, .expert = 8}));
  CHECK(pm::detail::layouts_of(cat::llama_3_70b, cat::h200_sxm, 8).size() == 10);
}

TEST_CASE("plan: the binding constraint of a point, and the cost of its tokens") {
  pm::plan_request q{
      .accelerators = {cat::h100_sxm},
      .model = cat::llama_3_8b,
      .gpus = 1,
      .load = {.input_tokens = 64, .output_tokens = 512, .arrivals = pm::closed_loop{1}},
      .precisions = {{"bf16"}}};
  const auto alone = pm::plan_bound(q);
  REQUIRE(alone.frontier.size() == 1);
  const auto one = pm::review_of_bound(q, alone.frontier[0]);
  CHECK(one.binding_constraint == pm::plan_constraint::load);
  // One sequence reads all weights at each step, and its prompt's too: DRAM alone.
  CHECK(std::abs(one.cost[2].value + 1.0) < 0.01);
  CHECK(std::abs(one.latency[2].value + 1.0) < 1e-3);
  CHECK(std::abs(one.cost[0].value) < 0.01);
  CHECK(one.cost.back().value == 1.0);
  // A million requests cost what their tokens do.
  const double whole = 512 * alone.frontier[0].cost_per_million->value();
  CHECK(near(64 * one.per_million_input->value() + 512 * one.per_million_output->value(), whole));
  // By hand: 512 steps against one pass over the prompt, all of the same weights.
  CHECK(std::abs(one.input_share - 1.0 / 513.0) < 2e-4);

  q.load.arrivals = pm::closed_loop{256};
  const auto free = pm::plan(q, measured);
  REQUIRE(free.best);
  q.targets.itl = pm::latency_target{0.8 * free.frontier[0].serving.itl};
  q.max_queueing_time = 1000.0 * pm::second;
  const auto held = pm::plan(q, measured);
  REQUIRE(held.best);
  CHECK(pm::review_of(q, held.frontier[0], measured).binding_constraint ==
        pm::plan_constraint::itl);
  q.targets.itl.reset();
  q.load.input_tokens = 8192;
  q.load.arrivals = pm::closed_loop{1000};
  const auto full = pm::plan(q, measured);
  REQUIRE(full.best);
  CHECK(pm::review_of(q, full.frontier[0], measured).binding_constraint ==
        pm::plan_constraint::memory);
}

TEST_CASE("plan: what of a request makes no sense is refused by name") {
  const auto why = [](auto&& change) {
    auto q = request();
    change(q);
    return refusal([&] { (void)pm::plan_bound(q); });
  };
  CHECK(why([](auto& q) {
          q.targets.ttft = pm::latency_target{1.0 * pm::second, 0.1};
        }) == "PM-E010: targets.ttft.share is 0.1; allowed: 0.5 to 0.999");
  CHECK(why([](auto& q) {
          q.targets.ttft = pm::latency_target{1.0 * pm::second, 0.9};
        }).starts_with("PM-E031: shares of requests are of predictions"));
  CHECK(why([](auto& q) {
          q.pools = pm::plan_pools{};
        }).starts_with("PM-E031: speculations and pools are of predictions"));
  CHECK(why([](auto& q) { q.speculations = {{}}; }).starts_with("PM-E031: speculation.acceptance"));
  CHECK(why([](auto& q) {
          q.max_queueing_time = {};
        }).starts_with("PM-E010: max_queueing_time is 0"));
  CHECK(why([](auto& q) { q.chunk_budgets = {0}; }).starts_with("PM-E010: chunk_budgets is 0"));
  auto q = request();
  CHECK(refusal([&] { (void)pm::speculation_of(q, pm::plan_bound(q).frontier[0]); }) ==
        "PM-E031: this point has no speculation");
  CHECK(refusal([&] { (void)pm::pools_of(q, pm::plan_bound(q).frontier[0]); }) ==
        "PM-E031: this point has one pool");
}

TEST_CASE("plan: without a stated link between pools there are no pools") {
  auto q = request();
  q.engines = {pm::engine::vllm};
  q.pools = pm::plan_pools{};
  const auto has_pools = [](const pm::plan_result& r) {
    return std::any_of(r.frontier.begin(), r.frontier.end(),
                       [](const pm::plan_point& p) { return p.prefill.has_value(); });
  };
  for (pm::accelerator& a : q.accelerators) {
    a.fabric.ranks = 1;  // joins no two replicas
    a.host = {};
  }
  const auto r = pm::plan(q, measured);
  REQUIRE(r.best);
  CHECK_FALSE(has_pools(r));
}

}  // namespace unit_plan_choices
