// What collectives were seen to reach on the fabrics of three accelerators, what engines' kernels
// are like, and what to take for a fabric that nobody measured.
#pragma once

#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/hardware/collective_profile.hpp>
#include <string_view>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source aic_collectives{
    basis::measured,
    "fitted to the NCCL and all-reduce latencies of ai-dynamo/aiconfigurator 095f58a5"};
inline constexpr source nvlink_default{
    basis::assumed,
    "H100's and H200's on NVLink; switches of NVLink 5 as NVIDIA/nccl issue 1807 (busbw 830 GB/s)"};
inline constexpr source pcie_default{
    basis::assumed,
    "hop from NVIDIA/nccl issue 1530 (8 RTX 4090: 42.14 us over 14 hops); 0.6 of the link; the "
    "launch of H100's"};
inline constexpr source network_default{
    basis::assumed, "hop as p2p_latency_s in aiconfigurator's system files; the rest as on NVLink"};
}  // namespace sources

