// A step against the same sums written out by hand, for every kind of model and layout.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/step.hpp>
#include <perfmodel/workload/catalog/all.hpp>

#include "support/near.hpp"
#include "support/refusal.hpp"

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
  return {.device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = tensor, .pipeline = pipeline}};
}

}  // namespace

TEST_CASE("step: a dense decode step over 8 ranks is its weights, its cache and its sums") {
  const auto e = pm::step(llama(8), {.batch = 16, .context = 4096});
  const double weights = 2 * (80 * llama_layer + llama_head) / 8;
  const double cache = 80 * 16 * (4096 + 1) * 2.0 * 128 * 2;  // one KV head a rank, and the new token
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
  const auto e = pm::step(llama(1), {.batch = 1, .context = 1});
  CHECK(near(e.time.value(), 2 * (80 * llama_layer + llama_head) / h100_bandwidth, 1e-4));
  CHECK_FALSE(e.feasible.feasible);
  CHECK(std::string(e.feasible.reason) == "the weights exceed the memory of a device");
  CHECK(near(e.feasible.needed, 141.1e9, 1e-3));
}

TEST_CASE("step: prefill multiplies every token with every weight, and attention with half its square") {
  const double s = 2048;
  const auto e = pm::step(llama(8), {.prefill_tokens = s});
  const double attention = 80 * 4.0 * 128 * 64 * (s * (s + 1) / 2);
  const double work = (s * 2 * 80 * llama_layer + 2 * llama_head + attention) / 8;  // one row of logits
  CHECK(near(e.terms["compute"].value(), work / h100_bf16));
  CHECK(near(e.terms["communication"].value(), (160 * s * 8192 * 2.0 + 7.0 / 8 * 128256 * 2.0) / nvlink_4));
  CHECK(e.limiter == pm::limiter::compute);
}

TEST_CASE("step: a mixed iteration adds the tokens up and reads the weights once") {
  const auto decode = pm::demand_of_step(llama(8), {.batch = 16, .context = 4096});
  const auto prefill = pm::demand_of_step(llama(8), {.prefill_tokens = 512, .prefill_past = 1024});
  const auto mixed = pm::demand_of_step(llama(8), {.batch = 16, .context = 4096, .prefill_tokens = 512, .prefill_past = 1024});
  CHECK(near(mixed.weights, decode.weights));
  CHECK(near(mixed.cache, decode.cache + prefill.cache));
  CHECK(near(mixed.matrix_flop, decode.matrix_flop + prefill.matrix_flop));
}

TEST_CASE("step: chunks of a prompt do the arithmetic of the whole") {
  const auto whole = pm::demand_of_step(llama(8), {.prefill_tokens = 4096});
  pm::flops<> parts{};
  for (int i = 0; i < 4; ++i) {
    parts += pm::demand_of_step(llama(8), {.prefill_tokens = 1024, .prefill_past = 1024.0 * i}).matrix_flop;
  }
  const pm::flops<> logits = 2 * llama_head / 8 * pm::flop;  // each chunk makes one row of logits
  CHECK(near(parts - 3.0 * logits, whole.matrix_flop));
}

TEST_CASE("step: several prompts at once are as many as one by one") {
  const auto one = pm::demand_of_step(llama(8), {.prefill_tokens = 500});
  const auto four = pm::demand_of_step(llama(8), {.prefill_tokens = 2000, .prefill_sequences = 4});
  CHECK(near(four.matrix_flop, 4.0 * one.matrix_flop));
  CHECK(near(four.cache, 4.0 * one.cache));
  CHECK(near(four.weights, one.weights));
}

TEST_CASE("step: more ranks than KV heads copy the heads") {
  auto d = llama(16);
  d.device.fabric.ranks = 16;
  const auto eight = pm::demand_of_step(llama(8), {.batch = 1, .context = 8192});
  const auto sixteen = pm::demand_of_step(d, {.batch = 1, .context = 8192});
  CHECK(near(sixteen.cache, eight.cache));  // one head each, as before
  CHECK(sixteen.weights < eight.weights);
}

TEST_CASE("step: a pipeline's token passes every stage, on a part of the batch") {
  const auto whole = pm::demand_of_step(llama(4), {.batch = 8, .context = 1024});
  const auto piped = pm::demand_of_step(llama(4, 2), {.batch = 16, .context = 1024});
  CHECK(near(piped.weights, whole.weights));  // all stages one after the other, at batch 16 / 2
  CHECK(near(piped.cache, whole.cache));
  CHECK(near(pm::weight_bytes_per_device(llama(4, 2)).value(),
             (2 * 80 * llama_layer / 4 + 2 * 161 * 8192.0) / 2 + 2 * 2 * llama_head / 4));
}

