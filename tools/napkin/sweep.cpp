#include "sweep.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <ostream>

#include "sweep_mpi.hpp"
#include "sweep_rows.hpp"
#include "thread_pool.hpp"

namespace napkin {

namespace {

constexpr std::uint64_t most_table_rows = 1'000'000;  ///< rows of a table in memory

/// Whether the larger of two values of a column is better. An axis is a demand that costs, except
/// for the load that is served.
bool more_is_better(std::string_view column) {
  const auto has = [&](std::string_view part) { return column.find(part) != column.npos; };
  if (column == "requests_per_s" || column == "concurrency" || column == "batch") return true;
  if (has("error") || has("bytes_per_token") || has("needed") || column.ends_with("_s_low"))
    return false;
  for (const std::string_view part :
       {"per_s", "per_usd", "per_joule", "speedup", "gain", "mfu", "mbu", "sequences", "blocks",
        "emitted_tokens", "flop_per_byte", "cache_hit", "utilization", "available", "efficiency"})
    if (has(part)) return true;
  return column == "tokens" || column.ends_with("_tokens_per_s");
}

/// All columns of a table, and where the errors go.
struct table_columns {
  std::vector<std::string> names{};
  std::vector<result_column> results{};
  std::size_t axes = 0;
  std::size_t error = npos;  ///< column of the errors; without one, that of the reasons
  bool own_error = false;
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  explicit table_columns(const sweep_request& r) : axes(r.axes.size()) {
    sweep_columns found = columns_of(r);
    results = std::move(found.results);
    own_error = found.errors;
    for (const sweep_axis& a : r.axes) names.push_back(a.name);
    for (const result_column& c : results) {
      const std::string name = c.text();
      const bool taken = std::find(names.begin(), names.end(), name) != names.end();
      if (name == "reason") error = names.size();
      names.push_back(taken ? cat("answer.", name) : name);
    }
    if (own_error) {
      error = names.size();
      names.push_back("error");
    }
  }
};

void append_number(std::string& to, double x) {
  std::array<char, 40> text{};
  constexpr double exact = 9007199254740992.0;  // 2^53
  const auto end =
      std::fabs(x) < exact && x == std::floor(x)
          ? std::to_chars(text.data(), text.data() + text.size(), static_cast<std::int64_t>(x))
          : std::to_chars(text.data(), text.data() + text.size(), x);
  to.append(text.data(), end.ptr);
}
/// A field of CSV, in quotes where RFC 4180 asks for them.
void append_text(std::string& to, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) {
    to += text;
    return;
  }
  to += '"';
  for (const char c : text) to.append(c == '"' ? 2 : 1, c);
  to += '"';
}
void append_cell(std::string& to, const cell_view& c) {
  switch (c.kind) {
    case cell_view::kind_of::none: return;
    case cell_view::kind_of::number: return append_number(to, c.number);
    case cell_view::kind_of::flag: to += c.number != 0.0 ? "true" : "false"; return;
    case cell_view::kind_of::text: return append_text(to, c.text);
  }
}
cell_view view_of(const json& v) {
  if (v.is_number()) return {cell_view::kind_of::number, v.get<double>(), {}};
  if (v.is_boolean()) return {cell_view::kind_of::flag, v.get<bool>() ? 1.0 : 0.0, {}};
  return {cell_view::kind_of::text, 0.0, v.get_ref<const std::string&>()};
}
cell_view view_of(const cell& c) {
  if (const auto* x = std::get_if<double>(&c)) return {cell_view::kind_of::number, *x, {}};
  if (const auto* b = std::get_if<bool>(&c)) return {cell_view::kind_of::flag, *b ? 1.0 : 0.0, {}};
  if (const auto* s = std::get_if<std::string>(&c)) return {cell_view::kind_of::text, 0.0, *s};
  return {};
}

/// Evaluates the points of a range in order. `emit` receives the place on the axes, the cells of
/// the results and the error, "" where there is none.
template <class Emit>
void for_each_point(const sweep_request& r, const table_columns& columns, point_range range,
                    Emit emit) {
  point_evaluator evaluator(r);
  std::vector<std::size_t> place = place_of(r.axes, range.first);
  std::vector<cell_view> cells;
  for (std::uint64_t i = 0; i < range.count; ++i) {
    std::string failure;
    try {
      place_cells(evaluator.at(place), columns.results, cells);
    } catch (const std::exception& e) {  // a refused point does not affect the others
      failure = refusal_text(e);
      cells.assign(columns.results.size(), {});
    }
    if (columns.own_error) cells.push_back({});
    if (!failure.empty() && columns.error != table_columns::npos)
      cells[columns.error - columns.axes] = {cell_view::kind_of::text, 0.0, failure};
    emit(place, cells, failure);
    for (std::size_t a = place.size(); a-- > 0;) {  // the last axis varies fastest
      if (++place[a] < r.axes[a].values.size()) break;
      place[a] = 0;
    }
  }
}

/// Results of a block of points.
struct block {
  std::string csv{};
  std::vector<std::vector<cell>> rows{};
  std::uint64_t errors = 0;
  std::string first_error{};
};

/// Progress on a terminal.
class sweep_progress {
 public:
  sweep_progress(bool shown, std::uint64_t all) : shown_(shown), all_(all) {}
  void at(std::uint64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (!shown_ || now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    std::cerr << cat("\rnapkin: ", done, " of ", all_, " points (", 100 * done / all_, " %)")
              << std::flush;
    written_ = true;
  }
  ~sweep_progress() {
    if (written_) std::cerr << "\r\033[K" << std::flush;
  }
  sweep_progress(const sweep_progress&) = delete;
  sweep_progress& operator=(const sweep_progress&) = delete;

 private:
  bool shown_ = false, written_ = false;
  std::uint64_t all_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Evaluates a range on all threads, and hands its blocks over in order.
template <class Collect>
void run_blocks(const sweep_request& r, const table_columns& columns, point_range range, bool csv,
                Collect collect) {
  if (range.count == 0) return;
  const thread_pool pool(r.threads);
  const std::uint64_t threads = thread_count(r.threads);
  // Long enough to begin seldom, short enough for all threads to end together.
  const std::uint64_t size = std::clamp<std::uint64_t>(range.count / (threads * 16), 1, 2048);
  const std::uint64_t blocks = (range.count + size - 1) / size;
  std::vector<std::vector<std::string>> axis_texts;  // of each value, written once
  if (csv) {
    for (const sweep_axis& a : r.axes) {
      auto& texts = axis_texts.emplace_back();
      for (const json& v : a.values) append_cell(texts.emplace_back(), view_of(v));
    }
  }
  sweep_progress progress(r.progress, range.count);
  const auto evaluate = [&](std::size_t i, bool) {
    block b;
    const std::uint64_t first = range.first + i * size;
    const std::uint64_t count = std::min(size, range.first + range.count - first);
    for_each_point(r, columns, {first, count},
                   [&](const auto& place, const auto& cells, const std::string& failure) {
                     if (!failure.empty() && b.errors++ == 0) b.first_error = failure;
                     if (csv) {
                       for (std::size_t a = 0; a < place.size(); ++a) {
                         if (a > 0) b.csv += ',';
                         b.csv += axis_texts[a][place[a]];
                       }
                       for (const cell_view& c : cells) {
                         b.csv += ',';
                         append_cell(b.csv, c);
                       }
                       b.csv += '\n';
                       return;
                     }
                     auto& row = b.rows.emplace_back();
                     row.reserve(place.size() + cells.size());
                     for (std::size_t a = 0; a < place.size(); ++a)
                       row.push_back(view_of(r.axes[a].values[place[a]]).owned());
                     for (const cell_view& c : cells) row.push_back(c.owned());
                   });
    return b;
  };
  pool(static_cast<std::size_t>(blocks), evaluate, [&](std::size_t i, block b) {
    progress.at(std::min(range.count, (i + 1) * size));
    collect(std::move(b));
    return false;
  });
}

std::string header_of(const std::vector<std::string>& names) {
  std::string s;
  for (const std::string& name : names) {
    if (!s.empty()) s += ',';
    append_text(s, name);
  }
  return s + "\n";
}

/// Keeps the best row, or the rows that no other dominates; all rows without a goal.
class row_selection {
 public:
  row_selection(const sweep_request& r, const std::vector<std::string>& columns) {
    best_ = !r.best.empty();
    if (best_) goals_.push_back(parse_goal(r.best, columns));
    if (best_ && !r.best.starts_with("max:")) goals_[0].most = false;
    for (const std::string& p : r.pareto) goals_.push_back(parse_goal(p, columns));
    for (const sweep_goal& g : goals_) {
      const auto at = std::find(columns.begin(), columns.end(), g.column);
      at_.push_back(static_cast<std::size_t>(at - columns.begin()));
    }
  }
  bool keeps_all() const { return goals_.empty(); }

  void add(std::vector<cell>&& row, std::vector<std::vector<cell>>& rows) {
    if (goals_.empty()) return rows.push_back(std::move(row));
    std::vector<double> costs;  // less is better
    for (std::size_t i = 0; i < goals_.size(); ++i) {
      const auto* x = std::get_if<double>(&row[at_[i]]);
      if (x == nullptr) return;  // infeasible, or an error
      costs.push_back(goals_[i].most ? -*x : *x);
    }
    const auto dominates = [&](const std::vector<double>& a, const std::vector<double>& b) {
      bool less = false;
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] > b[i]) return false;
        less = less || a[i] < b[i];
      }
      return less || best_;  // of equally good rows the first is the best
    };
    for (const auto& known : costs_) {
      if (dominates(known, costs)) return;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < costs_.size(); ++i) {
      if (dominates(costs, costs_[i])) continue;
      if (kept != i) {
        costs_[kept] = std::move(costs_[i]);
        rows[kept] = std::move(rows[i]);
      }
      ++kept;
    }
    costs_.resize(kept);
    rows.resize(kept);
    costs_.push_back(std::move(costs));
    rows.push_back(std::move(row));
  }

