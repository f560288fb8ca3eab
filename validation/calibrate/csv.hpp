// The cells of a published table.
#pragma once

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace published {

/// The cells of every row below the header; none where the file cannot be opened. A row always has
/// as many cells as the header: cells left out at its end are empty.
inline std::vector<std::vector<std::string>> rows_of(const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream in(path);
  std::string line;
  std::size_t columns = 0;
  while (std::getline(in, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<std::string> row;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    if (columns == 0) {
      columns = row.size();
      continue;
    }
    row.resize((std::max)(columns, row.size()));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace published
