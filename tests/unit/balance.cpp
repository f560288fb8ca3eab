// The search for the batch at which what arrives is what is served, and what it costs.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <perfmodel/serving/balance.hpp>
#include <vector>

#include "support/random.hpp"

namespace unit_balance {

namespace pm = perfmodel;

namespace {

struct found {
  double batch = 0.0;
  int evaluations = 0;
};

template <class Arriving>
found balance_of(double largest, const Arriving& arriving) {
  found f;
  pm::detail::balance_search search(largest);
  for (; !search.done(); ++f.evaluations) search.learn(arriving(search.guess()));
  f.batch = search.guess();
  return f;
}
bool near(double a, double b) {
  return std::abs(a - b) <= 1e-11 * std::abs(b);
}

}  // namespace

TEST_CASE("balanced_batch: roots known beforehand, in few evaluations") {
  const found square = balance_of(1e6, [](double b) { return 300.0 * std::sqrt(b); });
  CHECK(near(square.batch, 90000.0));
  CHECK(square.evaluations <= 6);
  const found line = balance_of(1e6, [](double b) { return 10.0 + 0.9 * b; });
  CHECK(near(line.batch, 100.0));
  CHECK(line.evaluations <= 10);
  const found below_one = balance_of(1e3, [](double b) { return 0.01 + 0.001 * b; });
  CHECK(near(below_one.batch, 0.01 / 0.999));
  CHECK(below_one.evaluations <= 5);
}

TEST_CASE("balanced_batch: jumps, ends and functions that fall") {
  // At a jump the upper side.
  const found jump = balance_of(100.0, [](double b) { return b < 37.2 ? 50.0 : 20.0; });
  CHECK(jump.batch >= 37.2);
  CHECK(near(jump.batch, 37.2));
  CHECK(jump.evaluations <= 60);
  CHECK(balance_of(100.0, [](double b) { return 2.0 * b; }).batch == 100.0);
  CHECK(balance_of(0.3, [](double b) { return 2.0 * b; }).batch == 0.3);
  const found none = balance_of(100.0, [](double) { return 0.0; });
  CHECK(none.batch < 1e-80);
  CHECK(none.evaluations == 301);  // after 300 steps it gives up
  const double w = balance_of(1e6, [](double b) { return 1e5 * std::exp(-b); }).batch;
  CHECK(near(w * std::exp(w), 1e5));
}

TEST_CASE(
    "balanced_batch: a line is met by its second point, bounds are halved where they are all that "
    "is known") {
  // Over ln b the logarithm of 300 / sqrt(b) is a line, met at 90,000: more than 8 times what
  // arrives at 300.
  std::vector<double> asked;
  pm::detail::balance_search search(1e6);
  while (!search.done()) {
    asked.push_back(search.guess());
    search.learn(300.0 * std::sqrt(search.guess()));
  }
  REQUIRE(asked.size() >= 4);
  CHECK(asked[0] == 1.0);
  CHECK(asked[1] == 300.0);
  CHECK(near(asked[2], 300.0 * std::sqrt(300.0)));
  CHECK(near(asked[3], 90000.0));
  // The fixed point of 3 sqrt(b) is 9, near enough for the third evaluation.
  pm::detail::balance_search near_by(1e6);
  near_by.learn(3.0);
  near_by.learn(3.0 * std::sqrt(3.0));
  CHECK(near(near_by.guess(), 9.0));
  // Twice as far where less than that arrives: 1, 2, 4, 8, ... up to the largest.
  pm::detail::balance_search slow(6.0);
  asked.clear();
  while (!slow.done()) {
    asked.push_back(slow.guess());
    slow.learn(1.0001 * slow.guess());
  }
  CHECK(asked == std::vector{1.0, 2.0, 4.0, 6.0});
  CHECK(slow.guess() == 6.0);
  // What falls below at once is taken as the next guess, and of a jump the middle.
  pm::detail::balance_search falls(100.0);
  falls.learn(0.25);
  CHECK(falls.guess() == 0.25);
  falls.learn(1.5);
  CHECK(falls.guess() > 0.25);
  CHECK(falls.guess() < 1.0);
}

TEST_CASE(
    "balanced_batch: the middle is asked where two guesses have not halved what is missed by") {
  // ln (arriving / b) is -0.3 at 1 and -0.28 at what arrives there; the line through both is 0 at
  // exp(-4.5).
  const auto after = [](double third) {
    pm::detail::balance_search search(100.0);
    search.learn(std::exp(-0.3));
    search.learn(std::exp(-0.3 - 0.28));
    const double guess = search.guess();
    CHECK(near(guess, std::exp(-4.5)));
    search.learn(guess * std::exp(third));
    return search.guess() / guess;
  };
  CHECK(near(after(-0.2), 0.5));  // more than half of 0.3
  CHECK_FALSE(near(after(-0.1), 0.5));
}

namespace {

/// What a search of the first root from below is asked, and finds.
struct climbed {
  double root = 0.0;
  std::vector<double> asked;
};
template <class Arriving>
climbed first_of(double room, const Arriving& arriving) {
  climbed c;
  pm::detail::balance_search search(room, 1.002);
  while (!search.done()) {
    c.asked.push_back(search.guess());
    search.learn(arriving(search.guess()));
  }
  c.root = search.guess();
  return c;
}

}  // namespace

TEST_CASE("balanced_batch: from below, by powers, past all that are below what arrives") {
  const climbed c = first_of(1024.0, [](double b) { return 50.0 + 0.5 * b; });
  CHECK(near(c.root, 100.0));
  // Eighths of a power of 2: 50.5 arrive at 1, so the next is 2^(46/8) = 53.8; 76.9 there, then
  // 2^(51/8) = 83.0, and so on until 103.8 arrive at 2^(54/8) = 107.6. Then the middle of the last
  // two, 103.1, of which neither 99.3 that arrive at 98.7 nor 103.8 say whether fewer arrive.
  REQUIRE(c.asked.size() > 7);
  const double eighths[] = {0, 46, 51, 53, 54, 53.5, 53.25};
  for (std::size_t i = 0; i < std::size(eighths); ++i)
    CHECK(near(c.asked[i], std::exp2(eighths[i] / 8)));
  CHECK(c.asked.size() < 15);
  // The same where less fits, but for what does not; and the largest where all are fewer than
  // arrive.
  const climbed less = first_of(101.5, [](double b) { return 50.0 + 0.5 * b; });
  CHECK(near(less.root, 100.0));
  CHECK(near(less.asked[4], 101.5));
  // 2^(53.5/8) does not fit, and 2^(53.25/8) = 100.9 are more than the 100.75 that arrive at 101.5.
  CHECK(near(less.asked[5], std::exp2(53.125 / 8)));
  CHECK(first_of(99.5, [](double b) { return 50.0 + 0.5 * b; }).root == 99.5);
}

TEST_CASE("balanced_batch: few values where what arrives changes little, and roots of falling") {
  const climbed flat = first_of(1024.0, [](double b) { return 99.0 + 0.01 * b; });
  CHECK(near(flat.root, 100.0));
  CHECK(flat.asked.size() <= 6);
  // Nothing between b and what arrives is asked, and there is the root of what falls.
  CHECK(near(first_of(1024.0, [](double b) { return 1e4 / b; }).root, 100.0));
  const auto dips = [](double b) { return b > 99.9 && b < 101.0 ? 99.0 : 50.0 + 0.5 * b; };
  const double root = first_of(1024.0, dips).root;
  CHECK(dips(root * (1 - 1e-9)) > root * (1 - 1e-9));
  CHECK(dips(root) <= root);
}

TEST_CASE("balanced_batch: the smallest of several balanced batches, whatever the capacity") {
  // 300 arrive below 2500 sequences, and 6000 from there on: 300 and 6000 both balance.
  const auto arriving = [](double b) { return b < 2500.0 ? 300.0 : 6000.0; };
  for (double room = 320.0; room < 1e6; room *= 1.03)
    CHECK(near(first_of(room, arriving).root, 300.0));
}

TEST_CASE(
    "balanced_batch: where more arrives the first root is no smaller, however many there are") {
  // A rising staircase: steps of all heights, several of them balanced.
  perfmodel_test::random_numbers x(5);
  for (int k = 0; k < 2000; ++k) {
    std::array<double, 12> ends{}, heights{};
    double end = 1.0, height = 0.0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      ends[i] = end *= x.uniform(1.0, 3.0);
      heights[i] = height += x.uniform(0.0, 0.7) * end;
    }
    const auto arriving = [&](double b) {
      double arrive = 0.5 * b;
      for (std::size_t i = 0; i < ends.size(); ++i)
        if (b >= ends[i]) arrive = heights[i];
      return arrive + 1.0;
    };
    const double more = x.uniform(1.0, 1.5), room = x.log_uniform(10.0, 1e5);
    const double root = first_of(room, arriving).root;
    CHECK(first_of(room, [&](double b) { return more * arriving(b); }).root >= root * (1 - 1e-12));
  }
}

