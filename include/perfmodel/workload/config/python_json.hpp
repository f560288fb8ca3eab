// JSON as Python's json module writes it: with Infinity and NaN, which JSON does not have.
#pragma once

#include <string>
#include <string_view>

namespace perfmodel {

/// The text with null in place of Infinity, -Infinity and NaN, but for those in strings.
/// Test: {"a": [0.0, Infinity], "b": "NaN"} keeps b.
inline std::string json_from_python(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\' && i + 1 < text.size()) {
      out += text[i++];
    } else if (text[i] == '"') {
      in_string = !in_string;
    } else if (!in_string) {
      bool replaced = false;
      for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
        if (!replaced && text.substr(i).starts_with(word)) {
          out += "null";
          i += word.size() - 1;
          replaced = true;
        }
      }
      if (replaced) continue;
    }
    out += text[i];
  }
  return out;
}

}  // namespace perfmodel
