// Plans: the candidates, the rejections, and the load that a point serves.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <iterator>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/plan.hpp>
#include <set>
#include <string>

#include "support/near.hpp"
#include "support/refusal.hpp"
#include "support/sanitized.hpp"

namespace unit_plan {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

pm::plan_request small_request() {
  return {.accelerators = {cat::h100_sxm},
          .model = cat::llama_3_8b,
          .gpus = 8,
          .load = {.input_tokens = 512, .output_tokens = 256, .arrivals = pm::closed_loop{3}}};
}
pm::plan_request request() {
  return {.accelerators = {cat::h100_sxm, cat::h200_sxm},
          .model = cat::llama_3_70b,
          .gpus = 8,
          .load = {.input_tokens = 2048, .output_tokens = 512, .arrivals = pm::closed_loop{64}},
          .targets = {.ttft = pm::latency_target{2.0 * pm::second},
                      .itl = pm::latency_target{50.0 * pm::ms}}};
}

}  // namespace

TEST_CASE("plan: the frontier is one: cheaper is slower, all within the targets, cheapest first") {
  const auto r = pm::plan_bound(request());
  REQUIRE(r.best == 0);
  REQUIRE(r.frontier.size() >= 3);
  for (std::size_t i = 0; i < r.frontier.size(); ++i) {
    const auto& p = r.frontier[i];
    CHECK(p.meets_targets);
    CHECK(p.serving.itl <= 50.0 * pm::ms);
    CHECK(p.serving.ttft <= 2.0 * pm::second);
    CHECK(p.gpus <= 8);
    if (i > 0) {
      CHECK(p.cost_per_million >= r.frontier[i - 1].cost_per_million);
      CHECK(p.serving.itl <= r.frontier[i - 1].serving.itl);
    }
  }
}

TEST_CASE("plan: a bound admits no more than fit with their whole outputs") {
  pm::plan_request q = small_request();
  q.load.output_tokens = 4096;
  q.load.arrivals = pm::closed_loop{1000};
  const auto r = pm::plan_bound(q);
  REQUIRE(!r.frontier.empty());
  for (const auto& p : r.frontier) {
    CHECK(p.batch_limit <= pm::kv_capacity(pm::deployment_of(q, p), 512.0 + 4096.0).sequences);
  }
}

TEST_CASE("plan: nothing tried by hand beats the frontier") {
  const auto q = request();
  const auto r = pm::plan_bound(q);
  int tried = 0;
  for (const auto& a : q.accelerators) {
    for (const auto& f : q.precisions) {
      if (!pm::detail::supports_formats(a, f)) continue;
      for (const int tensor : {1, 2, 4, 8}) {
        const pm::deployment d{.device = a,
                               .model = q.model,
                               .layout = {.tensor = tensor},
                               .weights = f.weights,
                               .activations = f.activations,
                               .kv = f.kv,
                               .utilization = q.utilization};
        const auto s = pm::serving_bound(d, q.load);
        if (!s.feasible || s.itl > q.targets.itl->limit || s.ttft > q.targets.ttft->limit) continue;
        ++tried;
        const pm::money<> cost = tensor * a.price * pm::million_tokens / s.output_rate;
        bool matched = false;
        for (const auto& p : r.frontier) {
          matched = matched ||
                    (p.cost_per_million <= 1.0000001 * cost && p.serving.itl <= 1.0000001 * s.itl);
        }
        INFO(a.name.view() << " " << f.name.view() << " TP" << tensor);
        CHECK(matched);
      }
    }
  }
  CHECK(tried >= 10);
}

TEST_CASE("plan: a point can be evaluated again, and more devices never cost more") {
  auto q = request();
  const auto r = pm::plan_bound(q);
  const auto& best = r.frontier.front();
  const auto again = pm::serving_bound(pm::deployment_of(q, best), pm::load_of(q, best));
  CHECK(near(again.itl, best.serving.itl));
  CHECK(near(best.cost_per_million->value(), best.gpus *
                                                 pm::deployment_of(q, best).device.price.value() *
                                                 1e6 / best.output_rate.value()));
  pm::money<> cheapest = 1e9 * pm::usd;
  for (const int gpus : {1, 2, 4, 8}) {
    q.gpus = gpus;
    const auto s = pm::plan_bound(q);
    if (!s.best) continue;
    CHECK(s.frontier.front().cost_per_million <= 1.0000001 * cheapest);
    cheapest = *s.frontier.front().cost_per_million;
  }
}

