// Results as one JSON object, or as text for people.
#pragma once

#include <optional>
#include <perfmodel/core/error.hpp>
#include <string>
#include <vector>

#include "io/line_text.hpp"
#include "query.hpp"

namespace napkin {

/// id (where the request has one), the results, mode, and for a time limiter, terms, feasible and
/// reason. Throws out_of_range where a result is not finite.
json outcome_json(const outcome<>& answer, const json& request);
/// The lines of results of requests that differ in numbers, one after the other.
struct result_line {
  line_text text{};
  known_members members{};
  std::optional<std::vector<std::string>> not_read{};  ///< fields of the model files
};
/// Writes the text of outcome_json, with binary facts as they are. False where two members have
/// the same key.
bool write_outcome(result_line& out, const outcome<>& answer, const json& request);
/// Adds the bounds, interval_80_s and profile of a calibrated result.
void note_json(json& out, const calibrated_note& note);
/// {"id":..., "line":N, "error":{"code":..., "message":...}}
/// Message of an error of the library, with the names of a request for those of C++.
std::string message_of(const perfmodel::error& e);
json error_json(const perfmodel::error& e, const json& id, std::size_t line);
/// {"inputs":[...], "steps":[...]}.
json derivation_json(const perfmodel::derivation& d);

/// "gemm: accelerator h100_sxm, m 1, n 8192": the request.
std::string headline(const query& asked, const json& object);
std::string outcome_text(const query& asked, const outcome<>& answer, const json& request);
std::string explanation_text(const query& asked, const explanation& e, const json& request);
/// "of attention:", above the first step of a part; "" where the previous step has the same part.
std::string part_line(const std::string& part, std::string& before);

/// "12.3 %", with three digits.
std::string share_text(double share);

/// "B/s", "FLOP/B": the text of a unit; "" for a plain number.
std::string unit_text(const perfmodel::unit_exponents& unit);

}  // namespace napkin
