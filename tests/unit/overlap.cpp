// What overlap reports and refuses.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>
#include <support/refusal.hpp>

namespace unit_overlap {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;
using perfmodel_test::refusal;

TEST_CASE("a training step says what stays exposed") {
  const pm::estimate e = pm::training_step(80_ms, 160_ms, 60_ms, 10);
  CHECK(e.terms["forward"] == 80_ms);
  CHECK(e.terms["backward"] == 160_ms);
  CHECK(near(e.terms["exposed communication"], 6_ms));
  CHECK(near(e.time, 246_ms));
  CHECK(e.limiter == pm::limiter::compute);
  CHECK(pm::training_step(80_ms, 160_ms, 600_ms, 10).limiter == pm::limiter::link);
}

TEST_CASE("overlap refuses to give away every SM") {
  CHECK(refusal([] { (void)pm::sm_interference(1_ms, 132, 132); }) ==
        "PM-E010: taken is 132; allowed: fewer than sms");
  CHECK(refusal([] { (void)pm::overlap_with_sm_copy(1_ms, 1_ms, 132, 200); }) ==
        "PM-E010: taken is 200; allowed: fewer than sms");
  CHECK(refusal([] { (void)pm::overlap_with_sm_copy(1_ms, 1_ms, 132, 132); }) ==
        "PM-E010: taken is 132; allowed: fewer than sms");
  CHECK(refusal([] { (void)pm::bucketed_backward(1_ms, 1_ms, 0); }) ==
        "PM-E010: buckets is 0; allowed: 1 or more");
  CHECK(refusal([] { (void)pm::stages_needed(1_ms, 0_s); }) ==
        "PM-E010: compute is 0; allowed: more than 0");
  CHECK(std::string(pm::name_of(pm::copy_mechanism::copy_engine)) == "copy engine");
}

}  // namespace unit_overlap
