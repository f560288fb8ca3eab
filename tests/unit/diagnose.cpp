// Diagnosis: each signature of a trace, each wall of memory, each stage of decoding.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/tools/diagnose/diagnose.hpp>
#include <string>
#include <vector>

#include "support/refusal.hpp"

namespace unit_diagnose {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using perfmodel_test::refusal;

namespace {

using enum pm::bottleneck;

/// 70B on 8 H100, 32 sequences of 4096: weights 17.4 GB a device, a cache of 5.4 GB; 6.8 ms at the
/// bound.
const pm::deployment llama{
    .device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = 8}};
const pm::iteration chat{.batch = 32, .context = 4096};

struct example {
  const char* what;
  pm::measured_step measured;
  pm::bottleneck cause;
};

pm::measured_step pass(double ms) {
  return {.time = pm::duration<>::from_value(ms * 1e-3)};
}
template <class Change>
pm::measured_step with(pm::measured_step m, const Change& change) {
  change(m);
  return m;
}
pm::bandwidth<> rate(double tb) {
  return pm::bandwidth<>::from_value(tb * 1e12);
}

std::vector<example> examples() {
  using m = pm::measured_step&;
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
           elementwise_time},
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

/// What the pass needs, and its bound: the second method of what a diagnosis makes of them.
const pm::step_demand work = demand_of_step(llama, chat);
const pm::bytes<> needed = work.weights + work.cache;
const pm::estimate bound = step_bound(llama, chat);
const std::string kernels = pm::detail::significant(work.launches, 3);

bool has(const pm::diagnosis& d, pm::bottleneck cause) {
  return std::ranges::any_of(d.findings, [&](const auto& f) { return f.cause == cause; });
}
/// The finding of a cause, or one of a later place among those of the cause by their share.
const pm::finding& of(const pm::diagnosis& d, pm::bottleneck cause, std::size_t skip = 0) {
  std::vector<const pm::finding*> found;
  for (const pm::finding& f : d.findings) {
    if (f.cause == cause) found.push_back(&f);
  }
  std::ranges::sort(found, {}, &pm::finding::share);
  REQUIRE(found.size() > skip);
  return *found[skip];
}
const std::string& said(const pm::diagnosis& d, pm::bottleneck cause) {
  return of(d, cause).evidence;
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

TEST_CASE("diagnose: prefill above the ridge is bound by compute") {
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

TEST_CASE("diagnose: what a trace says is counted once, and what is left is the kernels'") {
  // 20 of 100 ms are idle, in seconds, and 15 as a share: the larger. 0.2 + 0.12 + 0.11 + 0.13 +
  // 0.1 = 0.66 explain why no kernel runs for 0.9 of the time.
  pm::measured_step m = pass(100);
  m.gpu_busy = 0.1;
  m.launch_gaps = pm::duration<>::from_value(20e-3);
  m.shares = {.input = 0.12, .host = 0.11, .launch = 0.15, .communication = 0.13, .waiting = 0.1};
  m.shares.allocation = 0.05;
  m.shares.elementwise = 0.06;
  m.shares.sampling = 0.07;
  m.dram = rate(1.0);
  const pm::diagnosis d = pm::diagnose(llama, chat, m);
  CHECK(said(d, input_pipeline) == "12 % of the time waits for inputs");
  CHECK(of(d, host, 1).evidence == "no kernel runs for 90 % of the time, 66 % of it explained");
  CHECK_THAT(of(d, host, 1).share, WithinRel(0.9 - 0.66, 1e-9));
  CHECK_THAT(of(d, host, 0).share, WithinRel(0.11, 1e-9));
  CHECK_THAT(of(d, launch).share, WithinRel(0.2, 1e-9));
  CHECK(said(d, launch) == "20 % of the time is idle between about " + kernels + " kernels");
  CHECK(said(d, stragglers) == "10 % of the time waits for other devices");
  CHECK_FALSE(has(d, allocation));  // below what is mentioned
  CHECK_THAT(of(d, elementwise_time).share, WithinRel(0.13, 1e-9));
  CHECK(said(d, elementwise_time) == "13 % of the time is neither GEMM nor attention");
  // 1 TB/s for 100 ms where the model needs its weights and its cache.
  const double times = 100e9 / needed.value();
  CHECK_THAT(of(d, unfused_traffic).share, WithinRel(1.0 / 3.35 * (1.0 - 1.0 / times), 1e-9));
  CHECK(said(d, unfused_traffic) ==
        "100 GB from DRAM, " + pm::detail::significant(times, 3) + " times what the model needs");
  const double links = bound.terms["communication"].value() / 0.1;
  CHECK(said(d, communication) == "13 % of the time is exposed communication; " +
                                      pm::detail::significant(100.0 * links, 3) +
                                      " % at full link bandwidth");
  // All that is named takes more than the whole: 0.05 are left for kernels, of which the bus fills
  // 0.2985.
  CHECK_THAT(of(d, memory_latency).share, WithinRel((1.0 - 1.0 / 3.35) * 0.05, 1e-9));
}

TEST_CASE("diagnose: without a trace the model says what links take at least") {
  pm::diagnosis_thresholds t;
  t.least_share = bound.terms["communication"] / bound.time;
  const pm::measured_step m{.time = bound.time};
  const pm::diagnosis d = pm::diagnose(llama, chat, m, {}, t);
  CHECK_FALSE(has(d, measurement));  // as quick as the bound, and not quicker
  CHECK(of(d, communication).share == t.least_share);
  CHECK(said(d, communication).ends_with(" % of the time at least is communication, by the model"));
  t.least_share *= 1.001;
  CHECK_FALSE(has(pm::diagnose(llama, chat, m, {}, t), communication));
  const pm::diagnosis quick = pm::diagnose(llama, chat, pass(1));
  CHECK(said(quick, measurement) ==
        "1 ms is below the bound of " + pm::to_string(bound.time) + ", which no hardware can beat");
}

TEST_CASE("diagnose: shares of the peaks, measured or by the model") {
  const double ridge = 989.4 / 3.35;
  const pm::diagnosis model = pm::diagnose(llama, chat, pass(20));
  CHECK_THAT(model.dram_share, WithinRel(needed.value() / 3.35e12 / 20e-3, 1e-9));
  CHECK_THAT(model.compute_share, WithinRel(work.compute.value() / 20e-3, 1e-9));
  CHECK_THAT(model.intensity, WithinRel(work.matrix_flop.value() / needed.value(), 1e-9));
  CHECK_THAT(model.ridge, WithinRel(ridge, 1e-9));
  pm::measured_step m = pass(8);
  m.dram = rate(2.9);
  m.achieved = pm::flop_rate<>::from_value(15e12);
  const pm::diagnosis d = pm::diagnose(llama, chat, m);
  CHECK_THAT(d.dram_share, WithinRel(2.9 / 3.35, 1e-9));
  CHECK_THAT(d.compute_share, WithinRel(15.0 / 989.4, 1e-9));
  CHECK_THAT(d.intensity, WithinRel(15.0 / 2.9, 1e-9));
  CHECK(said(d, memory_bandwidth) ==
        "DRAM at 86.6 % of its peak, GEMMs at 1.52 %; "
        "5.17 FLOP/B against a ridge of 295");
}

TEST_CASE("diagnose: kernels share what is left by how full the bus is") {
  const auto at = [](double ms, double tb, const auto& change) {
    pm::measured_step m = pass(ms);
    m.dram = rate(tb);
    m.shares.input = 0.2;
    change(m);
    return m;
  };
  const auto shares = [&](const pm::measured_step& m) {
    const pm::diagnosis d = pm::diagnose(llama, chat, m);
    const auto share = [&](pm::bottleneck b) { return has(d, b) ? of(d, b).share : 0.0; };
    return std::array{share(memory_bandwidth), share(memory_latency), share(access_pattern)};
  };
  const auto close = [](const std::array<double, 3>& a, const std::array<double, 3>& b) {
    for (std::size_t i = 0; i < 3; ++i) CHECK_THAT(a[i], WithinAbs(b[i], 1e-9));
  };
  const double full = 2.9 / 3.35, half = 1.0 / 3.35;
  const auto nothing = [](pm::measured_step&) {};
  const auto neighbours = [](pm::measured_step& m) { m.sectors = 4.0; };
  const auto scattered = [](pm::measured_step& m) { m.sectors = 8.0; };  // from 8 on
  close(shares(at(8, 2.9, nothing)), {0.8, 0.0, 0.0});
  close(shares(at(15, 1.0, neighbours)), {0.8 * half, 0.8 * (1.0 - half), 0.0});
  close(shares(at(15, 1.0, scattered)), {0.8 * half, 0.5 * 0.8 * (1.0 - half), 0.8});
  close(shares(at(8, 2.9, scattered)), {0.8, 0.0, 0.0});  // a full bus that moves what is needed
  // Twice and more of what is needed: scattered requests are to blame for half, lost reuse for nine
  // tenths.
  const double times = 2.9e12 * 20e-3 / needed.value();
  close(shares(at(20, 2.9, nothing)), {0.8 / times, 0.0, 0.0});
  close(shares(at(20, 2.9, scattered)), {0.8 * 0.5, 0.0, 0.8});
  const auto lost = [](pm::measured_step& m) { m.l2_hit = 0.1; };
  close(shares(at(20, 2.9, lost)), {0.8 / times, 0.0, 0.9 * 0.8});
  close(shares(at(20, 2.9, [](pm::measured_step& m) { m.l2_hit = 0.2; })), {0.8 / times, 0.0, 0.0});
  close(shares(at(8, 2.9, lost)), {0.8, 0.0, 0.0});
  const double often = 1.5e12 * 40e-3 / needed.value();
  close(shares(at(40, 1.5, neighbours)), {0.8 * 1.5 / 3.35 / often, 0.8 * (1.0 - 1.5 / 3.35), 0.0});
  CHECK(full > 0.6);
  // Neither pipe in use and nothing measured to blame: launches, as the model infers.
  const pm::diagnosis idle = pm::diagnose(llama, chat, at(40, 0.5, nothing));
  CHECK_THAT(of(idle, launch).share, WithinRel(0.8, 1e-9));
  CHECK(of(idle, launch).inferred);
  CHECK(said(idle, launch).ends_with(", at least " + kernels + " kernels"));
  CHECK_THAT(of(idle, memory_latency).share, WithinRel(0.4, 1e-9));
}

TEST_CASE("diagnose: a threshold itself counts") {
  pm::measured_step m = pass(15);
  m.dram = rate(1.0);
  pm::diagnosis_thresholds t;
  t.saturated_share = 1e12 * 15e-3 / (3.35e12 * 15e-3);
  CHECK_FALSE(has(pm::diagnose(llama, chat, m, {}, t), memory_latency));
  t.saturated_share = 0.6;
  t.idle_share = 0.5;
  CHECK(has(pm::diagnose(llama, chat, m, {}, t), launch));
  t.idle_share = 1e12 * 15e-3 / (3.35e12 * 15e-3);
  CHECK_FALSE(has(pm::diagnose(llama, chat, m, {}, t), launch));
  m.shares.waiting = 0.25;  // stands out, and before what takes more
  CHECK(pm::diagnose(llama, chat, m).cause().cause == stragglers);
  m.shares = {.launch = 0.1, .elementwise = 0.1};
  CHECK(has(pm::diagnose(llama, chat, m), launch));
  CHECK(has(pm::diagnose(llama, chat, m), elementwise_time));
  m.shares = {};
  m.gpu_busy = 0.875;
  t.least_share = 0.125;
  CHECK(has(pm::diagnose(llama, chat, m, {}, t), host));
}

TEST_CASE("diagnose: of equal shares the first of the flowchart comes first") {
  pm::measured_step m = pass(30);
  m.shares = {.host = 0.25, .launch = 0.25, .communication = 0.25, .waiting = 0.25};
  const pm::diagnosis d = pm::diagnose(llama, chat, m);
  const pm::bottleneck order[] = {host, launch, communication, stragglers};
  for (std::size_t i = 0; i < 4; ++i) CHECK(d.findings[i].cause == order[i]);
}

TEST_CASE("diagnose: a step that waits alike for two is of the first stage") {
  // The quotient of two times need not give them back to the last bit: batches of which it does.
  int launches = 0, bytes = 0;
  for (double batch = 1; batch <= 64; ++batch) {
    const pm::iteration i{.batch = batch, .context = 512};
    pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_8b};
    const pm::step_demand s = demand_of_step(d, i);
    const pm::bytes<> moved = s.weights + s.cache;
    const pm::duration<> memory = moved / d.device.dram.bandwidth.quantity();
    if (s.launches * (memory / s.launches) == memory) {
      ++launches;
      CHECK(pm::decode_stage_of(d, i, memory / s.launches) == pm::decode_stage::launch);
    }
    d.device.dram.bandwidth = moved / s.compute;
    if (moved / d.device.dram.bandwidth.quantity() == s.compute) {
      ++bytes;
      CHECK(pm::decode_stage_of(d, i, {}) == pm::decode_stage::bandwidth);
    }
    d.device.dram.bandwidth = 1000.0 * moved / s.compute;
    if (s.launches * (s.compute / s.launches) == s.compute)
      CHECK(pm::decode_stage_of(d, i, s.compute / s.launches) == pm::decode_stage::launch);
    // What fits exactly fits.
    d.device.dram.bandwidth = 0.001 * moved / s.compute;
    d.device.l2.capacity = moved;
    d.device.l2.bandwidth = 0.5 * moved / s.compute;
    CHECK(pm::decode_stage_of(d, i, {}) == pm::decode_stage::l2);
  }
  CHECK(launches > 0);
  CHECK(bytes > 0);
}

TEST_CASE("diagnose: bad input is refused by name") {
  const auto why = [](const pm::measured_step& m) {
    return refusal([&] { (void)pm::diagnose(llama, chat, m); });
  };
  CHECK(why({}).find("time") != std::string::npos);
  CHECK(why(with(pass(10), [](pm::measured_step& m) { m.gpu_busy = 1.2; })).find("gpu_busy") !=
        std::string::npos);
  CHECK(why(with(pass(10), [](pm::measured_step& m) { m.shares.launch = -0.1; })).find("launch") !=
        std::string::npos);
  CHECK(why(with(pass(10), [](pm::measured_step& m) { m.sectors = 0.0; })).find("sectors") !=
        std::string::npos);
}

TEST_CASE("measurements that cannot hold together", "[diagnose]") {
  const auto first = [](const pm::deployment& d, const pm::iteration& i,
                        const pm::measured_step& m) { return pm::diagnose(d, i, m).cause(); };
  // 70B on 8 H100, batch 1: 17.4 GB of weights. 2.7 TB/s for 85 ms are 230 GB.
  const pm::iteration one{.batch = 1, .context = 4096};
  CHECK(first(llama, one, with(pass(85), [](auto& x) { x.dram = rate(2.7); })).cause ==
        contradiction);
  // 16.5 GB/s for 12 ms are 0.2 GB, where 6.2 GB of weights are read.
  const pm::deployment small{.device = cat::h100_sxm, .model = cat::qwen_2_5_3b};
  CHECK(first(small, one, with(pass(12), [](auto& x) { x.dram = rate(0.0165); })).cause ==
        contradiction);
  // 80 GB beside 23: keys repeated for query heads would do.
  CHECK(first(llama, chat, with(pass(40), [](auto& x) { x.dram = rate(2.0); })).cause ==
        unfused_traffic);
  // Above the peak of 3.35 TB/s; shares of 130 %; a kernel runs for 90 % and none for 40 %.
  CHECK(first(llama, chat, with(pass(8), [](auto& x) { x.dram = rate(3.6); })).cause ==
        contradiction);
  CHECK(first(llama, chat,
              with(pass(12),
                   [](auto& x) {
                     x.shares.gemm = 0.9;
                     x.shares.communication = 0.4;
                   }))
            .cause == contradiction);
  CHECK(first(llama, chat,
              with(pass(12),
                   [](auto& x) {
                     x.gpu_busy = 0.9;
                     x.launch_gaps = pm::duration<>::from_value(4.8e-3);
                   }))
            .cause == contradiction);
}

TEST_CASE("a step at its predicted time is as expected", "[diagnose]") {
  pm::estimate e;
  e.time = pm::duration<>::from_value(12e-3);
  e.terms.add(pm::limiter::memory, "weights", pm::duration<>::from_value(6e-3));
  e.terms.add(pm::limiter::link, "communication", pm::duration<>::from_value(3.6e-3));
  e.terms.add(pm::limiter::launch, "host", pm::duration<>::from_value(2.4e-3));
  const pm::step_prediction p{e, pm::duration<>::from_value(10.5e-3),
                              pm::duration<>::from_value(14e-3)};
  const auto found = [&](const pm::measured_step& m) {
    return pm::diagnose(llama, chat, m, 5.0 * pm::us, {}, p);
  };
  const pm::diagnosis same = found(pass(12.5));
  CHECK(same.cause().cause == as_expected);
  CHECK(same.cause().evidence.find("weights 50 %, communication 30 %, host 20 %") !=
        std::string::npos);
  // A measured share from a tenth on comes before, a smaller one after.
  CHECK(found(with(pass(12.5), [](auto& x) { x.shares.launch = 0.15; })).cause().cause == launch);
  CHECK(found(with(pass(12.5), [](auto& x) { x.shares.allocation = 0.2; })).cause().cause ==
        allocation);
  CHECK(found(with(pass(12.5), [](auto& x) { x.shares.launch = 0.05; })).cause().cause ==
        as_expected);
  // A time above the interval, without a trace: 25 ms less 12 ms are unexplained, and no limit of
  // memory comes before. DRAM below 60 % of its peak is not the cause.
  for (const double ms : {14.5, 16.0, 20.0, 25.0, 60.0}) {
    const pm::diagnosis slow = found(pass(ms));
    CHECK(slow.cause().cause == unexplained);
    CHECK_THAT(slow.cause().share, WithinRel(1.0 - 12.0 / ms, 1e-9));
  }
  CHECK(said(found(pass(25)), unexplained).starts_with("13 ms unexplained: measured 25 ms, "));
  for (const double share : {0.51, 0.55, 0.59, 0.61}) {
    const double time = needed.value() / 3.35e12 / share;
    const pm::diagnosis d = pm::diagnose(llama, chat, pass(1e3 * time));
    CHECK((d.cause().cause == memory_bandwidth) == (share > 0.6));
  }
}

TEST_CASE("a measured share outranks an inferred rest", "[diagnose]") {
  for (const double share : {0.11, 0.15, 0.2}) {
    const pm::diagnosis d =
        pm::diagnose(llama, chat, with(pass(12), [&](auto& x) { x.shares.launch = share; }));
    CHECK(d.cause().cause == launch);
  }
}

}  // namespace unit_diagnose
