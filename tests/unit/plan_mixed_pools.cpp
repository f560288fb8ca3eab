// Plans with prefill and decode on two kinds of chips.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <napkin/thread_pool.hpp>
#include <perfmodel/explain/plan_review.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_plan_mixed_pools {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

/// Long prompts, and answers that nothing may stall.
pm::plan_request request(const pm::accelerator& answers, std::vector<pm::accelerator> prompts,
                         int gpus = 16) {
  pm::plan_request q{.accelerators = {answers},
                     .model = cat::llama_3_70b,
                     .gpus = gpus,
                     .load = {.input_tokens = 8192,
                              .output_tokens = 512,
                              .arrivals = pm::open_loop{2.0 * pm::request_per_s}},
                     .targets = {.itl = pm::latency_target{15.0 * pm::ms, 0.99}},
                     .precisions = {{"fp8 + fp8 KV", pm::fp8, pm::fp8, pm::fp8}}};
  q.pools = pm::plan_pools{.prefill_accelerators = std::move(prompts)};
  return q;
}
pm::calibrated measured(const pm::accelerator& a, pm::engine e) {
  return pm::calibrated_for(a, e);
}
bool is_mixed(const pm::plan_point& p) {
  return p.prefill && !(p.prefill->accelerator == p.accelerator);
}
double per_hour(const pm::accelerator& a) {
  return 3600.0 * a.price.value();
}
double cost(const pm::plan_point& p) {
  return p.cost_per_million->value();
}

}  // namespace

TEST_CASE("plan of two kinds of chip: a prefill pool of cheaper ones wins, at the price of both") {
  const auto alone = pm::plan(request(cat::h200_sxm, {}), measured);
  const auto q = request(cat::h200_sxm, {cat::h100_sxm});
  const auto r = pm::plan(q, measured);
  REQUIRE(alone.best);
  REQUIRE(r.best);
  const auto& p = r.frontier[0];
  REQUIRE(is_mixed(p));
  CHECK(p.accelerator == cat::h200_sxm.name);
  CHECK(p.prefill->accelerator == cat::h100_sxm.name);
  CHECK(p.serving.itl_distribution.quantile(0.99) <= q.targets.itl->limit);
  CHECK(cost(p) < 0.95 * cost(alone.frontier[0]));
  // By hand: both pools' hours, over the tokens of two outputs of 512 a second.
  const int prompts = p.prefill->replicas * p.prefill->layout.ranks();
  const int answers = p.replicas * p.layout.ranks();
  CHECK(prompts + answers == p.gpus);
  CHECK(p.gpus <= q.gpus);
  const double paid = prompts * per_hour(cat::h100_sxm) + answers * per_hour(cat::h200_sxm);
  CHECK(near(cost(p), paid / 3600.0 / 1024.0 * 1e6, 1e-9));
  CHECK(near(p.gpu_time_per_million.value(), p.gpus / 1024.0 * 1e6, 1e-9));
  // What prompts cost is what their pool does.
  const auto review = pm::review_of(q, p, measured);
  CHECK(near(review.input_share, prompts * per_hour(cat::h100_sxm) / paid, 1e-9));
  CHECK(near(8192 * review.per_million_input->value() + 512 * review.per_million_output->value(),
             512 * cost(p), 1e-9));
}

TEST_CASE("plan of two kinds of chip: dearer ones for prefill change nothing") {
  const auto alone = pm::plan(request(cat::mi300x, {}), measured);
  const auto r = pm::plan(request(cat::mi300x, {cat::h100_sxm}), measured);
  REQUIRE(alone.best);
  CHECK(r.evaluated > alone.evaluated);
  CHECK_FALSE(is_mixed(r.frontier[0]));
  CHECK(cost(r.frontier[0]) == cost(alone.frontier[0]));
  CHECK(r.frontier[0].serving.itl == alone.frontier[0].serving.itl);
}

