// Serving, plans, derivations, sensitivities and capacity of a deployment.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/perfmodel.hpp>
#include <perfmodel/workload/catalog/all.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

pm::deployment llama(int tensor) {
  return {.device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = tensor}};
}
pm::plan_request request() {
  return {.accelerators = {cat::h100_sxm, cat::h200_sxm}, .model = cat::llama_3_70b, .gpus = 8,
          .load = {.input_tokens = 2048, .output_tokens = 512, .concurrency = 64},
          .ttft = 2.0 * pm::second, .itl = 50.0 * pm::ms};
}

}  // namespace

// --- capacity ---------------------------------------------------------------------------------------

TEST_CASE("kv_capacity: the published counts on 8 x 80e9 bytes") {
  const auto count = [](double weights, double per_token) {
    return pm::kv_capacity(pm::memory_budget{.capacity = 80.0 * pm::GB, .weights = weights / 8 * pm::byte},
                           per_token / 8 * pm::byte_per_token, 4096.0).sequences;
  };
  CHECK(count(140e9, 327680) == 372);
  CHECK(count(35e9, 163840) == 901);
}

TEST_CASE("kv_capacity: seed counts at 8192 tokens: 29 on one 80e9-byte device without weights, 186 on eight") {
  CHECK(pm::kv_capacity(pm::memory_budget{.capacity = 80.0 * pm::GB}, 327680.0 * pm::byte_per_token, 8192.0).sequences == 29);
  CHECK(pm::kv_capacity(pm::memory_budget{.capacity = 80.0 * pm::GB, .weights = 17.5 * pm::GB},
                        40960.0 * pm::byte_per_token, 8192.0).sequences == 186);
}

TEST_CASE("kv_capacity: blocks round down, and a sequence rounds up to blocks") {
  const auto c = pm::kv_capacity(pm::memory_budget{.capacity = 1000.0 * pm::byte}, 1.0 * pm::byte_per_token, 17.0, 16.0);
  CHECK(c.blocks == 62);                 // 1000 / 16
  CHECK(c.tokens.value() == 992);
  CHECK(c.sequences == 31);              // two blocks each
}

TEST_CASE("kv_capacity: waste, sharing and crossover as published") {
  CHECK(near(pm::contiguous_waste(500.0, 4096.0), 0.8779296875));
  CHECK(near(pm::paged_waste(500.0, 16.0), 7.5 / 507.5));
  CHECK(pm::shared_prefix_saving(64.0, 2000.0).value() == 126000);
  CHECK(near(pm::weight_cache_crossover(140.0 * pm::GB, 327680.0 * pm::byte_per_token).value(), 427246.09375));
  CHECK(near(pm::waste_free_gain(0.5), 2.0));
}

TEST_CASE("kv_capacity: what is out of range is named") {
  CHECK(refusal([] { (void)pm::kv_capacity(pm::memory_budget{.capacity = 1.0 * pm::GB, .utilization = 1.5}, 1.0 * pm::byte_per_token, 1.0); }) ==
        "PM-E010: utilization is 1.5; allowed: 0 to 1");
  CHECK(refusal([] { (void)pm::kv_capacity(llama(8), 0.0); }) == "PM-E010: context is 0; allowed: 1 or more");
  const auto none = pm::kv_capacity(llama(1), 4096.0);
  CHECK_FALSE(none.feasible.feasible);
  CHECK(none.sequences == 0);
}

