#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "kernels/algorithms/energy_windows.hpp"

namespace unit_kernel_energy_windows {

namespace pv = perfmodel::validation;

namespace {

/// `watts` for 1.5 s, read every 7 ms from a counter that moves every 90 ms.
std::vector<pv::energy_reading> read_counter(double watts) {
  std::vector<pv::energy_reading> out;
  for (int i = 0; i * 7 < 1500; ++i) {
    const double t = i * 0.007;
    out.push_back({t, 1000.0 + watts * 0.09 * std::floor(t / 0.09)});
  }
  return out;
}

}  // namespace

TEST_CASE("kernel energy windows: a stepped counter gives the power within a reading's distance") {
  const auto readings = read_counter(300.0);
  const auto windows = pv::energy_windows(readings, 3);
  REQUIRE(windows.size() == 3);
  double joules = 0, seconds = 0;
  for (const auto& w : windows) {
    CHECK(w.seconds == Catch::Approx(0.5).margin(0.1));
    // Each end is late by less than the 7 ms between readings.
    CHECK(w.joules / w.seconds == Catch::Approx(300.0).epsilon(0.007 / 0.4));
    joules += w.joules;
    seconds += w.seconds;
  }
  CHECK(joules / seconds == Catch::Approx(300.0).epsilon(0.007 / 1.3));
  // From any reading to any other, it may miss almost a step.
  const double careless =
      (readings[101].joules - readings[40].joules) / (readings[101].seconds - readings[40].seconds);
  CHECK_FALSE(careless == Catch::Approx(300.0).epsilon(0.007 / 0.4));
}

TEST_CASE("kernel energy windows: by hand, and too few steps") {
  // Steps are seen at 2, 3, 5 and 6 s.
  const std::vector<pv::energy_reading> readings{{0, 10}, {1, 10}, {2, 20}, {3, 30},
                                                 {4, 30}, {5, 50}, {6, 60}};
  const auto windows = pv::energy_windows(readings, 2);
  REQUIRE(windows.size() == 2);
  CHECK(windows[0].seconds == 3.0);
  CHECK(windows[0].joules == 30.0);
  CHECK(windows[1].seconds == 1.0);
  CHECK(windows[1].joules == 10.0);
  CHECK(pv::energy_windows(readings, 3).size() == 3);
  CHECK(pv::energy_windows(readings, 4).empty());
  CHECK(pv::energy_windows({}, 1).empty());
  CHECK(pv::energy_windows({{0, 5}, {1, 5}, {2, 5}}, 1).empty());
}

}  // namespace unit_kernel_energy_windows
