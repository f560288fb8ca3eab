// Keys of napkin plan.
#pragma once

#include "query.hpp"

namespace napkin {

/// Keys of `plan`; it is not a query, since its result has many points.
const query& plan_keys();

}  // namespace napkin
