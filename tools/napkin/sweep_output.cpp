// Text, JSON and Markdown of a swept table.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <perfmodel/units/text.hpp>

#include "accelerator_file.hpp"
#include "io/text_style.hpp"
#include "output.hpp"
#include "summary.hpp"
#include "sweep.hpp"

namespace napkin {

namespace {

constexpr std::size_t most_lines = 1000;  ///< rows of a text

std::string cell_text(const cell& c, const perfmodel::unit_exponents& unit) {
  if (const auto* x = std::get_if<double>(&c)) {
    if (unit == perfmodel::unit_exponents{} && *x == std::floor(*x) && std::fabs(*x) < 1e15)
      return perfmodel::detail::number_text(*x);
    return perfmodel::to_string(*x, unit, 4);
  }
  if (const auto* b = std::get_if<bool>(&c)) return *b ? "yes" : "no";
  if (const auto* s = std::get_if<std::string>(&c)) return one_line(*s);
  return "-";
}

bool is_column_of_numbers(const sweep_table& t, std::size_t column) {
  return std::ranges::any_of(
      t.rows, [&](const auto& row) { return std::holds_alternative<double>(row[column]); });
}
/// Whether all rows have the same value in a column, which a line below the table can state.
bool is_constant(const sweep_table& t, std::size_t column) {
  return std::ranges::all_of(t.rows,
                             [&](const auto& row) { return row[column] == t.rows[0][column]; });
}
bool is_empty(const cell& c) {
  return std::holds_alternative<std::monostate>(c) || c == cell(std::string());
}

/// The column that a sweep is about: itl_s, time_s, or the first number of its results.
std::size_t main_column(const sweep_table& t) {
  for (const char* usual : {"itl_s", "time_s"}) {
    const auto at = std::find(t.columns.begin(), t.columns.end(), usual);
    if (at != t.columns.end()) return static_cast<std::size_t>(at - t.columns.begin());
  }
  for (std::size_t i = t.axes; i < t.columns.size(); ++i) {
    if (is_column_of_numbers(t, i)) return i;
  }
  return t.columns.size();
}

/// "batch 1, context 8192": the place of a row.
std::string place_text(const sweep_table& t, const std::vector<cell>& row) {
  std::string s;
  for (std::size_t i = 0; i < t.axes; ++i)
    s += cat(i > 0 ? ", " : "", t.columns[i], " ", cell_text(row[i], t.units[i]));
  return s;
}

std::string count_text(std::uint64_t n, const char* what) {
  return cat(n, " ", what, n == 1 ? "" : "s");
}

/// "; chip_x states no fabric.kind or fabric.bandwidth" for a parallel layout on one accelerator
/// without a fabric; else "".
std::string missing_fabric(const sweep_request& r, const std::string& reason) {
  const auto at = r.base.find("accelerator");
  if (at == r.base.end() || !at->is_string() || reason.find("fabric joins") == reason.npos)
    return "";
  try {
    const found_accelerator chip = named_accelerator(at->get<std::string>());
    if ((*chip).fabric.exists()) return "";
    return cat("; ", (*chip).name.view(), " states no fabric.kind or fabric.bandwidth");
  } catch (const error&) {  // a list of accelerators
    return "";
  }
}

/// "none feasible: the reason" or "all refused: the error", where no point has a result; else "".
/// The reason is that of the first infeasible point.
std::string failure_text(const sweep_request& r, const sweep_table& t) {
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::find(t.columns.begin(), t.columns.end(), name) -
                                    t.columns.begin());
  };
  const auto value = [&](const std::vector<cell>& row, std::size_t c) {
    return c < row.size() ? row[c] : cell();
  };
  const std::size_t error = column("error"), feasible = column("feasible");
  const std::vector<cell>* infeasible = nullptr;
  std::size_t refused = 0;
  const bool refusals_known = t.errors > 0 && feasible < t.columns.size();
  for (const auto& row : t.rows) {
    if (value(row, feasible) == cell(false)) {
      if (infeasible == nullptr) infeasible = &row;
    } else if (is_empty(value(row, feasible)) && (refusals_known || !is_empty(value(row, error)))) {
      ++refused;
    } else {
      return "";
    }
  }
  if (t.rows.empty()) return "";
  const bool none_refused = refused == 0;
  const std::vector<cell>& row = infeasible != nullptr ? *infeasible : t.rows[0];
  const std::size_t why = infeasible != nullptr ? column("reason") : error;
  std::string s = infeasible == nullptr ? ", all refused" : ", none feasible";
  if (infeasible != nullptr && !none_refused) s = cat(", ", refused, " of them refused", s);
  if (is_empty(value(row, why))) return s;
  const std::string reason = cell_text(row[why], t.units[why]);
  s += cat(": ", reason, missing_fabric(r, reason));
  return is_constant(t, why) ? s : s + cat(" (at ", place_text(t, row), ")");
}

