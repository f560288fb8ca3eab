// Prints errors on each machine without its own profile: of its bound, of the bound times the share
// of other machines, and of the profile transferred from the nearest machine; and of GEMMs
// transferred from more distant machines. Fits nothing. With --record, tests/data/transferred.tsv.
//   fit transfer [folder of the measurements] [--record]
#include <algorithm>
#include <cstdio>
#include <map>
#include <perfmodel/hardware/catalog/all.hpp>
#include <string>
#include <vector>

#include "fits.hpp"
#include "transferred.hpp"

namespace fits::transfer {

namespace {

namespace pm = perfmodel;

void print(const std::string& operation, const std::string& chip, const transferred::transfer& rows,
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
      "\n| 16-bit GEMMs of | transferred from | distance | 72 % | 80 % | 90 % | stated | inside |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|");
  for (const auto& [to, from, rows] : transferred::distant_transfers(folder)) {
    std::printf("| %s | %s | %.2f | %.3f | %.3f | %.3f | %.3f | %.0f |\n", to->name.c_str(),
                from->device().name.c_str(), pm::catalog::machine_distance(*to, from->device()),
                rows.holds(0.72), rows.holds(0.80), rows.holds(0.90), rows.stated,
                100.0 * rows.inside());
  }
}

/// Rows that set one constant, in formats that the source GPU was measured in.
struct line {
  std::string operation, chip;
  const transferred::transfer* rows;
  double own;
};
using groups = std::map<std::string, std::vector<line>>;

groups groups_of(const transferred::by_operation& all) {
  groups out;
  for (const auto& [operation, chips] : all) {
    if (!transferred::is_transferred_operation(operation)) continue;
    for (const auto& [chip, rows] : chips) {
      const transferred::uncertainty w =
          transferred::uncertainty_of(operation, *pm::catalog::find_accelerator(chip));
      const bool of_experts = operation.starts_with("experts");
      if (w.of_source == 0.0 && !of_experts) continue;
      std::string number = (w.is_same_generation ? "within a generation, " : "between, ") +
                           operation.substr(0, operation.find(' '));
      if (chip == "b200_sxm" && operation.starts_with("decode")) number += " but FlashAttention-2";
      out[number].push_back(
          {operation, chip, &rows, w.is_same_generation || !of_experts ? w.of_source : 0.0});
    }
  }
  return out;
}

/// Coverage on each chip if the constant were the mean 80 % log_sigma of the other chips.
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

void record(const transferred::by_operation& all) {
  std::puts("operator\tchip\trows\tholds_72\tholds_80\tholds_90");
  for (const auto& [operation, chips] : all) {
    if (!transferred::is_transferred_operation(operation)) continue;
    for (const auto& [chip, rows] : chips) {
      std::printf("%s\t%s\t%zu\t%.3f\t%.3f\t%.3f\n", operation.c_str(), chip.c_str(),
                  rows.transferred.size(), rows.holds(0.72), rows.holds(0.80), rows.holds(0.90));
    }
  }
}

}  // namespace

int run(const std::string& folder, bool record_only) {
  const auto all = transferred::all_of(folder);
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
      print(operation, chip, rows, transferred::share_of_bound(chips, chip));
    }
  }
  print_left_out(groups_of(all));
  print_far(folder);
  return 0;
}

}  // namespace fits::transfer
