// Intervals of 80 % on groups of rows left out, computed anew from the measurements for two
// machines; of all others coverage_recorded.cpp has what `fit coverage` printed.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/tools/fit/scores.hpp>

#include <fit/interval_names.hpp>
#include <fit/left_out_products.hpp>
#include "support/shared.hpp"
#include "support/tables.hpp"

namespace property_coverage_measured {

namespace pm = perfmodel;

TEST_CASE("products without their n, their k, their m lie in the interval",
          "[calibrated][shared]") {
  std::map<std::string, std::vector<published::gemm_row>> machines;
  for (const auto& r : published::graph_gemms(perfmodel_test::measured_folder())) {
    if (r.dtype == "bfloat16" && !r.warmth_unknown()) machines[r.gpu].push_back(r);
  }
  left_out::residuals unseen;
  for (const char* gpu : {"a100_sxm_80gb", "b200_sxm"}) {
    REQUIRE(machines[gpu].size() > 500);
    left_out::add_products(unseen, machines[gpu]);
  }
  int recorded = 0;
  for (const auto& r : perfmodel_test::test_data("left_out.tsv")) {
    const std::string who = r.text("operator") + ' ' + r.text("chip") + ' ' + r.text("kind");
    if (!unseen.contains(who)) continue;
    const double stated = left_out::stated_log_sigma(who);
    INFO(who << ", stated " << stated);
    CHECK(pm::coverage_of(unseen[who], stated) > 0.72);
    CHECK(pm::coverage_of(unseen[who], stated) < 0.90);
    CHECK(std::abs(pm::log_sigma_of(unseen[who]) / r.number("holds_80") - 1.0) < 0.02);
    ++recorded;
  }
  CHECK(recorded == 2);
}

}  // namespace property_coverage_measured
