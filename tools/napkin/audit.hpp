// Published numbers held against the laws: a claim in, a verdict out.
#pragma once

#include <string>
#include <vector>

#include "audit_slips.hpp"

namespace napkin {

/// Whether a line of a batch is a claim: its query is audit.
bool is_claim(const json& object);
/// The verdict on a claim: `quantity`, `key`, `value`, `unit`, and the keys of the query that quantity
/// names, beside them or in `conditions`. Of a list it takes those before it, and joins them.
/// docs/laws/audit.md.
json audit_json(const json& claim, const given_profile* profile = nullptr,
                earlier_claims* before = nullptr);
/// --quantity ridge --value 295 --unit FLOP/B ...: the claim that they say. A key of the quantity takes
/// its unit, as in the query itself.
json claim_from_command_line(const std::vector<std::string>& words);
std::string audit_text(const json& claim, const json& verdict);

}  // namespace napkin
