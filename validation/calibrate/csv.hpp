// The cells of a published table.
#pragma once

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace published {

/// The cells of a row, and which row it is.
class table_row {
 public:
  table_row(std::vector<std::string> cells, std::string where)
      : cells_(std::move(cells)), where_(std::move(where)) {}
  std::size_t size() const { return cells_.size(); }
  /// Errors: out_of_range, with the row, where the table has no such column.
  const std::string& operator[](std::size_t column) const {
    if (column < cells_.size()) return cells_[column];
    throw std::out_of_range(where_ + ": there is no column " + std::to_string(column + 1));
  }

 private:
  std::vector<std::string> cells_;
  std::string where_;
};

/// The cells of every row below the header; none where the file cannot be opened. A row always has
/// as many cells as the header: cells left out at its end are empty.
inline std::vector<table_row> rows_of(const std::string& path) {
  std::vector<table_row> rows;
  std::ifstream in(path);
  std::string line;
  std::size_t columns = 0, number = 0;
  while (std::getline(in, line)) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<std::string> row;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    if (columns == 0) {
      columns = row.size();
      continue;
    }
    row.resize((std::max)(columns, row.size()));
    rows.emplace_back(std::move(row), path + ":" + std::to_string(number));
  }
  return rows;
}

}  // namespace published