TEST_CASE("plan: an infeasible candidate has a reason, and unreachable targets leave no best") {
  auto q = request();
  q.precisions = {{"bf16"}, {"fp4", pm::fp4, pm::fp4, pm::fp8}};
  const auto r = pm::plan_bound(q);
  bool memory = false, format = false;
  for (const auto& x : r.rejected) {
    memory = memory || (x.reason ==
                            "weights and KV cache exceed the usable memory of a device, and so do "
                            "the weights alone" &&
                        x.needed > x.available);
    format = format || x.reason == "the accelerator does not compute in this format";
  }
  CHECK(memory);
  CHECK(format);
  q.targets.itl = pm::latency_target{1.0 * pm::us};
  const auto none = pm::plan_bound(q);
  CHECK(!none.best);
  CHECK_FALSE(none.frontier.empty());  // the nearest there are
  CHECK_FALSE(none.frontier.front().meets_targets);
  q.accelerators.clear();
  CHECK(refusal([&] { (void)pm::plan_bound(q); }) == "PM-E010: accelerators: give at least one");
}

TEST_CASE("plan: every accelerator of the catalogue can be asked, also those without some format") {
  const std::size_t stride = perfmodel_test::sanitized ? 8 : 1;
  std::size_t first = 0;
  for (const auto* m :
       {&cat::llama_3_8b, &cat::deepseek_v3, &cat::gpt_oss_120b, &cat::gemma_3_27b}) {
    auto q = request();
    q.accelerators.clear();
    const std::size_t begin = first++ % stride;
    for (std::size_t i = begin; i < std::size(cat::accelerators); i += stride)
      q.accelerators.push_back(*cat::accelerators[i].spec);
    q.model = *m;
    const auto r = pm::plan_bound(q);
    CHECK(r.evaluated > 0);
    for (const auto& p : r.frontier) {
      CHECK(std::isfinite(p.serving.itl.value()));
      CHECK(p.serving.itl.value() > 0);
    }
  }
}

TEST_CASE("plan: no replica idles, and a batch limit of the load holds") {
  auto q = small_request();
  const auto r = pm::plan_bound(q);
  for (const auto& p : r.frontier) CHECK(p.replicas <= 3);
  // One request: 10 ways to cut a model over up to 8 devices in powers of two, one replica each.
  auto single = small_request();
  single.load.arrivals = pm::closed_loop{1};
  single.precisions = {{"bf16"}};
  CHECK(pm::plan_bound(single).evaluated == 10);
  q.load.arrivals = pm::closed_loop{64};
  q.load.batch_limit = 5;
  const auto limited = pm::plan_bound(q);
  REQUIRE_FALSE(limited.frontier.empty());
  for (const auto& p : limited.frontier) {
    CHECK(p.batch_limit <= 5);
    CHECK(p.serving.batch <= 5);
  }
  q.load.batch_limit.reset();
  q.limits.sequences = 5;  // in each data-parallel group
  for (const auto& p : pm::plan_bound(q).frontier) CHECK(p.batch_limit <= 5 * p.layout.data);
}

TEST_CASE("plan: what is tried for some devices is tried for more") {
  for (int n = 1; n < 300; ++n) {
    const auto fewer = pm::detail::counts_up_to(n), more = pm::detail::counts_up_to(n + 1);
    CHECK(std::includes(more.begin(), more.end(), fewer.begin(), fewer.end()));
    CHECK(fewer.back() <= n);
    CHECK(fewer.back() * 9 >= n * 8);  // of any number no more than a ninth is left unused
  }
  CHECK(pm::detail::counts_up_to(64).size() == 64);
  CHECK(pm::detail::tensor_degrees(100, 72) == std::vector<int>{1, 2, 4, 8, 16, 32, 64, 72});
  CHECK(pm::detail::tensor_degrees(6, 8) == std::vector<int>{1, 2, 4});
  CHECK(pm::detail::tensor_degrees(8, 1) == std::vector<int>{1});
}

