// What metrics refuse: nothing runs above its peak.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/metrics.hpp>
#include <perfmodel/units/literals.hpp>
#include <support/near.hpp>
#include <support/refusal.hpp>

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
