// A plan against every deployment tried one by one.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/plan.hpp>
#include <vector>

#include "support/random.hpp"

namespace property_plan {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;

namespace {

struct tried {
  double cost, itl, ttft;
  bool met;
};

/// One layout of a request, with every number of replicas and every batch limit.
void try_layout(const pm::plan_request& q, pm::deployment d, std::vector<tried>& all) {
  const double longest = q.load.input_tokens + q.load.output_tokens;
  const int ranks = d.layout.ranks();
  for (int replicas = 1; replicas * ranks <= q.gpus; ++replicas) {
    if (!pm::fits(d, 1.0, longest) || replicas > q.load.concurrency()) continue;
    pm::service_load share = q.load;
    const double own = q.load.concurrency() / replicas;
    share.arrivals = pm::closed_loop{own};
    for (double limit = 1; limit < 2 * own; limit *= 2) {
      share.batch_limit = std::fmin(limit, own);
      const auto s = pm::serving_bound(d, share);
      if (!s.feasible || s.wait > q.max_queueing_time) continue;
      const double rate = replicas * s.output_rate.value();
      const double cost = replicas * ranks * d.device.price.value() * 1e6 / rate;
      all.push_back({cost, s.itl.value(), s.ttft.value(),
                     (!q.targets.itl || s.itl <= q.targets.itl->limit) &&
                         (!q.targets.ttft || s.ttft <= q.targets.ttft->limit)});
    }
  }
}

/// All deployments of a request, with loops of its own over a grid that plan() documents.
std::vector<tried> try_all(const pm::plan_request& q) {
  std::vector<tried> all;
  for (const auto& a : q.accelerators) {
    for (const auto& f : q.precisions) {
      pm::deployment d{.device = a,
                       .model = q.model,
                       .weights = f.weights,
                       .activations = f.activations,
                       .kv = f.kv,
                       .utilization = q.utilization};
      for (int tensor = 1; tensor <= q.gpus; tensor *= 2) {
        for (int pipeline = 1; tensor * pipeline <= q.gpus; pipeline *= 2) {
          for (int spread = 0; spread < (pm::experts_of(q.model) ? 2 : 1); ++spread) {
            d.layout = {.tensor = tensor, .pipeline = pipeline, .expert = spread ? tensor : 1};
            try_layout(q, d, all);
          }
        }
        for (int data = 2; pm::experts_of(q.model) && tensor * data <= q.gpus; data *= 2) {
          d.layout = {.tensor = tensor, .expert = tensor * data, .data = data};
          try_layout(q, d, all);
        }
      }
    }
  }
  return all;
}

pm::plan_request random_request(perfmodel_test::random_numbers& random) {
  const pm::transformer* models[] = {&cat::llama_3_8b, &cat::llama_3_70b, &cat::mixtral_8x7b,
                                     &cat::gpt_oss_20b, &cat::gemma_3_27b};
  pm::plan_request q;
  q.accelerators = {random.uniform() < 0.5 ? cat::h100_sxm : cat::h200_sxm};
  if (random.uniform() < 0.5) q.accelerators.push_back(cat::b200_sxm);
  q.model = *models[static_cast<int>(random.uniform(0, 5))];
  q.gpus = 1 + static_cast<int>(random.uniform(0, 8));
  q.precisions = {{"bf16"}, {"fp8 + fp8 KV", pm::fp8, pm::fp8, pm::fp8}};
  q.load = {.input_tokens = std::floor(random.log_uniform(64, 8192)),
            .output_tokens = std::floor(random.log_uniform(16, 2048)),
            .arrivals = pm::closed_loop{std::floor(random.log_uniform(1, 200))}};
  if (random.uniform() < 0.7)
    q.targets.itl = pm::latency_target{random.log_uniform(3e-4, 0.05) * pm::second};
  if (random.uniform() < 0.5)
    q.targets.ttft = pm::latency_target{random.log_uniform(0.02, 5) * pm::second};
  return q;
}

}  // namespace

TEST_CASE(
    "plan: the frontier is what no deployment beats, and every one is on it or beaten by it") {
  perfmodel_test::random_numbers random(21);
  int with_best = 0, without = 0;
  for (int n = 0; n < 25; ++n) {
    const auto q = random_request(random);
    const auto r = pm::plan_bound(q);
    const auto all = try_all(q);
    bool any = false;
    for (const auto& x : all) any = any || x.met;
    CHECK(r.best.has_value() == any);
    any ? ++with_best : ++without;
    const double slack = 1 + 1e-9;
    for (const auto& x : all) {
      if (x.met != any) continue;
      bool covered = false;
      for (const auto& p : r.frontier) {
        covered = covered || (p.cost_per_million->value() <= slack * x.cost &&
                              p.serving.itl.value() <= slack * x.itl);
      }
      CHECK(covered);
    }
    for (const auto& p : r.frontier) {
      CHECK(p.meets_targets == any);
      bool found = false, beaten = false;
      for (const auto& x : all) {
        if (x.met != any) continue;
        const double cost = p.cost_per_million->value(), itl = p.serving.itl.value();
        found = found || (x.cost <= slack * cost && x.itl <= slack * itl);
        beaten = beaten || (slack * x.cost < cost && x.itl <= itl) ||
                 (x.cost <= cost && slack * x.itl < itl);
      }
      CHECK(found);
      CHECK_FALSE(beaten);
      for (const auto& other : r.frontier) {
        const auto objectives = [&](const pm::plan_point& x) {
          return pm::detail::objectives_of(x, r.all_priced);
        };
        if (&other != &p) CHECK_FALSE(pm::detail::dominates(objectives(other), objectives(p)));
      }
    }
  }
  CHECK(with_best >= 5);
  CHECK(without >= 2);
}

TEST_CASE("plan: more devices are never dearer, nor is a wider choice of machines or formats") {
  perfmodel_test::random_numbers random(22);
  for (int n = 0; n < 6; ++n) {
    auto q = random_request(random);
    double cheapest = 1e300;
    for (q.gpus = 1; q.gpus <= 12; ++q.gpus) {
      const auto r = pm::plan_bound(q);
      if (!r.best) {
        CHECK(cheapest == 1e300);
        continue;
      }
      const double cost = r.frontier.front().cost_per_million->value();
      CHECK(cost <= cheapest * (1 + 1e-12));
      cheapest = cost;
    }
    q.gpus = 12;
    if (cheapest == 1e300) continue;
    q.precisions.push_back({"fp8", pm::fp8, pm::fp8, pm::bf16});
    CHECK(pm::plan_bound(q).frontier.front().cost_per_million->value() <= cheapest);
    auto looser = q;
    if (q.targets.itl) looser.targets.itl->limit *= 2.0;
    if (q.targets.ttft) looser.targets.ttft->limit *= 2.0;
    CHECK(pm::plan_bound(looser).frontier.front().cost_per_million->value() <= cheapest);
  }
}

}  // namespace property_plan
