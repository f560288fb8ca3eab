// Verdicts on published numbers, and the likely errors behind wrong ones.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <optional>
#include <perfmodel/tools/audit/audit.hpp>
#include <perfmodel/units/constants.hpp>
#include <span>
#include <string>
#include <vector>

namespace unit_audit {

using namespace perfmodel;
using Catch::Matchers::WithinRel;

namespace {

claimed_value printed(const std::string& text, double factor = 1.0, int digits = 0) {
  const double x = std::stod(text) * factor, half = half_digit(text, digits) * factor;
  return {x, x, half, half, claim_relation::equal, digits > 0};
}
constexpr auto of_peaks = exponents_of<flop_rate<>>();
constexpr auto bytes_only = exponents_of<bytes<>>();
constexpr auto no_question = [](std::span<const misprint_question>) {
  return std::optional<double>();
};

std::string slip_name(const claimed_value& c, double answer, const unit_exponents& unit) {
  const auto s = misprint_behind(c, answer, unit, std::span<const misprint_input>(), no_question);
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
  CHECK_THAT(half_digit("0.0", 1), WithinRel(0.05, 1e-12));  // no digit to count from
}

TEST_CASE("the ends of a claim and of its rounding belong to it", "[audit]") {
  const claimed_value range{100.0, 200.0, 0.5, 0.5};
  CHECK(agrees(range, 99.0, 0.01));
  CHECK(agrees(range, 202.0, 0.01));
  CHECK_FALSE(agrees(range, 98.9, 0.01));
  CHECK_FALSE(agrees(range, 202.1, 0.01));
  const claimed_value below{-200.0, -100.0, 0.5, 0.5};
  CHECK(agrees(below, -202.0, 0.01));
  CHECK(agrees(below, -99.0, 0.01));
  CHECK_FALSE(agrees(below, -98.9, 0.01));
  CHECK(rounds_to(range, 99.5));
  CHECK(rounds_to(range, 200.5));
  CHECK_FALSE(rounds_to(range, 99.4));
  CHECK_FALSE(rounds_to(range, 200.6));
  // Cut instead of rounded is up to a whole digit above, a rounded number half a one below.
  const claimed_value ten{10.0, 10.0, 0.125, 0.125};
  CHECK(explained_by(ten, 9.875));
  CHECK_FALSE(explained_by(ten, 9.87));
  CHECK(explained_by(ten, 10.25));
  CHECK_FALSE(explained_by(ten, 10.26));
  const misprint any{};
  CHECK(relative_miss(range, 100.0, any) == 0.0);
  CHECK(relative_miss(range, 200.0, any) == 0.0);
  CHECK_THAT(*relative_miss(range, 99.5, any), WithinRel(0.005, 1e-12));
  CHECK_THAT(*relative_miss(range, 201.0, any), WithinRel(0.005, 1e-12));
  CHECK_FALSE(relative_miss(range, 250.0, any));
  CHECK(is_informative(range));
  CHECK(is_informative(ten));
  CHECK_FALSE(is_informative({100.0, 201.0, 0.5, 0.5}));
  CHECK(verdict_of(range, 99.0) == verdict::reproduced);
}

TEST_CASE("a number near a power of ten is within a quarter of it", "[audit]") {
  using detail::power_of_ten_near;
  CHECK(power_of_ten_near(1.24) == std::vector<double>{1.0});
  CHECK(power_of_ten_near(0.81) == std::vector<double>{1.0});
  CHECK(power_of_ten_near(1.25).empty());
  CHECK(power_of_ten_near(0.8).empty());
  CHECK(power_of_ten_near(0.0).empty());
  CHECK(power_of_ten_near(-10.0).empty());
}

TEST_CASE("of two that come equally near the first is told", "[audit]") {
  const std::vector<misprint_input> machines = {
      {.name = "accelerator", .word = "h200", .words = {"h200", "h20", "other"}}};
  const auto same = [](std::span<const misprint_question>) { return std::optional(4.0); };
  const auto chip = misprint_behind(printed("4"), 4.8, {}, machines, same);
  REQUIRE(chip);
  CHECK(chip->instead == "h20");
}

TEST_CASE("verdicts by the result of a law", "[audit]") {
  // 140 GB at 3.35 TB/s take 41.79 ms.
  CHECK(verdict_of(printed("42"), 41.79) == verdict::reproduced);
  // Two digits at least are taken of a number, unless it says that one is meant.
  CHECK(verdict_of(printed("9", 1.0, 1), 8.583) == verdict::rounding);
  CHECK(verdict_of(printed("9"), 8.583) == verdict::wrong);
  CHECK(verdict_of(printed("8.5"), 8.41) == verdict::wrong);
  CHECK(verdict_of(printed("8.5"), 8.46) == verdict::reproduced);
  CHECK(verdict_of(printed("1.3"), 1.254) == verdict::rounding);
  CHECK(verdict_of(printed("8", 1.0, 1), 8.583) == verdict::wrong);
  CHECK(verdict_of(printed("494"), 989.4) == verdict::wrong);
  // Slower than the bound is possible, quicker is not; a rate the other way round.
  CHECK(verdict_of(printed("20"), 5.22, result_kind::at_least) == verdict::possible);
  CHECK(verdict_of(printed("4.6"), 5.22, result_kind::at_least) == verdict::impossible);
  CHECK(verdict_of(printed("30"), 5.85, result_kind::at_most) == verdict::impossible);
  CHECK(verdict_of(printed("4.0"), 5.85, result_kind::at_most) == verdict::possible);
  CHECK(verdict_of(printed("42"), 41.79, result_kind::exact, false) == verdict::impossible);
  // A range agrees where the answer lies in it.
  CHECK(verdict_of({9.0, 10.0, 0.5, 0.5}, 9.7) == verdict::reproduced);
  CHECK(verdict_of({200.0, 600.0, 0.5, 0.5}, 9.2) == verdict::wrong);
  CHECK_THROWS_AS(verdict_of(printed("1"), std::nan("")), error);
}

TEST_CASE("verdicts on at least and at most", "[audit]") {
  // 2,100 launches of 7.5 us are 15.75 ms: "can exceed 15 ms" is right, and "16 ms" is not said.
  const auto claim = [](const char* text, claim_relation r) {
    claimed_value c = printed(text);
    c.relation = r;
    return c;
  };
  const claimed_value more = claim("15", claim_relation::at_least);
  const claimed_value less = claim("15", claim_relation::at_most);
  CHECK(verdict_of(more, 15.75) == verdict::reproduced);
  CHECK(verdict_of(more, 14.0) == verdict::wrong);
  CHECK(verdict_of(less, 15.75) == verdict::wrong);
  CHECK(verdict_of(less, 14.0) == verdict::reproduced);
  // A bound proves the claim on its side, and leaves the other one open or contradicts it.
  CHECK(verdict_of(more, 20.0, result_kind::at_least) == verdict::reproduced);
  CHECK(verdict_of(more, 10.0, result_kind::at_least) == verdict::possible);
  CHECK(verdict_of(less, 20.0, result_kind::at_least) == verdict::impossible);
  CHECK(verdict_of(less, 10.0, result_kind::at_least) == verdict::possible);
  CHECK(verdict_of(more, 20.0, result_kind::at_most) == verdict::possible);
  CHECK(verdict_of(more, 10.0, result_kind::at_most) == verdict::impossible);
  CHECK(verdict_of(less, 10.0, result_kind::at_most) == verdict::reproduced);
}

TEST_CASE("verdicts on measurements by an interval", "[audit]") {
  const prediction_range p{.value = 50.0, .low = 44.0, .high = 56.0, .least = 40.0};
  const auto of = [&](const char* text) { return verdict_of_measurement(printed(text), p); };
  CHECK(of("50.2") == verdict::reproduced);
  CHECK(of("48") == verdict::expected);
  CHECK(of("55.9") == verdict::expected);
  CHECK(of("43") == verdict::unusual);
  CHECK(of("90") == verdict::unusual);
  CHECK(of("40.5") == verdict::unusual);
  CHECK(of("39") == verdict::impossible);
  claimed_value c = printed("57");
  c.relation = claim_relation::at_least;
  CHECK(verdict_of_measurement(c, p) == verdict::unusual);
  c.relation = claim_relation::at_most;
  CHECK(verdict_of_measurement(c, p) == verdict::expected);
  c = printed("39");
  c.relation = claim_relation::at_most;
  CHECK(verdict_of_measurement(c, p) == verdict::impossible);
  const prediction_range rate{.value = 100.0, .low = 90.0, .high = 110.0, .most = 200.0};
  CHECK(verdict_of_measurement(printed("150"), rate) == verdict::unusual);
  CHECK(verdict_of_measurement(printed("201"), rate) == verdict::impossible);
}

TEST_CASE("likely errors of convention and of decimals", "[audit]") {
  CHECK(slip_name(printed("494"), 989.4, of_peaks) == "sparse for dense");
  CHECK(slip_name(printed("1979"), 989.4, of_peaks) == "sparse for dense");
  CHECK(slip_name(printed("900"), 450.0, exponents_of<bandwidth<>>()) == "two-way for one-way");
  CHECK(slip_name(printed("26843545600"), 2684354560.0, bytes_only) == "a factor of 10");
  CHECK(slip_name(printed("3.3"), 0.0033, {}) == "a factor of 1000");
  CHECK(slip_name(printed("3.37"), 0.0337, {}) == "a factor of 100");
  CHECK(slip_name(printed("1120"), 140.0, bytes_only) == "bits for bytes");
  CHECK(slip_name(printed("17.5"), 140.0, bytes_only) == "bits for bytes");
  CHECK(slip_name(printed("2.147"), 1.0737, bytes_only) == "both phases for one");
  CHECK(slip_name(printed("85.90"), 80.0, bytes_only) == "GB for GiB");
  CHECK(slip_name(printed("7.25"), 1.0, bytes_only).empty());
}

TEST_CASE("likely errors of an input are found by a second evaluation", "[audit]") {
  // (n - 1) x prefix: 126,000 tokens for 64 sequences of 2000.
  const std::vector<misprint_input> inputs = {{.name = "sequences", .number = 64.0},
                                              {.name = "prefix", .number = 2000.0}};
  const auto ask = [](std::span<const misprint_question> all) -> std::optional<double> {
    const misprint_question& q = all.front();
    const double n = q.input == "sequences" ? q.number.value_or(64.0) : 64.0;
    const double prefix = q.input == "prefix" ? q.number.value_or(2000.0) : 2000.0;
    return (n - 1.0) * prefix;
  };
  const auto found = misprint_behind(printed("128000"), 126000.0, {}, inputs, ask);
  REQUIRE(found);
  CHECK(std::string(found->kind->name) == "K for K - 1");
  CHECK(found->input == "sequences");
  CHECK(found->value == 128000.0);

  // A word: the peak of another format.
  const std::vector<misprint_input> words = {
      {.name = "format", .word = "fp16", .words = {"fp16", "tf32", "fp8"}}};
  const auto peaks = [](std::span<const misprint_question> all) -> std::optional<double> {
    const misprint_question& q = all.front();
    if (q.word == "tf32") return 156.0;
    if (q.word == "fp8") return std::nullopt;
    return 312.0;
  };
  const auto wrong = misprint_behind(
      printed("19.5"), 312.0, of_peaks, words, [](std::span<const misprint_question> all) {
        const misprint_question& q = all.front();
        return q.word == "tf32" ? std::optional<double>(19.5) : std::nullopt;
      });
  REQUIRE(wrong);
  CHECK(std::string(wrong->kind->name) == "the wrong format's peak");
  CHECK(wrong->instead == "tf32");
  CHECK_FALSE(misprint_behind(printed("77"), 312.0, {}, words, peaks));
}

TEST_CASE("two conventions mistaken at once", "[audit]") {
  // 160 x 1 GiB, 2 (N - 1) / N of it over one direction; said was 2 over both.
  const std::vector<misprint_input> inputs = {{.name = "ranks", .number = 8.0},
                                              {.name = "link_bytes_per_s", .number = 400e9}};
  const auto ask = [](std::span<const misprint_question> all) -> std::optional<double> {
    double n = 8.0, link = 400e9;
    for (const misprint_question& q : all) (q.input == "ranks" ? n : link) = q.number.value_or(1.0);
    return n > 1.0 ? std::optional(2.0 * (n - 1.0) / n * 171.8e9 / link) : std::nullopt;
  };
  const auto found = misprint_behind(printed("0.4295"), 0.7516, {}, inputs, ask);
  REQUIRE(found);
  REQUIRE(found->second != nullptr);
  CHECK(std::string(found->kind->name) == "two-way for one-way");
  CHECK(std::string(found->second->name) == "the limit of many ranks");
}

TEST_CASE("all likely errors are listed, the likeliest first, and the nearest of one kind",
          "[audit]") {
  // 494 of 989.4: the sparse rate halved twice, or TF32's; nothing is said of half or double then.
  const std::vector<misprint_input> formats = {
      {.name = "format", .word = "bf16", .words = {"bf16", "fp8", "tf32"}}};
  const auto peaks = [](std::span<const misprint_question> q) -> std::optional<double> {
    return q[0].word == "tf32" ? 494.7 : q[0].word == "fp8" ? 1978.9 : 989.4;
  };
  const auto both = misprints_behind(printed("494"), 989.4, of_peaks, formats, peaks);
  REQUIRE(both.size() == 2);
  CHECK(std::string(both[0].kind->name) == "sparse for dense");
  CHECK(std::string(both[1].kind->name) == "the wrong format's peak");
  CHECK(both[1].instead == "tf32");

  // Bandwidths of 3.94 and 4.0 TB/s: 4 is the second.
  const std::vector<misprint_input> machines = {
      {.name = "accelerator", .word = "h200", .words = {"h200", "h100_nvl", "h20"}}};
  const auto bandwidths = [](std::span<const misprint_question> q) -> std::optional<double> {
    return q[0].word == "h20" ? 4.0 : q[0].word == "h100_nvl" ? 3.94 : 4.8;
  };
  const auto chip = misprint_behind(printed("4"), 4.8, {}, machines, bandwidths);
  REQUIRE(chip);
  CHECK(chip->instead == "h20");
}

TEST_CASE("likely errors of numbers in the wrong place", "[audit]") {
  // 7e9 parameters in 16 bits are 14 GB; 16.1 are those of 8.03e9.
  std::vector<misprint_input> inputs = {{.name = "elements", .number = 7e9}};
  inputs[0].others = {{"of one of 7.24e9", 7.24e9}, {"of one of 8.03e9", 8.03e9}};
  const auto bytes_of_all = [](std::span<const misprint_question> q) -> std::optional<double> {
    return q[0].number ? std::optional(2.0 * *q[0].number) : std::nullopt;
  };
  const auto model = misprint_behind(printed("16.1", 1e9), 14e9, bytes_only, inputs, bytes_of_all);
  REQUIRE(model);
  CHECK(std::string(model->kind->name) == "another model");
  CHECK(model->instead == "of one of 8.03e9");

  // 60 ms less a window of 40: 20 are exposed; counted twice, none.
  const std::vector<misprint_input> window = {{.name = "window_s", .number = 0.04}};
  const auto exposed = [](std::span<const misprint_question> q) -> std::optional<double> {
    return std::fmax(0.0, 0.06 - *q[0].number);
  };
  const auto twice = misprint_behind({0.0, 0.0, 0.0, 0.0}, 0.02, {}, window, exposed);
  REQUIRE(twice);
  CHECK(std::string(twice->kind->name) == "counted twice");

  // 17,643 cycles less 340 x 84 / 2; 340 are of all 84 units, of which 2 had work.
  const std::vector<misprint_input> part = {{.name = "minus"}};
  const auto whole = [](std::span<const misprint_question>) { return std::optional(17643.0); };
  const auto of_all = misprint_behind(printed("17000", 1.0, 2), 3363.0, {}, part, whole);
  REQUIRE(of_all);
  CHECK(std::string(of_all->kind->name) == "the whole for the part");
  const std::vector<misprint_input> idle = {{.name = "units", .number = 84.0},
                                            {.name = "blocks", .number = 2.0}};
  const auto each = [](std::span<const misprint_question> q) -> std::optional<double> {
    if (!q[0].number || q[0].input != "units") return {};
    return 340.0 * *q[0].number / 2.0;
  };
  const auto mean = misprint_behind(printed("340"), 14280.0, {}, idle, each);
  REQUIRE(mean);
  CHECK(std::string(mean->kind->name) == "a mean over those without work");
}

TEST_CASE("likely errors of the result: truncated, inverted, a power of ten", "[audit]") {
  CHECK(slip_name(printed("3.3"), 3.3554, {}) == "cut, not rounded");
  CHECK(slip_name(printed("1e12"), 8.375e11, {}) == "a power of ten for the number");
  CHECK(slip_name(printed("10"), 30.9, {}).empty());  // too far from one
  // What is divided by something alone is upside down, even where the claim is of a side: it rises.
  const std::vector<misprint_input> quotient = {{.name = "over.accelerator", .word = "h100_sxm"}};
  const claimed_value rises{1.04, 10.0, 0.005, 0.5};
  const auto falls = misprint_behind(rises, 0.953, {}, quotient, no_question);
  REQUIRE(falls);
  CHECK(std::string(falls->kind->name) == "upside down");
  CHECK_FALSE(misprint_behind(rises, 0.953, {}, std::span<const misprint_input>(), no_question));
}

TEST_CASE("few numbers of a convention may round, many may not", "[audit]") {
  // Accepted drafts alone pay from 0.535 on, which is 0.5 in one digit.
  const std::vector<misprint_input> counted = {
      {.name = "counted", .word = "emitted", .words = {"emitted", "accepted"}}};
  const std::vector<misprint_input> machine = {
      {.name = "accelerator", .word = "one", .words = {"one", "other"}}};
  const auto other = [](std::span<const misprint_question>) { return std::optional(0.535); };
  CHECK(misprint_behind(printed("0.5"), 0.054, {}, counted, other));
  CHECK_FALSE(misprint_behind(printed("0.5"), 0.054, {}, machine, other));
}

TEST_CASE("another format's rate by its width: half of FP4 for FP8", "[audit]") {
  // 13.5 PFLOP/s of FP4 are three times the FP8 of one chip, and half of them its 6.75 to 7.
  const std::vector<misprint_input> formats = {
      {.name = "format", .word = "fp8", .words = {"fp8", "fp4"}}};
  const auto rates = [](std::span<const misprint_question> q) -> std::optional<double> {
    return q[0].word == "fp4" ? (q[0].by_bits ? 0.5 : 1.0) * 13500.0 : 4500.0;
  };
  const auto half = misprint_behind(printed("7000", 1.0, 1), 4500.0, of_peaks, formats, rates);
  REQUIRE(half);
  CHECK(std::string(half->kind->name) == "another format's peak, by its width");
}

TEST_CASE("no likely error explains a range that holds anything, and few explain one digit",
          "[audit]") {
  const claimed_value wide{0.0, 1.0, 0.05, 0.05};
  CHECK_FALSE(misprint_behind(wide, 6.4, {}, std::span<const misprint_input>(), no_question));
  CHECK(explained_by(printed("3.3"), 3.3554));        // cut, not rounded
  CHECK_FALSE(explained_by(printed("4"), 4.47));      // 12 % off
  CHECK_FALSE(explained_by(printed("0.5"), 0.5405));  // 8 % off
}

TEST_CASE("every likely error is well formed", "[audit]") {
  for (const misprint& s : misprints) {
    INFO(s.name);
    CHECK(s.name[0] != '\0');
    if (s.change == misprint_change::times) CHECK(s.amount > 1.0);
    if (s.change == misprint_change::as_input) CHECK(s.other[0] != '\0');
    if (s.place == misprint_place::word)
      CHECK((s.change == misprint_change::another || s.change == misprint_change::by_bits));
    if (s.place == misprint_place::part) CHECK(s.change == misprint_change::left_out);
  }
}

TEST_CASE("what a claim would take: 280 tokens/s of 4 streams at 85 ms", "[audit]") {
  // Little's law: rate = streams / time. 280 x 0.085 = 23.8 streams, or 4 / 280 = 14.29 ms.
  const std::vector<misprint_input> inputs{{.name = "streams", .number = 4.0},
                                           {.name = "seconds", .number = 0.085},
                                           {.name = "none", .number = 0.0}};
  const auto ask = [](std::span<const misprint_question> q) -> std::optional<double> {
    const double x = q[0].number.value();
    return q[0].input == "streams" ? x / 0.085 : q[0].input == "seconds" ? 4.0 / x : 1.0;
  };
  const auto found = needed_inputs(280.0, inputs, ask);
  REQUIRE(found.size() == 2);
  CHECK(found[0].name == "streams");
  CHECK_THAT(found[0].needed, WithinRel(23.8, 1e-9));
  CHECK(found[1].name == "seconds");
  CHECK_THAT(found[1].needed, WithinRel(0.0142857142857, 1e-9));
  // What is nearest to what was said comes first: twice before sixty times, up or down.
  const std::vector<misprint_input> far{{.name = "up", .number = 0.1},
                                        {.name = "twice", .number = 3.0},
                                        {.name = "down", .number = 60.0}};
  const auto itself = [](std::span<const misprint_question> q) { return q[0].number; };
  const auto ranked = needed_inputs(6.0, far, itself);
  REQUIRE(ranked.size() == 3);
  CHECK(ranked[0].name == "twice");
  CHECK(ranked[1].name == "down");
  CHECK(ranked[2].name == "up");
  for (const needed_input& n : ranked) CHECK_THAT(n.needed, WithinRel(6.0, 1e-9));
  CHECK(needed_inputs(101.0, std::vector{far[0]}, itself).empty());  // 1010 times
  CHECK(needed_inputs(99.0, std::vector{far[0]}, itself).size() == 1);
  // An eighth of a decade that meets the value itself, upwards and down.
  const std::vector<misprint_input> one{{.name = "x", .number = 1.0}};
  for (const double value : {10.0, 0.1}) {
    REQUIRE(needed_inputs(value, one, itself).size() == 1);
    CHECK_THAT(needed_inputs(value, one, itself)[0].needed, WithinRel(value, 1e-9));
  }
  // No count of a step that jumps, nothing beyond a factor of a thousand, no law that refuses.
  const std::vector<misprint_input> counts{{.name = "n", .number = 4.0, .whole = true}};
  const auto steps = [](std::span<const misprint_question> q) -> std::optional<double> {
    return *q[0].number;
  };
  CHECK(needed_inputs(2.4, counts, steps).empty());
  REQUIRE(needed_inputs(300.2, counts, steps).size() == 1);
  CHECK(needed_inputs(300.2, counts, steps)[0].needed == 300.0);
  CHECK(needed_inputs(1e7, counts, steps).empty());
  const auto refuses = [](std::span<const misprint_question>) { return std::optional<double>(); };
  CHECK(needed_inputs(5.0, counts, refuses).empty());
}

}  // namespace unit_audit
