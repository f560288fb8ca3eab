// What launches report and refuse.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/laws/launch.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>
#include <support/refusal.hpp>

namespace unit_launch {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;
using perfmodel_test::refusal;

TEST_CASE("capturing that saves nothing is reported, not divided by") {
  const pm::break_even b = pm::calls_to_earn_back(1_s, 2_ms, 3_ms);
  CHECK_FALSE(b.feasible);
  CHECK(b.calls == 0.0);
  CHECK(b.saved_per_call < 0_s);
  CHECK(b.feasible.needed == 3e-3);
  CHECK(b.feasible.available == 2e-3);
  CHECK_FALSE(pm::calls_to_earn_back(1_s, 2_ms, 2_ms).feasible);
}

TEST_CASE("idle time between kernels counts when the device is the limit") {
  const pm::launch_costs c{.cpu = 2_us, .gap = 1_us};
  CHECK(near(pm::stream_launch_time(c, 100, 1_ms).time, 1.1_ms));
  CHECK(near(pm::exposed_launch(c, 100, 1_ms), 0.1_ms));
  CHECK(near(pm::stream_launch_time(c, 100, 0_s).time, 0.2_ms));
}

TEST_CASE("launches refuse negative counts and costs") {
  CHECK(refusal([] { (void)pm::stream_launch_time(pm::launch_costs{}, -1, 1_ms); }) ==
        "PM-E010: launches is -1; allowed: 0 or more");
  CHECK(refusal([] { (void)pm::graph_time(pm::launch_costs{.node = -1_us}, 1, 1_ms); }) ==
        "PM-E010: node is -1e-06; allowed: 0 or more");
}

}  // namespace unit_launch
