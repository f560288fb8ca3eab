// The transfer rule on each chip as if it had no profile: docs/validation/loans.md has the table.
#include <catch2/catch_test_macros.hpp>

#include "../../validation/calibrate/loans.hpp"
#include "support/shared.hpp"

namespace pm = perfmodel;

TEST_CASE("a borrowed profile is nearer than a share of the bound", "[calibrated][shared]") {
  const loans::by_operation all = loans::all_of(perfmodel_test::measured_folder());
  REQUIRE(all.size() >= 10);
  int scored = 0, worse_than_the_bound = 0;
  for (const auto& [operation, chips] : all) {
    for (const auto& [chip, rows] : chips) {
      INFO(operation << " on " << chip);
      const double transferred = pm::score_of(rows.transferred).mean;
      if (transferred > pm::score_of(rows.bound).mean) {
        ++worse_than_the_bound;
        CHECK((operation == "decode fp8" && chip == "b200_sxm"));
      }
      const auto share = loans::share_of_bound(chips, chip);
      if (share.empty()) continue;
      CHECK(transferred < pm::score_of(share).mean);
      ++scored;
    }
  }
  CHECK(scored > 40);
  CHECK(worse_than_the_bound == 1);
}
