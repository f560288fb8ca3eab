// The best that a service can do, the largest rate and the largest chunk that meet targets.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <vector>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_service_limits {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

pm::deployment llama() {
  return pm::with_all_memory(
      pm::deployment{.device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = 8}});
}
pm::disaggregated pools(double prefill, double decode) {
  return {.prefill = {llama(), prefill},
          .decode = {llama(), decode},
          .link = {.bandwidth_per_device = 50.0 * pm::GB_per_s}};
}
pm::service_load closed(double concurrency, double output = 512) {
  return {.input_tokens = 2048, .output_tokens = output, .arrivals = pm::closed_loop{concurrency}};
}
pm::service_load open(double rate, double output = 512) {
  return {.input_tokens = 2048,
          .output_tokens = output,
          .arrivals = pm::open_loop{.rate = rate * pm::request_per_s}};
}
/// Steady, a run, and arrivals.
std::vector<pm::service_load> loads_of(double n, double output) {
  auto run = closed(n, output);
  std::get<pm::closed_loop>(run.arrivals).requests = 10 * n;
  return {closed(n, output), run, open(n / 100, output)};
}
const auto policy = pm::calibrated_for(cat::h100_sxm, pm::engine::vllm);

template <class Bound, class Prediction>
void check_no_better(const Bound& b, const Prediction& s) {
  if (!s.feasible) return;
  CHECK(b.feasible);
  CHECK(b.ttft <= s.ttft);
  CHECK(b.itl <= s.itl);
  CHECK(b.e2e <= s.e2e * (1 + 1e-9));
  CHECK(s.throughput <= b.throughput * (1 + 1e-9));
}

/// M/M/1: first tokens are exponential with a mean of 1 / (mu - lambda).
pm::serving_estimate single_server(const pm::service_load& l, double mu) {
  pm::serving_estimate s;
  const double rate = l.rate().value();
  if (rate >= mu) {
    s.feasible = pm::infeasible("too many", "req/s", rate, mu);
    return s;
  }
  s.ttft = 1.0 / (mu - rate) * pm::second;
  s.ttft_distribution.add({1.0, {}, {}, s.ttft});
  return s;
}

}  // namespace

TEST_CASE("bound of pools: an unloaded request is a prefill, the rest of its transfer, and steps") {
  auto d = pools(3, 2);
  const auto prompt = pm::step_bound(d.prefill.deployment, {.prefill_tokens = 2048}).time;
  const auto token = pm::step_bound(d.decode.deployment, {.batch = 1, .context = 2048 + 256}).time;
  const auto s = pm::serving_bound(d, closed(1));
  CHECK(near(s.ttft, prompt + pm::transfer_time(d, 2048) / 80.0, 1e-9));
  CHECK(near(s.itl, token));
  CHECK(near(s.e2e, s.ttft + 511.0 * token, 1e-9));
  CHECK(near(s.throughput.value() * s.e2e.value(), 1.0, 1e-9));
  CHECK(s.ttft_distribution.size() == 0);
  d.first_token_from_decode = true;
  CHECK(near(pm::serving_bound(d, closed(1)).ttft, s.ttft + token, 1e-9));
}

TEST_CASE("bound of pools: no prediction is better, whichever stage binds") {
  for (const double prefill : {1.0, 40.0}) {
    for (const double decode : {1.0, 8.0}) {
      for (const double n : {1.0, 64.0, 2000.0, 20000.0}) {
        for (const auto& l : loads_of(n, n > 100 ? 16 : 512)) {
          const auto d = pools(prefill, decode);
          const auto b = pm::serving_bound(d, l);
          check_no_better(b, pm::serving(d, l, policy));
          check_no_better(b, pm::serving(d, l, pm::datasheet{}));
        }
      }
    }
  }
}

