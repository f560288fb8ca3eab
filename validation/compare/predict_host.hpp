// The CPU that a host recording was made on.
#pragma once

#include <memory>
#include <vector>

#include "predict.hpp"

namespace perfmodel::validation {

/// A CPU is in no catalogue: what it reaches is fitted to a part of its own recordings. Null where
/// they are not all there.
std::shared_ptr<const host_fit> host_of(const device_description& d,
                                        const std::vector<recorded>& all);

/// By that fit: `fitted` marks the points that it has seen.
prediction predict_on_host(const question& q);

}  // namespace perfmodel::validation
