// Facts of this GPU.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "../../recording/product_names.hpp"
#include "checked.cuh"
#include "nvml.hpp"

namespace perfmodel::validation {

inline double attribute(cudaDeviceAttr which, int device = 0) {
  int v = 0;
  PERFMODEL_CUDA(cudaDeviceGetAttribute(&v, which, device));
  return static_cast<double>(v);
}

/// How many GPUs there are; 0, and why, where CUDA has none.
inline int gpu_count(std::string& why) {
  int n = 0;
  const cudaError_t status = cudaGetDeviceCount(&n);
  if (status != cudaSuccess) {
    why = cudaGetErrorString(status);
    (void)cudaGetLastError();
    return 0;
  }
  if (n == 0) why = "no CUDA device";
  return n;
}

inline device_description describe_device() {
  std::string why;
  cudaDeviceProp p{};
  PERFMODEL_CUDA(cudaGetDeviceProperties(&p, 0));
  device_description d;
  d.kind = "gpu";
  d.name = p.name;
  d.accelerator = catalogue_name(d.name);
  d.memory_bytes = static_cast<double>(p.totalGlobalMem);
  d.compute_capability = std::to_string(p.major) + "." + std::to_string(p.minor);
  d.sms = p.multiProcessorCount;
  d.gpus = gpu_count(why);
  d.l2_bytes = static_cast<double>(p.l2CacheSize);
  d.shared_memory_per_sm_bytes = static_cast<double>(p.sharedMemPerMultiprocessor);
  d.memory_bus_bits = p.memoryBusWidth;
  d.sm_clock_hz = 1e3 * attribute(cudaDevAttrClockRate);
  d.memory_clock_hz = 1e3 * attribute(cudaDevAttrMemoryClockRate);
  return d;
}

inline std::unique_ptr<nvml> open_nvml() {
  std::array<char, 32> address{};
  PERFMODEL_CUDA(cudaDeviceGetPCIBusId(address.data(), 32, 0));
  return std::make_unique<nvml>(address.data());
}

/// The driver as its own tools call it; without NVML, the CUDA version that it supports.
inline std::string driver_version(const nvml& n) {
  std::string v = n.driver();
  if (!v.empty()) return v;
  int cuda = 0;
  PERFMODEL_CUDA(cudaDriverGetVersion(&cuda));
  return "for CUDA " + std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
}

inline std::string toolkit_version() {
  int cuda = 0;
  PERFMODEL_CUDA(cudaRuntimeGetVersion(&cuda));
  return std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
}

}  // namespace perfmodel::validation
