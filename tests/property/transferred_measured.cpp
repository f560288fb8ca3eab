// The transfer rule on each chip without its own profile:
// docs/validation/transferred_profiles.md has the table.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <fit/transferred.hpp>
#include "support/shared.hpp"
#include "support/tables.hpp"

namespace property_transferred_measured {

namespace pm = perfmodel;

TEST_CASE("a transferred profile is nearer than a share of the bound", "[calibrated][shared]") {
  const transferred::by_operation all = transferred::all_of(perfmodel_test::measured_folder());
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
      const auto share = transferred::share_of_bound(chips, chip);
      if (share.empty()) continue;
      CHECK(transferred < pm::score_of(share).mean);
      ++scored;
    }
  }
  CHECK(scored > 40);
  CHECK(worse_than_the_bound == 1);
}

TEST_CASE("the recorded uncertainties of transfers are those of the measurements",
          "[calibrated][shared]") {
  using Catch::Matchers::WithinAbs;
  const transferred::by_operation all = transferred::all_of(perfmodel_test::measured_folder());
  int lines = 0;
  for (const auto& r : perfmodel_test::test_data("transferred.tsv")) {
    INFO(r.text("operator") << " on " << r.text("chip"));
    const transferred::transfer& rows = all.at(r.text("operator")).at(r.text("chip"));
    CHECK(static_cast<double>(rows.transferred.size()) == r.number("rows"));
    CHECK_THAT(rows.holds(0.72), WithinAbs(r.number("holds_72"), 0.001));
    CHECK_THAT(rows.holds(0.90), WithinAbs(r.number("holds_90"), 0.001));
    ++lines;
  }
  CHECK(lines == 43);
}

}  // namespace property_transferred_measured
