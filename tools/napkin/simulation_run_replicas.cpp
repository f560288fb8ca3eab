// Calibrated runs of replicas.
#include "simulation_run.hpp"

namespace napkin {

perfmodel::simulation_result run_replicas(const perfmodel::deployment& d,
                                          perfmodel::request_source& source,
                                          const perfmodel::calibrated& policy,
                                          const perfmodel::simulation_options& o) {
  return perfmodel::simulate(d, source, policy, o);
}

}  // namespace napkin