std::string conclusion(const sweep_request& r, const sweep_table& t) {
  std::string s = cat(r.asked->name, ": ", count_text(t.points, "point"));
  if (const std::string failed = failure_text(r, t); !failed.empty()) return s + failed + ".";
  if (t.errors > 0) s += cat(", ", t.errors, " of them refused");
  if (!r.pareto.empty()) {
    s += cat(", ", t.rows.size(), " on the Pareto front of ");
    for (std::size_t i = 0; i < r.pareto.size(); ++i) {
      const sweep_goal g = parse_goal(r.pareto[i], t.columns);
      s += cat(i > 0 ? " and " : "", g.column, g.most ? " (most)" : " (least)");
    }
    return s + ".";
  }
  if (!r.best.empty()) {
    const sweep_goal g = parse_goal(r.best, t.columns);
    if (t.rows.empty()) return s + cat("; none has ", g.column, ".");
    const auto at = static_cast<std::size_t>(
        std::find(t.columns.begin(), t.columns.end(), g.column) - t.columns.begin());
    return s + cat(". ", r.best.starts_with("max:") ? "Most " : "Least ", g.column, ": ",
                   cell_text(t.rows[0][at], t.units[at]), " at ", place_text(t, t.rows[0]), ".");
  }
  const std::size_t of = main_column(t);
  const std::vector<cell>* least = nullptr;
  const std::vector<cell>* most = nullptr;
  std::size_t values = 0;
  for (const auto& row : t.rows) {
    const auto* x = of < row.size() ? std::get_if<double>(&row[of]) : nullptr;
    if (x == nullptr) continue;
    ++values;
    if (least == nullptr || *x < std::get<double>((*least)[of])) least = &row;
    if (most == nullptr || *x > std::get<double>((*most)[of])) most = &row;
  }
  if (values < t.rows.size() && of < t.columns.size())
    s += cat(", ", t.rows.size() - values, " without ", t.columns[of]);
  if (least == nullptr) return s + ".";
  return s + cat(". ", t.columns[of], ": least ", cell_text((*least)[of], t.units[of]), " at ",
                 place_text(t, *least), "; most ", cell_text((*most)[of], t.units[of]), " at ",
                 place_text(t, *most), ".");
}

/// Columns of the text in order of importance: the axes, the main result, what was asked for, the
/// other results; without those that are empty or the same in all rows.
std::vector<std::size_t> by_importance(const sweep_request& r, const sweep_table& t) {
  std::vector<std::size_t> all;
  const auto add = [&](std::size_t i) {
    if (i < t.columns.size() && std::find(all.begin(), all.end(), i) == all.end()) all.push_back(i);
  };
  const auto named = [&](std::string_view name) {
    return static_cast<std::size_t>(std::find(t.columns.begin(), t.columns.end(), name) -
                                    t.columns.begin());
  };
  for (std::size_t i = 0; i < t.axes; ++i) add(i);
  add(main_column(t));
  if (!r.best.empty()) add(named(parse_goal(r.best, t.columns).column));
  for (const std::string& p : r.pareto) add(named(parse_goal(p, t.columns).column));
  const bool one = t.rows.size() == 1;
  const auto worth = [&](std::size_t i) {
    return one ? !is_empty(t.rows[0][i]) : !t.rows.empty() && !is_constant(t, i);
  };
  if (named("error") < t.columns.size()) add(named("error"));
  if (named("feasible") < t.columns.size() && worth(named("feasible"))) add(named("feasible"));
  const auto is_energy = [&](std::size_t i) {
    return t.columns[i] == "power_w" || t.columns[i].starts_with("joules_");
  };
  for (const bool energy : {false, true}) {
    for (std::size_t i = t.axes; i < t.columns.size(); ++i) {
      if (is_energy(i) == energy && worth(i) && t.columns[i] != "reason") add(i);
    }
  }
  if (named("reason") < t.columns.size() && worth(named("reason"))) add(named("reason"));
  return all;
}

