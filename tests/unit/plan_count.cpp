// The number of GPUs as a result of a plan, its queue, and the formats of a checkpoint.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/plan.hpp>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_plan_count {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

/// A plan with the cheapest point within the targets at `gpus` GPUs and this price, from that limit
/// on.
struct step {
  int gpus;
  double usd;
};
auto plan_of_steps(std::vector<step> steps, std::vector<int>& asked) {
  return [steps = std::move(steps), &asked](const pm::plan_request& q) {
    asked.push_back(q.gpus);
    pm::plan_result r;
    for (const step& s : steps) {
      if (s.gpus > q.gpus) continue;
      pm::plan_point p{.gpus = s.gpus};
      p.cost_per_million = s.usd * pm::usd;
      if (!r.fewest_gpus) r.fewest_gpus = p;
      if (!r.best || s.usd < r.frontier[0].cost_per_million->value()) r.frontier = {p};
      r.best = 0;
    }
    return r;
  };
}

pm::plan_request request(double users) {
  return {.accelerators = {cat::h100_sxm},
          .model = cat::llama_3_8b,
          .gpus = 4,
          .load = {.input_tokens = 2048, .output_tokens = 256, .arrivals = pm::closed_loop{users}},
          .precisions = {{"bf16"}}};
}
pm::calibrated measured(const pm::accelerator& a, pm::engine e) {
  return pm::calibrated_for(a, e);
}

}  // namespace

TEST_CASE("search_gpu_count: the limit doubles until its best is no cheaper") {
  std::vector<int> asked;
  // 5 GPUs within the targets, 14 cheaper, 40 cheaper still but behind a doubling that does not
  // help.
  const auto c =
      pm::search_gpu_count({}, {}, plan_of_steps({{5, 3.0}, {14, 2.0}, {40, 1.0}}, asked));
  CHECK(c.limits == std::vector<int>{1, 2, 4, 8, 16, 32});
  CHECK(c.request.gpus == 32);
  REQUIRE(c.result.best);
  CHECK(c.result.frontier[0].gpus == 14);
  REQUIRE(c.result.fewest_gpus);
  CHECK(c.result.fewest_gpus->gpus == 5);
  CHECK(asked == std::vector<int>{1, 2, 4, 8, 16, 32});  // a limit of 4 = 5 - 1 has failed already
}

TEST_CASE("search_gpu_count: the fewest GPUs by bisection, where a plan does not report them") {
  std::vector<int> asked;
  // Reports the largest count below its limit, as a plan that prunes smaller ones may.
  const auto plan = [&](const pm::plan_request& q) {
    asked.push_back(q.gpus);
    pm::plan_result r;
    if (q.gpus < 37) return r;
    pm::plan_point p{.gpus = q.gpus};
    p.cost_per_million = 1.0 * pm::usd;
    r.frontier = {p};
    r.fewest_gpus = p;
    r.best = 0;
    return r;
  };
  const auto c = pm::search_gpu_count({}, {}, plan);
  REQUIRE(c.result.fewest_gpus);
  CHECK(c.result.fewest_gpus->gpus == 37);
  CHECK(asked.size() < 18);
}

TEST_CASE("search_gpu_count: a limit that is dearer than one before it is not taken") {
  // Pools of 6 or 7 GPUs are cheaper than those that a plan of more tries.
  const auto plan = [](const pm::plan_request& q) {
    pm::plan_result r;
    if (q.gpus < 6) return r;
    pm::plan_point p{.gpus = (std::min)(q.gpus, 12)};
    p.cost_per_million = (q.gpus < 8 ? 1.0 : q.gpus < 16 ? 2.0 : 3.0) * pm::usd;
    r.frontier = {p};
    r.fewest_gpus = p;
    r.best = 0;
    return r;
  };
  const auto c = pm::search_gpu_count({}, {}, plan);
  CHECK(c.limits == std::vector<int>{1, 2, 4, 8, 16});
  REQUIRE(c.result.best);
  CHECK(c.result.frontier[0].cost_per_million->value() == 1.0);
  CHECK(c.request.gpus < 8);
  REQUIRE(c.result.fewest_gpus);
  CHECK(c.result.fewest_gpus->gpus == 6);
}

