// What energy reports and refuses.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/laws/energy.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>
#include <support/refusal.hpp>

namespace unit_energy {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;
using perfmodel_test::refusal;

TEST_CASE("every level of the demand is charged at its own price") {
  pm::demand d;
  d.matrix_flop = 1e12 * pm::flop;
  d.vector_flop = 2e12 * pm::flop;
  d.dram = {1_GB, 1_GB};
  d.l2 = {3_GB, 1_GB};
  d.shared = {5_GB, 3_GB};
  d.sent = 7_GB;
  pm::energy_costs c;
  c.matrix = 1.0 * pm::pJ_per_flop;
  c.vector = 2.0 * pm::pJ_per_flop;
  c.dram = 100.0 * pm::pJ_per_byte;
  c.l2 = 10.0 * pm::pJ_per_byte;
  c.shared = 1.0 * pm::pJ_per_byte;
  c.link = 50.0 * pm::pJ_per_byte;
  c.idle = 10_W;
  const pm::energy_estimate e = pm::energy_of(c, d, 2_s);
  CHECK(near(e.compute, 5_J));
  CHECK(near(e.dram, 0.2_J));
  CHECK(near(e.l2, 0.04_J));
  CHECK(near(e.shared, 0.008_J));
  CHECK(near(e.link, 0.35_J));
  CHECK(near(e.idle, 20_J));
  CHECK(near(e.total, 25.598_J));
  CHECK(near(e.mean_power, 12.799_W));
}

TEST_CASE("an accelerator hands over the energies that its memories state") {
  pm::accelerator a;
  a.dram.energy_per_byte = 5.0 * pm::pJ_per_bit;
  const pm::energy_costs c = pm::stated_energy_costs(a);
  CHECK(near(c.dram, 40.0 * pm::pJ_per_byte));
  CHECK(c.l2 == 0.0 * pm::pJ_per_byte);
}

TEST_CASE("a cap below idle power is a result with a reason") {
  const pm::power_cap r = pm::clock_under_cap(50_W, 100_W, 500_W, 3);
  CHECK_FALSE(r.feasible);
  CHECK(r.clock_share == 0.0);
  CHECK(r.feasible.needed == 100.0);
  CHECK(r.feasible.available == 50.0);
  CHECK(refusal([] { (void)pm::clock_under_cap(500_W, 100_W, 500_W, 4); }) ==
        "PM-E010: exponent is 4; allowed: 1 to 3");
  CHECK(refusal([] { (void)pm::energy_of(pm::energy_costs{}, pm::demand{}, 0_s); }) ==
        "PM-E010: time is 0; allowed: more than 0");
}

TEST_CASE("a cap of what is drawn at idle leaves no clock") {
  const pm::power_cap c = pm::clock_under_cap(100_W, 100_W, 600_W, 3.0);
  CHECK_FALSE(c.feasible);
  CHECK(c.clock_share == 0.0);
}

}  // namespace unit_energy