TEST_CASE("pools: a closed loop does not send more than its link does") {
  auto d = pools(40, 4);
  d.link.bandwidth_per_device = 0.5 * pm::GB_per_s;
  // 80 layers x 4 KiB x 2048 tokens / 8 ranks = 83.9 MB of each device; 32 devices take them.
  const double most = 4 * 0.5e9 / (327680.0 * 2048 / 8);
  for (const auto& s : {pm::serving(d, closed(2000), pm::datasheet{}),
                        pm::disaggregated_estimate(pm::serving_bound(d, closed(2000)))}) {
    CHECK(near(s.throughput.value(), most, 1e-9));
    CHECK(near(s.transfer_utilisation, 1.0, 1e-9));
    CHECK(s.binding == pm::service_stage::transfer);
    CHECK(near(s.throughput.value() * s.e2e.value(), 2000, 1e-6));
  }
}

TEST_CASE("pools: cached prompt tokens are not computed, and long outputs have more context") {
  const auto d = pools(3, 2);
  auto l = closed(1);
  l.prefix_hit = 0.5;
  const auto s = pm::serving(d, l, pm::datasheet{});
  const auto half = pm::step(d.prefill.deployment, {.prefill_tokens = 1024, .prefill_past = 1024},
                             pm::datasheet{});
  CHECK(near(s.prefill.time, half.time));
  l.output_cv = 1;
  // A mean over tokens: half an output of O (1 + cv^2).
  const auto token =
      pm::step(d.decode.deployment, {.batch = 1, .context = 2048 + 512}, pm::datasheet{});
  CHECK(near(pm::serving(d, l, pm::datasheet{}).itl, token.time));
}

TEST_CASE("bound of speculation: a round at its bound, and no prediction is better") {
  const auto d = llama();
  pm::speculation free{.by = pm::drafter::lookup, .length = 4, .acceptance = {1.0}};
  const auto s = pm::serving_bound(d, closed(1), free);
  // Every round emits five: the mean context is that of all the answer.
  const auto round =
      pm::step_bound(d, {.batch = 1, .context = 2048 + 256, .tokens_per_sequence = 5}).time;
  CHECK(near(s.emitted, 5));
  CHECK(near(s.itl, round / 5.0, 1e-9));
  CHECK(near(s.e2e, pm::step_bound(d, {.prefill_tokens = 2048}).time + 511.0 / 5.0 * round, 1e-9));
  CHECK(s.itl_distribution.size() == 0);

  using pm::drafter;
  for (const auto by : {drafter::lookup, drafter::layer, drafter::model, drafter::heads}) {
    for (const double acceptance : {0.0, 0.8}) {
      pm::speculation drafts{.by = by, .length = 3, .acceptance = {acceptance}};
      if (by == drafter::model) {
        drafts.draft = d;
        drafts.draft->model = cat::llama_3_8b;
      }
      for (const double n : {1.0, 64.0}) {
        for (const auto& l : loads_of(n, 256)) {
          const auto b = pm::serving_bound(d, l, drafts);
          check_no_better(b, pm::serving(d, l, drafts, policy));
          check_no_better(b, pm::serving(d, l, drafts, pm::datasheet{}));
        }
      }
    }
  }
}

TEST_CASE("largest rate: a single server by hand, by the mean and by a percentile") {
  const auto serve = [](const pm::service_load& l) { return single_server(l, 10); };
  const pm::service_targets mean{.ttft = pm::latency_target{0.5 * pm::second}};
  CHECK(near(pm::largest_rate(closed(1), mean, serve).value(), 8.0, 1e-5));
  const pm::service_targets p99{.ttft = pm::latency_target{4.0 * pm::second, 0.99}};
  CHECK(near(pm::largest_rate(open(3), p99, serve).value(), 10 - std::log(100.0) / 4, 1e-5));
  CHECK(near(pm::largest_rate(open(3), {}, serve).value(), 10.0, 1e-5));
  const pm::service_targets none{.ttft = pm::latency_target{0.01 * pm::second}};
  CHECK(pm::largest_rate(open(3), none, serve).value() == 0);
  CHECK(refusal([&] {
          (void)pm::largest_rate(open(1), {.itl = pm::latency_target{}}, serve);
        }).starts_with("PM-E010: itl.limit is 0"));
  CHECK(refusal([&] {
          (void)pm::largest_rate(open(1), {.itl = pm::latency_target{1.0 * pm::ms, 1.5}}, serve);
        }).starts_with("PM-E010: itl.share is 1.5"));
}

