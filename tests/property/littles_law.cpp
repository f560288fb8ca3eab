// What Little's law promises.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <perfmodel/laws/littles_law.hpp>
#include <support/near.hpp>
#include <support/random.hpp>

namespace property_littles_law {

namespace pm = perfmodel;
using perfmodel_test::near;
using perfmodel_test::random_numbers;

TEST_CASE("bytes in flight and bandwidth are inverse") {
  random_numbers r(1);
  for (int i = 0; i < 500; ++i) {
    const pm::duration<> latency = r.log_uniform(1e-8, 1e-3) * pm::second;
    const pm::bandwidth<> rate = r.log_uniform(1e9, 1e14) * pm::byte_per_s;
    CHECK(near(pm::bandwidth_from_concurrency(pm::bytes_in_flight(latency, rate), latency), rate));
    const pm::bytes<> some = r.log_uniform(1, 1e9) * pm::byte;
    CHECK(pm::attainable_bandwidth(rate, some, latency) <= rate);
  }
}

TEST_CASE("the slowest of several loads is the largest of as many normal deviates") {
  random_numbers r(3);
  for (const int loads : {1, 2, 3, 4, 6, 8}) {
    double sum = 0.0;
    constexpr int rounds = 100000;
    for (int i = 0; i < rounds; ++i) {
      double largest = -1e9;
      for (int j = 0; j < loads; ++j) {
        // Box and Muller.
        const double radius = std::sqrt(-2.0 * std::log(1.0 - r.uniform(0.0, 1.0)));
        largest = std::max(largest, radius * std::cos(6.283185307179586 * r.uniform(0.0, 1.0)));
      }
      sum += largest;
    }
    const pm::duration<> said =
        pm::slowest_load(pm::duration<>::from_value(1.0), pm::duration<>::from_value(1.0), loads);
    CHECK_THAT(said.value() - 1.0, Catch::Matchers::WithinAbs(sum / rounds, 0.055));
  }
}

TEST_CASE("more loads are never waited for less, and none less than its latency") {
  random_numbers r(4);
  for (int i = 0; i < 500; ++i) {
    const pm::duration<> latency = r.log_uniform(1e-8, 1e-5) * pm::second;
    const pm::duration<> spread = r.uniform(0.0, 1.0) * latency;
    const double loads = r.uniform(1.0, 32.0);
    const pm::duration<> few = pm::slowest_load(latency, spread, loads);
    CHECK(few >= latency);
    CHECK(pm::slowest_load(latency, spread, 2.0 * loads) >= few);
  }
}

TEST_CASE("the warps needed are enough, and one fewer is not") {
  random_numbers r(2);
  for (int i = 0; i < 500; ++i) {
    const pm::duration<> latency = r.log_uniform(1e-7, 1e-5) * pm::second;
    const pm::bandwidth<> rate = r.log_uniform(1e11, 1e13) * pm::byte_per_s;
    pm::memory_parallelism k{
        .sms = 132, .loads = r.uniform(1, 8), .bytes_per_load = 128.0 * pm::byte};
    k.warps = pm::warps_needed(latency, rate, k);
    CHECK(k.warps == std::floor(k.warps));
    CHECK(pm::bytes_in_flight(k) >= pm::bytes_in_flight(latency, rate) * (1 - 1e-12));
    k.warps -= 1;
    CHECK(pm::bytes_in_flight(k) < pm::bytes_in_flight(latency, rate));
  }
}

TEST_CASE("streams and throughput are inverse, and so is N = lambda T in a simulated queue") {
  random_numbers r(3);
  for (int i = 0; i < 200; ++i) {
    const double n = r.uniform(1, 500);
    const pm::duration<> itl = r.uniform(1e-3, 0.2) * pm::second;
    CHECK(near(pm::concurrent_sequences(pm::throughput_of(n, itl), itl), n));
  }
  // One server: time-average of the number present against arrivals x mean time.
  double clock = 0, free_at = 0, area = 0;
  constexpr int customers = 20000;
  for (int i = 0; i < customers; ++i) {
    clock += r.exponential(1.0);
    free_at = std::max(free_at, clock) + r.uniform(0, 1.4);
    area += free_at - clock;  // each adds its stay to the area under N(t)
  }
  const pm::request_rate<> arrivals = customers / clock * pm::request_per_s;
  const pm::duration<> mean_time = area / customers * pm::second;
  CHECK(near(pm::requests_in_system(arrivals, mean_time).value(), area / clock));
}

TEST_CASE("occupancy stays between 0 and 1 and never rises with what a block asks for") {
  random_numbers r(4);
  for (int i = 0; i < 500; ++i) {
    const pm::sm_limits sm;
    pm::thread_block block{.warps = std::ceil(r.uniform(0, 32)),
                           .registers_per_thread = std::ceil(r.uniform(16, 255)),
                           .shared = r.uniform(0, 230000) * pm::byte};
    const double before = pm::occupancy(sm, block);
    CHECK((before >= 0.0 && before <= 1.0));
    pm::thread_block heavier = block;
    heavier.registers_per_thread += 20;
    CHECK(pm::occupancy(sm, heavier) <= before);
    heavier = block;
    heavier.shared += 20000.0 * pm::byte;
    CHECK(pm::occupancy(sm, heavier) <= before);
  }
}

}  // namespace property_littles_law
