// Error codes, their text, and the checks that every law makes of its inputs.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <numeric>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/core/label.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <perfmodel/units/constants.hpp>
#include <string>
#include <support/refusal.hpp>
#include <utility>

namespace unit_errors {

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
  CHECK(refusal([] { detail::positive("x", -12'345'678.0); }) ==
        "PM-E010: x is -12345678; allowed: more than 0");
  CHECK(refusal([] { detail::positive("x", 1e-31); }) ==
        "PM-E010: x is 1e-31; allowed: at least 1e-30");
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
  CHECK(detail::positive("x", 1e-30) == 1e-30);
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
}

TEST_CASE("number formats know their size, and the wider of two multiplies") {
  CHECK(pm::bytes_of(pm::bf16) == 2_B);
  CHECK(pm::bytes_of(pm::fp8) == 1_B);
  CHECK(pm::bytes_of(pm::int4) == 0.5_B);
  CHECK(pm::bytes_of(pm::tf32) == 4_B);
  CHECK(pm::wider(pm::bf16, pm::int4) == pm::bf16);
  CHECK(pm::wider(pm::fp8, pm::fp32) == pm::fp32);
  CHECK(pm::wider(pm::fp16, pm::bf16) == pm::fp16);  // of equal ones the first
  CHECK(pm::wider(pm::bf16, pm::fp16) == pm::bf16);
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

TEST_CASE("a part divides a whole where no remainder is left", "[errors]") {
  const auto check = [](const auto& part, const auto& whole) {
    return refusal(
        [&] { detail::divides(pm::error_code::impossible_layout, "heads", part, "width", whole); });
  };
  CHECK(check(8.0, 64.0) == "nothing refused");
  CHECK(check(64.0, 64.0) == "nothing refused");
  CHECK(check(64.0, 8.0) == "PM-E030: heads is 64 and width is 8; heads must divide width");
  CHECK(check(7.0, 64.0) == "PM-E030: heads is 7 and width is 64; heads must divide width");
  CHECK(check(pm::interval(7, 8), pm::interval(64)) == "nothing refused");  // not judged
  CHECK(check(pm::interval(7), pm::interval(64, 70)) == "nothing refused");
  CHECK(check(pm::interval(7), pm::interval(64)) != "nothing refused");
}

TEST_CASE("a table has an entry for each value and none beyond", "[errors]") {
  enum class letter { a, b, c };
  constexpr int values[] = {10, 20, 30};
  constexpr std::array<int, 3> same{10, 20, 30};
  CHECK(detail::entry_of(values, letter::c, "letter") == 30);
  CHECK(detail::entry_of(same, letter::c, "letter") == 30);
  const std::string beyond = "PM-E010: letter is 3; allowed: one of its named values";
  CHECK(refusal([&] { (void)detail::entry_of(values, letter{3}, "letter"); }) == beyond);
  CHECK(refusal([&] { (void)detail::entry_of(same, letter{3}, "letter"); }) == beyond);
}

TEST_CASE("a short list takes as many as it holds", "[errors]") {
  using list = pm::short_list<int, 2>;
  list two{1, 2};
  CHECK(two.full());
  CHECK(std::accumulate(two.begin(), two.end(), 0) == 3);
  CHECK(std::as_const(two).end() - std::as_const(two).begin() == 2);
  CHECK(refusal([] { list{1, 2, 3}; }) == "PM-E010: items is 3; allowed: as many as fit");
}

TEST_CASE("the first of two equal terms is the limit, and nothing limits what takes no time") {
  pm::basic_terms<double> terms;
  CHECK(terms.limiting() == pm::limiter::none);
  terms.add(pm::limiter::launch, "launch", 0_ms);
  CHECK(terms.limiting() == pm::limiter::none);
  terms.add(pm::limiter::memory, "memory", 2_ms);
  terms.add(pm::limiter::link, "communication", 2_ms);
  terms.add(pm::limiter::compute, "compute", 3_ms);
  CHECK(terms.limiting(3) == pm::limiter::memory);
  CHECK(terms.limiting() == pm::limiter::compute);
}

}  // namespace unit_errors
