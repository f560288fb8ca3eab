// Number formats by their names in files.
#pragma once

#include <optional>
#include <perfmodel/hardware/number_format.hpp>

#include "table_file.hpp"

namespace common {

using perfmodel::number_format;

struct format_alias {
  std::string_view name;
  number_format is;
};
/// Names in PyTorch, vLLM and checkpoints, in lower case.
inline constexpr format_alias format_aliases[] = {
    {"bfloat16", perfmodel::bf16}, {"float16", perfmodel::fp16}, {"half", perfmodel::fp16},
    {"float32", perfmodel::fp32},  {"float8", perfmodel::fp8},   {"float8_e4m3fn", perfmodel::fp8},
    {"fp8_e4m3", perfmodel::fp8},  {"e4m3", perfmodel::fp8},     {"fp8_e5m2", perfmodel::fp8},
    {"e5m2", perfmodel::fp8},      {"nvfp4", perfmodel::fp4},    {"mxfp4", perfmodel::fp4},
    {"e2m1", perfmodel::fp4},      {"w4a16", perfmodel::int4}};

/// Format by its name in the catalogue or one of the aliases, in any case.
inline std::optional<number_format> find_format(std::string_view name) {
  const std::string small = lower_case(name);
  for (const number_format f : perfmodel::all_formats) {
    if (small == perfmodel::name_of(f)) return f;
  }
  for (const format_alias& a : format_aliases) {
    if (small == a.name) return a.is;
  }
  return {};
}
inline std::string format_names() {
  return cat(listed(perfmodel::all_formats, [](number_format f) { return name_of(f); }), ", ",
             listed(format_aliases, [](const format_alias& a) { return a.name; }));
}

/// Format of a table cell. Throws unknown_name.
inline number_format format_in(const table_row& r, std::string_view column) {
  const auto f = find_format(r.text(column));
  if (!f) r.refuse(error_code::unknown_name, column, format_names());
  return *f;
}

}  // namespace common
