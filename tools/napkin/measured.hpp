// What would have to be otherwise for a measurement below the bound to be possible.
#pragma once

#include "query.hpp"

namespace napkin {

/// Where a measurement is below the bound, adds which single assumption, changed, would make it possible: each
/// of a list of named ones is asked again as a bound (formats, warm L2, sparse peak, links counted both
/// ways, more ranks), and each size of the request is lessened until the bound meets the measurement.
void add_assumptions(outcome<>& answer, const query& asked, const json& object,
                     const given_profile* profile);

/// The same of a law whose bound a measurement beats: what is often counted otherwise (sparsity, a narrower
/// format, numbers of half the width, both directions), and each number of the request that alone would
/// make the measurement the bound.
void add_law_assumptions(outcome<>& answer, const query& asked, const json& object);

}  // namespace napkin
