// What collectives were seen to reach on the fabrics of three accelerators and on NVLink 5, and what engines'
// kernels are like.
#pragma once

#include <perfmodel/calibrated/catalog/transfer.hpp>
#include <perfmodel/calibrated/collective_profile.hpp>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source aic_collectives{
    basis::measured,
    "fitted to the NCCL and all-reduce latencies of ai-dynamo/aiconfigurator 095f58a5"};
inline constexpr source nvlink_default{basis::assumed, "H100's and H200's, on any NVLink"};
inline constexpr source lent_links{
    basis::transferred,
    "the links of the nearest measured accelerator by architecture, what waits by their clocks"};
inline constexpr source nvlink5_public{
    basis::transferred,
    "one profile for NVLink 5, fitted to tables of B200, B300 and GB300: A4 GPU Testbed on GKE; "
    "google/dranet; vLLM pull requests 37756 and 42324; an OCI GB300 guide. What they do not show "
    "is Hopper's"};
inline constexpr source pcie_public{
    basis::transferred,
    "one profile for PCIe: hop, rate and two sockets fitted to tables of RTX PRO 6000, A100 and "
    "A800 "
    "PCIe and RTX 4090: gardenlinux issue 4556; flashinfer pull request 5023; Omni-Infinity; "
    "rtx6kpro; sglang pull request 32479; NVIDIA/nccl issue 1530; vLLM issue 50576; SimuMax. The "
    "rest is Hopper's"};
inline constexpr source infinity_fabric_borrowed{
    basis::assumed, "Hopper's times and shares of NVLink: nobody published AMD's collectives"};
inline constexpr source network_default{
    basis::assumed, "hop as p2p_latency_s in aiconfigurator's system files; the rest as on NVLink"};
}  // namespace sources

// All values here: validation/calibrate/fit_collectives.cpp; a test fits them again. log_sigma is that of the
// engines' kernels, the wider of the two kinds: measured_link_widths has both.

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
inline constexpr engine_all_reduce_kernels flag_kernels{.name = "flags", .floor_share = 0.688};

inline constexpr collective_profile collectives_a100_sxm{
    {.name = "a100_sxm_80gb",
     .donor = &a100_sxm_80gb,
     .value = {.launch = 8.88 * us,
               .hop = 0.808 * us,
               .simple_wait = 25.8 * us,
               .link_share = 0.690,
               .engine_all_reduce_floor = 5.35 * us,
               .engine_all_reduce_share = 0.629,
               .host_launch = 43.3 * us},
     .standard_error = {.launch = 0.13 * us,
                        .hop = 0.027 * us,
                        .simple_wait = 1.2 * us,
                        .link_share = 0.0084,
                        .engine_all_reduce_floor = 0.071 * us,
                        .engine_all_reduce_share = 0.011,
                        .host_launch = 0.46 * us},
     .log_sigma = 0.19,
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
               .engine_all_reduce_share = 0.629,
               .host_launch = 21.5 * us},
     .standard_error = {.launch = 0.075 * us,
                        .hop = 0.018 * us,
                        .simple_wait = 0.75 * us,
                        .link_share = 0.0094,
                        .in_network_share = 0.026,
                        .engine_all_reduce_floor = 0.049 * us,
                        .engine_all_reduce_share = 0.011,
                        .host_launch = 0.20 * us},
     .log_sigma = 0.21,
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
               .engine_all_reduce_share = 0.629,
               .host_launch = 21.5 * us},
     .standard_error = {.launch = 0.075 * us,
                        .hop = 0.019 * us,
                        .simple_wait = 0.75 * us,
                        .link_share = 0.0097,
                        .in_network_share = 0.030,
                        .engine_all_reduce_floor = 0.049 * us,
                        .engine_all_reduce_share = 0.011,
                        .host_launch = 0.20 * us},
     .log_sigma = 0.21,
     .from = &sources::aic_collectives},
    nvlink_protocols};

/// NVLink 5, from public tables: the link is twice as quick as Hopper's and reaches the same shares, and everything
/// that waits takes 1.66(22) times as long, each by 30 % at most of its own (fit_collectives says how that is asked);
/// so does the barrier of the engines' kernels (6.95 us over 4.17; NCCL's symmetric kernels 3 us over 2.3,
/// NVIDIA/nccl issue 1940). host_launch is H200's.
inline constexpr collective_profile collectives_nvlink5{
    {.name = "NVLink 5",
     .value = {.launch = 8.20 * us,
               .hop = 1.20 * us,
               .simple_wait = 41.7 * us,
               .link_share = 0.771,
               .in_network_share = 0.541,
               .engine_all_reduce_floor = 6.95 * us,
               .engine_all_reduce_share = 0.629,
               .host_launch = 21.5 * us},
     .standard_error = {.launch = 0.69 * us,
                        .hop = 0.13 * us,
                        .simple_wait = 3.3 * us,
                        .link_share = 0.023,
                        .in_network_share = 0.028,
                        .engine_all_reduce_floor = 0.20 * us,
                        .engine_all_reduce_share = 0.011,
                        .host_launch = 0.0 * us},
     .log_sigma = 0.21,
     .from = &sources::nvlink5_public},
    nvlink_protocols};

}  // namespace perfmodel::catalog
