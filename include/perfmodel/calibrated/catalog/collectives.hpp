// What collectives were seen to reach on the fabrics of three accelerators, what engines' kernels
// are like, and what to take for a fabric that nobody measured.
#pragma once

#include <perfmodel/calibrated/catalog/transfer.hpp>
#include <perfmodel/calibrated/collective_profile.hpp>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source aic_collectives{
    basis::measured,
    "fitted to the NCCL and all-reduce latencies of ai-dynamo/aiconfigurator 095f58a5"};
inline constexpr source nvlink_default{basis::assumed, "H100's and H200's, on any NVLink"};
inline constexpr source nvlink5_public{
    basis::measured,
    "fitted to tables of B200, B300 and GB300: A4 GPU Testbed on GKE; google/dranet; vLLM pull "
    "requests 37756 and 42324; an OCI GB300 guide. What they do not show is Hopper's"};
inline constexpr source pcie_public{
    basis::measured,
    "hop, rate and two sockets fitted to tables of RTX PRO 6000, A100 and A800 PCIe and RTX 4090: "
    "gardenlinux issue 4556; flashinfer pull request 5023; Omni-Infinity; rtx6kpro; sglang pull "
    "request 32479; NVIDIA/nccl issue 1530; vLLM issue 50576; SimuMax. The rest is Hopper's"};
inline constexpr source infinity_fabric_borrowed{
    basis::assumed, "Hopper's times and shares of NVLink: nobody published AMD's collectives"};
inline constexpr source network_default{
    basis::assumed, "hop as p2p_latency_s in aiconfigurator's system files; the rest as on NVLink"};
}  // namespace sources

// All values here: validation/calibrate/fit_collectives.cpp; a test fits them again. Their spread
// is that of engines' kernels held out, 0.17; NCCL's is 0.085.

/// NCCL's protocols where links keep 128 bytes together: NVLink.
inline constexpr collective_protocols nvlink_protocols{.ll_share = 0.0337,
                                                       .ll128_share = 0.374,
                                                       .launch_growth_per_log2_rank = 0.158,
                                                       .simple_hop = 0.224,
                                                       .copy_rate = 2.74,
                                                       .in_network_wait = 4.22};
/// Over PCIe there is no LL128 (NCCL, src/graph/tuning.cc), and half of what LL
/// sends are flags: it fills the slow link but for those (NCCL on 4 RTX PRO 6000, 64 to 512 KiB:
/// 10 GB/s of 20; gardenlinux issue 4556). Servers have four cards below a socket: more of them
/// take 1.6 times as long for a hop and for a byte. Assumed: a copy on the card takes what it takes
/// on H100 (2.74 x 0.767 x 450 GB/s, 50 times what NCCL sends); a hop in Simple is a hop; the rest is
/// as on NVLink.
inline constexpr collective_protocols pcie_protocols{.ll_share = 0.5,
                                                     .launch_growth_per_log2_rank = 0.158,
                                                     .simple_hop = 1.0,
                                                     .copy_rate = 50.0,
                                                     .in_network_wait = 4.22,
                                                     .cross_socket_factor = 1.60,
                                                     .ranks_per_socket = 4};

/// vLLM's kernels, and SGLang's up to 0.5.10: ranks meet in a barrier before and after.
inline constexpr engine_all_reduce_kernels barrier_kernels{};
/// TensorRT-LLM's kernels, and SGLang's from 0.5.14 on: flags travel with the data.
inline constexpr engine_all_reduce_kernels flag_kernels{.name = "flags", .floor_share = 0.686};

inline constexpr collective_profile collectives_a100_sxm{
    {.name = "a100_sxm_80gb",
     .donor = &a100_sxm_80gb,
     .value = {.launch = 8.88 * us,
               .hop = 0.808 * us,
               .simple_wait = 25.8 * us,
               .link_share = 0.690,
               .engine_all_reduce_floor = 5.28 * us,
               .engine_all_reduce_share = 0.539,
               .host_launch = 43.3 * us},
     .standard_error = {.launch = 0.13 * us,
                        .hop = 0.027 * us,
                        .simple_wait = 1.2 * us,
                        .link_share = 0.0084,
                        .engine_all_reduce_floor = 0.073 * us,
                        .engine_all_reduce_share = 0.014,
                        .host_launch = 0.46 * us},
     .log_sigma = 0.17,
     .from = &sources::aic_collectives},
    nvlink_protocols};
