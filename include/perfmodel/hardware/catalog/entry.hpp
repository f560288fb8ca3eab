// What a list of accelerators holds of each.
#pragma once

#include <array>
#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>
#include <perfmodel/units/convention.hpp>
#include <string_view>

namespace perfmodel::inline v0_3::catalog {

/// `key` is the spec's own name, in C++ and in requests. The header of each family ends with the
/// list of its entries.
struct accelerator_entry {
  const accelerator* spec = nullptr;
  const char* key = "";
  const char* title = "";

  constexpr accelerator_entry() = default;
  constexpr accelerator_entry(const accelerator& a, const char* full_name)
      : spec(&a), key(a.name.c_str()), title(full_name) {}
};

/// The lists of all families in one.
template <class Entry, std::size_t... Sizes>
constexpr auto joined(const std::array<Entry, Sizes>&... families) {
  std::array<Entry, (Sizes + ...)> all{};
  std::size_t n = 0;
  const auto append = [&](const auto& family) {
    for (const Entry& e : family) all[n++] = e;
  };
  (append(families), ...);
  return all;
}

// The few identities by which catalogue values follow from others.

/// On-chip bandwidth = SMs x bytes per clock and SM x clock.
/// Shared memory of NVIDIA SMs serves 32 banks x 4 B = 128 B per clock.
/// Test: 132 x 128 B x 1.98 GHz = 33.45 TB/s.
constexpr bandwidth<> per_clock(double sms, double bytes_per_clock, frequency<> clock) {
  return sms * bytes_per_clock * byte * clock;
}
/// Operand reads of the vector lanes = SMs x lanes x three 4-byte operands of an FMA x clock.
/// Test: 132 x 128 x 12 B x 1.98 GHz = 401.4 TB/s.
constexpr bandwidth<> operand_reads(double sms, double lanes, frequency<> clock) {
  return sms * lanes * 12.0 * byte * clock;
}
/// The clock at which a printed peak follows from SMs and FLOP per clock and SM.
/// Test: 2250 TFLOP/s over 148 SMs of 8192 FLOP per clock is 1.8558 GHz.
constexpr frequency<> clock_of(flop_rate<> peak, double sms, double flop_per_clock) {
  return peak / (sms * flop_per_clock * flop);
}
/// PCIe 3 to 6, one way = lanes x transfers per second and lane x 128/130 / 8.
/// Test: 16 lanes of generation 5 (32 GT/s) carry 63.0 GB/s.
constexpr bandwidth<> pcie_one_way(double lanes, frequency<> transfers) {
  return lanes * 128.0 / 130.0 / 8.0 * byte * transfers;
}

/// NVLink through switches that reduce, by its printed rate in both directions and its GPUs.
constexpr interconnect nvlink_switched(bandwidth<> both_directions, const source& from, int ranks) {
  return {.kind = link_kind::nvlink,
          .bandwidth = {one_way(two_way_bandwidth<>(both_directions)), from},
          .ranks = ranks,
          .in_network_reduction = true};
}
/// PCIe x16 to the peers of a card. Its ranks are assumed: the eight cards of a common server.
constexpr interconnect pcie_peers(frequency<> transfers, const source& from) {
  return {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, transfers), from}, .ranks = 8};
}

/// FLOP per clock and SM of an NVIDIA card's matrix units, with FP32 accumulation; 0: not there.
struct card_rates {
  double bf16, fp8, int8, fp4;
};

/// An NVIDIA card by its table: SMs, clock, rates, L2 and memory in MiB, bandwidth in GB/s, PCIe
/// transfers and power. Its memory is nominal, peers are reached over PCIe.
constexpr accelerator nvidia_card(const char* name, chip_architecture architecture,
                                  const source& table, double sms, double ghz,
                                  const card_rates& rates, double l2, double memory,
                                  double bandwidth, frequency<> pcie, double watts) {
  const auto rate = [&](double per_clock_and_sm, const source& from) {
    if (per_clock_and_sm == 0.0) return fact<flop_rate<>>{};
    return fact<flop_rate<>>{sms * per_clock_and_sm * ghz * GFLOP_per_s, from};
  };
  return {.name = name,
          .vendor = "NVIDIA",
          .architecture = architecture,
          .sms = {sms, table},
          .matrix = {.peak = {.tf32 = rate(rates.bf16 / 2.0, sources::sms_times_clock),
                              .bf16 = rate(rates.bf16, sources::sms_times_clock),
                              .fp16 = rate(rates.bf16, sources::sms_times_clock),
                              .fp8 = rate(rates.fp8, sources::sms_times_clock),
                              .int8 = rate(rates.int8, sources::sms_times_clock),
                              .fp4 = rate(rates.fp4, sources::sms_times_clock)},
                     .clock = {ghz * GHz, table},
                     .flop_per_clock = {rates.bf16 * flop, sources::flop_per_clock}},
          .vector = {.peak = {.fp32 = rate(256.0, sources::sms_times_clock),
                              .bf16 = rate(256.0, sources::same_as_fp32),
                              .fp16 = rate(256.0, sources::same_as_fp32)},
                     .clock = {ghz * GHz, table},
                     .flop_per_clock = {256.0 * flop, sources::lanes}},
          .registers = {.capacity = {sms * 256.0 * KiB, sources::cuda_guide}},
          .shared = {.capacity = {sms * 100.0 * KiB, sources::cuda_guide},
                     .bandwidth = {per_clock(sms, 128, ghz * GHz), sources::shared_banks}},
          .l2 = {.capacity = {l2 * MiB, table}},
          .dram = {.capacity = {memory * MiB, sources::nominal_gib},
                   .bandwidth = {bandwidth * GB_per_s, table}},
          .fabric = pcie_peers(pcie, sources::no_fabric),
          .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, pcie), sources::pcie}},
          .tdp = {watts * watt, table}};
}

}  // namespace perfmodel::inline v0_3::catalog

