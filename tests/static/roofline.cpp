// The roofline in constant expressions.
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>

namespace static_roofline {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;

namespace {

constexpr pm::accelerator machine(pm::flop_rate<> bf16, pm::bandwidth<> dram) {
  pm::accelerator a;
  a.matrix.peak.bf16 = bf16;
  a.dram.bandwidth = dram;
  return a;
}
constexpr pm::accelerator v100 = machine(125_TFLOP_per_s, 0.9_TB_per_s);
constexpr pm::accelerator a100 = machine(312_TFLOP_per_s, 2.04_TB_per_s);
constexpr pm::accelerator h100 = machine(989.4_TFLOP_per_s, 3.35_TB_per_s);
constexpr pm::accelerator h200 = machine(989.4_TFLOP_per_s, 4.8_TB_per_s);
constexpr pm::accelerator h20 = machine(148_TFLOP_per_s, 4_TB_per_s);
constexpr pm::accelerator b200 = machine(2250_TFLOP_per_s, 8_TB_per_s);

// Ridge points, peak / bandwidth by hand.
static_assert(near(pm::ridge_point(v100, pm::bf16), 138.9_FLOP_per_B, 5e-4));
static_assert(near(pm::ridge_point(a100, pm::bf16), 152.9_FLOP_per_B, 5e-4));
static_assert(near(pm::ridge_point(h100, pm::bf16), 295.34_FLOP_per_B, 5e-5));
static_assert(near(pm::ridge_point(h200, pm::bf16), 206.125_FLOP_per_B));
static_assert(near(pm::ridge_point(h20, pm::bf16), 37_FLOP_per_B));
static_assert(near(pm::ridge_point(b200, pm::bf16), 281.25_FLOP_per_B));
static_assert(near(pm::ridge_point(66.9_TFLOP_per_s, 3.35_TB_per_s), 19.97_FLOP_per_B, 1e-3));

// 200 FLOP/byte: compute, compute, memory, memory.
static_assert(pm::regime_of(v100, pm::bf16, 200_FLOP_per_B) == pm::regime::compute_bound);
static_assert(pm::regime_of(a100, pm::bf16, 200_FLOP_per_B) == pm::regime::compute_bound);
static_assert(pm::regime_of(h100, pm::bf16, 200_FLOP_per_B) == pm::regime::memory_bound);
static_assert(pm::regime_of(b200, pm::bf16, 200_FLOP_per_B) == pm::regime::memory_bound);

static_assert(near(pm::attainable(989.4_TFLOP_per_s, 3.35_TB_per_s, 100_FLOP_per_B),
                   335_TFLOP_per_s));
static_assert(pm::attainable(989.4_TFLOP_per_s, 3.35_TB_per_s, 1000_FLOP_per_B) ==
              989.4_TFLOP_per_s);

// 4096^3 in bf16: 2 x 4096^3 FLOP over 3 x 2 x 4096^2 bytes is 4096 / 3 FLOP/byte.
constexpr pm::gemm square{.m = 4096, .n = 4096, .k = 4096};
static_assert(demand_of(square).matrix_flop == 137438953472.0 * pm::flop);
static_assert(near(demand_of(square).intensity(), (4096.0 / 3.0) * pm::flop_per_byte));
static_assert(pm::roofline(h100, square).limiter == pm::limiter::compute);
static_assert(near(pm::roofline(h100, square).time, 137438953472.0 / 989.4e12 * pm::second));
static_assert(near(pm::roofline(h100, square).mfu, 1.0));

// A matrix-vector product reads its weights once: 2 x 8192^2 bytes and a little more.
constexpr pm::gemm vector{.m = 1, .n = 8192, .k = 8192};
static_assert(pm::roofline(h100, vector).limiter == pm::limiter::memory);
static_assert(near(pm::roofline(h100, vector).time,
                   (2.0 * 8192 * 8192 + 4.0 * 8192) / 3.35e12 * pm::second));

// 4.25 bits per weight: group of 64 with one 16-bit scale.
constexpr pm::gemm int4{
    .m = 1, .n = 8192, .k = 8192, .weights = pm::storage_format(pm::int4, 64, 16)};
static_assert(near(demand_of(int4).dram.read, (0.53125 * 8192 * 8192 + 2.0 * 8192) * pm::byte));
static_assert(demand_of(int4).format == pm::bf16);

}  // namespace

}  // namespace static_roofline
