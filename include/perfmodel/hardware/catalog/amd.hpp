// AMD Instinct (MI210 to MI455X), Radeon and Ryzen AI Max. `sms` are compute units, `shared` is the
// local data share.
#pragma once

#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::inline v0_3::catalog {

/// MI210, a PCIe card. Up to four can be bridged.
inline constexpr accelerator mi210{
    .name = "mi210",
    .vendor = "AMD",
    .architecture = chip_architecture::cdna2,
    .sms = {104.0, sources::mi210_page},
    .matrix = {.peak = {.fp64 = {45.3 * TFLOP_per_s, sources::mi210_page},
                        .fp32 = {45.3 * TFLOP_per_s, sources::mi210_page},
                        .bf16 = {181.0 * TFLOP_per_s, sources::mi210_bf16},
                        .fp16 = {181.0 * TFLOP_per_s, sources::mi210_page},
                        .int8 = {181.0 * TFLOP_per_s, sources::mi210_page}},
               .clock = {1.7 * GHz, sources::mi210_page},
               .flop_per_clock = {1024.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {22.6 * TFLOP_per_s, sources::mi210_page},
                        .fp32 = {22.6 * TFLOP_per_s, sources::mi210_page}},
               .clock = {1.7 * GHz, sources::mi210_page},
               .flop_per_clock = {128.0 * flop, sources::lanes}},
    .registers = {.capacity = {104.0 * 512.0 * KiB, sources::rocm_table_taken}},
    .shared = {.capacity = {104.0 * 64.0 * KiB, sources::rocm_table_taken},
               .latency = {73.6 * ns, sources::gpu_benches}},  // a hit in the vector L1
    .l2 = {.capacity = {8.0 * MiB, sources::gpu_benches},
           .latency = {141.0 * ns, sources::gpu_benches}},
    .dram = {.capacity = {64.0 * GiB, sources::amd_gib},
             .bandwidth = {1.6 * TB_per_s, sources::mi210_page},
             .latency = {386.4 * ns, sources::gpu_benches}},
    .fabric = {.kind = link_kind::infinity_fabric,
               .bandwidth = {3.0 * 50.0 * GB_per_s, sources::mi210_bridge},
               .ranks = 4,  // assumed: the largest bridge
               .topology = link_topology::mesh},
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie}},
    .tdp = {300.0 * watt, sources::mi210_page},
};

/// MI300X. `l2` adds up 4 MiB in each of eight dies, which do not share it. Between L2 and HBM
/// stands a 256 MiB Infinity Cache of 17.2 TB/s, a level that this description leaves out.
inline constexpr accelerator mi300x{
    .name = "mi300x",
    .vendor = "AMD",
    .architecture = chip_architecture::cdna3,
    .sms = {304.0, sources::rocm_table},
    .matrix = {.peak = {.fp64 = {163.4 * TFLOP_per_s, sources::mi300x_sheet},
                        .fp32 = {163.4 * TFLOP_per_s, sources::mi300x_peaks},
                        .tf32 = {653.7 * TFLOP_per_s, sources::mi300x_peaks},
                        .bf16 = {1307.4 * TFLOP_per_s, sources::mi300x_peaks},
                        .fp16 = {1307.4 * TFLOP_per_s, sources::mi300x_peaks},
                        .fp8 = {2614.9 * TFLOP_per_s, sources::mi300x_peaks},
                        .int8 = {2614.9 * TFLOP_per_s, sources::mi300x_peaks}},
               .clock = {clock_of(1307.4 * TFLOP_per_s, 304, 2048), sources::tensor_clock},
               .flop_per_clock = {2048.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {163.4 / 2.0 * TFLOP_per_s, sources::half_of_fp32},
                        .fp32 = {163.4 * TFLOP_per_s, sources::mi300x_peaks}},
               .clock = {clock_of(163.4 * TFLOP_per_s, 304, 256), sources::vector_clock},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {304.0 * 512.0 * KiB, sources::rocm_table}},
    .shared = {.capacity = {304.0 * 64.0 * KiB, sources::rocm_table},
               .bandwidth = {per_clock(304, 128, 2.1 * GHz), sources::mi300x_lds}},
    .l2 = {.capacity = {8.0 * 4.0 * MiB, sources::rocm_table},
           .bandwidth = {per_clock(8 * 16, 128, 2.1 * GHz), sources::mi300x_l2}},
    .dram = {.capacity = {196592.0 * MiB, sources::mi300x_driver},
             .bandwidth = {5.3 * TB_per_s, sources::mi300x_page}},
    .fabric = {.kind = link_kind::infinity_fabric,
               .bandwidth = {7.0 * one_way(two_way_bandwidth<>(128.0 * GB_per_s)),
                             sources::mi300x_links},
               .ranks = 8,
               .topology = link_topology::mesh},
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 32.0 * GHz), sources::pcie}},
    .tdp = {750.0 * watt, sources::mi300x_power},
    .price = {1.85 * usd_per_hour, sources::mi300x_price},
};

