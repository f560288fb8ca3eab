// NVIDIA Ampere of the RTX generation (GA102): A10, A40, RTX A6000, GeForce RTX 3090.
#pragma once

#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::inline v0_3::catalog {

namespace sources {
// clang-format off
inline constexpr source a10_table{basis::copied, "table of A10, https://sysrqmts.com/ru/gpus/compare/nvidia-a10-pcie-vs-nvidia-quadro-rtx-4000"};
inline constexpr source a40_table{basis::copied, "table of A40, https://sysrqmts.com/fr/gpus/compare/nvidia-a40-pcie-vs-nvidia-quadro-rtx-6000"};
inline constexpr source a6000_table{basis::copied, "table of RTX A6000, https://sysrqmts.com/es/gpus/compare/nvidia-rtx-a6000-vs-nvidia-tesla-p40"};
inline constexpr source rtx_3090_table{basis::copied, "table of RTX 3090, https://holynerdvana.blogspot.com/2022/10/nvidia-geforce-rtx-3090-specifications.html"};
inline constexpr source ga102_memory{basis::assumed, "what nvidia-smi commonly shows; no named output was read"};
// clang-format on
}  // namespace sources

/// A10. A10G, which AWS rents out, is another product with 70 TFLOP/s.
inline constexpr accelerator a10{
    .name = "a10",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::ampere_rtx,
    .sms = {72.0, sources::a10_table},
    .matrix = {.peak = {.tf32 = {72.0 * 512.0 * 1.695 * GFLOP_per_s, sources::ga102_ladder},
                        .bf16 = {72.0 * 1024.0 * 1.695 * GFLOP_per_s, sources::ga102_ladder},
                        .fp16 = {72.0 * 1024.0 * 1.695 * GFLOP_per_s, sources::ga102_ladder},
                        .int8 = {72.0 * 2048.0 * 1.695 * GFLOP_per_s, sources::ga102_ladder},
                        .int4 = {72.0 * 4096.0 * 1.695 * GFLOP_per_s, sources::ga102_ladder}},
               .clock = {1.695 * GHz, sources::a10_table},
               .flop_per_clock = {1024.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {72.0 * 4.0 * 1.695 * GFLOP_per_s, sources::fp32_over_64},
                        .fp32 = {72.0 * 256.0 * 1.695 * GFLOP_per_s, sources::a10_table},
                        .bf16 = {72.0 * 256.0 * 1.695 * GFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {72.0 * 256.0 * 1.695 * GFLOP_per_s, sources::same_as_fp32}},
               .clock = {1.695 * GHz, sources::a10_table},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {72.0 * 256.0 * KiB, sources::cuda_guide}},
    .shared = {.capacity = {72.0 * 100.0 * KiB, sources::cuda_guide},
               .bandwidth = {per_clock(72, 128, 1.695 * GHz), sources::shared_banks}},
    .l2 = {.capacity = {6.0 * MiB, sources::a10_table}},
    .dram = {.capacity = {23028.0 * MiB, sources::ga102_memory},
             .bandwidth = {600.0 * GB_per_s, sources::a10_table}},
    .fabric = {.kind = link_kind::pcie,
               .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie},
               .ranks = 8},  // assumed: the cards of a common server
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie}},
    .tdp = {150.0 * watt, sources::a10_table},
};

/// A40. Two cards can be bridged with NVLink, see alternatives.hpp.
inline constexpr accelerator a40{
    .name = "a40",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::ampere_rtx,
    .sms = {84.0, sources::a40_table},
    .matrix = {.peak = {.tf32 = {84.0 * 512.0 * 1.74 * GFLOP_per_s, sources::ga102_ladder},
                        .bf16 = {84.0 * 1024.0 * 1.74 * GFLOP_per_s, sources::ga102_ladder},
                        .fp16 = {84.0 * 1024.0 * 1.74 * GFLOP_per_s, sources::ga102_ladder},
                        .int8 = {84.0 * 2048.0 * 1.74 * GFLOP_per_s, sources::ga102_ladder},
                        .int4 = {84.0 * 4096.0 * 1.74 * GFLOP_per_s, sources::ga102_ladder}},
               .clock = {1.74 * GHz, sources::a40_table},
               .flop_per_clock = {1024.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {84.0 * 4.0 * 1.74 * GFLOP_per_s, sources::fp32_over_64},
                        .fp32 = {84.0 * 256.0 * 1.74 * GFLOP_per_s, sources::a40_table},
                        .bf16 = {84.0 * 256.0 * 1.74 * GFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {84.0 * 256.0 * 1.74 * GFLOP_per_s, sources::same_as_fp32}},
               .clock = {1.74 * GHz, sources::a40_table},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {84.0 * 256.0 * KiB, sources::cuda_guide}},
    .shared = {.capacity = {84.0 * 100.0 * KiB, sources::cuda_guide},
               .bandwidth = {per_clock(84, 128, 1.74 * GHz), sources::shared_banks}},
    .l2 = {.capacity = {6.0 * MiB, sources::a40_table}},
    .dram = {.capacity = {46068.0 * MiB, sources::ga102_memory},
             .bandwidth = {696.0 * GB_per_s, sources::a40_table}},
    .fabric = {.kind = link_kind::pcie,
               .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie},
               .ranks = 8},  // assumed: the cards of a common server
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie}},
    .tdp = {300.0 * watt, sources::a40_table},
};

