// What fusion reports and refuses.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/laws/fusion.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>
#include <support/refusal.hpp>

namespace unit_fusion {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;
using perfmodel_test::refusal;

TEST_CASE("fusing takes the format of the operator that multiplies") {
  pm::demand a, b;
  a.format = pm::fp8;
  a.matrix_flop = 1_GFLOP;
  b.format = pm::bf16;
  CHECK(pm::fuse(a, b, 0_B).format == pm::fp8);
  CHECK(pm::fuse(b, a, 0_B).format == pm::fp8);
  b.matrix_flop = 2_GFLOP;
  CHECK(pm::fuse(a, b, 0_B).format == pm::bf16);
  CHECK(pm::fuse(a, b, 0_B).matrix_flop == 3_GFLOP);
}

TEST_CASE("fusing keeps what travels on links and never launches less than once") {
  pm::demand a, b;
  a.sent = 1_MB;
  b.sent = 2_MB;
  a.launches = 0.5;
  b.launches = 0.5;
  CHECK(pm::fuse(a, b, 0_B).sent == 3_MB);
  CHECK(pm::fuse(a, b, 0_B).launches == 1.0);
  a.launches = 3;
  b.launches = 2;
  CHECK(pm::fuse(a, b, 0_B).launches == 4.0);
}

TEST_CASE("only what one writes and the other reads can stay on chip") {
  pm::demand a, b;
  a.dram.written = 1_MB;
  b.dram.read = 3_MB;
  CHECK(refusal([&] { (void)pm::fuse(a, b, 2_MB); }) ==
        "PM-E031: intermediate is more than the producer writes or the consumer reads");
  CHECK(pm::fuse(a, b, 1_MB).dram.total() == 2_MB);
  CHECK(refusal([] { (void)pm::attention_fusion_ratio(0.0, 128.0); }) ==
        "PM-E010: sequence is 0; allowed: 1 or more");
}

}  // namespace unit_fusion
