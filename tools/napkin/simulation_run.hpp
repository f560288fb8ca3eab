// One run of a simulation, of replicas or of pools. Calibrated runs have a source each: their
// simulators take a compiler 0.3 GB.
#pragma once

#include <perfmodel/kernels/policy.hpp>
#include <perfmodel/serving/disaggregated.hpp>
#include <perfmodel/simulate.hpp>

namespace napkin {

/// perfmodel::simulate of replicas of one deployment.
perfmodel::simulation_result run_replicas(const perfmodel::deployment& d,
                                          perfmodel::request_source& source,
                                          const perfmodel::calibrated& policy,
                                          const perfmodel::simulation_options& o);
/// perfmodel::simulate of a prefill and a decode pool.
perfmodel::simulation_result run_pools(const perfmodel::disaggregated& d,
                                       perfmodel::request_source& source,
                                       const perfmodel::calibrated& prefill,
                                       const perfmodel::calibrated& decode,
                                       const perfmodel::simulation_options& o);
/// Both with each engine step at its bound.
perfmodel::simulation_result run_replicas_at_bounds(const perfmodel::deployment& d,
                                                    perfmodel::request_source& source,
                                                    const perfmodel::simulation_options& o);
perfmodel::simulation_result run_pools_at_bounds(const perfmodel::disaggregated& d,
                                                 perfmodel::request_source& source,
                                                 const perfmodel::simulation_options& o);

}  // namespace napkin
