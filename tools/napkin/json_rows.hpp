// A result as rows: CSV or a Markdown table of its JSON.
#pragma once

#include "sweep.hpp"

namespace napkin {

/// The rows of a result: its list of deployments (`frontier`), `accelerators` or `models`, else the
/// result itself as one row. Members of objects are columns with a dotted name, the two ends of an
/// interval columns with _low and _high; a fact with its source is its value. Other lists are left
/// out.
sweep_table table_of_json(const json& result);
/// The table in CSV or Markdown.
std::string rows_text(const json& result, table_format format);

}  // namespace napkin
