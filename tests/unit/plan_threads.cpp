// A plan on several threads: what is taken, in which order, and that it is the plan of one.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/plan.hpp>
#include <stdexcept>
#include <string>
#include <thread>

namespace unit_plan_threads {

namespace pm = perfmodel;
namespace cat = pm::catalog;

TEST_CASE("plan_threads: work is taken in its order, whoever does it") {
  for (const unsigned threads : {1u, 2u, 5u, 16u}) {
    std::vector<std::size_t> taken;
    pm::detail::in_order(
        200, threads, [](std::size_t i) { return i * i; },
        [&](std::size_t i, std::size_t square) {
          CHECK(square == i * i);
          taken.push_back(i);
        });
    REQUIRE(taken.size() == 200);
    for (std::size_t i = 0; i < taken.size(); ++i) CHECK(taken[i] == i);
    pm::detail::in_order(
        0, threads, [](std::size_t i) { return i; },
        [](std::size_t, std::size_t) { CHECK(false); });
  }
}

TEST_CASE("plan_threads: as many as are asked for, or as the machine has") {
  CHECK(pm::detail::threads_of(3) == 3);
  CHECK(pm::detail::threads_of(0) >= 1);
}

TEST_CASE("plan_threads: of the pieces that throw the first is heard, after what was before it") {
  for (const unsigned threads : {1u, 2u, 5u}) {
    std::size_t taken = 0;
    std::string heard;
    try {
      pm::detail::in_order(
          100, threads,
          [](std::size_t i) {
            if (i >= 17) throw std::runtime_error(std::to_string(i));
            return i;
          },
          [&](std::size_t, std::size_t) { ++taken; });
    } catch (const std::runtime_error& e) {
      heard = e.what();
    }
    CHECK(heard == "17");
    CHECK(taken == 17);
    // What takes may throw too, while others work.
    CHECK_THROWS_AS(pm::detail::in_order(
                        100, threads, [](std::size_t i) { return i; },
                        [](std::size_t i, std::size_t) {
                          if (i == 3) throw std::logic_error("taken");
                        }),
                    std::logic_error);
  }
}

TEST_CASE("plan_threads: the plan of two and of three threads is that of one") {
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
  for (const double ttft : {0.05, 0.4, 3.0}) {  // nobody, some and most meet it
    q.targets.ttft = pm::latency_target{ttft * pm::second};
    q.threads = 1;
    const pm::plan_result one = pm::plan(q, policy);
    CHECK(one.evaluated > 300);
    for (const int threads : {2, 3}) {
      q.threads = threads;
      const pm::plan_result many = pm::plan(q, policy);
      CHECK(many.evaluated == one.evaluated);
      CHECK(many.pruned == one.pruned);
      CHECK(many.feasible == one.feasible);
      CHECK(many.best == one.best);
      CHECK(many.miss == one.miss);
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
  q.threads = -1;
  CHECK_THROWS_AS(pm::plan(q, policy), pm::error);
}

TEST_CASE("plan_threads: progress is called by the caller's thread, and may stop the plan") {
  pm::plan_request q{
      .accelerators = {cat::h100_sxm},
      .model = cat::llama_3_8b,
      .gpus = 8,
      .load = {.input_tokens = 512, .output_tokens = 256, .arrivals = pm::closed_loop{512}},
      .engines = {pm::engine::vllm},
      .threads = 2};
  const auto here = std::this_thread::get_id();
  CHECK_THROWS_AS(pm::plan(q, pm::calibrated_for(cat::h100_sxm, pm::engine::vllm),
                           [&](long done) {
                             CHECK(std::this_thread::get_id() == here);
                             if (done >= 512) throw std::runtime_error("enough");
                           }),
                  std::runtime_error);
}

}  // namespace unit_plan_threads
