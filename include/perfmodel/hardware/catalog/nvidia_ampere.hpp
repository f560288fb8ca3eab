// NVIDIA Ampere: A100.
#pragma once

#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::inline v0_3::catalog {

/// A100 SXM4 80 GB.
inline constexpr accelerator a100_sxm_80gb{
    .name = "a100_sxm_80gb",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::ampere,
    .sms = {108.0, sources::a100_table},
    .matrix = {.peak = {.fp64 = {19.5 * TFLOP_per_s, sources::a100_table},
                        .tf32 = {156.0 * TFLOP_per_s, sources::a100_table},
                        .bf16 = {312.0 * TFLOP_per_s, sources::a100_table},
                        .fp16 = {312.0 * TFLOP_per_s, sources::a100_table},
                        .int8 = {624.0 * TFLOP_per_s, sources::a100_table},
                        .int4 = {1248.0 * TFLOP_per_s, sources::a100_table}},
               .clock = {1.41 * GHz, sources::a100_guide},
               .flop_per_clock = {2048.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {9.7 * TFLOP_per_s, sources::a100_table},
                        .fp32 = {19.5 * TFLOP_per_s, sources::a100_table},
                        .bf16 = {39.0 * TFLOP_per_s, sources::a100_vectors},
                        .fp16 = {78.0 * TFLOP_per_s, sources::a100_vectors}},
               .clock = {1.41 * GHz, sources::a100_guide},
               .flop_per_clock = {128.0 * flop, sources::lanes}},
    .registers = {.capacity = {108.0 * 256.0 * KiB, sources::cuda_guide},
                  .bandwidth = {operand_reads(108, 64, 1.41 * GHz), sources::operands}},
    .shared = {.capacity = {108.0 * 164.0 * KiB, sources::ampere_guide},
               .bandwidth = {per_clock(108, 128, 1.41 * GHz), sources::shared_banks},
               .latency = {25.5 * ns, sources::gpu_benches}},
    .l2 = {.capacity = {40.0 * MiB, sources::a100_device_query},
           .bandwidth = {5.42 * TB_per_s, sources::gpu_benches},
           .latency = {149.6 * ns, sources::gpu_benches}},
    .dram = {.capacity = {81920.0 * MiB, sources::driver_memory},
             .bandwidth = {2.039 * TB_per_s, sources::a100_guide},
             .latency = {405.6 * ns, sources::gpu_benches},
             .energy_per_byte = {4.3 * pJ_per_bit, sources::hbm2e_energy}},
    .fabric = {.kind = link_kind::nvlink,
               .bandwidth = {one_way(two_way_bandwidth<>(600.0 * GB_per_s)), sources::nvlink_page},
               .latency = {(15.56 - 8.98) / 6.0 * us, sources::all_gather_slope},
               .ranks = 8},
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie}},
    .tdp = {400.0 * watt, sources::a100_guide},
    .price = {2.4984 * usd_per_hour, sources::techbytes_prices},
    .far_l2_latency = {300.7 * ns, sources::gpu_benches},
};

namespace sources {
// clang-format off
inline constexpr source a100_40gb_pins{basis::derived, "5120 bit / 8 x 2 x 1215 MHz, deviceQuery of A100-SXM4-40GB, https://github.com/bottlerocket-os/bottlerocket/pull/3873"};
inline constexpr source a100_pcie_memory{basis::assumed, "nvidia-smi total of the SXM module, taken over"};
// clang-format on
}  // namespace sources

/// A100 SXM4 40 GB: the same die and links, HBM2.
inline constexpr accelerator a100_sxm_40gb = [] {
  accelerator a = a100_sxm_80gb;
  a.name = "a100_sxm_40gb";
  a.dram.capacity = {40960.0 * MiB, sources::driver_memory};
  a.dram.bandwidth = {bandwidth_from_bus(5120.0, 2.0 * 1215.0 * MHz), sources::a100_40gb_pins};
  a.dram.energy_per_byte = {3.92 * pJ_per_bit, sources::hbm2_energy};
  a.price = {};
  return a;
}();

/// A100 PCIe 80 GB: the die of the SXM modules at a lower power. It reaches its peers over PCIe;
/// NVLink can bridge two cards, see alternatives.hpp.
inline constexpr accelerator a100_pcie_80gb = [] {
  accelerator a = a100_sxm_80gb;
  a.name = "a100_pcie_80gb";
  a.dram.capacity = {81920.0 * MiB, sources::a100_pcie_memory};
  a.dram.bandwidth = {1935.0 * GB_per_s, sources::a100_guide};
  a.fabric = {.kind = link_kind::pcie,
              .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie},
              .ranks = 8};  // assumed: the cards of a common server
  a.tdp = {300.0 * watt, sources::a100_guide};
  a.price = {};
  return a;
}();

/// A100 PCIe 40 GB.
inline constexpr accelerator a100_pcie_40gb = [] {
  accelerator a = a100_pcie_80gb;
  a.name = "a100_pcie_40gb";
  a.dram.capacity = {40960.0 * MiB, sources::a100_pcie_memory};
  a.dram.bandwidth = {1555.0 * GB_per_s, sources::a100_guide};
  a.dram.energy_per_byte = {3.92 * pJ_per_bit, sources::hbm2_energy};
  a.tdp = {250.0 * watt, sources::a100_guide};
  return a;
}();

inline constexpr std::array ampere_accelerators{
    accelerator_entry{a100_pcie_40gb, "NVIDIA A100 PCIe 40 GB"},
    accelerator_entry{a100_pcie_80gb, "NVIDIA A100 PCIe 80 GB"},
    accelerator_entry{a100_sxm_40gb, "NVIDIA A100 SXM4 40 GB"},
    accelerator_entry{a100_sxm_80gb, "NVIDIA A100 SXM4 80 GB"},
};

}  // namespace perfmodel::inline v0_3::catalog