/// MI325X: MI300X with more and faster memory.
inline constexpr accelerator mi325x = [] {
  accelerator a = mi300x;
  a.name = "mi325x";
  a.dram = {.capacity = {256.0 * GiB, sources::amd_gib},
            .bandwidth = {6.0 * TB_per_s, sources::mi325x_page}};
  a.tdp = {1000.0 * watt, sources::mi325x_page};
  a.price = {};
  return a;
}();

/// MI350X. It has no TF32; MXFP6 runs at the rate of FP4. As on MI300X, a 256 MiB Infinity Cache
/// stands between L2 and HBM, which this description leaves out.
inline constexpr accelerator mi350x{
    .name = "mi350x",
    .vendor = "AMD",
    .architecture = chip_architecture::cdna4,
    .sms = {256.0, sources::rocm_table},
    .matrix = {.peak = {.fp64 = {72.1 * TFLOP_per_s, sources::mi350x_brochure},
                        .fp32 = {144.2 * TFLOP_per_s, sources::mi350x_brochure},
                        .bf16 = {2309.6 * TFLOP_per_s, sources::mi350x_brochure},
                        .fp16 = {2309.6 * TFLOP_per_s, sources::mi350x_brochure},
                        .fp8 = {4614.0 * TFLOP_per_s, sources::mi350x_brochure},
                        .int8 = {4614.0 * TFLOP_per_s, sources::mi350x_brochure},
                        .fp4 = {9227.5 * TFLOP_per_s, sources::mi350x_brochure}},
               .clock = {2.2 * GHz, sources::mi350x_brochure},
               .flop_per_clock = {4096.0 * flop, sources::cdna4_paper}},
    .vector = {.peak = {.fp64 = {72.1 * TFLOP_per_s, sources::mi350x_brochure},
                        .fp32 = {144.2 * TFLOP_per_s, sources::mi350x_brochure},
                        .fp16 = {144.2 * TFLOP_per_s, sources::mi350x_brochure}},
               .clock = {2.2 * GHz, sources::mi350x_brochure},
               .flop_per_clock = {256.0 * flop, sources::cdna4_paper}},
    .registers = {.capacity = {256.0 * 512.0 * KiB, sources::rocm_table}},
    .shared = {.capacity = {256.0 * 160.0 * KiB, sources::rocm_table},
               .bandwidth = {per_clock(256, 256, 2.2 * GHz), sources::cdna4_lds}},
    .l2 = {.capacity = {8.0 * 4.0 * MiB, sources::rocm_table},
           .bandwidth = {per_clock(8 * 16, 128, 2.2 * GHz), sources::cdna4_l2}},
    .dram = {.capacity = {288.0 * GiB, sources::amd_gib},
             .bandwidth = {8.0 * TB_per_s, sources::mi350x_brochure}},
    .fabric = {.kind = link_kind::infinity_fabric,
               .bandwidth = {7.0 * one_way(two_way_bandwidth<>(153.6 * GB_per_s)),
                             sources::mi350_links},
               .ranks = 8,
               .topology = link_topology::mesh},
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 32.0 * GHz), sources::pcie}},
    .tdp = {1000.0 * watt, sources::mi350x_brochure},
};

