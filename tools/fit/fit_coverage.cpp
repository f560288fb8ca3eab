// Prints errors on held-out groups of rows: for each operator, chip and kind the log_sigma that
// covers 72, 80 and 90 % of them, and the one that kernels/catalog/uncertainty.hpp states.
// With --record, tests/data/left_out.tsv.
//   fit coverage [folder of the measurements] [--record]
#include <cstdio>

#include "fits.hpp"
#include "left_out.hpp"

namespace fits::coverage {

namespace {

namespace pm = perfmodel;

double log_sigma_at(const std::vector<double>& residual, double share) {
  std::vector<double> off;
  for (const double r : residual) off.push_back(std::abs(r));
  return pm::detail::quantile(off, share) / pm::z90;
}

}  // namespace

int run(const std::string& folder, bool record) {
  const auto all = left_out::all_of(folder);
  if (all.empty()) {
    std::puts("no measurements in that folder");
    return 1;
  }
  if (record) std::puts("operator\tchip\tkind\trows\tholds_72\tholds_80\tholds_90");
  for (const auto& [who, residual] : all) {
    const double at72 = log_sigma_at(residual, 0.72), at80 = log_sigma_at(residual, 0.80),
                 at90 = log_sigma_at(residual, 0.90), stated = left_out::stated_log_sigma(who);
    if (record) {
      std::string cells = who;
      for (char& c : cells) c = c == ' ' ? '\t' : c;
      std::printf("%s\t%zu\t%.3f\t%.3f\t%.3f\n", cells.c_str(), residual.size(), at72, at80, at90);
    } else {
      std::printf("%-40s n %5zu  72 %% %.3f  80 %% %.3f  90 %% %.3f  stated %.3f holds %2.0f %%\n",
                  who.c_str(), residual.size(), at72, at80, at90, stated,
                  100.0 * pm::coverage_of(residual, stated));
    }
  }
  return 0;
}

}  // namespace fits::coverage
