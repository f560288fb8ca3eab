// NVIDIA Volta and Turing: V100 and T4.
#pragma once

#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::inline v0_3::catalog {

/// V100 SXM2 32 GB. Its tensor cores know FP16 only.
inline constexpr accelerator v100_sxm_32gb{
    .name = "v100_sxm_32gb",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::volta,
    .sms = {80.0, sources::v100_catalog},
    .matrix = {.peak = {.fp16 = {125.0 * TFLOP_per_s, sources::v100_catalog}},
               .clock = {1.53 * GHz, sources::v100_catalog},
               .flop_per_clock = {1024.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {7.8 * TFLOP_per_s, sources::half_of_fp32},
                        .fp32 = {15.7 * TFLOP_per_s, sources::v100_catalog},
                        .fp16 = {31.3 * TFLOP_per_s, sources::twice_fp32}},
               .clock = {1.53 * GHz, sources::v100_catalog},
               .flop_per_clock = {128.0 * flop, sources::lanes}},
    .registers = {.capacity = {80.0 * 256.0 * KiB, sources::cuda_guide},
                  .bandwidth = {operand_reads(80, 64, 1.53 * GHz), sources::operands}},
    .shared = {.capacity = {80.0 * 96.0 * KiB, sources::v100_whitepaper},
               .bandwidth = {per_clock(80, 128, 1.53 * GHz), sources::shared_banks},
               .latency = {21.7 * ns, sources::gpu_benches}},
    // The L2 benchmark shows 2.3 TB/s beyond the L2 too: a loose figure.
    .l2 = {.capacity = {6.0 * MiB, sources::v100_catalog},
           .bandwidth = {2.45 * TB_per_s, sources::gpu_benches},
           .latency = {155.8 * ns, sources::gpu_benches}},
    .dram = {.capacity = {34058272768.0 * byte, sources::v100_driver},
             .bandwidth = {0.9 * TB_per_s, sources::v100_catalog},
             .latency = {316.2 * ns, sources::gpu_benches},
             .energy_per_byte = {3.92 * pJ_per_bit, sources::hbm2_energy}},
    .fabric = {.kind = link_kind::nvlink,
               .bandwidth = {6.0 * 25.0 * GB_per_s, sources::v100_links},
               .ranks = 8},
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 8.0 * GHz), sources::pcie}},
    .tdp = {300.0 * watt, sources::v100_power},
    .price = {0.97 * usd_per_hour, sources::v100_price},
};

inline constexpr std::array volta_accelerators{
    accelerator_entry{v100_sxm_32gb, "NVIDIA V100 SXM2 32 GB"},
};

// NVIDIA Turing: T4.

namespace sources {
// clang-format off
inline constexpr source t4_table{basis::copied, "table of Tesla T4, https://sysrqmts.com/en/gpus/nvidia/tesla/t4"};
inline constexpr source t4_launch{basis::copied, "launch of Tesla T4: 65 TFLOP/s, 130 and 260 TOPS, https://geektopia.es/es/technology/2018/09/13/noticias/nvidia-presenta-la-nueva-tesla-t4-basada-en-turing-orientada-a-inteligencia-artificial.html"};
// clang-format on
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
    .dram = {.capacity = {15360.0 * MiB, sources::posted_totals},
             .bandwidth = {320.0 * GB_per_s, sources::t4_table}},
    .fabric = pcie_peers(8.0 * GHz, sources::no_fabric),
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 8.0 * GHz), sources::pcie}},
    .tdp = {70.0 * watt, sources::t4_table},
};

inline constexpr std::array turing_accelerators{
    accelerator_entry{t4, "NVIDIA T4"},
};

}  // namespace perfmodel::inline v0_3::catalog
