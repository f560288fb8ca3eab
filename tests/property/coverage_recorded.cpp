// Intervals of 80 % on groups of rows that no fit had seen, as fit_coverage recorded them: the widths that would
// hold 72, 80 and 90 % of each operator, chip and kind.
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <perfmodel/calibrated/for_accelerator.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <string>
#include <support/tables.hpp>

#include "../../validation/calibrate/interval_names.hpp"

namespace pm = perfmodel;

TEST_CASE("intervals hold 72 to 90 % of what was left out, by operator, chip and kind",
          "[calibrated]") {
  std::map<std::string, int> kinds;
  double at_least = 0.0, rows = 0.0;
  for (const auto& r : perfmodel_test::test_data("left_out.tsv")) {
    const std::string who = r.text("operator") + ' ' + r.text("chip") + ' ' + r.text("kind");
    const double stated = left_out::stated_width(who);
    INFO(who << ", stated " << stated);
    CHECK(stated >= r.number("holds_72"));
    CHECK(stated <= r.number("holds_90"));
    if (stated >= r.number("holds_80")) at_least += r.number("rows");
    rows += r.number("rows");
    ++kinds[r.text("operator")];
  }
  CHECK(kinds["gemm"] >= 20);
  CHECK(kinds["attention"] == 18);
  CHECK(kinds["experts"] >= 10);
  CHECK(at_least > 0.9 * rows);  // shapes further away are worse than those left out
}
