// Prints how far each machine is off as if it had no profile: its bound, the bound times what others take over
// theirs, and the profile of its nearest relative; and products by machines further away. Nothing is fitted.
// With --record, tests/data/loans.tsv.
//   fit transfer [folder of the measurements] [--record]
#include <algorithm>
#include <cstdio>
#include <map>
#include <perfmodel/hardware/catalog/all.hpp>
#include <string>
#include <vector>

#include "fits.hpp"
#include "loans.hpp"

namespace fits::transfer {

namespace {

namespace pm = perfmodel;

void print(const std::string& operation, const std::string& chip, const loans::loan& rows,
           const std::vector<double>& share) {
  const auto score = pm::score_of(rows.transferred);
  std::printf("| %s | %s | %zu | %.1f | ", operation.c_str(), chip.c_str(), score.n,
              100.0 * pm::score_of(rows.bound).mean);
  if (share.empty()) {
    std::printf("-");
  } else {
    std::printf("%.1f", 100.0 * pm::score_of(share).mean);
  }
  std::printf(" | %.1f | %+.1f | %.3f | %.3f | %.3f | %.0f |\n", 100.0 * score.mean,
              100.0 * score.bias, rows.holds(0.72), rows.holds(0.90), rows.stated,
              100.0 * rows.inside());
}

void print_far(const std::string& folder) {
  std::puts(
      "\n| products in 16 bits of | by | distance | 72 % | 80 % | 90 % | stated | inside |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|");
  for (const auto& [to, from, rows] : loans::far_loans(folder)) {
    std::printf("| %s | %s | %.2f | %.3f | %.3f | %.3f | %.3f | %.0f |\n", to->name.c_str(),
                from->device().name.c_str(), pm::catalog::machine_distance(*to, from->device()),
                rows.holds(0.72), rows.holds(0.80), rows.holds(0.90), rows.stated,
                100.0 * rows.inside());
  }
}

/// Lines that one number is set from: of formats that the donor was measured in.
struct line {
  std::string operation, chip;
  const loans::loan* rows;
  double own;
};
using groups = std::map<std::string, std::vector<line>>;

groups groups_of(const loans::by_operation& all) {
  groups out;
  for (const auto& [operation, chips] : all) {
    if (!loans::is_loan(operation)) continue;
    for (const auto& [chip, rows] : chips) {
      const loans::width w = loans::width_of(operation, *pm::catalog::find_accelerator(chip));
      const bool of_experts = operation.starts_with("experts");
      if (w.own == 0.0 && !of_experts) continue;
      std::string number = (w.within ? "within a generation, " : "between, ") +
                           operation.substr(0, operation.find(' '));
      if (chip == "b200_sxm" && operation.starts_with("decode")) number += " but FlashAttention-2";
      out[number].push_back({operation, chip, &rows, w.within || !of_experts ? w.own : 0.0});
    }
  }
  return out;
}

/// What the mean of the other chips' 80 % widths would hold of each chip, had it been the number.
void print_left_out(const groups& all) {
  std::puts("\n| number of | chip | from the others | its lines, inside |\n|---|---|---:|---|");
  for (const auto& [name, lines] : all) {
    std::map<std::string, std::vector<const line*>> chips;
    for (const line& l : lines) chips[l.chip].push_back(&l);
    for (const auto& [chip, its] : chips) {
      double sum = 0.0, n = 0.0;
      for (const line& l : lines) {
        if (l.chip == chip) continue;
        sum += l.rows->holds(0.80);
        n += 1.0;
      }
      if (n == 0.0) continue;
      std::printf("| %s | %s | %.3f |", name.c_str(), chip.c_str(), sum / n);
      for (const line* l : its) {
        std::printf(" %s %.0f", l->operation.substr(l->operation.find(' ') + 1).c_str(),
                    100.0 * pm::coverage_of(l->rows->transferred, std::max(l->own, sum / n)));
      }
      std::puts(" |");
    }
  }
}

void record(const loans::by_operation& all) {
  std::puts("operator\tchip\trows\tholds_72\tholds_80\tholds_90");
  for (const auto& [operation, chips] : all) {
    if (!loans::is_loan(operation)) continue;
    for (const auto& [chip, rows] : chips) {
      std::printf("%s\t%s\t%zu\t%.3f\t%.3f\t%.3f\n", operation.c_str(), chip.c_str(),
                  rows.transferred.size(), rows.holds(0.72), rows.holds(0.80), rows.holds(0.90));
    }
  }
}

}  // namespace

int run(const std::string& folder, bool record_only) {
  const auto all = loans::all_of(folder);
  if (all.empty()) {
    std::puts("no measurements in that folder");
    return 1;
  }
  if (record_only) {
    record(all);
    return 0;
  }
  std::puts(
      "| | chip | rows | bound | share of the bound | transferred | bias | 72 % | 90 % | stated | "
      "in the "
      "stated 80 % |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
  for (const auto& [operation, chips] : all) {
    for (const auto& [chip, rows] : chips) {
      print(operation, chip, rows, loans::share_of_bound(chips, chip));
    }
  }
  print_left_out(groups_of(all));
  print_far(folder);
  return 0;
}

}  // namespace fits::transfer
