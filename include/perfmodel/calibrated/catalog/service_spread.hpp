// How services differ from the shipped profile of their engine.
#pragma once

#include <perfmodel/calibrated/service_posterior.hpp>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source own_services{
    basis::measured,
    "fitted to 68 services in ai-dynamo/aiconfigurator 095f58a5 and InferenceX (December 2025, "
    "Apache-2.0)"};
}  // namespace sources

/// Printed by validation/calibrate/fit_services.cpp: the spread of the parameters over 68 published
/// services of at least 8 runs (five models, H100, H200, B200; vLLM, SGLang, TensorRT-LLM), what is
/// left of their runs' errors, and how alike that is from service to service.
/// Tests: tests/property/own_services.cpp.
inline constexpr service_spread spread_between_services{
    .of = {0.0889, 578e-6, 5.42e-6, 0.202, 7.05e-3, 7.48},
    .token_noise = 0.0394,
    .first_token_noise = 0.0919,
    .noise_runs = 1.75,
    .from = &sources::own_services};

}  // namespace perfmodel::catalog
