// What cost refuses.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/laws/energy.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>
#include <support/refusal.hpp>

namespace unit_cost {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;
using perfmodel_test::refusal;

TEST_CASE("cost refuses no machines, no tokens and an impossible utilisation") {
  CHECK(refusal([] { (void)pm::cost_per_token(0, 1_USD_per_h, 1_tok_per_s); }) ==
        "PM-E010: gpus is 0; allowed: 1 or more");
  CHECK(refusal([] { (void)pm::cost_per_token(1, 1_USD_per_h, 0_tok_per_s); }) ==
        "PM-E010: throughput is 0; allowed: more than 0");
  CHECK(refusal([] { (void)pm::cost_per_token(1, 1_USD_per_h, 1_tok_per_s, 1.5); }) ==
        "PM-E010: utilisation is 1.5; allowed: 0 to 1");
  CHECK(refusal([] { (void)pm::cost_per_token(1, 1_USD_per_h, 1_tok_per_s, 0.0); }) ==
        "PM-E010: utilisation is 0; allowed: more than 0");
  CHECK(pm::cost_per_token(1, 0_USD_per_h, 1_tok_per_s) == 0.0 * pm::usd_per_million_tokens);
}

}  // namespace unit_cost
