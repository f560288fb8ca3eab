// Apple M2 Ultra, M3 Ultra, M4 Pro and M4 Max. `sms` are GPU cores. There is no matrix unit, host
// link or fabric: matrix code runs on the vector lanes, memory is shared with the CPU.
#pragma once

#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::inline v0_3::catalog {

/// M2 Ultra with 76 GPU cores and 192 GB. By default the GPU may wire only a part of the memory.
/// `l2` is the cache of the whole system, which the CPU uses too; the power is a Mac Studio's.
inline constexpr accelerator m2_ultra{
    .name = "m2_ultra",
    .vendor = "Apple",
    .architecture = chip_architecture::apple_m2,
    .sms = {76.0, sources::apple_table},
    .matrix = {.peak = {.fp32 = {27.2 * TFLOP_per_s, sources::apple_no_matrix_unit},
                        .bf16 = {27.2 * TFLOP_per_s, sources::apple_no_matrix_unit},
                        .fp16 = {27.2 * TFLOP_per_s, sources::apple_no_matrix_unit}},
               .clock = {1.398 * GHz, sources::apple_m2_clock},
               .flop_per_clock = {256.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp32 = {27.2 * TFLOP_per_s, sources::apple_lanes},
                        .bf16 = {27.2 * TFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {27.2 * TFLOP_per_s, sources::same_as_fp32}},
               .clock = {1.398 * GHz, sources::apple_m2_clock},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .l2 = {.capacity = {96.0 * MiB, sources::apple_slc}},
    .dram = {.capacity = {192.0 * GiB, sources::apple_gib},
             .bandwidth = {819.2 * GB_per_s, sources::apple_table}},
    .tdp = {295.0 * watt, sources::apple_m2_power},
};

/// M3 Ultra with 80 GPU cores and 512 GB; 96 and 256 GB are sold too, see alternatives.hpp.
inline constexpr accelerator m3_ultra{
    .name = "m3_ultra",
    .vendor = "Apple",
    .architecture = chip_architecture::apple_m3,
    .sms = {80.0, sources::apple_table},
    .matrix = {.peak = {.fp32 = {28.26 * TFLOP_per_s, sources::apple_no_matrix_unit},
                        .bf16 = {28.26 * TFLOP_per_s, sources::apple_no_matrix_unit},
                        .fp16 = {28.26 * TFLOP_per_s, sources::apple_no_matrix_unit}},
               .clock = {1.38 * GHz, sources::apple_m3_clock},
               .flop_per_clock = {256.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp32 = {28.26 * TFLOP_per_s, sources::apple_lanes},
                        .bf16 = {28.26 * TFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {28.26 * TFLOP_per_s, sources::same_as_fp32}},
               .clock = {1.38 * GHz, sources::apple_m3_clock},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .l2 = {.capacity = {96.0 * MiB, sources::apple_slc}},
    .dram = {.capacity = {512.0 * GiB, sources::apple_gib},
             .bandwidth = {819.2 * GB_per_s, sources::apple_table}},
    .tdp = {270.0 * watt, sources::apple_power},
};

/// M4 Pro with 20 GPU cores and 64 GB.
inline constexpr accelerator m4_pro{
    .name = "m4_pro",
    .vendor = "Apple",
    .architecture = chip_architecture::apple_m4,
    .sms = {20.0, sources::apple_m4_news},
    .matrix = {.peak = {.fp32 = {20.0 * 256.0 * 1.58 * GFLOP_per_s, sources::apple_no_matrix_unit},
                        .bf16 = {20.0 * 256.0 * 1.58 * GFLOP_per_s, sources::apple_no_matrix_unit},
                        .fp16 = {20.0 * 256.0 * 1.58 * GFLOP_per_s, sources::apple_no_matrix_unit}},
               .clock = {1.58 * GHz, sources::apple_m4_clock},
               .flop_per_clock = {256.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp32 = {20.0 * 256.0 * 1.58 * GFLOP_per_s, sources::apple_lanes},
                        .bf16 = {20.0 * 256.0 * 1.58 * GFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {20.0 * 256.0 * 1.58 * GFLOP_per_s, sources::same_as_fp32}},
               .clock = {1.58 * GHz, sources::apple_m4_clock},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .dram = {.capacity = {64.0 * GiB, sources::apple_m4_gib},
             .bandwidth = {bandwidth_from_bus(256.0, 8.533 * GHz), sources::apple_m4_pins}},
};

/// M4 Max with 32 GPU cores and 36 GB.
inline constexpr accelerator m4_max_32core{
    .name = "m4_max_32core",
    .vendor = "Apple",
    .architecture = chip_architecture::apple_m4,
    .sms = {32.0, sources::apple_m4_news},
    .matrix = {.peak = {.fp32 = {32.0 * 256.0 * 1.58 * GFLOP_per_s, sources::apple_no_matrix_unit},
                        .bf16 = {32.0 * 256.0 * 1.58 * GFLOP_per_s, sources::apple_no_matrix_unit},
                        .fp16 = {32.0 * 256.0 * 1.58 * GFLOP_per_s, sources::apple_no_matrix_unit}},
               .clock = {1.58 * GHz, sources::apple_m4_clock},
               .flop_per_clock = {256.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp32 = {32.0 * 256.0 * 1.58 * GFLOP_per_s, sources::apple_lanes},
                        .bf16 = {32.0 * 256.0 * 1.58 * GFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {32.0 * 256.0 * 1.58 * GFLOP_per_s, sources::same_as_fp32}},
               .clock = {1.58 * GHz, sources::apple_m4_clock},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .dram = {.capacity = {36.0 * GiB, sources::apple_m4_gib},
             .bandwidth = {bandwidth_from_bus(384.0, 8.533 * GHz), sources::apple_m4_pins}},
};

/// M4 Max with 40 GPU cores and 128 GB.
inline constexpr accelerator m4_max{
    .name = "m4_max",
    .vendor = "Apple",
    .architecture = chip_architecture::apple_m4,
    .sms = {40.0, sources::apple_m4_news},
    .matrix = {.peak = {.fp32 = {40.0 * 256.0 * 1.58 * GFLOP_per_s, sources::apple_no_matrix_unit},
                        .bf16 = {40.0 * 256.0 * 1.58 * GFLOP_per_s, sources::apple_no_matrix_unit},
                        .fp16 = {40.0 * 256.0 * 1.58 * GFLOP_per_s, sources::apple_no_matrix_unit}},
               .clock = {1.58 * GHz, sources::apple_m4_clock},
               .flop_per_clock = {256.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp32 = {40.0 * 256.0 * 1.58 * GFLOP_per_s, sources::apple_lanes},
                        .bf16 = {40.0 * 256.0 * 1.58 * GFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {40.0 * 256.0 * 1.58 * GFLOP_per_s, sources::same_as_fp32}},
               .clock = {1.58 * GHz, sources::apple_m4_clock},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .dram = {.capacity = {128.0 * GiB, sources::apple_m4_gib},
             .bandwidth = {bandwidth_from_bus(512.0, 8.533 * GHz), sources::apple_m4_pins}},
};

inline constexpr std::array apple_accelerators{
    accelerator_entry{m2_ultra, "Apple M2 Ultra, 76 GPU cores"},
    accelerator_entry{m3_ultra, "Apple M3 Ultra, 80 GPU cores"},
    accelerator_entry{m4_pro, "Apple M4 Pro, 20 GPU cores"},
    accelerator_entry{m4_max_32core, "Apple M4 Max, 32 GPU cores"},
    accelerator_entry{m4_max, "Apple M4 Max, 40 GPU cores"},
};

}  // namespace perfmodel::inline v0_3::catalog
