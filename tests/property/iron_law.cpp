// What the iron law promises for every overlap.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <support/near.hpp>
#include <support/random.hpp>

namespace property_iron_law {

namespace pm = perfmodel;
using perfmodel_test::near;
using perfmodel_test::random_numbers;

TEST_CASE("partial overlap lies between complete overlap and none, and falls with p") {
  random_numbers r(1);
  for (int i = 0; i < 500; ++i) {
    const pm::duration<> a = r.log_uniform(1e-9, 1e3) * pm::second;
    const pm::duration<> b = r.log_uniform(1e-9, 1e3) * pm::second;
    CHECK(near(pm::partly_overlapped(a, b, pm::overlap::none()), pm::serial(a, b)));
    CHECK(near(pm::partly_overlapped(a, b, pm::overlap::full()), pm::overlapped(a, b)));
    pm::duration<> last = pm::serial(a, b) * (1 + 1e-12);
    for (const double p : {1.0, 1.3, 2.0, 3.0, 7.0, 40.0, 1e4}) {
      const pm::duration<> t = pm::partly_overlapped(a, b, pm::overlap{p});
      CHECK(t <= last * (1 + 1e-12));
      CHECK(t * (1 + 1e-12) >= pm::overlapped(a, b));
      CHECK(near(t, pm::partly_overlapped(b, a, pm::overlap{p})));
      last = t;
    }
  }
}

TEST_CASE("partial overlap is the p-norm") {
  random_numbers r(2);
  for (int i = 0; i < 500; ++i) {
    const double a = r.uniform(0.1, 10), b = r.uniform(0.1, 10), p = r.uniform(1, 20);
    const double t = pm::partly_overlapped(a * pm::second, b * pm::second, pm::overlap{p}).value();
    CHECK(near(t, std::pow(std::pow(a, p) + std::pow(b, p), 1 / p), 1e-11));
  }
}

TEST_CASE(
    "the shares of all terms add up to 1, and the elasticities of a serial law are its shares") {
  using dual = pm::dual<3>;
  random_numbers r(3);
  for (int i = 0; i < 200; ++i) {
    const double moved = r.log_uniform(1e6, 1e12), work = r.log_uniform(1e9, 1e15),
                 overhead = r.log_uniform(1e-6, 1e-2);
    const auto e = pm::iron_law(pm::lift<dual>(moved * pm::byte),
                                pm::bandwidth<dual>::from_value(dual::log_variable(3.35e12, 0)),
                                pm::lift<dual>(work * pm::flop),
                                pm::flop_rate<dual>::from_value(dual::log_variable(989e12, 1)),
                                pm::duration<dual>::from_value(dual::log_variable(overhead, 2)));
    const double t = e.time.value().value();
    const double data = pm::share_of(e, "data").value(),
                 compute = pm::share_of(e, "compute").value(),
                 rest = pm::share_of(e, "overhead").value();
    CHECK(near(data + compute + rest, 1.0));
    CHECK(near(e.time.value().partial(0) / t, -data, 1e-9));
    CHECK(near(e.time.value().partial(1) / t, -compute, 1e-9));
    CHECK(near(e.time.value().partial(2) / t, rest, 1e-9));
  }
}

}  // namespace property_iron_law
