// Sensitivity of a result: elasticities, crossovers of limiters or of two requests, and ranges of
// inputs.
#pragma once

#include <string>

#include "query.hpp"

namespace napkin {

/// Evaluates {"query":"sensitivity", "of":{a request}}: elasticities of its result (of `key`, by
/// default its time) in every fact of the accelerator and every number of the request, largest
/// first. With `crossover`, {"batch":[1,512]}, also the values where the limiter changes, or with
/// `against` (changed keys of a second request) where the two results are equal. With `what_if`,
/// {"dram.bandwidth":["3 TB/s","4 TB/s"]}, the range of the result. docs/laws/sensitivity.md.
/// Throws the errors of the request, and for an unknown key, range or number.
json sensitivity_json(const json& object, const given_profile* profile = nullptr);
std::string sensitivity_text(const json& object, const json& found);

/// Adds "batch=1..512" of the command line to an object of ranges.
void add_range(json& ranges, const char* option, std::string_view text);
/// Adds "accelerator=h200_sxm" of the command line to an object of keys.
void add_other(json& others, const query& asked, std::string_view text);

}  // namespace napkin
