// Runs at the bounds of the data sheets.
#include "policies.hpp"
#include "simulation_run.hpp"

namespace napkin {

perfmodel::simulation_result run_replicas_at_bounds(const perfmodel::deployment& d,
                                                    perfmodel::request_source& source,
                                                    const perfmodel::simulation_options& o) {
  return perfmodel::simulate(d, source, bound_mode{}, o);
}
perfmodel::simulation_result run_pools_at_bounds(const perfmodel::disaggregated& d,
                                                 perfmodel::request_source& source,
                                                 const perfmodel::simulation_options& o) {
  return perfmodel::simulate(d, source, bound_mode{}, bound_mode{}, o);
}

}  // namespace napkin
