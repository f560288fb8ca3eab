// What an answer hangs on: elasticities of it, where its limit or a winner changes, and ranges of inputs.
#pragma once

#include <string>

#include "query.hpp"

namespace napkin {

/// Whether a line of a batch asks for it.
bool asks_sensitivity(const json& object);

/// {"query":"sensitivity", "of":{a request}}: elasticities of its answer (of `key`, by default its time)
/// in every fact of the accelerator and every number of the request, largest first. With `crossover`,
/// {"batch":[1,512]}, where the limiter changes, or with `against` (keys that a second request has
/// otherwise) where the two answers are equal. With `what_if`, {"dram.bandwidth":["3 TB/s","4 TB/s"]},
/// the range of the answer over these. docs/laws/sensitivity.md.
/// Throws as the request does, and for an unknown key, range or number.
json sensitivity_json(const json& object, const given_profile* profile = nullptr);
std::string sensitivity_text(const json& object, const json& found);

/// "batch=1..512" of the command line, into an object of ranges.
void add_range(json& ranges, const char* option, std::string_view text);
/// "accelerator=h200_sxm" of the command line.
void add_other(json& others, const query& asked, std::string_view text);

}  // namespace napkin
