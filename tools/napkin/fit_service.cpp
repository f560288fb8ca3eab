// The fit of engine parameters to runs of a service.
#include <perfmodel/kernels/catalog/uncertainty.hpp>
#include <perfmodel/tools/fit/calibrate_service.hpp>

#include "fits.hpp"

namespace napkin {

perfmodel::service_calibration fit_service(std::span<const perfmodel::service_run> runs,
                                           const perfmodel::calibrated& shipped) {
  return perfmodel::calibrate_service(runs, shipped,
                                      perfmodel::catalog::variation_between_services);
}

}  // namespace napkin
