// Little's law in constant expressions.
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>

namespace static_littles_law {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;

namespace {

// 300 ns: 1.005 MB in flight on an H100, 7.6 KB on each of 132 SMs; 1.44 MB and 10.9 KB on an H200.
static_assert(near(pm::bytes_in_flight(300_ns, 3.35_TB_per_s), 1.005_MB));
static_assert(near(pm::bytes_in_flight(300_ns, 3.35_TB_per_s) / 132.0, 7.6_kB, 2e-3));
static_assert(near(pm::bytes_in_flight(300_ns, 4.8_TB_per_s), 1.44_MB));
static_assert(near(pm::bytes_in_flight(300_ns, 4.8_TB_per_s) / 132.0, 10.9_kB, 2e-3));
static_assert(near(pm::bandwidth_from_concurrency(1.005_MB, 300_ns), 3.35_TB_per_s));
static_assert(pm::attainable_bandwidth(3.35_TB_per_s, 2_MB, 300_ns) == 3.35_TB_per_s);
static_assert(near(pm::attainable_bandwidth(3.35_TB_per_s, 0.3_MB, 300_ns), 1_TB_per_s));

// One load takes its latency. Of n that differ by 100 ns, n normal deviates: tabled means 0.5642,
// 1.0294, 1.4236.
static_assert(pm::slowest_load(300_ns, 100_ns, 1.0) == 300_ns);
static_assert(near(pm::slowest_load(300_ns, 100_ns, 2.0) - 300_ns, 56.42_ns, 0.006));
static_assert(near(pm::slowest_load(300_ns, 100_ns, 4.0) - 300_ns, 102.94_ns, 0.006));
static_assert(near(pm::slowest_load(300_ns, 100_ns, 8.0) - 300_ns, 142.36_ns, 0.04));
static_assert(pm::slowest_load(300_ns, 0_ns, 8.0) == 300_ns);

constexpr pm::memory_parallelism kernel{.sms = 132, .warps = 16, .bytes_per_load = 512_B};
static_assert(near(pm::bytes_in_flight(kernel), 1081344_B));
static_assert(pm::warps_needed(300_ns, 3.35_TB_per_s, kernel) == 15);  // 14.87

// Occupancy: two blocks of 98,304 B; half the warps at 64 registers; none when one is too much.
static_assert(pm::resident_blocks(pm::sm_limits{},
                                  pm::thread_block{.warps = 4, .shared = 98304_B}) == 2);
static_assert(pm::occupancy(pm::sm_limits{},
                            pm::thread_block{.warps = 8, .registers_per_thread = 64}) == 0.5);
static_assert(pm::occupancy(pm::sm_limits{}, pm::thread_block{.warps = 1}) == 0.5);  // 32 blocks
static_assert(pm::occupancy(pm::sm_limits{}, pm::thread_block{.warps = 8}) == 1.0);
static_assert(pm::resident_blocks(pm::sm_limits{},
                                  pm::thread_block{.warps = 4, .shared = 228_KiB}) == 0);

// 280 tok/s at 85 ms are 23.8 streams; 4 streams at 85 ms are 47.1 tok/s; 64 at 120 ms are 533.3.
static_assert(near(pm::concurrent_sequences(280_tok_per_s, 85_ms), 23.8));
static_assert(near(pm::throughput_of(4.0, 85_ms), 47.0588_tok_per_s, 1e-6));
static_assert(near(pm::throughput_of(64.0, 120_ms), 533.3333_tok_per_s, 1e-6));
static_assert(near(pm::requests_in_system(2_req_per_s, 5_s), 10_req));

}  // namespace

}  // namespace static_littles_law
