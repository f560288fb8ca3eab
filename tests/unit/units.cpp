// Arithmetic of quantities at run time, and fields of specs.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <perfmodel/units/constants.hpp>
#include <string>
#include <support/near.hpp>
#include <type_traits>
#include <vector>

namespace unit_units {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;

TEST_CASE("integers with quantities do not divide as integers") {
  CHECK(near(7 * pm::GB / 2, 3.5_GB));
  CHECK(near(1 * pm::GB / (4 * pm::GB), 0.25));
  CHECK(near(3 / (2_s), 1.5 * pm::Hz));
}

TEST_CASE("plain numbers go with quantities of any scalar") {
  using dual = pm::dual<1>;
  const pm::duration<dual> t = pm::duration<dual>::from_value(dual::variable(2.0, 0));
  CHECK((3 * t).value().value() == 6.0);
  CHECK((t * 3.0).value().partial(0) == 3.0);
  CHECK((t / 4).value().value() == 0.5);
  CHECK((1.0 / t).value().partial(0) == -0.25);
  CHECK(pm::lift<pm::interval>(2_s).value() == pm::interval(2, 2));
  CHECK((pm::interval(1, 2) * pm::GB).value() == pm::interval(1e9, 2e9));
}

TEST_CASE("what has no unit left is a plain number") {
  const pm::accelerator a{.sms = pm::number<>(132.0), .dram = {.capacity = 80_GB}};
  static_assert(std::same_as<decltype(a.dram.capacity / pm::GB), double>);
  static_assert(std::same_as<decltype(a.sms / 2), double>);
  static_assert(std::same_as<decltype(2.0 * a.sms), double>);
  static_assert(std::same_as<decltype(1_GHz * 1_ns), double>);
  static_assert(std::same_as<decltype(pm::lift<pm::interval>(1_GB) / 1_kB), pm::interval>);
  static_assert(std::same_as<decltype(1_tok / 2_s / 3_Hz), pm::tokens<>>);
  char text[40];
  std::snprintf(text, sizeof text, "%.1f GB, %.0f SMs", a.dram.capacity / pm::GB, a.sms / 1);
  CHECK(std::string(text) == "80.0 GB, 132 SMs");
  const bool known = a.dram.capacity / pm::GB > 0.0;
  CHECK((known ? a.dram.capacity / pm::GB : 0.0) == 80.0);
  CHECK(std::max(a.dram.capacity / pm::GB, 100.0) == 100.0);
}

TEST_CASE("minimum and maximum are by value and per scalar") {
  CHECK(min(3_GB, 2_GB) == 2_GB);
  CHECK(max(3_GB, 2_GB) == 3_GB);
  const auto a = pm::bytes<pm::interval>::from_value({1, 4});
  const auto b = pm::bytes<pm::interval>::from_value({2, 3});
  CHECK(max(a, b).value() == pm::interval(2, 4));
  CHECK(min(a, b).value() == pm::interval(1, 3));
}

TEST_CASE("specs change their scalar field by field and keep their sources") {
  static constexpr pm::source sheet{pm::basis::vendor, "a data sheet"};
  pm::accelerator a;
  a.name = "chip";
  a.dram.bandwidth = {3_TB_per_s, sheet};
  a.fabric.ranks = 8;
  const auto seeded =
      pm::map_scalars<pm::dual<1>>(a, [](const pm::field_path& path, double v, const pm::source*) {
        return path.is("dram.bandwidth") ? pm::dual<1>::variable(v, 0) : pm::dual<1>(v);
      });
  CHECK(seeded.dram.bandwidth.value().partial(0) == 1.0);
  CHECK(seeded.l2.bandwidth.value().partial(0) == 0.0);
  CHECK(seeded.dram.bandwidth.from().how == pm::basis::vendor);
  CHECK(seeded.name == pm::label("chip"));
  CHECK(seeded.fabric.ranks == 8);
  std::vector<std::string> names;
  (void)pm::map_scalars<double>(a, [&](const pm::field_path& path, double v, const pm::source*) {
    names.push_back(path.text());
    return v;
  });
  CHECK(names == std::vector<std::string>{"dram.bandwidth"});  // what nobody states has no value
}

TEST_CASE("a fact without a unit takes a plain number") {
  pm::accelerator a{.sms = 64.0, .instruction_rows = 16};
  CHECK(a.sms == 64.0);
  CHECK(a.instruction_rows == 16.0);
  CHECK(a.sms.from().how == pm::basis::given);
  a.sms = 132;
  CHECK(a.sms == 132.0);
  static_assert(!std::is_convertible_v<double, pm::fact<pm::bandwidth<>>>);
}

TEST_CASE("assigning to a fact makes it the caller's") {
  static constexpr pm::source sheet{pm::basis::vendor, "a data sheet"};
  pm::fact<pm::bandwidth<>> f(3_TB_per_s, sheet);
  CHECK(f.from().how == pm::basis::vendor);
  f = 4_TB_per_s;
  CHECK(f.from().how == pm::basis::given);
  CHECK(f == 4_TB_per_s);
  CHECK_FALSE(pm::fact<pm::bandwidth<>>().is_stated());
  CHECK(pm::fact<pm::bandwidth<>>(0_TB_per_s, sheet).is_stated());
  CHECK(pm::fact<pm::bandwidth<>>(0_TB_per_s).is_stated());  // 0 is a number, and refused below
  f = {};
  CHECK_FALSE(f.is_stated());
  CHECK_FALSE(pm::lift<pm::interval>(f).is_stated());
}

}  // namespace unit_units