 private:
  bool best_ = false;
  std::vector<sweep_goal> goals_{};
  std::vector<std::size_t> at_{};
  std::vector<std::vector<double>> costs_{};
};

/// The points of this shard, and of this rank where several share it.
point_range range_of(const sweep_request& r, int rank, int ranks) {
  point_range range = shard_of(points_of(r.axes), r.shard, r.shards);
  const point_range part = shard_of(range.count, static_cast<std::uint64_t>(rank) + 1,
                                    static_cast<std::uint64_t>(ranks));
  return {range.first + part.first, part.count};
}

void require_rows(const row_selection& selection, std::uint64_t count) {
  if (!selection.keeps_all() || count <= most_table_rows) return;
  throw error(error_code::out_of_range,
              cat("over gives ", count, " rows; allowed: up to ", most_table_rows,
                  " outside of CSV; or --csv, --best, --pareto, --shard"));
}

void report_error(const std::string& first) {
  std::cerr << cat("napkin: a point is refused: ", first, "\n");
}

sweep_table table_of(const sweep_request& r, const table_columns& columns, sweep_ranks& ranks) {
  sweep_table t;
  t.columns = columns.names;
  t.axes = columns.axes;
  for (const sweep_axis& a : r.axes) t.units.push_back(a.unit);
  for (const result_column& c : columns.results) t.units.push_back(c.unit);
  t.units.resize(t.columns.size());
  row_selection selection(r, t.columns);
  const point_range whole = range_of(r, 0, 1);
  require_rows(selection, whole.count);
  t.points = whole.count;
  run_blocks(r, columns, range_of(r, ranks.rank(), ranks.size()), false, [&](block b) {
    for (auto& row : b.rows) selection.add(std::move(row), t.rows);
    if (b.errors > 0 && t.errors == 0 && columns.error == table_columns::npos)
      report_error(b.first_error);
    t.errors += b.errors;
  });
  ranks.gather(t, [&](std::vector<cell>&& row) { selection.add(std::move(row), t.rows); });
  return t;
}

}  // namespace

