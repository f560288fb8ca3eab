// First programs of a new user: each compiles as one would write it.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/explain/derivation.hpp>
#include <perfmodel/explain/sensitivity.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/perfmodel.hpp>
#include <perfmodel/plan.hpp>
#include <string>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_first_programs {

namespace pm = perfmodel;
using namespace pm::literals;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

const pm::deployment llama_on_h100{
    .device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_8b, .layout = {.tensor = 1}};

}  // namespace

TEST_CASE("first programs: a roofline in static_assert") {
  constexpr auto e = pm::roofline(pm::catalog::h100_sxm, pm::gemm{.m = 16, .n = 8192, .k = 8192});
  static_assert(e.limiter == pm::limiter::memory);
  CHECK(e.time < 50.0 * pm::us);
}

TEST_CASE("first programs: a step in a loop over whole batches") {
  const auto policy = pm::calibrated_for(pm::catalog::h100_sxm, pm::engine::vllm);
  pm::duration<> before{};
  for (const int batch : {1, 8, 64}) {
    const auto e = pm::step(llama_on_h100, {.batch = batch * 1.0, .context = 4096}, policy);
    CHECK(e.value() > before);
    before = e.value();
  }
}

TEST_CASE("first programs: an accelerator of one's own") {
  pm::accelerator a{.name = "mine", .sms = 64.0};
  a.matrix.peak.bf16 = 500_TFLOP_per_s;
  a.dram = {.capacity = 64_GB, .bandwidth = 2.0_TB_per_s};
  const auto e = pm::roofline(a, pm::gemm{.m = 1, .n = 8192, .k = 8192});
  CHECK(near(e.time.value(), 2.0 * 8192 * 8193 / 2e12, 1e-3));
}

TEST_CASE("first programs: a model of one's own") {
  pm::transformer m = pm::catalog::llama_3_8b;
  m.name = "mine";
  m.hidden = 2048;
  const pm::deployment d{.device = pm::catalog::h100_sxm, .model = m};
  CHECK(pm::parameters(m).total() < pm::parameters(pm::catalog::llama_3_8b).total());
  CHECK(pm::kv_capacity(d, 8192).sequences > 1.0);
}

namespace {

/// Two thirds of the data sheet's bandwidth.
struct slow_memory : pm::datasheet {
  using hooks = pm::policy_hooks<slow_memory>;

  template <pm::Scalar T>
  constexpr pm::bandwidth<T> dram_bandwidth(const pm::basic_accelerator<T>& a,
                                            const pm::basic_demand<T>& d) const {
    return 2.0 / 3.0 * pm::datasheet::dram_bandwidth(a, d);
  }
};

}  // namespace

TEST_CASE("first programs: a policy of one's own") {
  const pm::iteration i{.batch = 1, .context = 1024};
  CHECK(pm::step(llama_on_h100, i, slow_memory{}).time >
        1.4 * pm::step(llama_on_h100, i, pm::datasheet{}).time);
}

TEST_CASE("first programs: a serving sweep, and an estimate that is infeasible") {
  const auto policy = pm::calibrated_for(pm::catalog::h100_sxm, pm::engine::vllm);
  for (const double users : {1.0, 16.0, 64.0}) {
    const auto s = pm::serving(
        llama_on_h100,
        {.input_tokens = 1024, .output_tokens = 256, .arrivals = pm::closed_loop{users}}, policy);
    CHECK(s.checked().itl > 1.0 * pm::ms);
  }
  const auto s = pm::serving(llama_on_h100,
                             {.input_tokens = 1024,
                              .output_tokens = 256,
                              .arrivals = pm::open_loop{1000.0 * pm::request_per_s}},
                             policy);
  CHECK_FALSE(s.feasible);
  CHECK(refusal([&] { (void)s.checked(); }).starts_with("PM-E032: infeasible: "));

  pm::deployment d = llama_on_h100;
  d.model = pm::catalog::llama_3_70b;
  const auto e = pm::step(d, {.batch = 1, .context = 1024}, policy);
  CHECK_FALSE(e.feasible);
  CHECK(e.time > 20.0 * pm::ms);  // the time if memory sufficed
  CHECK(refusal([&] { (void)e.value(); }).starts_with("PM-E032: infeasible: weights"));
}

