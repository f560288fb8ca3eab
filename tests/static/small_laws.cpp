// The short laws that texts on performance use, each with a published number.
#include <limits>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/hardware/catalog/nvidia_rtx.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/laws/kv_cache.hpp>
#include <perfmodel/laws/launch.hpp>
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/laws/warp.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>

namespace static_small_laws {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using namespace perfmodel::catalog;
using perfmodel_test::near;

namespace {

// Achieved rates. 2 x 5000 x 4508 FLOP in 68.7 us are 0.656 TFLOP/s.
constexpr pm::gemm row{.m = 1, .n = 5000, .k = 4508};
constexpr auto reached = pm::achieved(h100_sxm, row, 68.7_us);
static_assert(near(reached.flop / 1_TFLOP_per_s, 0.6562, 1e-4));
static_assert(near(reached.mfu, 0.6562 / 989.4, 1e-3));
static_assert(near(reached.dram / 1_TB_per_s, 2 * (4508 + 4508 * 5000.0 + 5000) / 68.7e6, 1e-9));
static_assert(pm::achieved(h100_sxm, row, 10_us).mbu > 1.0);  // served by a warm cache
static_assert(near(80.2_GB_per_s * 7.90_us / 1_B, 633'580, 1e-12));
// A service that says 2.7 TB/s and takes 85 ms for 17.5 GB.
static_assert(near(17.5_GB / 85_ms / 1_TB_per_s, 0.205882, 1e-5));

// Cycles. 25, 200 cycles at 1.755 GHz; 600 at 1.98 GHz; 17,643 in 6.78 us.
static_assert(near(pm::time_of_cycles(25, 1.755_GHz) / 1_ns, 14.245, 1e-4));
static_assert(near(pm::time_of_cycles(200, 1.755_GHz) / 1_ns, 113.96, 1e-4));
static_assert(near(pm::time_of_cycles(600, 1.98_GHz) / 1_ns, 303.03, 1e-4));

// Lanes.
static_assert(pm::lanes_per_sm(rtx_5090) * rtx_5090.sms == 21'760.0);
static_assert(pm::reduction_steps() == 5 && pm::reduction_steps(1) == 0);
constexpr std::array<pm::duration<>, 2> paths{3_us, 3_us};
static_assert(pm::divergent_time(std::span<const pm::duration<>>(paths)) == 6_us);

// Coalescing, counted by hand: 32 lanes x 4 B are four sectors; a sector each from 32 B apart.
static_assert(pm::sectors_per_request(1, 4) == 4 && pm::sectors_per_request(2, 4) == 8);
static_assert(pm::sectors_per_request(8, 4) == 32 && pm::sectors_per_request(1000, 4) == 32);
static_assert(pm::sectors_per_request(1, 2) == 2 && pm::sectors_per_request(1, 16) == 16);
static_assert(pm::access_amplification(32, 4) == 8.0 && pm::access_amplification(1, 4) == 1.0);

// Bank conflicts.
static_assert(pm::bank_conflict_ways(1) == 1 && pm::bank_conflict_ways(2) == 2);
static_assert(pm::bank_conflict_ways(32) == 32 && pm::bank_conflict_ways(33) == 1);
constexpr int swizzled(int words) {
  return pm::bank_conflict_ways(words, pm::tile_layout::xor_swizzled);
}
static_assert(swizzled(2) == 2 && swizzled(4) == 4 && swizzled(8) == 4 && swizzled(16) == 2);
static_assert(swizzled(32) == 1 && swizzled(64) == 1);

// Alignment, tiles, padding.
static_assert(pm::aligned_elements(pm::fp16) == 8.0 && pm::aligned_elements(pm::int8) == 16.0);
static_assert(pm::tiles_of(8192, 128) == 64.0 && pm::tiles_of(65'536, 2048) == 32.0);
static_assert(near(pm::padding_waste(100, 64), 28.0 / 128.0, 1e-12));
static_assert(pm::padding_waste(128, 64) == 0.0);

// Ranges of formats.
static_assert(pm::range_of(pm::fp8).largest == 448.0 && pm::range_of(pm::fp8).lowest == -448.0);
static_assert(pm::range_of(pm::fp8).smallest_normal == 1.0 / 64.0);
static_assert(pm::range_of(pm::fp8).smallest == 1.0 / 512.0);
static_assert(pm::range_of(pm::int8).lowest == -128.0 && pm::range_of(pm::int8).largest == 127.0);
static_assert(pm::range_of(pm::fp4).largest == 6.0 && pm::range_of(pm::fp4).smallest == 0.5);
static_assert(pm::range_of(pm::fp16).largest == 65504.0);
static_assert(pm::range_of(pm::fp32).largest == double(std::numeric_limits<float>::max()));
static_assert(pm::range_of(pm::fp32).smallest_normal == double(std::numeric_limits<float>::min()));
static_assert(pm::range_of(pm::fp64).largest == std::numeric_limits<double>::max());
static_assert(pm::range_of(pm::fp64).smallest == std::numeric_limits<double>::denorm_min());
static_assert(near(pm::range_of(pm::bf16).largest, 3.3895e38, 1e-4));
static_assert(pm::range_of(pm::bf16).smallest_normal == pm::range_of(pm::fp32).smallest_normal);

// Amdahl's law solved for the share.
static_assert(near(pm::share_from_speedup(1.05, 2), 0.0952381, 1e-6));
static_assert(near(pm::removed_share(3.1) + pm::removed_share(1.9), 1.1511, 1e-4));

// Batches and ranks.
static_assert(near(pm::batch_scaling_efficiency(3297 * pm::token_per_s, 64, 82.425_tok_per_s),
                   0.625, 1e-12));
static_assert(near(pm::ranks_saved(10'000, 0.01), 99.0099, 1e-6));
static_assert(near(pm::time_without_tax(245_ms, 1.0 - 48.0 / 65.0) / 1_ms, 180.923, 1e-5));
constexpr std::array<int, 8> lengths{20, 20, 20, 20, 20, 20, 20, 2000};
static_assert(near(pm::static_batch_tail(lengths), 0.99, 1e-12));
static_assert(near(pm::static_batch_efficiency(lengths), 2140.0 / 16000.0, 1e-12));
static_assert(near(pm::inter_token_latency_of(1, 120_tok_per_s) / 1_ms, 8.33333, 1e-5));

// The ridge: 295 sequences and not 147; and with 8192 tokens of cache each, none.
constexpr auto ridge = pm::ridge_point(h100_sxm, pm::bf16);
static_assert(near(pm::ridge_batch(ridge, 70e9, 2_B).batch, 295.3, 1e-3));
constexpr auto cached = pm::ridge_batch(ridge, 70e9, 2_B, 8192 * 327'680_B);
static_assert(!cached.feasible.feasible && cached.batch == 0.0);
static_assert(near(140e9 / (8192 * 327'680.0), 52.15, 1e-3));  // FLOP/byte that it stays below
// With a tenth of the cache: the intensity at that batch is the ridge.
constexpr double batch = pm::ridge_batch(ridge, 70e9, 2_B, 819 * 327'680_B).batch;
static_assert(near(2 * 70e9 * batch / (140e9 + batch * 819 * 327'680) / (ridge / pm::flop_per_byte),
                   1.0, 1e-9));

// Overlap, launches, weights, passes.
static_assert(near(pm::overlap_efficiency(487.805_ms, 400_ms), 0.18, 1e-4));
static_assert(pm::kernels_per_step(70, 30) == 2100.0 && pm::kernels_per_step(36, 8, 3) == 291.0);
static_assert(pm::weight_bytes(70e9, pm::bf16, 8) == 17.5_GB);
static_assert(near(pm::weight_bytes(70e9, {pm::int4, 64, 16}) / 1_GB, 37.1875, 1e-12));
static_assert(near(pm::training_flop(70e9, 1) / 1_GFLOP, 420.0, 1e-12));

}  // namespace

}  // namespace static_small_laws
