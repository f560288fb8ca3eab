// What would have to be otherwise for a measurement below the bound to be possible.
#pragma once

#include "query.hpp"

namespace napkin {

/// Where a measurement is below the bound, adds which single assumption, changed, would make it possible: each
/// of a list of named ones is asked again as a bound (formats, warm L2, sparse peak, links counted both
/// ways, more ranks), and each size of the request is lessened until the bound meets the measurement.
void add_assumptions(outcome<>& answer, const query& asked, const json& object,
                     const given_profile* profile);

}  // namespace napkin
