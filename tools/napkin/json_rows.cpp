#include "json_rows.hpp"

#include <algorithm>
#include <utility>

namespace napkin {

namespace {

using named_cells = std::vector<std::pair<std::string, cell>>;

cell cell_of(const json& v) {
  if (v.is_number()) return v.get<double>();
  if (v.is_boolean()) return v.get<bool>();
  if (v.is_string()) return v.get<std::string>();
  if (v.is_binary()) return write_json(v);  // an id
  return std::monostate{};
}

void flatten(const std::string& name, const json& v, named_cells& into) {
  if (v.is_object()) {
    if (const auto value = v.find("value"); value != v.end()) return flatten(name, *value, into);
    for (const auto& [member, x] : v.items())
      flatten(name.empty() ? member : cat(name, ".", member), x, into);
  } else if (v.is_array()) {
    if (!name.ends_with("interval_80_s") || v.size() != 2) return;
    into.emplace_back(name + "_low", cell_of(v[0]));
    into.emplace_back(name + "_high", cell_of(v[1]));
  } else {
    into.emplace_back(name, cell_of(v));
  }
}

/// The list that a result is about; null where it is one row.
const json* list_in(const json& result) {
  for (const char* name : {"frontier", "accelerators", "models"}) {
    const auto at = result.find(name);
    if (at != result.end() && at->is_array()) return &*at;
  }
  return nullptr;
}

}  // namespace

sweep_table table_of_json(const json& result) {
  std::vector<named_cells> all;
  if (const json* list = list_in(result)) {
    for (const json& item : *list) flatten("", item, all.emplace_back());
  } else {
    flatten("", result, all.emplace_back());
  }
  sweep_table t;
  for (const named_cells& row : all) {
    for (const auto& named : row) {
      if (std::find(t.columns.begin(), t.columns.end(), named.first) == t.columns.end())
        t.columns.push_back(named.first);
    }
  }
  t.units.resize(t.columns.size());
  for (const named_cells& row : all) {
    auto& cells = t.rows.emplace_back(t.columns.size());
    for (const auto& [name, value] : row) {
      const auto at = std::find(t.columns.begin(), t.columns.end(), name);
      cells[static_cast<std::size_t>(at - t.columns.begin())] = value;
    }
  }
  t.points = t.rows.size();
  return t;
}

std::string rows_text(const json& result, table_format format) {
  const sweep_table t = table_of_json(result);
  return format == table_format::csv ? csv_text(t) : sweep_markdown(t, true);
}

}  // namespace napkin
