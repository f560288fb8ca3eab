// NVIDIA Turing: T4.
#pragma once

#include <perfmodel/hardware/catalog/arithmetic.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source t4_table{basis::copied,
                                 "table of Tesla T4, https://sysrqmts.com/en/gpus/nvidia/tesla/t4"};
inline constexpr source t4_launch{
    basis::copied,
    "launch of Tesla T4: 65 TFLOP/s, 130 and 260 TOPS, "
    "https://geektopia.es/es/technology/2018/09/13/noticias/"
    "nvidia-presenta-la-nueva-tesla-t4-basada-en-turing-orientada-a-inteligencia-artificial.html"};
inline constexpr source t4_memory{
    basis::assumed, "15360 MiB is what nvidia-smi commonly shows; no named output was read"};
}  // namespace sources

/// T4. It has no bf16. With ECC its memory reads 300 GB/s.
inline constexpr accelerator t4{
    .name = "t4",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::turing,
    .sms = {40.0, sources::t4_table},
    .matrix = {.peak = {.fp16 = {65.0 * TFLOP_per_s, sources::t4_launch},
                        .int8 = {130.0 * TFLOP_per_s, sources::t4_launch},
                        .int4 = {260.0 * TFLOP_per_s, sources::t4_launch}},
               .clock = {1.59 * GHz, sources::t4_table},
               .flop_per_clock = {1024.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp32 = {8.141 * TFLOP_per_s, sources::t4_table},
                        .fp16 = {2.0 * 8.141 * TFLOP_per_s, sources::twice_fp32}},
               .clock = {1.59 * GHz, sources::t4_table},
               .flop_per_clock = {128.0 * flop, sources::lanes}},
    .registers = {.capacity = {40.0 * 256.0 * KiB, sources::cuda_guide}},
    .shared = {.capacity = {40.0 * 64.0 * KiB, sources::cuda_guide}},
    .l2 = {.capacity = {4.0 * MiB, sources::t4_table}},
    .dram = {.capacity = {15360.0 * MiB, sources::t4_memory},
             .bandwidth = {320.0 * GB_per_s, sources::t4_table}},
    .fabric = {.kind = link_kind::pcie,
               .bandwidth = {pcie_one_way(16, 8.0 * GHz), sources::no_fabric},
               .ranks = 8},  // assumed: the cards of a common server
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 8.0 * GHz), sources::pcie}},
    .tdp = {70.0 * watt, sources::t4_table},
};

inline constexpr std::array turing_accelerators{
    accelerator_entry{t4, "NVIDIA T4"},
};

}  // namespace perfmodel::catalog
