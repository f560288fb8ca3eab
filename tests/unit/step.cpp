// Steps against sums written out by hand: one group, data-parallel groups and pipelines.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/step.hpp>
#include <string>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_step {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

constexpr double h100_bandwidth = 3.35e12;
constexpr double h100_bf16 = 989.4e12;
constexpr double nvlink_4 = 450e9;

// Llama 3 70B: 80 layers of width 8192, 64 query and 8 KV heads of 128, FFN 28672, 128256 words.
constexpr double llama_layer = 8192.0 * (8192 + 2 * 1024) + 8192.0 * 8192 + 3 * 8192.0 * 28672;
constexpr double llama_head = 128256.0 * 8192;

pm::deployment llama(int tensor, int pipeline = 1) {
  return {.device = cat::h100_sxm,
          .model = cat::llama_3_70b,
          .layout = {.tensor = tensor, .pipeline = pipeline}};
}

pm::deployment deepseek(int tensor, int data, int expert) {
  return {.device = cat::h200_sxm,
          .model = cat::deepseek_v3,
          .layout = {.tensor = tensor, .expert = expert, .data = data},
          .weights = pm::fp8,
          .activations = pm::fp8,
          .kv = pm::fp8};
}
double expert_bytes(const pm::deployment& d, const pm::iteration& i) {
  double b = 0;
  pm::for_each_operator(d, i, [&](const pm::basic_operator<>& o) {
    if (o.kind == pm::operator_class::experts) b += (o.times * o.weights).value();
  });
  return b;
}
double touched(double tokens) {
  return 256 * (1 - std::pow(1 - 8.0 / 256, tokens));
}
constexpr double one_expert = 3.0 * 7168 * 2048;

}  // namespace

TEST_CASE("step: a dense decode step over 8 ranks is its weights, its cache and its sums") {
  const auto e = pm::step_bound(llama(8), {.batch = 16, .context = 4096});
  const double weights = 2 * (80 * llama_layer + llama_head) / 8;
  const double cache =
      80 * 16 * (4096 + 1) * 2.0 * 128 * 2;  // one KV head a rank, and the new token
  const double work = 16 * (2 * (80 * llama_layer + llama_head) + 80 * 4.0 * 4096 * 64 * 128) / 8;
  // in-network: the message once; the logits' other seven eighths
  const double sent = 160 * 16 * 8192 * 2.0 + 7.0 / 8 * 16 * 128256 * 2.0;
  CHECK(near(e.terms["weights"].value(), weights / h100_bandwidth));
  CHECK(near(e.terms["kv_cache"].value(), cache / h100_bandwidth));
  CHECK(near(e.terms["compute"].value(), work / h100_bf16));
  CHECK(near(e.terms["communication"].value(), sent / nvlink_4));
  CHECK(near(e.time.value(), (weights + cache) / h100_bandwidth + sent / nvlink_4));
  CHECK(e.limiter == pm::limiter::memory);
  CHECK(near(e.mbu, (weights + cache) / h100_bandwidth / e.time.value()));
  CHECK(e.feasible.feasible);
}

TEST_CASE("step: 70B in bf16 on one H100 takes 41.5 ms a token and does not fit") {
  const auto e = pm::step_bound(with_all_memory(llama(1)), {.batch = 1, .context = 1});
  CHECK(near(e.time.value(), 2 * (80 * llama_layer + llama_head) / h100_bandwidth, 1e-4));
  CHECK_FALSE(e.feasible.feasible);
  CHECK(std::string(e.feasible.reason) ==
        "weights and KV cache exceed the usable memory of a device, and so do the weights alone");
  CHECK(near(e.feasible.needed, 141.1e9, 1e-3));
}

TEST_CASE(
    "step: prefill multiplies every token with every weight, and attention with half its square") {
  const double s = 2048;
  const auto e = pm::step_bound(llama(8), {.prefill_tokens = s});
  const double attention = 80 * 4.0 * 128 * 64 * (s * (s + 1) / 2);
  const double work =
      (s * 2 * 80 * llama_layer + 2 * llama_head + attention) / 8;  // one row of logits
  CHECK(near(e.terms["compute"].value(), work / h100_bf16));
  CHECK(near(e.terms["communication"].value(),
             (160 * s * 8192 * 2.0 + 7.0 / 8 * 128256 * 2.0) / nvlink_4));
  CHECK(e.limiter == pm::limiter::compute);
}

