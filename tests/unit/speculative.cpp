// Speculative decoding: what is refused, and published tables.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <perfmodel/laws/speculative.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <vector>

#include "support/shared.hpp"

namespace unit_speculative {

namespace pm = perfmodel;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("acceptance and draft length out of range name their field") {
  CHECK_THROWS_WITH(pm::emitted_tokens(1.5, 4), ContainsSubstring("acceptance is 1.5"));
  CHECK_THROWS_WITH(pm::emitted_tokens(-0.1, 4), ContainsSubstring("acceptance is -0.1"));
  CHECK_THROWS_AS(pm::emitted_tokens(pm::detail::not_a_number, 4), pm::error);
  CHECK_THROWS_WITH(pm::emitted_tokens(0.8, 0), ContainsSubstring("draft_length is 0"));
  CHECK_THROWS_AS(pm::emitted_tokens(0.8, 5000), pm::error);
  CHECK_THROWS_WITH(pm::speculative_speedup(0.8, 4, -0.1), ContainsSubstring("draft_cost_ratio"));
  CHECK_THROWS_WITH(pm::break_even_acceptance(4, 1.1),
                    ContainsSubstring("draft_cost_ratio is 1.1"));
  CHECK_THROWS_AS(pm::best_draft_length(2.0, 0.1), pm::error);
  const std::vector<double> bad{0.9, 1.2};
  CHECK_THROWS_AS(pm::emitted_tokens(std::span<const double>(bad)), pm::error);
  CHECK_THROWS_AS(pm::emitted_tokens(std::span<const double>{}), pm::error);
  CHECK_THROWS_AS(pm::round_time(4, pm::speculative_steps{}), pm::error);
  CHECK_THROWS_WITH(pm::basic_acceptance<double>(0.5, 1.5),
                    ContainsSubstring("later_acceptance is 1.5"));
}

TEST_CASE("runs of accepted tokens name the count that is wrong") {
  const auto of = [](std::vector<double> counts, int k) {
    return pm::emitted_tokens_of_runs(std::span<const double>(counts), k);
  };
  CHECK_THROWS_WITH(of({}, 2), ContainsSubstring("counts has no entry"));
  CHECK_THROWS_WITH(of({1.0, -2.0}, 2), ContainsSubstring("counts is -2"));
  CHECK_THROWS_WITH(of({0.0, 2.0}, 2), ContainsSubstring("counts[0] is 0"));
  CHECK_THROWS_AS(of({1.0, 1.0}, 0), pm::error);
}

TEST_CASE("a draft slower than its target pays at no acceptance, and that is a result") {
  const auto e = pm::speculate(0.8, 4, 1.2);
  CHECK_FALSE(e.feasible);
  CHECK(e.break_even_acceptance == 1.0);
  CHECK(e.speedup < 1.0);
  CHECK(e.best_draft_length == 1);
}

TEST_CASE(
    "positions: equal ones give the geometric law, and the whole result agrees with its parts") {
  const std::vector<double> equal(7, 0.7);
  const auto by_position = pm::speculate(std::span<const double>(equal), 0.05);
  const auto geometric = pm::speculate(0.7, 7, 0.05);
  CHECK(std::abs(by_position.emitted / geometric.emitted - 1.0) < 1e-15);
  CHECK(std::abs(by_position.speedup / geometric.speedup - 1.0) < 1e-15);
  CHECK(by_position.break_even_acceptance == geometric.break_even_acceptance);
}

TEST_CASE("the derivative of the break-even is that of the implicit function") {
  // k = 1: a = c. k = 2: a + a^2 = 2 c, a = (sqrt(1 + 8 c) - 1) / 2, da/dc = 2 / sqrt(1 + 8 c)
  using dual = pm::dual<1>;
  const auto one = pm::break_even_acceptance(1, dual::variable(0.3, 0));
  CHECK(std::abs(one.value() - 0.3) < 1e-15);
  CHECK(std::abs(one.partial(0) - 1.0) < 1e-12);
  const auto two = pm::break_even_acceptance(2, dual::variable(0.2, 0));
  const double root = std::sqrt(1 + 8 * 0.2);
  CHECK(std::abs(two.value() - (root - 1) / 2) < 1e-15);
  CHECK(std::abs(two.partial(0) - 2 / root) < 1e-12);
}

TEST_CASE("the best draft length over dual numbers is that over doubles") {
  CHECK(pm::best_draft_length(pm::dual<1>(0.8), pm::dual<1>(0.08)) == 6);
}

// Leviathan, Kalman and Matias 2023, table 4: acceptance and cost to two places, speed-up to one.
// What those digits leave open has to overlap.
TEST_CASE("a published table of expected speed-ups is reproduced to its last digit", "[shared]") {
  int rows = 0;
  for (const auto& row : perfmodel_test::measured_table("leviathan_table4.csv")) {
    const int k = row.whole("gamma");
    const double a = row.number("alpha");
    const double c = row.number("cost_ratio_c");
    const double printed = row.number("expected_speedup_paper");
    const pm::interval s = pm::speculative_speedup(pm::interval(a - 0.005, a + 0.005), k,
                                                   pm::interval(c - 0.005, c + 0.005));
    INFO(k << " drafts, accepted " << a << ", cost " << c << ": " << s.lo() << " .. " << s.hi());
    CHECK(s.lo() <= printed + 0.05);
    CHECK(s.hi() >= printed - 0.05);
    CHECK(std::abs(pm::speculative_speedup(a, k, c) - printed) < 0.1);
    ++rows;
  }
  CHECK(rows == 12);
}

}  // namespace unit_speculative
