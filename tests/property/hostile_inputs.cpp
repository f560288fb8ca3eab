// Whatever goes in, what comes out is a finite number, a result with a reason, or a named error.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/operators/elementwise.hpp>
#include <perfmodel/operators/norm.hpp>
#include <perfmodel/perfmodel.hpp>

#include "support/layers.hpp"
#include "support/withstand.hpp"

namespace property_hostile_inputs {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::withstand;

namespace {

std::array<double, 3> of(const pm::estimate& e) {
  return {e.time.value(), e.mfu, e.mbu};
}

}  // namespace

TEST_CASE("hostile inputs: operators and the roofline") {
  withstand("gemm", [](auto& x) {
    return of(pm::roofline(cat::h100_sxm, pm::gemm{.m = x(), .n = x(), .k = x()}));
  });
  withstand("elementwise", [](auto& x) {
    return of(pm::roofline(
        cat::h100_sxm,
        pm::elementwise{.elements = x(), .inputs = x(), .outputs = x(), .flop_per_element = x()}));
  });
  withstand("attention_prefill", [](auto& x) {
    return of(pm::roofline(cat::h100_sxm, pm::attention_prefill{.batch = x(),
                                                                .tokens = x(),
                                                                .query_heads = x(),
                                                                .kv_heads = 1,
                                                                .head_dim = x(),
                                                                .window = x(),
                                                                .past = x()}));
  });
  withstand("attention_decode", [](auto& x) {
    return of(pm::roofline(cat::h100_sxm, pm::attention_decode{.batch = x(),
                                                               .context = x(),
                                                               .query_heads = x(),
                                                               .kv_heads = 1,
                                                               .head_dim = x(),
                                                               .block_size = x(),
                                                               .window = x(),
                                                               .splits = x()}));
  });
  withstand("moe_ffn", [](auto& x) {
    return of(pm::roofline(
        cat::h100_sxm,
        pm::moe_ffn{
            .tokens = x(), .hidden = x(), .intermediate = x(), .experts = x(), .top_k = x()}));
  });
  withstand("attainable", [](auto& x) {
    return std::array{
        pm::attainable(x() * pm::flop_per_s, x() * pm::byte_per_s, x() * pm::flop_per_byte)
            .value()};
  });
  withstand("ridge_point", [](auto& x) {
    return std::array{pm::ridge_point(x() * pm::flop_per_s, x() * pm::byte_per_s).value()};
  });
}

TEST_CASE("hostile inputs: capacity, collectives, speculation") {
  withstand("kv_capacity", [](auto& x) {
    const auto c = pm::kv_capacity(pm::memory_budget{.capacity = x() * pm::byte,
                                                     .utilization = x(),
                                                     .weights = x() * pm::byte,
                                                     .activations = x() * pm::byte,
                                                     .runtime = x() * pm::byte},
                                   x() * pm::byte_per_token, x(), x());
    return std::array{c.available.value(), c.blocks, c.tokens.value(), c.sequences};
  });
  withstand("collective", [](auto& x) {
    pm::collective c;
    c.ranks = x.whole();
    c.message = pm::message_bytes<>(x() * pm::byte);
    const auto e = pm::collective_time(cat::h100_sxm.fabric, c);
    return std::array{e.time.value(), e.algbw.quantity().value(), e.busbw.quantity().value(),
                      e.wire.quantity().value()};
  });
  withstand(
      "speculation",
      [](auto& x) {
        const auto s = pm::speculate(x.random.uniform(-0.2, 1.2), x.whole(), x());
        return std::array{s.emitted.quantity().value(), s.accepted.quantity().value(),
                          double(s.speedup), double(s.break_even_acceptance)};
      },
      1000);
  withstand("cost", [](auto& x) {
    return std::array{
        pm::cost_per_token(x(), x() * pm::usd_per_hour, x() * pm::token_per_s).value()};
  });
  withstand("queue", [](auto& x) {
    const auto q = pm::gg1(x() * pm::request_per_s, x() * pm::second, x(), x());
    return std::array{q.utilisation, q.wait.value(), q.time.value(), q.waiting.value(),
                      q.in_system.value()};
  });
}

TEST_CASE("hostile inputs: a step, a service, and models that cannot be") {
  const pm::deployment d{
      .device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = 8}};
  withstand("step", [&](auto& x) {
    return of(pm::step_bound(
        d, {.batch = x(), .context = x(), .prefill_tokens = x(), .prefill_past = x()}));
  });
  withstand("layouts", [&](auto& x) {
    auto e = d;
    e.layout = {.tensor = x.whole(), .pipeline = x.whole(), .expert = x.whole(), .data = x.whole()};
    e.utilization = x();
    return of(pm::step_bound(e, {.batch = x(), .context = 1024}));
  });
  withstand("serving", [&](auto& x) {
    const auto s = pm::serving_bound(d, {.input_tokens = x(),
                                         .output_tokens = x(),
                                         .arrivals = pm::closed_loop{x()},
                                         .chunk_tokens = x()});
    return std::array{s.ttft.value(), s.itl.value(), s.e2e.value(), s.batch, s.output_rate.value()};
  });
  withstand("serving, open", [&](auto& x) {
    const auto s = pm::serving_bound(d, {.input_tokens = x(),
                                         .output_tokens = x(),
                                         .arrivals = pm::open_loop{x() * pm::request_per_s}});
    return std::array{s.ttft.value(), s.itl.value(), s.e2e.value(), s.batch, s.output_rate.value()};
  });
  withstand("model", [&](auto& x) {
    auto e = d;
    e.layout = {};
    auto& m = e.model;
    auto& attention = perfmodel_test::attention(m);
    auto& dense = perfmodel_test::dense(m);
    (x.random.uniform() < 0.3   ? m.layers.count
     : x.random.uniform() < 0.3 ? m.hidden
                                : m.vocabulary) = x();
    (x.random.uniform() < 0.3   ? attention.head_dim
     : x.random.uniform() < 0.3 ? attention.query_heads
                                : dense.intermediate) = x();
    return of(pm::step_bound(e, {.batch = 1, .context = 128}));
  });
  withstand("accelerator", [&](auto& x) {
    auto e = d;
    e.device.dram.bandwidth = x() * pm::byte_per_s;
    e.device.dram.capacity = x() * pm::byte;
    e.device.matrix.peak.bf16 = x() * pm::flop_per_s;
    e.device.fabric.bandwidth = x() * pm::byte_per_s;
    return of(pm::step_bound(e, {.batch = 4, .context = 128}));
  });
}

}  // namespace property_hostile_inputs
