// The search of a plan by predictions.
#include "planning_search.hpp"

namespace napkin {

perfmodel::plan_result search_predictions(const perfmodel::plan_request& q,
                                          const std::vector<plan_calibration>& calibrations,
                                          bool shows_progress) {
  return perfmodel::plan(q, policy_of(calibrations), perfmodel::serial_executor(),
                         progress_line(shows_progress));
}

}  // namespace napkin
