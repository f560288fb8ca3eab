// The search of a plan by bounds.
#include "planning_search.hpp"

namespace napkin {

perfmodel::plan_result search_bounds(const perfmodel::plan_request& q, bool shows_progress) {
  return perfmodel::plan_bound(q, perfmodel::serial_executor(), progress_line(shows_progress));
}

}  // namespace napkin
