// What metrics refuse: nothing runs above its peak.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/units/constants.hpp>
#include <span>
#include <string>
#include <support/near.hpp>
#include <support/refusal.hpp>

namespace unit_metrics {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;
using perfmodel_test::refusal;

TEST_CASE("utilisation above 1 is an error") {
  CHECK(refusal([] { (void)pm::mfu(2_TFLOP, 1_s, 1_TFLOP_per_s); }) ==
        "PM-E010: mfu is 2; allowed: 0 to 1: nothing runs above its peak");
  CHECK(refusal([] { (void)pm::mbu(4_TB, 1_s, 3.2_TB_per_s); }) ==
        "PM-E010: mbu is 1.25; allowed: 0 to 1: nothing runs above its peak");
  CHECK(refusal([] { (void)pm::mfu_from_mbu(0.8, 500_FLOP_per_B, 250_FLOP_per_B); }) ==
        "PM-E010: mfu is 1.6; allowed: 0 to 1: nothing runs above its peak");
  CHECK(refusal([] { (void)pm::hfu(0.9, 1.0); }) ==
        "PM-E010: hfu is 1.2; allowed: 0 to 1: nothing runs above its peak");
}

TEST_CASE("a limit itself is allowed") {
  CHECK(pm::mfu(2_TFLOP, 1_s, 2_TFLOP_per_s) == 1.0);
  CHECK(pm::mbu(4_TB, 1_s, 4_TB_per_s) == 1.0);
  CHECK(pm::amdahl(std::array<pm::amdahl_part, 2>{{{0.5, 1}, {0.5, 0}}}).speedup == 2.0);
  CHECK(pm::share_from_speedup(2.0, 2.0) == 1.0);
  CHECK(pm::removed_share(1.0) == 0.0);
  CHECK(pm::time_with_tax(3_s, 0.0) == 3_s);
  CHECK(pm::time_without_tax(3_s, 0.0) == 3_s);
}

TEST_CASE("a tax of all, a part that grows no faster and parts that are none are refused") {
  const std::string whole = "PM-E010: tax is 1; allowed: 0 to less than 1";
  CHECK(refusal([] { (void)pm::time_with_tax(3_s, 1.0); }) == whole);
  CHECK(refusal([] { (void)pm::time_without_tax(3_s, 1.0); }) == whole);
  CHECK(refusal([] { (void)pm::share_from_speedup(1.0, 1.0); }) ==
        "PM-E010: factor is 1; allowed: above 1");
  CHECK(refusal([] { (void)pm::share_from_speedup(3.0, 2.0); }) != "nothing refused");
  CHECK(refusal([] { (void)pm::static_batch_tail(std::span<const double>()); }) ==
        "PM-E010: longest is 0; allowed: more than 0");
}

TEST_CASE("Amdahl's law refuses shares above a whole and a whole that vanishes") {
  CHECK(refusal([] {
          (void)pm::amdahl(std::array<pm::amdahl_part, 2>{{{0.6, 1}, {0.6, 1}}});
        }) == "PM-E031: the shares of the parts add up to more than 1");
  CHECK(refusal([] {
          (void)pm::amdahl(std::array<pm::amdahl_part, 1>{{{1.0, 0.0}}});
        }) == "PM-E010: time_ratio is 0; allowed: more than 0");
  CHECK(refusal([] { (void)pm::largest_speedup(1.0); }) ==
        "PM-E010: share is 1; allowed: 0 to less than 1");
}

TEST_CASE("batching efficiency refuses no sequence and empty ones") {
  CHECK(refusal([] { (void)pm::static_batch_efficiency(std::span<const double>()); }) ==
        "PM-E010: lengths is 0; allowed: 1 or more");
  CHECK(refusal([] {
          (void)pm::static_batch_efficiency(std::array<double, 2>{1.0, 0.0});
        }) == "PM-E010: length is 0; allowed: more than 0");
}

TEST_CASE("a copy achieves bytes and no FLOP, on what has no units for these") {
  pm::accelerator a;
  a.name = "memory alone";
  a.dram.bandwidth = 4_TB_per_s;
  pm::demand copy;
  copy.dram = {8_GB, 4_GB};
  const auto r = pm::achieved(a, copy, 6_ms);
  CHECK(r.mfu == 0.0);
  CHECK(near(r.mbu, 0.5));
}

}  // namespace unit_metrics