/// MI355X: MI350X at a higher clock and power.
inline constexpr accelerator mi355x = [] {
  accelerator a = mi350x;
  a.name = "mi355x";
  a.matrix.peak = {.fp64 = {78.6 * TFLOP_per_s, sources::mi355x_brochure},
                   .fp32 = {157.3 * TFLOP_per_s, sources::mi355x_brochure},
                   .bf16 = {2516.6 * TFLOP_per_s, sources::mi355x_brochure},
                   .fp16 = {2516.6 * TFLOP_per_s, sources::mi355x_brochure},
                   .fp8 = {5033.2 * TFLOP_per_s, sources::mi355x_brochure},
                   .int8 = {5033.2 * TFLOP_per_s, sources::mi355x_brochure},
                   .fp4 = {10066.3 * TFLOP_per_s, sources::mi355x_brochure}};
  a.matrix.clock = {2.4 * GHz, sources::mi355x_brochure};
  a.vector.peak = {.fp64 = {78.6 * TFLOP_per_s, sources::mi355x_brochure},
                   .fp32 = {157.3 * TFLOP_per_s, sources::mi355x_brochure},
                   .fp16 = {157.3 * TFLOP_per_s, sources::mi355x_brochure}};
  a.vector.clock = {2.4 * GHz, sources::mi355x_brochure};
  a.shared.bandwidth = {per_clock(256, 256, 2.4 * GHz), sources::cdna4_lds};
  a.l2.bandwidth = {per_clock(8 * 16, 128, 2.4 * GHz), sources::cdna4_l2};
  a.dram.bandwidth = {8.0 * TB_per_s, sources::mi355x_brochure};
  a.tdp = {1400.0 * watt, sources::mi355x_brochure};
  return a;
}();

/// MI350P: half of an MI350X on a PCIe card, at the same clock.
inline constexpr accelerator mi350p = [] {
  accelerator a = mi350x;
  a.name = "mi350p";
  a.sms = {128.0, sources::mi350p_news};
  for (fact<flop_rate<>>* peak :
       {&a.matrix.peak.fp64, &a.matrix.peak.fp32, &a.matrix.peak.bf16, &a.matrix.peak.fp16,
        &a.matrix.peak.fp8, &a.matrix.peak.int8, &a.matrix.peak.fp4, &a.vector.peak.fp64,
        &a.vector.peak.fp32, &a.vector.peak.fp16}) {
    *peak = {0.5 * peak->quantity(), sources::mi350p_half};
  }
  a.registers.capacity = {128.0 * 512.0 * KiB, sources::rocm_table};
  a.shared = {.capacity = {128.0 * 160.0 * KiB, sources::rocm_table},
              .bandwidth = {per_clock(128, 256, 2.2 * GHz), sources::cdna4_lds}};
  a.l2 = {.capacity = {4.0 * 4.0 * MiB, sources::rocm_table},
          .bandwidth = {per_clock(4 * 16, 128, 2.2 * GHz), sources::cdna4_l2}};
  a.dram = {.capacity = {144.0 * GiB, sources::amd_gib},
            .bandwidth = {4.0 * TB_per_s, sources::mi350p_news}};
  a.fabric = pcie_peers(32.0 * GHz, sources::no_fabric);
  a.l2_partitions = {4.0, sources::mi350p_half};
  a.tdp = {600.0 * watt, sources::mi350p_news};
  return a;
}();

/// MI250X: one of its two dies (GCDs), which programs see as a device. Its links are half of the
/// module's seven of 50 GB/s; what they join is assumed to be a switch of the eight dies of a node.
inline constexpr accelerator mi250x = [] {
  accelerator a = mi210;
  a.name = "mi250x";
  a.sms = {110.0, sources::mi250x_half};
  a.matrix.peak = {.bf16 = {383.0 / 2.0 * TFLOP_per_s, sources::mi250x_half},
                   .fp16 = {383.0 / 2.0 * TFLOP_per_s, sources::mi250x_half},
                   .int8 = {383.0 / 2.0 * TFLOP_per_s, sources::mi250x_half}};
  a.vector.peak = {.fp32 = {47.9 / 2.0 * TFLOP_per_s, sources::mi250x_half}};
  a.matrix.clock = a.vector.clock = {1.7 * GHz, sources::ml_engineering};
  a.registers.capacity = {110.0 * 512.0 * KiB, sources::rocm_table_taken};
  a.shared = {.capacity = {110.0 * 64.0 * KiB, sources::rocm_table_taken}};
  a.l2 = {.capacity = {8.0 * MiB, sources::mi250x_half}};
  a.dram = {.capacity = {64.0 * GiB, sources::amd_gib},
            .bandwidth = {3277.0 / 2.0 * GB_per_s, sources::mi250x_half}};
  a.fabric = {.kind = link_kind::infinity_fabric,
              .bandwidth = {350.0 / 2.0 * GB_per_s, sources::mi250x_links},
              .ranks = 8};
  a.tdp = {560.0 / 2.0 * watt, sources::mi250x_half};
  return a;
}();

