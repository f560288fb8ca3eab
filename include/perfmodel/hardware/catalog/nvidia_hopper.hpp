// NVIDIA Hopper: H100 (SXM, PCIe, NVL), H200, H20, H800 and GH200.
#pragma once

#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::inline v0_3::catalog {

/// H100 SXM5 80 GB (HBM3). Peaks are stated at 1.83 GHz, vector rates at 1.98 GHz.
/// Latencies of L2 and DRAM come from the PCIe card, the bandwidth of L2 from a GH200.
inline constexpr accelerator h100_sxm{
    .name = "h100_sxm",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::hopper,
    .sms = {132.0, sources::h100_whitepaper},
    .matrix = {.peak = {.fp64 = {66.9 * TFLOP_per_s, sources::h100_whitepaper},
                        .tf32 = {494.7 * TFLOP_per_s, sources::h100_whitepaper},
                        .bf16 = {989.4 * TFLOP_per_s, sources::h100_whitepaper},
                        .fp16 = {989.4 * TFLOP_per_s, sources::h100_whitepaper},
                        .fp8 = {1978.9 * TFLOP_per_s, sources::h100_whitepaper},
                        .int8 = {1978.9 * TFLOP_per_s, sources::h100_whitepaper}},
               .clock = {1.83 * GHz, sources::h100_whitepaper},
               .flop_per_clock = {4096.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {33.5 * TFLOP_per_s, sources::h100_whitepaper},
                        .fp32 = {66.9 * TFLOP_per_s, sources::h100_whitepaper},
                        .bf16 = {133.8 * TFLOP_per_s, sources::h100_whitepaper},
                        .fp16 = {133.8 * TFLOP_per_s, sources::h100_whitepaper}},
               .clock = {1.98 * GHz, sources::h100_whitepaper},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {132.0 * 256.0 * KiB, sources::cuda_guide},
                  .bandwidth = {operand_reads(132, 128, 1.98 * GHz), sources::operands}},
    .shared = {.capacity = {132.0 * 228.0 * KiB, sources::hopper_guide},
               .bandwidth = {per_clock(132, 128, 1.98 * GHz), sources::shared_banks},
               .latency = {34.1 / (1.98 * GHz), sources::h100_pcie_chase}},
    .l2 = {.capacity = {50.0 * MiB, sources::h100_table},
           .bandwidth = {9.75 * TB_per_s, sources::gh200_l2_taken},
           .latency = {151.3 * ns, sources::h100_pcie_chase}},
    .dram = {.capacity = {81559.0 * MiB, sources::driver_memory},
             .bandwidth = {3.35 * TB_per_s, sources::h100_table},
             .latency = {371.7 * ns, sources::h100_pcie_chase},
             .energy_per_byte = {3.92 * pJ_per_bit, sources::hbm2_energy}},
    .fabric = {.kind = link_kind::nvlink,
               .bandwidth = {one_way(two_way_bandwidth<>(900.0 * GB_per_s)), sources::nvlink_page},
               .latency = {(10.14 - 5.31) / 6.0 * us, sources::all_gather_slope},
               .ranks = 8,
               .in_network_reduction = true},
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 32.0 * GHz), sources::pcie}},
    .tdp = {700.0 * watt, sources::h100_table},
    .price = {3.78 * usd_per_hour, sources::techbytes_prices},
    .far_l2_latency = {271.0 * ns, sources::h100_pcie_chase},
};

