// NVIDIA GeForce of the Blackwell generation: RTX 5080 and 5090.
#pragma once

#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::inline v0_3::catalog {

/// GeForce RTX 5080. Floating-point peaks with FP32 accumulation: half rate on GeForce.
inline constexpr accelerator rtx_5080{
    .name = "rtx_5080",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::blackwell_rtx,
    .sms = {84.0, sources::rtx_5080_table},
    .matrix = {.peak = {.tf32 = {56.3 * TFLOP_per_s, sources::rtx_ladder},
                        .bf16 = {112.6 * TFLOP_per_s, sources::rtx_ladder},
                        .fp16 = {112.6 * TFLOP_per_s, sources::rtx_ladder},
                        .fp8 = {225.1 * TFLOP_per_s, sources::rtx_ladder},
                        .int8 = {450.2 * TFLOP_per_s, sources::rtx_ladder},
                        .fp4 = {900.4 * TFLOP_per_s, sources::rtx_ladder}},
               .clock = {2.617 * GHz, sources::rtx_5080_table},
               .flop_per_clock = {512.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {56.28 / 64.0 * TFLOP_per_s, sources::fp32_over_64},
                        .fp32 = {56.28 * TFLOP_per_s, sources::rtx_5080_table},
                        .bf16 = {56.28 * TFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {56.28 * TFLOP_per_s, sources::same_as_fp32}},
               .clock = {2.617 * GHz, sources::rtx_5080_table},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {84.0 * 256.0 * KiB, sources::cuda_guide}},
    .shared = {.capacity = {84.0 * 100.0 * KiB, sources::cuda_guide},
               .bandwidth = {per_clock(84, 128, 2.617 * GHz), sources::shared_banks}},
    .l2 = {.capacity = {64.0 * MiB, sources::rtx_5080_whitepaper}},
    .dram = {.capacity = {16303.0 * MiB, sources::rtx_5080_driver},
             .bandwidth = {960.0 * GB_per_s, sources::rtx_5080_whitepaper}},
    .fabric = {.kind = link_kind::pcie,
               .bandwidth = {pcie_one_way(16, 32.0 * GHz), sources::no_fabric},
               .ranks = 8},  // assumed: the cards of a common server
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 32.0 * GHz), sources::pcie}},
    .tdp = {360.0 * watt, sources::rtx_5080_whitepaper},
};

/// GeForce RTX 5090. Floating-point peaks with FP32 accumulation: half rate on GeForce.
inline constexpr accelerator rtx_5090{
    .name = "rtx_5090",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::blackwell_rtx,
    .sms = {170.0, sources::rtx_5090_table},
    .matrix = {.peak = {.tf32 = {104.8 * TFLOP_per_s, sources::rtx_ladder},
                        .bf16 = {209.5 * TFLOP_per_s, sources::rtx_ladder},
                        .fp16 = {209.5 * TFLOP_per_s, sources::rtx_ladder},
                        .fp8 = {419.0 * TFLOP_per_s, sources::rtx_ladder},
                        .int8 = {838.0 * TFLOP_per_s, sources::rtx_ladder},
                        .fp4 = {1676.0 * TFLOP_per_s, sources::rtx_ladder}},
               .clock = {2.407 * GHz, sources::rtx_5090_table},
               .flop_per_clock = {512.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {104.8 / 64.0 * TFLOP_per_s, sources::fp32_over_64},
                        .fp32 = {104.8 * TFLOP_per_s, sources::rtx_5090_table},
                        .bf16 = {104.8 * TFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {104.8 * TFLOP_per_s, sources::same_as_fp32}},
               .clock = {2.407 * GHz, sources::rtx_5090_table},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {170.0 * 256.0 * KiB, sources::cuda_guide}},
    .shared = {.capacity = {170.0 * 100.0 * KiB, sources::cuda_guide},
               .bandwidth = {per_clock(170, 128, 2.407 * GHz), sources::shared_banks}},
    .l2 = {.capacity = {96.0 * MiB, sources::rtx_5090_table}},
    .dram = {.capacity = {32607.0 * MiB, sources::rtx_5090_driver},
             .bandwidth = {1792.0 * GB_per_s, sources::rtx_5090_table}},
    .fabric = {.kind = link_kind::pcie,
               .bandwidth = {pcie_one_way(16, 32.0 * GHz), sources::no_fabric},
               .ranks = 8},  // assumed: the cards of a common server
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 32.0 * GHz), sources::pcie}},
    .tdp = {575.0 * watt, sources::rtx_5090_table},
    .price = {0.69 * usd_per_hour, sources::runpod_prices},
};

inline constexpr std::array rtx_accelerators{
    accelerator_entry{rtx_5080, "NVIDIA GeForce RTX 5080"},
    accelerator_entry{rtx_5090, "NVIDIA GeForce RTX 5090"},
};

}  // namespace perfmodel::inline v0_3::catalog
