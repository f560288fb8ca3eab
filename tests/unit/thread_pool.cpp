// Plans on several threads: order of collection, exceptions, and results equal to one thread.
#include <catch2/catch_test_macros.hpp>
#include <napkin/thread_pool.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/plan.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace unit_thread_pool {

namespace pm = perfmodel;
namespace cat = pm::catalog;

TEST_CASE("thread_pool: evaluations are collected in their order") {
  for (const int threads : {1, 2, 5, 16}) {
    const napkin::thread_pool pool(threads);
    std::vector<std::size_t> collected;
    pool(
        200, [](std::size_t i, bool) { return i * i; },
        [&](std::size_t i, std::size_t square) {
          CHECK(square == i * i);
          collected.push_back(i);
          return false;
        });
    REQUIRE(collected.size() == 200);
    for (std::size_t i = 0; i < collected.size(); ++i) CHECK(collected[i] == i);
    pool(
        0, [](std::size_t i, bool) { return i; },
        [](std::size_t, std::size_t) {
          CHECK(false);
          return false;
        });
  }
}

TEST_CASE("thread_pool: evaluations get a hint only after it was collected") {
  for (const int threads : {1, 2, 5}) {
    std::size_t hinted = 0;
    const napkin::thread_pool pool(threads);
    pool(
        200, [](std::size_t, bool any_met) { return any_met; },
        [&](std::size_t i, bool any_met) {
          if (i <= 20) CHECK_FALSE(any_met);
          hinted += any_met ? 1 : 0;
          return i >= 20;
        });
    CHECK(hinted >= 100);
    if (threads == 1) CHECK(hinted == 179);
  }
}

TEST_CASE("thread_pool: the requested number of threads, or that of the machine") {
  CHECK(napkin::thread_count(3) == 3);
  CHECK(napkin::thread_count(0) >= 1);
}

TEST_CASE("thread_pool: the first exception is thrown, after the candidates before it") {
  for (const int threads : {1, 2, 5}) {
    const napkin::thread_pool pool(threads);
    std::size_t collected = 0;
    std::string message;
    try {
      pool(
          100,
          [](std::size_t i, bool) {
            if (i >= 17) throw std::runtime_error(std::to_string(i));
            return i;
          },
          [&](std::size_t, std::size_t) {
            ++collected;
            return false;
          });
    } catch (const std::runtime_error& e) {
      message = e.what();
    }
    CHECK(message == "17");
    CHECK(collected == 17);
    // The collection may throw too, during evaluations.
    const auto throw_at_3 = [](std::size_t i, std::size_t) {
      if (i == 3) throw std::logic_error("collected");
      return false;
    };
    CHECK_THROWS_AS(pool(
                        100, [](std::size_t i, bool) { return i; }, throw_at_3),
                    std::logic_error);
  }
}

TEST_CASE("thread_pool: the plan of two and of three threads is that of one") {
  const auto policy = [](const pm::accelerator& a, pm::engine e) {
    return pm::calibrated_for(a, e);
  };
  pm::plan_request q{
      .accelerators = {cat::h100_sxm, cat::a100_sxm_80gb},
      .model = cat::llama_3_8b,
      .gpus = 4,
      .load = {.input_tokens = 2048, .output_tokens = 256, .arrivals = pm::closed_loop{64}},
      .engines = {pm::engine::vllm}};
  q.pools = pm::plan_pools{};
  for (const double ttft : {0.05, 0.4, 3.0}) {  // none, some and most meet it
    q.targets.ttft = pm::latency_target{ttft * pm::second};
    const pm::plan_result one = pm::plan(q, policy);
    CHECK(one.evaluated > 300);
    for (const int threads : {2, 3}) {
      const pm::plan_result many = pm::plan(q, policy, napkin::thread_pool(threads));
      CHECK(many.evaluated == one.evaluated);
      CHECK(many.pruned == one.pruned);
      CHECK(many.feasible == one.feasible);
      CHECK(many.best == one.best);
      CHECK(many.nearest_miss == one.nearest_miss);
      REQUIRE(many.frontier.size() == one.frontier.size());
      for (std::size_t i = 0; i < one.frontier.size(); ++i) {
        CHECK(many.frontier[i].layout == one.frontier[i].layout);
        CHECK(many.frontier[i].replicas == one.frontier[i].replicas);
        CHECK(many.frontier[i].batch_limit == one.frontier[i].batch_limit);
        CHECK(many.frontier[i].output_rate == one.frontier[i].output_rate);
        CHECK(many.frontier[i].prefill.has_value() == one.frontier[i].prefill.has_value());
      }
      REQUIRE(many.rejected.size() == one.rejected.size());
      for (std::size_t i = 0; i < one.rejected.size(); ++i) {
        CHECK(many.rejected[i].count == one.rejected[i].count);
        CHECK(many.rejected[i].needed == one.rejected[i].needed);
        CHECK(many.rejected[i].reason == one.rejected[i].reason);
      }
    }
  }
}

TEST_CASE("thread_pool: progress is called by the caller's thread, and may stop the plan") {
  pm::plan_request q{
      .accelerators = {cat::h100_sxm},
      .model = cat::llama_3_8b,
      .gpus = 8,
      .load = {.input_tokens = 512, .output_tokens = 256, .arrivals = pm::closed_loop{512}},
      .engines = {pm::engine::vllm}};
  const auto here = std::this_thread::get_id();
  CHECK_THROWS_AS(
      pm::plan(q, pm::calibrated_for(cat::h100_sxm, pm::engine::vllm), napkin::thread_pool(2),
               [&](long done) {
                 CHECK(std::this_thread::get_id() == here);
                 if (done >= 512) throw std::runtime_error("enough");
               }),
      std::runtime_error);
}

}  // namespace unit_thread_pool