/// H200 SXM: the die, clocks and links of H100 SXM with HBM3e and all of the L2.
inline constexpr accelerator h200_sxm = [] {
  accelerator a = h100_sxm;
  a.name = "h200_sxm";
  a.sms = {132.0, sources::h200_page};
  a.matrix.peak = {.fp64 = {66.9 * TFLOP_per_s, sources::h100_same_die},
                   .tf32 = {494.7 * TFLOP_per_s, sources::h100_same_die},
                   .bf16 = {989.4 * TFLOP_per_s, sources::h100_same_die},
                   .fp16 = {989.4 * TFLOP_per_s, sources::h100_same_die},
                   .fp8 = {1978.9 * TFLOP_per_s, sources::h100_same_die},
                   .int8 = {1978.9 * TFLOP_per_s, sources::h100_same_die}};
  a.vector.peak = {.fp64 = {33.5 * TFLOP_per_s, sources::h100_same_die},
                   .fp32 = {66.9 * TFLOP_per_s, sources::h100_same_die},
                   .bf16 = {133.8 * TFLOP_per_s, sources::h100_same_die},
                   .fp16 = {133.8 * TFLOP_per_s, sources::h100_same_die}};
  a.matrix.clock = {1.83 * GHz, sources::h100_same_die};
  a.vector.clock = {1.98 * GHz, sources::h100_same_die};
  a.shared.latency = {16.2 * ns, sources::own_h200_l1};
  a.l2.capacity = {60.0 * MiB, sources::h200_properties};
  a.l2.latency = {137.7 * ns, sources::own_h200_chase};
  a.dram.capacity = {143771.0 * MiB, sources::h200_driver};
  a.dram.bandwidth = {4.8 * TB_per_s, sources::h200_datasheet};
  a.dram.latency = {340.0 * ns, sources::own_h200_chase};
  a.dram.energy_per_byte = {0.8 * 4.3 * pJ_per_bit, sources::hbm3e_energy};
  a.fabric.latency = {(10.36 - 5.17) / 6.0 * us, sources::all_gather_slope};
  a.tdp = {700.0 * watt, sources::h200_power};
  a.price = {4.54 * usd_per_hour, sources::spheron_prices};
  return a;
}();

/// H100 PCIe 80 GB (HBM2e). Its peers are reached over PCIe; two cards can be bridged with NVLink,
/// see alternatives.hpp. Clocks drop to 1.4 GHz at its 350 W.
inline constexpr accelerator h100_pcie{
    .name = "h100_pcie",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::hopper,
    .sms = {114.0, sources::h100_table},
    .matrix = {.peak = {.fp64 = {51.0 * TFLOP_per_s, sources::h100_table},
                        .tf32 = {dense(sparse_flop_rate<>(756.0 * TFLOP_per_s)),
                                 sources::h100_pcie_tf32},
                        .bf16 = {756.5 * TFLOP_per_s, sources::system_specs},
                        .fp16 = {756.5 * TFLOP_per_s, sources::system_specs},
                        .fp8 = {1513.0 * TFLOP_per_s, sources::system_specs},
                        .int8 = {1513.0 * TFLOP_per_s, sources::system_specs}},
               .clock = {clock_of(756.5 * TFLOP_per_s, 114, 4096), sources::tensor_clock},
               .flop_per_clock = {4096.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {26.0 * TFLOP_per_s, sources::h100_table},
                        .fp32 = {51.0 * TFLOP_per_s, sources::h100_table},
                        .bf16 = {2.0 * 51.0 * TFLOP_per_s, sources::twice_fp32},
                        .fp16 = {2.0 * 51.0 * TFLOP_per_s, sources::twice_fp32}},
               .clock = {1.755 * GHz, sources::h100_pcie_chips},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {114.0 * 256.0 * KiB, sources::cuda_guide},
                  .bandwidth = {operand_reads(114, 128, 1.755 * GHz), sources::operands}},
    .shared = {.capacity = {114.0 * 228.0 * KiB, sources::hopper_guide},
               .bandwidth = {per_clock(114, 128, 1.755 * GHz), sources::shared_banks},
               .latency = {19.4 * ns, sources::gpu_benches}},
    .l2 = {.capacity = {50.0 * MiB, sources::h100_table},
           .bandwidth = {6.95 * TB_per_s, sources::gpu_benches},
           .latency = {151.3 * ns, sources::gpu_benches}},
    .dram = {.capacity = {81559.0 * MiB, sources::h100_pcie_memory},
             .bandwidth = {bandwidth_from_bus(5120.0, 2.0 * 1593.0 * MHz), sources::h100_pcie_pins},
             .latency = {371.7 * ns, sources::gpu_benches},
             .energy_per_byte = {4.3 * pJ_per_bit, sources::hbm2e_energy}},
    .fabric = pcie_peers(32.0 * GHz, sources::pcie),
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 32.0 * GHz), sources::pcie}},
    .tdp = {350.0 * watt, sources::h100_table},
    .price = {2.86 * usd_per_hour, sources::techbytes_prices},
    .far_l2_latency = {271.0 * ns, sources::gpu_benches},
};

