// The one number of a point: the median of its samples.
#pragma once

#include <perfmodel/tools/fit/scores.hpp>

#include "../recording/recording.hpp"

namespace perfmodel::validation {

inline double median_of(const point& p) {
  return perfmodel::detail::quantile(p.samples, 0.5);
}

}  // namespace perfmodel::validation
