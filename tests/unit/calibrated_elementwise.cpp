// Streaming kernels: the L2 that they get, and look-ups of few tokens, by hand.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <perfmodel/kernels/elementwise.hpp>

namespace unit_calibrated_elementwise {

namespace pm = perfmodel;
using Catch::Matchers::WithinRel;

namespace {

/// 1 TB/s of DRAM and 100 MB of L2.
constexpr pm::accelerator round_device() {
  pm::accelerator a;
  a.name = "round";
  a.dram.bandwidth = pm::bandwidth<>::from_value(1e12);
  a.l2.capacity = pm::bytes<>::from_value(1e8);
  return a;
}
constexpr pm::machine_parameters machine{.dram_share = 0.5, .l2_bandwidth = 2.0 * pm::TB_per_s};

}  // namespace

TEST_CASE("a kernel that only streams may get more of the L2 than others", "[calibrated]") {
  // 1e6 values of 2 bytes read and written, 1 % of the L2: all of it stayed.
  const pm::elementwise x{.elements = 1e6};
  const auto memory = [&](const pm::machine_parameters& m, pm::cache_state state) {
    return calibrated_estimate(round_device(), x, {m}, {.cache = state}).terms["memory"].value();
  };
  pm::machine_parameters apart = machine;
  apart.elementwise_l2_bandwidth = 4.0 * pm::TB_per_s;
  // 4 of 100 MB: all but 0.04^4 of them.
  CHECK_THAT(memory(machine, pm::cache_state::warm), WithinRel(4e6 / 2e12, 1e-5));
  CHECK_THAT(memory(apart, pm::cache_state::warm), WithinRel(4e6 / 4e12, 1e-4));
  const double gone = 1.0 - 1.0 / (1.0 + std::pow(0.04, 4.0));
  CHECK_THAT(memory(apart, pm::cache_state::warm),
             WithinRel(4e6 * (gone / 0.86e12 + (1.0 - gone) / 4e12), 1e-9));
  // Products reach a half of DRAM here, what only streams 0.86; no less than products do.
  CHECK_THAT(memory(apart, pm::cache_state::cold), WithinRel(4e6 / 0.86e12, 1e-9));
  apart.dram_share = 0.93;
  CHECK_THAT(memory(apart, pm::cache_state::cold), WithinRel(4e6 / 0.93e12, 1e-9));
  // What stayed in L2 is no traffic of the DRAM.
  const auto mbu = [&](pm::cache_state state) {
    const pm::estimate e = calibrated_estimate(round_device(), x, {apart}, {.cache = state});
    return e.mbu * e.time.value();
  };
  CHECK(mbu(pm::cache_state::warm) < 1e-10);
  CHECK(calibrated_estimate(round_device(), x, {machine}).terms.find("elements") == nullptr);
  CHECK_THAT(mbu(pm::cache_state::cold), WithinRel(4e6 / 1e12, 1e-9));
}

TEST_CASE("a row is one block's: few rows leave SMs idle", "[calibrated]") {
  pm::accelerator a = round_device();
  a.sms = pm::number<>::from_value(100.0);
  a.vector.clock = pm::frequency<>::from_value(1e9);
  const pm::memory_bound_kernels k{.element_cycles = 0.5};
  const auto us = [&](const auto& x) {
    return calibrated_estimate(a, x, {machine, k}).terms["elements"].value() * 1e6;
  };
  // 8,000 elements of a row at 0.5 cycles are 4 us on its SM, for one row and for 100; 300 are
  // three of them each.
  for (const double rows : {1.0, 20.0, 100.0}) {
    CHECK_THAT(us(pm::elementwise{.elements = 8000 * rows, .rows = rows}), WithinRel(4.0, 1e-9));
    CHECK_THAT(us(pm::norm{.rows = rows, .width = 8000}), WithinRel(4.0, 1e-9));
  }
  CHECK_THAT(us(pm::elementwise{.elements = 8000 * 300, .rows = 300.0}), WithinRel(12.0, 1e-9));
  CHECK_THAT(us(pm::norm{.rows = 300, .width = 8000}), WithinRel(12.0, 1e-9));
  // With an unknown number of rows all SMs have a share.
  CHECK_THAT(us(pm::elementwise{.elements = 8000}), WithinRel(0.04, 1e-9));
}

TEST_CASE("up to 16 look-ups come one after the other", "[calibrated]") {
  const pm::memory_bound_kernels serial{.serial_lookup_time = 0.5 * pm::us};
  const auto more = [&](double tokens) {
    const pm::embedding x{.tokens = tokens, .vocabulary = 1000, .hidden = 4096};
    const pm::estimate with = calibrated_estimate(round_device(), x, {machine, serial});
    return (with.time - calibrated_estimate(round_device(), x, {machine}).time).value() * 1e6;
  };
  CHECK_THAT(more(1), WithinRel(0.5, 1e-6));
  CHECK_THAT(more(16), WithinRel(8.0, 1e-6));
  CHECK(more(17) == 0.0);
  const pm::embedding many{.tokens = 17, .vocabulary = 1000, .hidden = 4096};
  CHECK(calibrated_estimate(round_device(), many, {machine, serial}).terms.find("look-ups") ==
        nullptr);
  // Time that look-ups take moves no bytes.
  const pm::embedding few{.tokens = 4, .vocabulary = 1000, .hidden = 4096};
  const pm::estimate e = calibrated_estimate(round_device(), few, {machine, serial});
  CHECK_THAT(e.mbu,
             WithinRel(pm::demand_of(few).dram.total().value() / 1e12 / e.time.value(), 1e-9));
}

TEST_CASE("each launch of an element-wise operator takes the time of a kernel", "[calibrated]") {
  const pm::elementwise x{.elements = 1e6};
  const auto time = [&](double launches) {
    auto d = demand_of(x);
    d.launches = launches;
    struct {
      pm::duration<> add(pm::limiter, const char*, const pm::duration<>& t) { return t; }
    } terms;
    const pm::detail::elementwise_view<double> view{.machine = machine,
                                                    .kernel_time = 3.0 * pm::us};
    return pm::detail::time_of_kernel(round_device(), x, d, view,
                                      pm::basic_call_conditions<double>{}, terms)
        .time.value();
  };
  CHECK_THAT(time(4.0) - time(1.0), WithinRel(9e-6, 1e-9));
}

}  // namespace unit_calibrated_elementwise