/// H20: Hopper with the arithmetic that export rules leave, and all of the memory.
inline constexpr accelerator h20 = [] {
  accelerator a = h100_sxm;
  a.name = "h20";
  a.sms = {78.0, sources::h20_listing};
  a.matrix.peak = {.tf32 = {74.0 * TFLOP_per_s, sources::h20_note},
                   .bf16 = {148.0 * TFLOP_per_s, sources::h20_note},
                   .fp16 = {148.0 * TFLOP_per_s, sources::h20_note},
                   .fp8 = {2.0 * 148.0 * TFLOP_per_s, sources::h20_fp8},
                   .int8 = {296.0 * TFLOP_per_s, sources::h20_note}};
  a.matrix.clock = {clock_of(148.0 * TFLOP_per_s, 78, 1024), sources::tensor_clock};
  a.matrix.flop_per_clock = {1024.0 * flop, sources::h20_rate};
  // 44 TFLOP/s is printed, which 78 SMs reach at no clock of a Hopper.
  a.vector.peak = {.fp64 = {1.0 * TFLOP_per_s, sources::h20_note},
                   .fp32 = {78.0 * 256.0 * 1.98 * GFLOP_per_s, sources::sms_times_clock}};
  a.vector.clock = {1.98 * GHz, sources::not_read};
  a.registers = {.capacity = {78.0 * 256.0 * KiB, sources::cuda_guide},
                 .bandwidth = {operand_reads(78, 128, 1.98 * GHz), sources::operands}};
  a.shared.capacity = {78.0 * 228.0 * KiB, sources::hopper_guide};
  a.shared.bandwidth = {per_clock(78, 128, 1.98 * GHz), sources::shared_banks};
  a.l2.capacity = {60.0 * MiB, sources::h20_l2};
  a.l2.bandwidth = {};
  a.dram.capacity = {97871.0 * MiB, sources::h20_memory};
  a.dram.bandwidth = {4.0 * TB_per_s, sources::h20_page};
  a.fabric.latency = {};
  a.tdp = {500.0 * watt, sources::h20_driver};
  a.price = {};
  return a;
}();

/// H20 with the memory of H200, also called H20-3e.
inline constexpr accelerator h20_141gb = [] {
  accelerator a = h20;
  a.name = "h20_141gb";
  a.dram.capacity = {143771.0 * MiB, sources::h20_141gb_driver};
  a.dram.bandwidth = {4.8 * TB_per_s, sources::h20_141gb_memory};
  a.dram.energy_per_byte = {0.8 * 4.3 * pJ_per_bit, sources::hbm3e_energy};
  return a;
}();

/// H800 SXM: H100 with the FP64 and the NVLink that export rules left.
inline constexpr accelerator h800_sxm = [] {
  accelerator a = h100_sxm;
  a.name = "h800_sxm";
  a.matrix.peak.fp64 = {1.0 * TFLOP_per_s, sources::h800_cuts};
  a.vector.peak.fp64 = {1.0 * TFLOP_per_s, sources::h800_cuts};
  a.dram.capacity = {81559.0 * MiB, sources::h800_driver};
  a.dram.bandwidth = {3.35 * TB_per_s, sources::h800_issue};
  a.fabric.bandwidth = {one_way(two_way_bandwidth<>(400.0 * GB_per_s)), sources::h800_cuts};
  a.fabric.latency = {};
  a.price = {};
  return a;
}();