TEST_CASE("kv_capacity: start-up logs add up, and tokens follow from the model") {
  std::ifstream file(PERFMODEL_SHARED_DIR "/measured/kv_capacity_logs_public.csv");
  if (!file) SKIP("the logs are not here");
  std::string line;
  std::getline(file, line);
  int identities = 0;
  while (std::getline(file, line)) {
    std::vector<std::string> cell;
    std::stringstream row(line);
    for (std::string c; std::getline(row, c, ',');) cell.push_back(c);
    const auto number = [&](std::size_t i) {
      try {
        std::size_t end = 0;
        const double x = std::stod(cell.at(i), &end);
        return end == cell.at(i).size() ? x : -1.0;
      } catch (...) {
        return -1.0;
      }
    };
    if (line.find('"') != std::string::npos || cell.size() < 13) continue;
    const double total = number(6), share = number(7), weights = number(9), other = number(10), peak = number(11), kv = number(12);
    if (total < 0 || share < 0 || weights < 0 || other < 0 || peak < 0 || kv < 0) continue;
    const pm::memory_budget b{.capacity = total * pm::GiB, .utilization = share, .weights = weights * pm::GiB,
                              .activations = peak * pm::GiB, .runtime = other * pm::GiB};
    INFO(line);
    // Logs that print weights to four places print everything so; others round the share too.
    const bool full = cell.at(9).size() > cell.at(9).find('.') + 3;
    CHECK(std::abs(pm::kv_bytes_available(b).value() / 1073741824.0 - kv) < 0.03 + (full ? 0.0 : 0.005 * total));
    ++identities;
  }
  CHECK(identities >= 5);
}

// --- serving ----------------------------------------------------------------------------------------

TEST_CASE("serving: alone, a request is one prefill and the decode steps after it") {
  const pm::load l{.input_tokens = 1000, .output_tokens = 100, .concurrency = 1};
  const auto s = pm::serving(llama(8), l);
  const auto prefill = pm::step(llama(8), {.prefill_tokens = 1000});
  const auto decode = pm::step(llama(8), {.batch = 1, .context = 1050});
  CHECK(near(s.ttft, prefill.time));
  CHECK(near(s.itl, decode.time));
  CHECK(near(s.e2e, prefill.time + 99.0 * decode.time));
  CHECK(near(s.output_tokens_per_s.value(), 100 / s.e2e.value()));
}

TEST_CASE("serving: Little's law: requests in the system are throughput times their time") {
  for (const double concurrency : {1.0, 17.0, 64.0, 400.0, 2000.0}) {
    const auto s = pm::serving(llama(8), {.input_tokens = 2048, .output_tokens = 512, .concurrency = concurrency});
    CHECK(near(s.throughput.value() * s.e2e.value(), concurrency, 1e-9));
    CHECK(s.batch <= s.capacity);
  }
}

TEST_CASE("serving: an open loop settles where the batch is what arrives during its answers") {
  for (const double rate : {0.01, 1.0, 5.0, 12.0}) {
    const auto s = pm::serving(llama(8), {.input_tokens = 2048, .output_tokens = 512, .requests_per_s = rate});
    REQUIRE(s.feasible.feasible);
    CHECK(near(s.batch, rate * 512 * s.itl.value(), 1e-9));
  }
  const auto over = pm::serving(llama(8), {.input_tokens = 2048, .output_tokens = 512, .requests_per_s = 40});
  CHECK_FALSE(over.feasible.feasible);
  CHECK(over.feasible.needed == 40);
  CHECK(over.feasible.available < 40);
}

TEST_CASE("serving: open and closed loop agree where their batch does, but for whom a request meets") {
  // An arrival meets B others, one of a closed loop of B meets B - 1.
  const auto open = pm::serving(llama(8), {.input_tokens = 256, .output_tokens = 2048, .requests_per_s = 4});
  const auto closed = pm::serving(llama(8), {.input_tokens = 256, .output_tokens = 2048, .concurrency = open.batch});
  CHECK(near(open.itl, closed.itl, 0.01));
}

