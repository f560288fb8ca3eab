// Checks every call of CUDA, cuBLASLt and NCCL: a failure is a measurement_error, never a number.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "../../recording/recording.hpp"

namespace perfmodel::validation {

[[noreturn]] inline void fail_call(const char* call, const char* reason, const char* file,
                                   int line) {
  std::string text = file;
  text.append(":").append(std::to_string(line)).append(": ").append(call).append(": ");
  throw measurement_error(text.append(reason));
}

inline void check_cuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status != cudaSuccess) fail_call(call, cudaGetErrorString(status), file, line);
}

}  // namespace perfmodel::validation

#define PERFMODEL_CUDA(call) ::perfmodel::validation::check_cuda((call), #call, __FILE__, __LINE__)

/// After a launch: what the launch itself said. What the kernel did wrong shows at the next wait.
#define PERFMODEL_LAUNCHED(kernel) \
  ::perfmodel::validation::check_cuda(cudaGetLastError(), kernel, __FILE__, __LINE__)