/// H100 NVL 94 GB, a PCIe card. Its peers are reached over PCIe; cards are sold in pairs that an
/// NVLink bridge joins, see alternatives.hpp.
inline constexpr accelerator h100_nvl = [] {
  accelerator a = h100_pcie;
  a.name = "h100_nvl";
  const frequency<> boost = clock_of(60.0 * TFLOP_per_s, 132, 256);
  a.sms = {132.0, sources::h100_nvl_page};
  a.matrix.peak = {.fp64 = {60.0 * TFLOP_per_s, sources::not_read},
                   .tf32 = {835.5 / 2.0 * TFLOP_per_s, sources::half_of_bf16},
                   .bf16 = {835.5 * TFLOP_per_s, sources::h100_nvl_code},
                   .fp16 = {835.5 * TFLOP_per_s, sources::h100_nvl_code},
                   .fp8 = {2.0 * 835.5 * TFLOP_per_s, sources::twice_bf16},
                   .int8 = {2.0 * 835.5 * TFLOP_per_s, sources::twice_bf16}};
  a.matrix.clock = {clock_of(835.5 * TFLOP_per_s, 132, 4096), sources::tensor_clock};
  a.vector.peak = {.fp64 = {30.0 * TFLOP_per_s, sources::not_read},
                   .fp32 = {60.0 * TFLOP_per_s, sources::not_read},
                   .bf16 = {2.0 * 60.0 * TFLOP_per_s, sources::twice_fp32},
                   .fp16 = {2.0 * 60.0 * TFLOP_per_s, sources::twice_fp32}};
  a.vector.clock = {boost, sources::vector_clock};
  a.registers = {.capacity = {132.0 * 256.0 * KiB, sources::cuda_guide},
                 .bandwidth = {operand_reads(132, 128, boost), sources::operands}};
  a.shared.capacity = {132.0 * 228.0 * KiB, sources::cuda_guide};
  a.shared.bandwidth = {per_clock(132, 128, boost), sources::shared_banks};
  a.shared.latency = {19.4 * ns, sources::h100_pcie_chase};
  a.l2 = {.capacity = {60.0 * MiB, sources::h100_nvl_l2},
          .latency = {151.3 * ns, sources::h100_pcie_chase}};
  a.dram = {.capacity = {95830.0 * MiB, sources::posted_totals},
            .bandwidth = {bandwidth_from_bus(6016.0, 2.0 * 2619.0 * MHz), sources::h100_nvl_pins},
            .latency = {371.7 * ns, sources::h100_pcie_chase},
            .energy_per_byte = {3.92 * pJ_per_bit, sources::hbm2_energy}};
  a.tdp = {400.0 * watt, sources::h100_nvl_page};
  a.price = {};
  a.far_l2_latency = {271.0 * ns, sources::h100_pcie_chase};
  return a;
}();

/// H200 NVL, a PCIe card of 600 W. Two or four can be bridged with NVLink, see alternatives.hpp.
inline constexpr accelerator h200_nvl = [] {
  accelerator a = h100_nvl;
  a.name = "h200_nvl";
  a.l2.capacity = {60.0 * MiB, sources::h200_properties};
  a.dram = {.capacity = {143771.0 * MiB, sources::h200_driver},
            .bandwidth = {4.8 * TB_per_s, sources::ml_engineering},
            .latency = {371.7 * ns, sources::h100_pcie_chase},
            .energy_per_byte = {0.8 * 4.3 * pJ_per_bit, sources::hbm3e_energy}};
  a.tdp = {600.0 * watt, sources::ml_engineering};
  return a;
}();