TEST_CASE("step: a pipeline's token crosses every stage, on a part of the batch") {
  const auto whole = pm::demand_of_step(llama(4), {.batch = 8, .context = 1024});
  const auto piped = pm::demand_of_step(llama(4, 2), {.batch = 16, .context = 1024});
  CHECK(near(piped.weights, whole.weights));  // all stages one after the other, at batch 16 / 2
  CHECK(near(piped.cache, whole.cache));
  CHECK(near(pm::weight_bytes_per_device(llama(4, 2)).value(),
             (2 * 80 * llama_layer / 4 + 2 * 161 * 8192.0) / 2 + 2 * 2 * llama_head / 4));
}

TEST_CASE(
    "step: data-parallel groups share sequences, whole ones, and all of them share the experts") {
  const auto d = deepseek(1, 8, 8);
  const auto groups = pm::demand_of_step(d, {.batch = 64, .context = 1000});
  CHECK(near(groups.cache.value(), 61 * 8 * 1001.0 * 576));  // 8 sequences each
  CHECK(near(expert_bytes(d, {.batch = 64, .context = 1000}), 58 * touched(64) / 8 * one_expert));
  // A single sequence is one group's, and touches 8 experts, one on each rank.
  CHECK(
      near(pm::demand_of_step(d, {.batch = 1, .context = 1000}).cache.value(), 61 * 1001.0 * 576));
  CHECK(near(expert_bytes(d, {.batch = 1, .context = 1000}), 58 * one_expert));
}

TEST_CASE("step: a prefill is one group's work; eight prefills are one for each") {
  const auto d = deepseek(1, 8, 8);
  const auto one = pm::demand_of_step(d, {.prefill_tokens = 1000});
  const auto eight = pm::demand_of_step(d, {.prefill_tokens = 8000, .prefill_sequences = 8});
  CHECK(near(eight.cache, one.cache));
  // What differs is the experts' share of other groups' tokens: 2 FLOP x 8 experts x 7000 tokens /
  // 8 ranks.
  CHECK(near((eight.matrix_flop - one.matrix_flop).value(), 58 * 2 * 8 * one_expert * 7000 / 8,
             1e-9));
}

TEST_CASE(
    "step: a mean over engine steps reads the experts of each kind of step, not of the mean of "
    "their tokens") {
  const auto d = deepseek(8, 1, 8);
  // One step in 10 takes a prompt of 2000 tokens in addition to the 4 sequences.
  const pm::iteration mean{
      .batch = 4, .context = 1000, .prefill_tokens = 200, .prefill_sequences = 0.1, .steady = true};
  CHECK(near(expert_bytes(d, mean), 58 * (0.9 * touched(4) + 0.1 * touched(2004)) / 8 * one_expert,
             1e-9));
  const auto s = pm::demand_of_step(d, mean);
  const auto without = pm::demand_of_step(d, {.batch = 4, .context = 1000});
  const auto with = pm::demand_of_step(d, {.batch = 4, .context = 1000, .prefill_tokens = 2000});
  CHECK(near(s.matrix_flop, 0.9 * without.matrix_flop + 0.1 * with.matrix_flop, 1e-9));
  CHECK(near(s.cache, 0.9 * without.cache + 0.1 * with.cache, 1e-9));
  CHECK(near(s.weights, 0.9 * without.weights + 0.1 * with.weights, 1e-9));
  CHECK(refusal([&] {
          (void)pm::step_bound(d, {.batch = 4, .prefill_tokens = 200, .prefill_sequences = 0.1});
        }) == "PM-E010: prefill_sequences is 0.1; allowed: 1 or more");
}

