// Error codes, their text, and the checks that every law makes of its inputs.
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/core/label.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <perfmodel/scalar/lanes.hpp>
#include <perfmodel/units/literals.hpp>
#include <support/refusal.hpp>

namespace pm = perfmodel;
namespace detail = perfmodel::detail;
using namespace perfmodel::literals;
using perfmodel_test::refusal;

namespace {
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();
}  // namespace

TEST_CASE("codes print as PM-E and three digits") {
  CHECK(pm::code_text(pm::error_code{1}) == "PM-E001");
  CHECK(pm::code_text(pm::error_code::out_of_range) == "PM-E010");
  CHECK(pm::code_text(pm::error_code::unidentifiable) == "PM-E050");
  const pm::error e(pm::error_code::inconsistent, "a message");
  CHECK(e.code() == pm::error_code::inconsistent);
  CHECK(std::string(e.what()) == "a message");
}

TEST_CASE("messages name field, value and what is allowed") {
  CHECK(refusal([] { detail::positive("x", -2.5); }) == "PM-E010: x is -2.5; allowed: more than 0");
  CHECK(refusal([] { detail::positive("x", 0.0); }) == "PM-E010: x is 0; allowed: more than 0");
  CHECK(refusal([] { detail::not_negative("x", -1e20); }) ==
        "PM-E010: x is -1e+20; allowed: 0 or more");
  CHECK(refusal([] { detail::count("x", 0.5); }) == "PM-E010: x is 0.5; allowed: 1 or more");
  CHECK(refusal([] { detail::count("x", 1e16); }) == "PM-E010: x is 1e+16; allowed: at most 1e15");
  CHECK(refusal([] { detail::fraction("x", 1.01); }) == "PM-E010: x is 1.01; allowed: 0 to 1");
  CHECK(refusal([] { detail::within("x", 7.0, 1, 3, "1 to 3"); }) ==
        "PM-E010: x is 7; allowed: 1 to 3");
  CHECK(refusal([] { detail::positive("x", 0_GB); }) == "PM-E010: x is 0; allowed: more than 0");
  CHECK(refusal([] { detail::unsupported("chip", "fp4"); }) ==
        "PM-E013: chip does not compute in fp4");
  CHECK(refusal([] { detail::fail(pm::error_code::impossible_layout, "why"); }) == "PM-E030: why");
}

TEST_CASE("no check lets NaN or infinity through") {
  for (const double x : {not_a_number, inf, -inf}) {
    CHECK(refusal([&] { detail::positive("x", x); }) != "nothing refused");
    CHECK(refusal([&] { detail::not_negative("x", x); }) != "nothing refused");
    CHECK(refusal([&] { detail::count("x", x); }) != "nothing refused");
    CHECK(refusal([&] { detail::fraction("x", x); }) != "nothing refused");
    CHECK(refusal([&] { detail::within("x", x, -1e300, 1e300, "finite"); }) != "nothing refused");
  }
  CHECK(refusal([] { detail::positive("x", not_a_number); }) ==
        "PM-E010: x is not a number; allowed: more than 0");
}

TEST_CASE("what is allowed comes back unchanged") {
  CHECK(detail::positive("x", 1e30) == 1e30);
  CHECK(detail::not_negative("x", 0.0) == 0.0);
  CHECK(detail::count("x", 1.0) == 1.0);
  CHECK(detail::fraction("x", 1.0) == 1.0);
  CHECK(detail::positive("x", 3_GB) == 3_GB);
}

TEST_CASE("a scalar of several values is checked at its worst one") {
  CHECK(refusal([] { detail::positive("x", pm::interval(-1, 2)); }) ==
        "PM-E010: x is -1; allowed: more than 0");
  CHECK(refusal([] { detail::fraction("x", pm::interval(0.5, 1.5)); }) ==
        "PM-E010: x is 1.5; allowed: 0 to 1");
  const double values[] = {1, 2, 3, 0};
  CHECK(refusal([&] { detail::positive("x", pm::lanes<4>::load(values)); }) ==
        "PM-E010: x is 0; allowed: more than 0");
}

TEST_CASE("number formats know their size, and the wider of two multiplies") {
  CHECK(pm::bytes_of(pm::bf16) == 2_B);
  CHECK(pm::bytes_of(pm::fp8) == 1_B);
  CHECK(pm::bytes_of(pm::int4) == 0.5_B);
  CHECK(pm::bytes_of(pm::tf32) == 4_B);
  CHECK(pm::wider(pm::bf16, pm::int4) == pm::bf16);
  CHECK(pm::wider(pm::fp8, pm::fp32) == pm::fp32);
  for (const pm::number_format f : pm::all_formats) {
    CHECK(std::string(pm::name_of(f)).size() >= 3);
    CHECK(pm::bits_of(f) >= 4);
  }
  // 4 bits and one 16-bit scale per 64; with a 4-bit and with a 16-bit zero point.
  CHECK(pm::storage_format(pm::int4, 64, 16).bits() == 4.25);
  CHECK(pm::storage_format(pm::int4, 64, 16, 4).bits() == 4.3125);
  CHECK(pm::storage_format(pm::int4, 64, 16, 16).bits() == 4.5);
  CHECK(pm::bytes_of(pm::storage_format(pm::int4, 64, 16)) == 0.53125_B);
  CHECK(pm::storage_format(pm::bf16).bits() == 16);
}

TEST_CASE("a term that is not there is an error that names those that are", "[errors]") {
  pm::basic_terms<double> terms;
  terms.add(pm::limiter::memory, "memory", 2_ms);
  terms.add(pm::limiter::link, "communication", 1_ms);
  CHECK(terms["communication"] == 1_ms);
  CHECK(refusal([&] { (void)terms["comunication"]; }) ==
        "PM-E014: no term is called \"comunication\"; there are: memory, communication");
  CHECK(terms.find("comunication") == nullptr);
  CHECK(terms.find("memory")->kind == pm::limiter::memory);
  CHECK(terms.time_of("comunication") == 0_ms);
}

TEST_CASE("the 13th term is refused, and does not write past the others", "[errors]") {
  pm::basic_terms<double> terms;
  for (int i = 0; i < 12; ++i) terms.add(pm::limiter::memory, "one", 1_ms);
  CHECK(refusal([&] { terms.add(pm::limiter::memory, "one", 1_ms); }) ==
        "PM-E031: more than 12 terms");
  CHECK(terms.size() == 12);
  CHECK(terms.sum() > 11.9_ms);
}

TEST_CASE("a name too long for a label is refused and not cut", "[errors]") {
  const std::string longest(47, 'a');
  CHECK(pm::label(std::string_view(longest)).view() == longest);
  CHECK(refusal([&] { pm::label(std::string_view(longest + "b")); }) ==
        "PM-E010: a name has more than 47 characters");
  CHECK(pm::label::shortened(longest + "b") == pm::label(std::string_view(longest)));
}
