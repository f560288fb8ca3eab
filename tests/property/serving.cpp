// A service's bound against measured ones, and what must hold for any load.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <optional>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/workload/catalog/all.hpp>
#include <string>

#include "support/near.hpp"
#include "support/random.hpp"
#include "support/shared.hpp"

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::random_numbers;

namespace {

const pm::transformer* model_of(const std::string& name) {
  if (name.starts_with("DeepSeek-")) return &cat::deepseek_r1;
  if (name == "Llama-3.1-70B") return &cat::llama_3_1_70b;
  if (name.starts_with("Qwen3-235B-A22B")) return &cat::qwen_3_235b_a22b;
  if (name == "gpt-oss-120b") return &cat::gpt_oss_120b;
  return nullptr;  // Qwen3.5 has linear attention
}

struct measured_service {
  pm::deployment deployment{};
  pm::service_load load{};
  double ttft = 0, tpot = 0;  ///< seconds
};

/// Formats are the narrowest that the row's label allows, since the file does not say which layers
/// stay wide.
std::optional<measured_service> read_row(const common::table_row& row) {
  const pm::transformer* m = model_of(row.text("model"));
  if (m == nullptr || !row.has("attention_dp") || !row.has("ttft_ms") || !row.has("tpot_ms")) {
    return {};
  }
  const std::string& gpu = row.text("gpu");
  measured_service r;
  pm::deployment& d = r.deployment;
  d.layout = {.tensor = row.whole("tp"),
              .pipeline = row.whole("pp"),
              .expert = pm::experts_of(*m) ? row.whole("moe_ep") : 1,
              .data = row.whole("attention_dp")};
  if (!pm::layout_feasible(d.layout, pm::sharded_dims_of(*m))) return {};
  const bool wide = d.layout.ranks() > 8;  // only a rack joins more
  if (gpu == "h100_sxm") d.device = cat::h100_sxm;
  if (gpu == "h200_sxm") d.device = cat::h200_sxm;
  if (gpu == "b200_sxm") d.device = wide ? cat::gb200 : cat::b200_sxm;
  d.model = *m;
  const bool gpt_oss = row.text("model") == "gpt-oss-120b";
  const bool four_bit = row.text("precision") == "fp4";
  const bool blackwell = gpu == "b200_sxm";
  const pm::number_format linear = four_bit && !gpt_oss ? pm::fp4 : gpt_oss ? pm::bf16 : pm::fp8;
  d.weights = pm::weight_storage(pm::storage_format(linear),
                                 pm::storage_format(four_bit ? pm::fp4 : pm::fp8), pm::bf16);
  d.activations = four_bit && blackwell ? pm::fp4 : pm::fp8;
  d.kv = pm::fp8;
  r.load = {.input_tokens = row.count("isl"),
            .output_tokens = row.count("osl"),
            .arrivals = pm::closed_loop{row.count("concurrency")}};
  r.ttft = row.seconds("ttft_ms", 1e-3);
  r.tpot = row.seconds("tpot_ms", 1e-3);
  return r;
}

}  // namespace

TEST_CASE("serving: no published service beats the bound", "[shared]") {
  int rows = 0;
  for (const auto& row : perfmodel_test::measured_table("aic_e2e_serving_public.csv")) {
    const auto r = read_row(row);
    if (!r) continue;
    ++rows;
    const auto s = pm::serving_bound(r->deployment, r->load);
    if (s.itl.value() > r->tpot || s.prefill.time.value() > r->ttft) {
      INFO(r->deployment.model.name.view()
           << ": bound " << s.itl.value() * 1e3 << " ms, prompt alone "
           << s.prefill.time.value() * 1e3 << " ms");
      CHECK(s.itl.value() <= r->tpot);
      CHECK(s.prefill.time.value() <= r->ttft);
    }
  }
  CHECK(rows == 878);  // of 1221; the rest: linear attention, or attention groups not stated
}

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
    CHECK(s.batch <= s.capacity);
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
    CHECK(near(s.batch, l.rate().value() * l.output_tokens * s.itl.value(), 1e-9));
    CHECK(s.batch <= s.capacity);
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
  const double t1 = ((context + 1) + (1 + 0.0) / 2000) * 131072 /
                    bandwidth;  // the others' prompts are stored, too
  for (const double rate : {1.0, 2.0, 8.0}) {
    const double x = rate * 2000;
    const auto s = pm::serving_bound(d, {.input_tokens = 1,
                                         .output_tokens = 2000,
                                         .arrivals = pm::open_loop{rate * pm::request_per_s}});
    REQUIRE(s.decode.limiter == pm::limiter::memory);
    CHECK(near(s.batch, x * t0 / (1 - x * t1), 1e-6));
  }
}