inline constexpr std::array hopper_accelerators{
    accelerator_entry{h100_sxm, "NVIDIA H100 SXM5 80 GB"},
    accelerator_entry{h100_pcie, "NVIDIA H100 PCIe 80 GB"},
    accelerator_entry{h100_nvl, "NVIDIA H100 NVL 94 GB"},
    accelerator_entry{h200_nvl, "NVIDIA H200 NVL 141 GB"},
    accelerator_entry{h200_sxm, "NVIDIA H200 SXM 141 GB"},
    accelerator_entry{h20, "NVIDIA H20 96 GB"},
    accelerator_entry{h20_141gb, "NVIDIA H20 141 GB (H20-3e)"},
    accelerator_entry{h800_sxm, "NVIDIA H800 SXM5 80 GB"},
};

// The GPUs of NVIDIA GH200 superchips, with 96 GB of HBM3 or 144 GB of HBM3e.

namespace sources {
// clang-format off
inline constexpr source grace_hopper_sheet{basis::copied, "NVIDIA GH200 datasheet (https://nvdam.widen.net/s/rrgqqnpbz8/grace-datasheet-gh200-grace-hopper-superchip-3773000) as quoted in gh200_specs.md of https://github.com/atineoSE/coding-model-seeks-gpu"};
inline constexpr source gh200_144gb_l2{basis::assumed, "as the 96 GB superchip's"};
// clang-format on
}  // namespace sources

/// GPU of a GH200 superchip with 96 GB of HBM3: H100's die with the L2 and the memory bus of H200.
/// Its peers depend on the system. The published figures that gpu-benches calls h200 are of this
/// part: its memory reaches 3.9 TB/s.
inline constexpr accelerator gh200_96gb = [] {
  accelerator a = h200_sxm;
  a.name = "gh200_96gb";
  a.sms = {132.0, sources::gh200_page};
  a.vector.clock = {1.98 * GHz, sources::gh200_page};
  a.shared.latency = {16.2 * ns, sources::own_h200_l1_taken};
  a.l2.capacity = {60.0 * MiB, sources::gh200_query};
  a.l2.latency = {137.7 * ns, sources::own_h200_chase_taken};
  a.l2.bandwidth = {9.75 * TB_per_s, sources::gh200_l2};
  a.dram.capacity = {97871.0 * MiB, sources::gh200_driver};
  a.dram.bandwidth = {4.0 * TB_per_s, sources::gh200_announcement};
  a.dram.latency = {340.0 * ns, sources::own_h200_chase_taken};
  a.dram.energy_per_byte = {3.92 * pJ_per_bit, sources::hbm2_energy};
  a.fabric = {};
  a.host = {.kind = link_kind::nvlink_c2c,
            .bandwidth = {one_way(two_way_bandwidth<>(900.0 * GB_per_s)), sources::c2c_whole}};
  a.tdp = {900.0 * watt, sources::gh200_driver};
  a.price = {};
  return a;
}();

/// The GPU of a GH200 superchip with 144 GB of HBM3e.
inline constexpr accelerator gh200_144gb = [] {
  accelerator a = gh200_96gb;
  a.name = "gh200_144gb";
  a.l2.capacity = {60.0 * MiB, sources::gh200_144gb_l2};
  a.l2.bandwidth = {9.75 * TB_per_s, sources::gh200_l2_taken};
  a.dram.capacity = {144.0 * GB, sources::grace_hopper_sheet};
  a.dram.bandwidth = {4.9 * TB_per_s, sources::grace_hopper_sheet};
  a.dram.energy_per_byte = {0.8 * 4.3 * pJ_per_bit, sources::hbm3e_energy};
  a.tdp = {1000.0 * watt, sources::grace_hopper_sheet};
  return a;
}();

inline constexpr std::array grace_hopper_accelerators{
    accelerator_entry{gh200_96gb, "NVIDIA GH200 96 GB, its GPU"},
    accelerator_entry{gh200_144gb, "NVIDIA GH200 144 GB, its GPU"},
};

}  // namespace perfmodel::inline v0_3::catalog
