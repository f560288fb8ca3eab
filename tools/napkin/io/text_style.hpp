// Bold, dim and red text at a terminal.
#pragma once

#include <algorithm>

#include "text.hpp"

namespace common {

enum class text_style { bold, dim, red };

/// Whether text for people has escape sequences. Off unless the program writes to a terminal.
inline bool& has_styles() {
  static bool on = false;
  return on;
}

/// Text without escape sequences while it exists: for files, and for lines that are cut.
class plain_text {
 public:
  plain_text() : before_(has_styles()) { has_styles() = false; }
  ~plain_text() { has_styles() = before_; }
  plain_text(const plain_text&) = delete;
  plain_text& operator=(const plain_text&) = delete;

 private:
  bool before_;
};

/// Each line of a text in a style. Styles are added after a text is laid out: they take no columns.
inline std::string styled(text_style style, std::string_view text) {
  if (!has_styles()) return std::string(text);
  constexpr const char* begins[] = {"\x1b[1m", "\x1b[2m", "\x1b[1;31m"};
  std::string out;
  for (std::size_t end = 0; !text.empty(); text.remove_prefix(end)) {
    end = std::min(text.find('\n'), text.size() - 1) + 1;
    const bool ends = text[end - 1] == '\n';
    const std::string_view line = text.substr(0, ends ? end - 1 : end);
    if (!line.empty()) out += cat(begins[static_cast<int>(style)], line, "\x1b[0m");
    if (ends) out += '\n';
  }
  return out;
}

/// A text with its first line and the lines that continue it, which are indented, in a style.
inline std::string with_styled_sentence(text_style style, const std::string& text) {
  if (!has_styles() || text.empty()) return text;
  std::size_t end = 0;
  do {
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  } while (text.compare(end, 4, "    ") == 0);
  return styled(style, text.substr(0, end)) + text.substr(end);
}

/// A table with bold lines: the header, and the row at `best`, unless that is 0.
inline std::string headed_table(const table_rows& rows, std::string_view align,
                                std::size_t best = 0) {
  const std::string text = table(rows, align);
  if (!has_styles()) return text;
  std::string out;
  std::size_t begin = 0;
  for (std::size_t i = 0; begin < text.size(); ++i) {
    const std::size_t end = text.find('\n', begin) + 1;
    const std::string line = text.substr(begin, end - begin);
    out += i == 0 || i == best ? styled(text_style::bold, line) : line;
    begin = end;
  }
  return out;
}

}  // namespace common
