// A machine profile as a file: what `napkin calibrate` writes and --profile reads.
#pragma once

#include <memory>
#include <perfmodel/analysis/scores.hpp>
#include <string>

#include "key.hpp"
#include "profiles.hpp"

namespace napkin {

/// The file's content. `source` says what the profile was fitted to.
json profile_file_json(const perfmodel::machine_profile& p, const std::string& source,
                       const perfmodel::prediction_score& held_out);

/// Reads a profile, every field checked. Throws unreadable_file, malformed_request, missing_key,
/// unknown_key, wrong_type, out_of_range, unknown_name and unknown_accelerator, with the file's
/// name.
std::unique_ptr<given_profile> read_profile(const std::string& path);

/// Throws inconsistent where `accelerators`, a list with commas, does not name the profile's.
void check_profile_of(const given_profile& p, std::string_view accelerators);

}  // namespace napkin
