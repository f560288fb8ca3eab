// Breakdown of a point of a plan, for a service with known laws: powers of each resource.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <functional>
#include <perfmodel/explain/plan_review.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>

namespace unit_plan_review {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using constraint = pm::plan_constraint;

namespace {

/// How much more of a field a device has than the H100.
double more(double now, double before) {
  return now / before;
}

/// Serves by powers of what the device has more than an H100, and as a test says of a load.
struct service {
  static constexpr bool predicts = false;
  std::function<void(pm::serving_estimate&, const pm::service_load&, double memory)> change =
      [](pm::serving_estimate&, const pm::service_load&, double) {};

  pm::serving_estimate serve(const pm::deployment& d, const pm::service_load& l) const {
    const pm::accelerator& was = cat::h100_sxm;
    const pm::accelerator& is = d.device;
    const double matrix = more(is.matrix.peak.bf16.value(), was.matrix.peak.bf16.value());
    const double dram = more(is.dram.bandwidth.value(), was.dram.bandwidth.value());
    const double memory = more(is.dram.capacity.value(), was.dram.capacity.value());
    const double links = more(is.fabric.bandwidth.value(), was.fabric.bandwidth.value());
    pm::serving_estimate s;
    s.batch = 10.0;
    s.output_rate = 1000.0 * std::pow(matrix, 0.25) * std::pow(dram, 0.5) *
                    std::pow(memory, 0.125) * pm::token_per_s;
    s.itl = 20.0 * std::pow(dram, -0.75) * std::pow(links, -0.0625) * pm::ms;
    change(s, l, memory);
    return s;
  }
  /// Step time of the context only, 10 us a token.
  pm::estimate step(const pm::deployment&, const pm::iteration& i) const {
    pm::estimate e;
    e.time = i.context * 10.0 * pm::us;
    CHECK(i.batch == 10.0);
    return e;
  }
};

pm::plan_request request() {
  return {.accelerators = {cat::h100_sxm},
          .model = cat::llama_3_8b,
          .gpus = 8,
          .load = {.input_tokens = 1000, .output_tokens = 500, .arrivals = pm::closed_loop{64}},
          .precisions = {{"bf16"}}};
}
pm::plan_point point(const pm::plan_request& q) {
  pm::plan_point p{.accelerator = q.accelerators[0].name, .precision = q.precisions[0]};
  p.batch_limit = 64;
  p.serving.batch = 10.0;
  p.serving.itl = 20.0 * pm::ms;
  p.serving.decode.time = 20.0 * pm::ms;
  p.serving.prefill.time = 0.1 * pm::second;
  return p;
}
pm::plan_review reviewed(const pm::plan_request& q, const pm::plan_point& p,
                         const service& serve = {}) {
  return pm::detail::plan_reviewer(q, p, serve, serve).review();
}

}  // namespace

TEST_CASE("plan_review: elasticities are the powers of the law") {
  const pm::plan_request q = request();
  const auto r = reviewed(q, point(q));
  const double cost[] = {-0.25, 0, -0.5, -0.125, 0, 0}, latency[] = {0, 0, -0.75, 0, 0, -0.0625};
  for (std::size_t i = 0; i < 6; ++i) {
    INFO(r.cost[i].resource);
    CHECK_THAT(r.cost[i].value, WithinAbs(cost[i], 1e-9));
    CHECK_THAT(r.latency[i].value, WithinAbs(latency[i], 1e-9));
  }
  CHECK(r.cost[6].value == 0.0);  // nobody states what it costs
  CHECK_FALSE(r.per_million_input);
  // What does not fit with a little less of something is not compared.
  const service full{[](pm::serving_estimate& s, const pm::service_load&, double memory) {
    s.feasible.feasible = memory >= 1.0;
  }};
  CHECK(reviewed(q, point(q), full).cost[3].value == 0.0);
}

TEST_CASE("plan_review: a prompt's share of a request, and the prices of its tokens") {
  // 12.5 of 20 ms of an iteration are for 1250 tokens: 500 x 12.5 ms / 10 sequences against 100 ms.
  const pm::plan_request q = request();
  pm::plan_point p = point(q);
  p.cost_per_million = 2.0 * pm::usd;
  const auto r = reviewed(q, p);
  const double share = 0.1 / (0.1 + 500 * 12.5e-3 / 10);
  CHECK_THAT(r.input_share, WithinRel(share, 1e-12));
  // A million requests cost 500 x 2 USD, of which the prompts' share is for 1000 tokens each.
  CHECK_THAT(r.per_million_input->value(), WithinRel(share * 1000.0 / 1000.0, 1e-12));
  CHECK_THAT(r.per_million_output->value(), WithinRel((1.0 - share) * 1000.0 / 500.0, 1e-12));
  CHECK(r.cost[6].value == 1.0);
}

TEST_CASE("plan_review: memory binds where a tenth more of it lets more in") {
  const pm::plan_request q = request();
  const auto with = [&](double now, double later) {
    const service serve{[=](pm::serving_estimate& s, const pm::service_load& l, double memory) {
      CHECK((memory == 1.0 || !l.batch_limit || *l.batch_limit == 64.0));
      s.batch = memory > 1.05 ? later : now;
    }};
    return reviewed(q, point(q), serve).binding_constraint;
  };
  CHECK(with(10.0, 10.1) == constraint::memory);
  CHECK(with(10.04, 10.2) == constraint::memory);  // half a percent is none
  CHECK(with(10.0, 10.04) != constraint::memory);
  CHECK(with(10.1, 11.0) != constraint::memory);  // its limit held it back, not memory
}

TEST_CASE("plan_review: what a fuller batch meets") {
  pm::plan_request q = request();
  pm::plan_point p = point(q);
  CHECK(reviewed(q, p).binding_constraint ==
        constraint::load);  // 64 of 64, and no replica to spare
  // With half as many admitted, twice as many replicas are tried; with two replicas one.
  const auto meets = [&](double batch_limit, double concurrency, const auto& says) {
    const service serve{[&](pm::serving_estimate& s, const pm::service_load& l, double memory) {
      if (memory == 1.0 && l.batch_limit == batch_limit && l.concurrency() == concurrency) says(s);
    }};
    return reviewed(q, p, serve).binding_constraint;
  };
  const auto refuse = [](pm::serving_estimate& s) { s.feasible.feasible = false; };
  p.batch_limit = 32;
  CHECK(meets(64.0, 64.0, refuse) == constraint::rate);
  p.batch_limit = 64;
  p.replicas = 2;
  q.load.batch_limit = 128;
  CHECK(meets(128.0, 64.0, refuse) == constraint::rate);

  // While all targets are met, it buys latency; else the target with the largest miss.
  q.targets.itl = pm::latency_target{20.0 * pm::ms};
  q.targets.ttft = pm::latency_target{1.0 * pm::second};
  q.targets.e2e = pm::latency_target{10.0 * pm::second};
  q.max_queueing_time = 4.0 * pm::second;
  const auto at = [&](double itl, double ttft, double e2e, double wait) {
    return meets(128.0, 64.0, [=](pm::serving_estimate& s) {
      s.itl = itl * pm::ms;
      s.ttft = ttft * pm::second;
      s.e2e = e2e * pm::second;
      s.wait = wait * pm::second;
    });
  };
  CHECK(at(20, 1, 10, 4) == constraint::latency);
  CHECK(at(21, 1, 10, 4) == constraint::itl);
  CHECK(at(21, 1.04, 10, 4) == constraint::itl);
  CHECK(at(21, 1.06, 10, 4) == constraint::ttft);
  CHECK(at(21, 1.06, 10.7, 4) == constraint::e2e);
  CHECK(at(21, 1.06, 10.7, 4.3) == constraint::wait);
  // Of two equal misses: the wait, then ITL, then TTFT.
  CHECK(at(40, 2, 20, 8) == constraint::wait);
  CHECK(at(40, 2, 20, 0) == constraint::itl);
  CHECK(at(20, 2, 20, 0) == constraint::ttft);
}

}  // namespace unit_plan_review
