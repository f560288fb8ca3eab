// NVIDIA Blackwell for data centres: B200, B300, and GB200, GB300 (one GPU of an NVL72 rack); and
// the announced Rubin.
#pragma once

#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::inline v0_3::catalog {

/// B200 of an HGX board: 7680 of the 8192 bits of its memory bus, of which GB200 has 7936.
inline constexpr accelerator b200_sxm{
    .name = "b200_sxm",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::blackwell,
    .sms = {148.0, sources::b200_driver},
    .matrix = {.peak = {.fp64 = {296.0 / 8.0 * TFLOP_per_s, sources::hgx_eighth},
                        .tf32 = {1125.0 * TFLOP_per_s, sources::hgx_table},
                        .bf16 = {2250.0 * TFLOP_per_s, sources::exemplar},
                        .fp16 = {2250.0 * TFLOP_per_s, sources::hgx_table},
                        .fp8 = {4500.0 * TFLOP_per_s, sources::exemplar},
                        .int8 = {4500.0 * TFLOP_per_s, sources::hgx_table},
                        .fp4 = {9000.0 * TFLOP_per_s, sources::exemplar}},
               .clock = {clock_of(2250.0 * TFLOP_per_s, 148, 8192), sources::tensor_clock},
               .flop_per_clock = {8192.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {296.0 / 8.0 * TFLOP_per_s, sources::hgx_eighth},
                        .fp32 = {600.0 / 8.0 * TFLOP_per_s, sources::hgx_eighth},
                        .bf16 = {150.04 * TFLOP_per_s, sources::b200_compare},
                        .fp16 = {150.04 * TFLOP_per_s, sources::b200_compare}},
               .clock = {1.965 * GHz, sources::ml_engineering},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {148.0 * 256.0 * KiB, sources::cuda_guide},
                  .bandwidth = {operand_reads(148, 128, 1.965 * GHz), sources::operands}},
    .shared = {.capacity = {148.0 * 228.0 * KiB, sources::blackwell_guide},
               .bandwidth = {per_clock(148, 128, 1.965 * GHz), sources::shared_banks},
               .latency = {19.6 * ns, sources::b200_latency}},
    .l2 = {.capacity = {126.5 * MiB, sources::b200_driver},
           .bandwidth = {17.0 * TB_per_s, sources::b300_notes_taken},
           .latency = {150.0 * ns, sources::b200_latency}},
    .dram = {.capacity = {183359.0 * MiB, sources::b200_memory},
             .bandwidth = {7.7 * TB_per_s, sources::exemplar},
             .energy_per_byte = {0.8 * 4.3 * pJ_per_bit, sources::hbm3e_energy}},
    .fabric = nvlink_switched(1800.0 * GB_per_s, sources::nvlink_page, 8),
    .host = {.kind = link_kind::pcie,
             .bandwidth = {pcie_one_way(16, 32.0 * GHz), sources::exemplar_host}},
    .tdp = {1000.0 * watt, sources::exemplar},
    .price = {6.03 * usd_per_hour, sources::spheron_prices},
};

/// B100: B200's die and memory at 700 W, for boards of H100. Hardly sold.
inline constexpr accelerator b100_sxm = [] {
  accelerator a = b200_sxm;
  a.name = "b100_sxm";
  const frequency<> boost = 1.6 * GHz;
  a.sms = {148.0, sources::b100_compare};
  a.matrix.peak = {.fp64 = {27.36 * TFLOP_per_s, sources::b100_compare},
                   .tf32 = {875.4 * TFLOP_per_s, sources::b100_compare},
                   .bf16 = {1750.0 * TFLOP_per_s, sources::b100_compare},
                   .fp16 = {1750.0 * TFLOP_per_s, sources::b100_compare},
                   .fp8 = {3500.0 * TFLOP_per_s, sources::b100_compare},
                   .int8 = {3500.0 * TFLOP_per_s, sources::b100_compare},
                   .fp4 = {7000.0 * TFLOP_per_s, sources::b100_compare}};
  a.matrix.clock = {clock_of(1750.0 * TFLOP_per_s, 148, 8192), sources::tensor_clock};
  a.vector.peak = {.fp64 = {30.31 * TFLOP_per_s, sources::b100_compare},
                   .fp32 = {60.62 * TFLOP_per_s, sources::b100_compare},
                   .bf16 = {121.2 * TFLOP_per_s, sources::b100_compare},
                   .fp16 = {121.2 * TFLOP_per_s, sources::b100_compare}};
  a.vector.clock = {boost, sources::b100_compare};
  a.registers.bandwidth = {operand_reads(148, 128, boost), sources::operands};
  a.shared.bandwidth = {per_clock(148, 128, boost), sources::shared_banks};
  a.shared.latency = {};
  a.l2.bandwidth = {};
  a.l2.latency = {};
  a.dram.bandwidth = {7.7 * TB_per_s, sources::b100_compare};
  a.tdp = {700.0 * watt, sources::b100_compare};
  a.price = {};
  return a;
}();