/// The last three are H200's: the same die, links and kernels, not measured.
inline constexpr collective_profile collectives_h100_sxm{
    {.name = "h100_sxm",
     .donor = &h100_sxm,
     .value = {.launch = 4.69 * us,
               .hop = 0.761 * us,
               .simple_wait = 15.9 * us,
               .link_share = 0.767,
               .in_network_share = 0.589,
               .engine_all_reduce_floor = 4.17 * us,
               .engine_all_reduce_share = 0.590,
               .host_launch = 21.5 * us},
     .standard_error = {.launch = 0.075 * us,
                        .hop = 0.018 * us,
                        .simple_wait = 0.75 * us,
                        .link_share = 0.0094,
                        .in_network_share = 0.026,
                        .engine_all_reduce_floor = 0.050 * us,
                        .engine_all_reduce_share = 0.011,
                        .host_launch = 0.20 * us},
     .log_sigma = 0.17,
     .from = &sources::aic_collectives},
    nvlink_protocols};
inline constexpr collective_profile collectives_h200_sxm{
    {.name = "h200_sxm",
     .donor = &h200_sxm,
     .value = {.launch = 4.50 * us,
               .hop = 0.852 * us,
               .simple_wait = 15.8 * us,
               .link_share = 0.780,
               .in_network_share = 0.607,
               .engine_all_reduce_floor = 4.17 * us,
               .engine_all_reduce_share = 0.590,
               .host_launch = 21.5 * us},
     .standard_error = {.launch = 0.075 * us,
                        .hop = 0.019 * us,
                        .simple_wait = 0.75 * us,
                        .link_share = 0.0097,
                        .in_network_share = 0.030,
                        .engine_all_reduce_floor = 0.050 * us,
                        .engine_all_reduce_share = 0.011,
                        .host_launch = 0.20 * us},
     .log_sigma = 0.17,
     .from = &sources::aic_collectives},
    nvlink_protocols};

/// NVLink 5, from public tables: the link is twice as quick as Hopper's, and everything before it
/// streams takes longer. host_launch is H200's. engine_all_reduce_floor is the geometric mean of
/// H200's and of the 6.50(15) us of vLLM's kernels on six B300: TensorRT-LLM's serving runs on B200 scale as if
/// it were H200's. Spread: of tables left out, one at a time; one table alone shows messages below
/// 512 KiB, and without it they are 70 % off.
inline constexpr collective_profile collectives_nvlink5{
    {.name = "NVLink 5",
     .value = {.launch = 8.27 * us,
               .hop = 1.19 * us,
               .simple_wait = 42.6 * us,
               .link_share = 0.773,
               .in_network_share = 0.540,
               .engine_all_reduce_floor = 5.2 * us,
               .engine_all_reduce_share = 0.636,
               .host_launch = 21.5 * us},
     .standard_error = {.launch = 0.80 * us,
                        .hop = 0.15 * us,
                        .simple_wait = 3.9 * us,
                        .link_share = 0.023,
                        .in_network_share = 0.029,
                        .engine_all_reduce_floor = 0.0 * us,
                        .engine_all_reduce_share = 0.017,
                        .host_launch = 0.0 * us},
     .log_sigma = 0.52,
     .from = &sources::nvlink5_public},
    nvlink_protocols};