// Network adapters in the usual node of an accelerator, for parallelism across nodes.

// clang-format off
namespace perfmodel::inline v0_3::catalog {

namespace sources {
inline constexpr source hgx_adapters{basis::copied, "8 ConnectX-7 of 400 Gb/s in a DGX or HGX node of 8 GPUs; ml-engineering, network chapter, https://github.com/stas00/ml-engineering"};
inline constexpr source dgx_b300_adapters{basis::copied, "8 ConnectX-8 of 800 Gb/s in a DGX B300; ml-engineering, network chapter, https://github.com/stas00/ml-engineering"};
inline constexpr source gb200_adapters{basis::copied, "4 ConnectX-7 of 400 Gb/s in a tray of 4 GPUs, https://github.com/ai-dynamo/aisimulate/issues/192"};
inline constexpr source azure_mi300x{basis::copied, "8 x 400 Gb/s InfiniBand NDR in an ND MI300X v5, https://github.com/MicrosoftDocs/azure-compute-docs"};
inline constexpr source gaudi_ports{basis::copied, "3 of 24 ports of 200 Gb/s leave the node; ml-engineering, network chapter, https://github.com/stas00/ml-engineering"};
inline constexpr source like_hgx{basis::assumed, "400 Gb/s for each GPU, as in an HGX H100 node"};
inline constexpr source dgx_a100_adapters{basis::assumed, "8 x 200 Gb/s for the ranks of a DGX A100; recalled, no document was read"};
}  // namespace sources

/// Network link of one accelerator in its usual node, one way.
struct network_entry {
  std::string_view key{};
  bandwidth<> rate{};
  const source* from = nullptr;
};

inline constexpr network_entry networks[] = {
    {"a100_sxm_40gb", 25.0 * GB_per_s, &sources::dgx_a100_adapters},
    {"a100_sxm_80gb", 25.0 * GB_per_s, &sources::dgx_a100_adapters},
    {"h100_sxm", 50.0 * GB_per_s, &sources::hgx_adapters},
    {"h200_sxm", 50.0 * GB_per_s, &sources::hgx_adapters},
    {"b200_sxm", 50.0 * GB_per_s, &sources::hgx_adapters},
    {"h20", 50.0 * GB_per_s, &sources::like_hgx},
    {"h20_141gb", 50.0 * GB_per_s, &sources::like_hgx},
    {"h800_sxm", 50.0 * GB_per_s, &sources::like_hgx},
    {"b300_sxm", 100.0 * GB_per_s, &sources::dgx_b300_adapters},
    {"gb200", 50.0 * GB_per_s, &sources::gb200_adapters},
    {"mi300x", 50.0 * GB_per_s, &sources::azure_mi300x},
    {"mi325x", 50.0 * GB_per_s, &sources::like_hgx},
    {"mi350x", 50.0 * GB_per_s, &sources::like_hgx},
    {"mi355x", 50.0 * GB_per_s, &sources::like_hgx},
    {"gaudi_3", 75.0 * GB_per_s, &sources::gaudi_ports},
};
// clang-format on

/// Network of an accelerator's usual node; none where none is known (workstations, PCIe boards).
/// Test: h100_sxm has 50 GB/s, rtx_4090 none.
constexpr std::optional<interconnect> network_of(std::string_view key) {
  for (const network_entry& e : networks) {
    if (e.key != key) continue;
    return interconnect{.kind = link_kind::infiniband, .bandwidth = {e.rate, *e.from}};
  }
  return std::nullopt;
}

}  // namespace perfmodel::inline v0_3::catalog