TEST_CASE("balanced_batch: its slope by a number is the root's, and a range has two roots") {
  using dual = pm::dual<1>;
  // b = p + b / 2: 2 p.
  const auto line = [](const dual& p) {
    return pm::detail::balanced_batch(dual(1000.0), [&](const dual& b) { return p + 0.5 * b; });
  };
  CHECK(near(line(dual::variable(30.0, 0)).value(), 60.0));
  CHECK(std::abs(line(dual::variable(30.0, 0)).partial(0) - 2.0) < 1e-6);
  // b = p sqrt(b): p^2, with a slope of 2 p.
  const auto square = pm::detail::balanced_batch(dual(1e4), [](const dual& b) {
    using pm::math::sqrt;
    return dual::variable(30.0, 0) * sqrt(b);
  });
  CHECK(near(square.value(), 900.0));
  CHECK(std::abs(square.partial(0) - 60.0) < 1e-4);
  // With more arrivals than service it is the largest, with its slope.
  const dual most =
      pm::detail::balanced_batch(dual::variable(100.0, 0), [](const dual& b) { return 2.0 * b; });
  CHECK(most.value() == 100.0);
  CHECK(most.partial(0) == 1.0);
  // At a jump the slope is that of neither side.
  const dual jump = pm::detail::balanced_batch(dual(100.0), [](const dual& b) {
    return b.value() < 40.0 ? dual::variable(50.0, 0) : dual::variable(20.0, 0);
  });
  CHECK(near(jump.value(), 40.0));
  CHECK(jump.partial(0) == 0.0);

  const pm::interval range = pm::detail::balanced_batch(
      pm::interval(1000.0),
      [](const pm::interval& b) { return pm::interval(30.0, 40.0) + 0.5 * b; });
  CHECK(near(range.lo(), 60.0));
  CHECK(near(range.hi(), 80.0));
}

}  // namespace unit_balance
