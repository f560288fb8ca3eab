// What energy promises.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/laws/energy.hpp>
#include <support/near.hpp>
#include <support/random.hpp>

namespace property_energy {

namespace pm = perfmodel;
using perfmodel_test::near;
using perfmodel_test::random_numbers;

TEST_CASE("energy adds up, and is linear in every cost and in the work") {
  random_numbers r(1);
  for (int i = 0; i < 500; ++i) {
    pm::energy_costs c{.matrix = r.uniform(0, 2) * pm::pJ_per_flop,
                       .vector = r.uniform(0, 9) * pm::pJ_per_flop,
                       .dram = r.uniform(20, 60) * pm::pJ_per_byte,
                       .l2 = r.uniform(0, 9) * pm::pJ_per_byte,
                       .shared = r.uniform(0, 2) * pm::pJ_per_byte,
                       .link = r.uniform(0, 90) * pm::pJ_per_byte};
    pm::demand d;
    d.matrix_flop = r.log_uniform(1e9, 1e14) * pm::flop;
    d.vector_flop = r.log_uniform(1e9, 1e12) * pm::flop;
    d.dram = {r.log_uniform(1e6, 1e12) * pm::byte, r.log_uniform(1e6, 1e12) * pm::byte};
    d.l2 = d.dram;
    d.shared = d.dram;
    d.sent = r.log_uniform(1, 1e9) * pm::byte;
    const pm::duration<> t = r.log_uniform(1e-6, 10) * pm::second;
    const pm::energy_estimate e = pm::energy_of(c, d, t);
    CHECK(near(e.total, e.compute + e.dram + e.l2 + e.shared + e.link + e.idle));
    CHECK(near(e.mean_power * t, e.total));
    CHECK(near(pm::energy_of(c, 2.0 * d, t).total, 2.0 * e.total));
    c.idle = 100.0 * pm::watt;
    CHECK(near(pm::energy_of(c, d, t).total, e.total + 100.0 * pm::watt * t));
    CHECK(near(e.dram / t, pm::memory_power(pm::bandwidth<>(d.dram.total() / t), c.dram)));
  }
}

TEST_CASE("the capped clock draws the cap, and falls with it") {
  random_numbers r(2);
  for (int i = 0; i < 500; ++i) {
    const double idle = r.uniform(10, 150), dynamic = r.uniform(100, 900),
                 exponent = r.uniform(1, 3);
    const double cap = idle + r.uniform(0.05, 0.99) * dynamic;
    const auto at = [&](double watts) {
      return pm::clock_under_cap(watts * pm::watt, idle * pm::watt, dynamic * pm::watt, exponent)
          .clock_share;
    };
    CHECK(near(idle + dynamic * std::pow(at(cap), exponent), cap, 1e-11));
    CHECK(at(cap * 0.999) < at(cap));
    CHECK(at(idle + dynamic * 1.5) == 1.0);
  }
}

}  // namespace property_energy
