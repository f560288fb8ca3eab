// The largest of n values, fan-out, priorities, and percentiles of an exponential wait.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/laws/order_statistics.hpp>
#include <perfmodel/laws/queueing.hpp>
#include <perfmodel/serving/latency_distribution.hpp>
#include <perfmodel/serving/serving_estimate.hpp>
#include <perfmodel/units/constants.hpp>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_order_statistics {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;
using perfmodel_test::refusal;

// 1 - 0.99^100; 99 % of 100 replicas; H_2.
static_assert(near(pm::fan_out_share(0.01, 100), 0.633967658726771, 1e-12));
static_assert(near(pm::fan_out_percentile(0.99, 100), 0.99989950, 1e-7));
static_assert(near(pm::expected_largest_exponential(2_s, 2), 3_s));
static_assert(near(pm::expected_largest_normal(2), 0.5641895835, 2e-3));

TEST_CASE("normal quantiles far out are those of erfc by bisection") {
  CHECK(near(pm::detail::normal_quantile(1e-12), -7.0344838, 2e-7));
  CHECK(near(pm::detail::normal_quantile(1e-20), -9.2623401, 2e-7));
  CHECK(near(pm::detail::normal_quantile(1e-100), -21.2734536, 2e-7));
  CHECK(near(pm::detail::normal_quantile(1e-300), -37.0470963, 2e-7));
}

TEST_CASE("the largest of n normal values is that of quadrature") {
  CHECK(std::fabs(pm::expected_largest_normal(1)) < 1e-7);
  // n times the integral of x phi(x) Phi(x)^(n - 1)
  for (const int n : {2, 3, 4, 5, 8, 16, 64, 300, 1000, 20000}) {
    double sum = 0.0;
    for (double x = -8.0; x < 9.0; x += 1e-3) {
      const double below = 0.5 * std::erfc(-x / std::sqrt(2.0));
      sum += 1e-3 * x * n * std::pow(below, n - 1) * std::exp(-0.5 * x * x) / std::sqrt(2 * M_PI);
    }
    CHECK(near(pm::expected_largest_normal(n), sum, 1.5e-3));
  }
}

TEST_CASE("the largest of n exponential times is a harmonic number of means") {
  double harmonic = 0.0;
  for (int n = 1; n <= 5000; ++n) {
    harmonic += 1.0 / n;
    if (n % 7 == 1) CHECK(near(pm::expected_largest_exponential(1_s, n).value(), harmonic, 2e-11));
  }
  CHECK(near(pm::expected_largest_exponential(1_s, 100).value(), 5.187377517639621, 1e-12));
}

TEST_CASE("fan-out: the share of slow requests and the percentile of each are inverse") {
  for (const double n : {1.0, 3.0, 40.0}) {
    const double each = pm::fan_out_percentile(0.95, n);
    CHECK(near(1.0 - pm::fan_out_share(1.0 - each, n), 0.95, 1e-9));
  }
  CHECK(pm::fan_out_share(1.0, 4) == 1.0);
  CHECK(refusal([] { (void)pm::fan_out_share(1.5, 4); }) ==
        "PM-E010: slow is 1.5; allowed: 0 to 1");
}

TEST_CASE("priorities: Cobham by hand") {
  // 0.3 and 0.5 requests a second of 1 s, exponential: sum of lambda E[S^2] / 2 = 0.8 s.
  const std::array<pm::priority_class, 2> two{pm::priority_class{0.3_req_per_s, 1_s},
                                              {0.5_req_per_s, 1_s}};
  const auto wait = [&](std::size_t k) {
    return pm::priority_queue(std::span<const pm::priority_class>(two), k).wait;
  };
  CHECK(near(wait(0), 0.8_s / 0.7));
  CHECK(near(wait(1), 0.8_s / (0.7 * 0.2)));
  // Weighted by arrivals they are the wait without priorities.
  CHECK(near((0.3 * wait(0) + 0.5 * wait(1)) / 0.8, pm::mm1(0.8_req_per_s, 1_s).wait));
  const std::array<pm::priority_class, 1> one{pm::priority_class{0.8_req_per_s, 1_s, 4.0}};
  const auto alone = pm::priority_queue(std::span<const pm::priority_class>(one), 0);
  CHECK(near(alone.wait, pm::mg1(0.8_req_per_s, 1_s, 4).wait));
  const std::array<pm::priority_class, 2> many{pm::priority_class{0.3_req_per_s, 1_s},
                                               {0.9_req_per_s, 1_s}};
  CHECK_FALSE(pm::priority_queue(std::span<const pm::priority_class>(many), 0).feasible);
  CHECK_THROWS_AS(pm::priority_queue(std::span<const pm::priority_class>(one), 1), pm::error);
}

TEST_CASE("a hedged request is slow where the second reply is slow too") {
  CHECK(near(pm::hedged_share(0.95, 0.01), 1.0 / 2000, 1e-12));
  CHECK(pm::hedged_share(1.0, 0.5) == 0.0);
  // Two independent exponential replies of 1 s, hedged after p95 (3 s): more than 5 s take those of
  // which the first takes 5 s, e^-5, and the second 2 s, e^-2.
  const double late = std::exp(-2.0);  // of the first replies after 3 s, those after 5 s
  CHECK(near(late * pm::hedged_share(1.0 - std::exp(-3.0), std::exp(-2.0)), std::exp(-7.0), 1e-12));
  CHECK_THROWS_AS(pm::hedged_share(1.5, 0.1), pm::error);
}

TEST_CASE("regular arrivals wait less than Kingman says") {
  // Erlang-4 arrivals and services at 0.5: Kingman 0.25, times exp(-0.75); simulated 0.129.
  const auto q = pm::gg1(0.5_req_per_s, 1_s, 0.25, 0.25);
  CHECK(near(q.wait.value(), 0.25 * std::exp(-0.75), 1e-12));
  CHECK(pm::gg1(0_req_per_s, 1_s, 0.0, 0.0).wait == 0_s);
}

TEST_CASE("percentiles of an exponential wait are exact at every share") {
  pm::latency_distribution l;
  l.add({1.0, 2_s, {}, 3_s});
  for (const double p : {0.01, 0.25, 0.75, 0.9, 0.95, 0.995, 0.999, 0.9999})
    CHECK(near(l.quantile(p).value(), 2.0 - 3.0 * std::log(1.0 - p), 1e-12));
  CHECK(near(l.share_within(2_s + 3_s * 6.908), 1.0 - std::exp(-6.908), 1e-12));
  CHECK(refusal([&] { (void)l.quantile(1.0); }) ==
        "PM-E010: share is 1; allowed: 0 to less than 1");
  // A mixture: half uniform over 0 .. 2 s, half 1 s and an exponential of 1 s. F(2) = 0.5 + 0.316.
  pm::latency_distribution m;
  m.add({0.5, 0_s, 2_s, {}});
  m.add({0.5, 1_s, {}, 1_s});
  CHECK(near(m.quantile(1.0 - 0.5 * std::exp(-1.0)).value(), 2.0, 1e-12));
  CHECK(near(m.quantile(0.95).value(), 1.0 - std::log(0.1), 1e-12));
  for (double p = 0.01; p < 1.0; p += 0.01) CHECK(near(m.share_within(m.quantile(p)), p, 1e-12));
}

TEST_CASE("an end-to-end percentile is between 0 and 1") {
  pm::serving_estimate s;
  s.e2e = 1_s;
  CHECK(refusal([&] { (void)s.e2e_quantile(1.0); }) ==
        "PM-E010: share is 1; allowed: between 0 and 1");
}

}  // namespace unit_order_statistics
