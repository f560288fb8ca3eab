// Prefixes that come from the host, in a service: by hand, and as the simulator brings them.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/plan.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/serving/kv_offload.hpp>
#include <perfmodel/serving/prefix_cache.hpp>

#include "simulator/cases.hpp"
#include "support/near.hpp"
#include "support/refusal.hpp"
#include "support/scalars.hpp"

namespace unit_prefix_fetch {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
namespace sim = perfmodel_test::simulator;
using perfmodel_test::check_scalars;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

const pm::deployment llama{
    .device = cat::h100_sxm, .model = cat::llama_3_1_8b, .serving_engine = pm::engine::vllm};
constexpr double per_token = 2.0 * 32 * 8 * 128 * 2;  // bytes of the cache

/// Three quarters of each prompt are found, half of it in the host's memory.
pm::service_load chat(double link, double variation = 0.3) {
  pm::service_load l{.input_tokens = 2048,
                     .output_tokens = 256,
                     .arrivals = pm::closed_loop{48},
                     .chunk_tokens = 8192,
                     .input_cv = variation,
                     .output_cv = 0.3,
                     .prefix_hit = 0.75};
  l.host = pm::host_cache{.hit = 0.5, .bandwidth_per_device = link * pm::GB_per_s};
  return l;
}
sim::outcome simulated(const pm::service_load& l) {
  perfmodel_test::random_numbers r(13);
  sim::load s;
  const int n = 4000;
  s.jobs = sim::draw_jobs(r, n, sim::lognormal(l.input_tokens, l.input_cv),
                          sim::lognormal(l.output_tokens, l.output_cv), l.prefix_hit);
  for (sim::job& j : s.jobs) j.fetched = j.input / 2;
  if (l.is_closed()) {
    s.concurrency = static_cast<int>(l.concurrency());
    s.endless = true;
    s.warm_up = 2 * s.concurrency;
  } else {
    s.arrivals = sim::renewal_arrivals(r, n, l.rate().value(), 1);
    s.warm_up = s.tail = n / 20;
  }
  sim::scheduler with{.token_budget = 8192};
  with.fetch_s_per_token = per_token / l.host->bandwidth_per_device->value();
  return sim::simulate(s, with, sim::predicted_step(llama, sim::measured_like));
}

}  // namespace

TEST_CASE("prefix fetch: a transfer by hand") {
  const auto f = pm::prefix_fetch_of(llama, chat(25));
  CHECK(near(f.transfer_time.value(), per_token * 1024 / 25e9));
  const pm::host_tier tier{.tokens = 1e6, .bandwidth_per_device = 25.0 * pm::GB_per_s};
  CHECK(near(f.transfer_time, pm::fetch_time(llama, tier, 1024)));
  CHECK(f.links == 1);
  // The accelerator's own link, and a link for each data-parallel group.
  pm::service_load l = chat(25);
  l.host->bandwidth_per_device.reset();
  l.host->latency = 1.0 * pm::ms;
  pm::deployment groups = llama;
  groups.layout.data = 4;
  const auto own = pm::prefix_fetch_of(groups, l);
  CHECK(near(own.transfer_time.value(),
             1e-3 + per_token * 1024 / cat::h100_sxm.host.bandwidth.value()));
  CHECK(own.links == 4);
  // Half busy with equal ones: a transfer and half of one.
  const pm::prefix_fetch equal{.transfer_time = 10.0 * pm::ms};
  CHECK(near(equal.response_time(0.5).value(), 0.015));
  CHECK(near(equal.utilisation(50.0 * pm::request_per_s), 0.5));
}

TEST_CASE("prefix fetch: unloaded it is the transfer and the rest") {
  pm::service_load l = chat(1);
  l.arrivals = pm::closed_loop{1};
  const auto with = pm::serving(llama, l, sim::measured_like);
  pm::service_load here = l;
  here.host.reset();
  const auto without = pm::serving(llama, here, sim::measured_like);
  CHECK(near(with.ttft.value() - without.ttft.value(), per_token * 1024 / 1e9, 1e-9));
  CHECK(near(with.itl, without.itl));
  CHECK(near(with.throughput * with.e2e / pm::request, 1.0, 1e-9));
  CHECK(near(pm::serving_bound(llama, l).ttft.value() - pm::serving_bound(llama, here).ttft.value(),
             per_token * 1024 / 1e9, 1e-9));
  // Nothing from the host is nothing more.
  l.host->hit = 0;
  CHECK(pm::serving(llama, l, sim::measured_like).e2e == without.e2e);
}