TEST_CASE("targets: what is missed by how much, of means, of shares and of a bound") {
  pm::serving_estimate s;
  s.ttft = 3.0 * pm::second;
  s.itl = 20.0 * pm::ms;
  s.e2e = 10.0 * pm::second;
  const pm::service_targets shares{.ttft = pm::latency_target{2.0 * pm::second, 0.75},
                                   .itl = pm::latency_target{40.0 * pm::ms}};
  // Without a distribution the mean stands for a share.
  CHECK(near(pm::misses_of(s, shares).ttft, 1.5));
  // Even from 1 to 5 s: three quarters are within 4 s.
  s.ttft_distribution.add({1.0, 1.0 * pm::second, 4.0 * pm::second});
  s.itl_distribution.add({1.0, 20.0 * pm::ms});
  const auto missed = pm::misses_of(s, shares);
  CHECK(near(missed.ttft, 2.0));
  CHECK(near(missed.itl, 0.5));
  CHECK(missed.e2e == 0.0);
  CHECK(missed.worst() == missed.ttft);
  CHECK_FALSE(pm::meets(s, shares));
  // At the limit it is met; what is not feasible meets nothing.
  const pm::service_targets at{.ttft = pm::latency_target{3.0 * pm::second},
                               .e2e = pm::latency_target{10.0 * pm::second}};
  CHECK(pm::meets(s, at));
  CHECK_FALSE(at.has_percentiles());
  CHECK(shares.has_percentiles());
  CHECK(pm::meets(s, pm::service_targets{}));
  s.feasible = pm::infeasible("no", "", 1, 0);
  CHECK_FALSE(pm::meets(s, pm::service_targets{}));
}

TEST_CASE("largest rate: of a deployment the targets hold there and not above") {
  const auto d = llama();
  const auto serve = [&](const pm::service_load& l) { return pm::serving(d, l, policy); };
  const pm::service_targets all[] = {{.ttft = pm::latency_target{0.6 * pm::second, 0.9}},
                                     {.itl = pm::latency_target{25.0 * pm::ms}},
                                     {.itl = pm::latency_target{300.0 * pm::ms, 0.99}},
                                     {.ttft = pm::latency_target{1.0 * pm::second},
                                      .e2e = pm::latency_target{20.0 * pm::second, 0.9}},
                                     {}};
  for (const auto& targets : all) {
    const double rate = pm::largest_rate(open(1), targets, serve).value();
    REQUIRE(rate > 0);
    CHECK(pm::meets(serve(open(rate)), targets));
    CHECK_FALSE(pm::meets(serve(open(1.01 * rate)), targets));
  }
  // What a reason names as available is where it stops to keep up.
  CHECK(near(serve(open(100)).feasible.available, pm::largest_rate(open(1), {}, serve).value(),
             1e-5));
}

TEST_CASE("chunk budget: the largest that meets an ITL target") {
  const auto linear = [](const pm::service_load& l) {
    pm::serving_estimate s;
    s.itl = (1.0 + *l.chunk_tokens / 1000.0) * pm::ms;
    if (*l.chunk_tokens < 300)
      s.feasible = pm::infeasible("too few", "tokens", 300, *l.chunk_tokens);
    return s;
  };
  const auto budget = [&](double ms) {
    return pm::chunk_budget_for(closed(8), {ms * pm::ms}, 8192, linear);
  };
  CHECK(budget(1.7505) == 750);
  CHECK(budget(1.35) == 350);
  CHECK(budget(1.2) == 0);
  CHECK(budget(100) == 8192);

  const auto d = llama();
  auto book = closed(8, 500);
  book.input_tokens = 64000;
  int before = 0;
  for (const double ms : {60.0, 120.0, 400.0}) {
    const pm::latency_target target{ms * pm::ms, 0.99};
    const int chunk = pm::chunk_budget_for(d, book, target, policy);
    REQUIRE(chunk > before);
    before = chunk;
    const auto p99 = [&](int tokens) {
      book.chunk_tokens = tokens;
      return pm::serving(d, book, policy).itl_distribution.quantile(0.99);
    };
    CHECK(p99(chunk) <= target.limit);
    CHECK(p99(chunk + 1) > target.limit);
  }
}

}  // namespace unit_service_limits
