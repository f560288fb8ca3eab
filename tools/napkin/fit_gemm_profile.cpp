// The fit of a GEMM profile to measured latencies.
#include <perfmodel/tools/fit/calibrate_machine.hpp>

#include "fits.hpp"

namespace napkin {

perfmodel::machine_fit fit_gemm_profile(const perfmodel::accelerator& a,
                                        std::span<const perfmodel::gemm_measurement> rows,
                                        const perfmodel::machine_profile& shipped) {
  return perfmodel::fit_machine_from_prior(a, rows, shipped);
}

}  // namespace napkin