TEST_CASE("first programs: a plan with targets that are durations") {
  const pm::plan_request q{
      .accelerators = {pm::catalog::h100_sxm},
      .model = pm::catalog::llama_3_70b,
      .gpus = 8,
      .load = {.input_tokens = 2048, .output_tokens = 512, .arrivals = pm::closed_loop{64}},
      .targets = {.ttft = 2 * pm::second, .itl = 40 * pm::ms},
      .precisions = {{"fp8", pm::fp8, pm::fp8, pm::bf16}}};
  const pm::plan_result r = pm::plan_bound(q);
  REQUIRE(r.best);
  CHECK(pm::meets(r.frontier[*r.best].serving, q.targets));
  CHECK(q.targets.ttft->limit == 2.0 * pm::second);
  CHECK_FALSE(q.targets.ttft->share);
}

TEST_CASE("first programs: elasticities of a step") {
  const auto e = pm::elasticities(llama_on_h100, [](const auto& d) {
    return pm::step_bound(d, {.batch = 32, .context = 4096});
  });
  CHECK(std::string(e[2].resource) == "dram.bandwidth");
  CHECK(near(e[2].value, -1.0, 1e-9));
  double sum = 0;
  for (const auto& x : e) sum += x.value;
  CHECK(near(sum, -1.0, 1e-9));

  // Elasticities to the fields of any other spec.
  const auto flop =
      pm::elasticities(pm::gemm{.m = 16, .n = 4096, .k = 8192},
                       [](const auto& g) { return demand_of(g).matrix_flop; }, {"m", "n", "k"});
  for (const auto& x : flop) CHECK(near(x.value, 1.0, 1e-12));
  CHECK(refusal([&] {
          (void)pm::elasticities(pm::gemm{.m = 16, .n = 4096, .k = 8192},
                                 [](const auto& g) { return demand_of(g).matrix_flop; }, {"rows"});
        }) == "PM-E014: no field is called \"rows\"");
}

TEST_CASE("first programs: a traced derivation") {
  const pm::derivation d = pm::explain(
      [](const auto& deployment, const auto& i) { return pm::step_bound(deployment, i); },
      llama_on_h100, pm::iteration{.batch = 16, .context = 4096});
  REQUIRE_FALSE(d.steps.empty());
  const auto e = pm::step_bound(llama_on_h100, {.batch = 16, .context = 4096});
  CHECK(d.steps.back().name == "step time");
  CHECK(d.steps.back().value == pm::to_string(e.time, 4));
  CHECK_FALSE(d.inputs.empty());
  CHECK(pm::to_string(d).find("device.dram.bandwidth") != std::string::npos);
}

namespace {

/// An operator of one's own: y = a x + y over n elements of four bytes.
template <pm::Scalar T = double>
struct basic_axpy {
  T n{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(pm::field::count("n"), s.n...);
  }
};
using axpy = basic_axpy<>;
template <pm::Scalar T>
constexpr pm::basic_demand<T> demand_of(const basic_axpy<T>& x) {
  return {.vector_flop = 2.0 * x.n * pm::flop,
          .dram = {8.0 * x.n * pm::byte, 4.0 * x.n * pm::byte}};
}

}  // namespace

TEST_CASE("first programs: an operator of one's own") {
  const auto e = pm::roofline(pm::catalog::h100_sxm, axpy{1e9});
  CHECK(e.limiter == pm::limiter::memory);
  CHECK(near(e.time.value(), 12e9 / 3.35e12, 1e-9));
}

}  // namespace unit_first_programs