TEST_CASE("search_gpu_count: first limit, ceiling, and a miss that more GPUs do not lower") {
  std::vector<int> asked;
  auto c = pm::search_gpu_count({}, {.first = 3, .ceiling = 40, .until_met = true},
                                plan_of_steps({{5, 3.0}, {14, 2.0}}, asked));
  CHECK(c.limits == std::vector<int>{3, 6});
  c = pm::search_gpu_count({}, {.ceiling = 12}, plan_of_steps({{100, 3.0}}, asked));
  CHECK(c.limits == std::vector<int>{1, 2, 4, 8, 12});
  CHECK_FALSE(c.result.best);
  CHECK_FALSE(c.result.fewest_gpus);
  // The nearest misses by 3, 2, 2, 2: two doublings in vain.
  int calls = 0;
  c = pm::search_gpu_count({}, {}, [&](const pm::plan_request&) {
    pm::plan_result r;
    r.nearest_point.emplace();
    r.nearest_miss = ++calls == 1 ? 3.0 : 2.0;
    return r;
  });
  CHECK(c.limits == std::vector<int>{1, 2, 4, 8});
  CHECK(refusal([&] {
          pm::search_gpu_count({}, {.ceiling = 0}, plan_of_steps({}, asked));
        }).find("ceiling") != std::string::npos);
  CHECK(refusal([&] {
          pm::search_gpu_count({}, {.first = 9, .ceiling = 8}, plan_of_steps({}, asked));
        }).find("first") != std::string::npos);
}

TEST_CASE("search_gpu_count: each GPU count on its own, and none is cheaper or smaller") {
  for (const double users : {20.0, 150.0}) {
    auto q = request(users);
    q.targets.itl = pm::latency_target{12.0 * pm::ms};
    q.queued_limit = 0.01;
    const auto plan = [](const pm::plan_request& x) { return pm::plan(x, measured); };
    const auto c = pm::search_gpu_count(q, {}, plan);
    REQUIRE(c.result.best);
    const auto& best = c.result.frontier[0];
    REQUIRE(c.result.fewest_gpus);
    for (q.gpus = 1; q.gpus <= c.request.gpus; ++q.gpus) {
      const auto r = pm::plan(q, measured);
      CHECK(r.best.has_value() == (q.gpus >= c.result.fewest_gpus->gpus));
      if (!r.best) continue;
      CHECK(r.frontier[0].cost_per_million->value() >= best.cost_per_million->value());
      CHECK((r.frontier[0].cost_per_million == best.cost_per_million) == (q.gpus >= best.gpus));
    }
  }
}

TEST_CASE("admission delay: a closed loop of N with a batch limit of B queues N - B") {
  const pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_8b};
  const auto policy = pm::calibrated_for(cat::h100_sxm, pm::engine::none);
  for (const double users : {16.0, 24.0, 96.0}) {
    pm::service_load l{
        .input_tokens = 1024, .output_tokens = 256, .arrivals = pm::closed_loop{users}};
    l.batch_limit = 16;
    for (const auto& s : {pm::serving(d, l, policy), pm::serving_bound(d, l)}) {
      CHECK(near(pm::queued_requests(s), users - 16.0, 1e-9));
      CHECK(near(s.queued, (users - 16.0) / users, 1e-9));
      CHECK(s.admission_delay <= s.wait);
      // Little's law on the whole loop: N = X (TTFT + the rest of the answer).
      CHECK(near(s.throughput.value() * s.e2e.value(), users, 1e-6));
    }
  }
}

TEST_CASE("admission delay: an open loop queues where its slots are taken") {
  const pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_8b};
  const auto policy = pm::calibrated_for(cat::h100_sxm, pm::engine::none);
  pm::service_load l{.input_tokens = 1024,
                     .output_tokens = 256,
                     .arrivals = pm::open_loop{4.0 * pm::request / pm::second}};
  const auto free = pm::serving(d, l, policy);
  CHECK(free.queued < 1e-6);
  CHECK(pm::queued_requests(free) < 1e-6);
  // With as many slots as are in use on average, about half of the arrivals find none.
  l.batch_limit = std::ceil(free.throughput.value() * (free.e2e - free.wait).value()) + 1.0;
  const auto taken = pm::serving(d, l, policy);
  REQUIRE(taken.feasible);
  CHECK(taken.queued > 0.1);
  CHECK(taken.queued < 0.9);
  CHECK(taken.admission_delay > free.admission_delay);
}

