// The search of a plan by bounds.
#include "planning_search.hpp"

namespace napkin {

perfmodel::plan_result search_bounds(const perfmodel::plan_request& q, const thread_pool& threads,
                                     bool shows_progress) {
  return perfmodel::plan_bound(q, threads, progress_line(shows_progress));
}

}  // namespace napkin
