// JSON values of trace files, with the file and line in errors.
#pragma once

#include <napkin/io/json.hpp>
#include <string>
#include <string_view>

#include "lines.hpp"

namespace common::traces {

/// Calls `read`; its errors begin with the file and the last line.
template <class Read>
auto at_last_line(const line_reader& lines, Read read) {
  try {
    return read();
  } catch (const error& e) {
    lines.fail(e.code(), e.what());
  }
}

/// The JSON value of a line. Throws malformed_request.
inline json parse_json(const line_reader& lines, std::string_view text) {
  return at_last_line(lines, [text] {
    json value;
    read_json(text, value, {.keys = 4096});
    return value;
  });
}

}  // namespace common::traces
