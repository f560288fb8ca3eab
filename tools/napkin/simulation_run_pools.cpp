// Calibrated runs of a prefill and a decode pool.
#include "simulation_run.hpp"

namespace napkin {

perfmodel::simulation_result run_pools(const perfmodel::disaggregated& d,
                                       perfmodel::request_source& source,
                                       const perfmodel::calibrated& prefill,
                                       const perfmodel::calibrated& decode,
                                       const perfmodel::simulation_options& o) {
  return perfmodel::simulate(d, source, prefill, decode, o);
}

}  // namespace napkin
