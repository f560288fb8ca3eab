// Diagnosis: each signature of a trace, each wall of memory, each stage of decoding.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/diagnose.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/workload/catalog/all.hpp>

#include "support/refusal.hpp"

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::refusal;

namespace {

using enum pm::bottleneck;

/// 70B on 8 H100, 32 sequences of 4096: weights 17.4 GB a device, a cache of 5.4 GB; 6.8 ms at the bound.
const pm::deployment llama{
    .device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = 8}};
const pm::iteration chat{.batch = 32, .context = 4096};

struct example {
  const char* what;
  pm::measured_pass measured;
  pm::bottleneck cause;
};

pm::measured_pass pass(double ms) {
  return {.time = pm::duration<>::from_value(ms * 1e-3)};
}
template <class Change>
pm::measured_pass with(pm::measured_pass m, const Change& change) {
  change(m);
  return m;
}
pm::bandwidth<> rate(double tb) {
  return pm::bandwidth<>::from_value(tb * 1e12);
}

std::vector<example> examples() {
  using m = pm::measured_pass&;
  return {// The seven signatures.
          {"small gaps between many kernels", with(pass(12), [](m x) { x.shares.launch = 0.35; }),
           launch},
          {"gaps in seconds",
           with(pass(12), [](m x) { x.launch_gaps = pm::duration<>::from_value(5e-3); }), launch},
          {"memory spikes: intermediates come from DRAM",
           with(pass(40), [](m x) { x.dram = rate(2.0); }), unfused_traffic},
          {"low FLOP/s with high bandwidth",
           with(pass(8.2),
                [](m x) {
                  x.dram = rate(2.8);
                  x.achieved = pm::flop_rate<>::from_value(15e12);
                }),
           memory_bandwidth},
          {"collectives in gaps", with(pass(12), [](m x) { x.shares.communication = 0.4; }),
           communication},
          {"some devices wait", with(pass(12), [](m x) { x.shares.waiting = 0.3; }), stragglers},
          {"repeated large allocations", with(pass(40), [](m x) { x.shares.allocation = 0.6; }),
           allocation},
          {"utilisation drops periodically", with(pass(30), [](m x) { x.shares.input = 0.5; }),
           input_pipeline},
          // The five patterns of a timeline.
          {"idle gaps that nothing explains", with(pass(20), [](m x) { x.gpu_busy = 0.5; }), host},
          {"kernels too short for either pipe", pass(60), launch},
          {"much that is no product",
           with(pass(20),
                [](m x) {
                  x.shares.gemm = 0.3;
                  x.shares.elementwise = 0.55;
                }),
           many_small_kernels},
          // The three walls.
          {"the bus is full", with(pass(8), [](m x) { x.dram = rate(2.9); }), memory_bandwidth},
          {"the bus is not full, and yet slow", with(pass(15), [](m x) { x.sectors = 4.0; }),
           memory_latency},
          {"requests are scattered", with(pass(15), [](m x) { x.sectors = 32.0; }), access_pattern},
          {"reuse is lost",
           with(pass(15),
                [](m x) {
                  x.dram = rate(2.6);
                  x.sectors = 4.0;
                  x.l2_hit = 0.05;
                }),
           access_pattern},
          // The flowchart: inputs before the host before links, whatever is larger.
          {"inputs first",
           with(pass(30),
                [](m x) {
                  x.shares.input = 0.3;
                  x.shares.launch = 0.32;
                  x.shares.communication = 0.35;
                }),
           input_pipeline},
          {"then the host",
           with(pass(30),
                [](m x) {
                  x.shares.launch = 0.3;
                  x.shares.communication = 0.4;
                }),
           launch},
          {"a gap of a tenth is no cause beside a full bus",
           with(pass(8),
                [](m x) {
                  x.shares.launch = 0.1;
                  x.dram = rate(2.8);
                }),
           memory_bandwidth},
          {"quicker than the bound", pass(1), measurement}};
}

}  // namespace

TEST_CASE("diagnose: each signature has its cause") {
  for (const example& e : examples()) {
    const pm::diagnosis d = pm::diagnose(llama, chat, e.measured);
    INFO(e.what << ": " << pm::name_of(d.cause().cause) << ", " << d.cause().evidence);
    CHECK(d.cause().cause == e.cause);
    for (std::size_t i = 1; i < d.findings.size(); ++i) CHECK(!d.findings[i].evidence.empty());
  }
}

TEST_CASE("diagnose: prompts above the ridge are bound by compute") {
  // 8192 tokens of 8B: 2 x 7.5e9 x 8192 FLOP and more, 132 ms at the peak of 989 TFLOP/s.
  const pm::deployment one{.device = cat::h100_sxm, .model = cat::llama_3_8b};
  const pm::diagnosis d = pm::diagnose(one, {.prefill_tokens = 8192}, pass(200));
  CHECK(d.cause().cause == compute);
  CHECK(d.intensity > d.ridge);
  CHECK(d.stage == pm::decode_stage::compute);
}

TEST_CASE("diagnose: the four stages of a step") {
  const auto stage = [](const pm::transformer& m, const pm::accelerator& a, double batch,
                        double context, double us) {
    return pm::decode_stage_of(pm::deployment{.device = a, .model = m}, {batch, context},
                               pm::duration<>::from_value(us * 1e-6));
  };
  // 3B at 8 TB/s: 0.77 ms, some 200 launches of 8 us 1.7 ms.
  CHECK(stage(cat::qwen_2_5_3b, cat::b200_sxm, 1, 512, 8) == pm::decode_stage::launch);
  CHECK(stage(cat::llama_3_8b, cat::h100_sxm, 1, 512, 8) == pm::decode_stage::bandwidth);
  CHECK(stage(cat::llama_3_8b, cat::h100_sxm, 32, 4096, 8) == pm::decode_stage::bandwidth);
  CHECK(stage(cat::llama_3_8b, cat::h100_sxm, 1024, 64, 8) == pm::decode_stage::compute);
  pm::transformer tiny = cat::llama_3_8b;
  tiny.hidden = 256;
  tiny.vocabulary = 1024;
  tiny.layers = {{4, pm::attention_shape{.query_heads = 4, .kv_heads = 4, .head_dim = 64},
                  pm::dense_shape{1024}}};
  pm::accelerator a = cat::h100_sxm;
  if (!a.l2.bandwidth.is_stated()) a.l2.bandwidth = 5.5 * pm::TB_per_s;
  CHECK(pm::decode_stage_of(pm::deployment{.device = a, .model = tiny}, {1, 64},
                            pm::duration<>{}) == pm::decode_stage::l2);
}

TEST_CASE("diagnose: bad input is refused by name") {
  const auto why = [](const pm::measured_pass& m) {
    return refusal([&] { (void)pm::diagnose(llama, chat, m); });
  };
  CHECK(why({}).find("time") != std::string::npos);
  CHECK(why(with(pass(10), [](pm::measured_pass& m) { m.gpu_busy = 1.2; })).find("gpu_busy") !=
        std::string::npos);
  CHECK(why(with(pass(10), [](pm::measured_pass& m) { m.shares.launch = -0.1; })).find("launch") !=
        std::string::npos);
  CHECK(why(with(pass(10), [](pm::measured_pass& m) { m.sectors = 0.0; })).find("sectors") !=
        std::string::npos);
}
