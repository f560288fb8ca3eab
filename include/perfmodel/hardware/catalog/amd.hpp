// AMD Instinct: MI210, MI300X, MI325X, MI350X, MI355X. `sms` are compute units, `shared` is the
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

inline constexpr std::array amd_accelerators{
    accelerator_entry{mi210, "AMD Instinct MI210"},
    accelerator_entry{mi300x, "AMD Instinct MI300X"},
    accelerator_entry{mi325x, "AMD Instinct MI325X"},
    accelerator_entry{mi350x, "AMD Instinct MI350X"},
    accelerator_entry{mi355x, "AMD Instinct MI355X"},
};

}  // namespace perfmodel::inline v0_3::catalog
