// Tables in text: CSV, or TSV for a name ending in .tsv, with a header line.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>

#include "files.hpp"
#include "number_range.hpp"

namespace common {

namespace detail {

/// Cells of a line, trimmed; a quoted cell may contain separators.
inline std::vector<std::string> cells_of(std::string_view line, char separator) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool begins = cells.back().find_first_not_of(" \t") == std::string::npos;
    if (c == '"' && (quoted || begins)) {
      const bool doubled = quoted && i + 1 < line.size() && line[i + 1] == '"';
      if (!quoted) cells.back().clear();
      if (doubled) cells.back() += line[++i];
      if (!doubled) quoted = !quoted;
    } else if (c == separator && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  for (std::string& cell : cells) {
    cell.erase(cell.find_last_not_of(" \t\r") + 1);
    cell.erase(0, std::min(cell.find_first_not_of(" \t"), cell.size()));
  }
  return cells;
}

}  // namespace detail

/// Column names and the file they belong to.
struct table_header {
  std::string file{};
  std::vector<std::string> columns{};

  std::optional<std::size_t> find(std::string_view column) const {
    const auto at = std::find(columns.begin(), columns.end(), column);
    if (at == columns.end()) return {};
    return static_cast<std::size_t>(at - columns.begin());
  }
  [[noreturn]] void fail(error_code code, std::string_view what) const {
    throw error(code, cat(file, ":1: ", what));
  }
};

/// One row, with its cells by column name. A refusal reads: FILE:LINE: column is "cell"; allowed:
/// that.
class table_row {
 public:
  table_row(std::shared_ptr<const table_header> header, std::vector<std::string> cells, int line)
      : header_(std::move(header)), cells_(std::move(cells)), line_(line) {}

  const std::string& file() const { return header_->file; }
  int line() const { return line_; }
  [[noreturn]] void fail(error_code code, std::string_view what) const {
    throw error(code, cat(header_->file, ':', line_, ": ", what));
  }
  [[noreturn]] void refuse(error_code code, std::string_view column,
                           std::string_view allowed) const {
    fail(code, cat(column, " is ", in_quotes(text(column)), "; allowed: ", allowed));
  }
  /// Throws missing_key where the table has no such column.
  const std::string& text(std::string_view column) const {
    const auto at = header_->find(column);
    if (!at) header_->fail(code::missing_key, cat("there is no column ", column));
    return cells_[*at];
  }
  /// Whether the table has the column and the row has a value in it.
  bool has(std::string_view column) const {
    const auto at = header_->find(column);
    return at && !cells_[*at].empty();
  }
  /// Throws wrong_type, out_of_range.
  double number(std::string_view column, const number_range& allowed = {-1e30, 1e30}) const {
    const std::string& cell = text(column);
    double x = 0.0;
    const auto [end, failure] = std::from_chars(cell.data(), cell.data() + cell.size(), x);
    const bool too_large = failure == std::errc::result_out_of_range;
    if (!too_large && (failure != std::errc() || end != cell.data() + cell.size())) {
      refuse(code::wrong_type, column, allowed.allowed());
    }
    if (too_large || !allowed.holds(x)) {
      refuse(error_code::out_of_range, column, allowed.allowed());
    }
    return x;
  }
  double count(std::string_view column) const { return number(column, any_count); }
  int whole(std::string_view column) const {
    return static_cast<int>(number(column, {.least = 0.0, .most = 1e9, .whole = true}));
  }
  /// Seconds per unit of a time column, which is in microseconds unless its name says otherwise.
  double seconds(std::string_view column = "latency_us", double unit = 1e-6) const {
    return unit * number(column, {.least = 1e-12, .most = 1e9});
  }

 private:
  std::shared_ptr<const table_header> header_;
  std::vector<std::string> cells_;
  int line_ = 0;
};

struct table_file {
  std::shared_ptr<const table_header> header{};
  std::vector<table_row> rows{};

  auto begin() const { return rows.begin(); }
  auto end() const { return rows.end(); }
};

/// Rows of a text, without empty lines and lines that begin with #. Throws missing_key (no header),
/// inconsistent (duplicate name, row of another length).
inline table_file read_table(std::string_view text, const std::string& file) {
  const char separator = file.ends_with(".tsv") ? '\t' : ',';
  auto header = std::make_shared<table_header>();
  header->file = file;
  table_file out{header, {}};
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // byte-order mark of spreadsheets
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> cells = detail::cells_of(line, separator);
    if (header->columns.empty()) {
      header->columns = std::move(cells);
      for (const std::string& c : header->columns) {
        if (std::count(header->columns.begin(), header->columns.end(), c) > 1) {
          header->fail(error_code::inconsistent, cat("the column ", shown(c), " appears twice"));
        }
      }
      continue;
    }
    const std::size_t columns = header->columns.size(), found = cells.size();
    out.rows.emplace_back(header, std::move(cells), number);
    if (found != columns) {
      out.rows.back().fail(error_code::inconsistent,
                           cat(found, " cells; the header has ", columns));
    }
  }
  if (header->columns.empty()) {
    header->fail(code::missing_key, "the file is empty; it needs a header and rows");
  }
  return out;
}

inline constexpr std::uintmax_t largest_table = std::uintmax_t{64} << 20U;

/// A required table. Throws unreadable_file and the errors of read_table.
inline table_file read_table_file(std::string_view what, const std::string& path) {
  return read_table(read_text_file(what, path, largest_table), path);
}
/// An optional table: without rows where the file does not exist.
inline table_file read_table_if_there(const std::string& path) {
  if (!std::filesystem::exists(path)) return {};
  return read_table_file("table", path);
}

}  // namespace common
