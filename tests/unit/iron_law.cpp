// What the iron law reports and refuses.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>
#include <support/refusal.hpp>

namespace unit_iron_law {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;
using perfmodel_test::refusal;

TEST_CASE("the iron law lists its three terms") {
  const pm::estimate e = pm::iron_law(2_GB, 1_TB_per_s, 3_TFLOP, 1_PFLOP_per_s, 1_ms);
  CHECK(near(e.terms["data"], 2_ms));
  CHECK(near(e.terms["compute"], 3_ms));
  CHECK(e.terms["overhead"] == 1_ms);
  CHECK(near(e.time, 6_ms));
  CHECK(e.limiter == pm::limiter::compute);
  CHECK(near(pm::share_of(e, "compute"), 0.5));
  CHECK(near(e.mfu, 0.5));
  CHECK(near(e.mbu, 1.0 / 3));
  CHECK(near(pm::iron_law(2_GB, 1_TB_per_s, 3_TFLOP, 1_PFLOP_per_s, 1_ms, pm::overlap::full()).time,
             4_ms));
}

TEST_CASE("no work takes no time and divides by nothing") {
  const pm::estimate e = pm::iron_law(0_B, 1_TB_per_s, 0_FLOP, 1_PFLOP_per_s, 0_s, {2.0});
  CHECK(e.time == 0_s);
  CHECK(e.mfu == 0.0);
  CHECK(e.mbu == 0.0);
  CHECK(e.limiter == pm::limiter::none);
  CHECK(pm::share_of(e, "data") == 0.0);
}

TEST_CASE("an operator's iron law with full overlap is its roofline") {
  pm::accelerator a;
  a.matrix.peak.bf16 = 1_PFLOP_per_s;
  a.vector.peak.fp32 = 50_TFLOP_per_s;
  a.dram.bandwidth = 4_TB_per_s;
  const pm::gemm g{.m = 512, .n = 4096, .k = 4096};
  CHECK(near(pm::iron_law(a, g, 0_s, pm::overlap::full()).time, pm::roofline(a, g).time));
  CHECK(near(pm::iron_law(a, g, 0_s, pm::overlap::full()).mfu, pm::roofline(a, g).mfu));
  const pm::derated policy{.compute_efficiency = 0.5, .memory_efficiency = 0.8, .launch = 3_us};
  CHECK(near(pm::iron_law(a, g, 0_s, pm::overlap::full(), policy).time,
             pm::roofline(a, g, policy).time));
}

TEST_CASE("of matrix and vector work an operator's compute is the longer, not both") {
  pm::accelerator a;
  a.matrix.peak.bf16 = 1_PFLOP_per_s;
  a.vector.peak.fp32 = 50_TFLOP_per_s;
  a.dram.bandwidth = 4_TB_per_s;
  pm::demand d;
  d.matrix_flop = 3_TFLOP;    // 3 ms
  d.vector_flop = 0.1_TFLOP;  // 2 ms
  d.dram.read = 16_GB;        // 4 ms
  const pm::estimate e = pm::iron_law(a, d, 1_ms);
  CHECK(near(e.terms["compute"], 3_ms));
  CHECK(near(e.time, 8_ms));
  CHECK(near(e.terms.sum(), e.time));
  d.vector_flop = 0.25_TFLOP;  // 5 ms
  CHECK(near(pm::iron_law(a, d, 1_ms).terms["compute"], 5_ms));
}

TEST_CASE("the iron law refuses negative amounts, rates of 0 and p below 1") {
  CHECK(refusal([] { (void)pm::iron_law(-1_B, 1_TB_per_s, 0_FLOP, 1_PFLOP_per_s, 0_s); }) ==
        "PM-E010: moved is -1; allowed: 0 or more");
  CHECK(refusal([] { (void)pm::iron_law(1_B, 0_TB_per_s, 0_FLOP, 1_PFLOP_per_s, 0_s); }) ==
        "PM-E010: bandwidth is 0; allowed: more than 0");
  CHECK(refusal([] { (void)pm::partly_overlapped(1_s, 1_s, pm::overlap{0.5}); }) ==
        "PM-E010: p is 0.5; allowed: 1 or more");
}

TEST_CASE("a copy asks no unit for its rate") {
  pm::accelerator a;
  a.name = "memory alone";
  a.dram.bandwidth = 4_TB_per_s;
  pm::demand copy;
  copy.dram = {8_GB, 4_GB};
  const pm::estimate e = pm::iron_law(a, copy, 1_ms);
  CHECK(near(e.time, 4_ms));
  CHECK(e.mfu == 0.0);
  CHECK(near(e.mbu, 0.75));
  const pm::estimate nothing = pm::iron_law(a, pm::demand{}, 0_s);
  CHECK(nothing.mfu == 0.0);
  CHECK(nothing.mbu == 0.0);
}

}  // namespace unit_iron_law
