// Service profiles as files: written by `napkin calibrate --runs`, read by --profile.
#pragma once

#include <perfmodel/tools/fit/service_calibration.hpp>

#include "key.hpp"
#include "profiles.hpp"

namespace napkin {

/// File content of a service profile. `shipped` is the engine before the runs, `accelerator` its
/// name or its file, and `source` names the fitted runs.
json service_profile_json(const own_service& of, const std::string& accelerator,
                          const std::string& source, const perfmodel::engine_profile& shipped,
                          const perfmodel::service_calibration& found);

/// Whether a profile is of a service, by its schema.
bool is_service_profile(const json_field& file);
/// Reads the content, every field checked. Throws the errors of read_profile.
void parse_service_profile(const json_field& file, given_profile& into);

/// A parameter's name in the file, with its unit: step_cpu_time_s.
std::string file_key(perfmodel::service_parameter p);

}  // namespace napkin
