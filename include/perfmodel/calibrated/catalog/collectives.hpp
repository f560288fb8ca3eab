// The links of any accelerator: its own profile, a lent one by its generation and clock, or the default of a fabric
// that nobody measured; and how wide each is stated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <perfmodel/calibrated/catalog/collective_profiles.hpp>
#include <perfmodel/calibrated/prediction.hpp>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel::catalog {

/// log_sigma of links by collective_kind, of one fitted profile: 83 to 89 % of the rows that fits without their
/// operation, their ranks, their engine (measured chips) or their table (NVLink 5) had not seen are inside. The
/// engines' kernels of NVLink 5 take Hopper's: one version of one engine was seen, and versions differ by that.
/// docs/validation/coverage.md has the table, tests/property/coverage_recorded.cpp holds it.
constexpr kind_widths measured_link_widths(const collective_profile& p) {
  if (&p == &collectives_a100_sxm) return {0.125, 0.19};
  if (&p == &collectives_h100_sxm) return {0.09, 0.21};
  if (&p == &collectives_h200_sxm) return {0.115, 0.21};
  return {0.145, 0.21};
}
/// What loans between generations were seen to be off, by the clocks: A100 and Hopper by each other's.
inline constexpr kind_widths between_generations{0.18, 0.27};

/// A fabric never measured, from its link alone.
///   NVLink and its like: Hopper's times and shares; those of NVLink 5 where the link is quicker
///   than 450 GB/s one way. Spread: as between generations.
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
  p.log_sigma = between_generations[1];
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

/// The profile that an accelerator on NVLink is lent: of its generation where one was measured, the machine's own
/// where only its link is another; A100's on Volta; NVLink 5's on quicker links than Hopper's; else H100's.
/// Test: h20 and h800_sxm take h100_sxm's, v100_sxm_32gb a100_sxm_80gb's, b200_sxm and vera_rubin_nvl72 NVLink 5's.
constexpr const collective_profile& nearest_collectives(const accelerator& a) {
  const collective_profile* found = nullptr;
  for (const collective_profile* p : measured_collective_profiles) {
    if (a.architecture != p->donor->architecture) continue;
    if (found == nullptr || same_machine(a, *p->donor)) found = p;
  }
  if (found != nullptr) return *found;
  if (a.architecture == chip_architecture::volta) return collectives_a100_sxm;
  return a.fabric.bandwidth.quantity() > 450.0 * GB_per_s ? collectives_nvlink5
                                                          : collectives_h100_sxm;
}

/// A lent profile. Its shares hold for any link; what waits takes as many cycles: of the lender's waits those times
/// the ratio of the two SM clocks, where both are stated. So A100 by H100's is 13 % off where it was 27, and back 14
/// where it was 41; between H100 and H200 5 to 6 %.
/// Test: of twice the clock everything that waits takes half as long.
constexpr collective_profile lent_collectives(const collective_profile& from,
                                              const accelerator& to) {
  collective_profile p = from;
  p.name = to.name;
  if (from.donor == nullptr) return p;  // fitted to the fabric, on several chips
  p.standard_error = {};
  p.from = &sources::lent_links;
  if (same_machine(to, *from.donor)) p.donor = nullptr;
  const bool clocks = to.vector.clock.is_stated() && from.donor->vector.clock.is_stated();
  const double slower = clocks ? from.donor->vector.clock.value() / to.vector.clock.value() : 1.0;
  for (duration<>* waits : {&p.value.launch, &p.value.hop, &p.value.simple_wait,
                            &p.value.engine_all_reduce_floor, &p.value.host_launch}) {
    *waits = slower * *waits;
  }
  return p;
}

/// What a lender's profile states of an accelerator: the lender's own widths; where generations or links differ what
/// loans were seen to be off, if that is wider: 0.15 of ln of the links' ratio within a generation (assumed, as for
/// machines).
constexpr kind_widths lent_link_widths(const collective_profile& from, const accelerator& to) {
  const bool blackwell = to.architecture == chip_architecture::blackwell ||
                         to.architecture == chip_architecture::blackwell_ultra;
  const bool within =
      from.donor != nullptr ? from.donor->architecture == to.architecture : blackwell;
  const double link = from.donor != nullptr ? from.donor->fabric.bandwidth.value() : 900e9;
  const double apart =
      to.fabric.bandwidth.is_stated() ? math::log(to.fabric.bandwidth.value() / link) : 0.0;
  kind_widths widths = measured_link_widths(from);
  for (std::size_t k = 0; k < widths.size(); ++k) {
    const double loan = within ? (widths[k] > 0.0 ? 0.15 * (apart < 0.0 ? -apart : apart) : 0.0)
                               : between_generations[k];
    widths[k] = (std::max)(widths[k], loan);
  }
  return widths;
}

/// log_sigma of links by collective_kind: of its own profile, a lent one, or a default (PCIe: tables left out).
constexpr kind_widths link_widths_of(const accelerator& a) {
  if (const collective_profile* own = measured_collectives(a)) return measured_link_widths(*own);
  if (a.fabric.kind == link_kind::nvlink) return lent_link_widths(nearest_collectives(a), a);
  if (a.fabric.kind == link_kind::pcie) return {0.35, 0.19};
  const double any = collective_profile_of(a.fabric).log_sigma;
  return {any, any};
}

/// The fitted profile where there is one, else a lent one, else the default of its fabric. A Grace CPU takes 30 us
/// for a launch: assumed, between the 21.5 of H200's hosts and 38.8 for TensorRT-LLM's smallest
/// all-reduce on GB200 (TensorRT-LLM pull request 14534).
constexpr collective_profile collective_profile_of(const accelerator& a) {
  if (const collective_profile* measured = measured_collectives(a)) return *measured;
  require_calibrated_kind(a);
  collective_profile p = a.fabric.kind == link_kind::nvlink
                             ? lent_collectives(nearest_collectives(a), a)
                             : collective_profile_of(a.fabric);
  const kind_widths widths = link_widths_of(a);
  p.log_sigma = (std::max)(widths[0], widths[1]);
  if (a.host.kind == link_kind::nvlink_c2c) p.value.host_launch = 30.0 * us;
  return p;
}

}  // namespace perfmodel::catalog