/// B300 of an HGX board: 7680 of the 8192 bits of its memory bus. INT8 and FP64 are cut to make
/// room for FP4. It speaks PCIe 6; the processors of HGX and DGX B300 speak PCIe 5.
inline constexpr accelerator b300_sxm = [] {
  accelerator a = b200_sxm;
  a.name = "b300_sxm";
  a.architecture = chip_architecture::blackwell_ultra;
  a.sms = {148.0, sources::b300_notes};
  a.matrix.peak = {.fp64 = {10.0 / 8.0 * TFLOP_per_s, sources::hgx_eighth},
                   .tf32 = {1125.0 * TFLOP_per_s, sources::b300_table},
                   .bf16 = {2250.0 * TFLOP_per_s, sources::exemplar},
                   .fp16 = {2250.0 * TFLOP_per_s, sources::b300_table},
                   .fp8 = {4500.0 * TFLOP_per_s, sources::exemplar},
                   .int8 = {153.5 * TFLOP_per_s, sources::system_specs},
                   .fp4 = {13500.0 * TFLOP_per_s, sources::exemplar}};
  a.vector.peak = {.fp64 = {10.0 / 8.0 * TFLOP_per_s, sources::hgx_eighth},
                   .fp32 = {600.0 / 8.0 * TFLOP_per_s, sources::hgx_eighth},
                   .bf16 = {2.0 * 75.0 * TFLOP_per_s, sources::twice_fp32},
                   .fp16 = {2.0 * 75.0 * TFLOP_per_s, sources::twice_fp32}};
  a.vector.clock = {2.032 * GHz, sources::b300_notes};
  a.registers.bandwidth = {operand_reads(148, 128, 2.032 * GHz), sources::operands};
  a.shared = {.capacity = {148.0 * 228.0 * KiB, sources::b300_notes},
              .bandwidth = {per_clock(148, 128, 2.032 * GHz), sources::shared_banks},
              .latency = {24.0 / (2.032 * GHz), sources::b300_notes}};
  a.l2 = {.capacity = {126.5 * MiB, sources::b300_notes},
          .bandwidth = {17.0 * TB_per_s, sources::b300_notes},
          .latency = {157.0 * ns, sources::b300_notes}};
  a.dram.capacity = {288400343040.0 * byte, sources::system_specs_memory};
  a.dram.latency = {470.0 * ns, sources::b300_notes};
  a.tdp = {1100.0 * watt, sources::exemplar};
  a.price = {6.0 * usd_per_hour, sources::b300_price};
  return a;
}();

