// Steps over data-parallel groups and pipelines: who works on what, and what is sent.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/step.hpp>
#include <perfmodel/workload/catalog/all.hpp>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

pm::deployment deepseek(int tensor, int data, int expert) {
  return {.device = cat::h200_sxm, .model = cat::deepseek_v3, .layout = {.tensor = tensor, .expert = expert, .data = data},
          .weights = pm::fp8, .activations = pm::fp8, .kv = pm::fp8};
}
double expert_bytes(const pm::deployment& d, const pm::iteration& i) {
  double b = 0;
  pm::for_each_operator(d, i, [&](const pm::basic_operator<>& o) {
    if (o.kind == pm::operator_class::experts) b += (o.times * o.weights).value();
  });
  return b;
}
double touched(double tokens) { return 256 * (1 - std::pow(1 - 8.0 / 256, tokens)); }
constexpr double one_expert = 3.0 * 7168 * 2048;

}  // namespace

TEST_CASE("step: data-parallel groups share sequences, whole ones, and all of them share the experts") {
  const auto d = deepseek(1, 8, 8);
  const auto groups = pm::demand_of_step(d, {.batch = 64, .context = 1000});
  CHECK(near(groups.cache.value(), 61 * 8 * 1001.0 * 576));  // 8 sequences each
  CHECK(near(expert_bytes(d, {.batch = 64, .context = 1000}), 58 * touched(64) / 8 * one_expert));
  // A single sequence is one group's, and touches 8 experts, one on each rank.
  CHECK(near(pm::demand_of_step(d, {.batch = 1, .context = 1000}).cache.value(), 61 * 1001.0 * 576));
  CHECK(near(expert_bytes(d, {.batch = 1, .context = 1000}), 58 * one_expert));
}

TEST_CASE("step: a prompt is one group's work; eight prompts are one for each") {
  const auto d = deepseek(1, 8, 8);
  const auto one = pm::demand_of_step(d, {.prefill_tokens = 1000});
  const auto eight = pm::demand_of_step(d, {.prefill_tokens = 8000, .prefill_sequences = 8});
  CHECK(near(eight.cache, one.cache));
  // What differs is the experts' share of other groups' tokens: 2 FLOP x 8 experts x 7000 tokens / 8 ranks.
  CHECK(near((eight.matrix_flop - one.matrix_flop).value(), 58 * 2 * 8 * one_expert * 7000 / 8, 1e-9));
}

TEST_CASE("step: a mean over passes reads the experts of each kind of pass, not of the mean of their tokens") {
  const auto d = deepseek(8, 1, 8);
  // One pass in 10 takes a prompt of 2000 tokens beside the 4 sequences.
  const pm::iteration mean{.batch = 4, .context = 1000, .prefill_tokens = 200, .prefill_sequences = 0.1, .steady = true};
  CHECK(near(expert_bytes(d, mean), 58 * (0.9 * touched(4) + 0.1 * touched(2004)) / 8 * one_expert, 1e-9));
  const auto s = pm::demand_of_step(d, mean);
  const auto without = pm::demand_of_step(d, {.batch = 4, .context = 1000});
  const auto with = pm::demand_of_step(d, {.batch = 4, .context = 1000, .prefill_tokens = 2000});
  CHECK(near(s.matrix_flop, 0.9 * without.matrix_flop + 0.1 * with.matrix_flop, 1e-9));
  CHECK(near(s.cache, 0.9 * without.cache + 0.1 * with.cache, 1e-9));
  CHECK(near(s.weights, 0.9 * without.weights + 0.1 * with.weights, 1e-9));
  CHECK(refusal([&] { (void)pm::step(d, {.batch = 4, .prefill_tokens = 200, .prefill_sequences = 0.1}); }) ==
        "PM-E010: prefill_sequences is 0.1; allowed: 1 or more");
}

TEST_CASE("step: dispatch sends a token to a rank once, and combine brings it back") {
  // 2 groups of one rank: half of each token's row to the other, in fp8, and back in bf16.
  pm::deployment d{.device = cat::h200_sxm, .model = cat::mixtral_8x7b, .layout = {.expert = 2, .data = 2},
                   .weights = pm::fp8, .activations = pm::fp8};
  const double other_rank = 1 - std::pow(0.5, 2);  // that one of two picks is there
  CHECK(near(pm::communication_time(d, {.batch = 10, .context = 1}).value(),
             32 * 5 * 4096.0 * other_rank * (1 + 2) / 450e9));
  d.layout.expert = 1;  // each expert over both ranks: every token to both
  CHECK(near(pm::communication_time(d, {.batch = 10, .context = 1}).value(), 32 * 5 * 4096.0 * (1 + 2) / 450e9));
}

TEST_CASE("step: a stage hands its rows to the next, over the host's link where the fabric ends") {
  pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_8b, .layout = {.pipeline = 4}};
  CHECK(near(pm::communication_time(d, {.batch = 32, .context = 1}).value(), 3 * 8 * 4096 * 2.0 / 450e9));
  d.layout.pipeline = 16;
  CHECK(near(pm::communication_time(d, {.batch = 32, .context = 1}).value(),
             15 * 2 * 4096 * 2.0 / cat::h100_sxm.host.bandwidth.value()));
}

TEST_CASE("step: the vector units can be what limits, and bound nothing where nobody states their rate") {
  pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_8b};
  d.device.vector = {};
  const auto without = pm::step(d, {.batch = 64, .context = 10});
  CHECK(without.terms["vector"] == pm::duration<>{});
  d.device.vector.peak.fp32 = 1.0 * pm::GFLOP_per_s;
  const auto slow = pm::step(d, {.batch = 64, .context = 10});
  CHECK(slow.limiter == pm::limiter::vector_compute);
  CHECK(slow.time == slow.terms["vector"]);
  CHECK(slow.time > without.time);
}
