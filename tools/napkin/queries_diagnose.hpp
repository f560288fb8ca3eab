// The query that takes what was measured of a pass.
#pragma once

#include "query.hpp"

namespace napkin {

query diagnose_query();

}  // namespace napkin
