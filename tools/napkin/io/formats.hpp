// Number formats by the names that files have for them.
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
/// What PyTorch calls them.
inline constexpr std::array<format_alias, 4> format_aliases = {{{"bfloat16", perfmodel::bf16},
                                                                {"float16", perfmodel::fp16},
                                                                {"half", perfmodel::fp16},
                                                                {"float32", perfmodel::fp32}}};

/// A format by its name in the catalogue, or by PyTorch's.
inline std::optional<number_format> find_format(std::string_view name) {
  for (const number_format f : perfmodel::all_formats) {
    if (name == perfmodel::name_of(f)) return f;
  }
  for (const format_alias& a : format_aliases) {
    if (name == a.name) return a.is;
  }
  return {};
}
inline std::string format_names() {
  return cat(listed(perfmodel::all_formats, [](number_format f) { return name_of(f); }), ", ",
             listed(format_aliases, [](const format_alias& a) { return a.name; }));
}

/// Of a cell. Throws unknown_name.
inline number_format format_in(const table_row& r, std::string_view column) {
  const auto f = find_format(r.text(column));
  if (!f) r.refuse(error_code::unknown_name, column, format_names());
  return *f;
}

}  // namespace common
