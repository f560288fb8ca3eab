// Figure of a sweep: its results over the last axis, one line per combination of the others.
#include <algorithm>

#include "io/figure.hpp"
#include "sweep.hpp"

namespace napkin {

namespace {

/// The columns to draw: time_s, or TTFT and ITL, else the first column of numbers.
std::vector<std::string> drawn_columns(const sweep_table& t) {
  const auto has = [&](const char* name) {
    return std::find(t.columns.begin() + static_cast<std::ptrdiff_t>(t.axes), t.columns.end(),
                     name) != t.columns.end();
  };
  if (has("time_s")) return {"time_s"};
  if (has("ttft_s") && has("itl_s")) return {"ttft_s", "itl_s"};
  for (std::size_t i = t.axes; i < t.columns.size(); ++i) {
    for (const auto& row : t.rows) {
      if (std::holds_alternative<double>(row[i])) return {t.columns[i]};
    }
  }
  throw error(
      error_code::inconsistent,
      "plot is given, and no column of the sweep is a number; allowed: a query with a number in "
      "its result");
}

std::string cell_text(const cell& c) {
  if (const auto* x = std::get_if<double>(&c)) return cat(*x);
  if (const auto* b = std::get_if<bool>(&c)) return *b ? "true" : "false";
  const auto* s = std::get_if<std::string>(&c);
  return s == nullptr ? "" : *s;
}

}  // namespace

figure sweep_figure(const sweep_table& t) {
  plot_table out{.columns = t.columns};
  const bool grouped = t.axes > 1;
  std::string group;
  for (std::size_t i = 0; i + 1 < t.axes; ++i) group += (i > 0 ? ", " : "") + t.columns[i];
  if (grouped) out.columns.push_back(group);
  for (const auto& row : t.rows) {
    std::vector<std::string> cells;
    for (const cell& c : row) cells.push_back(cell_text(c));
    if (grouped) {
      std::string of;
      for (std::size_t i = 0; i + 1 < t.axes; ++i) of += (i > 0 ? ", " : "") + cells[i];
      cells.push_back(of);
    }
    out.rows.push_back(std::move(cells));
  }
  return of_table(out, t.columns[t.axes - 1], drawn_columns(t), group);
}

}  // namespace napkin