/// MI308X: MI300X with 80 compute units. No sheet was found.
inline constexpr accelerator mi308x = [] {
  accelerator a = mi300x;
  a.name = "mi308x";
  a.sms = {80.0, sources::not_read};
  a.matrix.peak = {.bf16 = {80.0 * 2048.0 * 2.1 * GFLOP_per_s, sources::mi308x_rate},
                   .fp16 = {80.0 * 2048.0 * 2.1 * GFLOP_per_s, sources::mi308x_rate},
                   .fp8 = {80.0 * 4096.0 * 2.1 * GFLOP_per_s, sources::mi308x_rate},
                   .int8 = {80.0 * 4096.0 * 2.1 * GFLOP_per_s, sources::mi308x_rate}};
  a.vector.peak = {.fp32 = {80.0 * 256.0 * 2.1 * GFLOP_per_s, sources::mi308x_rate}};
  a.matrix.clock = a.vector.clock = {2.1 * GHz, sources::not_read};
  a.registers.capacity = {80.0 * 512.0 * KiB, sources::rocm_table};
  a.shared = {.capacity = {80.0 * 64.0 * KiB, sources::rocm_table},
              .bandwidth = {per_clock(80, 128, 2.1 * GHz), sources::mi300x_lds}};
  a.l2.bandwidth = {};
  a.dram.bandwidth = {5.3 * TB_per_s, sources::not_read};
  a.tdp = {650.0 * watt, sources::not_read};
  a.price = {};
  return a;
}();

/// MI455X, announced. AMD's 20.1 and 40.3 PFLOP/s in 8 and 4 bits are taken as sparse.
inline constexpr accelerator mi455x{
    .name = "mi455x",
    .vendor = "AMD",
    .architecture = chip_architecture::cdna5,
    .matrix = {.peak = {.bf16 = {5000.0 * TFLOP_per_s, sources::mi455x_figures},
                        .fp16 = {5000.0 * TFLOP_per_s, sources::mi455x_figures},
                        .fp8 = {10000.0 * TFLOP_per_s, sources::mi455x_figures},
                        .int8 = {5000.0 * TFLOP_per_s, sources::mi455x_figures},
                        .fp4 = {20000.0 * TFLOP_per_s, sources::mi455x_figures}}},
    .vector = {.peak = {.fp32 = {315.0 * TFLOP_per_s, sources::mi455x_figures}},
               .clock = {2.4 * GHz, sources::mi455x_figures}},
    .l2 = {.capacity = {192.0 * MiB, sources::mi455x_figures}},
    .dram = {.capacity = {432.0 * GB, sources::mi455x_figures},
             .bandwidth = {23.3 * TB_per_s, sources::mi455x_figures}},
    .fabric = {.kind = link_kind::infinity_fabric,
               .bandwidth = {1800.0 * GB_per_s, sources::mi455x_figures},
               .ranks = 72},
};

// Radeon and Ryzen. `sms` are compute units; matrix instructions run on the vector lanes (WMMA).