TEST_CASE("step: dispatch sends a token to a rank once, and combine brings it back") {
  // 2 groups of one rank: half of each token's row to the other, in fp8, and back in bf16.
  pm::deployment d{.device = cat::h200_sxm,
                   .model = cat::mixtral_8x7b,
                   .layout = {.expert = 2, .data = 2},
                   .weights = pm::fp8,
                   .activations = pm::fp8};
  const double other_rank = 1 - std::pow(0.5, 2);  // that one of two picks is there
  CHECK(near(pm::communication_time(d, {.batch = 10, .context = 1}).value(),
             32 * 5 * 4096.0 * other_rank * (1 + 2) / 450e9));
  d.layout.expert = 1;  // each expert over both ranks: every token to both
  CHECK(near(pm::communication_time(d, {.batch = 10, .context = 1}).value(),
             32 * 5 * 4096.0 * (1 + 2) / 450e9));
}

TEST_CASE("step: ranks wait for each other twice a layer, whatever they exchange") {
  // An all-reduce after each of 61 mixers and feed-forwards; dispatch and combine around 58 kinds
  // of experts.
  const auto waits = [](int tensor, int data) {
    return pm::detail::collectives_of_step(deepseek(tensor, data, 8));
  };
  CHECK(waits(8, 1) == 61 + 61);
  CHECK(waits(2, 4) == 61 + 3 + 2 * 58);
  CHECK(waits(1, 8) == 2 * 58);
  CHECK(pm::detail::collectives_of_step(llama(1)) == 0);
  // In one group the experts' results are summed as others are: in-network, the message once.
  CHECK(near(pm::communication_time(deepseek(8, 1, 8), {.batch = 16, .context = 1}).value(),
             (122 * 16 * 7168 * 2.0 + 7.0 / 8 * 16 * 129280 * 2.0) / nvlink_4));
}

TEST_CASE("step: a host is waited for at each stage, other ranks at each collective") {
  struct waits : pm::derated {
    using hooks [[maybe_unused]] =
        pm::policy_hooks<waits, pm::policy_hook::cpu_time, pm::policy_hook::rank_wait>;
    constexpr pm::duration<> cpu_time(double sequences) const { return sequences * pm::ms; }
    constexpr pm::duration<> rank_wait() const { return 5.0 * pm::us; }
  };
  // 8 of 16 sequences at each of 2 stages, and 160 all-reduces.
  const pm::iteration i{.batch = 16, .context = 100};
  const auto longer =
      pm::step(llama(2, 2), i, waits{}).time - pm::step(llama(2, 2), i, pm::derated{}).time;
  CHECK(near(longer.value(), 2 * 8e-3 + 160 * 5e-6, 1e-9));
}

TEST_CASE("step: absent operators are no terms") {
  const pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_8b};
  const pm::iteration i{.batch = 4, .context = 100};
  CHECK(pm::step_bound(d, i).terms.find("communication") == nullptr);
  const auto e = pm::step(d, i, pm::derated{});
  for (const char* none : {"communication", "experts", "host"})
    CHECK(e.terms.find(none) == nullptr);
  CHECK(e.terms.find("attention") != nullptr);
}

TEST_CASE("step: the demand of a step is that of its operators, as often as they run") {
  const pm::deployment d = deepseek(8, 1, 8);
  const pm::iteration i{.batch = 16, .context = 500, .prefill_tokens = 100};
  double weights = 0, cache = 0, matrix = 0, vector = 0, launches = 0;
  pm::for_each_operator(d, i, [&](const pm::basic_operator<>& o) {
    weights += o.times * o.weights.value();
    cache += o.times * o.cache.value();
    matrix += o.times * o.demand.matrix_flop.value();
    vector += o.times * o.demand.vector_flop.value();
    launches += o.times * o.demand.launches;
  });
  const auto s = pm::demand_of_step(d, i);
  CHECK(near(s.weights.value(), weights));
  CHECK(near(s.cache.value(), cache));
  CHECK(near(s.matrix_flop.value(), matrix));
  CHECK(near(s.vector_flop.value(), vector));
  CHECK(near(s.launches, launches));
  const auto e = pm::step_bound(d, i);
  CHECK(near(e.terms["vector"].value(), vector / pm::vector_peak(d.device).value()));
  CHECK(near(e.mfu, e.terms["compute"].value() / e.time.value()));
  CHECK(near(e.mbu, (e.terms["weights"] + e.terms["kv_cache"]).value() / e.time.value()));
}

