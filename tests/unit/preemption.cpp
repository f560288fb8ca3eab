// Sequences that are evicted: by hand, and as the simulator has them.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving/preemption.hpp>
#include <string>

#include "simulator/simulate.hpp"
#include "support/near.hpp"

namespace unit_preemption {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
namespace sim = perfmodel_test::simulator;
using perfmodel_test::near;

namespace {

const pm::deployment llama =
    pm::with_all_memory(pm::deployment{.device = cat::h100_sxm,
                                       .model = cat::llama_3_70b,
                                       .layout = {.tensor = 8},
                                       .serving_engine = pm::engine::vllm});
pm::service_load closed(double concurrency) {
  return {.input_tokens = 2000, .output_tokens = 1000, .arrivals = pm::closed_loop{concurrency}};
}
const pm::datasheet policy{};

/// Evictions of a request where three times as many wait as fit on average.
double simulated(int input, int output) {
  constexpr int places = 40;
  perfmodel_test::random_numbers r(5);
  sim::load l;
  l.jobs = sim::draw_jobs(r, 1000, sim::constant(input), sim::lognormal(output, 0.5));
  l.concurrency = 3 * places;
  l.warm_up = l.tail = 200;
  sim::scheduler s;
  s.max_sequences = 100000;
  s.kv_blocks = places * (input + output / 2) / sim::block_tokens;
  const auto time = [](const sim::pass& p) {
    return 0.01 + 1e-5 * p.prompt_tokens + 1e-7 * p.context * p.decoding;
  };
  const auto run = sim::simulate(l, s, time, 3);
  double preemption_effect = 0;
  for (const auto& q : run.requests) preemption_effect += q.preemptions;
  return preemption_effect / static_cast<double>(run.requests.size());
}

}  // namespace

TEST_CASE("preemption: what is computed anew, and what is sent out and in") {
  const auto e = pm::preemption_of(llama, closed(4000), 50.0 * pm::GB_per_s, policy);
  // 1000 / 2100 times, 2100 tokens each: 327,680 B per token over 8 ranks.
  CHECK(near(e.preemptions, 1000.0 / 2100));
  CHECK(near(e.tokens_lost, 2100));
  CHECK(near(e.swap_time.value(), 2 * 1000.0 / 2100 * 327680 * 2100 / 8 / 50e9));
  CHECK(near(e.recompute_time,
             1000.0 / 2100 * pm::step(llama, {.prefill_tokens = 2100}, policy).time));
  CHECK(e.cheaper_mode == pm::preemption::swap);
  CHECK(near(e.lost_time(), e.swap_time));
  const auto slow = pm::preemption_of(llama, closed(4000), 1.0 * pm::GB_per_s, policy);
  CHECK(slow.cheaper_mode == pm::preemption::recompute);
  CHECK(near(slow.lost_time(), slow.recompute_time));
  CHECK(pm::preemption_of(llama, closed(4000), {}, policy).cheaper_mode ==
        pm::preemption::recompute);
  CHECK(std::string(name_of(slow.cheaper_mode)) == "recompute");
}

TEST_CASE("preemption: none where all fit, or where whole outputs are reserved") {
  CHECK(pm::preemption_of(llama, closed(100), 50.0 * pm::GB_per_s, policy).preemptions == 0);
  auto reserves = llama;
  reserves.serving_engine = pm::engine::trtllm;
  CHECK(pm::preemption_of(reserves, closed(4000), 50.0 * pm::GB_per_s, policy).preemptions == 0);
  auto open = closed(1);
  open.arrivals = pm::open_loop{.rate = 1.0 * pm::request_per_s};
  CHECK(pm::preemption_of(llama, open, 50.0 * pm::GB_per_s, policy).preemptions == 0);
}

TEST_CASE("preemption: as often as the simulator evicts", "[long]") {
  for (const int input : {200, 500, 1000, 2000}) {
    for (const int output : {500, 1000, 2000}) {
      const double evicted = simulated(input, output);
      const double law = pm::preemptions_of_full_service(double(input), double(output));
      INFO(input << " and " << output << ": " << evicted << ", law " << law);
      CHECK(std::fabs(law / evicted - 1) < 0.15);
    }
  }
  // Short answers leave room in their blocks.
  CHECK(simulated(2000, 100) <= pm::preemptions_of_full_service(2000.0, 100.0));
}

}  // namespace unit_preemption
