// Two services held against each other by the largest rate of requests that each takes within targets.
#pragma once

#include <perfmodel/service/largest_rate.hpp>

namespace perfmodel {

/// Goodput of the same devices both ways: the largest rate within targets. Source of the term: Zhong et al.,
/// "DistServe", OSDI 2024.
template <Scalar T = double>
struct basic_goodput_estimate {
  request_rate<T> disaggregated{};
  request_rate<T> collocated{};

  /// Above 1 it pays; where only the pools meet the targets at all, infinity.
  constexpr double factor() const {
    const double apart = mid(disaggregated.value()), shared = mid(collocated.value());
    return shared > 0.0 ? apart / shared : (apart > 0.0 ? detail::infinity : 0.0);
  }
};
using goodput_estimate = basic_goodput_estimate<>;

}  // namespace perfmodel
