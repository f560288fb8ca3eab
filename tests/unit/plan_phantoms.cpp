// A plan never recommends a prediction that its own bound does not allow.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/plan.hpp>
#include <string>

namespace unit_plan_phantoms {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;

namespace {

pm::plan_request request(double input, double output, double users) {
  return {
      .accelerators = {cat::h100_sxm},
      .model = cat::llama_3_1_8b,
      .gpus = 8,
      .load = {.input_tokens = input, .output_tokens = output, .arrivals = pm::closed_loop{users}},
      .precisions = {{"fp8 + fp8 KV", pm::fp8, pm::fp8, pm::fp8}}};
}

/// Four times what the data sheet states: predictions that no machine can keep.
struct overstated {
  using hooks = pm::policy_hooks<overstated>;

  template <pm::Scalar T>
  constexpr pm::flop_rate<T> matrix_rate(const pm::basic_accelerator<T>& a,
                                         const pm::basic_demand<T>& d) const {
    return 4.0 * pm::datasheet{}.matrix_rate(a, d);
  }
  template <pm::Scalar T>
  constexpr pm::flop_rate<T> vector_rate(const pm::basic_accelerator<T>& a,
                                         const pm::basic_demand<T>& d) const {
    return 4.0 * pm::datasheet{}.vector_rate(a, d);
  }
  template <pm::Scalar T>
  constexpr pm::bandwidth<T> dram_bandwidth(const pm::basic_accelerator<T>& a,
                                            const pm::basic_demand<T>& d) const {
    return 4.0 * pm::datasheet{}.dram_bandwidth(a, d);
  }
  template <pm::Scalar T>
  constexpr pm::duration<T> launch_time(const pm::basic_accelerator<T>&,
                                        const pm::basic_demand<T>&) const {
    return {};
  }
};

/// Requests that a replica's prefill allows in a second: prompt tokens of full engine steps in
/// every stage and group.
double prefill_rate(const pm::plan_request& q, const pm::plan_point& p) {
  const pm::deployment d = pm::deployment_of(q, p);
  const pm::calibrated policy = pm::calibrated_for(d.device, d.serving_engine);
  const double chunk =
      std::min(q.load.input_tokens, p.chunk_tokens.value_or(pm::detail::step_token_budget(d)));
  const double parallel = d.layout.pipeline * d.layout.data;
  const pm::iteration full{.prefill_tokens = parallel * chunk,
                           .prefill_past = (q.load.input_tokens - chunk) / 2.0,
                           .prefill_sequences = parallel};
  return parallel * chunk / q.load.input_tokens / pm::step(d, full, policy).time.value();
}

}  // namespace

TEST_CASE("plan: no row serves prefills faster than its engine steps compute them") {
  // Prompts of several chunks, outputs of few tokens: where a pipeline under SGLang was said to
  // need 1.8 PFLOP/s of an H100.
  for (const auto& [input, output, users] :
       {std::array{16384.0, 32.0, 256.0}, std::array{30000.0, 16.0, 128.0},
        std::array{8192.0, 64.0, 64.0}}) {
    const pm::plan_request q = request(input, output, users);
    const pm::plan_result r = pm::plan(
        q, [](const pm::accelerator& a, pm::engine e) { return pm::calibrated_for(a, e); });
    REQUIRE(!r.frontier.empty());
    for (const pm::plan_point& p : r.frontier) {
      CAPTURE(pm::name_of(p.serving_engine), p.layout.tensor, p.layout.pipeline, p.replicas);
      CHECK(p.serving.throughput.value() <= 1.001 * prefill_rate(q, p));
      CHECK(!pm::detail::exceeded_bound(q, p));
    }
  }
}

TEST_CASE("plan: a prediction beyond its own bound is refused, with the reason") {
  const pm::plan_request q = request(2000.0, 200.0, 64.0);
  const pm::derated likely{.compute_efficiency = 0.7, .memory_efficiency = 0.8};
  CHECK(!pm::plan(q, likely).frontier.empty());
  const pm::plan_result r = pm::plan(q, overstated{});
  CHECK(r.frontier.empty());
  CHECK(!r.nearest_point);
  const auto refused = std::find_if(r.rejected.begin(), r.rejected.end(), [](const auto& x) {
    return x.reason == "the prediction exceeds its own bound";
  });
  REQUIRE(refused != r.rejected.end());
  CHECK(refused->needed > refused->available);
  CHECK(std::string(refused->unit) == "tok/s");
}

TEST_CASE("plan: a refused row gives way to the next, and its reason is counted") {
  pm::plan_request q = request(1000.0, 200.0, 64.0);
  q.targets = {.itl = 20e-3 * pm::second};
  const auto policy = pm::calibrated_for(cat::h100_sxm, pm::engine::vllm);
  q.engines = {pm::engine::vllm};
  const pm::plan_result before = pm::plan(q, policy);
  REQUIRE(before.best.has_value());
  REQUIRE(before.frontier.size() > 1);
  const pm::plan_point& first = before.frontier[0];

  const char* reason = "it is not to be had";
  q.refused.push_back(pm::refusal_of(first, pm::infeasible(reason, "s", 2.0, 1.0)));
  const pm::plan_result after = pm::plan(q, policy);
  REQUIRE(after.best.has_value());
  const pm::plan_point& next = after.frontier[0];
  CHECK_FALSE(pm::detail::refuses(q.refused[0], next));
  CHECK(pm::detail::cost_of(next, true) >= pm::detail::cost_of(first, true));
  // No row of the first front costs less than the new first row: only the refused one did.
  CHECK(pm::detail::cost_of(next, true) <= pm::detail::cost_of(before.frontier[1], true));
  const auto counted = std::find_if(after.rejected.begin(), after.rejected.end(),
                                    [&](const auto& r) { return r.reason == reason; });
  REQUIRE(counted != after.rejected.end());
  CHECK(counted->count == 1);
  CHECK(counted->layout == first.layout);
}

}  // namespace unit_plan_phantoms
