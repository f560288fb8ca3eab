// Overlap in constant expressions.
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>

namespace static_overlap {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;

namespace {

static_assert(near(pm::exposed_time(60_ms, 40_ms), 20_ms));
static_assert(pm::exposed_time(40_ms, 60_ms) == 0_s);

// A training step of an 8.03e9-parameter model, 2,048 tokens per GPU, 40 % MFU, 8 GPUs.
// Backward: 4 P T / (0.4 R) = 166.28 ms; forward half of that; ring: 1.75 x 16.06 GB / 450 GB/s
// = 62.46 ms.
constexpr pm::duration<> backward = 4 * 8.03e9 * 2048 / (0.4 * 989.0e12) * pm::second;
constexpr pm::duration<> forward = backward / 2;
constexpr pm::duration<> all_reduce = 1.75 * 16.06e9 / 450e9 * pm::second;
static_assert(near(pm::training_step(forward, backward, all_reduce, 1).time, 311.9_ms, 1e-4));
static_assert(near(pm::training_step(forward, backward, all_reduce, 1e15).time, 249.4_ms, 2e-4));
static_assert(near(forward + max(backward, all_reduce), 249.425_ms, 1e-5));

// 4 of 132 SMs cost 4 / 128, 8 cost 8 / 124.
static_assert(near(pm::sm_interference(1_s, 132, 4) / 1_s, 132.0 / 128));
static_assert(near(pm::sm_interference(1_s, 132, 8) / 1_s, 132.0 / 124));
static_assert(pm::overlap_with_dma(10_ms, 4_ms) == 10_ms);
static_assert(near(pm::overlap_with_sm_copy(10_ms, 4_ms, 132, 33), 11_ms));
static_assert(pm::overlap_with_sm_copy(1_ms, 4_ms, 132, 33) == 4_ms);

static_assert(near(pm::bucketed_backward(100_ms, 40_ms, 4), 110_ms));
static_assert(near(pm::bucketed_backward(40_ms, 100_ms, 4), 110_ms));

static_assert(near(pm::double_buffered_time(2_us, 3_us, 10), 2_us + 9 * 3_us + 3_us));
static_assert(near(pm::double_buffered_time(3_us, 2_us, 1), 5_us));
static_assert(pm::stages_needed(600_ns, 250_ns) == 4);
static_assert(pm::stages_needed(500_ns, 250_ns) == 3);
static_assert(pm::stages_that_fit(227_KiB, 98304_B) == 2);

}  // namespace

}  // namespace static_overlap
