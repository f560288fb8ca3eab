// The iron law in constant expressions.
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>

namespace static_iron_law {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;

namespace {

// 17.5 GB of weights per GPU at 3.35 TB/s: 5.224 ms, 191.43 tokens per second.
constexpr pm::estimate step = pm::iron_law(17.5_GB, 3.35_TB_per_s, 0_FLOP, 989.4_TFLOP_per_s, 0_s);
static_assert(near(step.time, 5.2239_ms, 1e-5));
static_assert(near(1.0 / step.time.value(), 191.43, 1e-4));
static_assert(step.limiter == pm::limiter::memory);
static_assert(near(step.mbu, 1.0));

// 140 GB: 41.79 ms. 80 GB, the whole memory: 23.88 ms.
static_assert(near(pm::iron_law(140_GB, 3.35_TB_per_s, 0_FLOP, 989.4_TFLOP_per_s, 0_s).time,
                   41.791_ms, 1e-5));
static_assert(near(pm::iron_law(80_GB, 3.35_TB_per_s, 0_FLOP, 989.4_TFLOP_per_s, 0_s).time,
                   23.8806_ms, 1e-5));

// 3-4-5: the p-norm with p = 2, then its two ends.
static_assert(near(pm::partly_overlapped(3_ms, 4_ms, pm::overlap{2.0}), 5_ms));
static_assert(near(pm::partly_overlapped(3_ms, 4_ms, pm::overlap::none()), 7_ms));
static_assert(near(pm::partly_overlapped(3_ms, 4_ms, pm::overlap::full()), 4_ms));
static_assert(pm::serial(3_ms, 4_ms) == 7_ms);
static_assert(pm::overlapped(3_ms, 4_ms) == 4_ms);

}  // namespace

}  // namespace static_iron_law
