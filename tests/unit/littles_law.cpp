// What Little's law refuses.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>
#include <support/refusal.hpp>

namespace unit_littles_law {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;
using perfmodel_test::refusal;

TEST_CASE("Little's law refuses latencies and bandwidths that are not positive") {
  CHECK(refusal([] { (void)pm::bytes_in_flight(0_s, 1_TB_per_s); }) ==
        "PM-E010: latency is 0; allowed: more than 0");
  CHECK(refusal([] { (void)pm::bandwidth_from_concurrency(1_MB, 0_s); }) ==
        "PM-E010: latency is 0; allowed: more than 0");
  CHECK(refusal([] { (void)pm::concurrent_sequences(1_tok_per_s, 0_s); }) ==
        "PM-E010: inter_token_latency is 0; allowed: more than 0");
  CHECK(refusal([] { (void)pm::resident_blocks(pm::sm_limits{}, pm::thread_block{.warps = 0}); }) ==
        "PM-E010: warps is 0; allowed: 1 or more");
}

TEST_CASE("the slowest load is of 1 to 64 that differ by 0 or more") {
  const auto slowest = [](pm::duration<> latency, pm::duration<> deviation, double loads) {
    return refusal([=] { (void)pm::slowest_load(latency, deviation, loads); });
  };
  CHECK(slowest(0_s, 1_ns, 2.0) == "PM-E010: latency is 0; allowed: more than 0");
  CHECK(slowest(1_ns, -1_ns, 2.0) == "PM-E010: deviation is -1e-09; allowed: 0 or more");
  CHECK(slowest(1_ns, 1_ns, 0.99) == "PM-E010: loads is 0.99; allowed: 1 to 64");
  CHECK(slowest(1_ns, 1_ns, 64.1) == "PM-E010: loads is 64.1; allowed: 1 to 64");
  CHECK(pm::slowest_load(1_ns, 1_ns, 64.0) > 3.342_ns);
  CHECK(pm::slowest_load(1_ns, 1_ns, 64.0) < 3.345_ns);  // 2.3437 deviations, by quadrature
}

TEST_CASE("every resource of an SM can be the one that limits") {
  const pm::sm_limits sm;
  CHECK(pm::resident_blocks(sm, {.warps = 1}) == 32);                              // block slots
  CHECK(pm::resident_blocks(sm, {.warps = 32}) == 2);                              // warps
  CHECK(pm::resident_blocks(sm, {.warps = 8, .registers_per_thread = 255}) == 1);  // registers
  CHECK(pm::resident_blocks(sm, {.warps = 1, .shared = 12_KiB}) == 17);            // 228 / 13
  CHECK(pm::resident_blocks(sm, {.warps = 4, .shared = 227_KiB}) == 1);
}

}  // namespace unit_littles_law
