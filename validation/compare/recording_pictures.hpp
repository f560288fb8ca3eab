// What recordings show: the roofline, bandwidth and latency over the working set, Little's law.
#pragma once

#include "report.hpp"

namespace perfmodel::validation {

/// In the order of the devices' names; a device has those pictures that it has points for.
std::vector<picture> recording_pictures(const std::vector<compared_recording>& all);

}  // namespace perfmodel::validation
