// What metrics promise.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/laws/metrics.hpp>
#include <support/near.hpp>
#include <support/random.hpp>

namespace property_metrics {

namespace pm = perfmodel;
using perfmodel_test::near;
using perfmodel_test::random_numbers;

TEST_CASE("changing one part never beats the floor of all others") {
  random_numbers r(1);
  for (int i = 0; i < 1000; ++i) {
    const double share = r.uniform(0, 0.999), factor = r.uniform(0, 1);
    const auto a = pm::amdahl(std::array<pm::amdahl_part, 1>{{{share, factor}}});
    CHECK(pm::second * a.time_ratio >= pm::amdahl_floor(pm::second, share) * (1 - 1e-12));
    CHECK(a.speedup <= pm::largest_speedup(share) * (1 + 1e-12));
    CHECK(near(a.time_ratio * a.speedup, 1.0));
    // two steps in turn are one step of both
    const double other = r.uniform(0, 1 - share), other_factor = r.uniform(0.1, 1);
    const pm::amdahl_part first{share, factor}, second_part{other, other_factor};
    const auto both = pm::amdahl(std::array<pm::amdahl_part, 2>{{first, second_part}});
    const double new_share = pm::new_share(pm::amdahl_part{other, 1.0}, a);
    const auto then =
        pm::amdahl(std::array<pm::amdahl_part, 1>{{{std::min(new_share, 1.0), other_factor}}});
    CHECK(near(both.time_ratio, a.time_ratio * then.time_ratio, 1e-10));
  }
}

TEST_CASE("taxes are shares, and time grows by their inverse") {
  random_numbers r(2);
  for (int i = 0; i < 500; ++i) {
    const double one = r.uniform(0.05, 1), many = r.uniform(0, 1) * one;
    const double tax = pm::scaling_tax(one, many);
    CHECK((tax >= 0.0 && tax <= 1.0));
    CHECK(near(one * (1 - tax), many, 1e-9));
    const double slow = r.uniform(0, 3);
    CHECK(near(pm::time_with_tax(pm::second, pm::straggler_tax(slow)).value(), 1 + slow));
  }
}

TEST_CASE("the efficiency of a static batch lies between 1 / batch and 1") {
  random_numbers r(3);
  for (int i = 0; i < 500; ++i) {
    std::array<double, 16> lengths{};
    for (double& l : lengths) l = std::ceil(r.log_uniform(1, 4096));
    const double e = pm::static_batch_efficiency(lengths);
    CHECK((e > 1.0 / 16 && e <= 1.0));
    CHECK(near(pm::continuous_batching_gain(lengths) * e, 1.0));
  }
  CHECK(pm::static_batch_efficiency(std::array<double, 3>{7, 7, 7}) == 1.0);
}

}  // namespace property_metrics
