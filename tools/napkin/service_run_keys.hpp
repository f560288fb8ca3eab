// Keys of a benchmark run of a service.
#pragma once

#include <vector>

#include "key.hpp"

namespace napkin {

/// Keys of `serving` that a run may have: as a column, or for all runs on the command line.
std::vector<key> run_keys();

}  // namespace napkin
