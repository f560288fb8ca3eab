// Tables of test data: tab-separated, a line of column names first.
#pragma once

#include <cstddef>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace perfmodel_test {

using tsv_row = std::map<std::string, std::string>;

struct tsv {
  std::vector<std::string> columns;
  std::vector<tsv_row> rows;
};

inline std::vector<std::string> split_tabs(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == '\t') {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

/// `path` is relative to the repository. Throws where the file or a cell is missing.
inline tsv read_tsv(const std::string& path) {
  std::ifstream file(std::string(PERFMODEL_SOURCE_DIR "/") + path);
  std::string line;
  if (!std::getline(file, line)) throw std::runtime_error("cannot read " + path);
  tsv table;
  table.columns = split_tabs(line);
  while (std::getline(file, line)) {
    if (line.empty()) continue;
    const std::vector<std::string> cells = split_tabs(line);
    if (cells.size() != table.columns.size())
      throw std::runtime_error(path + ": a row of another length: " + line);
    tsv_row& row = table.rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) row[table.columns[i]] = cells[i];
  }
  return table;
}

inline double number(const std::string& text) {
  std::size_t used = 0;
  const double x = std::stod(text, &used);
  if (used != text.size()) throw std::runtime_error("not a number: " + text);
  return x;
}

}  // namespace perfmodel_test