/// One GPU of a GB200 NVL72 rack: B200 in a higher power bin, 72 GPUs in one NVLink domain, and
/// NVLink-C2C to its Grace CPU.
inline constexpr accelerator gb200 = [] {
  accelerator a = b200_sxm;
  a.name = "gb200";
  const frequency<> boost = 2.062 * GHz;
  a.sms = {152.0, sources::xla_specs};
  a.matrix.peak = {.fp64 = {40.0 * TFLOP_per_s, sources::gb200_half},
                   .tf32 = {1250.0 * TFLOP_per_s, sources::b200_brief},
                   .bf16 = {2500.0 * TFLOP_per_s, sources::b200_brief},
                   .fp16 = {2500.0 * TFLOP_per_s, sources::b200_brief},
                   .fp8 = {5000.0 * TFLOP_per_s, sources::b200_brief},
                   .int8 = {5000.0 * TFLOP_per_s, sources::b200_brief},
                   .fp4 = {10000.0 * TFLOP_per_s, sources::b200_brief}};
  a.matrix.clock = {clock_of(2500.0 * TFLOP_per_s, 152, 8192), sources::tensor_clock};
  a.vector.peak = {.fp64 = {80.02 / 2.0 * TFLOP_per_s, sources::gb200_half},
                   .fp32 = {160.04 / 2.0 * TFLOP_per_s, sources::gb200_half},
                   .bf16 = {320.08 / 2.0 * TFLOP_per_s, sources::gb200_half},
                   .fp16 = {320.08 / 2.0 * TFLOP_per_s, sources::gb200_half}};
  a.vector.clock = {boost, sources::xla_specs};
  a.registers = {.capacity = {152.0 * 256.0 * KiB, sources::cuda_guide},
                 .bandwidth = {operand_reads(152, 128, boost), sources::operands}};
  a.shared = {.capacity = {152.0 * 228.0 * KiB, sources::blackwell_guide},
              .bandwidth = {per_clock(152, 128, boost), sources::shared_banks},
              .latency = {19.6 * ns, sources::b200_latency_taken}};
  a.l2.capacity = {135528448.0 * byte, sources::xla_specs};
  a.l2.latency = {150.0 * ns, sources::b200_latency_taken};
  a.dram.capacity = {189471.0 * MiB, sources::system_specs_memory};
  a.dram.bandwidth = {8.0 * TB_per_s, sources::exemplar};
  a.fabric.ranks = 72;
  a.host = {.kind = link_kind::nvlink_c2c,
            .bandwidth = {one_way(two_way_bandwidth<>(900.0 * GB_per_s)), sources::c2c}};
  a.tdp = {1200.0 * watt, sources::b200_brief};
  a.price = {9.08 / 2.0 * usd_per_hour, sources::gb200_price};
  return a;
}();

/// One GPU of a GB300 NVL72 rack: Blackwell Ultra in GB200's place.
inline constexpr accelerator gb300 = [] {
  accelerator a = gb200;
  a.name = "gb300";
  a.architecture = chip_architecture::blackwell_ultra;
  a.matrix.peak = {.tf32 = {2500.0 / 2.0 * TFLOP_per_s, sources::half_of_bf16},
                   .bf16 = {2500.0 * TFLOP_per_s, sources::system_specs},
                   .fp16 = {2500.0 * TFLOP_per_s, sources::system_specs},
                   .fp8 = {5000.0 * TFLOP_per_s, sources::system_specs},
                   .int8 = {165.0 * TFLOP_per_s, sources::system_specs},
                   .fp4 = {15000.0 * TFLOP_per_s, sources::blackwell_ultra}};
  a.vector.peak = {.fp64 = {1.25 * TFLOP_per_s, sources::b300_fp64_taken},
                   .fp32 = {80.02 * TFLOP_per_s, sources::gb200_fp32_taken}};
  a.vector.clock = {2.07 * GHz, sources::xla_specs};
  a.registers.bandwidth = {operand_reads(152, 128, 2.07 * GHz), sources::operands};
  a.shared.capacity = {152.0 * 228.0 * KiB, sources::b300_notes};
  a.shared.bandwidth = {per_clock(152, 128, 2.07 * GHz), sources::shared_banks};
  a.shared.latency = {24.0 / (2.032 * GHz), sources::b300_notes_taken};
  a.l2.latency = {157.0 * ns, sources::b300_notes_taken};
  a.dram.capacity = {284208.0 * MiB, sources::system_specs_memory};
  a.dram.bandwidth = {8.0 * TB_per_s, sources::exemplar};
  a.dram.latency = {470.0 * ns, sources::b300_notes_taken};
  a.tdp = {1400.0 * watt, sources::exemplar};
  a.price = {};
  return a;
}();

inline constexpr std::array blackwell_accelerators{
    accelerator_entry{b100_sxm, "NVIDIA B100 (HGX)"},
    accelerator_entry{b200_sxm, "NVIDIA B200 (HGX)"},
    accelerator_entry{b300_sxm, "NVIDIA B300 (HGX)"},
    accelerator_entry{gb200, "NVIDIA GB200 NVL72, one GPU"},
    accelerator_entry{gb300, "NVIDIA GB300 NVL72, one GPU"},
};

