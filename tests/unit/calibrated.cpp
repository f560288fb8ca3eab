// Matrix products as kernels run them: what the formula says, by hand.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <perfmodel/explain/derivation.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/kernels/policy.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <string>
#include <string_view>

#include "support/each_field.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"

namespace unit_calibrated {

namespace pm = perfmodel;
using Catch::Matchers::WithinRel;
using perfmodel_test::refusal;

namespace {

/// 100 SMs at 1 GHz, 100 TFLOP/s, 1 TB/s, 10 MB of L2.
constexpr pm::accelerator round_device() {
  pm::accelerator a;
  a.name = "round";
  a.architecture = pm::chip_architecture::hopper;
  a.sms = pm::number<>::from_value(100.0);
  a.matrix.peak.bf16 = pm::flop_rate<>::from_value(1e14);
  a.matrix.peak.fp8 = pm::flop_rate<>::from_value(2e14);
  a.matrix.peak.fp4 = pm::flop_rate<>::from_value(4e14);
  a.vector.clock = pm::frequency<>::from_value(1e9);
  a.vector.peak.fp32 = pm::flop_rate<>::from_value(1e13);
  a.dram.bandwidth = pm::bandwidth<>::from_value(1e12);
  a.l2.capacity = pm::bytes<>::from_value(1e7);
  return a;
}
/// Operands at once, splitting never worth its while, no power limit.
constexpr pm::machine_parameters plain{.matrix_floor = 2.0 * pm::us,
                                       .matrix_share = 0.5,
                                       .dram_share = 0.8,
                                       .operand_bandwidth = 1e6 * pm::TB_per_s,
                                       .tile_fill = 1.0 * pm::us,
                                       .split_cost = 1e6 * pm::us};

double in_us(const pm::duration<>& t) {
  return t.value() * 1e6;
}
double in_us(const pm::estimate& e, std::string_view term) {
  return e.terms[term].value() * 1e6;
}

constexpr pm::estimate at_compile_time =
    pm::calibrated_estimate(round_device(), pm::gemm{.m = 640, .n = 640, .k = 1000}, {plain});
static_assert(at_compile_time.time.value() > 18.9e-6 && at_compile_time.time.value() < 19.0e-6);

}  // namespace

TEST_CASE("one tile beyond a full grid costs one more tile time", "[calibrated]") {
  // A 64x64 tile of k = 1000 is 8.192 MFLOP; an SM does 0.5 TFLOP/s: 16.384 us, and
  // 1/4 us to fill, a quarter of what 128x128 take.
  const pm::accelerator a = round_device();
  const pm::estimate one = calibrated_estimate(a, pm::gemm{.m = 640, .n = 640, .k = 1000}, {plain});
  CHECK_THAT(in_us(one, "compute"), WithinRel(16.634, 1e-9));  // 10 x 10 tiles on 100 SMs
  const pm::estimate two = calibrated_estimate(a, pm::gemm{.m = 641, .n = 640, .k = 1000}, {plain});
  CHECK_THAT(in_us(two, "compute"), WithinRel(33.268, 1e-9));  // 11 x 10 tiles
}

TEST_CASE("memory hides under compute, mostly", "[calibrated]") {
  // Bytes 2 (640 1000 + 1000 640 + 640 640) = 3,379,200 at 0.8 TB/s: 4.224 us.
  CHECK_THAT(in_us(at_compile_time, "memory"), WithinRel(4.224, 1e-9));
  CHECK_THAT(in_us(at_compile_time, "launch"), WithinRel(2.0, 1e-9));
  const double overlapped = 16.634 + 4.224 * 4.224 / (3.0 * 16.634);
  CHECK_THAT(in_us(at_compile_time.time), WithinRel(2.0 + overlapped, 1e-9));
  CHECK(at_compile_time.limiter == pm::limiter::compute);
}

TEST_CASE("operands that arrive slowly lengthen each step", "[calibrated]") {
  // One row: a 64x64 tile reads (1 + 64) 2 bytes a step. 1 TB/s over 100 SMs is 10 GB/s each:
  // 13 ns a step, against 16.384 ns of multiplications; at 0.5 TB/s 26 ns.
  pm::machine_parameters p = plain;
  p.operand_bandwidth = 1.0 * pm::TB_per_s;
  const pm::gemm row{.m = 1, .n = 6400, .k = 1000};
  CHECK_THAT(in_us(calibrated_estimate(round_device(), row, {p}), "compute"),
             WithinRel(16.634, 1e-9));
  p.operand_bandwidth = 0.5 * pm::TB_per_s;
  CHECK_THAT(in_us(calibrated_estimate(round_device(), row, {p}), "compute"),
             WithinRel(26.25, 1e-9));
}

TEST_CASE("a tile of few rows works off whole instructions", "[calibrated]") {
  // One row, 100 tiles of 64 columns: 64 rows at 64 a time are 16.384 us, 16 rows a quarter of it.
  // By such small instructions a tile of any size takes 1 us to fill.
  pm::machine_parameters p = plain;
  pm::accelerator a = round_device();
  a.instruction_rows = {16.0};
  const pm::gemm row{.m = 1, .n = 6400, .k = 1000};
  CHECK_THAT(in_us(calibrated_estimate(a, row, {p}), "compute"), WithinRel(5.096, 1e-9));
  const pm::gemm rows{.m = 17, .n = 6400, .k = 1000};
  CHECK_THAT(in_us(calibrated_estimate(a, rows, {p}), "compute"), WithinRel(9.192, 1e-9));
}

TEST_CASE("a GEMM of few tiles splits k over the idle SMs", "[calibrated]") {
  // 5 x 5 tiles of 64x64: 4 parts each. k / 4 = 250 steps are 4.096 us, a whole fill 1 us,
  // splitting 3 us; partial sums 4 x 320 x 320 x 4 bytes at 1e6 TB/s are nothing.
  pm::machine_parameters p = plain;
  p.split_cost = 3.0 * pm::us;
  const pm::gemm g{.m = 320, .n = 320, .k = 1000};
  CHECK_THAT(in_us(calibrated_estimate(round_device(), g, {p}), "compute"), WithinRel(8.096, 1e-6));
  CHECK_THAT(in_us(calibrated_estimate(round_device(), g, {plain}), "compute"),
             WithinRel(16.634, 1e-9));
}

TEST_CASE("long dense kernels slow down", "[calibrated]") {
  // X = 2 m n k / (0.5 R); the term is s X^2 / (O + 1 ms).
  pm::machine_parameters p = plain;
  p.power_slowdown = 0.25;
  const pm::gemm g{.m = 6400, .n = 6400, .k = 10000};
  const double dense = 2.0 * 6400.0 * 6400.0 * 10000.0 / 0.5e14 * 1e6;
  const pm::estimate fast = calibrated_estimate(round_device(), g, {plain});
  const double o = in_us(fast.time) - 2.0;
  const pm::estimate e = calibrated_estimate(round_device(), g, {p});
  CHECK_THAT(in_us(e, "power"), WithinRel(0.25 * dense * dense / (o + 1000.0), 1e-9));
  CHECK_THAT(in_us(e.time), WithinRel(in_us(fast.time) + in_us(e, "power"), 1e-12));
  CHECK(in_us(calibrated_estimate(round_device(), pm::gemm{.m = 64, .n = 64, .k = 64}, {p}),
              "power") < 1e-3);
}

TEST_CASE("weights that rotate inside L2 come from L2", "[calibrated]") {
  // 1000 x 640 weights are 1.28 MB, 1.6 us from DRAM. Room: 1.1 x 10 MB / 2 partitions = 5.5 MB, at
  // which a half is found; the share falls with the 8th power.
  const pm::gemm g{.m = 1, .n = 640, .k = 1000};
  pm::machine_parameters p = plain;
  const double others = (1000.0 + 640.0) * 2.0 / 0.8e6;
  pm::accelerator a = round_device();
  const auto memory = [&](double copies) {
    return in_us(calibrated_estimate(a, g, {p}, pm::replay_conditions(copies)), "memory");
  };
  CHECK_THAT(memory(0.0), WithinRel(others + 1.6, 1e-9));
  CHECK_THAT(memory(1.0), WithinRel(others, 1e-2));
  CHECK_THAT(memory(5.5 / 1.28), WithinRel(others + 0.8, 1e-3));
  const double twice = 1.0 / 257.0;
  CHECK_THAT(memory(11.0 / 1.28), WithinRel(others + 1.6 * (1.0 - twice), 1e-3));
  CHECK_THAT(memory(100.0), WithinRel(others + 1.6, 1e-6));
  // One partition has twice the room; at a known L2 bandwidth of 2 TB/s they take 0.64 us.
  a.l2_partitions = {1.0};
  CHECK_THAT(memory(11.0 / 1.28), WithinRel(others + 0.8, 1e-3));
  p.l2_bandwidth = 2.0 * pm::TB_per_s;
  CHECK_THAT(memory(11.0 / 1.28), WithinRel(others + 0.5 * (1.6 + 0.64), 1e-3));
}

TEST_CASE("the published benchmarks' rotating weight buffers", "[calibrated]") {
  using pm::catalog::benchmark_weight_copies;
  const pm::accelerator& a = pm::catalog::l40s;  // 96 MiB
  const auto copies = [&](const char* engine, double mebibytes, pm::number_format f) {
    return benchmark_weight_copies(*pm::find_engine(engine), mebibytes * pm::MiB, f, a);
  };
  // The number that the L2 holds, rounded up, between 1 and 5.
  CHECK(copies("trtllm", 64.0, pm::number_format::bf16) == 2.0);
  CHECK(copies("trtllm", 48.0, pm::number_format::bf16) == 2.0);
  CHECK(copies("trtllm", 200.0, pm::number_format::bf16) == 1.0);
  CHECK(copies("tensorrt_llm", 1.0, pm::number_format::bf16) == 5.0);
  CHECK(copies("vllm", 48.0, pm::number_format::bf16) == 6.0);
  CHECK(copies("vllm", 48.0, pm::number_format::fp4) == 1.0);
}

TEST_CASE(
    "kernels of low-precision formats by large instructions or in blocks, and of mixed formats, do "
    "not split k",
    "[calibrated]") {
  // The GEMM of few tiles below 16 bits: undivided it takes 1000 steps.
  pm::machine_parameters p = plain;
  p.split_cost = 3.0 * pm::us;
  pm::accelerator small = round_device();
  small.instruction_rows = {16.0};
  const auto compute = [&](const pm::accelerator& a, const pm::gemm& g,
                           const pm::engine_profile& e = {}) {
    return in_us(calibrated_estimate(a, g, {p, e}), "compute");
  };
  pm::gemm g{.m = 320, .n = 320, .k = 1000, .weights = pm::int8};
  CHECK_THAT(compute(round_device(), g), WithinRel(16.634, 1e-6));
  g = {.m = 320, .n = 320, .k = 1000, .format = pm::fp8};
  CHECK_THAT(compute(small, g), WithinRel(6.048, 1e-6));
  CHECK_THAT(compute(round_device(), g), WithinRel(8.442, 1e-6));
  // A step that lasts 20 ns whatever its tile; by small instructions it is not there, nor in 16
  // bits.
  const pm::engine_profile e{.low_precision_step = 20.0 * pm::ns,
                             .four_bit_step = 30.0 * pm::ns,
                             .untuned_four_bit_step = 40.0 * pm::ns};
  CHECK_THAT(compute(round_device(), g, e), WithinRel(20.25, 1e-6));
  CHECK_THAT(compute(small, g, e), WithinRel(6.048, 1e-6));
  CHECK_THAT(compute(round_device(), {.m = 320, .n = 320, .k = 1000}, e), WithinRel(8.096, 1e-6));
  g.weights = pm::storage_format(pm::fp8, 128.0 * 128.0, 32.0);
  CHECK_THAT(compute(small, g), WithinRel(9.192, 1e-6));
  g.format = pm::fp4;
  g.weights = pm::storage_format(pm::fp4, 16, 8);
  CHECK_THAT(compute(round_device(), g, e), WithinRel(30.25, 1e-6));
  CHECK_THAT(
      in_us(calibrated_estimate(round_device(), g, {p, e}, pm::replay_conditions(1.0)), "compute"),
      WithinRel(40.25, 1e-6));
}

TEST_CASE("matrix units apply the scales of 4-bit blocks, with small instructions too",
          "[calibrated]") {
  // RTX PRO 6000 has mma.sync with block scales of NVFP4 (PTX ISA, mma.kind::mxf4nvf4). So its rate
  // is the machine's share of the peak, not that of fp8 blocks scaled by vector units.
  const pm::accelerator& a = pm::catalog::rtx_pro_6000;
  const pm::calibrated c = pm::calibrated_for(a, pm::engine::trtllm);
  pm::gemm g{.m = 65536, .n = 8192, .k = 8192, .format = pm::fp4, .output = pm::bf16};
  g.weights = pm::storage_format(pm::fp4, 16, 8);
  const double least = 2.0 * g.m * g.n * g.k / (c.machine.matrix_share * a.matrix.peak.fp4.value());
  const double compute = 1e-6 * in_us(calibrated_estimate(a, g, {c.machine, c.engine}), "compute");
  CHECK(compute >= least);
  CHECK(compute < 1.35 * least);
}

TEST_CASE("an engine quantises activations; a library does not", "[calibrated]") {
  const pm::gemm g{.m = 1000, .n = 640, .k = 1000, .format = pm::fp8, .output = pm::fp8};
  const pm::engine_profile engine{.tensor_scale_floor = 5.0 * pm::us,
                                  .quantise_floor = 3.0 * pm::us,
                                  .quantise_bytes = 10.0,
                                  .block_scale_share = 0.5,
                                  .mma_block_scale_share = 0.25};
  pm::machine_parameters p = plain;
  p.l2_bandwidth = 0.5 * pm::TB_per_s;
  const pm::estimate plain_product = calibrated_estimate(round_device(), g, {p});
  CHECK(plain_product.terms.find("quantise") == nullptr);
  // 1e6 activations of 10 bytes at 0.5 TB/s: 20 us, more than 3 MB at 0.8 TB/s.
  const pm::estimate e = calibrated_estimate(round_device(), g, {p, engine});
  CHECK_THAT(in_us(e, "quantise"), WithinRel(25.0, 1e-9));
  // Reads m k and k n of 1 byte; writes 16-bit results: (1e6 + 0.64e6 + 2 0.64e6) / 0.8 TB/s.
  CHECK_THAT(in_us(e, "memory"), WithinRel((1.64 + 1.28) / 0.8, 1e-9));
  CHECK_THAT(in_us(plain_product, "memory"), WithinRel((1.64 + 0.64) / 0.8, 1e-9));
  // In a model a part of it is fused away; in a benchmark that replays the product nothing is.
  pm::engine_profile fuses = engine;
  fuses.tensor_scale_share = 0.2;
  CHECK_THAT(in_us(calibrated_estimate(round_device(), g, {p, fuses}), "quantise"),
             WithinRel(5.0, 1e-9));
  CHECK_THAT(in_us(calibrated_estimate(round_device(), g, {p, fuses}, pm::replay_conditions(1.0)),
                   "quantise"),
             WithinRel(25.0, 1e-9));
  // A scale per block: one kernel at DRAM speed, and half the matrix rate, unless the matrix units
  // apply the scales.
  pm::gemm blocks = g;
  blocks.weights = pm::storage_format(pm::fp8, 128.0 * 128.0, 32.0);
  const pm::estimate b = calibrated_estimate(round_device(), blocks, {p, engine});
  CHECK_THAT(in_us(b, "quantise"), WithinRel(3.0 + 3.0 / 0.8, 1e-9));
  CHECK(in_us(b, "compute") > 1.5 * in_us(e, "compute"));
  pm::accelerator native = round_device();
  native.architecture = pm::chip_architecture::blackwell;
  CHECK(in_us(calibrated_estimate(native, blocks, {p, engine}), "compute") ==
        in_us(calibrated_estimate(round_device(), blocks, {p}), "compute"));
  // By instructions of 16 rows a quarter of the rate: two waves of 64 x 64 tiles.
  pm::accelerator small = round_device();
  small.instruction_rows = {16.0};
  CHECK_THAT(in_us(calibrated_estimate(small, blocks, {p, engine}), "compute"),
             WithinRel(2 * (32.768 + 1.0), 1e-9));
  // nvfp4 is narrowed by blocks: 2.5 B each at DRAM speed.
  const pm::gemm fp4{.m = 1000,
                     .n = 640,
                     .k = 1000,
                     .format = pm::fp4,
                     .weights = pm::storage_format(pm::fp4, 16.0, 8.0),
                     .output = pm::bf16};
  CHECK_THAT(in_us(calibrated_estimate(round_device(), fp4, {p, engine}), "quantise"),
             WithinRel(3.0 + 2.5 / 0.8, 1e-9));
}

TEST_CASE("low-precision weights are dequantised concurrently with the multiplications",
          "[calibrated]") {
  // 100 tiles of 64x64 on 100 SMs; 64 columns at half a cycle of 1 ns take 32 ns for each k, their
  // products 8,192 FLOP at 0.5 TFLOP/s 16.384 ns; 128 columns would take twice as long.
  pm::gemm g{.m = 64, .n = 6400, .k = 1000};
  pm::engine_profile engine{.dequantisation_floor = 3.0 * pm::us, .dequantisation_cycles = 0.5};
  CHECK(calibrated_estimate(round_device(), g, {plain, engine}).time ==
        calibrated_estimate(round_device(), g, {plain}).time);  // 16 bits beside 16 bits
  for (const pm::storage_format& weights :
       {pm::storage_format(pm::int4, 128, 16), pm::storage_format(pm::fp4, 32, 8),
        pm::storage_format(pm::fp8)}) {
    g.weights = weights;
    engine.dequantisation_cycles = 0.5;
    const pm::estimate slow = calibrated_estimate(round_device(), g, {plain, engine});
    CHECK_THAT(in_us(slow, "compute"), WithinRel(32.0 + 0.25, 1e-9));
    CHECK_THAT(in_us(slow, "launch"), WithinRel(2.0 + 3.0, 1e-9));
    engine.dequantisation_cycles = 0.1;  // hidden under the products
    const pm::estimate hidden = calibrated_estimate(round_device(), g, {plain, engine});
    CHECK_THAT(in_us(hidden, "compute"), WithinRel(16.384 + 0.25, 1e-9));
  }
  // Both operands in fp4, as on Blackwell: nothing is widened.
  g.format = pm::fp4;
  g.weights = pm::storage_format(pm::fp4, 16, 8);
  CHECK(in_us(calibrated_estimate(round_device(), g, {plain, engine}), "launch") == 2.0);
}

TEST_CASE("low-precision weights were measured on A100 only, and a prediction says so",
          "[calibrated]") {
  const pm::gemm g{.m = 16,
                   .n = 8192,
                   .k = 8192,
                   .weights = pm::storage_format(pm::fp4, 32, 8)};  // MXFP4 beside bf16
  pm::gemm wide = g;
  wide.weights = pm::bf16;
  const auto ask = [](const char* name, const pm::gemm& x) {
    const pm::accelerator& a = *pm::catalog::find_accelerator(name);
    return predict(a, x, pm::calibrated_for(a, pm::engine::vllm)).stands_on;
  };
  CHECK(ask("a100_sxm_80gb", g).weakest() == pm::basis::measured);
  for (const char* name : {"h100_sxm", "h200_sxm", "b200_sxm", "l40s"}) {
    INFO(name);
    CHECK(ask(name, g).weakest() == pm::basis::derived);
    CHECK(ask(name, wide).weakest() == pm::basis::measured);
    CHECK(ask(name, g).log_sigma() > ask("a100_sxm_80gb", g).log_sigma());
    CHECK(ask(name, g).log_sigma() > ask(name, wide).log_sigma());
  }
}

TEST_CASE("cold, it is never below the bound", "[calibrated]") {
  perfmodel_test::random_numbers random(5);
  for (const char* name : {"a100_sxm_80gb", "h100_sxm", "h200_sxm", "b200_sxm", "l40s"}) {
    const pm::accelerator& a = *pm::catalog::find_accelerator(name);
    const pm::machine_profile p = pm::catalog::machine_profile_of(a);
    for (int i = 0; i < 500; ++i) {
      const pm::gemm g{.m = random.log_uniform(1, 1e5),
                       .n = random.log_uniform(1, 1e5),
                       .k = random.log_uniform(1, 1e5)};
      INFO(name << " " << g.m << " " << g.n << " " << g.k);
      CHECK(calibrated_estimate(a, g, {p.value}).time >= roofline(a, g).time);
    }
  }
}

TEST_CASE("every machine has a profile, and a transferred one is no more certain", "[calibrated]") {
  using namespace pm::catalog;
  CHECK(machine_profile_of(h100_sxm).from->how == pm::basis::measured);
  CHECK(measured_machine_of(h100_pcie) == nullptr);
  for (const accelerator_entry& e : accelerators) {
    INFO(e.key);
    if (!can_be_calibrated(*e.spec)) {
      CHECK_THROWS_AS(machine_profile_of(*e.spec), pm::error);
      continue;
    }
    const pm::machine_profile p = machine_profile_of(*e.spec);
    CHECK(p.log_sigma > 0.0);
    if (measured_machine_of(*e.spec) != nullptr) continue;
    CHECK(p.from->how == pm::basis::transferred);
    CHECK(p.log_sigma >= gemm_donor_of(*e.spec).machine->log_sigma);
    CHECK(p.value.matrix_floor > 0.0 * pm::us);
    CHECK(p.value.operand_bandwidth.value() > 0.0);
  }
  // The operand bandwidth of a transferred profile goes with SMs x clock: H20 has 78 of H100's 132
  // SMs.
  CHECK_THAT(machine_profile_of(h20).value.operand_bandwidth.value(),
             WithinRel(profile_h100_sxm.value.operand_bandwidth.value() * 78.0 / 132.0, 1e-9));
  // Power: the source's energy per FLOP at the limit of the other GPU. L40S slows by s at 350 W and
  // 362 TFLOP/s; an L4 is given 72 W for its peak, an H20 400 W or more for a seventh of H100's.
  const double l4_watts_per_flop = 72.0 / l4.matrix.peak.bf16.value();
  CHECK_THAT(
      machine_profile_of(l4).value.power_slowdown,
      WithinRel(
          (1.0 + profile_l40s.value.power_slowdown) * 350.0 / 362.05e12 / l4_watts_per_flop - 1.0,
          1e-9));
  CHECK(machine_profile_of(l4).value.power_slowdown > 1.0);
  CHECK(machine_profile_of(h20).value.power_slowdown == 0.0);
  CHECK(find_engine("tensorrt_llm") == find_engine("trtllm"));
  CHECK(find_engine("none")->quantise_bytes == 0.0);
  CHECK(find_engine("nobody") == nullptr);
}

TEST_CASE("a chip with another fact is not the one that was measured", "[calibrated]") {
  using namespace pm::catalog;
  const auto changed = [](auto change) {
    pm::accelerator a = h100_sxm;
    change(a);
    return a;
  };
  const pm::accelerator faster_memory =
      changed([](auto& a) { a.dram.bandwidth = 8 * pm::TB_per_s; });
  CHECK(measured_machine_of(faster_memory) == nullptr);
  CHECK(measured_machine_of(changed([](auto& a) { a.matrix.peak.fp8 = 3 * pm::PFLOP_per_s; })) ==
        nullptr);
  CHECK(measured_machine_of(changed([](auto& a) { a.vector.peak.fp32 = 1 * pm::PFLOP_per_s; })) ==
        nullptr);
  CHECK(measured_machine_of(changed([](auto& a) { a.l2.bandwidth = 20 * pm::TB_per_s; })) ==
        nullptr);
  CHECK(measured_machine_of(changed([](auto& a) {
          a.instruction_rows = {128.0, pm::given_by_caller};
        })) == nullptr);
  CHECK(measured_machine_of(h800_sxm) == &measured_h100);
  CHECK(measured_machine_of(changed([](auto& a) { a.price = 1 * pm::usd_per_hour; })) ==
        &measured_h100);
  CHECK(measured_machine_of(changed([](auto& a) { a.dram.capacity = 128 * pm::GB; })) ==
        &measured_h100);

  // A changed copy of any measured machine, or of one that is equal to it, keeps its profile.
  int equal = 0;
  for (const accelerator_entry& entry : accelerators) {
    pm::accelerator copy = *entry.spec;
    const measured_machine* own = measured_machine_of(copy);
    if (own == nullptr) continue;
    equal += copy.name.view() != own->device().name.view();
    copy.name = pm::label::shortened(std::string(copy.name.view()) + "_changed");
    copy.dram.bandwidth *= 1.000001;
    INFO(copy.name.c_str());
    CHECK(measured_machine_of(copy) == nullptr);
    CHECK(original_of(copy) == own);
  }
  CHECK(equal == 2);
  pm::accelerator more_fp16 = gb200;
  more_fp16.matrix.peak.fp16 *= 2.0;
  CHECK(machine_profile_of(more_fp16).value.power_slowdown ==
        machine_profile_of(gb200).value.power_slowdown);
  CHECK(machine_profile_of(t4).value.power_slowdown >= 0.0);  // states fp16 alone

  // 8 and 3.35 TB/s are ln 2.388 = 0.8705 apart; 0.15 times that is 0.1306, more than a sibling's
  // 0.09 and than H100's own.
  CHECK_THAT(machine_distance(faster_memory, h100_sxm), WithinRel(std::log(8.0 / 3.35), 1e-12));
  CHECK_THAT(machine_distance(h100_sxm, faster_memory), WithinRel(std::log(8.0 / 3.35), 1e-12));
  CHECK_THAT(machine_profile_of(faster_memory).log_sigma,
             WithinRel(0.15 * std::log(8.0 / 3.35), 1e-9));
  CHECK_THAT(attention_profile_of(faster_memory).log_sigma,
             WithinRel(0.15 * std::log(8.0 / 3.35), 1e-9));
  // Nearby it is what was seen of a machine predicted from its sibling, whatever the distance.
  const pm::accelerator nearby = changed([](auto& a) { a.dram.bandwidth = 3.4 * pm::TB_per_s; });
  CHECK(transfer_log_sigma(nearby, h100_sxm) == 0.09);
  // The measured pairs are as they were seen: 0.09 among siblings, 0.13 between generations.
  CHECK_THAT(machine_distance(h100_sxm, h200_sxm), WithinRel(std::log(4.8 / 3.35), 1e-12));
  CHECK(transfer_log_sigma(h100_sxm, h200_sxm) == 0.09);
  for (const pm::accelerator* a : {&a100_sxm_80gb, &l40s, &b200_sxm}) {
    CHECK(transfer_log_sigma(*a, gemm_donor_of(*a).device()) == 0.13);
  }
  // Further apart: T4's 65 and L40S's 362 TFLOP/s.
  const double apart = machine_distance(t4, l40s);
  CHECK(apart > 1.5);
  CHECK_THAT(transfer_log_sigma(t4, l40s), WithinRel(0.13 + 0.3 * (apart - 0.87), 1e-9));
  CHECK_THAT(attention_transfer_log_sigma(a100_sxm_80gb, l40s, false), WithinRel(0.095, 1e-12));
  CHECK_THAT(attention_transfer_log_sigma(t4, l40s, false),
             WithinRel(0.095 + 0.3 * (apart - 0.87), 1e-9));
  CHECK(attention_transfer_log_sigma(b200_sxm, h200_sxm, false) == 0.53);
  CHECK(attention_transfer_log_sigma(b200_sxm, h200_sxm, true) == 0.17);
  CHECK(attention_transfer_log_sigma(h200_sxm, h100_sxm, true) == 0.09);
  // AMD's attention was not measured, so its uncertainty is at least that of GEMMs.
  CHECK(attention_transfer_log_sigma(mi355x, mi300x, false) == 0.21);
  CHECK(attention_transfer_log_sigma(mi355x, mi300x, true) == 0.21);
  // What is not stated is no distance.
  CHECK(machine_distance(pm::accelerator{}, h100_sxm) == 0.0);
}

TEST_CASE("a streaming kernel by hand", "[calibrated]") {
  // 1e6 elements of 2 bytes in and out, 4 MB: at 0.86 TB/s, which what only streams reaches where
  // products have 0.8.
  const pm::accelerator a = round_device();
  const pm::elementwise x{.elements = 1e6};
  CHECK_THAT(in_us(calibrated_estimate(a, x, {plain}).time), WithinRel(4 / 0.86 + 1.3, 1e-9));
  // A launch is no limit, however few elements there are.
  CHECK(calibrated_estimate(a, pm::elementwise{.elements = 10}, {plain}).limiter ==
        pm::limiter::memory);
  // One element at a time, 0.4 cycles each on 100 SMs at 1 GHz: 4 us in addition.
  const pm::memory_bound_kernels k{
      .kernel_time = 2.0 * pm::us, .element_cycles = 0.4, .lookup_cycles = 1.2};
  CHECK_THAT(in_us(calibrated_estimate(a, x, {plain, k}).time),
             WithinRel(2.0 + std::hypot(4.0, 4 / 0.86), 1e-9));
  // Replayed, 4 MB of 10 MB of L2: all but 0.4^4 come at 2 TB/s.
  pm::machine_parameters p = plain;
  p.l2_bandwidth = 2.0 * pm::TB_per_s;
  const double cold = 1.0 - 1.0 / (1.0 + std::pow(0.4, 4.0));
  CHECK_THAT(in_us(calibrated_estimate(a, x, {p}, {.cache = pm::cache_state::warm}).time),
             WithinRel(1.3 + cold * 4 / 0.86 + (1.0 - cold) * 2.0, 1e-9));
  // A norm of 1000 rows of 1000 reads its 1000 weights too; a look-up has cycles of its own: 12 us.
  CHECK_THAT(in_us(calibrated_estimate(a, pm::norm{.rows = 1000, .width = 1000}, {plain}).time),
             WithinRel(1.3 + 4.002 / 0.86, 1e-9));
  CHECK_THAT(in_us(calibrated_estimate(a, pm::norm{.rows = 1000, .width = 1000}, {plain, k}).time),
             WithinRel(2.0 + std::hypot(4.0, 4.002 / 0.86), 1e-9));
  const pm::embedding rows{.tokens = 1000, .vocabulary = 5000, .hidden = 1000};
  CHECK_THAT(in_us(calibrated_estimate(a, rows, {plain, k}).time),
             WithinRel(2.0 + std::hypot(12.0, 4 / 0.86), 1e-9));
}

TEST_CASE("as a policy it serves every law", "[calibrated]") {
  pm::calibrated c;
  c.machine = plain;
  const pm::accelerator a = round_device();
  // 1e6 elements in and out, 4 MB at 0.86 TB/s, and one kernel in a graph.
  const pm::estimate e = roofline(a, pm::elementwise{.elements = 1e6}, c);
  CHECK_THAT(in_us(e.time), WithinRel(4 / 0.86 + 1.3, 1e-9));
  CHECK(c.estimate(a, pm::elementwise{.elements = 1e6}).time == e.time);
  const pm::gemm g{.m = 640, .n = 640, .k = 1000};
  CHECK(c.estimate(a, g).time == at_compile_time.time);
  CHECK(c.estimate(a, pm::lm_head{.tokens = 640, .hidden = 1000, .vocabulary = 640}).time ==
        at_compile_time.time);
  // A gated block is two products: [t, 2 i, h] and [t, h, i].
  const pm::estimate block =
      c.estimate(a, pm::swiglu{.tokens = 640, .hidden = 640, .intermediate = 500});
  const auto up = c.estimate(a, pm::gemm{.m = 640, .n = 1000, .k = 640});
  const auto down = c.estimate(a, pm::gemm{.m = 640, .n = 640, .k = 500});
  CHECK_THAT(in_us(block.time), WithinRel(in_us(up.time) + in_us(down.time), 1e-12));
  const double flop = 2.0 * 640 * 1000 * 640 + 2.0 * 640 * 640 * 500;
  const double at_peak = flop / pm::peak(a, pm::bf16).value();
  CHECK_THAT(block.mfu, WithinRel(at_peak / block.time.value(), 1e-12));
  const double moved =
      2.0 * (640 * 640 + 640 * 1000 + 640 * 1000 + 640 * 500 + 500 * 640 + 640 * 640);
  CHECK_THAT(block.mbu, WithinRel(moved / 1e12 / block.time.value(), 1e-12));
  // Unfused, a kernel between them reads gate and up and writes their product.
  const pm::estimate apart =
      c.estimate(a, pm::swiglu{.tokens = 640, .hidden = 640, .intermediate = 500, .fused = false});
  CHECK_THAT(in_us(apart, "activation"), WithinRel(1.3 + 3 * 640 * 500 * 2 / 0.86e6, 1e-9));
  CHECK_THAT(in_us(apart.time), WithinRel(in_us(block.time) + in_us(apart, "activation"), 1e-12));
}

TEST_CASE("an 80 % interval is the prediction over and times exp(z90 log_sigma)", "[calibrated]") {
  const pm::time_range r = pm::range_of(10.0 * pm::us, 0.1);
  CHECK_THAT(in_us(r.high), WithinRel(10.0 * 1.136735, 1e-5));  // 1 + x + x^2/2 + ... of 0.12816
  CHECK_THAT(in_us(r.low), WithinRel(10.0 / 1.136735, 1e-5));
  CHECK(refusal([] { pm::range_of(10.0 * pm::us, -0.1); }) ==
        "PM-E010: log_sigma is -0.1; allowed: 0 or more");
  // e^(z90 x 600) is beyond what a double holds.
  CHECK(refusal([] { pm::range_of(10.0 * pm::us, 600.0); }) ==
        "PM-E010: log_sigma is 600; allowed: 0 to 100");
  CHECK(refusal([] { pm::range_of(std::nan("") * pm::us, 0.1); }) ==
        "PM-E010: predicted is not a number; allowed: 0 or more");
}

TEST_CASE("it refuses what cannot run", "[calibrated]") {
  const pm::accelerator a = round_device();
  const pm::gemm g{.m = 1, .n = 1, .k = 1};
  CHECK(refusal([&] { calibrated_estimate(a, pm::gemm{.m = 0, .n = 1, .k = 1}, {plain}); }) ==
        "PM-E010: gemm.m is 0; allowed: 1 or more");
  CHECK(refusal([&] {
          calibrated_estimate(a, pm::gemm{.m = 1, .n = 1, .k = 1, .format = pm::int8}, {plain});
        }) == "PM-E013: round does not compute in int8");
  pm::machine_parameters p = plain;
  p.dram_share = 0.0;
  CHECK(refusal([&] { require_valid(p, "machine"); }) ==
        "PM-E010: machine.dram_share is 0; allowed: more than 0");
  CHECK(refusal([&] { calibrated_estimate(a, g, {pm::machine_parameters{}}); }) ==
        "PM-E010: operand_bandwidth is 0; allowed: more than 0");
}

TEST_CASE("each number that no machine and no engine has is refused at the door", "[calibrated]") {
  const auto door = [](const auto& x) { require_valid(x); };
  perfmodel_test::refuses_each_field(plain, door,
                                     {"matrix_floor", "tile_fill", "split_cost", "power_slowdown"});
  perfmodel_test::refuses_each_field(pm::catalog::engine_vllm, door,
                                     {"tensor_scale_floor",
                                      "quantise_floor",
                                      "quantise_bytes",
                                      "quantise_row_cycles",
                                      "single_row_time",
                                      "low_precision_step",
                                      "four_bit_step",
                                      "untuned_four_bit_step",
                                      "dequantisation_floor",
                                      "dequantisation_cycles",
                                      "tensor_scale_share",
                                      "quantise_share",
                                      "step_cpu_time",
                                      "sequence_cpu_time",
                                      "layer_time",
                                      "expert_layer_time",
                                      "latent_layer_time",
                                      "prefill_latent_layer_time",
                                      "prefill_recurrent_layer_time",
                                      "prefill_expert_launch_time",
                                      "rank_wait",
                                      "request_cpu_time",
                                      "request_iterations",
                                      "pool_iterations",
                                      "run_start",
                                      "compile_time",
                                      "log_sigma"});
  for (const double copies : {-1.0, std::nan(""), HUGE_VAL}) {
    CHECK(
        refusal([&] { pm::replay_conditions(copies); }).starts_with("PM-E010: weight_copies is "));
  }
}

TEST_CASE("a library of element-wise kernels refuses each number that none has", "[calibrated]") {
  perfmodel_test::refuses_each_field(
      pm::memory_bound_kernels{}, [](const auto& x) { require_valid(x); },
      {"kernel_time", "element_cycles", "lookup_cycles", "serial_lookup_time"});
}

TEST_CASE(
    "a profile is looked at whole: large numbers are accepted, and a range may not reach below 0",
    "[calibrated]") {
  pm::machine_parameters fast = plain;
  fast.operand_bandwidth = pm::bandwidth<>::from_value(1e25);
  CHECK(refusal([&] { require_valid(fast); }) == "nothing refused");
  fast.matrix_floor = pm::duration<>::from_value(-1.0);
  CHECK(refusal([&] { require_valid(fast); }) == "PM-E010: matrix_floor is -1; allowed: 0 or more");
  // A rate so low that its time could not be written down is no rate.
  fast = plain;
  fast.matrix_share = 1e-300;
  CHECK(refusal([&] { require_valid(fast); }) ==
        "PM-E010: matrix_share is 1e-300; allowed: at least 1e-30");
  auto range = pm::lift<pm::interval>(plain);
  CHECK(refusal([&] { require_valid(range); }) == "nothing refused");
  range.power_slowdown = pm::interval(-0.1, 0.1);
  CHECK(refusal([&] { require_valid(range); }) ==
        "PM-E010: power_slowdown is -0.1; allowed: 0 or more");
}

TEST_CASE("every machine and engine of the catalogue is valid", "[calibrated]") {
  for (const pm::catalog::accelerator_entry& entry : pm::catalog::accelerators) {
    INFO(entry.key);
    if (!pm::catalog::can_be_calibrated(*entry.spec)) continue;
    CHECK(refusal([&] { require_valid(pm::catalog::machine_profile_of(*entry.spec).value); }) ==
          "nothing refused");
  }
  for (const pm::engine_profile* e :
       {&pm::catalog::engine_vllm, &pm::catalog::engine_sglang, &pm::catalog::engine_trtllm}) {
    CHECK(refusal([&] { require_valid(*e); }) == "nothing refused");
  }
}

TEST_CASE("calibrated_for holds what was measured, and says what it stands on", "[calibrated]") {
  namespace c = pm::catalog;
  const pm::calibrated calibration = pm::calibrated_for(c::h200_sxm, pm::engine::trtllm);
  CHECK(calibration.machine.matrix_share == c::profile_h200_sxm.value.matrix_share);
  CHECK(calibration.engine.name == c::engine_trtllm.name);
  CHECK(calibration.links.kernels.name == c::flag_kernels.name);
  CHECK(pm::calibrated_for(c::h200_sxm, pm::engine::vllm).links.kernels.name ==
        c::barrier_kernels.name);
  // gpt-oss-120b on H200 by TensorRT-LLM: 10 % off with Marlin's experts, 19 % with vLLM's.
  CHECK(calibration.dequantised_moe_kernels.name == c::marlin_experts.name);
  CHECK(pm::calibrated_for(c::h200_sxm, pm::engine::vllm).dequantised_moe_kernels.name ==
        c::dequantised_experts.name);
  CHECK(calibration.note(pm::profile_part::gemms).donor == nullptr);
  CHECK(pm::calibrated_for(c::h20).note(pm::profile_part::gemms).donor == &c::h100_sxm);
  CHECK(refusal([] { pm::calibrated_for(c::mi210); }) ==
        "PM-E031: nothing was fitted to a machine like mi210 (AMD GPU): it has a bound and no "
        "calibrated prediction");
}

TEST_CASE("the policy picks kernels by format, and the fabric by the kind of link",
          "[calibrated]") {
  namespace c = pm::catalog;
  const pm::calibrated calibration = pm::calibrated_for(c::l40s, pm::engine::vllm);
  pm::attention_decode w{
      .batch = 8, .context = 4096, .query_heads = 32, .kv_heads = 8, .head_dim = 128};
  const auto by = [&](const pm::attention_kernels& k) {
    return calibrated_estimate(c::l40s, w, {c::profile_l40s.value, c::attention_l40s.value, k})
        .time;
  };
  CHECK(calibration.estimate(c::l40s, w).time == by(c::flash_attention_2));
  w.kv_format = pm::fp8;
  CHECK(calibration.estimate(c::l40s, w).time == by(c::flashinfer));
  pm::moe_ffn x{.tokens = 64, .hidden = 4096, .intermediate = 14336, .experts = 8, .top_k = 2};
  const auto experts = [&](const pm::moe_kernels& k) {
    return calibrated_estimate(c::l40s, x, {c::moe_profile_of(c::l40s).value, k}).time;
  };
  CHECK(calibration.estimate(c::l40s, x).time == experts(c::triton_experts));
  x.weights = pm::fp8;
  CHECK(calibration.estimate(c::l40s, x).time == experts(c::dequantised_experts));
  x.weights = pm::storage_format(pm::fp4, 32.0, 8.0);
  CHECK(calibration.estimate(c::l40s, x).time == experts(c::dequantised_experts));
  x.format = x.weights.format = pm::fp8;
  CHECK(calibration.estimate(c::l40s, x).time == experts(c::triton_fp8_experts));
  x.expert_parallel = 2;
  CHECK(calibration.estimate(c::l40s, x).time == experts(c::cutlass_experts));

  const pm::collective sum{.ranks = 8, .message = pm::message_bytes<>(1e6 * pm::byte)};
  pm::interconnect between{
      .kind = pm::link_kind::infiniband, .bandwidth = 50.0 * pm::GB_per_s, .ranks = 8};
  CHECK(pm::collective_time(between, sum, calibration).time ==
        pm::collective_time(between, sum, calibration.network).time);
  CHECK(pm::collective_time(between, sum, calibration).time !=
        pm::collective_time(between, sum, calibration.links).time);
}

TEST_CASE("a prediction has its bound, its interval and its evidence", "[calibrated]") {
  namespace c = pm::catalog;
  const pm::calibrated calibration = pm::calibrated_for(c::h100_sxm, pm::engine::vllm);
  const pm::gemm g{.m = 64, .n = 4096, .k = 4096};
  const auto p = predict(c::h100_sxm, g, calibration);
  CHECK(p.bound.time == roofline(c::h100_sxm, g).time);
  CHECK_THAT(p.high / p.estimate.time, WithinRel(std::exp(1.2816 * 0.078), 1e-12));
  CHECK_THAT(p.low * p.high / p.estimate.time / p.estimate.time, WithinRel(1.0, 1e-12));
  CHECK(p.stands_on.weakest() == pm::basis::measured);
  // In fp8 an engine quantises, and products are less certain: 0.086. Where a chip has none of
  // them, the engine's own: 0.104 for vLLM.
  const auto q =
      predict(c::h100_sxm, pm::gemm{.m = 64, .n = 4096, .k = 4096, .format = pm::fp8}, calibration);
  CHECK_THAT(q.stands_on.log_sigma(), WithinRel(0.086, 1e-12));
  CHECK(std::distance(q.stands_on.begin(), q.stands_on.end()) == 2);
  CHECK_THAT(pm::detail::gemm_log_sigma(calibration, pm::gemm_kind::integer),
             WithinRel(0.104, 1e-12));
  // 3 ms at 0.078 and 1 ms of the engine's own all-reduces at 0.21: (3 x 0.078 + 0.21) / 4. NCCL's
  // are at 0.09.
  pm::time_by_profile took{.gemms = 3.0 * pm::ms, .links = 1.0 * pm::ms};
  CHECK_THAT(evidence_of(calibration, took).log_sigma(), WithinRel(0.081, 1e-9));
  took.kind_of_all_reduces = pm::collective_kind::own_kernels;
  const pm::evidence both = evidence_of(calibration, took);
  CHECK_THAT(both.log_sigma(), WithinRel(0.111, 1e-9));
  CHECK(std::distance(both.begin(), both.end()) == 2);
  CHECK(predict(c::h20, g, pm::calibrated_for(c::h20)).stands_on.weakest() ==
        pm::basis::transferred);
}

TEST_CASE("an interval is wider beyond the shapes that were measured, and by kind",
          "[calibrated]") {
  namespace c = pm::catalog;
  const pm::calibrated h100 = pm::calibrated_for(c::h100_sxm, pm::engine::vllm);
  const auto width = [&h100](const auto& x) { return pm::stated_log_sigma(x, h100); };
  // Half of the narrowest n: sqrt(1 + (2.5 ln 2)^2) = 2.0006; both halved, sqrt(1 + 2 (2.5 ln
  // 2)^2).
  CHECK_THAT(width(pm::gemm{.m = 1, .n = 512, .k = 4096}), WithinRel(0.078 * 2.0006, 1e-4));
  CHECK_THAT(width(pm::gemm{.m = 1, .n = 512, .k = 512}), WithinRel(0.078 * 2.6468, 1e-4));
  CHECK(width(pm::gemm{.m = 1, .n = 57344, .k = 8192}) == 0.078);
  CHECK(pm::gemm_kind_of(pm::bf16, pm::storage_format(pm::int4, 128, 16)) ==
        pm::gemm_kind::dequantised);
  CHECK(pm::gemm_kind_of(pm::fp8, pm::storage_format(pm::fp8, 128 * 128, 32)) ==
        pm::gemm_kind::eight_bit_blocks);
  CHECK(pm::gemm_kind_of(pm::int8, pm::int8) == pm::gemm_kind::integer);
  pm::attention_decode decode{
      .batch = 8, .context = 4096, .query_heads = 32, .kv_heads = 8, .head_dim = 128};
  CHECK(width(decode) == 0.079);
  decode.head_dim = 64;  // sqrt(1 + (1.5 ln 2)^2) = 1.4427
  CHECK_THAT(width(decode), WithinRel(0.079 * 1.4427, 1e-4));
  decode.head_dim = 256;
  CHECK_THAT(width(decode), WithinRel(0.079 * 1.4427, 1e-4));
  // Twice the widest n and a half of the narrowest k.
  CHECK_THAT(width(pm::gemm{.m = 1, .n = 131072, .k = 512}), WithinRel(0.078 * 2.6468, 1e-4));
  const pm::attention_prefill prompt{
      .tokens = 4096, .query_heads = 32, .kv_heads = 8, .head_dim = 128, .kv_format = pm::fp8};
  CHECK(width(prompt) == 0.080);
  CHECK(width(pm::norm{.rows = 1, .width = 4096}) == pm::elementwise_log_sigma);
  // DeepSeek's shape: 7168 wide, 256 experts.
  const pm::moe_ffn block{
      .tokens = 8, .hidden = 7168, .intermediate = 2048, .experts = 256, .top_k = 8};
  CHECK(width(block) > 1.4 * 0.135);
  // A transferred profile states max(source's log_sigma, the transfer's): H20 has 148 for H100's
  // 989 TFLOP/s.
  const pm::calibrated h20 = pm::calibrated_for(c::h20);
  CHECK_THAT(pm::stated_log_sigma(pm::gemm{.m = 1, .n = 8192, .k = 8192}, h20),
             WithinRel(0.15 * c::machine_distance(c::h20, c::h100_sxm), 1e-9));
  CHECK(pm::stated_log_sigma(pm::gemm{.m = 1, .n = 8192, .k = 8192},
                             pm::calibrated_for(c::gb200)) == 0.118);
  // GB200's experts are B200's; a format that was not measured on the source GPU is less certain.
  const pm::moe_ffn shared{
      .tokens = 8, .hidden = 4096, .intermediate = 2048, .experts = 64, .top_k = 8};
  CHECK(pm::stated_log_sigma(shared, pm::calibrated_for(c::gb200)) == 0.10);
  CHECK(pm::stated_log_sigma(shared, pm::calibrated_for(c::l4)) >= 0.3);
  const pm::kind_log_sigmas ada = c::transferred_gemm_log_sigmas(c::l40s, c::measured_a100);
  CHECK(ada[0] == 0.13);
  CHECK_THAT(ada[1], WithinRel(std::hypot(0.13, 0.13), 1e-9));
  CHECK_THAT(c::transferred_attention_log_sigmas(c::l40s, c::measured_a100)[0],
             WithinRel(0.095, 1e-12));
  CHECK(c::transferred_attention_log_sigmas(c::l40s, c::measured_a100)[2] == 0.17);
}

TEST_CASE("a derivation names the facts of the die", "[calibrated]") {
  pm::trace tape;
  const auto device = pm::trace_inputs(pm::with_die_facts(pm::catalog::h100_sxm), tape, "h100_sxm");
  const auto calibration = pm::lift<pm::traced>(pm::calibrated_for(pm::catalog::h100_sxm));
  const pm::basic_gemm<pm::traced> g{
      .m = pm::traced(1.0), .n = pm::traced(8192.0), .k = pm::traced(8192.0)};
  const auto steps = pm::derivation_of(calibrated_estimate(device, g, calibration).time);
  CHECK(std::any_of(steps.inputs.begin(), steps.inputs.end(), [](const auto& i) {
    return i.name == "h100_sxm.instruction_rows" && i.source.find("PTX") != std::string::npos;
  }));
}

}  // namespace unit_calibrated
