// Matrix products by hand: which tile is quickest, parts of k, what power and shares of the peaks
// make of it.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/kernels/gemm.hpp>

#include "support/near.hpp"

namespace unit_calibrated_gemm {

namespace pm = perfmodel;
using perfmodel_test::near;

namespace {

/// 100 SMs of 1 TFLOP/s at 1 GHz, 1 TB/s.
pm::accelerator round_device() {
  pm::accelerator a;
  a.name = "round";
  a.architecture = pm::chip_architecture::hopper;
  a.sms = pm::number<>::from_value(100.0);
  a.matrix.peak.bf16 = pm::flop_rate<>::from_value(1e14);
  a.matrix.peak.fp8 = pm::flop_rate<>::from_value(2e14);
  a.vector.clock = pm::frequency<>::from_value(1e9);
  a.dram.bandwidth = pm::bandwidth<>::from_value(1e12);
  return a;
}
/// Half of the peak, so 16.384 ns for each k of a tile of 64 x 64; 0.1 TB/s of operands for each
/// SM.
pm::machine_parameters round_machine() {
  return {.matrix_floor = 2.0 * pm::us,
          .matrix_share = 0.5,
          .dram_share = 0.8,
          .operand_bandwidth = 10.0 * pm::TB_per_s,
          .tile_fill = 1.5 * pm::us,
          .split_cost = 3.0 * pm::us};
}
double compute_us(const pm::gemm& g, const pm::machine_parameters& p = round_machine()) {
  return calibrated_estimate(round_device(), g, {p}).terms["compute"].value() * 1e6;
}
constexpr double step = 16.384e-3;  // us

}  // namespace

TEST_CASE("gemm: the quickest of three tiles", "[calibrated]") {
  // 20 x 20 tiles of 64 x 64 are 4 waves; 10 x 10 of 128 x 128 are one, of four times the work.
  CHECK(near(compute_us({.m = 1280, .n = 1280, .k = 1000}), 4000 * step + 1.5));
  CHECK(near(compute_us({.m = 1280, .n = 1279, .k = 1000}), 4000 * step + 1.5));
  // 10 x 10 of 256 x 128 are one wave, 200 of 128 x 128 two.
  CHECK(near(compute_us({.m = 2560, .n = 1280, .k = 1000}), 8000 * step + 3.0));
  // 101 tiles of 64 x 64 take a second wave; 51 of 64 rows and 128 columns are one, of twice the
  // work and fill.
  CHECK(near(compute_us({.m = 64, .n = 101 * 64, .k = 1000}), 2000 * step + 0.75));
  CHECK(near(compute_us({.m = 64, .n = 100 * 64, .k = 1000}), 1000 * step + 0.375));
}

TEST_CASE("gemm: operands of a tile's rows and columns each k", "[calibrated]") {
  // 40 rows and 64 columns of 2 bytes at 10 GB/s an SM: 20.8 ns, more than the products' 16.384.
  pm::machine_parameters p = round_machine();
  p.operand_bandwidth = 1.0 * pm::TB_per_s;
  p.split_cost = 1.0 * pm::second;
  CHECK(near(compute_us({.m = 40, .n = 6400, .k = 1000}, p), 20.8 + 0.375));
  // Weights of 8 bits: 40 x 2 + 64 bytes are 14.4 ns, at half of the rate 28.8.
  CHECK(
      near(compute_us({.m = 40, .n = 6400, .k = 2000, .weights = pm::fp8}, p), 2 * 16.384 + 0.375));
  // A library with kernels that hide dequantisation needs no clock.
  pm::accelerator timeless = round_device();
  timeless.vector.clock = {};
  CHECK(calibrated_estimate(timeless, pm::gemm{.m = 40, .n = 6400, .k = 2000, .weights = pm::fp8},
                            {p})
            .terms["launch"] == 2.0 * pm::us);
  p.operand_bandwidth = 0.5 * pm::TB_per_s;
  CHECK(near(compute_us({.m = 40, .n = 6400, .k = 1000, .weights = pm::fp8}, p), 28.8 + 0.375));
}

TEST_CASE("gemm: parts of k where SMs are idle, with sums in 32 bits", "[calibrated]") {
  // 6 x 5 tiles: 3 parts each. Sums of 3 x 384 x 310 at 10 TB/s.
  const double sums = 384 * 310 * 3 * 4 / 10e6;
  CHECK(near(compute_us({.m = 384, .n = 310, .k = 3000}), 1000 * step + 1.5 + 3.0 + sums));
  // A k of 160 is 2.5 parts of 64, where 4 would fit.
  pm::machine_parameters p = round_machine();
  p.split_cost = 0.1 * pm::us;
  const double few = 320 * 320 * 2.5 * 4 / 10e6;
  CHECK(near(compute_us({.m = 320, .n = 320, .k = 160}, p), 64 * step + 1.5 + 0.1 + few));
  // 5 x 10 tiles leave an SM for a second part each.
  const double two = 320 * 640 * 2 * 4 / 10e6;
  CHECK(near(compute_us({.m = 320, .n = 640, .k = 1000}, p), 500 * step + 1.5 + 0.1 + two));
}

TEST_CASE("gemm: memory under compute, and shares of the peaks", "[calibrated]") {
  const pm::gemm g{.m = 1280, .n = 1280, .k = 1000, .output = pm::fp32};
  const pm::estimate e = calibrated_estimate(round_device(), g, {round_machine()});
  const double moved = 2 * 1280 * 1000 * 2 + 1280 * 1280 * 4;
  const double compute = 4000 * step + 1.5, memory = moved / 0.8e6;
  CHECK(near(e.terms["memory"].value() * 1e6, memory));
  const double time = 2 + compute + memory * memory / compute / 3;
  CHECK(near(e.time.value() * 1e6, time));
  CHECK(near(e.mfu, 2 * 1280.0 * 1280 * 1000 / 1e8 / time));
  CHECK(near(e.mbu, moved / 1e6 / time));
}

TEST_CASE("gemm: power beyond which quicker memory saves nothing", "[calibrated]") {
  // 16.384 ms at half of the peak. At a slowdown of 4 the least of t + 4 x 16.384^2 / (t + 1) ms is
  // at t = 2 x 16.384 - 1, beyond the product's own 16.7.
  pm::machine_parameters p = round_machine();
  p.power_slowdown = 4.0;
  const pm::gemm g{.m = 6400, .n = 6400, .k = 10000};
  const double t = 2 * 16.384 - 1;
  const auto e = calibrated_estimate(round_device(), g, {p});
  CHECK(near(e.time.value() * 1e3, 0.002 + t + 4 * 16.384 * 16.384 / (t + 1)));
  // At a slowdown of 1 none is.
  p.power_slowdown = 1.0;
  const auto plain = calibrated_estimate(round_device(), g, {round_machine()});
  const double own = (plain.time.value() - 2e-6) * 1e3;
  CHECK(near(calibrated_estimate(round_device(), g, {p}).time.value() * 1e3,
             0.002 + own + 16.384 * 16.384 / (own + 1)));
}

TEST_CASE("gemm: activations are narrowed at DRAM speed where that is longer, in a model by shares",
          "[calibrated]") {
  const pm::gemm g{.m = 1000, .n = 640, .k = 1000, .format = pm::fp8};
  pm::engine_profile engine{.tensor_scale_floor = 5.0 * pm::us,
                            .quantise_floor = 3.0 * pm::us,
                            .quantise_bytes = 10.0,
                            .tensor_scale_share = 0.5,
                            .quantise_share = 0.25};
  const auto quantise = [&](const pm::gemm& x) {
    return calibrated_estimate(round_device(), x, {round_machine(), engine})
               .terms["quantise"]
               .value() *
           1e6;
  };
  // 1e6 activations, read in 2 bytes and written in 1: 3.75 us at 0.8 TB/s, 1 us of 10 bytes at 10
  // TB/s.
  CHECK(near(quantise(g), 0.5 * (5 + 3.75)));
  engine.quantise_bytes = 200.0;
  CHECK(near(quantise(g), 0.5 * (5 + 20)));
  engine.quantise_row_cycles = 300.0;  // of 1,000 rows on 100 SMs of 1 GHz: 3 us
  CHECK(near(quantise(g), 0.5 * (5 + 20 + 3)));
  pm::gemm blocks = g;
  blocks.weights = pm::storage_format(pm::fp8, 128.0 * 128.0, 32.0);
  CHECK(near(quantise(blocks), 0.25 * (3 + 3.75)));
  // One row alone, on Blackwell and not in a model.
  const auto lone = [&](pm::accelerator a, double rows, pm::call_conditions c) {
    const pm::gemm x{.m = rows, .n = 640, .k = 1000, .format = pm::fp8};
    const pm::engine_profile none{.tensor_scale_floor = 5.0 * pm::us,
                                  .single_row_time = 7.0 * pm::us};
    return near(
        calibrated_estimate(a, x, {round_machine(), none}, c).terms["quantise"].value() * 1e6,
        12 + rows * 0.00375);
  };
  pm::accelerator blackwell = round_device();
  blackwell.architecture = pm::chip_architecture::blackwell;
  CHECK(lone(blackwell, 1, pm::replay_conditions(1.0)));
  CHECK_FALSE(lone(blackwell, 2, pm::replay_conditions(1.0)));
  CHECK_FALSE(lone(blackwell, 1, {}));
  CHECK_FALSE(lone(round_device(), 1, pm::replay_conditions(1.0)));
  engine.quantise_floor = {};  // such kernels are not there
  CHECK(calibrated_estimate(round_device(), blocks, {round_machine(), engine})
            .terms.find("quantise") == nullptr);
}

}  // namespace unit_calibrated_gemm