TEST_CASE("plan of two kinds of chip: each point is serving's result for its pools", "[long]") {
  int mixed = 0;
  const struct {
    const pm::accelerator &answers, &prompts;
    double bytes_per_s;
  } pairs[] = {{cat::h200_sxm, cat::h100_sxm, cat::h100_sxm.host.bandwidth.value()},
               {cat::h200_sxm, cat::mi300x, cat::mi300x.host.bandwidth.value()},
               // A generation of PCIe less halves the way.
               {cat::a100_sxm_80gb, cat::h100_sxm, cat::a100_sxm_80gb.host.bandwidth.value()}};
  for (const auto& x : pairs) {
    auto q = request(x.answers, {x.prompts});
    q.targets.itl->limit = 60.0 * pm::ms;
    q.precisions.push_back({"bf16"});
    for (const auto& p : pm::plan(q, measured).frontier) {
      if (!is_mixed(p)) continue;
      ++mixed;
      const auto on = [&](const pm::accelerator& a, const pm::parallel_layout& l) {
        return pm::deployment{.device = a,
                              .model = q.model,
                              .layout = l,
                              .weights = p.precision.weights,
                              .activations = p.precision.activations,
                              .kv = p.precision.kv,
                              .serving_engine = p.serving_engine};
      };
      const pm::disaggregated pools{
          .prefill = {on(x.prompts, p.prefill->layout), double(p.prefill->replicas)},
          .decode = {on(x.answers, p.layout), double(p.replicas)},
          .link = {.bandwidth_per_device = pm::bandwidth<>::from_value(x.bytes_per_s)}};
      auto load = q.load;
      load.batch_limit = p.batch_limit;
      const auto s = pm::serving(pools, load, measured(x.prompts, p.serving_engine),
                                 measured(x.answers, p.serving_engine));
      INFO(x.answers.name.view() << " after " << x.prompts.name.view());
      CHECK(near(s.ttft, p.serving.ttft));
      CHECK(near(s.itl, p.serving.itl));
      CHECK(near(s.output_rate.value(), p.output_rate.value()));
      CHECK(near(pm::pools_of(q, p).link.bandwidth_per_device.value(), x.bytes_per_s));
      const auto bound = pm::bound_of_point(q, p);
      CHECK(bound.ttft <= p.serving.ttft);
      CHECK(bound.itl <= p.serving.itl);
    }
  }
  CHECK(mixed >= 8);
}

TEST_CASE("plan of two kinds of chip: the only pair that there is, tried by hand") {
  for (const double rate : {0.5, 2.0, 6.0}) {
    auto q = request(cat::h200_sxm, {cat::h100_sxm});
    q.model = cat::llama_3_8b;
    q.gpus = 2;
    q.engines = {pm::engine::vllm};
    q.load.arrivals = pm::open_loop{rate * pm::request_per_s};
    q.targets.itl->limit = 8.0 * pm::ms;
    const auto on = [&](const pm::accelerator& a) {
      return pm::deployment{.device = a,
                            .model = q.model,
                            .weights = pm::fp8,
                            .activations = pm::fp8,
                            .kv = pm::fp8,
                            .serving_engine = pm::engine::vllm};
    };
    const auto s = pm::serving(
        pm::disaggregated{
            .prefill = {on(cat::h100_sxm)},
            .decode = {on(cat::h200_sxm)},
            .link = {.bandwidth_per_device = cat::h100_sxm.host.bandwidth.quantity()}},
        q.load, measured(cat::h100_sxm, pm::engine::vllm),
        measured(cat::h200_sxm, pm::engine::vllm));
    const bool meets = s.feasible && s.itl_distribution.quantile(0.99) <= q.targets.itl->limit &&
                       s.wait <= q.max_queueing_time;
    const double paid = (cat::h100_sxm.price.value() + cat::h200_sxm.price.value()) * 1e6;
    bool found = false;
    for (const auto& p : pm::plan(q, measured).frontier) {
      if (is_mixed(p)) {
        CHECK(p.meets_targets == meets);
        CHECK(near(p.serving.itl, s.itl));
        CHECK(near(cost(p), paid / (512 * rate)));
      }
      // It is on the frontier, or something is as cheap and as quick.
      found = found || (p.meets_targets && cost(p) <= 1.0000001 * paid / (512 * rate) &&
                        p.serving.itl <= 1.0000001 * s.itl);
    }
    CHECK((found || !meets));
  }
}