TEST_CASE("step: a stage hands its rows to the next, over the host's link where the fabric ends") {
  pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_8b, .layout = {.pipeline = 4}};
  CHECK(near(pm::communication_time(d, {.batch = 32, .context = 1}).value(),
             3 * 8 * 4096 * 2.0 / 450e9));
  d.layout.pipeline = 8;  // all that the fabric joins
  CHECK(near(pm::communication_time(d, {.batch = 32, .context = 1}).value(),
             7 * 4 * 4096 * 2.0 / 450e9));
  d.layout.pipeline = 16;
  CHECK(near(pm::communication_time(d, {.batch = 32, .context = 1}).value(),
             15 * 2 * 4096 * 2.0 / cat::h100_sxm.host.bandwidth.value()));
}

TEST_CASE(
    "step: the vector units can be the limiter, and bound nothing where their rate is not stated") {
  pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_8b};
  d.device.vector = {};
  const auto without = pm::step_bound(d, {.batch = 64, .context = 10});
  CHECK(without.terms.find("vector") == nullptr);
  d.device.vector.peak.fp32 = 1.0 * pm::GFLOP_per_s;
  const auto slow = pm::step_bound(d, {.batch = 64, .context = 10});
  CHECK(slow.limiter == pm::limiter::vector_compute);
  CHECK(slow.time == slow.terms["vector"]);
  CHECK(slow.time > without.time);
}

TEST_CASE("step: an infeasible step has a reason, or is refused") {
  CHECK(refusal([] { (void)pm::step_bound(llama(8), {}); }) ==
        "PM-E010: batch + prefill_tokens is 0; allowed: 1 or more");
  CHECK(refusal([] { (void)pm::step_bound(llama(8), {.batch = -1, .context = 10}); }) ==
        "PM-E010: batch is -1; allowed: 0 or more");
  CHECK(refusal([] { (void)pm::step_bound(llama(3), {.batch = 1}); }) ==
        "PM-E030: layout.tensor does not divide the query heads: 3 against 64");
  auto d = llama(8);
  d.weights = pm::fp4;
  d.activations = pm::fp4;
  CHECK(refusal([&] {
          (void)pm::step_bound(d, {.batch = 1});
        }).starts_with("PM-E013: h100_sxm does not compute in fp4"));
  CHECK(std::string(pm::step_bound(llama(16), {.batch = 1}).feasible.reason) ==
        "the parallel group has more ranks than the fabric joins");
  const auto full = pm::step_bound(llama(8), {.batch = 100000, .context = 4096});
  CHECK(std::string(full.feasible.reason) ==
        "weights and KV cache exceed the usable memory of a device");
}

TEST_CASE("step: efficiencies only make it slower, and are checked") {
  const auto bound = pm::step_bound(llama(8), {.batch = 16, .context = 4096});
  const auto slower = pm::step(
      llama(8), {.batch = 16, .context = 4096},
      pm::derated{.compute_efficiency = 0.7, .memory_efficiency = 0.85, .launch = 2 * pm::us});
  CHECK(slower.time > bound.time);
  CHECK(refusal([] {
          (void)pm::step(llama(8), {.batch = 1}, pm::derated{.memory_efficiency = 1.5});
        }).starts_with("PM-E010: memory_efficiency is 1.5"));
}

TEST_CASE("step: the memory of a mixed step is its sequences' at their context and its prefill's") {
  // 32 x 4096 + 65,536 tokens of 40,960 bytes in addition to 1/8 of the matrices and all norms:
  // 25.7 GB.
  const pm::iteration mixed{.batch = 32, .context = 4096, .prefill_tokens = 65536};
  CHECK(pm::step_bound(llama(8), mixed).feasible.feasible);
  const double weights = 2 * ((80 * llama_layer + 2 * llama_head) / 8 + 161 * 8192.0);
  const double needed = weights + (32 * 4096 + 65536) * 40960.0;
  CHECK(near(needed, 25.7e9, 1e-3));
  auto small = with_all_memory(llama(8));
  small.device.dram.capacity = 18.0 * pm::GB;
  CHECK(near(pm::step_bound(small, mixed).feasible.needed, needed));
  // 4 prompts of 8192 with 1024 cached each, alone.
  const pm::iteration prompts{
      .prefill_tokens = 4 * 8192, .prefill_past = 1024, .prefill_sequences = 4};
  CHECK(near(pm::step_bound(small, prompts).feasible.needed, weights + 4 * 9216 * 40960.0));
}

