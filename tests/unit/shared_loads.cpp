// Loads of a plan that share the engine steps of one deployment: each has the results that it has by
// itself.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/gpt_oss.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/plan.hpp>

namespace unit_shared_loads {

namespace pm = perfmodel;
namespace cat = pm::catalog;

/// Compares all loads of a deployment, in the order of a plan. Returns how many were overloaded.
int compare(const pm::deployment& d, pm::service_load l) {
  const pm::calibrated policy = pm::calibrated_for(d.device, d.serving_engine);
  const pm::detail::prediction_evaluator<pm::calibrated> evaluator(policy, d.serving_engine);
  auto steps = evaluator.steps_of(d);
  int overloaded = 0;
  const auto check = [&] {
    const pm::serving_estimate shared = evaluator.serve(d, l, steps);
    const pm::serving_estimate alone = pm::serving(d, l, policy);
    CHECK(shared.capacity == alone.capacity);
    REQUIRE(shared.feasible.feasible == alone.feasible.feasible);
    if (!alone.feasible) {
      ++overloaded;
      CHECK(shared.feasible.reason == alone.feasible.reason);
      CHECK(shared.feasible.needed == alone.feasible.needed);
      CHECK(shared.feasible.available == alone.feasible.available);
      return;
    }
    CHECK(shared.itl == alone.itl);
    CHECK(shared.ttft == alone.ttft);
    CHECK(shared.e2e == alone.e2e);
    CHECK(shared.batch == alone.batch);
    CHECK(shared.wait == alone.wait);
    CHECK(shared.queued == alone.queued);
    CHECK(shared.output_rate == alone.output_rate);
    CHECK(shared.ttft_distribution.quantile(0.99) == alone.ttft_distribution.quantile(0.99));
    CHECK(shared.itl_distribution.quantile(0.9) == alone.itl_distribution.quantile(0.9));
  };
  for (const double limit : {300.0, 64.0}) {
    l.batch_limit = limit;
    for (const int replicas : {1, 2, 3, 4, 6, 8, 64}) {
      l.arrivals = pm::open_loop{.rate = 40.0 / replicas * pm::request / pm::second, .cv = 1.5};
      check();
      l.arrivals = pm::closed_loop{500.0 / replicas};
      check();
    }
  }
  return overloaded;
}

TEST_CASE("shared loads: as each load by itself, under each engine") {
  const pm::service_load l{.input_tokens = 2048.0, .output_tokens = 256.0, .input_cv = 0.3};
  for (const auto engine : {pm::engine::vllm, pm::engine::sglang, pm::engine::trtllm}) {
    const int overloaded = compare({.device = cat::h100_sxm,
                                    .model = cat::llama_3_70b,
                                    .layout = {.tensor = 8},
                                    .serving_engine = engine},
                                   l);
    CHECK(overloaded >= 4);
    CHECK(overloaded <= 12);
  }
}

TEST_CASE("shared loads: with preemptions, chunks and a prefix of all prompts") {
  pm::service_load l{.input_tokens = 6000.0, .output_tokens = 800.0, .chunk_tokens = 4096.0};
  l.shared.push_back({1000.0, 4.0});
  const pm::deployment d{.device = cat::h100_sxm,
                         .model = cat::gpt_oss_120b,
                         .layout = {.tensor = 2},
                         .serving_engine = pm::engine::vllm};
  CHECK(compare(d, l) > 0);
}

TEST_CASE("shared loads: token budgets share the steps of their deployment") {
  using evaluator = pm::detail::prediction_evaluator<pm::calibrated>;
  const pm::calibrated policy = pm::calibrated_for(cat::h100_sxm, pm::engine::vllm);
  const evaluator by_policy(policy, pm::engine::vllm);
  pm::deployment d{.device = cat::h100_sxm,
                   .model = cat::llama_3_70b,
                   .layout = {.tensor = 4},
                   .serving_engine = pm::engine::vllm};
  pm::detail::steps_of_variants<evaluator> shared;
  for (const double tokens : {512.0, 2048.0, 8192.0}) {
    d.limits.tokens = tokens;
    pm::service_load l{.input_tokens = 2048.0, .output_tokens = 256.0};
    for (const double n : {1.0, 7.0, 300.0, 7.0}) {
      l.arrivals = pm::closed_loop{n};
      const pm::serving_estimate s = by_policy.serve(d, l, shared.of(by_policy, d));
      const pm::serving_estimate alone = pm::serving(d, l, policy);
      CHECK(s.itl == alone.itl);
      CHECK(s.ttft == alone.ttft);
      CHECK(s.capacity == alone.capacity);
    }
  }
  // A decode step of another budget is not evaluated again.
  auto& steps = shared.of(by_policy, d);
  const pm::iteration decode{.batch = 5.0, .context = 2176.0};
  const pm::duration<> time = steps.time(decode);
  d.limits.tokens = 1024.0;
  CHECK(&shared.of(by_policy, d) == &steps);
  CHECK(steps.time(decode) == time);
}

TEST_CASE("shared loads: a plan of an open loop rejects what is overloaded, with its rates") {
  pm::plan_request q{.accelerators = {cat::h100_sxm},
                     .model = cat::llama_3_70b,
                     .gpus = 16,
                     .load = {.input_tokens = 2048.0,
                              .output_tokens = 256.0,
                              .arrivals = pm::open_loop{.rate = 12.0 * pm::request / pm::second}},
                     .engines = {pm::engine::vllm}};
  const pm::calibrated policy = pm::calibrated_for(cat::h100_sxm, pm::engine::vllm);
  const pm::plan_result r = pm::plan(q, policy);
  bool is_found = false;
  for (const pm::plan_rejection& x : r.rejected) {
    if (x.unit != std::string_view("req/s")) continue;
    is_found = true;
    CHECK(x.needed >= x.available);
    CHECK(x.available > 0.0);
  }
  CHECK(is_found);
  for (const pm::plan_point& p : r.frontier) {
    const pm::serving_estimate alone =
        pm::serving(pm::deployment_of(q, p), pm::load_of(q, p), policy);
    CHECK(p.serving.itl == alone.itl);
    CHECK(p.serving.ttft == alone.ttft);
  }
}

}  // namespace unit_shared_loads
