// Machine profiles as files: written by `napkin calibrate`, read by --profile.
#pragma once

#include <memory>
#include <perfmodel/tools/fit/scores.hpp>
#include <string>

#include "key.hpp"
#include "profiles.hpp"

namespace napkin {

/// File content of a profile. `accelerator` is its name or its file; `source` names the fitted
/// data.
json profile_file_json(const perfmodel::machine_profile& p, const std::string& accelerator,
                       const std::string& source, const perfmodel::prediction_score& held_out);

/// Reads a profile, every field checked. Throws unreadable_file, malformed_request, missing_key,
/// unknown_key, wrong_type, out_of_range, unknown_name and unknown_accelerator, with the file's
/// name.
std::unique_ptr<given_profile> read_profile(const std::string& path);

}  // namespace napkin