table_rows rows_of(const sweep_table& t, const std::vector<std::size_t>& columns,
                   std::size_t most) {
  table_rows rows(1);
  for (const std::size_t c : columns) rows[0].push_back(t.columns[c]);
  for (std::size_t i = 0; i < std::min(most, t.rows.size()); ++i) {
    auto& row = rows.emplace_back();
    for (const std::size_t c : columns) row.push_back(cell_text(t.rows[i][c], t.units[c]));
  }
  return rows;
}
std::string alignment(const sweep_table& t, const std::vector<std::size_t>& columns) {
  std::string align;
  for (const std::size_t c : columns) align += is_column_of_numbers(t, c) ? 'r' : 'l';
  return align.empty() ? "l" : align;
}

/// The first of the columns that fit a terminal, in the order of the table.
std::vector<std::size_t> fitting(const sweep_table& t, const std::vector<std::size_t>& columns) {
  const table_rows rows = rows_of(t, columns, most_lines);
  std::vector<std::size_t> kept;
  std::size_t width = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t longest = 0;
    for (const auto& row : rows) longest = std::max(longest, row[i].size());
    if (columns[i] >= t.axes && width + longest + 2 > terminal_columns) continue;
    width += longest + 2;
    kept.push_back(columns[i]);
  }
  // One end of an interval says nothing without the other.
  std::erase_if(kept, [&](std::size_t c) {
    const std::string& name = t.columns[c];
    if (!name.ends_with("_low")) return false;
    const std::string other = name.substr(0, name.size() - 4) + "_high";
    return std::ranges::none_of(kept, [&](std::size_t k) { return t.columns[k] == other; });
  });
  std::sort(kept.begin(), kept.end());
  return kept;
}

std::string constants_text(const sweep_table& t) {
  std::string s;
  if (t.rows.size() < 2) return s;
  for (std::size_t i = t.axes; i < t.columns.size(); ++i) {
    if (!is_constant(t, i) || is_empty(t.rows[0][i])) continue;
    s += cat(s.empty() ? "In all rows: " : ", ", t.columns[i], " ",
             cell_text(t.rows[0][i], t.units[i]));
  }
  return s.empty() ? s : wrapped(s + ".", 2);
}

json cell_json(const cell& c) {
  if (const auto* x = std::get_if<double>(&c)) return number_json("the value", *x);
  if (const auto* b = std::get_if<bool>(&c)) return *b;
  if (const auto* s = std::get_if<std::string>(&c)) return *s;
  return nullptr;
}

std::vector<std::size_t> all_columns(const sweep_table& t) {
  std::vector<std::size_t> all(t.columns.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

}  // namespace

std::string sweep_text(const sweep_request& r, const sweep_table& t) {
  std::string s = styled(text_style::bold, wrapped(conclusion(r, t), 0));
  if (t.rows.empty()) return s;
  const std::vector<std::size_t> wanted = by_importance(r, t);
  const std::vector<std::size_t> shown = r.wide ? all_columns(t) : fitting(t, wanted);
  s += headed_table(rows_of(t, shown, most_lines), alignment(t, shown));
  std::string notes;
  if (t.rows.size() > most_lines)
    notes += cat("  and ", count_text(t.rows.size() - most_lines, "row"), " more: --csv\n");
  if (!r.wide) notes += constants_text(t);
  if (shown.size() < wanted.size())
    notes +=
        cat("  ", count_text(wanted.size() - shown.size(), "column"), " more: --wide or --csv\n");
  return s + styled(text_style::dim, notes);
}

std::string sweep_json_text(const sweep_request& r, const sweep_table& t) {
  std::string s = "{";
  if (const auto id = r.base.find("id"); id != r.base.end())
    s += cat("\"id\":", write_json(*id), ",");
  s += cat("\"query\":", write_json(r.asked->name), ",\"points\":", t.points,
           ",\"errors\":", t.errors, ",\"columns\":", write_json(t.columns), ",\"rows\":[");
  for (std::size_t i = 0; i < t.rows.size(); ++i) {
    json row = json::array();
    for (const cell& c : t.rows[i]) row.push_back(cell_json(c));
    s += cat(i > 0 ? ",\n" : "\n", write_json(row));
  }
  return s + "]}\n";
}

std::string sweep_markdown(const sweep_table& t, bool wide) {
  std::vector<std::size_t> shown;
  for (const std::size_t c : all_columns(t)) {
    const bool same = t.rows.size() > 1 && is_constant(t, c);
    if (wide || c < t.axes || c == main_column(t) || !(t.rows.empty() || same)) shown.push_back(c);
  }
  return markdown(rows_of(t, shown, t.rows.size()), alignment(t, shown));
}

}  // namespace napkin
