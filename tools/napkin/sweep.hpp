// Sweeps: one query at every point of a grid of keys and facts, as a table.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "io/figure.hpp"
#include "sweep_axes.hpp"

namespace napkin {

/// Value of one column at one point; monostate where the point has none.
using cell = std::variant<std::monostate, double, bool, std::string>;

/// A swept query. Columns are the axes in the order of --over, then the keys of the result.
struct sweep_table {
  std::vector<std::string> columns{};
  std::vector<perfmodel::unit_exponents> units{};  ///< unit of each column, if any
  std::size_t axes = 0;                            ///< leading columns that are axes
  std::vector<std::vector<cell>> rows{};
  std::uint64_t errors = 0;  ///< number of refused points
  std::uint64_t points = 0;  ///< points evaluated, of which `rows` may be a selection
};

/// Output format of a table.
enum class table_format { text, csv, json, markdown };
/// Throws unknown_name.
table_format parse_format(std::string_view word);

/// Reduction of a table: the best row, or the rows that no other row dominates.
struct sweep_goal {
  std::string column{};
  bool most = false;  ///< whether more is better
};
struct sweep_request {
  const query* asked = nullptr;
  json base = json::object();  ///< request without the axes
  const given_profile* profile = nullptr;
  std::vector<sweep_axis> axes{};
  std::uint64_t shard = 1, shards = 1;
  int threads = 0;  ///< 0: one per core
  table_format format = table_format::text;
  bool wide = false;
  std::string best{};                 ///< column, or max:column; "" for all rows
  std::vector<std::string> pareto{};  ///< columns, each with min: or max: where it is given
  bool progress = false;              ///< progress on stderr
  bool mpi = false;
  std::string plot{};  ///< file of a figure, or text; "" for none
};

/// The table of a sweep, or of its shard, with all its rows, or with those of best and pareto.
/// Rows, columns and errors are the same for any number of threads.
///
/// Columns are those of the results at the corners of the grid and at 64 further points of it (of
/// simulations at two), so that all shards have the same columns.
///
/// Errors: the error of the first point where every one of these points is refused; unknown_name
/// for a column of best or pareto; out_of_range above 10^6 rows.
sweep_table swept(const sweep_request& r);

/// Runs a sweep and writes its table; CSV row by row. Returns whether no point was refused.
bool run_sweep(const sweep_request& r, std::ostream& out);

/// The column of a --best or --pareto and its direction. Without min: or max: a rate, a share of a
/// peak, a gain and a capacity are better when larger, a time, cost and size when smaller.
sweep_goal parse_goal(std::string_view text, const std::vector<std::string>& columns);

/// The table as text: the conclusion, then the columns that fit 100 characters, or all of them.
std::string sweep_text(const sweep_request& r, const sweep_table& t);
/// {"query", "points", "errors", "columns": [names], "rows": [[cells]]}.
std::string sweep_json_text(const sweep_request& r, const sweep_table& t);
std::string csv_text(const sweep_table& t);
/// The times of the rows, or their first number, over the last axis: a line per combination of the
/// other axes. Throws inconsistent where no column is a number.
figure sweep_figure(const sweep_table& t);
std::string sweep_markdown(const sweep_table& t, bool wide);

}  // namespace napkin