/// A fabric never measured, from its link alone.
///   NVLink and its like: Hopper's times and shares; those of NVLink 5 where the link is quicker
///   than 450 GB/s one way. Spread: what A100 strays from Hopper's profile.
///   PCIe: a hop of 1.61 us; NCCL's channels carry 20 GB/s, generation 4's and 5's alike, and never
///   more than 0.66 of the link; an all-reduce kernel of two ranks waits one hop longer than on
///   NVLink and reaches 0.6 of the link (rtx6kpro: 0.55; sglang-V100 pull request 2: 0.62).
///   Spread: 0.27 on tables left out, stated wider, for servers differ.
///   Infinity Fabric: Hopper's, without additions in a switch, at any rate; spread assumed.
///   Networks: hop 10 us, the rest as on NVLink, spread assumed.
/// Tests: a fabric of twice the bandwidth takes half as long in the limit; public tables.
constexpr collective_profile collective_profile_of(const interconnect& l) {
  const bool pcie = l.kind == link_kind::pcie;
  const bool network = l.kind == link_kind::infiniband || l.kind == link_kind::ethernet;
  const bool amd = l.kind == link_kind::infinity_fabric;
  if (!pcie && !network && !amd && l.bandwidth.quantity() > 450.0 * GB_per_s) {
    return collectives_nvlink5;
  }
  collective_profile p = collectives_h100_sxm;
  p.donor = nullptr;
  p.standard_error = {};
  p.name = name_of(l.kind);
  p.from = &sources::nvlink_default;
  p.log_sigma = 0.43;
  if (amd) {
    p.value.in_network_share = {};  // no switch adds
    p.from = &sources::infinity_fabric_borrowed;
    p.log_sigma = 0.6;
  } else if (pcie) {
    p.value.hop = 1.61 * us;
    p.standard_error.hop = 0.12 * us;
    // 20.0 GB/s; a link of no bandwidth has no share, and is refused elsewhere.
    const double channels = 20.0 * GB_per_s / max(l.bandwidth.quantity(), 1.0 * byte_per_s);
    p.value.link_share = channels < 0.66 ? channels : 0.66;
    p.standard_error.link_share = 0.033 * p.value.link_share;
    p.value.in_network_share = {};
    p.value.engine_all_reduce_floor = p.value.engine_all_reduce_floor + p.value.hop;
    p.value.engine_all_reduce_share = 0.6;
    p.protocols = pcie_protocols;
    p.from = &sources::pcie_public;
    p.log_sigma = 0.35;
  } else if (network) {
    p.value.hop = 10.0 * us;
    p.value.in_network_share = {};
    p.from = &sources::network_default;
    p.log_sigma = 0.6;
  }
  return p;
}
inline constexpr std::array measured_collective_profiles{
    &collectives_h100_sxm, &collectives_h200_sxm, &collectives_a100_sxm};

/// The profile fitted to the links of this very machine, or of the same die on the same fabric; null
/// where nobody measured. Test: a100_sxm_40gb has a100_sxm_80gb's.
constexpr const collective_profile* measured_collectives(const accelerator& a) {
  const collective_profile* found = nullptr;
  for (const collective_profile* p : measured_collective_profiles) {
    const accelerator& d = *p->donor;
    const bool same_die = a.architecture == d.architecture && a.sms.value() == d.sms.value();
    const bool same_fabric =
        a.fabric.kind == d.fabric.kind && a.fabric.bandwidth.value() == d.fabric.bandwidth.value();
    if (!same_die || !same_fabric) continue;
    if (same_machine(a, d)) return p;
    if (found == nullptr) found = p;
  }
  return found;
}

/// Of a measured architecture with a quicker link than was measured (what if it were?): what was measured, at the
/// new link's rate, with the spread of a fabric that never was. Else null.
constexpr const collective_profile* measured_on_slower_link(const accelerator& a) {
  const collective_profile* found = nullptr;
  for (const collective_profile* p : measured_collective_profiles) {
    const accelerator& d = *p->donor;
    const bool quicker = a.fabric.bandwidth.value() > d.fabric.bandwidth.value();
    if (a.architecture != d.architecture || a.fabric.kind != d.fabric.kind || !quicker) continue;
    if (found == nullptr || same_machine(a, d)) found = p;
  }
  return found;
}

/// The fitted profile where there is one, else the default of its fabric. A Grace CPU takes 30 us
/// for a launch: assumed, between the 21.5 of H200's hosts and 38.8 for TensorRT-LLM's smallest
/// all-reduce on GB200 (TensorRT-LLM pull request 14534).
constexpr collective_profile collective_profile_of(const accelerator& a) {
  if (const collective_profile* measured = measured_collectives(a)) return *measured;
  require_calibrated_kind(a);
  if (const collective_profile* slower = measured_on_slower_link(a)) {
    collective_profile p = *slower;
    p.donor = nullptr;
    p.log_sigma = 0.43;
    return p;
  }
  collective_profile p = collective_profile_of(a.fabric);
  if (a.host.kind == link_kind::nvlink_c2c) p.value.host_launch = 30.0 * us;
  return p;
}

}  // namespace perfmodel::catalog
