// Verdicts on published numbers, and the slips behind wrong ones.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <perfmodel/audit.hpp>
#include <perfmodel/units/constants.hpp>
#include <string>

using namespace perfmodel;
using Catch::Matchers::WithinRel;

namespace {

claimed_value printed(const std::string& text, double factor = 1.0, int digits = 0) {
  const double x = std::stod(text) * factor, half = half_digit(text, digits) * factor;
  return {x, x, half, half};
}
constexpr auto of_peaks = exponents_of<flop_rate<>>();
constexpr auto bytes_only = exponents_of<bytes<>>();
constexpr auto no_question = [](std::span<const slip_question>) { return std::optional<double>(); };

std::string slip_name(const claimed_value& c, double answer, const unit_exponents& unit) {
  const auto s = slip_behind(c, answer, unit, std::span<const slip_input>(), no_question);
  return s ? s->kind->name : "";
}

}  // namespace

TEST_CASE("a number is as good as its last digit", "[audit]") {
  CHECK_THAT(half_digit("5.2"), WithinRel(0.05, 1e-12));
  CHECK_THAT(half_digit("41.79"), WithinRel(0.005, 1e-12));
  CHECK_THAT(half_digit("295"), WithinRel(0.5, 1e-12));
  CHECK_THAT(half_digit("1.374e+11"), WithinRel(0.5e8, 1e-12));
  CHECK_THAT(half_digit("60", 1), WithinRel(5.0, 1e-12));
  CHECK_THAT(half_digit("0.12", 1), WithinRel(0.05, 1e-12));
}

TEST_CASE("verdicts by what a law answers", "[audit]") {
  // 140 GB at 3.35 TB/s take 41.79 ms.
  CHECK(verdict_of(printed("42"), 41.79) == verdict::reproduced);
  CHECK(verdict_of(printed("9"), 8.583) == verdict::rounding);
  CHECK(verdict_of(printed("8"), 8.583) == verdict::wrong);
  CHECK(verdict_of(printed("494"), 989.4) == verdict::wrong);
  // Slower than the bound is possible, quicker is not; a rate the other way round.
  CHECK(verdict_of(printed("20"), 5.22, answer_is::at_least) == verdict::possible);
  CHECK(verdict_of(printed("4.6"), 5.22, answer_is::at_least) == verdict::impossible);
  CHECK(verdict_of(printed("30"), 5.85, answer_is::at_most) == verdict::impossible);
  CHECK(verdict_of(printed("4.0"), 5.85, answer_is::at_most) == verdict::possible);
  CHECK(verdict_of(printed("42"), 41.79, answer_is::exact, false) == verdict::impossible);
  // A range agrees where the answer lies in it.
  CHECK(verdict_of({9.0, 10.0, 0.5, 0.5}, 9.7) == verdict::reproduced);
  CHECK(verdict_of({200.0, 600.0, 0.5, 0.5}, 9.2) == verdict::wrong);
  CHECK_THROWS_AS(verdict_of(printed("1"), std::nan("")), error);
}

TEST_CASE("slips of convention and of decimals", "[audit]") {
  CHECK(slip_name(printed("494"), 989.4, of_peaks) == "sparse for dense");
  CHECK(slip_name(printed("1979"), 989.4, of_peaks) == "sparse for dense");
  CHECK(slip_name(printed("900"), 450.0, exponents_of<bandwidth<>>()) == "two-way for one-way");
  CHECK(slip_name(printed("26843545600"), 2684354560.0, bytes_only) == "a factor of 10");
  CHECK(slip_name(printed("3.3"), 0.0033, {}) == "a factor of 1000");
  CHECK(slip_name(printed("1120"), 140.0, bytes_only) == "bits for bytes");
  CHECK(slip_name(printed("17.5"), 140.0, bytes_only) == "bits for bytes");
  CHECK(slip_name(printed("2.147"), 1.0737, bytes_only) == "both phases for one");
  CHECK(slip_name(printed("85.90"), 80.0, bytes_only) == "GB for GiB");
  CHECK(slip_name(printed("7.25"), 1.0, bytes_only).empty());
}