TEST_CASE("serving: chunks, batch limits and bad requests") {
  const pm::load whole{.input_tokens = 4096, .output_tokens = 256, .concurrency = 32};
  pm::load chunked = whole;
  chunked.chunk_tokens = 512;
  CHECK(pm::serving(llama(8), chunked).ttft > pm::serving(llama(8), whole).ttft);
  pm::load limited = whole;
  limited.batch_limit = 8;
  const auto s = pm::serving(llama(8), limited);
  CHECK(s.batch == 8);
  CHECK(s.wait.value() > 0);
  CHECK(s.itl < pm::serving(llama(8), whole).itl);
  CHECK(refusal([] { (void)pm::serving(llama(8), {.input_tokens = 10, .output_tokens = 10}); }) ==
        "PM-E031: give one of concurrency and requests_per_s, and not both");
  CHECK(refusal([] { (void)pm::serving(llama(8), {.input_tokens = 0, .output_tokens = 10, .concurrency = 1}); }) ==
        "PM-E010: input_tokens is 0; allowed: 1 or more");
}

// --- plans ------------------------------------------------------------------------------------------

TEST_CASE("plan: the frontier is one: cheaper is slower, all within the targets, cheapest first") {
  const auto r = pm::plan(request());
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

TEST_CASE("plan: nothing tried by hand beats the frontier") {
  const auto q = request();
  const auto r = pm::plan(q);
  int tried = 0;
  for (const auto& a : q.accelerators) {
    for (const auto& f : q.precisions) {
      if (!pm::detail::computes(a, f)) continue;
      for (const int tensor : {1, 2, 4, 8}) {
        const pm::deployment d{.device = a, .model = q.model, .layout = {.tensor = tensor}, .weights = f.weights,
                               .activations = f.activations, .kv = f.kv, .utilization = q.utilization};
        const auto s = pm::serving(d, q.load);
        if (!s.feasible || s.itl > q.itl || s.ttft > q.ttft) continue;
        ++tried;
        const pm::money<> cost = tensor * a.price * pm::million_tokens / s.output_tokens_per_s;
        bool matched = false;
        for (const auto& p : r.frontier) {
          matched = matched || (p.cost_per_million <= 1.0000001 * cost && p.serving.itl <= 1.0000001 * s.itl);
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
  const auto r = pm::plan(q);
  const auto& best = r.frontier.front();
  const auto again = pm::serving(pm::deployment_of(q, best), pm::load_of(q, best));
  CHECK(near(again.itl, best.serving.itl));
  CHECK(near(best.cost_per_million.value(),
             best.gpus * pm::deployment_of(q, best).device.price.value() * 1e6 / best.output_tokens_per_s.value()));
  pm::money<> cheapest = 1e9 * pm::usd;
  for (const int gpus : {1, 2, 4, 8}) {
    q.gpus = gpus;
    const auto s = pm::plan(q);
    if (s.best < 0) continue;
    CHECK(s.frontier.front().cost_per_million <= 1.0000001 * cheapest);
    cheapest = s.frontier.front().cost_per_million;
  }
}

TEST_CASE("plan: what cannot be has a reason, and out of reach targets leave no best") {
  auto q = request();
  q.precisions = {{"bf16"}, {"fp4", pm::fp4, pm::fp4, pm::fp8}};
  const auto r = pm::plan(q);
  bool memory = false, format = false;
  for (const auto& x : r.rejected) {
    memory = memory || (x.reason == "the weights exceed the memory of a device" && x.needed > x.available);
    format = format || x.reason == "the accelerator does not compute in this format";
  }
  CHECK(memory);
  CHECK(format);
  q.itl = 1.0 * pm::us;
  const auto none = pm::plan(q);
  CHECK(none.best == -1);
  CHECK_FALSE(none.frontier.empty());  // the nearest there are
  CHECK_FALSE(none.frontier.front().meets_targets);
  q.accelerators.clear();
  CHECK(refusal([&] { (void)pm::plan(q); }) == "PM-E004: accelerators: give at least one");
}

TEST_CASE("plan: every accelerator of the catalogue can be asked, also those without some format") {
  auto q = request();
  q.accelerators.clear();
  for (const auto& e : cat::accelerators) q.accelerators.push_back(*e.spec);
  for (const auto* m : {&cat::llama_3_8b, &cat::deepseek_v3, &cat::gpt_oss_120b, &cat::gemma_3_27b}) {
    q.model = *m;
    const auto r = pm::plan(q);
    CHECK(r.evaluated > 0);
    for (const auto& p : r.frontier) {
      CHECK(std::isfinite(p.serving.itl.value()));
      CHECK(p.serving.itl.value() > 0);
    }
  }
}

// --- derivations and sensitivities ------------------------------------------------------------------

TEST_CASE("explain: the last line is the answer, and every fact has its source") {
  pm::trace t;
  const auto d = pm::trace_inputs(llama(8), t);
  const auto i = pm::trace_inputs(pm::iteration{.batch = 16, .context = 4096}, t);
  const auto e = pm::step(d, i);
  const auto lines = pm::derivation_of(e.time);
  CHECK(e.time.value().value() == pm::step(llama(8), {.batch = 16, .context = 4096}).time.value());
  REQUIRE_FALSE(lines.steps.empty());
  CHECK(lines.steps.back().name == "step time");
  CHECK(lines.steps.back().value == pm::to_string(e.time, 4));
  bool bandwidth = false;
  for (const auto& x : lines.inputs) {
    if (x.name == "device.dram.bandwidth") {
      bandwidth = true;
      CHECK(x.value == "3.35 TB/s");
      CHECK(x.source.starts_with("vendor: "));
    }
  }
  CHECK(bandwidth);
}

TEST_CASE("explain: a formula reads as it was computed") {
  pm::trace t;
  const auto a = pm::traced::input(t, 6.0, "a");
  const auto b = pm::traced::input(t, 2.0, "b");
  const auto x = named("x", (a + b) * a / (b - 1.0));
  const auto y = named("y", scalar_max(x, scalar_max(a, pm::traced(3.0))) + 0.0);
  const auto d = pm::derivation_of(y);
  REQUIRE(d.steps.size() == 2);
  CHECK(d.steps[0].formula == "(a + b) x a / (b - 1)");
  CHECK(d.steps[0].numbers == "(6 + 2) x 6 / (2 - 1)");
  CHECK(d.steps[0].value == "48");
  CHECK(d.steps[1].formula == "max(x, a, 3)");
  CHECK(d.steps[1].value == "48");
  CHECK(pm::derivation_of(pm::traced(1.0)).steps.empty());
}

TEST_CASE("sensitivity: which resource is the limit") {
  using scalar = pm::dual<5>;
  const auto of_gemm = [](double m) {
    return pm::elasticities(cat::h100_sxm, [m](const auto& a) {
      return pm::roofline(a, pm::basic_gemm<scalar>{.m = m, .n = 8192, .k = 8192}).time;
    });
  };
  const auto memory = of_gemm(1), compute = of_gemm(8192);
  CHECK(near(memory[2].value, -1.0));
  CHECK(memory[0].value == 0.0);
  CHECK(near(compute[0].value, -1.0));
  CHECK(compute[2].value == 0.0);
  const auto step = pm::elasticities(cat::h100_sxm, [](const auto& a) {
    auto d = pm::lift<scalar>(llama(8));
    d.device = a;
    return pm::step(d, pm::basic_iteration<scalar>{.batch = 64, .context = 4096}).time;
  });
  double sum = 0;
  for (const auto& e : step) sum += e.value;
  CHECK(near(sum, -1.0, 1e-9));
  CHECK(step[4].value < 0.0);
  CHECK(std::string(step[2].resource) == "dram.bandwidth");
}

static_assert(pm::require_fits<cat::h200_sxm, cat::llama_3_70b, 2>);
static_assert(pm::require_fits<cat::h100_sxm, cat::llama_3_70b, 8, pm::fp8, pm::fp8, 64, 8192>);
