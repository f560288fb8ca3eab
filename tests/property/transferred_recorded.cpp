// 80 % intervals of transferred profiles on measured machines, as `fit transfer` recorded them:
// each chip predicted without its own profile.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <set>
#include <string>
#include <support/tables.hpp>

#include <fit/transfer_uncertainty.hpp>

namespace property_transferred_recorded {

namespace pm = perfmodel;

namespace {

/// Larger than the transfer needs: the source's own log_sigma is for held-out shapes, and the
/// transfer is scored on shapes it was fitted to; nvfp4 was measured on no source.
const std::set<std::string> wider = {"decode bf16 h200_sxm",
                                     "decode fp8 l40s",
                                     "prefill bf16 a100_sxm_80gb",
                                     "prefill fp8 l40s",
                                     "experts bf16 h100_sxm",
                                     "experts fp8 h100_sxm",
                                     "products bfloat16 a100_sxm_80gb",
                                     "products bfloat16 h100_sxm",
                                     "products bfloat16 h200_sxm",
                                     "products fp8 h100_sxm",
                                     "products fp8_block b200_sxm",
                                     "products fp8_block h100_sxm",
                                     "products nvfp4 b200_sxm",
                                     "decode bf16 h100_sxm"};

}  // namespace

TEST_CASE("intervals of transferred profiles cover 72 to 90 % of a chip, or are listed",
          "[calibrated]") {
  int within = 0, lines = 0;
  for (const auto& r : perfmodel_test::test_data("transferred.tsv")) {
    const std::string operation = r.text("operator"), chip = r.text("chip");
    const double stated =
        transferred::uncertainty_of(operation, *pm::catalog::find_accelerator(chip)).stated;
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
  CHECK(within == lines - 14);
}

}  // namespace property_transferred_recorded
