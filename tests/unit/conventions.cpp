// Dense and sparse, one way and two way, message and wire.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/units/constants.hpp>
#include <perfmodel/units/convention.hpp>

namespace unit_conventions {

namespace pm = perfmodel;
using namespace perfmodel::literals;

TEST_CASE("converting there and back changes nothing") {
  CHECK(pm::dense(pm::sparse(989.4_TFLOP_per_s)) == 989.4_TFLOP_per_s);
  CHECK(pm::one_way(pm::two_way(450_GB_per_s)) == 450_GB_per_s);
  CHECK(pm::sparse(1_TFLOP_per_s).quantity() == 2_TFLOP_per_s);
  CHECK(pm::two_way(1_GB_per_s).quantity() == 2_GB_per_s);
}

TEST_CASE("arithmetic stays within one convention") {
  const pm::wire_bytes<> a(3_GB), b(1_GB);
  CHECK((a + b).quantity() == 4_GB);
  CHECK((a - b).quantity() == 2_GB);
  CHECK(a / b == 3.0);
  CHECK((2.0 * a).quantity() == 6_GB);
  CHECK((a * 2).quantity() == 6_GB);
  CHECK(b < a);
  CHECK(a > b);
  CHECK(a == pm::wire_bytes<>(3_GB));
  CHECK(pm::wire_bytes<>().quantity() == 0_B);
}

TEST_CASE("conversions carry derivatives") {
  using dual = pm::dual<1>;
  const pm::two_way_bandwidth<dual> both(pm::bandwidth<dual>::from_value(dual::variable(900e9, 0)));
  CHECK(pm::one_way(both).value().partial(0) == 0.5);
}

}  // namespace unit_conventions
