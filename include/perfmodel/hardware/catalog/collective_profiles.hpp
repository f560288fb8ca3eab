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
    "a hop of 2 us, between NVLink's 0.8 and 2.7 through the host's memory (NVIDIA/nccl issue "
    "1530: 8 RTX 4090 sum in 42.14 us, 14 hops); 0.6 of the link; the launch of H100's"};
inline constexpr source network_default{
    basis::assumed, "hop as p2p_latency_s in aiconfigurator's system files; the rest as on NVLink"};
}  // namespace sources

// All values here: validation/calibrate/fit_collectives.cpp; a test fits them again.

/// NCCL's protocols where links keep 128 bytes together: NVLink.
inline constexpr collective_protocols nvlink_protocols{.low_latency_share = 0.0337,
                                                       .line_share = 0.374,
                                                       .doubling = 0.158,
                                                       .bulk_hop = 0.224,
                                                       .copy_rate = 2.74,
                                                       .in_network_wait = 4.22};
/// Over PCIe there is no line protocol (NCCL, src/graph/tuning.cc), and half of what low latency
/// sends are flags. Assumed: it fills the slow link but for those; a copy on the card takes what it
/// takes on H100 (2.74 x 0.767 x 450 GB/s, 50 times 0.6 of a x16 link); a hop in bulk is a hop; the
/// rest is as on NVLink.
inline constexpr collective_protocols pcie_protocols{.low_latency_share = 0.5,
                                                     .line_share = 0.0,
                                                     .doubling = 0.158,
                                                     .bulk_hop = 1.0,
                                                     .copy_rate = 50.0,
                                                     .in_network_wait = 4.22};

/// vLLM's kernels, and SGLang's up to 0.5.10: ranks meet in a barrier before and after.
inline constexpr custom_kernels barrier_kernels{};
/// TensorRT-LLM's kernels, and SGLang's from 0.5.14 on: flags travel with the data.
inline constexpr custom_kernels flag_kernels{.name = "flags", .floor_share = 0.686};

inline constexpr collective_profile collectives_a100_sxm{
    .name = "a100_sxm",
    .value = {.launch = 8.88 * us,
              .hop = 0.808 * us,
              .bulk_wait = 25.8 * us,
              .link_share = 0.690,
              .in_network_share = 0.0,
              .custom_floor = 5.28 * us,
              .custom_share = 0.539,
              .host_launch = 43.3 * us},
    .standard_error = {.launch = 0.13 * us,
                       .hop = 0.027 * us,
                       .bulk_wait = 1.2 * us,
                       .link_share = 0.0084,
                       .in_network_share = 0.0,
                       .custom_floor = 0.073 * us,
                       .custom_share = 0.014,
                       .host_launch = 0.46 * us},
    .protocols = nvlink_protocols,
    .spread = 0.12,
    .from = &sources::aic_collectives};
/// The last three are H200's: the same die, links and kernels, not measured.
inline constexpr collective_profile collectives_h100_sxm{
    .name = "h100_sxm",
    .value = {.launch = 4.69 * us,
              .hop = 0.761 * us,
              .bulk_wait = 15.9 * us,
              .link_share = 0.767,
              .in_network_share = 0.589,
              .custom_floor = 4.17 * us,
              .custom_share = 0.590,
              .host_launch = 21.5 * us},
    .standard_error = {.launch = 0.075 * us,
                       .hop = 0.018 * us,
                       .bulk_wait = 0.75 * us,
                       .link_share = 0.0094,
                       .in_network_share = 0.026,
                       .custom_floor = 0.050 * us,
                       .custom_share = 0.011,
                       .host_launch = 0.20 * us},
    .protocols = nvlink_protocols,
    .spread = 0.12,
    .from = &sources::aic_collectives};
inline constexpr collective_profile collectives_h200_sxm{
    .name = "h200_sxm",
    .value = {.launch = 4.50 * us,
              .hop = 0.852 * us,
              .bulk_wait = 15.8 * us,
              .link_share = 0.780,
              .in_network_share = 0.607,
              .custom_floor = 4.17 * us,
              .custom_share = 0.590,
              .host_launch = 21.5 * us},
    .standard_error = {.launch = 0.075 * us,
                       .hop = 0.019 * us,
                       .bulk_wait = 0.75 * us,
                       .link_share = 0.0097,
                       .in_network_share = 0.030,
                       .custom_floor = 0.050 * us,
                       .custom_share = 0.011,
                       .host_launch = 0.20 * us},
    .protocols = nvlink_protocols,
    .spread = 0.12,
    .from = &sources::aic_collectives};

/// The fitted profile of an accelerator of this name on its own fabric; null where nobody measured.
constexpr const collective_profile* find_collective_profile(std::string_view accelerator_name) {
  if (accelerator_name == "a100_sxm_80gb" || accelerator_name == "a100_sxm_40gb")
    return &collectives_a100_sxm;
  for (const collective_profile* p : {&collectives_h100_sxm, &collectives_h200_sxm}) {
    if (accelerator_name == p->name.view()) return p;
  }
  return nullptr;
}

/// A fabric never measured, from its link alone.
///   NVLink and its like: Hopper's times and shares. Faster links (above 450 GB/s one way) reach
///   0.527 of theirs in the switches: busbw 830 GB/s / 1.75 of 900. Spread: what A100 strays
///   from Hopper's profile.
///   PCIe: a hop of 2 us, between peers' 0.8 on NVLink and 2.7 through the host's memory; shares of
///   0.6 and spread assumed; an all-reduce kernel of two ranks waits one hop longer than on NVLink.
///   Networks: hop 10 us, the rest as on NVLink, spread assumed.
/// No standard errors. Test: a fabric of twice the bandwidth takes half as long in the limit.
constexpr collective_profile collective_profile_of(const interconnect& link) {
  collective_profile p = collectives_h100_sxm;
  p.standard_error = {};
  p.name = name_of(link.kind);
  p.from = &sources::nvlink_default;
  p.spread = 0.43;
  if (link.bandwidth.quantity() > 450.0 * GB_per_s) p.value.in_network_share = 830.0 / 1.75 / 900.0;
  if (link.kind == link_kind::pcie) {
    p.value.hop = 2.0 * us;
    p.value.link_share = 0.6;
    p.value.in_network_share = 0.0;
    p.value.custom_floor = p.value.custom_floor + p.value.hop;
    p.value.custom_share = 0.6;
    p.protocols = pcie_protocols;
    p.from = &sources::pcie_default;
    p.spread = 0.5;
  } else if (link.kind == link_kind::infiniband || link.kind == link_kind::ethernet) {
    p.value.hop = 10.0 * us;
    p.value.in_network_share = 0.0;
    p.from = &sources::network_default;
    p.spread = 0.6;
  }
  return p;
}
/// The fitted profile where there is one, else the default of its fabric.
constexpr collective_profile collective_profile_of(const accelerator& a) {
  const collective_profile* p = find_collective_profile(a.name.view());
  return p != nullptr ? *p : collective_profile_of(a.fabric);
}

}  // namespace perfmodel::catalog