TEST_CASE("slips of an input are found by asking again", "[audit]") {
  // (n - 1) x prefix: 126,000 tokens for 64 sequences of 2000.
  const std::vector<slip_input> inputs = {{"sequences", 64.0, {}, {}, false},
                                          {"prefix", 2000.0, {}, {}, false}};
  const auto ask = [](std::span<const slip_question> all) -> std::optional<double> {
    const slip_question& q = all.front();
    const double n = q.input == "sequences" ? q.number.value_or(64.0) : 64.0;
    const double prefix = q.input == "prefix" ? q.number.value_or(2000.0) : 2000.0;
    return (n - 1.0) * prefix;
  };
  const auto found = slip_behind(printed("128000"), 126000.0, {}, inputs, ask);
  REQUIRE(found);
  CHECK(std::string(found->kind->name) == "K for K - 1");
  CHECK(found->input == "sequences");
  CHECK(found->value == 128000.0);

  // A word: the peak of another format.
  const std::vector<slip_input> words = {{"format", {}, "fp16", {"fp16", "tf32", "fp8"}, false}};
  const auto peaks = [](std::span<const slip_question> all) -> std::optional<double> {
    const slip_question& q = all.front();
    if (q.word == "tf32") return 156.0;
    if (q.word == "fp8") return std::nullopt;
    return 312.0;
  };
  const auto wrong =
      slip_behind(printed("19.5"), 312.0, {}, words, [](std::span<const slip_question> all) {
        const slip_question& q = all.front();
        return q.word == "tf32" ? std::optional<double>(19.5) : std::nullopt;
      });
  REQUIRE(wrong);
  CHECK(std::string(wrong->kind->name) == "the wrong format's peak");
  CHECK(wrong->instead == "tf32");
  CHECK_FALSE(slip_behind(printed("77"), 312.0, {}, words, peaks));
}

TEST_CASE("two conventions mistaken together", "[audit]") {
  // 160 x 1 GiB, 2 (N - 1) / N of it over one direction; said was 2 over both.
  const std::vector<slip_input> inputs = {{"ranks", 8.0, {}, {}, false},
                                          {"link_bytes_per_s", 400e9, {}, {}, false}};
  const auto ask = [](std::span<const slip_question> all) -> std::optional<double> {
    double n = 8.0, link = 400e9;
    for (const slip_question& q : all) (q.input == "ranks" ? n : link) = q.number.value_or(1.0);
    return n > 1.0 ? std::optional(2.0 * (n - 1.0) / n * 171.8e9 / link) : std::nullopt;
  };
  const auto found = slip_behind(printed("0.4295"), 0.7516, {}, inputs, ask);
  REQUIRE(found);
  REQUIRE(found->second != nullptr);
  CHECK(std::string(found->kind->name) == "two-way for one-way");
  CHECK(std::string(found->second->name) == "the limit of many ranks");
}

TEST_CASE("no slip explains a range that holds anything, and few one digit", "[audit]") {
  const claimed_value wide{0.0, 1.0, 0.05, 0.05};
  CHECK_FALSE(slip_behind(wide, 6.4, {}, std::span<const slip_input>(), no_question));
  CHECK(explained_by(printed("3.3"), 3.3554));        // cut, not rounded
  CHECK_FALSE(explained_by(printed("4"), 4.47));      // 12 % off
  CHECK_FALSE(explained_by(printed("0.5"), 0.5405));  // 8 % off
}

TEST_CASE("every slip is well formed", "[audit]") {
  for (const slip& s : slips) {
    INFO(s.name);
    CHECK(s.name[0] != '\0');
    if (s.change == slip_change::times) CHECK(s.amount > 1.0);
    if (s.change == slip_change::as_input) CHECK(s.other[0] != '\0');
    if (s.place == slip_place::word) CHECK(s.change == slip_change::another);
  }
}

TEST_CASE("what a claim would take: 280 tokens/s of 4 streams at 85 ms", "[audit]") {
  // Little's law: rate = streams / time. 280 x 0.085 = 23.8 streams, or 4 / 280 = 14.29 ms.
  const std::vector<slip_input> inputs{{"streams", 4.0, "", {}, false, false},
                                       {"seconds", 0.085, "", {}, false, false},
                                       {"none", 0.0, "", {}, false, false}};
  const auto ask = [](std::span<const slip_question> q) -> std::optional<double> {
    const double x = q[0].number.value();
    return q[0].input == "streams" ? x / 0.085 : q[0].input == "seconds" ? 4.0 / x : 1.0;
  };
  const auto found = needed_inputs(280.0, inputs, ask);
  REQUIRE(found.size() == 2);
  CHECK(found[0].name == "streams");
  CHECK_THAT(found[0].needed, WithinRel(23.8, 1e-9));
  CHECK(found[1].name == "seconds");
  CHECK_THAT(found[1].needed, WithinRel(0.0142857142857, 1e-9));
  // No count of a step that jumps, nothing beyond a factor of a thousand, no law that refuses.
  const std::vector<slip_input> counts{{"n", 4.0, "", {}, false, true}};
  const auto steps = [](std::span<const slip_question> q) -> std::optional<double> {
    return *q[0].number;
  };
  CHECK(needed_inputs(2.4, counts, steps).empty());
  REQUIRE(needed_inputs(300.2, counts, steps).size() == 1);
  CHECK(needed_inputs(300.2, counts, steps)[0].needed == 300.0);
  CHECK(needed_inputs(1e7, counts, steps).empty());
  const auto refuses = [](std::span<const slip_question>) { return std::optional<double>(); };
  CHECK(needed_inputs(5.0, counts, refuses).empty());
}
