// Link profiles of any accelerator: its own, one transferred by generation and clock, or the
// default of a fabric without measurements; and the log_sigma of each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/kernels/collectives.hpp>
#include <perfmodel/kernels/interval.hpp>
#include <perfmodel/scalar/math.hpp>

// Measured collectives of three accelerators and of NVLink 5, and the all-reduce kernels of
// engines.

namespace perfmodel::inline v0_3::catalog {

namespace sources {
// clang-format off
inline constexpr source aic_collectives{basis::measured, "fitted to the NCCL and all-reduce latencies of ai-dynamo/aiconfigurator 095f58a5"};
inline constexpr source nvlink_default{basis::assumed, "H100's and H200's, on any NVLink"};
inline constexpr source transferred_links{basis::transferred, "the links of the nearest measured accelerator by architecture, what waits by their clocks"};
inline constexpr source nvlink5_public{basis::transferred, "one profile for NVLink 5, fitted to tables of B200, B300 and GB300: A4 GPU Testbed on GKE; google/dranet; vLLM pull requests 37756 and 42324; an OCI GB300 guide. What they do not show is Hopper's"};
inline constexpr source pcie_public{basis::transferred, "one profile for PCIe: hop, rate and two sockets fitted to tables of RTX PRO 6000, A100 and A800 PCIe and RTX 4090: gardenlinux issue 4556; flashinfer pull request 5023; Omni-Infinity; rtx6kpro; sglang pull request 32479; NVIDIA/nccl issue 1530; vLLM issue 50576; SimuMax. The rest is Hopper's"};
inline constexpr source infinity_fabric_assumed{basis::assumed, "Hopper's times and shares of NVLink: AMD's collectives are not published"};
inline constexpr source network_default{basis::assumed, "hop as p2p_latency_s in aiconfigurator's system files; the rest as on NVLink"};
// clang-format on
}  // namespace sources
namespace releases {
// clang-format off
inline constexpr measured_releases
    links_of_a100{"NCCL 2.27, vLLM 0.14, SGLang 0.5.10, TensorRT-LLM 1.0"},
    links_of_hopper{"NCCL 2.29, vLLM 0.14 and 0.24, SGLang 0.5.10 and 0.5.14, TensorRT-LLM 1.3"};
// clang-format on
}  // namespace releases

// All values: tools/fit/fit_collectives.cpp; a test fits them again. log_sigma is that of the
// engines' kernels, the larger of the two kinds: measured_link_log_sigmas has both.

/// NCCL's protocols where links keep 128 bytes together: NVLink.
inline constexpr collective_protocols nvlink_protocols{.ll_share = 0.0337,
                                                       .ll128_share = 0.374,
                                                       .launch_growth_per_log2_rank = 0.158,
                                                       .simple_hop = 0.224,
                                                       .copy_rate = 2.74,
                                                       .in_network_wait = 4.22};
/// Over PCIe there is no LL128 (NCCL, src/graph/tuning.cc), and half of LL's bytes are flags, which
/// fill the slow link (NCCL on 4 RTX PRO 6000, 64 to 512 KiB: 10 GB/s of 20; gardenlinux issue
/// 4556). Servers have four cards below a socket. On hosts of generation 4 and older ranks on two
/// sockets take 1.85 times as long for a hop and for a byte (see crosses_sockets_freely).
/// Assumed: a copy on the card takes its time on H100 (2.74 x 0.767 x 450 GB/s, 50 times NCCL's
/// rate); a hop in Simple is a hop; the rest is as on NVLink.
inline constexpr collective_protocols pcie_protocols{.ll_share = 0.5,
                                                     .launch_growth_per_log2_rank = 0.158,
                                                     .simple_hop = 1.0,
                                                     .copy_rate = 50.0,
                                                     .in_network_wait = 4.22,
                                                     .cross_socket_factor = 1.85,
                                                     .ranks_per_socket = 4};

/// vLLM's all-reduce kernels, and SGLang's up to 0.5.10: a barrier of all ranks before and after.
inline constexpr engine_all_reduce_kernels barrier_kernels{};
/// TensorRT-LLM's all-reduce kernels, and SGLang's from 0.5.14 on: flags travel with the data.
inline constexpr engine_all_reduce_kernels flag_kernels{.name = "flags", .floor_share = 0.688};

/// All-reduce kernels of an engine's release; those of `none` are vLLM's.
/// Test: SGLang 0.5.10 has vLLM's, a later one TensorRT-LLM's.
constexpr const engine_all_reduce_kernels& all_reduce_kernels_of(
    engine e, engine_release r = engine_release::latest) {
  const bool older = r == engine_release::sglang_0_5_2 || r == engine_release::sglang_0_5_10;
  return e == engine::trtllm || (e == engine::sglang && !older) ? flag_kernels : barrier_kernels;
}

/// Parameters of a row in us and shares, in the order of collective_parameters; an in_network_share
/// of 0 is an unknown one.
constexpr collective_parameters link_row(const std::array<double, 8>& x) {
  return {x[0] * us, x[1] * us, x[2] * us, x[3], x[4] == 0.0 ? std::nullopt : std::optional(x[4]),
          x[5] * us, x[6],      x[7] * us};
}

// H100's last three columns are H200's (same die, links and kernels), not measured. NVLink 5 is
// from public tables: twice Hopper's bandwidth, with equal shares. Its latencies are 1.66 (standard
// error 0.22) times Hopper's; each single ratio is within 30 % (see fit_collectives). The engines'
// floor has that ratio too: 6.95 over 4.17 us (NCCL's symmetric kernels: 3 over 2.3 us, NVIDIA/nccl
// issue 1940). host_launch is H200's.
// clang-format off
inline constexpr collective_profile
    //        launch hop    simple_wait  link    in-network  engine floor  engine  host_launch
    //        us     us     us           share   share       us            share   us
    collectives_a100_sxm = {fitted_to(a100_sxm_80gb, sources::aic_collectives, 0.19,
    link_row({8.88,  0.808, 25.8,        0.690,  0.0,        5.35,         0.629,  43.3}),
    link_row({0.13,  0.027, 1.2,         0.0084, 0.0,        0.071,        0.011,  0.46}), releases::links_of_a100), nvlink_protocols},
    collectives_h100_sxm = {fitted_to(h100_sxm, sources::aic_collectives, 0.21,
    link_row({4.69,  0.761, 15.9,        0.767,  0.589,      4.17,         0.629,  21.5}),
    link_row({0.075, 0.018, 0.75,        0.0094, 0.026,      0.049,        0.011,  0.20}), releases::links_of_hopper), nvlink_protocols},
    collectives_h200_sxm = {fitted_to(h200_sxm, sources::aic_collectives, 0.21,
    link_row({4.50,  0.852, 15.8,        0.780,  0.607,      4.17,         0.629,  21.5}),
    link_row({0.075, 0.019, 0.75,        0.0097, 0.030,      0.049,        0.011,  0.20}), releases::links_of_hopper), nvlink_protocols},
    collectives_nvlink5 = {{"NVLink 5", nullptr,
    link_row({8.20,  1.20,  41.7,        0.771,  0.541,      6.95,         0.629,  21.5}),
    link_row({0.69,  0.13,  3.3,         0.023,  0.028,      0.20,         0.011,  0.0}), 0.21, &sources::nvlink5_public}, nvlink_protocols};
// clang-format on

/// log_sigma of links by collective_kind for one fitted profile, set by blind tests. Each leaves a
/// group of rows out of the fit: an operation, a number of ranks or an engine (measured chips), or
/// a table (NVLink 5). The 80 % interval covers 83 to 89 % of the held-out rows. Engine kernels on
/// NVLink 5 take Hopper's value: only one version of one engine was measured, and versions differ
/// by as much.
/// Table: docs/validation/coverage.md. Test: tests/property/coverage_recorded.cpp.
constexpr kind_log_sigmas measured_link_log_sigmas(const collective_profile& p) {
  if (&p == &collectives_a100_sxm) return {0.125, 0.19};
  if (&p == &collectives_h100_sxm) return {0.09, 0.21};
  if (&p == &collectives_h200_sxm) return {0.115, 0.21};
  return {0.145, 0.21};
}
/// log_sigma of link profiles transferred between generations, from A100 to Hopper and back.
inline constexpr kind_log_sigmas generation_transfer_log_sigmas{0.18, 0.27};

/// Share of a PCIe link that NCCL carries: the smooth minimum of a copy's rate, 0.85 of the link
/// (assumed), and of what NCCL's channels carry,
///     rate = (copy^-4 + channels^-4)^(-1/4).
/// It fits the public tables as a sharp minimum does, and over a faster link every transfer is
/// faster.
/// Test: 19.5 GB/s on generation 4, 21.0 on 5 (the tables have 17 to 22); rises with the link.
template <Scalar T>
constexpr T pcie_link_share(const bandwidth<T>& channels, const bandwidth<T>& link) {
  using math::sqrt;
  const T x = 0.85 * link / channels;
  return 0.85 / sqrt(sqrt(1.0 + x * x * x * x));
}

/// True if a host's sockets exchange more than NCCL's channels carry. A copy between cards of two
/// sockets reaches 39 to 51 GB/s on hosts of PCIe 5 (rtx6kpro), and NCCL on eight of their cards as
/// much as on four: 22.2 GB/s, not below 12.5 as on hosts of generation 4 (SimuMax).
template <Scalar T>
constexpr bool crosses_sockets_freely(const bandwidth<T>& link) {
  return lower(link.value()) > 50e9;
}

/// Profile of a fabric without measurements, from its link alone.
///
///     NVLink and similar links: Hopper's times and shares, or NVLink 5's above 450 GB/s one way.
///     log_sigma: as between generations.
///     PCIe: a hop of 1.57 us; pcie_link_share of the link; an all-reduce kernel of two ranks waits
///     one hop longer than on NVLink and reaches 0.6 of the link (rtx6kpro: 0.55; sglang-V100 pull
///     request 2: 0.62). log_sigma: 0.35, above the 0.26 of held-out tables, since servers differ.
///     Infinity Fabric: Hopper's times, without in-network reduction; 48 of the 64 GB/s of a link
///     (AMD), 47.7 and 312.9 GB/s busbw measured on 2 and 8 MI300X; log_sigma assumed.
///     Networks: hop 10 us, the rest as on NVLink, log_sigma assumed.
///
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
  p.releases = nullptr;
  p.log_sigma = generation_transfer_log_sigmas[1];
  if (amd) {
    p.value.in_network_share = {};  // no switch adds
    p.value.link_share = 0.75;
    p.from = &sources::infinity_fabric_assumed;
    p.log_sigma = 0.6;
  } else if (pcie) {
    p.value.hop = 1.568 * us;
    p.standard_error.hop = 0.094 * us;
    p.value.link_share = pcie_link_share(21.12 * GB_per_s, l.bandwidth.quantity());
    p.standard_error.link_share = 0.030 * p.value.link_share;
    p.value.in_network_share = {};
    p.value.engine_all_reduce_floor = p.value.engine_all_reduce_floor + p.value.hop;
    p.value.engine_all_reduce_share = 0.6;
    p.protocols = pcie_protocols;
    if (crosses_sockets_freely(l.bandwidth.quantity())) p.protocols.cross_socket_factor = 1.0;
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

/// Profile fitted to the links of this machine, of its original, or of another machine with the
/// same die and fabric; null if none was. Test: a100_sxm_40gb has a100_sxm_80gb's.
constexpr const collective_profile* measured_collectives(const accelerator& a) {
  const collective_profile* found = nullptr;
  for (const collective_profile* p : measured_collective_profiles) {
    const accelerator& d = *p->donor;
    const bool same_die = a.architecture == d.architecture && a.sms.value() == d.sms.value();
    const bool same_fabric =
        a.fabric.kind == d.fabric.kind && a.fabric.bandwidth.value() == d.fabric.bandwidth.value();
    if (!same_die || !same_fabric) continue;
    if (is_same_machine(a, d) || is_copy_of(a, d)) return p;
    if (found == nullptr) found = p;
  }
  return found;
}

/// Profile of the links of a machine or of its original, at any bandwidth; null where there is
/// none.
constexpr const collective_profile* original_collectives(const accelerator& a) {
  const collective_profile* measured = measured_collectives(a);
  if (measured != nullptr || a.fabric.kind != link_kind::nvlink) return measured;
  for (const collective_profile* p : measured_collective_profiles) {
    if (is_same_machine(a, *p->donor) || is_copy_of(a, *p->donor)) return p;
  }
  return nullptr;
}

/// Source profile for an accelerator on NVLink: its original's where only the link differs, else
/// that of its generation; A100's on Volta; NVLink 5's on Blackwell and later; else H100's. The
/// bandwidth does not choose, so that a slower link never has the shorter latencies of an older
/// generation.
/// Test: h20 and h800_sxm take h100_sxm's, v100_sxm_32gb a100_sxm_80gb's, b200_sxm at any bandwidth
/// and vera_rubin_nvl72 NVLink 5's.
constexpr const collective_profile& nearest_collectives(const accelerator& a) {
  if (const collective_profile* original = original_collectives(a)) return *original;
  switch (a.architecture) {
    case chip_architecture::volta:
    case chip_architecture::ampere: return collectives_a100_sxm;
    case chip_architecture::blackwell:
    case chip_architecture::blackwell_ultra:
    case chip_architecture::rubin:
    case chip_architecture::rubin_ultra: return collectives_nvlink5;
    default: return collectives_h100_sxm;
  }
}

/// Transferred profile. Shares stay. Latencies take the same number of SM cycles: they are scaled
/// by the ratio of the SM clocks if both are stated. Mean errors: A100 predicted by H100 13 % (27 %
/// without the clocks), H100 by A100 14 % (41 %), between H100 and H200 5 to 6 %.
/// Test: at twice the clock every latency is half as long.
constexpr collective_profile transferred_collectives(const collective_profile& from,
                                                     const accelerator& to) {
  collective_profile p = from;
  p.name = to.name;
  if (from.donor == nullptr) return p;  // fitted to the fabric, on several chips
  p.standard_error = {};
  p.from = &sources::transferred_links;
  if (is_same_machine(to, *from.donor)) p.donor = nullptr;
  const bool clocks = to.vector.clock.is_stated() && from.donor->vector.clock.is_stated();
  const double slower = clocks ? from.donor->vector.clock.value() / to.vector.clock.value() : 1.0;
  for (duration<>* waits : {&p.value.launch, &p.value.hop, &p.value.simple_wait,
                            &p.value.engine_all_reduce_floor, &p.value.host_launch}) {
    *waits = slower * *waits;
  }
  return p;
}

/// log_sigma of a transferred profile: max(source's, transfer's). The transfer's is
/// generation_transfer_log_sigmas between generations. Within a generation it is 0.15
/// ln(ratio of the link bandwidths)
///  (assumed, as for machines).
constexpr kind_log_sigmas transferred_link_log_sigmas(const collective_profile& from,
                                                      const accelerator& to) {
  const bool blackwell = to.architecture == chip_architecture::blackwell ||
                         to.architecture == chip_architecture::blackwell_ultra;
  const bool within =
      from.donor != nullptr ? from.donor->architecture == to.architecture : blackwell;
  const double link = from.donor != nullptr ? from.donor->fabric.bandwidth.value() : 900e9;
  const double distance =
      to.fabric.bandwidth.is_stated() ? math::log(to.fabric.bandwidth.value() / link) : 0.0;
  kind_log_sigmas log_sigmas = measured_link_log_sigmas(from);
  for (std::size_t k = 0; k < log_sigmas.size(); ++k) {
    const double transfer =
        within ? (log_sigmas[k] > 0.0 ? 0.15 * (distance < 0.0 ? -distance : distance) : 0.0)
               : generation_transfer_log_sigmas[k];
    log_sigmas[k] = (std::max)(log_sigmas[k], transfer);
  }
  return log_sigmas;
}

/// log_sigma of links by collective_kind: of an own profile, a transferred one, or a default (PCIe:
/// held-out tables).
constexpr kind_log_sigmas link_log_sigmas_of(const accelerator& a) {
  if (const collective_profile* own = measured_collectives(a))
    return measured_link_log_sigmas(*own);
  if (a.fabric.kind == link_kind::nvlink)
    return transferred_link_log_sigmas(nearest_collectives(a), a);
  if (a.fabric.kind == link_kind::pcie) return {0.35, 0.19};
  const double any = collective_profile_of(a.fabric).log_sigma;
  return {any, any};
}

/// Link profile of an accelerator: its fitted one, else a transferred one, else the default of its
/// fabric. A launch takes 30 us on a Grace CPU: assumed, between 21.5 us on H200's hosts and 38.8
/// us for TensorRT-LLM's smallest all-reduce on GB200 (TensorRT-LLM pull request 14534).
constexpr collective_profile collective_profile_of(const accelerator& a) {
  if (const collective_profile* measured = measured_collectives(a)) {
    const accelerator& d = *measured->donor;
    return a.vector.clock.value() == d.vector.clock.value() ? *measured
                                                            : transferred_collectives(*measured, a);
  }
  require_calibrated_kind(a);
  collective_profile p = a.fabric.kind == link_kind::nvlink
                             ? transferred_collectives(nearest_collectives(a), a)
                             : collective_profile_of(a.fabric);
  const kind_log_sigmas log_sigmas = link_log_sigmas_of(a);
  p.log_sigma = (std::max)(log_sigmas[0], log_sigmas[1]);
  if (a.host.kind == link_kind::nvlink_c2c) p.value.host_launch = 30.0 * us;
  return p;
}

/// DeepEP's expert all-to-all over NVLink. Low latency sends a token once per expert, normal mode
/// once per rank, from `sms` SMs.
struct deepep_kernels {
  duration<> floor{};
  double link_share = 1.0;  ///< share of NVLink, one way
  bandwidth<> sm_rate{};    ///< bytes per SM; 0: not limited by SMs
  double log_sigma = 0.15;  ///< uncertainty of hidden sizes left out
};
// Fitted to 900 latencies of 8 H200 in ai-dynamo/aiconfigurator 095f58a5 (SGLang 0.5.12's DeepEP).
// Means of |error| in sample and with the hidden size left out: 12 and 14, 6 and 7, 10 and 11, 13
// and 14 %. FP8 dispatch has a 32-bit scale per 128 values.
// clang-format off
inline constexpr deepep_kernels
    deepep_low_latency_dispatch{9.46 * us,  0.565, {},               0.14},
    deepep_low_latency_combine{ 11.07 * us, 0.500, {},               0.07},
    deepep_dispatch{            27.0 * us,  0.638, 13.45 * GB_per_s, 0.145},
    deepep_combine{             37.8 * us,  0.630, 15.92 * GB_per_s, 0.15};
// clang-format on
/// Share of a network adapter that DeepEP's low latency reaches between nodes: 39 to 47 of 50 GB/s,
/// H800 with 16 to 256 ranks (DeepEP, docs/legacy.md).
inline constexpr double deepep_network_share = 0.84;

/// Time of one all-to-all of DeepEP, with `message` = tokens of a rank x top_k x hidden x bytes:
///   low latency  T = floor + m_in / (share L) + m_out / (0.84 NIC), m_in = message (n - 1) / N
///   normal       T = floor + m' / ((share L)^-4 + (sms sm_rate)^-4)^(-1/4)
///                m' = message (N - 1) (1 - (1 - 1/N)^k) / k
/// N ranks, n of them in a node; m_out goes to other nodes. Source: the modes of
/// deepseek-ai/DeepEP, README.md.
/// Leaves out: normal mode over nodes; ranks with more tokens than others.
/// Errors: inconsistent on links other than NVLink, and for normal mode over nodes.
/// Test: H800 over 8 to 64 ranks within 30 % of DeepEP's own figures, which are in no fit.
template <Scalar T>
constexpr duration<T> deepep_time(const basic_interconnect<T>& fabric, const deepep_kernels& k,
                                  const bytes<T>& message, double ranks, double top_k, double sms,
                                  double node_ranks, const bandwidth<T>& network) {
  using math::pow;
  const bool over_nodes = ranks > node_ranks, normal = k.sm_rate.value() > 0.0;
  if (fabric.kind != link_kind::nvlink || (over_nodes && normal)) {
    perfmodel::detail::fail(error_code::inconsistent,
                            "DeepEP was measured over NVLink, and between nodes in low latency");
  }
  const bandwidth<T> link = k.link_share * fabric.bandwidth.quantity();
  if (normal) {
    const double once = (ranks - 1.0) * (1.0 - math::pow(1.0 - 1.0 / ranks, top_k)) / top_k;
    const T limits = pow(T(link / (sms * k.sm_rate)), T(4.0)) + 1.0;
    return named("exchange", k.floor + once * message * pow(limits, T(0.25)) / link);
  }
  const double inside = (std::min)(ranks, node_ranks);
  duration<T> time = lift<T>(k.floor) + message * ((inside - 1.0) / ranks) / link;
  if (over_nodes) time += message * ((ranks - inside) / ranks) / (deepep_network_share * network);
  return named("exchange", time);
}

}  // namespace perfmodel::inline v0_3::catalog
