// The model of a CPU, its fit, and what is read about a CPU. All expected values by hand.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <numeric>

#include "host/fit_host.cpp"
#include "host/machine.hpp"
#include "host/measure.hpp"

namespace unit_validation_host {

namespace pv = perfmodel::validation;
using Catch::Approx;
using perfmodel::bytes;
using perfmodel::GB_per_s;
using perfmodel::ns;

namespace {

pv::host_machine a_machine() {
  pv::host_machine h;
  h.capacity = {32768 * perfmodel::byte, 1048576 * perfmodel::byte, 33554432 * perfmodel::byte};
  h.multiply_adds = 1e11 * perfmodel::flop_per_s;
  h.bandwidth = {200 * GB_per_s, 100 * GB_per_s, 50 * GB_per_s, 10 * GB_per_s};
  h.l1_stores = 100 * GB_per_s;
  h.capacity_share = {1.0, 0.5};
  h.call = 20 * ns;
  h.cold_start = 400 * ns;
  h.compute_share = 0.5;
  h.vector_share = 0.8;
  h.packing = {40 * GB_per_s, 20 * GB_per_s, 8 * GB_per_s};
  return h;
}

pv::device_description a_device() {
  pv::device_description d;
  d.kind = "cpu";
  d.name = "a CPU";
  d.caches = {{1, 32768, 1}, {2, 1048576, 1}, {3, 33554432, 2}};
  return d;
}

pv::point stream(const char* kernel, double read, double written, bool cold, double seconds) {
  return {"stream_time",
          "s",
          {{"kernel", kernel},
           {"working_set_bytes", read + written},
           {"bytes_read", read},
           {"bytes_written", written},
           {"cache", cold ? "cold" : "warm"}},
          {seconds}};
}

/// What the machine of the model would have recorded.
std::vector<pv::point> synthetic(const pv::host_machine& h) {
  std::vector<pv::point> out;
  struct {
    const char* name;
    double read, written;
  } const kernels[] = {
      {"read", 1, 0}, {"write", 0, 1}, {"copy", 0.5, 0.5}, {"triad", 2.0 / 3.0, 1.0 / 3.0}};
  for (const auto& k : kernels) {
    for (double set = 16384; set <= 134217728.0; set *= 2) {
      for (const bool cold : {false, true}) {
        const auto t =
            pv::stream_time(h, bytes<>::from_value(k.read * set),
                            bytes<>::from_value(k.written * set), bytes<>::from_value(set), cold);
        out.push_back(stream(k.name, k.read * set, k.written * set, cold, t.value()));
      }
    }
  }
  for (const double n : {256.0, 512.0, 1024.0, 2048.0, 8192.0}) {
    for (const double m : {1.0, 2.0, 16.0, 256.0}) {
      out.push_back({"gemm_time",
                     "s",
                     {{"m", m},
                      {"n", n},
                      {"k", n},
                      {"cache", "warm"},
                      {"flop", 2 * m * n * n},
                      {"bytes_read", 4 * n * n},
                      {"bytes_written", 4 * m * n}},
                     {pv::product_time(h, m, n, n).value()}});
    }
  }
  out.push_back({"arithmetic_time", "s", {{"format", "fp32"}, {"flop", 1e8}}, {1e-3}});
  return out;
}

}  // namespace

TEST_CASE("the shares of a working set add up, and lie where it fits") {
  const pv::host_machine h = a_machine();
  for (double set = 1000; set < 1e9; set *= 1.7) {
    const auto share = pv::detail::shares_of(h, bytes<>::from_value(set));
    CHECK(std::accumulate(share.begin(), share.end(), 0.0) == Approx(1.0));
    for (const double s : share) CHECK(s >= 0.0);
  }
  CHECK(pv::detail::shares_of(h, bytes<>::from_value(16384.0))[0] == 1.0);
  CHECK(pv::detail::shares_of(h, bytes<>::from_value(65536.0))[0] == 0.0);
  CHECK(pv::detail::shares_of(h, bytes<>::from_value(1e10))[3] > 0.999);
}

TEST_CASE("times of streams and products by hand") {
  const pv::host_machine h = a_machine();
  // 16,000 bytes in L1: 8,000 loaded at 200 GB/s (40 ns) and 8,000 stored at 100 GB/s (80 ns).
  const auto half = bytes<>::from_value(8000.0);
  CHECK(pv::stream_time(h, half, half, half + half, false).value() == Approx(100e-9));
  // Cold: 20 + 400 + 1,600 ns.
  CHECK(pv::stream_time(h, half, half, half + half, true).value() == Approx(2020e-9));
  // 64 x 64 weights are 16 KiB in L1, one row: 16,384 / (0.8 x 200 GB/s) = 102.4 ns, and the call.
  CHECK(pv::product_time(h, 1, 64, 64).value() == Approx(122.4e-9));
  // 9 rows count as 12: 20 ns + 16,384 / 40 GB/s + 2 x 12 x 4,096 / 50 GFLOP/s.
  CHECK(pv::product_time(h, 9, 64, 64).value() == Approx(20e-9 + 409.6e-9 + 1966.08e-9));
  CHECK(pv::product_time(h, 5, 64, 64).value() == pv::product_time(h, 8, 64, 64).value());
}

TEST_CASE("a synthetic CPU is found again, and held-out points are predicted") {
  const pv::host_machine truth = a_machine();
  const auto points = synthetic(truth);
  const pv::host_fit fit = pv::fit_host(a_device(), points);
  for (std::size_t l = 0; l < pv::host_levels; ++l) {
    CHECK(fit.machine.bandwidth[l].value() == Approx(truth.bandwidth[l].value()).epsilon(0.02));
  }
  CHECK(fit.machine.capacity_share[1] == Approx(0.5).epsilon(0.02));
  CHECK(fit.machine.compute_share == Approx(0.5).epsilon(0.02));
  CHECK(fit.machine.packing[1].value() == Approx(20e9).epsilon(0.05));
  std::size_t held_out = 0;
  for (const pv::point& p : points) {
    if (p.quantity == "arithmetic_time") continue;
    CHECK(pv::predicted_seconds(fit, p) == Approx(p.samples[0]).epsilon(0.03));
    CHECK(pv::least_seconds(fit, p) <= p.samples[0]);
    held_out += pv::fitted_to(p) ? 0 : 1;
  }
  CHECK(held_out > 20);
}

TEST_CASE("several chases, arithmetic on a stream and two tasks at once") {
  auto points = synthetic(a_machine());
  const auto chase = [](double chains, double seconds) {
    return pv::point{"bytes_in_flight_time",
                     "s",
                     {{"chains", chains},
                      {"threads", 1},
                      {"cache", "cold"},
                      {"bytes_read", 6400 * chains},
                      {"bytes_written", 0}},
                     {seconds}};
  };
  const auto task = [](const char* arrangement, double seconds) {
    return pv::point{"overlap_time", "s", {{"arrangement", arrangement}}, {seconds}};
  };
  points.push_back(chase(1, 1e-5));  // 100 lines, 100 ns each
  points.push_back(task("compute_alone", 2e-3));
  points.push_back(task("other_alone", 3e-3));
  const pv::host_fit fit = pv::fit_host(a_device(), points);
  // 4 lines of 64 bytes in 100 ns are 2.56 GB/s, less than the 10 of DRAM: as long as one chase.
  CHECK(pv::predicted_seconds(fit, chase(4, 1)) == Approx(1e-5));
  // 40 would be 25.6 GB/s: DRAM sets the time.
  CHECK(pv::predicted_seconds(fit, chase(40, 1)) == Approx(256000 / 10e9).epsilon(0.02));
  CHECK(pv::predicted_seconds(fit, task("together", 1)) == Approx(3e-3));
  // 1e8 FLOP at 100 GFLOP/s are 1 ms, 2 MB at 10 GB/s 0.2 ms.
  const pv::point mixed{
      "intensity_time",
      "s",
      {{"flop", 1e8}, {"bytes_read", 1e6}, {"bytes_written", 1e6}, {"cache", "cold"}},
      {1}};
  CHECK(pv::predicted_seconds(fit, mixed) == Approx(1e-3).epsilon(0.01));
  const pv::point latency{"load_latency", "s", {{"working_set_bytes", 4096}}, {1}};
  CHECK(pv::predicted_seconds(fit, latency) == 0.0);
  CHECK(pv::least_seconds(fit, latency) == 0.0);
}

TEST_CASE("recordings without products or streams are refused") {
  CHECK_THROWS_AS(pv::fit_host(a_device(), {}), perfmodel::error);
  auto points = synthetic(a_machine());
  std::erase_if(points, [](const pv::point& p) { return p.quantity == "gemm_time"; });
  CHECK_THROWS_AS(pv::fit_host(a_device(), points), perfmodel::error);
}

TEST_CASE("what the operating system says of a CPU") {
  CHECK(pv::detail::size_of("48K") == 49152.0);
  CHECK(pv::detail::size_of("32M") == 33554432.0);
  CHECK(pv::detail::size_of("") == 0.0);
  CHECK(pv::detail::count_of("0-3,8") == 5);
  CHECK(pv::detail::count_of("7") == 1);
  CHECK(pv::detail::count_of("") == 0);
  CHECK(pv::detail::first_line("/no/such/file").empty());
  const pv::device_description d = pv::describe_host();
  CHECK(d.kind == "cpu");
  CHECK(!d.name.empty());
  CHECK(d.threads >= 1);
  CHECK(d.memory_bytes > 0.0);
  CHECK(pv::last_cache_bytes({}) == 33554432.0);
}

}  // namespace unit_validation_host
