// Prompts that begin alike, in a service: by hand, and as the simulator holds them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/plan.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/serving/prefix_cache.hpp>

#include "simulator/cases.hpp"
#include "support/near.hpp"
#include "support/refusal.hpp"
#include "support/scalars.hpp"

namespace unit_shared_prefix {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
namespace sim = perfmodel_test::simulator;
using perfmodel_test::check_scalars;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

/// Some 40,000 cache tokens in addition to the weights of 8B.
pm::deployment small_cache(pm::engine e) {
  pm::deployment d = sim::services()[2].deployment;
  d.serving_engine = e;
  return d;
}
pm::service_load chat(double concurrency, double prefixes) {
  pm::service_load l{.input_tokens = 1024,
                     .output_tokens = 256,
                     .arrivals = pm::closed_loop{concurrency},
                     .chunk_tokens = 2048,
                     .input_cv = 0.3,
                     .output_cv = 0.3,
                     .prefix_hit = 0.5};
  if (prefixes > 0) l.shared = {{512, prefixes}};
  return l;
}
/// The first 512 tokens of each prompt are one of this many prefixes.
sim::outcome simulated(const pm::deployment& d, int concurrency, int prefixes) {
  perfmodel_test::random_numbers r(11);
  sim::load l;
  l.jobs = sim::draw_jobs(r, 3000, sim::lognormal(1024, 0.3), sim::lognormal(256, 0.3));
  for (sim::job& j : l.jobs) {
    j.cached = std::min(512, j.input - 1);
    j.prefix = static_cast<int>(r.uniform() * prefixes);
  }
  l.concurrency = concurrency;
  l.endless = true;
  l.warm_up = 2 * concurrency;
  const sim::scheduler s{.token_budget = 2048,
                         .max_sequences = 100000,
                         .kv_blocks = static_cast<int>(pm::kv_capacity(d, 16.0).blocks),
                         .reserve = pm::grows_into_memory(d.serving_engine)
                                        ? sim::reservation::grow
                                        : sim::reservation::whole_length,
                         .prefix_shared = prefixes > 0};
  return sim::simulate(l, s, sim::predicted_step(d, sim::measured_like));
}

}  // namespace

TEST_CASE("shared prefix: capacity by hand") {
  const pm::deployment d = small_cache(pm::engine::vllm);
  const double blocks = pm::kv_capacity(d, 1280).blocks;
  // 1280 tokens are 80 blocks, of which 500 shared tokens fill 31: they are there once.
  CHECK(pm::kv_capacity(d, {{500, 1}}, 1280).sequences == std::floor((blocks - 31) / 49));
  CHECK(pm::kv_capacity(d, pm::prefix_levels{}, 1280).sequences ==
        pm::kv_capacity(d, 1280).sequences);
  // Two levels are one where both have one prefix; each of 1e9 prefixes has one sequence.
  CHECK(pm::kv_capacity(d, {{160, 1}, {340, 1}}, 1280).sequences ==
        pm::kv_capacity(d, {{500, 1}}, 1280).sequences);
  CHECK(pm::kv_capacity(d, {{500, 1e9}}, 1280).sequences == pm::kv_capacity(d, 1280).sequences);
  // A group holds a copy of its own.
  pm::deployment two = d;
  two.layout.data = 2;
  CHECK(pm::kv_capacity(two, {{500, 1}}, 1280).sequences ==
        2 * pm::kv_capacity(d, {{500, 1}}, 1280).sequences);
}

TEST_CASE("shared prefix: a layer with a window shares what is in it") {
  const pm::deployment d{
      .device = cat::h100_sxm, .model = cat::gpt_oss_20b, .serving_engine = pm::engine::vllm};
  const auto on_device = [&](double tokens) {
    return pm::detail::sequence_on_device(d, tokens).value();
  };
  const double free = pm::kv_capacity(d, 4096).available.value();
  const double own = on_device(1096), shared = on_device(4096) - own;
  CHECK(pm::kv_capacity(d, {{3000, 1}}, 4096).sequences == std::floor((free - shared) / own));
}

TEST_CASE("shared prefix: what a load finds where it does not say") {
  const pm::deployment d = small_cache(pm::engine::vllm);
  pm::service_load l = chat(64, 1);
  CHECK(pm::resolve_prefix_hit(d, l).prefix_hit == 0.5);  // as given
  l.prefix_hit = 0;
  CHECK(near(pm::resolve_prefix_hit(d, l).prefix_hit, 512.0 / 1024, 1e-9));
  l.shared = {{512, 400}};
  const pm::prefix_tree tree{.levels = l.shared, .own_tokens = 512, .output_tokens = 256};
  const double tokens = pm::kv_capacity(d, 1280).tokens.value();
  CHECK(near(pm::resolve_prefix_hit(d, l).prefix_hit, pm::prefix_hit_of(tree, tokens).hit_rate));
  CHECK(pm::resolve_prefix_hit(d, l).prefix_hit < 0.1);
  // The service is that of the rate.
  pm::service_load said = l;
  said.prefix_hit = pm::resolve_prefix_hit(d, l).prefix_hit;
  CHECK(pm::serving(d, l, sim::measured_like).e2e == pm::serving(d, said, sim::measured_like).e2e);
  CHECK(pm::serving_bound(d, l).e2e == pm::serving_bound(d, said).e2e);
}

