// Printed text: joined parts, numbers with digits, names in messages, tables.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdio>
#include <perfmodel/core/error.hpp>
#include <perfmodel/units/text.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace common {

namespace detail {
inline void append(std::string& to, std::string_view text) {
  to.append(text);
}
inline void append(std::string& to, char c) {
  to += c;
}
template <std::integral Number>
  requires(!std::same_as<Number, bool> && !std::same_as<Number, char>)
void append(std::string& to, Number n) {
  to.append(std::to_string(n));
}
inline void append(std::string& to, double x) {
  to.append(perfmodel::detail::number_text(x));
}
}  // namespace detail

/// The parts joined: text, whole numbers, and numbers to six digits.
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

/// "a, b, c", of names or of the values of name(entry).
template <class Entries, class Name>
std::string listed(const Entries& entries, Name name) {
  std::string list;
  for (const auto& e : entries) list.append(list.empty() ? "" : ", ").append(name(e));
  return list;
}
template <class Names>
std::string listed(const Names& names) {
  return listed(names, [](std::string_view name) { return name; });
}

/// The items of a list.
inline std::vector<std::string_view> split(std::string_view list, char separator) {
  std::vector<std::string_view> items;
  for (std::size_t end = 0; end != list.npos; list.remove_prefix(end + 1)) {
    end = list.find(separator);
    items.push_back(list.substr(0, end));
    if (end == list.npos) break;
  }
  return items;
}

/// Text on one line of at most `longest` characters: control characters become blanks.
inline std::string shown(std::string_view text, std::size_t longest = 60) {
  std::string s(text.substr(0, longest));
  for (char& c : s) {
    if (static_cast<unsigned char>(c) < 0x20U || c == '\x7f') c = ' ';
  }
  return text.size() > longest ? s.append("...") : s;
}
inline std::string one_line(std::string_view text) {
  return shown(text, text.size());
}
inline std::string in_quotes(std::string_view text) {
  return cat('"', shown(text), '"');
}

/// "12.35": a fixed number of decimals; from 1e15 on with an exponent. No "-0.0".
inline std::string fixed(double x, int decimals) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), std::abs(x) < 1e15 ? "%.*f" : "%.*e", decimals, x);
  std::string s(text.data());
  if (s.front() == '-' && s.find_first_not_of("-0.") == std::string::npos) s.erase(0, 1);
  return s;
}
/// "12.3 %": one decimal.
inline std::string percent(double share) {
  return cat(fixed(100.0 * share, 1), " %");
}
/// "12 %": no decimal.
inline std::string whole_percent(double share) {
  return cat(fixed(100.0 * share, 0), " %");
}
/// "+12.3 %".
inline std::string signed_percent(double share) {
  const std::string s = percent(share);
  return cat(s.front() == '-' ? "" : "+", s);
}

inline std::string lower_case(std::string_view text) {
  std::string s(text);
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

using table_rows = std::vector<std::vector<std::string>>;

/// Rows of cells in columns, two blanks before each. `align` has l or r for a column; its last
/// letter applies to the columns after it.
inline std::string table(const table_rows& rows, std::string_view align) {
  const auto right = [align](std::size_t i) {
    return align[i < align.size() ? i : align.size() - 1] == 'r';
  };
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    if (row.size() > widths.size()) widths.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i].size() > widths[i]) widths[i] = row[i].size();
    }
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - row[i].size(), ' ');
      line += right(i) ? cat("  ", gap, row[i]) : cat("  ", row[i], gap);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

/// Columns of a terminal.
inline constexpr std::size_t terminal_columns = 100;
/// Drops columns, in the order of their headers in `expendable`, until the table fits a terminal.
/// Returns whether any was dropped.
inline bool drop_columns(table_rows& rows, std::string& align,
                         const std::vector<std::string_view>& expendable) {
  const auto fits = [&] {
    const std::string text = table(rows, align);
    std::size_t longest = 0, begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
      longest = std::max(longest, end - begin);
    return longest <= terminal_columns;
  };
  bool dropped = false;
  for (const std::string_view name : expendable) {
    if (fits()) break;
    const auto found = std::find(rows[0].begin(), rows[0].end(), name);
    if (found == rows[0].end()) continue;
    const auto at = found - rows[0].begin();
    for (auto& row : rows) row.erase(row.begin() + at);
    align.erase(static_cast<std::size_t>(at), 1);
    dropped = true;
  }
  return dropped;
}

/// Rows as a Markdown table; the first row is the header.
inline std::string markdown(const table_rows& rows, std::string_view align) {
  std::string out;
  for (const auto& row : rows) {
    out += "|";
    for (const std::string& cell : row) {
      out += " ";
      for (const char c : cell) out += c == '|' ? std::string("\\|") : std::string(1, c);
      out += " |";
    }
    out += "\n";
    if (&row != &rows.front()) continue;
    out += "|";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += align[i < align.size() ? i : align.size() - 1] == 'r' ? "---:|" : "---|";
    }
    out += "\n";
  }
  return out;
}

}  // namespace common
