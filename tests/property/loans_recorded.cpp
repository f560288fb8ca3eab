// Intervals of 80 % on loans to measured machines, as `fit transfer` recorded them: the widths that would hold 72 and
// 90 % of each operator and chip, each chip predicted as if it had no profile.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <set>
#include <string>
#include <support/tables.hpp>

#include <fit/loan_widths.hpp>

namespace property_loans_recorded {

namespace pm = perfmodel;

namespace {

/// Where the donor's own width, which is for shapes that its fit has not seen, is wider than the loan needs on shapes
/// that it has; nvfp4, which no donor was measured in, is stated for any such format.
const std::set<std::string> wider = {
    "decode bf16 h200_sxm",         "decode fp8 l40s",
    "prefill bf16 a100_sxm_80gb",   "prefill fp8 l40s",
    "experts bf16 h100_sxm",        "experts fp8 h100_sxm",
    "experts fp8, spread h100_sxm", "products bfloat16 a100_sxm_80gb",
    "products bfloat16 h100_sxm",   "products bfloat16 h200_sxm",
    "products fp8 h100_sxm",        "products fp8_block b200_sxm",
    "products fp8_block h100_sxm",  "products nvfp4 b200_sxm",
    "decode bf16 h100_sxm"};

}  // namespace

TEST_CASE("intervals of loans hold 72 to 90 % of a chip as if it had no profile, or are listed",
          "[calibrated]") {
  int within = 0, lines = 0;
  for (const auto& r : perfmodel_test::test_data("loans.tsv")) {
    const std::string operation = r.text("operator"), chip = r.text("chip");
    const double stated = loans::width_of(operation, *pm::catalog::find_accelerator(chip)).stated;
    INFO(operation << " on " << chip << ", stated " << stated);
    ++lines;
    if (wider.contains(operation + ' ' + chip)) {
      CHECK(stated > r.number("holds_90"));
      CHECK(stated < 1.75 * r.number("holds_90"));
    } else {
      CHECK(stated >= r.number("holds_72"));
      CHECK(stated <= r.number("holds_90") + 0.0005);  // the table's last digit
      ++within;
    }
  }
  CHECK(lines == 43);
  CHECK(within == lines - 15);
}

}  // namespace property_loans_recorded
