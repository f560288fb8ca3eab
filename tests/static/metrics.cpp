// Metrics in constant expressions.
#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>

namespace static_metrics {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;

namespace {

// Batch 1 in bf16 is 1 FLOP/byte: MBU 0.85 is an MFU of 0.29 %, 0.88 is 0.30 %, 1 is 0.34 %.
constexpr pm::intensity<> ridge = 989.4_TFLOP_per_s / 3.35_TB_per_s;
static_assert(near(pm::mfu_from_mbu(0.85, 1_FLOP_per_B, ridge), 0.00288, 2e-3));
static_assert(near(pm::mfu_from_mbu(0.88, 1_FLOP_per_B, ridge), 0.00298, 2e-3));
static_assert(near(pm::mfu_from_mbu(1.0, 1_FLOP_per_B, ridge), 0.00339, 2e-3));
static_assert(near(pm::mbu(140_GB, 41.792_ms, 3.35_TB_per_s), 1.0, 1e-4));
static_assert(near(pm::mfu(989.4_TFLOP, 2_s, 989.4_TFLOP_per_s), 0.5));

static_assert(near(pm::training_flop_per_token(8.03e9) * pm::token, 6 * 8.03e9 * pm::flop));
static_assert(near(pm::training_flop_per_token(8.03e9, 1.0) * pm::token, 8 * 8.03e9 * pm::flop));
static_assert(near(pm::training_mfu(8214.2_tok_per_s, 8.03e9, 1, 989.4_TFLOP_per_s), 0.4, 1e-5));
static_assert(near(pm::hfu(0.45, 1.0), 0.6));

// 0.50 + 0.35 x 0.3 + 0.15 x 0.2 = 0.635: 1.575 times; 8.333 ms become 5.29 ms; GEMMs are now 79 %.
constexpr std::array<pm::amdahl_part, 3> parts{{{0.50, 1.0}, {0.35, 0.3}, {0.15, 0.2}}};
static_assert(near(pm::amdahl(parts).time_ratio, 0.635));
static_assert(near(pm::amdahl(parts).speedup, 1.5748, 1e-5));
static_assert(near(pm::new_share(parts[0], pm::amdahl(parts)), 0.7874, 1e-5));
static_assert(near(pm::new_share(parts[1], pm::amdahl(parts)), 0.105 / 0.635));
static_assert(near(8.3333_ms * pm::amdahl(parts).time_ratio, 5.29167_ms, 1e-5));

// 85 ms with 38 % GEMMs: 45 % faster GEMMs leave 70.465 ms, and nothing reaches the claimed 48 ms.
static_assert(near(85_ms * pm::amdahl(std::array<pm::amdahl_part, 1>{{{0.38, 0.55}}}).time_ratio,
                   70.465_ms));
static_assert(near(pm::amdahl_floor(85_ms, 0.38), 52.7_ms));
static_assert(pm::amdahl_floor(85_ms, 0.38) > 48_ms);
static_assert(near(pm::largest_speedup(0.05), 1.0526, 1e-4));

static_assert(near(pm::scaling_tax(0.65, 0.48), 0.2615, 2e-4));
static_assert(near(pm::scaling_tax(0.65, 0.30), 0.5385, 1e-4));
static_assert(near(pm::straggler_tax(0.1), 0.0909, 1e-3));
static_assert(near(pm::time_with_tax(30_h * 24, 0.1), 33.3333_h * 24, 1e-5));
static_assert(near(pm::time_with_tax(30_h * 24, 0.2), 37.5_h * 24));

// Seven sequences of 20 tokens with one of 2000: 2140 / 16000, a gain of at most 7.48.
constexpr std::array<double, 8> lengths{20, 20, 20, 20, 20, 20, 20, 2000};
static_assert(near(pm::static_batch_efficiency(lengths), 0.13375));
static_assert(near(pm::continuous_batching_gain(lengths), 7.4766, 1e-5));

static_assert(near(pm::end_to_end(500_ms, 40_ms, 200), 8.46_s));

}  // namespace

}  // namespace static_metrics