TEST_CASE("plan: every deployment is judged once") {
  auto q = small_request();
  q.model = cat::mixtral_8x7b;  // 93 GB in bf16: one device holds it never, whatever its batch
  q.gpus = 1;
  q.precisions = {{"bf16"}};
  q.activation_bytes = pm::bytes<>{};
  q.runtime_bytes = pm::bytes<>{};
  const auto r = pm::plan_bound(q);
  REQUIRE(r.rejected.size() == 1);
  CHECK(r.rejected[0].count == 1);
  CHECK(r.rejected[0].reason ==
        "weights and KV cache exceed the usable memory of a device, and so do the weights alone");
  CHECK(
      near(r.rejected[0].needed, 2 * 46702792704.0 + 768 * 131072.0));  // weights, and one sequence
  CHECK(r.evaluated == 0);
  CHECK_FALSE(r.best);
  CHECK(r.frontier.empty());
}

TEST_CASE("plan: an open loop beyond one replica needs several") {
  auto q = small_request();
  q.load = {.input_tokens = 2048,
            .output_tokens = 512,
            .arrivals = pm::open_loop{60 * pm::request_per_s}};
  const auto r = pm::plan_bound(q);
  REQUIRE(r.best == 0);
  for (const auto& p : r.frontier) {
    CHECK(near(p.output_rate.value(), 60 * 512));
    CHECK(near(p.replicas * p.serving.throughput.value(), 60.0));
  }
  bool overrun = false;
  for (const auto& x : r.rejected)
    overrun = overrun || x.reason.starts_with("requests arrive faster");
  CHECK(overrun);
}

TEST_CASE("plan: without a price the measure is device time") {
  auto q = small_request();
  q.accelerators[0].price = {};
  const auto r = pm::plan_bound(q);
  CHECK_FALSE(r.all_priced);
  REQUIRE(r.best == 0);
  CHECK_FALSE(r.frontier[0].cost_per_million);
  for (std::size_t i = 1; i < r.frontier.size(); ++i) {
    CHECK(r.frontier[i].gpu_time_per_million >= r.frontier[i - 1].gpu_time_per_million);
  }
  const auto& p = r.frontier[0];
  CHECK(near(p.gpu_time_per_million.value(), p.gpus * 1e6 / p.output_rate.value()));
}

TEST_CASE("plan: requests that make no sense are refused by name") {
  const auto why = [](auto&& change) {
    auto q = small_request();
    change(q);
    return refusal([&] { (void)pm::plan_bound(q); });
  };
  CHECK(why([](auto& q) { q.gpus = 0; }) == "PM-E010: gpus is 0; allowed: 1 to 65536");
  CHECK(why([](auto& q) { q.precisions.clear(); }) == "PM-E010: precisions: give at least one");
  CHECK(why([](auto& q) { q.utilization = 1.5; }) ==
        "PM-E010: utilization is 1.5; allowed: 0 to 1");
  CHECK(why([](auto& q) { q.load.arrivals = pm::open_loop{}; }) ==
        "PM-E010: arrivals.rate is 0; allowed: more than 0");
  CHECK(why([](auto& q) { q.load.batch_limit = -1; }) ==
        "PM-E010: batch_limit is -1; allowed: 1 or more");
  CHECK(why([](auto& q) {
          q.targets.itl = pm::latency_target{-1.0 * pm::ms};
        }).starts_with("PM-E010: targets.itl.limit is -0.001"));
  CHECK(why([](auto& q) { q.model.layers = {}; }).starts_with("PM-E010: model.layers.count is 0"));
  auto q = small_request();
  pm::plan_point stranger{};
  stranger.accelerator = "l4";
  CHECK(refusal([&] { (void)pm::deployment_of(q, stranger); }) ==
        "PM-E011: this point is not of this request");
}

TEST_CASE("plan: progress is told now and then") {
  auto q = small_request();
  q.load.arrivals = pm::closed_loop{256};
  long calls = 0, last = 0;
  const auto r = pm::plan_bound(q, pm::serial_executor{}, [&](long done) {
    ++calls;
    CHECK(done > last);
    last = done;
  });
  CHECK(calls == r.evaluated / 256);
}

}  // namespace unit_plan
