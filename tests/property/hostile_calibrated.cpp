// Meaningless profiles, layouts and trainings: the output is a finite number, a result
// with a reason, or a named error.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/collectives.hpp>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/kernels/collectives.hpp>
#include <perfmodel/kernels/policy.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/parallel/context.hpp>
#include <perfmodel/parallel/hierarchy.hpp>
#include <perfmodel/parallel/zero.hpp>
#include <perfmodel/plan.hpp>

#include "support/each_field.hpp"
#include "support/withstand.hpp"

namespace property_hostile_calibrated {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::source_of_trouble;
using perfmodel_test::withstand;

namespace {

std::array<double, 3> of(const pm::estimate& e) {
  return {e.time.value(), e.mfu, e.mbu};
}

/// A spec with some numbers replaced, as validation accepts it.
template <class Spec>
Spec troubled(Spec spec, source_of_trouble& x) {
  Spec::fields(
      [&](const pm::field&, auto& field) {
        using type = std::remove_reference_t<decltype(field)>;
        if constexpr (perfmodel_test::holds_a_number<type>) {
          if (x.random.uniform() > 0.1) return;
          perfmodel_test::put(field, std::integral<perfmodel_test::held_t<type>> ? x.whole() : x());
        }
      },
      spec);
  require_valid(spec);
  return spec;
}
/// A number that a law would take, or one that it would not.
double mostly(double usual, source_of_trouble& x) {
  return x.random.uniform() < 0.8 ? usual : x();
}

pm::number_format any_format(source_of_trouble& x) {
  const auto i =
      static_cast<std::size_t>(x.random.uniform(0, static_cast<double>(pm::all_formats.size())));
  return pm::all_formats[i];
}

}  // namespace

TEST_CASE("hostile profiles: matrix products and streaming operators") {
  const pm::accelerator& a = cat::h200_sxm;
  const auto machine = cat::machine_profile_of(a).value;
  withstand("gemm", [&](auto& x) {
    pm::gemm g{.m = x(), .n = mostly(4096, x), .k = mostly(4096, x), .format = any_format(x)};
    g.weights = any_format(x);
    if (x.random.uniform() < 0.2) g.weights = pm::storage_format(pm::fp8, 128 * 128, 32);
    return of(calibrated_estimate(a, g, {troubled(machine, x), troubled(cat::engine_vllm, x)},
                                  pm::replay_conditions(mostly(6, x))));
  });
  withstand("elementwise", [&](auto& x) {
    const pm::elementwise e{.elements = x(), .inputs = mostly(2, x)};
    return of(calibrated_estimate(a, e,
                                  {troubled(machine, x), troubled(pm::memory_bound_kernels{}, x)},
                                  {.cache = pm::cache_state::warm}));
  });
  withstand("norm", [&](auto& x) {
    return of(calibrated_estimate(
        a, pm::norm{.rows = x(), .width = x()},
        {troubled(machine, x), troubled(pm::memory_bound_kernels{.element_cycles = 1.0}, x)}));
  });
  withstand("embedding", [&](auto& x) {
    const pm::embedding e{.tokens = x(), .vocabulary = mostly(1000, x), .hidden = mostly(64, x)};
    return of(calibrated_estimate(
        a, e, {troubled(machine, x), troubled(pm::memory_bound_kernels{.lookup_cycles = 1.0}, x)}));
  });
  withstand("device", [&](auto& x) {
    pm::accelerator b = a;
    b.sms = pm::number<>::from_value(mostly(132, x));
    b.dram.bandwidth = mostly(1e12, x) * pm::byte_per_s;
    b.l2.capacity = mostly(1e7, x) * pm::byte;
    b.vector.clock = pm::frequency<>::from_value(mostly(1e9, x));
    b.matrix.peak.bf16 = mostly(1e14, x) * pm::flop_per_s;
    const pm::gemm g{.m = 64, .n = mostly(4096, x), .k = 4096};
    return of(calibrated_estimate(b, g, {machine}, pm::replay_conditions(mostly(6, x))));
  });
}

TEST_CASE("hostile profiles: attention and experts") {
  const pm::accelerator& a = cat::h200_sxm;
  const auto shared = cat::machine_profile_of(a).value;
  const auto p = cat::attention_profile_of(a).value;
  const std::array kernels = {cat::flash_attention_2, cat::flash_attention_3, cat::flashinfer,
                              cat::tensorrt_llm};
  const auto library = [&](source_of_trouble& x) {
    return troubled(kernels[static_cast<std::size_t>(x.random.uniform(0, 4))], x);
  };
  withstand("decode", [&](auto& x) {
    pm::attention_decode w{.batch = x(),
                           .context = mostly(4096, x),
                           .query_heads = mostly(32, x),
                           .kv_heads = mostly(8, x),
                           .head_dim = mostly(128, x)};
    if (x.random.uniform() < 0.2) w.window = x();
    w.kv_format = any_format(x);
    return of(calibrated_estimate(a, w, {troubled(shared, x), troubled(p, x), library(x)},
                                  {.cache = pm::cache_state::warm}));
  });
  withstand("prefill", [&](auto& x) {
    pm::attention_prefill w{.batch = mostly(2, x),
                            .tokens = x(),
                            .query_heads = mostly(32, x),
                            .kv_heads = mostly(8, x),
                            .head_dim = mostly(128, x)};
    w.past = mostly(0, x);
    if (x.random.uniform() < 0.2) w.window = x();
    w.kv_format = any_format(x);
    w.causal = x.random.uniform() < 0.5;
    return of(calibrated_estimate(a, w, {troubled(shared, x), troubled(p, x), library(x)},
                                  {.cache = pm::cache_state::warm}));
  });
  const auto m = cat::moe_profile_of(a).value;
  withstand("experts", [&](auto& x) {
    const pm::moe_ffn w{.tokens = x(),
                        .hidden = mostly(4096, x),
                        .intermediate = mostly(1536, x),
                        .experts = mostly(128, x),
                        .top_k = mostly(8, x),
                        .tensor_parallel = mostly(1, x),
                        .expert_parallel = mostly(1, x)};
    return of(
        calibrated_estimate(a, w, {troubled(m, x), troubled(cat::triton_experts, x)},
                            {.routing = x.random.uniform() < 0.5 ? pm::expert_routing::random
                                                                 : pm::expert_routing::balanced}));
  });
  withstand("range", [](auto& x) {
    const auto r = pm::range_of(x() * pm::second, x());
    return std::array{r.low.value(), r.high.value()};
  });
}

TEST_CASE("hostile profiles: collectives") {
  const auto call = [](source_of_trouble& x) {
    constexpr std::array operations = {
        pm::collective_op::all_reduce,     pm::collective_op::all_gather,
        pm::collective_op::reduce_scatter, pm::collective_op::all_to_all,
        pm::collective_op::broadcast,      pm::collective_op::point_to_point};
    pm::collective c;
    c.operation = operations[static_cast<std::size_t>(x.random.uniform(0, 6))];
    c.ranks = x.random.uniform() < 0.5 ? 8 : x.whole();
    c.message = pm::message_bytes<>(x() * pm::byte);
    c.launch = x.random.uniform() < 0.5 ? pm::launch_mode::graph : pm::launch_mode::stream;
    c.implementation = x.random.uniform() < 0.5 ? pm::collective_implementation::any
                                                : pm::collective_implementation::nccl;
    return c;
  };
  const auto cost = [](const pm::accelerator& a, source_of_trouble& x) {
    auto profile = cat::collective_profile_of(a);
    profile.value = troubled(profile.value, x);
    profile.protocols = troubled(profile.protocols, x);
    auto c =
        pm::calibrated_collectives_on(a, profile, troubled(pm::engine_all_reduce_kernels{}, x));
    c.local_copy = mostly(1e12, x) * pm::byte_per_s;
    return c;
  };
  const auto numbers = [](const auto& e) {
    return std::array{e.time.value(), e.algbw.quantity().value(), e.busbw.quantity().value()};
  };
  withstand("calibrated collectives", [&](auto& x) {
    pm::interconnect link = cat::h100_sxm.fabric;
    link.bandwidth = mostly(4.5e11, x) * pm::byte_per_s;
    return numbers(pm::collective_time(link, call(x), cost(cat::h100_sxm, x)));
  });
  withstand("two fabrics", [&](auto& x) {
    const pm::hierarchy h{.inside = cat::h100_sxm.fabric,
                          .between = {.kind = pm::link_kind::infiniband,
                                      .bandwidth = mostly(5e10, x) * pm::byte_per_s,
                                      .ranks = 64},
                          .ranks_inside = x.random.uniform() < 0.5 ? 8 : x.whole()};
    return numbers(pm::hierarchical_time(h, call(x), cost(cat::h100_sxm, x)));
  });
}

TEST_CASE("hostile inputs: communication concurrent with compute") {
  withstand("beside", [](auto& x) {
    const auto e =
        pm::overlap_with_collective(x() * pm::second, x() * pm::second, mostly(132, x), x());
    return std::array{e.time.value(), e.lost.value(), e.exposed.value()};
  });
  withstand("pipelined", [](auto& x) {
    return std::array{
        pm::pipeline_parallel_time(x() * pm::second, mostly(4, x), mostly(8, x), mostly(1, x))
            .value()};
  });
  const auto stage = [](source_of_trouble& x) {
    constexpr std::array stages = {pm::zero_stage::none, pm::zero_stage::optimizer,
                                   pm::zero_stage::gradients, pm::zero_stage::parameters};
    return stages[static_cast<std::size_t>(x.random.uniform(0, 4))];
  };
  withstand("state", [&](auto& x) {
    const pm::training_state s{mostly(2, x), mostly(2, x), mostly(12, x)};
    const int ranks = x.whole();
    const double parameters = x();
    return std::array{pm::zero_memory(stage(x), ranks, parameters, s).value(),
                      pm::zero_traffic(stage(x), ranks, parameters, s).quantity().value()};
  });
  withstand("data parallel", [&](auto& x) {
    pm::interconnect link = cat::h100_sxm.fabric;
    link.bandwidth = mostly(4.5e11, x) * pm::byte_per_s;
    pm::data_parallel_step s;
    s.ranks = x.random.uniform() < 0.5 ? 8 : x.whole();
    s.parameters = mostly(8e9, x);
    s.forward = mostly(0.1, x) * pm::second;
    s.backward = mostly(0.2, x) * pm::second;
    s.pieces = mostly(32, x);
    s.stage = stage(x);
    s.state = {mostly(2, x), mostly(2, x), mostly(12, x)};
    s.sms = mostly(132, x);
    s.taken = mostly(24, x);
    return of(pm::data_parallel_time(link, s));
  });
}

TEST_CASE("hostile inputs: long sequences") {
  const auto ring = [](source_of_trouble& x) {
    pm::ring_attention r;
    r.ranks = x.random.uniform() < 0.5 ? 8 : x.whole();
    r.batch = mostly(1, x);
    r.tokens = x();
    r.query_heads = mostly(32, x);
    r.kv_heads = mostly(8, x);
    r.head_dim = mostly(128, x);
    r.format = any_format(x);
    return r;
  };
  withstand("ring attention", [&](auto& x) {
    pm::interconnect link = cat::h100_sxm.fabric;
    link.bandwidth = mostly(4.5e11, x) * pm::byte_per_s;
    const auto e = pm::ring_attention_time(link, mostly(1e14, x) * pm::flop_per_s, ring(x));
    return std::array{e.time.value(), e.exposed.value(), e.block.quantity().value()};
  });
  withstand("activations", [](auto& x) {
    pm::layer_activations l;
    l.tensor = x.random.uniform() < 0.5 ? 8 : x.whole();
    l.batch = mostly(1, x);
    l.tokens = x();
    l.hidden = mostly(4096, x);
    l.heads = mostly(32, x);
    l.sequence = x.random.uniform() < 0.5;
    l.scores = x.random.uniform() < 0.5;
    return std::array{pm::activation_bytes(l).value()};
  });
}

TEST_CASE("hostile inputs: a plan") {
  withstand(
      "plan",
      [](auto& x) {
        pm::plan_request q;
        q.accelerators = {cat::h100_sxm};
        q.model = cat::llama_3_8b;
        q.gpus = x.random.uniform() < 0.7 ? 2 : x.whole();
        q.load = {.input_tokens = mostly(128, x), .output_tokens = mostly(16, x)};
        q.load.arrivals = pm::closed_loop{x.random.uniform() < 0.7 ? 4.0 : x()};
        if (x.random.uniform() < 0.2) q.load.arrivals = pm::open_loop{x() * pm::request_per_s};
        if (x.random.uniform() < 0.2) q.load.batch_limit = x();
        if (x.random.uniform() < 0.2) q.load.chunk_tokens = x();
        if (x.random.uniform() < 0.2) q.targets.ttft = pm::latency_target{x() * pm::second};
        if (x.random.uniform() < 0.2) q.targets.itl = pm::latency_target{x() * pm::second};
        q.precisions.resize(1);
        q.utilization = mostly(0.9, x);
        q.activation_bytes = mostly(0, x) * pm::byte;
        q.runtime_bytes = mostly(0, x) * pm::byte;
        const pm::plan_result r = pm::plan_bound(q);
        std::vector<double> all{static_cast<double>(r.evaluated)};
        for (const pm::plan_point& p : r.frontier) {
          all.push_back(p.serving.itl.value());
          all.push_back(p.serving.ttft.value());
          all.push_back(p.output_rate.value());
          all.push_back(p.cost_per_million->value());
          const pm::service_load share = load_of(q, p);
          all.push_back(share.is_closed() ? share.concurrency() : share.rate().value());
        }
        for (const pm::plan_rejection& j : r.rejected) {
          all.push_back(j.needed);
          all.push_back(j.available);
        }
        return all;
      },
      300);
}

}  // namespace property_hostile_calibrated