TEST_CASE("shared prefix: in a bound, with speculation, in pools and in a plan") {
  const pm::deployment d = small_cache(pm::engine::trtllm);
  const pm::service_load apart = chat(256, 0), l = chat(256, 1);
  const double more = pm::kv_capacity(d, l.shared, 1280).sequences;
  CHECK(pm::serving_bound(d, l).capacity == more);
  CHECK(pm::serving_bound(d, l).throughput > pm::serving_bound(d, apart).throughput);
  const pm::speculation drafts{.length = 2, .acceptance = {0.7}};
  CHECK(pm::serving(d, l, drafts, sim::measured_like).capacity == more);
  const pm::disaggregated pools{
      .prefill = {d}, .decode = {d}, .link = {.bandwidth_per_device = 50.0 * pm::GB_per_s}};
  CHECK(pm::serving(pools, l, sim::measured_like).capacity == more);
  pm::plan_request q{.accelerators = {d.device}, .model = d.model, .gpus = 1, .load = l};
  q.utilization = d.utilization;
  q.activation_bytes = q.runtime_bytes = 0.0 * pm::byte;
  q.engines = {d.serving_engine};
  q.precisions = {pm::common_precisions()[0]};
  const auto best = [&] { return pm::plan(q, sim::measured_like).frontier.at(0); };
  const double shared = best().output_rate.value();
  q.load = apart;
  CHECK(shared > 1.2 * best().output_rate.value());
}

TEST_CASE("shared prefix: bad ones") {
  const pm::deployment d = small_cache(pm::engine::vllm);
  pm::service_load l = chat(8, 1);
  l.shared = {{1000, 1}, {24, 2}};
  CHECK(refusal([&] { (void)pm::serving(d, l, sim::measured_like); }) ==
        "PM-E010: shared.tokens is 1024; allowed: fewer than input_tokens");
  CHECK(refusal([&] { (void)pm::kv_capacity(d, l.shared, 1000); }) ==
        "PM-E010: shared.tokens is 1024; allowed: fewer than the context");
  l.shared = {{100, 4}, {100, 2}};
  CHECK(refusal([&] {
          (void)pm::serving(d, l, sim::measured_like);
        }).starts_with("PM-E031: a level"));
  l.shared = {{-1, 1}};
  CHECK(refusal([&] {
          (void)pm::serving(d, l, sim::measured_like);
        }).starts_with("PM-E010: shared.0.tokens is -1"));
}

TEST_CASE("scalars: shared prefix") {
  check_scalars(
      [](const auto& x) {
        using T = std::remove_cvref_t<decltype(x[0])>;
        pm::basic_service_load<T> l{.input_tokens = x[0], .output_tokens = x[1]};
        l.arrivals = pm::basic_closed_loop<T>{T(8.0)};
        l.shared.push_back({x[2], T(1.0)});
        l.shared.push_back({x[3], T(90.0)});
        return pm::resolve_prefix_hit(pm::lift<T>(small_cache(pm::engine::vllm)), l).prefix_hit;
      },
      2000.0, 300.0, 500.0, 700.0);
}

TEST_CASE("shared prefix: a service against the simulator", "[long]") {
  for (const pm::engine e : {pm::engine::vllm, pm::engine::trtllm}) {
    const pm::deployment d = small_cache(e);
    for (const int prefixes : {1, 8, 40}) {
      for (const int concurrency : {24, 128}) {
        const auto law = pm::serving(d, chat(concurrency, prefixes), sim::measured_like);
        const auto run = simulated(d, concurrency, prefixes);
        const double ttft = run.of(&sim::record::ttft).mean(), itl = run.gaps.mean();
        INFO(name_of(e) << ", " << prefixes << " prefixes, " << concurrency << ": ttft "
                        << law.ttft.value() / ttft << " itl " << law.itl.value() / itl
                        << " throughput " << law.throughput.value() / run.throughput()
                        << " capacity " << law.capacity);
        // If outputs grow until some are preempted, which nothing here models, the error is
        // largest.
        CHECK(std::fabs(law.ttft.value() / ttft - 1) < 0.1);
        CHECK(std::fabs(law.itl.value() / itl - 1) < 0.11);
        CHECK(std::fabs(law.throughput.value() / run.throughput() - 1) < 0.1);
      }
    }
  }
}

}  // namespace unit_shared_prefix
