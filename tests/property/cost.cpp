// What cost promises.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/laws/energy.hpp>
#include <support/near.hpp>
#include <support/random.hpp>

namespace property_cost {

namespace pm = perfmodel;
using perfmodel_test::near;
using perfmodel_test::random_numbers;

TEST_CASE("cost and price are inverse to each other, and cost scales as it should") {
  random_numbers r(1);
  for (int i = 0; i < 500; ++i) {
    const double gpus = std::ceil(r.uniform(0, 64));
    const pm::price<> price = r.uniform(0.5, 12) * pm::usd_per_hour;
    const pm::token_rate<> rate = r.log_uniform(1, 1e6) * pm::token_per_s;
    const pm::money_per_token<> cost = pm::cost_per_token(gpus, price, rate);
    CHECK(near(pm::implied_price(gpus, cost, rate), price));
    CHECK(near(pm::cost_per_token(2 * gpus, price, pm::token_rate<>(2.0 * rate)), cost));
    CHECK(near(pm::cost_per_token(gpus, price, rate, 0.5), 2.0 * cost));
    CHECK(near(pm::cost_per_million_tokens(gpus, price, rate),
               1000.0 * pm::cost_per_thousand_tokens(gpus, price, rate)));
    // an hour's bill over an hour's tokens
    CHECK(near(cost, pm::money_per_token<>(gpus * price * pm::hour / (rate * pm::hour))));
  }
}

}  // namespace property_cost
