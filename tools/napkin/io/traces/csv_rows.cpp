// Rows of CSV traces, with a header line and a comma, semicolon or tab between cells.
#include <algorithm>
#include <array>
#include <memory>

#include "rows.hpp"

namespace common::traces {

namespace {

constexpr std::size_t longest_row = std::size_t{1} << 20U;

class csv_reader : public row_reader {
 public:
  csv_reader(std::unique_ptr<line_reader> lines, const trace_file_options& options)
      : row_reader(lines->name(), options), lines_(std::move(lines)) {
    std::string_view header;
    if (!next_line(header)) {
      fail(1, code::missing_key, "the file is empty; it needs a header and rows");
    }
    read_header(header);
  }

  bool next(trace_row& row) override {
    std::string_view line;
    if (!next_line(line)) return false;
    row.clear();
    row.line = lines_->line();
    split_cells(line);
    if (cells_.size() != columns_.size()) {
      fail(row.line, error_code::inconsistent,
           cat(cells_.size(), " cells; the header has ", columns_.size()));
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (columns_[i].role == column_role::ignored) continue;
      set(row, columns_[i], names_[i], {.text = cells_[i]});
    }
    return true;
  }

 private:
  /// The next line that is neither empty nor a comment.
  bool next_line(std::string_view& line) {
    while (lines_->next(line)) {
      if (line.size() > longest_row) {
        lines_->fail(error_code::inconsistent,
                     cat("a line of ", line.size(), " bytes; allowed: at most 1 MiB in CSV"));
      }
      if (!line.empty() && line.front() != '#') return true;
    }
    return false;
  }

  void read_header(std::string_view header) {
    const auto count = [header](char c) { return std::count(header.begin(), header.end(), c); };
    for (const char c : {';', '\t'}) {
      if (count(c) > count(separator_)) separator_ = c;
    }
    split_cells(header);
    for (const std::string_view cell : cells_) {
      if (std::count(cells_.begin(), cells_.end(), cell) > 1) {
        fail(lines_->line(), error_code::inconsistent,
             cat("the column ", in_quotes(cell), " appears twice"));
      }
      names_.emplace_back(cell);
      columns_.push_back(column_of(cell));
    }
    drop_lower_priorities();
    require(column_role::input, "prompt lengths");
    require(column_role::output, "output lengths");
    if (!options().arrival_column.empty()) require(column_role::arrival, "arrival times");
  }
  /// Leaves one column per role.
  void drop_lower_priorities() {
    for (known_column& a : columns_) {
      for (const known_column& b : columns_) {
        if (&a != &b && a.role == b.role && b.priority < a.priority) a.role = column_role::ignored;
      }
    }
  }
  void require(column_role role, std::string_view what) const {
    for (const known_column& c : columns_) {
      if (c.role == role) return;
    }
    const bool named = role == column_role::arrival;
    fail(lines_->line(), code::missing_key,
         cat("there is no column of ", what,
             "; allowed: ", named ? options().arrival_column : known_names(role),
             "; columns here: ", shown(listed(names_), 300)));
  }

  /// Cells of a line, trimmed. Cells with quotes are copied.
  void split_cells(std::string_view line) {
    cells_.clear();
    if (line.find('"') != line.npos) {
      split_quoted(line);
      return;
    }
    for (;;) {
      const std::size_t end = line.find(separator_);
      cells_.push_back(trimmed(line.substr(0, end)));
      if (end == line.npos) return;
      line.remove_prefix(end + 1);
    }
  }
  void split_quoted(std::string_view line) {
    if (std::count(line.begin(), line.end(), '"') % 2 != 0) {
      fail(lines_->line(), error_code::inconsistent, "a quote is not closed in this line");
    }
    quoted_.assign(1, {});
    bool inside = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (c == '"' && inside && i + 1 < line.size() && line[i + 1] == '"') {
        quoted_.back() += line[++i];
      } else if (c == '"') {
        inside = !inside;
      } else if (c == separator_ && !inside) {
        quoted_.emplace_back();
      } else {
        quoted_.back() += c;
      }
    }
    for (const std::string& cell : quoted_) cells_.push_back(trimmed(cell));
  }
  static std::string_view trimmed(std::string_view cell) {
    while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
    while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.remove_suffix(1);
    return cell;
  }

  std::unique_ptr<line_reader> lines_;
  char separator_ = ',';
  std::vector<std::string> names_{};
  std::vector<known_column> columns_{};
  std::vector<std::string_view> cells_{};
  std::vector<std::string> quoted_{};
};

}  // namespace

std::unique_ptr<row_reader> csv_rows(std::unique_ptr<line_reader> lines,
                                     const trace_file_options& options) {
  return std::make_unique<csv_reader>(std::move(lines), options);
}

}  // namespace common::traces