TEST_CASE(
    "step: verifying drafted tokens takes logits and arithmetic of each, and the cache once") {
  // 16 sequences of 4096 tokens, 5 tokens of each at once.
  const auto e = pm::step_bound(llama(8), {.batch = 16, .context = 4096, .tokens_per_sequence = 5});
  const double rows = 16 * 5;
  const double seen = 4096 * 5 + (0 + 1 + 2 + 3 + 4);
  const double work =
      (rows * 2 * (80 * llama_layer + llama_head) + 80 * 4.0 * 16 * seen * 64 * 128) / 8;
  const double sent = 160 * rows * 8192 * 2.0 + 7.0 / 8 * rows * 128256 * 2.0;
  CHECK(near(e.terms["weights"].value(), 2 * (80 * llama_layer + llama_head) / 8 / h100_bandwidth));
  CHECK(near(e.terms["kv_cache"].value(), 80 * 16 * (4096 + 5) * 2.0 * 128 * 2 / h100_bandwidth));
  CHECK(near(e.terms["compute"].value(), work / h100_bf16));
  CHECK(near(e.terms["communication"].value(), sent / nvlink_4));
  // Experts see the tokens, and so do the sequences' own rows.
  const auto d = deepseek(8, 1, 8);
  CHECK(near(expert_bytes(d, {.batch = 4, .context = 1000, .tokens_per_sequence = 3}),
             expert_bytes(d, {.batch = 12, .context = 1000})));
  CHECK(refusal([] { (void)pm::step_bound(llama(8), {.batch = 1, .tokens_per_sequence = 0}); }) ==
        "PM-E010: tokens_per_sequence is 0; allowed: 1 or more");
}

TEST_CASE("step: activations decide how rows travel, whatever embeddings are stored in") {
  // 160 all-reduces of 64 x 8192 and 7/8 of 64 x 128,256 logits, 2 bytes each: 0.405 ms.
  const double sent = 160 * 64 * 8192 * 2.0 + 7.0 / 8 * 64 * 128256 * 2.0;
  CHECK(near(sent / nvlink_4, 0.405e-3, 1e-3));
  const pm::iteration i{.batch = 64, .context = 4096};
  for (const auto others : {pm::bf16, pm::fp8, pm::fp32, pm::int4}) {
    auto d = llama(8);
    d.weights = pm::weight_storage(pm::storage_format(pm::bf16), others);
    const auto e = pm::step_bound(d, i);
    CHECK(near(e.terms["communication"].value(), sent / nvlink_4));
    const double head = bytes_of(others).value() * llama_head;
    CHECK(near(e.terms["weights"].value(), (2 * 80 * llama_layer + head) / 8 / h100_bandwidth));
  }
  auto d = llama(8);
  d.activations = pm::fp8;
  d.weights = pm::fp8;
  CHECK(near(pm::communication_time(d, i).value(), sent / nvlink_4));  // never below 16 bits
  d.activations = pm::fp32;
  CHECK(near(pm::communication_time(d, i).value(), 2 * sent / nvlink_4));
}

TEST_CASE("step: a policy is what its functions say, not what it is called") {
  struct mine : pm::datasheet {
    using hooks [[maybe_unused]] = pm::policy_hooks<mine>;
  };
  const pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_8b};
  const pm::iteration prompt{.prefill_tokens = 512};
  CHECK(pm::step(d, prompt, mine{}).time == pm::step(d, prompt, pm::datasheet{}).time);
  CHECK(near(pm::step(d, prompt, pm::derated{}).time, pm::step(d, prompt, pm::datasheet{}).time));
  CHECK(pm::step_bound(d, prompt).time < pm::step(d, prompt, pm::datasheet{}).time);
}

}  // namespace unit_step
