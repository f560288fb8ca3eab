// Launches in constant expressions.
#include <perfmodel/laws/launch.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>

namespace static_launch {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;

namespace {

constexpr pm::launch_costs ten_us{.cpu = 10_us};

// 50 launches of 10 us with 2 ms of kernels: nothing exposed in a stream, 20 % when waiting each
// time.
static_assert(pm::stream_launch_time(ten_us, 50, 2_ms).time == 2_ms);
static_assert(pm::stream_launch_time(ten_us, 50, 2_ms).limiter == pm::limiter::compute);
static_assert(near(pm::synchronised_time(ten_us, 50, 2_ms).time, 2.5_ms));
static_assert(near(pm::synchronised_time(ten_us, 50, 2_ms).terms["host"] /
                       pm::synchronised_time(ten_us, 50, 2_ms).time,
                   0.2));

// 2,100 launches of 7.5 us are 15.75 ms, and the CPU is the limit with 10 ms of kernels.
constexpr pm::launch_costs measured{.cpu = 7.5_us, .replay = 7.5_us, .node = 1_us};
static_assert(near(pm::stream_launch_time(measured, 2100, 10_ms).time, 15.75_ms));
static_assert(pm::stream_launch_time(measured, 2100, 10_ms).limiter == pm::limiter::launch);
static_assert(near(pm::exposed_launch(measured, 2100, 10_ms), 5.75_ms));
// Captured, 1 us a node and one replay: 2.1075 ms on top of the kernels.
static_assert(near(pm::graph_time(measured, 2100, 0_s).time, 2.1075_ms));
static_assert(near(pm::graph_time(measured, 2100, 10_ms).time, 12.1075_ms));

// 1 s / (15.75 - 12.1) ms = 273.97 calls.
static_assert(near(pm::calls_to_earn_back(1_s, 15.75_ms, 12.1_ms).calls, 273.9726, 1e-6));
static_assert(!pm::calls_to_earn_back(1_s, 2_ms, 2_ms).feasible);

}  // namespace

}  // namespace static_launch
