// The commands of `napkin --help`, under headings.
#pragma once

#include <string>
#include <vector>

namespace napkin {

struct help_line {
  std::string name{}, help{};
};

/// Each command under the heading of what it is about, its help up to where a long one is cut after its first
/// clause. A command that no heading has stands under "More". Test: tests/cli/documented.sh: none does.
std::string grouped(const std::vector<help_line>& commands);

}  // namespace napkin
