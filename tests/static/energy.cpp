// Energy in constant expressions.
#include <perfmodel/laws/energy.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>

namespace static_energy {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;

namespace {

// Full-rate DRAM of an H100: 3.35e12 x 8 x 3.9e-12 = 104.52 W, 187.6 W at 7 pJ/bit.
static_assert(near(pm::memory_power(3.35_TB_per_s, 3.9 * pm::pJ_per_bit), 104.52_W));
static_assert(near(pm::memory_power(3.35_TB_per_s, 7.0 * pm::pJ_per_bit), 187.6_W));
// "640 W" is 1e12 accesses of 32 bit at 640 pJ: 20 pJ/bit at 4.0 TB/s, more than the pins carry.
static_assert(near(pm::memory_power(4_TB_per_s, 20.0 * pm::pJ_per_bit), 640_W));

constexpr pm::demand one_second = [] {
  pm::demand d;
  d.matrix_flop = 100_TFLOP;
  d.dram.read = 3.35_TB;
  return d;
}();
constexpr pm::energy_costs costs{
    .matrix = 0.5 * pm::pJ_per_flop, .dram = 3.9 * pm::pJ_per_bit, .idle = 80_W};
constexpr pm::energy_estimate joules = pm::energy_of(costs, one_second, 1_s);
static_assert(near(joules.dram, 104.52_J));
static_assert(near(joules.compute, 50_J));
static_assert(near(joules.total, 234.52_J));
static_assert(near(joules.mean_power, 234.52_W));

// Half the dynamic power leaves the cube root of a half of the clock.
static_assert(near(pm::clock_under_cap(350_W, 100_W, 500_W, 3).clock_share, 0.7937005259840998));
static_assert(near(pm::clock_under_cap(350_W, 100_W, 500_W, 1).clock_share, 0.5));
static_assert(pm::clock_under_cap(700_W, 100_W, 500_W, 3).clock_share == 1.0);
static_assert(!pm::clock_under_cap(100_W, 100_W, 500_W, 3).feasible);

}  // namespace

}  // namespace static_energy
