// Prints how far each machine is off as if it had no profile: its bound, the bound times what others take over
// theirs, and the profile of its nearest relative. Nothing is fitted.
//   fit_transfer [folder of the measurements]
#include <cstdio>

#include "loans.hpp"

int main(int argc, char** argv) {
  const auto all = loans::all_of(argc > 1 ? argv[1] : "../shared/measured");
  if (all.empty()) {
    std::puts("no measurements in that folder");
    return 1;
  }
  std::puts(
      "| | chip | rows | bound | share of the bound | transferred | bias | in the stated 80 % "
      "|\n|---|---|---:|---:|---:|---:|---:|---:|");
  for (const auto& [operation, chips] : all) {
    for (const auto& [chip, rows] : chips) {
      const auto share = loans::share_of_bound(chips, chip);
      const auto score = perfmodel::score_of(rows.transferred);
      std::printf("| %s | %s | %zu | %.1f | ", operation.c_str(), chip.c_str(), score.n,
                  100.0 * perfmodel::score_of(rows.bound).mean);
      if (share.empty()) {
        std::printf("-");
      } else {
        std::printf("%.1f", 100.0 * perfmodel::score_of(share).mean);
      }
      std::printf(" | %.1f | %+.1f | %.0f |\n", 100.0 * score.mean, 100.0 * score.bias,
                  100.0 * rows.inside());
    }
  }
}