TEST_CASE("plan of two kinds of chip: more to choose from never costs more, with any threads",
          "[long]") {
  for (const auto* answers : {&cat::h100_sxm, &cat::h200_sxm, &cat::mi300x}) {
    double before = 1e300;
    std::vector<pm::accelerator> prompts;
    for (const auto* next : {&cat::h100_sxm, &cat::l40s, &cat::mi300x, &cat::b200_sxm}) {
      auto q = request(*answers, prompts);
      const auto r = pm::plan(q, measured);
      REQUIRE(r.best);
      CHECK(cost(r.frontier[0]) <= before);
      before = cost(r.frontier[0]);
      const auto one = pm::plan(q, measured, napkin::thread_pool(2));
      CHECK(one.evaluated == r.evaluated);
      REQUIRE(one.frontier.size() == r.frontier.size());
      for (std::size_t i = 0; i < r.frontier.size(); ++i) {
        CHECK(cost(one.frontier[i]) == cost(r.frontier[i]));
      }
      prompts.push_back(*next);
    }
  }
}

TEST_CASE("plan of two kinds of chip: what of the prefill pool cannot be has a reason") {
  auto q = request(cat::h200_sxm, {cat::a100_sxm_80gb, cat::l4, cat::tpu_v5e}, 4);
  const auto has = [](const pm::plan_result& r, const char* name, const std::string& why) {
    bool said = false;
    for (const auto& x : r.rejected) said = said || (x.accelerator == name && x.reason == why);
    return said;
  };
  const auto cannot = pm::plan(q, measured);
  CHECK(has(cannot, "a100_sxm_80gb", "the accelerator does not compute in this format"));
  CHECK(has(
      cannot, "l4",
      "weights and KV cache exceed the usable memory of a device, and so do the weights alone"));
  CHECK(has(cannot, "tpu_v5e", "it shares no engine with an accelerator that decodes"));
  // Those that decode anyway are no second kind.
  q.pools->prefill_accelerators = {cat::h200_sxm};
  CHECK(pm::plan(q, measured).evaluated ==
        pm::plan(request(cat::h200_sxm, {}, 4), measured).evaluated);
  q.pools->prefill_accelerators = {cat::h100_sxm, cat::h100_sxm};
  CHECK(refusal([&] { (void)pm::plan(q, measured); }) ==
        "PM-E031: pools.prefill_accelerators has one name twice; allowed: each once");
  q = request(cat::h200_sxm, {cat::h100_sxm});
  auto stranger = pm::plan(q, measured).frontier[0];
  q.pools->prefill_accelerators.clear();
  CHECK(refusal([&] { (void)pm::pools_of(q, stranger); }) ==
        "PM-E011: the pool that prefills is not of this request");
  // Without one of the prices the measure is device time.
  q.pools->prefill_accelerators = {cat::h100_sxm};
  q.pools->prefill_accelerators[0].price = {};
  const auto unpriced = pm::plan(q, measured);
  CHECK_FALSE(unpriced.all_priced);
  for (const auto& p : unpriced.frontier) CHECK(p.cost_per_million.has_value() == !is_mixed(p));
}

TEST_CASE("plan: pools beyond a fabric are not offered where nothing else links them") {
  pm::accelerator a = cat::h100_sxm;  // NVLink connects 8
  a.host = {};
  const auto r = pm::plan(request(a, {}, 16), measured);
  int pools = 0;
  for (const auto& p : r.frontier) {
    if (!p.prefill) continue;
    ++pools;
    CHECK(p.gpus <= 8);
  }
  CHECK(pools > 0);
}

}  // namespace unit_plan_mixed_pools