// NVIDIA Rubin: announced, not measured by anyone. One package of a rack; a package has two
// (Rubin) or four (Rubin Ultra) dies, and the racks are named after the dies.

/// One Rubin package of Vera Rubin NVL72, first announced as NVL144: 72 packages. The 50 PFLOP/s of
/// FP4 that are printed for inference count what its engine skips; see alternatives.hpp.
inline constexpr accelerator vera_rubin_nvl72{
    .name = "vera_rubin_nvl72",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::rubin,
    .sms = {224.0, sources::rubin_blog},
    .matrix = {.peak = {.tf32 = {2000.0 * TFLOP_per_s, sources::rubin_sheet_copied},
                        .bf16 = {4000.0 * TFLOP_per_s, sources::rubin_sheet},
                        .fp16 = {4000.0 * TFLOP_per_s, sources::rubin_sheet},
                        .fp8 = {17500.0 * TFLOP_per_s, sources::rubin_sheet},
                        .int8 = {250.0 * TFLOP_per_s, sources::rubin_sheet},
                        .fp4 = {35000.0 * TFLOP_per_s, sources::rubin_sheet}}},
    .vector = {.peak = {.fp32 = {130.0 * TFLOP_per_s, sources::rubin_sheet_copied}}},
    .dram = {.capacity = {288.0 * GB, sources::rubin_gtc},
             .bandwidth = {22.0 * TB_per_s, sources::rubin_sheet}},
    .fabric = nvlink_switched(3600.0 * GB_per_s, sources::rubin_links, 72),
    .host = {.kind = link_kind::nvlink_c2c,
             .bandwidth = {one_way(two_way_bandwidth<>(1800.0 * GB_per_s)),
                           sources::rubin_technews}},
};

/// One Rubin Ultra package of the rack of 144 packages that was announced as NVL576 and is called
/// NVL144 since 2026. The link rate assumes that the rack's 1.5 PB/s adds both directions, as the
/// figures of earlier racks do; whether its FP4 rate is dense is not said, and Rubin's is not.
inline constexpr accelerator rubin_ultra_nvl576{
    .name = "rubin_ultra_nvl576",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::rubin_ultra,
    .matrix = {.peak = {.fp8 = {5000000.0 / 144.0 * TFLOP_per_s, sources::rubin_ultra_rack},
                        .fp4 = {15000000.0 / 144.0 * TFLOP_per_s, sources::rubin_ultra_rack}}},
    .dram = {.capacity = {1.0 * TB, sources::rubin_ultra_gtc},
             .bandwidth = {4600.0 / 144.0 * TB_per_s, sources::rubin_ultra_rack}},
    .fabric = nvlink_switched(1500.0 / 144.0 * TB_per_s, sources::rubin_ultra_rack, 144),
};

/// Rubin CPX: a die for prefill, with GDDR7 and no NVLink. Only its FP4 rate is said; the 30
/// PFLOP/s printed are taken as sparse.
inline constexpr accelerator rubin_cpx{
    .name = "rubin_cpx",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::rubin,
    .sms = {192.0, sources::rubin_cpx_news},
    .matrix = {.peak = {.fp4 = {20000.0 * TFLOP_per_s, sources::rubin_cpx_news}}},
    .dram = {.capacity = {128.0 * GB, sources::rubin_cpx_news},
             .bandwidth = {2.0 * TB_per_s, sources::rubin_cpx_news}},
    .host = {.kind = link_kind::pcie,
             .bandwidth = {121.0 * GB_per_s, sources::ml_engineering_network}},
};

inline constexpr std::array rubin_accelerators{
    accelerator_entry{vera_rubin_nvl72, "NVIDIA Vera Rubin NVL72, one package (announced)"},
    accelerator_entry{rubin_cpx, "NVIDIA Rubin CPX (announced)"},
    accelerator_entry{rubin_ultra_nvl576,
                      "NVIDIA Rubin Ultra, one package of 144 in a rack (announced)"},
};

}  // namespace perfmodel::inline v0_3::catalog
