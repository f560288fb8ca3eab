// The fits of `napkin calibrate`. Their sources include nothing else: Eigen and the laws that they
// differentiate take a compiler 0.75 GB.
#pragma once

#include <perfmodel/kernels/policy.hpp>
#include <perfmodel/tools/fit/machine_fit.hpp>
#include <perfmodel/tools/fit/service_calibration.hpp>
#include <perfmodel/tools/fit/service_run.hpp>
#include <span>

namespace napkin {

/// perfmodel::fit_machine_from_prior.
perfmodel::machine_fit fit_gemm_profile(const perfmodel::accelerator& a,
                                        std::span<const perfmodel::gemm_measurement> rows,
                                        const perfmodel::machine_profile& shipped);

/// perfmodel::calibrate_service, with the variation between the published services as its prior.
perfmodel::service_calibration fit_service(std::span<const perfmodel::service_run> runs,
                                           const perfmodel::calibrated& shipped);

}  // namespace napkin
