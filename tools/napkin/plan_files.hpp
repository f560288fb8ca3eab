// napkin plan --save DIR: the scripts that start each row, and the commands that predict it again.
#pragma once

#include <string>

#include "planning.hpp"

namespace napkin {

/// Writes the rows of a plan into a folder: scripts of each row and engine, configuration files,
/// README.md and plan.json. The folder is created, or is empty, or holds an earlier plan, which is
/// replaced. Returns a sentence about it.
/// Errors: unreadable_file for a folder with other files, or one that cannot be written.
std::string save_plan(const std::string& folder, const planned& p, const json& request);

/// Command that predicts a row again: "napkin serving --model ... --json"; empty for a row that
/// `napkin serving` has no keys for.
std::string serving_command_of(const planned& p, std::size_t at, const json& request);

}  // namespace napkin
