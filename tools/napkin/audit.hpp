// Published numbers compared with the laws: a claim in, a verdict out.
#pragma once

#include <string>
#include <vector>

#include "audit_errors.hpp"

namespace napkin {

/// Whether a line of a batch is a claim: its query is audit.
bool is_claim(const json& object);
/// Replaces the numbers of a claim's value by their text in its line: 2.00 has three digits.
void keep_digits(json& claim, std::string_view line);
/// The verdict on a claim: `quantity`, `key`, `value`, `unit`, and the keys of the named query, at
/// top level or in `conditions`. In a list of claims the verdict uses the earlier claims, and the
/// claim is appended. docs/laws/audit.md.
json audit_json(const json& claim, const given_profile* profile = nullptr,
                earlier_claims* before = nullptr);
/// Claim of the command line: --quantity ridge --value 295 --unit FLOP/B ... A key of the quantity
/// accepts its unit, as in the query itself.
json claim_from_command_line(const std::vector<std::string>& words);
std::string audit_text(const json& claim, const json& verdict);

}  // namespace napkin
