// NVIDIA Ampere: A100, A10, A40, RTX A6000 and GeForce RTX 3090.
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
  a.fabric = pcie_peers(16.0 * GHz, sources::pcie);
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

/// A800 SXM 80 GB: A100 with fewer NVLinks.
inline constexpr accelerator a800_sxm_80gb = [] {
  accelerator a = a100_sxm_80gb;
  a.name = "a800_sxm_80gb";
  a.fabric.bandwidth = {200.0 * GB_per_s, sources::not_read};
  a.price = {};
  return a;
}();

inline constexpr std::array ampere_accelerators{
    accelerator_entry{a100_pcie_40gb, "NVIDIA A100 PCIe 40 GB"},
    accelerator_entry{a100_pcie_80gb, "NVIDIA A100 PCIe 80 GB"},
    accelerator_entry{a100_sxm_40gb, "NVIDIA A100 SXM4 40 GB"},
    accelerator_entry{a100_sxm_80gb, "NVIDIA A100 SXM4 80 GB"},
    accelerator_entry{a800_sxm_80gb, "NVIDIA A800 SXM4 80 GB"},
};

// NVIDIA Ampere of the RTX generation (GA102): A10, A40, RTX A6000, GeForce RTX 3090.

namespace sources {
// clang-format off
inline constexpr source a10_table{basis::copied, "table of A10, https://sysrqmts.com/ru/gpus/compare/nvidia-a10-pcie-vs-nvidia-quadro-rtx-4000"};
inline constexpr source a40_table{basis::copied, "table of A40, https://sysrqmts.com/fr/gpus/compare/nvidia-a40-pcie-vs-nvidia-quadro-rtx-6000"};
inline constexpr source a6000_table{basis::copied, "table of RTX A6000, https://sysrqmts.com/es/gpus/compare/nvidia-rtx-a6000-vs-nvidia-tesla-p40"};
inline constexpr source rtx_3090_table{basis::copied, "table of RTX 3090, https://holynerdvana.blogspot.com/2022/10/nvidia-geforce-rtx-3090-specifications.html"};
inline constexpr source ga102_memory{basis::assumed, "what nvidia-smi commonly shows of an RTX 3090; no named output was read"};
// clang-format on
}  // namespace sources

/// A GA102 card by its table: SMs, clock, FLOP per clock and SM with FP32 accumulation, memory and
/// power. Its peers are reached over PCIe; `ranks` is assumed: the cards of a common server.
constexpr accelerator ga102_card(const char* name, const source& table, double sms, double ghz,
                                 double flop_per_clock, double driver_mib, bandwidth<> dram,
                                 double watts) {
  const auto rate = [&](double per_clock_and_sm, const source& from) {
    return fact<flop_rate<>>{sms * per_clock_and_sm * ghz * GFLOP_per_s, from};
  };
  return {
      .name = name,
      .vendor = "NVIDIA",
      .architecture = chip_architecture::ampere_rtx,
      .sms = {sms, table},
      .matrix = {.peak = {.tf32 = rate(flop_per_clock / 2.0, sources::ga102_ladder),
                          .bf16 = rate(flop_per_clock, sources::ga102_ladder),
                          .fp16 = rate(flop_per_clock, sources::ga102_ladder),
                          .int8 = rate(2048.0, sources::ga102_ladder),
                          .int4 = rate(4096.0, sources::ga102_ladder)},
                 .clock = {ghz * GHz, table},
                 .flop_per_clock = {flop_per_clock * flop, sources::flop_per_clock}},
      .vector = {.peak = {.fp64 = rate(4.0, sources::fp32_over_64),
                          .fp32 = rate(256.0, table),
                          .bf16 = rate(256.0, sources::same_as_fp32),
                          .fp16 = rate(256.0, sources::same_as_fp32)},
                 .clock = {ghz * GHz, table},
                 .flop_per_clock = {256.0 * flop, sources::lanes}},
      .registers = {.capacity = {sms * 256.0 * KiB, sources::cuda_guide}},
      .shared = {.capacity = {sms * 100.0 * KiB, sources::cuda_guide},
                 .bandwidth = {per_clock(sms, 128, ghz * GHz), sources::shared_banks}},
      .l2 = {.capacity = {6.0 * MiB, table}},
      .dram = {.capacity = {driver_mib * MiB, sources::posted_totals}, .bandwidth = {dram, table}},
      .fabric = pcie_peers(16.0 * GHz, sources::pcie),
      .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie}},
      .tdp = {watts * watt, table}};
}

/// A10. A10G, which AWS rents out, is another product with 70 TFLOP/s.
inline constexpr accelerator a10 =
    ga102_card("a10", sources::a10_table, 72, 1.695, 1024, 23028, 600.0 * GB_per_s, 150);
/// A40. Two cards can be bridged with NVLink, see alternatives.hpp.
inline constexpr accelerator a40 =
    ga102_card("a40", sources::a40_table, 84, 1.74, 1024, 46068, 696.0 * GB_per_s, 300);
/// RTX A6000. Two cards can be bridged with NVLink, see alternatives.hpp.
inline constexpr accelerator rtx_a6000 =
    ga102_card("rtx_a6000", sources::a6000_table, 84, 1.8, 1024, 49140, 768.0 * GB_per_s, 300);
/// GeForce RTX 3090. Floating-point peaks with FP32 accumulation: half rate on GeForce.
inline constexpr accelerator rtx_3090 = [] {
  accelerator a =
      ga102_card("rtx_3090", sources::rtx_3090_table, 82, 1.695, 512, 24576, 936.0 * GB_per_s, 350);
  a.dram.capacity = {24576.0 * MiB, sources::ga102_memory};
  return a;
}();

/// GeForce RTX 3080 10 GB. Half rate with FP32 accumulation, as RTX 3090.
inline constexpr accelerator rtx_3080 = [] {
  accelerator a =
      ga102_card("rtx_3080", sources::not_read, 68, 1.71, 512, 10240, 760.0 * GB_per_s, 320);
  a.dram.capacity = {10240.0 * MiB, sources::nominal_gib};
  a.l2.capacity = {5.0 * MiB, sources::not_read};
  return a;
}();

inline constexpr std::array ampere_rtx_accelerators{
    accelerator_entry{a10, "NVIDIA A10"},
    accelerator_entry{a40, "NVIDIA A40"},
    accelerator_entry{rtx_a6000, "NVIDIA RTX A6000"},
    accelerator_entry{rtx_3090, "NVIDIA GeForce RTX 3090"},
    accelerator_entry{rtx_3080, "NVIDIA GeForce RTX 3080 10 GB"},
};

}  // namespace perfmodel::inline v0_3::catalog
