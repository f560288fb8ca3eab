// The bound of each point of a plan: no service of it answers sooner, or sends more.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/plan.hpp>

#include "support/random.hpp"
#include "support/sanitized.hpp"

namespace property_plan_bounds {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;

namespace {

pm::plan_request random_request(perfmodel_test::random_numbers& random) {
  const pm::transformer* models[] = {&cat::llama_3_8b, &cat::llama_3_70b, &cat::gpt_oss_120b};
  pm::plan_request q;
  q.accelerators = {random.uniform() < 0.5 ? cat::h100_sxm : cat::h200_sxm};
  q.model = *models[static_cast<int>(random.uniform(0, 3))];
  q.gpus = 2 << static_cast<int>(random.uniform(0, 3));
  q.precisions = {{"fp8", pm::fp8, pm::fp8, pm::bf16}};
  q.chunk_budgets.clear();
  q.engines = {random.uniform() < 0.5 ? pm::engine::vllm : pm::engine::sglang};
  q.load = {.input_tokens = std::floor(random.log_uniform(64, 8192)),
            .output_tokens = std::floor(random.log_uniform(16, 1024))};
  if (random.uniform() < 0.5) {
    q.load.arrivals = pm::closed_loop{std::floor(random.log_uniform(1, 300))};
  } else {
    q.load.arrivals = pm::open_loop{random.log_uniform(0.05, 5) * pm::request_per_s};
  }
  if (random.uniform() < 0.3) q.load.prefix_hit = random.uniform(0.0, 0.9);
  if (random.uniform() < 0.6) {
    q.pools = pm::plan_pools{.first_token_from_decode = random.uniform() < 0.5};
    // With an ITL target close to the time of a step without prefill, pools pay.
    q.targets.itl = pm::latency_target{random.log_uniform(0.005, 0.05) * pm::second, 0.99};
  } else {
    q.speculations = {{.by = pm::drafter::lookup,
                       .length = 1 + static_cast<int>(random.uniform(0, 4)),
                       .acceptance = {random.uniform(0.1, 0.95)}}};
  }
  return q;
}

struct counted {
  int plain = 0, pools = 0, drafts = 0;
};

void check(const pm::plan_request& q, const pm::plan_point& p, counted& of) {
  const pm::serving_estimate bound = pm::bound_of_point(q, p), &s = p.serving;
  ++(p.prefill ? of.pools : p.speculation_index ? of.drafts : of.plain);
  INFO(q.model.name.view() << " TP" << p.layout.tensor << (p.prefill ? " pools" : "")
                           << (p.speculation_index ? " drafts" : "") << " batch " << s.batch);
  const double slack = 1.0 + 1e-9;
  CHECK(bound.feasible);
  CHECK(bound.itl.value() > 0.0);
  CHECK(bound.itl.value() <= slack * s.itl.value());
  CHECK(bound.ttft.value() <= slack * s.ttft.value());
  CHECK(bound.e2e.value() <= slack * s.e2e.value());
  CHECK(slack * bound.output_rate.value() >= s.output_rate.value());
}

}  // namespace

TEST_CASE(
    "plan: no point has less latency or more throughput than its bound, pools and speculation "
    "too") {
  perfmodel_test::random_numbers random(23);
  const auto measured = [](const pm::accelerator& a, pm::engine e) {
    return pm::calibrated_for(a, e);
  };
  counted of;
  const int requests = perfmodel_test::sanitized ? 30 : 150;
  for (int n = 0; n < requests; ++n) {
    const auto q = random_request(random);
    const auto r = pm::plan(q, measured);
    for (const auto& p : r.frontier) check(q, p, of);
    if (r.nearest_point) check(q, *r.nearest_point, of);
  }
  INFO(of.plain << " plain, " << of.pools << " pools, " << of.drafts << " drafts");
  const int least = 2 * requests / 3;
  CHECK(of.plain >= least);
  CHECK(of.pools >= requests / 2);
  CHECK(of.drafts >= least);
}

}  // namespace property_plan_bounds
