// Assumptions under which a measurement beyond its bound would be possible.
#pragma once

#include "query.hpp"

namespace napkin {

/// Adds, for a measurement below the bound, each single assumption that would make it possible.
/// Named assumptions are evaluated again as a bound (formats, warm L2, sparse peak, bidirectional
/// links, more ranks). Each size of the request is reduced until the bound meets the measurement.
void add_assumptions(outcome<>& answer, const query& asked, const json& object,
                     const given_profile* profile);

/// Adds such assumptions for a measurement beyond a law's bound. Alternatives are common other
/// counts (sparsity, smaller formats, numbers of half the size, both directions), and the value of
/// each number that would make the measurement the bound.
void add_law_assumptions(outcome<>& answer, const query& asked, const json& object);

}  // namespace napkin