/// RTX A6000. Two cards can be bridged with NVLink, see alternatives.hpp.
inline constexpr accelerator rtx_a6000{
    .name = "rtx_a6000",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::ampere_rtx,
    .sms = {84.0, sources::a6000_table},
    .matrix = {.peak = {.tf32 = {84.0 * 512.0 * 1.8 * GFLOP_per_s, sources::ga102_ladder},
                        .bf16 = {84.0 * 1024.0 * 1.8 * GFLOP_per_s, sources::ga102_ladder},
                        .fp16 = {84.0 * 1024.0 * 1.8 * GFLOP_per_s, sources::ga102_ladder},
                        .int8 = {84.0 * 2048.0 * 1.8 * GFLOP_per_s, sources::ga102_ladder},
                        .int4 = {84.0 * 4096.0 * 1.8 * GFLOP_per_s, sources::ga102_ladder}},
               .clock = {1.8 * GHz, sources::a6000_table},
               .flop_per_clock = {1024.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {84.0 * 4.0 * 1.8 * GFLOP_per_s, sources::fp32_over_64},
                        .fp32 = {84.0 * 256.0 * 1.8 * GFLOP_per_s, sources::a6000_table},
                        .bf16 = {84.0 * 256.0 * 1.8 * GFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {84.0 * 256.0 * 1.8 * GFLOP_per_s, sources::same_as_fp32}},
               .clock = {1.8 * GHz, sources::a6000_table},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {84.0 * 256.0 * KiB, sources::cuda_guide}},
    .shared = {.capacity = {84.0 * 100.0 * KiB, sources::cuda_guide},
               .bandwidth = {per_clock(84, 128, 1.8 * GHz), sources::shared_banks}},
    .l2 = {.capacity = {6.0 * MiB, sources::a6000_table}},
    .dram = {.capacity = {49140.0 * MiB, sources::ga102_memory},
             .bandwidth = {768.0 * GB_per_s, sources::a6000_table}},
    .fabric = {.kind = link_kind::pcie,
               .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie},
               .ranks = 8},  // assumed: the cards of a common server
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie}},
    .tdp = {300.0 * watt, sources::a6000_table},
};

/// GeForce RTX 3090. Floating-point peaks with FP32 accumulation: half rate on GeForce.
inline constexpr accelerator rtx_3090{
    .name = "rtx_3090",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::ampere_rtx,
    .sms = {82.0, sources::rtx_3090_table},
    .matrix = {.peak = {.tf32 = {82.0 * 256.0 * 1.695 * GFLOP_per_s, sources::ga102_ladder},
                        .bf16 = {82.0 * 512.0 * 1.695 * GFLOP_per_s, sources::ga102_ladder},
                        .fp16 = {82.0 * 512.0 * 1.695 * GFLOP_per_s, sources::ga102_ladder},
                        .int8 = {82.0 * 2048.0 * 1.695 * GFLOP_per_s, sources::ga102_ladder},
                        .int4 = {82.0 * 4096.0 * 1.695 * GFLOP_per_s, sources::ga102_ladder}},
               .clock = {1.695 * GHz, sources::rtx_3090_table},
               .flop_per_clock = {512.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {82.0 * 4.0 * 1.695 * GFLOP_per_s, sources::fp32_over_64},
                        .fp32 = {82.0 * 256.0 * 1.695 * GFLOP_per_s, sources::rtx_3090_table},
                        .bf16 = {82.0 * 256.0 * 1.695 * GFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {82.0 * 256.0 * 1.695 * GFLOP_per_s, sources::same_as_fp32}},
               .clock = {1.695 * GHz, sources::rtx_3090_table},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {82.0 * 256.0 * KiB, sources::cuda_guide}},
    .shared = {.capacity = {82.0 * 100.0 * KiB, sources::cuda_guide},
               .bandwidth = {per_clock(82, 128, 1.695 * GHz), sources::shared_banks}},
    .l2 = {.capacity = {6.0 * MiB, sources::rtx_3090_table}},
    .dram = {.capacity = {24576.0 * MiB, sources::ga102_memory},
             .bandwidth = {936.0 * GB_per_s, sources::rtx_3090_table}},
    .fabric = {.kind = link_kind::pcie,
               .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie},
               .ranks = 8},  // assumed: the cards of a common server
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie}},
    .tdp = {350.0 * watt, sources::rtx_3090_table},
};

inline constexpr std::array ampere_rtx_accelerators{
    accelerator_entry{a10, "NVIDIA A10"},
    accelerator_entry{a40, "NVIDIA A40"},
    accelerator_entry{rtx_a6000, "NVIDIA RTX A6000"},
    accelerator_entry{rtx_3090, "NVIDIA GeForce RTX 3090"},
};

}  // namespace perfmodel::inline v0_3::catalog
