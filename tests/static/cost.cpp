// Cost in constant expressions.
#include <perfmodel/laws/energy.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>

namespace static_cost {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;

namespace {

// Configuration A: 8 GPUs, 50 tok/s, 0.12 USD per thousand tokens, so 2.70 USD per GPU and hour.
static_assert(near(pm::implied_price(8, 0.12 / 1000 * pm::usd / pm::token, 50_tok_per_s),
                   2.7_USD_per_h));
static_assert(near(pm::cost_per_thousand_tokens(8, 2.7_USD_per_h, 50_tok_per_s), 0.12_USD));
// Configuration B: 4 GPUs, 64 streams at 120 ms = 533.3 tok/s: 0.005625 USD, 21.3 times less.
constexpr pm::token_rate<> b = 64 / 0.120 * pm::token_per_s;
static_assert(near(pm::cost_per_thousand_tokens(4, 2.7_USD_per_h, b), 0.005625_USD));
static_assert(near(pm::cost_per_million_tokens(4, 2.7_USD_per_h, b), 5.625_USD));
static_assert(near(pm::cost_per_token(8, 2.7_USD_per_h, 50_tok_per_s) /
                       pm::cost_per_token(4, 2.7_USD_per_h, b),
                   64.0 / 3));
// 5 % to 40 % utilisation is 8 times cheaper.
static_assert(near(pm::cost_per_token(1, 1_USD_per_h, b, 0.05) /
                       pm::cost_per_token(1, 1_USD_per_h, b, 0.40),
                   8.0));

}  // namespace

}  // namespace static_cost
