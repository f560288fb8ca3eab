// Incumbents of a plan: they leave out points, and no row of the result.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/nvidia_ampere.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/gpt_oss.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/model/catalog/qwen.hpp>
#include <perfmodel/plan.hpp>

namespace unit_plan_incumbents {

namespace pm = perfmodel;
namespace cat = pm::catalog;

namespace {

pm::calibrated measured(const pm::accelerator& a, pm::engine e) {
  return pm::calibrated_for(a, e);
}

/// The plan with every point evaluated to the end.
pm::plan_result without_incumbents(const pm::plan_request& q) {
  using evaluator = pm::detail::prediction_evaluator<pm::calibrated>;
  const auto candidates = pm::detail::enumerate_candidates(q, {true, true});
  const pm::detail::evaluator_list<evaluator> evaluators(
      candidates,
      [](const pm::accelerator& a, pm::engine e) { return evaluator(measured(a, e), e); });
  const pm::detail::incumbent_list none;
  const pm::detail::no_progress progress;
  pm::detail::plan_collector collector(q, progress);
  for (const pm::detail::plan_candidate& c : candidates) {
    pm::detail::steps_of_variants<evaluator> steps;
    collector.add(c,
                  pm::detail::evaluate(q, c, evaluators, steps, collector.has_met_targets(), none));
  }
  return collector.finish();
}

void check_equal(const pm::plan_point& x, const pm::plan_point& y) {
  CHECK(x.accelerator == y.accelerator);
  CHECK(x.precision.name == y.precision.name);
  CHECK(x.serving_engine == y.serving_engine);
  CHECK(x.layout == y.layout);
  CHECK(x.chunk_tokens == y.chunk_tokens);
  CHECK(x.replicas == y.replicas);
  CHECK(x.batch_limit == y.batch_limit);
  CHECK(x.serving.itl == y.serving.itl);
  CHECK(x.serving.ttft == y.serving.ttft);
  CHECK(x.gpu_time_per_million == y.gpu_time_per_million);
  CHECK(x.cost_per_million == y.cost_per_million);
}

/// Compares the plans with and without incumbents. Returns the share of points left out. Batch
/// limits of a closed loop that more replicas dominate are left out by both.
double compare(const pm::plan_request& q) {
  const pm::plan_result with = pm::plan(q, measured), without = without_incumbents(q);
  REQUIRE(with.frontier.size() == without.frontier.size());
  for (std::size_t i = 0; i < with.frontier.size(); ++i)
    check_equal(with.frontier[i], without.frontier[i]);
  CHECK(with.best == without.best);
  CHECK(with.nearest_miss == without.nearest_miss);
  REQUIRE(with.nearest_point.has_value() == without.nearest_point.has_value());
  if (with.nearest_point) check_equal(*with.nearest_point, *without.nearest_point);
  REQUIRE(with.fewest_gpus.has_value() == without.fewest_gpus.has_value());
  if (with.fewest_gpus) check_equal(*with.fewest_gpus, *without.fewest_gpus);
  if (!q.load.is_closed()) {
    CHECK(without.pruned == 0);
    CHECK(with.evaluated + with.pruned == without.evaluated);
  }
  return 1.0 - static_cast<double>(with.evaluated) / static_cast<double>(without.evaluated);
}

pm::plan_request request(const pm::accelerator& a, const pm::transformer& model, double rate) {
  return {.accelerators = {a},
          .model = model,
          .gpus = 16,
          .load = {.input_tokens = 2048.0,
                   .output_tokens = 256.0,
                   .arrivals = pm::open_loop{.rate = rate * pm::request / pm::second}}};
}

}  // namespace

TEST_CASE("plan incumbents: the rows of an open loop are those of all points") {
  for (const double rate : {0.5, 6.0, 20.0}) {
    CAPTURE(rate);
    CHECK(compare(request(cat::h100_sxm, cat::llama_3_70b, rate)) > (rate > 10.0 ? 0.1 : 0.4));
    CHECK(compare(request(cat::h100_sxm, cat::gpt_oss_120b, rate)) > 0.4);
  }
}

TEST_CASE("plan incumbents: with targets, two accelerators and bursts") {
  pm::plan_request q = request(cat::h100_sxm, cat::llama_3_70b, 8.0);
  q.accelerators.push_back(cat::a100_sxm_80gb);
  CHECK(compare(q) > 0.3);
  q.targets.itl = pm::latency_target{30.0 * pm::ms};
  q.targets.ttft = pm::latency_target{0.5 * pm::second, 0.9};
  CHECK(compare(q) > 0.3);
  q.targets.itl = pm::latency_target{1.0 * pm::ms};
  CHECK(compare(q) == 0.0);  // no incumbent: no point meets the targets
  q.targets = {};
  std::get<pm::open_loop>(q.load.arrivals).cv = 2.0;
  q.queued_limit = 0.01;
  q.load.input_tokens = 6000.0;
  CHECK(compare(q) > 0.04);
}

TEST_CASE("plan incumbents: refused points leave out no others") {
  pm::plan_request q = request(cat::h100_sxm, cat::llama_3_70b, 6.0);
  q.engines = {pm::engine::vllm};
  q.precisions.resize(1);
  q.chunk_budgets.clear();
  for (int round = 0; round < 4; ++round) {
    const pm::plan_result r = pm::plan(q, measured);
    REQUIRE_FALSE(r.frontier.empty());
    for (const pm::plan_point& p : r.frontier)
      q.refused.push_back(pm::refusal_of(p, pm::infeasible("it misses", "s", 2.0, 1.0)));
    compare(q);
  }
}

TEST_CASE("plan incumbents: replica counts that are overloaded are counted, not solved") {
  pm::plan_request q = request(cat::h100_sxm, cat::llama_3_70b, 30.0);
  q.gpus = 64;
  q.engines = {pm::engine::vllm};
  q.precisions = {q.precisions[3]};
  q.chunk_budgets.clear();
  const pm::calibrated policy = measured(cat::h100_sxm, pm::engine::vllm);
  using evaluator_type = pm::detail::prediction_evaluator<pm::calibrated>;
  const evaluator_type evaluator(policy, pm::engine::vllm);
  const pm::detail::plan_candidate c{.device = &q.accelerators.front(),
                                     .serving_engine = pm::engine::vllm,
                                     .precision = &q.precisions.front(),
                                     .layout = {.tensor = 2}};
  const pm::detail::incumbent_list none;
  const pm::detail::known_candidate nothing;
  pm::detail::steps_of_variants<evaluator_type> steps;
  const pm::detail::plan_evaluation e =
      pm::detail::candidate_evaluation(q, c, evaluator, steps, true, none, nothing)
          .evaluate_replicas();
  // Each count by itself, from one replica on.
  const pm::deployment d{.device = cat::h100_sxm,
                         .model = cat::llama_3_70b,
                         .layout = c.layout,
                         .weights = c.precision->weights,
                         .activations = c.precision->activations,
                         .kv = c.precision->kv,
                         .serving_engine = pm::engine::vllm};
  long overloaded = 0;
  pm::feasibility nearest;
  for (int n = 1; n <= 32; ++n) {
    const pm::serving_estimate s = pm::serving(d, pm::per_replica(q.load, n), policy);
    if (s.feasible) break;
    ++overloaded;
    nearest = s.feasible;
  }
  REQUIRE(overloaded > 2);
  REQUIRE_FALSE(e.sweeps.empty());
  REQUIRE(e.sweeps.front().points.size() == 1);
  const pm::detail::evaluated_point& x = e.sweeps.front().points.front();
  CHECK(x.point.replicas == overloaded);
  CHECK(x.overloaded == overloaded - 1);
  CHECK(x.point.serving.feasible.needed == nearest.needed);
  long told = 0;
  const auto progress = [&](long) { ++told; };
  pm::detail::plan_collector collector(q, progress);
  collector.add(c, e);
  const pm::plan_result r = collector.finish();
  REQUIRE(r.rejected.size() == 1);
  CHECK(r.rejected.front().count == overloaded);
  CHECK(r.rejected.front().needed == nearest.needed);
  CHECK(r.evaluated == 32);
}

TEST_CASE("plan incumbents: the ITL to beat, by hand") {
  const auto point = [](int gpus, double cost, double itl) {
    pm::plan_point p;
    p.gpus = gpus;
    p.gpu_time_per_million = cost * pm::second;
    p.serving.itl = itl * pm::second;
    return p;
  };
  pm::detail::incumbent_list all(false);
  CHECK(all.itl_to_beat(point(9, 9.0, 0.0)).value() == 0.0);
  all.add(point(2, 2.0, 0.040));
  all.add(point(4, 4.0, 0.020));
  all.add(point(8, 8.0, 0.030));                              // dominated by the second
  CHECK(all.itl_to_beat(point(2, 9.0, 0.0)).value() == 0.0);  // it may have the fewest GPUs
  CHECK(all.itl_to_beat(point(3, 1.9, 0.0)).value() == 0.0);  // the cheapest
  CHECK(all.itl_to_beat(point(3, 3.0, 0.0)).value() == 0.040);
  CHECK(all.itl_to_beat(point(9, 8.0, 0.0)).value() == 0.020);
}

TEST_CASE("plan incumbents: the rows of a closed loop are those of all points") {
  for (const double concurrency : {1.0, 24.0, 500.0}) {
    CAPTURE(concurrency);
    pm::plan_request q = request(cat::h100_sxm, cat::llama_3_70b, 1.0);
    q.load.arrivals = pm::closed_loop{concurrency};
    CHECK(compare(q) > 0.3);
    q.model = cat::gpt_oss_120b;
    q.accelerators.push_back(cat::a100_sxm_80gb);
    CHECK(compare(q) > 0.3);
  }
}

TEST_CASE("plan incumbents: closed loops with targets, runs and preemptions") {
  pm::plan_request q = request(cat::h100_sxm, cat::llama_3_70b, 1.0);
  q.load.arrivals = pm::closed_loop{64.0, 64.0};  // a run of one batch
  CHECK(compare(q) > 0.3);
  q.load.output_tokens = 2.0;  // throughput falls where batches grow
  q.load.arrivals = pm::closed_loop{200.0};
  CHECK(compare(q) > 0.3);
  q.load.output_tokens = 256.0;
  q.targets.itl = pm::latency_target{60.0 * pm::ms};
  q.targets.ttft = pm::latency_target{20.0 * pm::second, 0.9};
  CHECK(compare(q) > 0.3);
  q.targets.itl = pm::latency_target{1.0 * pm::ms};
  CHECK(compare(q) == 0.0);  // no incumbent: no point meets the targets
  q.targets = {};
  q.load.preemption_mode = pm::preemption::recompute;
  CHECK(compare(q) == 0.0);  // throughput may fall where more requests are admitted
}

TEST_CASE("plan incumbents: none behind a batch limit at which requests queue too long") {
  // With 9 replicas of one GPU only the batch limits 43 and 1 queue for less than 51 s. The plan
  // tries none below 32, at which they queue for longer.
  pm::plan_request q{.accelerators = {cat::h100_sxm},
                     .model = cat::qwen_3_32b,
                     .gpus = 9,
                     .load = {.input_tokens = 6333.0,
                              .output_tokens = 5.0,
                              .arrivals = pm::closed_loop{1003.0, 8024.0},
                              .input_cv = 0.287361,
                              .prefix_hit = 0.352958,
                              .scheduler = pm::scheduling::prefill_first},
                     .max_queueing_time = 51.0 * pm::second,
                     .engines = {pm::engine::sglang}};
  q.precisions = {q.precisions[3]};
  compare(q);
  const pm::plan_result r = pm::plan(q, measured);
  REQUIRE(r.best);
  CHECK(r.frontier[*r.best].batch_limit > 32.0);
}

TEST_CASE("plan incumbents: points that are known are not evaluated again") {
  using evaluator = pm::detail::prediction_evaluator<pm::calibrated>;
  pm::plan_request q = request(cat::h100_sxm, cat::llama_3_70b, 1.0);
  q.load.arrivals = pm::closed_loop{64.0};
  const pm::calibrated policy = measured(cat::h100_sxm, pm::engine::vllm);
  const evaluator by_policy(policy, pm::engine::vllm);
  const pm::detail::plan_candidate c{.device = &q.accelerators.front(),
                                     .serving_engine = pm::engine::vllm,
                                     .precision = &q.precisions.front(),
                                     .layout = {.tensor = 8}};
  const pm::detail::incumbent_list none;
  pm::detail::known_candidate known;
  const auto evaluated = [&] {
    pm::detail::steps_of_variants<evaluator> steps;
    return pm::detail::candidate_evaluation(q, c, by_policy, steps, true, none, known)
        .evaluate_replicas();
  };
  const pm::detail::plan_evaluation alone = evaluated();
  for (const pm::detail::batch_sweep& sweep : alone.sweeps) {
    for (pm::detail::evaluated_point x : sweep.points) {
      x.point.serving.e2e = 7.0 * pm::second;
      known.points.push_back(x);
    }
  }
  REQUIRE(known.points.size() > 3);
  const pm::detail::plan_evaluation again = evaluated();
  REQUIRE(again.sweeps.size() == alone.sweeps.size());
  for (std::size_t i = 0; i < again.sweeps.size(); ++i) {
    REQUIRE(again.sweeps[i].points.size() == alone.sweeps[i].points.size());
    for (std::size_t k = 0; k < again.sweeps[i].points.size(); ++k) {
      CHECK(again.sweeps[i].points[k].point.serving.e2e == 7.0 * pm::second);
      check_equal(again.sweeps[i].points[k].point, alone.sweeps[i].points[k].point);
    }
  }
  // Nor are they left out, though an incumbent dominates all points.
  pm::plan_point best;
  best.gpus = 1;
  best.gpu_time_per_million = 1e-9 * pm::second;
  best.serving.itl = 1e-9 * pm::second;
  pm::detail::incumbent_list all;
  all.add(best);
  const auto count = [&](const pm::detail::known_candidate& before) {
    pm::detail::steps_of_variants<evaluator> steps;
    std::size_t points = 0;
    for (const pm::detail::batch_sweep& sweep :
         pm::detail::candidate_evaluation(q, c, by_policy, steps, true, all, before)
             .evaluate_replicas()
             .sweeps)
      points += sweep.points.size();
    return points;
  };
  CHECK(count(known) == known.points.size());
  CHECK(count({}) <= 1);
  pm::detail::known_candidate too_large;
  too_large.memory = pm::detail::candidate_memory{pm::infeasible("it is too large", "B", 2.0, 1.0)};
  pm::detail::steps_of_variants<evaluator> steps;
  CHECK_FALSE(pm::detail::candidate_evaluation(q, c, by_policy, steps, true, none, too_large)
                  .evaluate_replicas()
                  .feasible);
}

}  // namespace unit_plan_incumbents
