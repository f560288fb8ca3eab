// Completion scripts of shells, and the man page, from the tables of commands, keys and catalogues.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace napkin {

struct option_entry {
  std::vector<std::string> names{};  ///< --input-tokens, --isl
  std::string help{};
  bool is_flag = false;
  std::vector<std::string> values{};  ///< allowed words, or names of the catalogue
};
struct command_entry {
  std::string name{}, help{};
  std::vector<option_entry> options{};
  bool of_queries = false;  ///< followed by the name of a query: explain, sensitivity
};

/// Completion script: bash, zsh or fish. Throws unknown_name for another shell.
std::string completion_text(std::string_view shell, const std::vector<command_entry>& commands);
/// Man page in section 1.
/// *Test*: tests/cli/man_page.sh: groff reads it without a warning; each command is in it.
std::string man_text(const std::vector<command_entry>& commands);

/// Values of an option of a command: the words of the query's key, or catalogue names; none else.
std::vector<std::string> values_of_option(const std::string& command, const std::string& option);

}  // namespace napkin
