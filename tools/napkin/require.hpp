// napkin require: the value of one fact of the accelerator that makes a target true.
#pragma once

#include <string>

#include "query_words.hpp"

namespace napkin {

/// {"query":"require", "of":{a request}, "targets":{"itl_s":0.01}}: for each numeric fact of the
/// accelerator the value nearest to its own at which all targets are met, all other facts as they
/// are. A target of a time is an upper limit, of a rate (_per_s) a lower one.
/// *Method*: 10 values per decade from the fact's own, better ones first, then bisection to 1e-9.
/// *Leaves out*: changes of two facts; physics that ties them (a clock and a peak).
/// *Test*: tests/cli/require.sh: the same request on an accelerator file with the value found.
json require_json(const json& object, const given_profile* profile = nullptr);
std::string require_text(const json& found);

/// The object of a command line: [QUERY] --itl 10ms --key value ...
struct require_line {
  json object{};
  std::string profile{};
  bool as_json = false;
};
require_line require_from_command_line(const std::vector<std::string>& words);

}  // namespace napkin
