// What the roofline reports and refuses.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <perfmodel/explain/sensitivity.hpp>
#include <perfmodel/explain/traced.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/refusal.hpp>

namespace unit_roofline {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using Catch::Matchers::ContainsSubstring;
using perfmodel_test::refusal;

namespace {

pm::accelerator machine() {
  pm::accelerator a;
  a.name = "test machine";
  a.matrix.peak.bf16 = 1000_TFLOP_per_s;
  a.vector.peak.fp32 = 50_TFLOP_per_s;
  a.dram.bandwidth = 4_TB_per_s;
  a.l2.bandwidth = 8_TB_per_s;
  return a;
}

}  // namespace

TEST_CASE("the roofline names every term and the largest of them") {
  pm::demand d;
  d.matrix_flop = 1_TFLOP;    // 1 ms
  d.vector_flop = 100_GFLOP;  // 2 ms
  d.dram = {8_GB, 4_GB};      // 3 ms
  d.l2 = {32_GB, 0_B};        // 4 ms
  const pm::estimate e = pm::roofline(machine(), d);
  CHECK(e.terms["compute"] == 1_ms);
  CHECK(e.terms["vector"] == 2_ms);
  CHECK(e.terms["memory"] == 3_ms);
  CHECK(e.terms["l2"] == 4_ms);
  CHECK(e.limiter == pm::limiter::l2);
  CHECK(e.time == 4_ms);
  CHECK(e.mfu == 0.25);
  CHECK(e.mbu == 0.75);
  CHECK(e.terms.find("no such term") == nullptr);
  CHECK(e.terms.time_of("no such term") == 0_s);
}

TEST_CASE("a level without a stated bandwidth sets no bound") {
  pm::accelerator a = machine();
  a.l2.bandwidth = {};
  pm::demand d;
  d.dram = {8_GB, 4_GB};
  d.l2 = {32_GB, 0_B};
  CHECK(pm::roofline(a, d).time == 3_ms);
  CHECK(pm::roofline(a, d).limiter == pm::limiter::memory);
  a.l2.bandwidth = 0_TB_per_s;  // stated, and wrong
  CHECK_THAT(refusal([&] { (void)pm::roofline(a, d); }),
             ContainsSubstring("l2.bandwidth is 0; allowed: more than 0"));
}

TEST_CASE("the derated policy divides by its efficiencies and adds its launches") {
  pm::demand d;
  d.matrix_flop = 1_TFLOP;
  d.dram = {8_GB, 4_GB};
  d.launches = 10;
  const pm::derated policy{.compute_efficiency = 0.1, .memory_efficiency = 0.75, .launch = 5_us};
  const pm::estimate e = pm::roofline(machine(), d, policy);
  CHECK(e.terms["compute"] / 10_ms > 1 - 1e-12);
  CHECK(e.terms["memory"] == 4_ms);
  CHECK(e.limiter == pm::limiter::compute);
  CHECK(e.time / 10.05_ms < 1 + 1e-12);
  CHECK(e.time / 10.05_ms > 1 - 1e-12);
}

TEST_CASE("the roofline refuses infeasible input") {
  CHECK_THAT(refusal([] { (void)pm::roofline(machine(), pm::gemm{.m = 0, .n = 8, .k = 8}); }),
             ContainsSubstring("PM-E010: gemm.m is 0; allowed: 1 or more"));
  CHECK_THAT(refusal([] {
               (void)pm::roofline(machine(), pm::gemm{.m = 1, .n = 8, .k = 8, .format = pm::fp8});
             }),
             ContainsSubstring("PM-E013: test machine does not compute in fp8"));
  CHECK_THAT(refusal([] { (void)pm::roofline(pm::accelerator{}, pm::demand{}); }),
             ContainsSubstring("dram.bandwidth is 0; allowed: more than 0"));
  CHECK_THAT(refusal([] { (void)pm::ridge_point(0_TFLOP_per_s, 1_TB_per_s); }),
             ContainsSubstring("peak_rate is 0"));
  CHECK_THAT(
      refusal([] { (void)pm::attainable(1_TFLOP_per_s, 1_TB_per_s, -1.0 * pm::flop_per_byte); }),
      ContainsSubstring("operations_per_byte is -1; allowed: 0 or more"));
  const pm::derated policy{.memory_efficiency = 1.5};
  CHECK_THAT(refusal([&] { (void)pm::roofline(machine(), pm::demand{}, policy); }),
             ContainsSubstring("memory_efficiency is 1.5; allowed: 0 to 1"));
}

TEST_CASE("bytes sent bound the roofline like those of any memory") {
  pm::demand d;
  d.dram = {1_MB, 1_MB};
  d.sent = 1_GB;
  pm::accelerator a = machine();
  CHECK_THAT(refusal([&] { (void)pm::roofline(a, d); }),
             ContainsSubstring("fabric.bandwidth is 0; allowed: more than 0"));
  a.fabric.bandwidth = 450_GB_per_s;
  const pm::estimate e = pm::roofline(a, d);
  CHECK(e.time == 1_GB / 450_GB_per_s);  // 2.22 ms
  CHECK(e.limiter == pm::limiter::link);
  CHECK(e.terms["memory"] == 0.5_us);
}

namespace {

constexpr pm::gemm product{.m = 64, .n = 8192, .k = 8192};

template <class T>
bool same_as_double() {
  const pm::estimate plain = pm::roofline(pm::catalog::h100_sxm, product);
  const auto machine_first = pm::roofline(pm::lift<T>(pm::catalog::h100_sxm), product);
  const auto operator_first = pm::roofline(pm::catalog::h100_sxm, pm::lift<T>(product));
  const auto both = pm::roofline(pm::lift<T>(pm::catalog::h100_sxm), pm::lift<T>(product));
  const double t = plain.time.value();
  using pm::mid;
  return mid(machine_first.time.value()) == t && mid(operator_first.time.value()) == t &&
         mid(both.time.value()) == t;
}

}  // namespace

TEST_CASE("a double operator on a machine over another scalar, and the reverse") {
  CHECK(same_as_double<double>());
  CHECK(same_as_double<pm::interval>());
  CHECK(same_as_double<pm::dual<3>>());
  CHECK(same_as_double<pm::traced>());
}

TEST_CASE("elasticities of a roofline by the lambda that one writes first") {
  const auto e = pm::elasticities(pm::catalog::h100_sxm,
                                  [](auto& a) { return pm::roofline(a, product).time; });
  for (const auto& resource : e) {
    const bool limits = std::string(resource.resource) == "dram.bandwidth";
    CHECK(resource.value == (limits ? -1.0 : 0.0));
  }
}

TEST_CASE("a derated policy over double serves a machine over any scalar") {
  const pm::derated policy{.memory_efficiency = 0.5};
  const auto plain = pm::roofline(pm::catalog::h100_sxm, product, policy);
  const auto ranged = pm::roofline(pm::lift<pm::interval>(pm::catalog::h100_sxm), product, policy);
  CHECK(lower(ranged.time.value()) <= plain.time.value());
  CHECK(upper(ranged.time.value()) >= plain.time.value());
}

namespace {
struct half_the_bandwidth : pm::datasheet {
  using hooks = pm::policy_hooks<half_the_bandwidth>;

