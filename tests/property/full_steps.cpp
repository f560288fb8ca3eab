// Services limited by their token budget: full steps of prefill and decode tokens, against
// simulations.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <simulator/simulate.hpp>

#include "simulator/step_times.hpp"
#include "support/near.hpp"

namespace property_full_steps {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
namespace sim = perfmodel_test::simulator;
using perfmodel_test::near;

namespace {

struct lengths {
  double input, output;
  int budget;
};

/// A closed loop of this many requests, after its first ones have ended.
sim::outcome simulated_loop(const lengths& w, int requests, const sim::step_time& pass) {
  perfmodel_test::random_numbers r(7);
  const sim::load l{.jobs = sim::draw_jobs(r, 5 * requests, sim::lognormal(w.input, 0.3),
                                           sim::lognormal(w.output, 0.3)),
                    .concurrency = requests,
                    .endless = true,
                    .warm_up = 2 * requests};
  const sim::scheduler s{
      .kind = sim::scheduling::mixed, .token_budget = w.budget, .max_sequences = requests};
  return sim::simulate(l, s, pass);
}

pm::service_load load_of(const lengths& w, double requests) {
  pm::service_load l{
      .input_tokens = w.input, .output_tokens = w.output, .arrivals = pm::closed_loop{requests}};
  l.batch_limit = requests;
  l.input_cv = l.output_cv = 0.3;
  l.scheduler = pm::scheduling::mixed_chunks;
  return l;
}

/// Llama 3.1 8B on 8 A100, which vLLM gives passes of 2048 tokens.
struct full_a100 {
  pm::deployment d{.device = cat::a100_sxm_80gb,
                   .model = cat::llama_3_1_8b,
                   .layout = {.tensor = 8},
                   .serving_engine = pm::engine::vllm};
  pm::calibrated calibration = pm::calibrated_for(d.device, d.serving_engine);
};

}  // namespace

TEST_CASE("a loop of three times as many as the budget keeps up with, against simulations",
          "[long]") {
  pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_1_8b};
  d.device.dram.capacity = 1000.0 * pm::GB;  // so that nothing else binds
  const pm::derated calibration{.compute_efficiency = 0.7, .memory_efficiency = 0.8};
  const sim::step_time pass = sim::predicted_step(d, calibration);
  for (const lengths& w : {lengths{1024, 256, 512}, {300, 200, 1024}, {2048, 256, 2048}}) {
    CAPTURE(w.input, w.output, w.budget);
    d.limits.tokens = w.budget;
    const double kept = pm::detail::largest_decode_batch(d, load_of(w, 1.0), w.output - 1.0, 1.0);
    const double requests = std::round(3.0 * kept);
    const sim::outcome o = simulated_loop(w, static_cast<int>(requests), pass);
    const pm::serving_estimate s = pm::serving(d, load_of(w, requests), calibration);
    CHECK(near(s.throughput.value(), o.throughput(), 0.03));
    CHECK(near(s.itl.value(), o.gaps.mean(), 0.03));
    CHECK(near(s.batch, kept, 0.03));
    // Twice as many wait, and nothing else changes.
    const pm::serving_estimate more = pm::serving(d, load_of(w, 2.0 * requests), calibration);
    CHECK(near(more.throughput.value(), s.throughput.value(), 0.01));
    CHECK(near(more.itl.value(), s.itl.value(), 0.01));
  }
}

TEST_CASE("Llama 8B on 8 A100: the largest rate is the one that a simulation reaches") {
  const full_a100 a;
  const lengths w{2048, 512, 2048};
  const sim::step_time kernels = sim::predicted_step(a.d, a.calibration);
  const sim::step_time pass = [&](const sim::pass& p) {
    return kernels(p) * (p.prompts > 0 ? a.calibration.engine.prefill_step_factor : 1.0);
  };
  pm::service_load l{.input_tokens = w.input, .output_tokens = w.output};
  l.arrivals = pm::open_loop{1000.0 * pm::request_per_s};
  const pm::serving_estimate overrun = pm::serving(a.d, l, a.calibration);
  REQUIRE(!overrun.feasible);
  CHECK(near(overrun.feasible.available, simulated_loop(w, 1000, pass).throughput(), 0.03));
}

// Attention without splits over keys: with them the step time is discontinuous (order_step.cpp).
TEST_CASE("Llama 8B on 8 A100: a higher rate never comes out quicker") {
  full_a100 a;
  a.calibration.attention_kernels.max_splits = 1.0;
  a.calibration.attention_kernels.partial_row_cycles.reset();
  for (const lengths& w : {lengths{1024, 256, 0}, {2048, 512, 0}, {4096, 256, 0}}) {
    double itl = 0.0, ttft = 0.0, e2e = 0.0;
    pm::service_load l{.input_tokens = w.input, .output_tokens = w.output};
    int feasible = 0;
    for (double rate = 1.0; rate < 100.0; rate *= 1.03) {
      CAPTURE(w.input, w.output, rate);
      l.arrivals = pm::open_loop{rate * pm::request_per_s};
      const pm::serving_estimate s = pm::serving(a.d, l, a.calibration);
      if (!s.feasible) break;
      ++feasible;
      CHECK(s.itl.value() >= itl);
      CHECK(s.ttft.value() >= ttft);
      CHECK(s.e2e.value() >= e2e);
      itl = s.itl.value(), ttft = s.ttft.value(), e2e = s.e2e.value();
    }
    CHECK(feasible > 50);
  }
}

}  // namespace property_full_steps
