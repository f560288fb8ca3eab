// How services differ from the shipped profile of their engine.
#pragma once

#include <perfmodel/calibrated/service_posterior.hpp>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source own_services{
    basis::measured,
    "fitted to 73 services in ai-dynamo/aiconfigurator 095f58a5 and InferenceX (December 2025, "
    "Apache-2.0)"};
}  // namespace sources

/// Printed by validation/calibrate/fit_services.cpp: the spread of the parameters over 73 published
/// services of at least 8 runs (five models, H100, H200, B200; vLLM, SGLang, TensorRT-LLM), and what is
/// left of their runs' errors.
/// Tests: tests/property/own_services.cpp.
inline constexpr service_spread spread_between_services{
    .of = {0.0887, 552e-6, 11.4e-6, 0.229, 15.3e-3, 11.1},
    .token_noise = 0.0637,
    .first_token_noise = 0.173,
    .from = &sources::own_services};

}  // namespace perfmodel::catalog
