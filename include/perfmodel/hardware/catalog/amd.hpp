// AMD Instinct: MI210, MI300X. `sms` are compute units, `shared` is the local data share.
#pragma once

#include <perfmodel/hardware/catalog/arithmetic.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::catalog {

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
               .ranks = 4},  // assumed: the largest bridge
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
    .matrix = {.peak = {.fp64 = {163.4 * TFLOP_per_s, sources::not_read},
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
    .l2 = {.capacity = {8.0 * 4.0 * MiB, sources::rocm_table}},
    .dram = {.capacity = {192.0 * GiB, sources::amd_gib},
             .bandwidth = {5.3 * TB_per_s, sources::mi300x_page}},
    .fabric = {.kind = link_kind::infinity_fabric,
               .bandwidth = {7.0 * one_way(two_way_bandwidth<>(128.0 * GB_per_s)),
                             sources::mi300x_links},
               .ranks = 8},
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 32.0 * GHz), sources::pcie}},
    .tdp = {750.0 * watt, sources::mi300x_wiki},
    .price = {1.85 * usd_per_hour, sources::mi300x_price},
};

inline constexpr std::array amd_accelerators{
    accelerator_entry{mi210, "AMD Instinct MI210"},
    accelerator_entry{mi300x, "AMD Instinct MI300X"},
};

}  // namespace perfmodel::catalog