TEST_CASE("plan: a limit of queued requests rejects what queues, and says so") {
  auto q = request(600.0);
  q.gpus = 1;
  q.engines = {pm::engine::vllm};
  const auto queues = pm::plan(q, measured);
  REQUIRE(queues.best);
  CHECK(queues.frontier[0].serving.queued > 0.01);
  q.queued_limit = 0.01;
  const auto none = pm::plan(q, measured);
  CHECK_FALSE(none.best);
  REQUIRE(none.nearest_point);
  bool said = false;
  for (const auto& r : none.rejected)
    said = said || r.reason.starts_with("requests queue for KV memory");
  CHECK(said);
  q.gpus = 8;
  const auto all = pm::plan(q, measured);
  REQUIRE(all.best);
  for (const auto& p : all.frontier) CHECK(p.serving.queued <= 0.01);
  q.queued_limit = 0.0;
  CHECK(refusal([&] { pm::plan(q, measured); }).find("queued_limit") != std::string::npos);
}

TEST_CASE("checkpoint_precisions: the formats of a checkpoint on each accelerator") {
  auto q = request(8.0);
  const auto of = [&](const pm::weight_storage& stored) {
    return pm::checkpoint_precisions(q, stored, {}, true);
  };
  auto all = of(pm::bf16);
  REQUIRE(all.size() == 1);
  CHECK(all[0].name == pm::label("bf16"));
  CHECK(all[0].kv == pm::storage_format(pm::bf16));
  CHECK_FALSE(all[0].only_engine);
  CHECK(all[0].only_accelerator == pm::label{});

  // Volta has no bf16: the same checkpoint runs there in fp16.
  q.accelerators = {cat::h100_sxm, cat::v100_sxm_32gb};
  all = of(pm::bf16);
  REQUIRE(all.size() == 2);
  CHECK(all[0].only_accelerator == pm::label("h100_sxm"));
  CHECK(all[0].weights.linear.format == pm::bf16);
  CHECK(all[1].only_accelerator == pm::label("v100_sxm_32gb"));
  CHECK(all[1].weights.linear.format == pm::fp16);
  CHECK(all[1].weights.others == pm::fp16);
  q.precisions = all;
  q.gpus = 1;
  for (const auto& p : pm::plan_bound(q).frontier) {
    CHECK((p.precision.weights.linear.format == pm::fp16) ==
          (p.accelerator == cat::v100_sxm_32gb.name));
  }

  // fp8 in blocks of 128 x 128: multiplied in fp8 on Hopper, widened on Ampere.
  q.accelerators = {cat::h100_sxm, cat::a100_sxm_80gb};
  all = of(pm::storage_format(pm::fp8, 128.0 * 128.0, 32));
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == pm::label("fp8 128x128"));
  CHECK(all[0].activations == pm::fp8);
  CHECK(all[1].activations == pm::bf16);

  // gpt-oss: MXFP4 experts and bf16 elsewhere.
  const pm::storage_format mxfp4(pm::fp4, 32, 8);
  q.accelerators = {cat::h100_sxm};
  all = of(pm::weight_storage(pm::bf16, mxfp4, pm::bf16));
  REQUIRE_FALSE(all.empty());
  CHECK(all[0].name == pm::label("mxfp4 experts"));
  CHECK(all[0].weights.experts == mxfp4);
  const auto named = [](const pm::storage_format& s) { return pm::detail::storage_name(s); };
  CHECK(named({pm::fp4, 16, 8}) == "nvfp4");
  CHECK(named({pm::int4, 128, 16}) == "int4 g128");
  CHECK(named(pm::int8) == "int8");
}

}  // namespace unit_plan_count
