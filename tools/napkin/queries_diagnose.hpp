// The diagnose query: measurements of an engine step in, bottleneck out.
#pragma once

#include "query.hpp"

namespace napkin {

query diagnose_query();

}  // namespace napkin
