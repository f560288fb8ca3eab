// A service's bound against measured ones, and what must hold for any load.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>

#include <fit/published_services.hpp>
#include "support/near.hpp"
#include "support/random.hpp"
#include "support/shared.hpp"

namespace property_serving {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::random_numbers;

TEST_CASE("serving: no published service beats the bound", "[shared]") {
  int rows = 0;
  for (const published::service& s : published::services(perfmodel_test::measured_folder())) {
    const published::published_model* m = published::model_of(s.model);
    const pm::accelerator* a = cat::find_accelerator(s.gpu);
    if (m == nullptr || a == nullptr || s.may_speculate) continue;
    const pm::deployment d = published::deployment_of(s, *m, *a);
    if (!layout_feasible(d.layout, sharded_dims_of(d.model))) continue;
    ++rows;
    const auto bound = pm::serving_bound(d, s.load);
    if (bound.itl.value() > s.seconds || bound.prefill.time.value() > s.first) {
      INFO(s.model << " on " << s.gpu << ": bound " << bound.itl.value() * 1e3
                   << " ms, prompt alone " << bound.prefill.time.value() * 1e3 << " ms");
      CHECK(bound.itl.value() <= s.seconds);
      CHECK(bound.prefill.time.value() <= s.first);
    }
  }
  CHECK(rows == 1650);  // of 1926; the rest: disaggregated, speculating, or of another layout
}

namespace {

/// Sequences that fit at their mean context.
double kv_of(const pm::deployment& d, const pm::service_load& l) {
  return pm::kv_capacity(d, l.input_tokens + l.output_tokens / 2).sequences;
}

}  // namespace

TEST_CASE("serving: more load is never quicker, and never less throughput") {
  random_numbers random(31);
  const pm::transformer* models[] = {&cat::llama_3_8b, &cat::mixtral_8x7b, &cat::gemma_3_27b,
                                     &cat::gpt_oss_20b};
  for (int n = 0; n < 60; ++n) {
    const int data = 1 << static_cast<int>(random.uniform(0, 3)),
              tensor = 1 << static_cast<int>(random.uniform(0, 2));
    const pm::deployment d{.device = cat::b200_sxm,
                           .model = *models[n % 4],
                           .layout = {.tensor = tensor,
                                      .pipeline = 1 << static_cast<int>(random.uniform(0, 2)),
                                      .data = data}};
    pm::service_load l{.input_tokens = std::floor(random.log_uniform(16, 8000)),
                       .output_tokens = std::floor(random.log_uniform(8, 2000)),
                       .arrivals = pm::closed_loop{std::floor(random.log_uniform(1, 300))}};
    if (random.uniform() < 0.3) l.chunk_tokens = std::floor(random.log_uniform(64, 4096));
    if (random.uniform() < 0.3) l.batch_limit = std::floor(random.log_uniform(1, 100));
    const auto s = pm::serving_bound(d, l);
    const double slack = 1 - 1e-9;
    CHECK(near(s.throughput.value() * s.e2e.value(), l.concurrency(), 1e-9));
    CHECK(near(s.e2e.value(), s.ttft.value() + (l.output_tokens - 1) * s.itl.value()));
    CHECK(s.batch <= kv_of(d, l));
    CHECK(s.ttft >= s.wait);
    auto more = l;
    more.arrivals = pm::closed_loop{2 * l.concurrency()};
    CHECK(pm::serving_bound(d, more).itl >= slack * s.itl);
    CHECK(pm::serving_bound(d, more).e2e >= slack * s.e2e);
    more = l;
    more.input_tokens *= 2;
    CHECK(pm::serving_bound(d, more).e2e >= slack * s.e2e);
    auto better = d;
    better.device.dram.bandwidth = 1.5 * d.device.dram.bandwidth.quantity();
    better.device.fabric.bandwidth = 1.5 * d.device.fabric.bandwidth.quantity();
    CHECK(slack * pm::serving_bound(better, l).e2e <= s.e2e);
    CHECK(pm::serving(d, l, pm::derated{.compute_efficiency = 0.7, .memory_efficiency = 0.8}).e2e >=
          slack * s.e2e);
  }
}

TEST_CASE(
    "serving: an open loop's batch balances, grows with the load and ends where memory does") {
  random_numbers random(32);
  int overrun = 0;
  for (int n = 0; n < 60; ++n) {
    const pm::deployment d{.device = cat::h200_sxm,
                           .model = n % 2 ? cat::llama_3_8b : cat::mixtral_8x7b,
                           .layout = {.tensor = n % 2 ? 1 : 2}};
    pm::service_load l{
        .input_tokens = std::floor(random.log_uniform(16, 4000)),
        .output_tokens = std::floor(random.log_uniform(8, 2000)),
        .arrivals = pm::open_loop{random.log_uniform(0.01, 100) * pm::request_per_s}};
    const auto s = pm::serving_bound(d, l);
    if (!s.feasible) {
      ++overrun;
      continue;
    }
    CHECK(near(s.batch, l.rate().value() * (l.output_tokens - 1) * s.itl.value(), 1e-9));
    CHECK(s.batch <= kv_of(d, l));
    l.arrivals = pm::open_loop{0.9 * l.rate()};
    const auto less = pm::serving_bound(d, l);
    CHECK(less.feasible.feasible);
    CHECK(less.batch < s.batch);
    CHECK(less.ttft <= s.ttft);
  }
  CHECK(overrun > 2);
  CHECK(overrun < 40);
}

TEST_CASE("serving: memory-bound decoding has the closed form B = x t0 / (1 - x t1)") {
  // One prompt token, so that decoding is all there is: t = t0 + B t1 with t0 the weights' time.
  const pm::deployment d{.device = cat::h200_sxm, .model = cat::llama_3_8b};
  const double bandwidth = d.device.dram.bandwidth.value();
  const double t0 = 2 * (8030261248.0 - 128256 * 4096.0 - 65 * 4096) / bandwidth;
  const double context = 1 + 2000 / 2;
  const double t1 = ((context + 1) + (1 + 0.0) / 1999) * 131072 /
                    bandwidth;  // the others' prompts are stored, too
  for (const double rate : {1.0, 2.0, 8.0}) {
    const double x = rate * 1999;
    const auto s = pm::serving_bound(d, {.input_tokens = 1,
                                         .output_tokens = 2000,
                                         .arrivals = pm::open_loop{rate * pm::request_per_s}});
    REQUIRE(s.decode.limiter == pm::limiter::memory);
    CHECK(near(s.batch, x * t0 / (1 - x * t1), 1e-6));
  }
}

}  // namespace property_serving
