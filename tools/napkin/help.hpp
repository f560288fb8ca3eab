// Commands of `napkin --help`, under headings.
#pragma once

#include <string>
#include <vector>

namespace napkin {

struct help_line {
  std::string name{}, help{};
};

/// Commands under the headings of their subjects, each with the first clause of its help where that
/// is long. A command without a heading is listed under "More". Test: tests/cli/documented.sh:
/// there is none.
std::string grouped(const std::vector<help_line>& commands);

/// Text with the lines that end in a colon and are not indented in bold.
std::string with_bold_headings(const std::string& text);

/// The whole help text, or its first clause where it is long.
std::string first_clause(const std::string& help);

/// Page of `napkin` alone: ten commands and an example.
std::string first_page();

}  // namespace napkin