  template <class T>
  pm::bandwidth<T> dram_bandwidth(const pm::basic_accelerator<T>& a,
                                  const pm::basic_demand<T>&) const {
    return 0.5 * a.dram.bandwidth;
  }
};
struct no_launch_time {
  pm::flop_rate<> matrix_rate(const pm::accelerator&, const pm::demand&) const;
  pm::flop_rate<> vector_rate(const pm::accelerator&, const pm::demand&) const;
  pm::bandwidth<> dram_bandwidth(const pm::accelerator&, const pm::demand&) const;
};
static_assert(pm::ExecutionPolicy<pm::datasheet> && pm::ExecutionPolicy<pm::derated>);
static_assert(pm::ExecutionPolicy<half_the_bandwidth, pm::interval>);
static_assert(!pm::ExecutionPolicy<no_launch_time> && !pm::ExecutionPolicy<int>);
}  // namespace

TEST_CASE("a policy of one's own is any struct with the four functions") {
  CHECK(pm::roofline(machine(), product, half_the_bandwidth{}).terms["memory"] ==
        2.0 * pm::roofline(machine(), product).terms["memory"]);
}

TEST_CASE("what takes no time is no term, and the ridge itself is bound by compute") {
  pm::demand d;
  d.dram = {8_GB, 0_B};
  const pm::estimate e = pm::roofline(machine(), d);
  CHECK(e.terms.size() == 1);
  CHECK(e.terms["memory"] == 2_ms);
  CHECK(pm::roofline(machine(), pm::demand{}).terms.size() == 1);  // memory is always one
  // 1000 TFLOP/s over 4 TB/s.
  CHECK(pm::regime_of(machine(), pm::bf16, 250_FLOP_per_B) == pm::regime::compute_bound);
  CHECK(pm::regime_of(machine(), pm::bf16, 249_FLOP_per_B) == pm::regime::memory_bound);
}

TEST_CASE("what is not asked for needs no unit, and at the ridge products bind") {
  pm::accelerator a;
  a.name = "memory alone";
  a.dram.bandwidth = 4_TB_per_s;
  pm::demand copy;
  copy.dram = {8_GB, 4_GB};
  const pm::estimate e = pm::roofline(a, copy);
  CHECK(e.time == 3_ms);
  CHECK(e.terms.size() == 1);
  CHECK(e.mfu == 0.0);
  CHECK(e.mbu == 1.0);
  const pm::estimate nothing = pm::roofline(a, pm::demand{});
  CHECK(nothing.mfu == 0.0);
  CHECK(nothing.mbu == 0.0);
  // 1 PFLOP/s over 4 TB/s is 250 FLOP/byte.
  CHECK(pm::regime_of(machine(), pm::bf16, 250_FLOP_per_B) == pm::regime::compute_bound);
  CHECK(pm::regime_of(machine(), pm::bf16, 249_FLOP_per_B) == pm::regime::memory_bound);
  // A sequence with a cache that takes exactly the time of its FLOP never gets there.
  const auto level = pm::ridge_batch(2_FLOP_per_B, 4.0, 2_B, 4_B);
  CHECK_FALSE(level.feasible.feasible);
  CHECK(level.batch == 0.0);
  CHECK(level.feasible.needed == level.feasible.available);
}

}  // namespace unit_roofline