TEST_CASE("prefix fetch: a link that binds, Little's law, and the bound") {
  for (const double link : {0.5, 2.0, 5.0, 25.0}) {
    const pm::service_load l = chat(link);
    const auto s = pm::serving(llama, l, sim::measured_like);
    CHECK(near(s.throughput * s.e2e / pm::request, 48.0, 1e-6));
    CHECK(s.throughput * (per_token * 1024 / link / 1e9 * pm::second) / pm::request < 1.01);
    const auto bound = pm::serving_bound(llama, l);
    CHECK(bound.ttft < s.ttft);
    CHECK(bound.itl < s.itl);
    CHECK(bound.throughput > s.throughput);
  }
  const auto slow = pm::serving(llama, chat(0.5), sim::measured_like);
  CHECK(near(slow.throughput.value(), 0.5e9 / (per_token * 1024), 0.03));
  // Arrivals beyond the link: the rate that it has.
  pm::service_load open = chat(0.5);
  open.arrivals = pm::open_loop{.rate = 8.0 * pm::request_per_s};
  const auto late = pm::serving(llama, open, sim::measured_like);
  CHECK(!late.feasible);
  CHECK(near(late.feasible.available, 0.5e9 / (per_token * 1024)));
}

TEST_CASE("prefix fetch: a service against the simulator", "[long]") {
  for (const double link : {0.5, 1.0, 2.0, 5.0, 25.0}) {
    const pm::service_load l = chat(link);
    const auto law = pm::serving(llama, l, sim::measured_like);
    const auto run = simulated(l);
    const double ttft = run.of(&sim::record::ttft).mean(), itl = run.gaps.mean();
    INFO(link << " GB/s: ttft " << law.ttft.value() / ttft << " itl " << law.itl.value() / itl
              << " throughput " << law.throughput.value() / run.throughput() << " busy "
              << pm::prefix_fetch_of(llama, l).utilisation(law.throughput));
    CHECK(std::fabs(law.ttft.value() / ttft - 1) < (link == 2.0 ? 0.35 : 0.08));
    CHECK(std::fabs(law.itl.value() / itl - 1) < 0.05);
    CHECK(std::fabs(law.throughput.value() / run.throughput() - 1) < 0.05);
  }
  for (const double rate : {2.0, 5.0, 6.0}) {
    pm::service_load l = chat(1);
    l.arrivals = pm::open_loop{.rate = rate * pm::request_per_s};
    const auto law = pm::serving(llama, l, sim::measured_like);
    const auto run = simulated(l);
    const double ttft = run.of(&sim::record::ttft).mean(), itl = run.gaps.mean();
    INFO(rate << " req/s: ttft " << law.ttft.value() / ttft << " itl " << law.itl.value() / itl
              << " p90 "
              << law.ttft_distribution.quantile(0.9).value() / run.of(&sim::record::ttft).at(0.9));
    CHECK(std::fabs(law.ttft.value() / ttft - 1) < 0.05);
    CHECK(std::fabs(law.itl.value() / itl - 1) < 0.05);
  }
}

TEST_CASE("prefix fetch: hits in host memory follow from the shared prefixes") {
  pm::service_load l = chat(25);
  l.prefix_hit = 0;
  l.host = pm::host_cache{.memory = 200.0 * pm::GB};
  l.shared = {{500, 1}, {1000, 4000}};
  const auto found = pm::resolve_prefix_hit(llama, l);
  const pm::prefix_tree tree{.levels = l.shared, .own_tokens = 548, .output_tokens = 256};
  const double here = pm::kv_capacity(llama, 2304).tokens.value();
  const auto hit = pm::tiered_hit_of(
      tree, here, {.tokens = 200e9 / per_token, .bandwidth_per_device = 25.0 * pm::GB_per_s});
  CHECK(near(found.host->hit, hit.host));
  CHECK(near(found.prefix_hit, hit.device + hit.host));
  CHECK(hit.host > 0.09);
  pm::plan_request q{.accelerators = {llama.device}, .model = llama.model, .gpus = 1, .load = l};
  q.engines = {llama.serving_engine};
  const auto best = [&] { return pm::plan(q, sim::measured_like).frontier.at(0).serving.ttft; };
  const auto quick = best();
  q.load.host->bandwidth_per_device = 1.0 * pm::GB_per_s;
  CHECK(best() > quick);
}

TEST_CASE("prefix fetch: bad ones") {
  pm::service_load l = chat(25);
  l.host->hit = 0.8;
  CHECK(refusal([&] { (void)pm::serving(llama, l, sim::measured_like); }) ==
        "PM-E010: host.hit is 0.8; allowed: 0 to prefix_hit, of which it is a part");
  l = chat(25);
  l.host->bandwidth_per_device.reset();
  pm::deployment bare = llama;
  bare.device.host = {};
  CHECK(refusal([&] { (void)pm::serving(bare, l, sim::measured_like); })
            .starts_with(
                "PM-E010: host.bandwidth_per_device, as the accelerator states no link to its "
                "host, is missing"));
}

TEST_CASE("scalars: prefix fetch") {
  check_scalars(
      [](const auto& x) {
        using T = std::remove_cvref_t<decltype(x[0])>;
        const pm::basic_prefix_fetch<T> f{
            .transfer_time = pm::duration<T>::from_value(x[0]), .links = T(2.0), .variation = x[1]};
        return pm::requests_not_fetching(x[2], [&](const T& n) -> T {
          const auto rate = pm::request_rate<T>::from_value(T(n / x[3]));
          return rate * pm::detail::closed_loop_fetch_time(f, x[2], rate) / pm::request;
        });
      },
      0.1, 0.3, 48.0, 3.0);
}

}  // namespace unit_prefix_fetch