TEST_CASE("step: latent attention caches 576 numbers a token, whole on every rank") {
  pm::deployment d{.device = cat::h200_sxm, .model = cat::deepseek_v3, .layout = {.tensor = 8},
                   .weights = pm::fp8, .activations = pm::fp8};
  const auto s = pm::demand_of_step(d, {.batch = 4, .context = 4096});
  CHECK(near(s.cache.value(), 61 * 4 * (4096 + 1) * 576.0 * 2));
}

TEST_CASE("step: an expert-parallel rank reads its share of the experts touched") {
  pm::deployment d{.device = cat::h200_sxm, .model = cat::deepseek_v3, .layout = {.tensor = 8, .expert = 8},
                   .weights = pm::fp8, .activations = pm::fp8};
  const double expert = 3.0 * 7168 * 2048;
  const auto bytes_of_experts = [&](double batch) {
    pm::bytes<> b{};
    pm::for_each_operator(d, pm::iteration{.batch = batch, .context = 16}, [&](const pm::basic_operator<>& o) {
      if (o.kind == pm::operator_class::experts) b += o.times * o.weights;
    });
    return b.value();
  };
  CHECK(near(bytes_of_experts(1), 58 * 8 * expert / 8, 1e-9));  // one token touches 8 of 256
  const double touched = 256 * (1 - std::pow(1 - 8.0 / 256, 32));
  CHECK(near(bytes_of_experts(32), 58 * touched * expert / 8, 1e-9));
}

TEST_CASE("step: a sliding window bounds what its layers read") {
  const auto& m = cat::gemma_3_27b;
  pm::deployment d{.device = cat::h100_sxm, .model = m, .layout = {.tensor = 1}};
  const auto s = pm::demand_of_step(d, {.batch = 1, .context = 32768});
  const double per_token = 2 * m.attention.kv_heads * m.attention.head_dim * 2;
  const double full = m.layers - m.sliding_layers;
  CHECK(near(s.cache.value(), per_token * (full * (32768 + 1) + m.sliding_layers * (m.window + 1))));
}

TEST_CASE("step: weights read are the weights stored, less the embedding table and the norms") {
  for (const auto* m : {&cat::llama_3_8b, &cat::llama_2_70b, &cat::mistral_7b}) {
    const pm::deployment d{.device = cat::h100_sxm, .model = *m};
    const pm::bytes<> stored = pm::weight_bytes_per_device(d);
    const double table = 2 * m->vocabulary * m->hidden;
    const double norms = 2 * (2 * m->layers + 1) * m->hidden;
    CHECK(near(pm::demand_of_step(d, {.batch = 1}).weights.value(), stored.value() - table - norms));
  }
}

TEST_CASE("step: FLOP over one device are those of a token") {
  for (const auto* m : {&cat::llama_3_8b, &cat::mixtral_8x7b, &cat::qwen_3_32b}) {
    const pm::deployment d{.device = cat::h100_sxm, .model = *m};
    const auto s = pm::demand_of_step(d, {.batch = 1, .context = 1});
    CHECK(near(s.matrix_flop.value(), pm::flop_per_token(*m, 1.0).value(), 1e-9));
  }
}

TEST_CASE("step: what cannot be says why, or is refused") {
  CHECK(refusal([] { (void)pm::step(llama(8), {}); }) ==
        "PM-E010: batch + prefill_tokens is 0; allowed: 1 or more");
  CHECK(refusal([] { (void)pm::step(llama(8), {.batch = -1, .context = 10}); }) ==
        "PM-E010: batch is -1; allowed: 0 or more");
  CHECK(refusal([] { (void)pm::step(llama(3), {.batch = 1}); }) ==
        "PM-E030: tensor_parallel does not divide the query heads: 3 against 64");
  auto d = llama(8);
  d.weights = pm::fp4;
  d.activations = pm::fp4;
  CHECK(refusal([&] { (void)pm::step(d, {.batch = 1}); }).starts_with("PM-E013: h100_sxm does not compute in fp4"));
  CHECK(std::string(pm::step(llama(16), {.batch = 1}).feasible.reason) ==
        "the parallel group has more ranks than the fabric joins");
  const auto full = pm::step(llama(8), {.batch = 100000, .context = 4096});
  CHECK(std::string(full.feasible.reason) == "weights and KV cache exceed the memory of a device");
}

TEST_CASE("step: efficiencies only make it slower, and are checked") {
  const auto bound = pm::step(llama(8), {.batch = 16, .context = 4096});
  const auto slower = pm::step(llama(8), {.batch = 16, .context = 4096},
                               pm::derated{.compute_efficiency = 0.7, .memory_efficiency = 0.85, .launch = 2 * pm::us});
  CHECK(slower.time > bound.time);
  CHECK(refusal([] { (void)pm::step(llama(8), {.batch = 1}, pm::derated{.memory_efficiency = 1.5}); })
            .starts_with("PM-E010: memory_efficiency is 1.5"));
}