/// A card of RDNA 3 or 4: 512 or 1024 FLOP per clock and unit in 16 bits, 256 in fp32 with dual
/// issue. `memory` is nominal, in GiB; `l2` in MiB. The 32 to 96 MiB of Infinity Cache are left
/// out.
constexpr accelerator rdna_gpu(const char* name, chip_architecture architecture,
                               const source& table, double units, double ghz, double per_clock,
                               double l2, double memory, double bandwidth, double watts) {
  const auto rate = [&](double x) {
    return fact<flop_rate<>>{units * x * ghz * GFLOP_per_s, sources::sms_times_clock};
  };
  const bool eight_bit_floats = architecture == chip_architecture::rdna4;
  accelerator a{.name = name,
                .vendor = "AMD",
                .architecture = architecture,
                .sms = {units, table},
                .matrix = {.peak = {.bf16 = rate(per_clock),
                                    .fp16 = rate(per_clock),
                                    .int8 = rate(eight_bit_floats ? 2.0 * per_clock : per_clock)},
                           .clock = {ghz * GHz, table},
                           .flop_per_clock = {per_clock * flop, sources::flop_per_clock}},
                .vector = {.peak = {.fp32 = rate(256.0)},
                           .clock = {ghz * GHz, table},
                           .flop_per_clock = {256.0 * flop, sources::lanes}},
                .l2 = {.capacity = {l2 * MiB, table}},
                .dram = {.capacity = {memory * GiB, sources::amd_gib},
                         .bandwidth = {bandwidth * GB_per_s, table}},
                .tdp = {watts * watt, table}};
  a.matrix.peak.int4 = rate(2.0 * a.matrix.peak.int8.value() / (units * ghz * 1e9));
  if (eight_bit_floats) a.matrix.peak.fp8 = rate(2.0 * per_clock);
  return a;
}
/// A Radeon card on PCIe: x16 one-way bandwidth to peers and to the host; `pcie` is the clock of a
/// lane.
constexpr accelerator radeon_card(accelerator a, frequency<> pcie) {
  a.fabric = pcie_peers(pcie, sources::no_fabric);
  a.host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, pcie), sources::pcie}};
  return a;
}
inline constexpr accelerator rx_7900_xtx =
    radeon_card(rdna_gpu("rx_7900_xtx", chip_architecture::rdna3, sources::rocm_radeon, 96, 2.5,
                         512, 6, 24, 960, 355),
                16.0 * GHz);
inline constexpr accelerator rx_9070_xt =
    radeon_card(rdna_gpu("rx_9070_xt", chip_architecture::rdna4, sources::rocm_radeon, 64, 2.97,
                         1024, 8, 16, 640, 304),
                32.0 * GHz);
inline constexpr accelerator radeon_ai_pro_r9700 =
    radeon_card(rdna_gpu("radeon_ai_pro_r9700", chip_architecture::rdna4, sources::rocm_radeon, 64,
                         2.92, 1024, 8, 32, 640, 300),
                32.0 * GHz);
/// Ryzen AI Max+ 395 (Strix Halo), with 128 GB that CPU and GPU share.
inline constexpr accelerator ryzen_ai_max_395 =
    rdna_gpu("ryzen_ai_max_395", chip_architecture::rdna3, sources::strix_halo, 40, 2.9, 512, 2,
             128, 256, 120);

inline constexpr std::array amd_accelerators{
    accelerator_entry{mi210, "AMD Instinct MI210"},
    accelerator_entry{mi250x, "AMD Instinct MI250X, one of its two dies"},
    accelerator_entry{mi300x, "AMD Instinct MI300X"},
    accelerator_entry{mi308x, "AMD Instinct MI308X"},
    accelerator_entry{mi325x, "AMD Instinct MI325X"},
    accelerator_entry{mi350p, "AMD Instinct MI350P"},
    accelerator_entry{mi350x, "AMD Instinct MI350X"},
    accelerator_entry{mi355x, "AMD Instinct MI355X"},
    accelerator_entry{mi455x, "AMD Instinct MI455X (announced)"},
    accelerator_entry{rx_7900_xtx, "AMD Radeon RX 7900 XTX"},
    accelerator_entry{rx_9070_xt, "AMD Radeon RX 9070 XT"},
    accelerator_entry{radeon_ai_pro_r9700, "AMD Radeon AI PRO R9700"},
    accelerator_entry{ryzen_ai_max_395, "AMD Ryzen AI Max+ 395 (Strix Halo)"},
};

}  // namespace perfmodel::inline v0_3::catalog
