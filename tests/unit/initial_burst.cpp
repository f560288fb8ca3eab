// The initial burst of a run with outputs streamed in chunks of tokens, against the simulator.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/serving.hpp>
#include <simulator/simulate.hpp>
#include <simulator/step_times.hpp>

#include "support/near.hpp"

namespace unit_initial_burst {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
namespace sim = perfmodel_test::simulator;
using perfmodel_test::near;

namespace {

/// All requests of a run at once.
pm::service_load wave(double requests, pm::scheduling kind, double first_tokens) {
  return {.input_tokens = 1024,
          .output_tokens = 256,
          .arrivals = pm::closed_loop{requests, requests},
          .chunk_tokens = 2048.0,
          .scheduler = kind,
          .stream_interval = first_tokens};
}
double simulated(const pm::deployment& d, int requests, sim::scheduling kind, int first_tokens) {
  perfmodel_test::random_numbers random(5);
  const sim::load load{
      .jobs = sim::draw_jobs(random, requests, sim::constant(1024), sim::constant(256)),
      .concurrency = requests};
  const sim::scheduler how{
      .kind = kind, .token_budget = 2048, .stream_interval = first_tokens, .stream_first = false};
  return sim::simulate(load, how, sim::predicted_step(d, pm::datasheet{}))
      .of(&sim::record::ttft)
      .mean();
}

}  // namespace

TEST_CASE(
    "initial burst: tokens of one stream chunk come after their own iterations, as simulated") {
  const auto d =
      pm::with_all_memory(pm::deployment{.device = cat::h100_sxm, .model = cat::llama_3_8b});
  const std::pair<pm::scheduling, sim::scheduling> kinds[] = {
      {pm::scheduling::prefill_first, sim::scheduling::prefill_first},
      {pm::scheduling::mixed_chunks, sim::scheduling::mixed}};
  for (const auto& [kind, simulated_kind] : kinds) {
    for (const int requests : {1, 4, 32}) {
      double one = 0.0;
      for (const int first : {1, 10, 40}) {
        const auto s = pm::serving(d, wave(requests, kind, first), pm::datasheet{});
        const double by_events = simulated(d, requests, simulated_kind, first);
        INFO(pm::name_of(kind) << ", " << requests << " requests, " << first << " tokens at once: "
                               << s.ttft.value() << " and " << by_events << " s");
        CHECK(std::abs(s.ttft.value() / by_events - 1.0) < 0.06);
        if (first == 1) one = s.ttft.value();
        // By hand: the rest of the first tokens takes a gap each.
        if (requests == 1) CHECK(near(s.ttft.value(), one + (first - 1) * s.itl.value(), 1e-9));
      }
    }
  }
}

TEST_CASE("first tokens: in one stream chunk they come later, and the output ends when it did") {
  const auto d =
      pm::with_all_memory(pm::deployment{.device = cat::h100_sxm, .model = cat::llama_3_8b});
  for (const auto kind : {pm::scheduling::prefill_first, pm::scheduling::mixed_chunks}) {
    for (const double concurrency : {1.0, 32.0}) {
      auto load = wave(concurrency, kind, 1);
      load.arrivals = pm::closed_loop{concurrency};
      const auto one = pm::serving(d, load, pm::datasheet{});
      load.stream_interval = 10;
      const auto ten = pm::serving(d, load, pm::datasheet{});
      INFO(pm::name_of(kind) << ", " << concurrency << " requests");
      CHECK(near(ten.itl, one.itl, 1e-9));
      CHECK(near(ten.ttft, one.ttft + 9.0 * one.itl, 1e-9));  // nine steps of its own answer
      CHECK(near(ten.e2e, one.e2e, 1e-9));
      CHECK(near(ten.throughput * ten.e2e / pm::request, concurrency, 1e-6));  // Little's law
      load.stream_interval = 1000;  // more than an answer has: it is sent whole
      CHECK(near(pm::serving(d, load, pm::datasheet{}).ttft, one.e2e, 1e-9));
    }
    for (const double rate : {0.001, 8.0}) {
      auto load = wave(1, kind, 1);
      load.arrivals = pm::open_loop{rate * pm::request_per_s};
      const auto one = pm::serving(d, load, pm::datasheet{});
      load.stream_interval = 10;
      const auto ten = pm::serving(d, load, pm::datasheet{});
      INFO(pm::name_of(kind) << ", " << rate << " requests a second");
      CHECK(near(ten.ttft, one.ttft + 9.0 * one.itl, 1e-9));
      CHECK(near(ten.e2e, one.e2e, 1e-9));
    }
  }
}

}  // namespace unit_initial_burst