table_format parse_format(std::string_view word) {
  if (word == "table" || word == "text") return table_format::text;
  if (word == "csv") return table_format::csv;
  if (word == "json") return table_format::json;
  if (word == "md" || word == "markdown") return table_format::markdown;
  throw error(error_code::unknown_name,
              cat("format is ", in_quotes(one_line(word)), "; allowed: table, csv, json, md"));
}

sweep_goal parse_goal(std::string_view text, const std::vector<std::string>& columns) {
  const bool most = text.starts_with("max:"), least = text.starts_with("min:");
  const std::string_view column = most || least ? text.substr(4) : text;
  if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
    std::vector<std::string_view> names(columns.begin(), columns.end());
    throw error(error_code::unknown_name,
                cat(in_quotes(one_line(column)), " is not a column of this sweep; did you mean ",
                    nearest(column, names), "? allowed: ", listed(names)));
  }
  return {std::string(column), most || (!least && more_is_better(column))};
}

sweep_table swept(const sweep_request& r) {
  sweep_ranks alone(false);
  return table_of(r, table_columns(r), alone);
}

std::string csv_text(const sweep_table& t) {
  std::string s = header_of(t.columns);
  for (const auto& row : t.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) s += ',';
      append_cell(s, view_of(row[i]));
    }
    s += '\n';
  }
  return s;
}

bool run_sweep(const sweep_request& r, std::ostream& out) {
  sweep_ranks ranks(r.mpi);
  const table_columns columns(r);
  if (r.format != table_format::csv || !r.best.empty() || !r.pareto.empty() || !r.plot.empty()) {
    const sweep_table t = table_of(r, columns, ranks);
    if (ranks.rank() != 0) return true;
    out << (r.format == table_format::csv        ? csv_text(t)
            : r.format == table_format::json     ? sweep_json_text(r, t)
            : r.format == table_format::markdown ? sweep_markdown(t, r.wide)
                                                 : sweep_text(r, t));
    if (!r.plot.empty()) out << write_figure(sweep_figure(t), r.plot);
    return t.errors == 0;
  }
  std::string later;  // of another rank than the first, until that asks for it
  std::uint64_t errors = 0;
  if (ranks.rank() == 0) out << header_of(columns.names);
  run_blocks(r, columns, range_of(r, ranks.rank(), ranks.size()), true, [&](const block& b) {
    if (ranks.rank() == 0) {
      out << b.csv;
    } else {
      later += b.csv;
    }
    if (b.errors > 0 && errors == 0 && columns.error == table_columns::npos)
      report_error(b.first_error);
    errors += b.errors;
  });
  errors = ranks.append(later, errors, [&](std::string_view text) { out << text; });
  return ranks.rank() != 0 || errors == 0;
}

}  // namespace napkin
