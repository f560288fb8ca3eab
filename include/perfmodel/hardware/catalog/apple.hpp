// Apple M2 Ultra and M3 Ultra. `sms` are GPU cores. There is no matrix unit, host link or fabric:
// matrix code runs on the vector lanes, memory is shared with the CPU.
#pragma once

#include <perfmodel/hardware/catalog/arithmetic.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::catalog {

/// M2 Ultra with 76 GPU cores and 192 GB. By default the GPU may wire only a part of the memory.
inline constexpr accelerator m2_ultra{
    .name = "m2_ultra",
    .vendor = "Apple",
    .architecture = chip_architecture::apple_m2,
    .sms = {76.0, sources::apple_table},
    .matrix = {.peak = {.fp32 = {27.2 * TFLOP_per_s, sources::apple_no_matrix_unit},
                        .bf16 = {27.2 * TFLOP_per_s, sources::apple_no_matrix_unit},
                        .fp16 = {27.2 * TFLOP_per_s, sources::apple_no_matrix_unit}},
               .clock = {1.398 * GHz, sources::apple_clock_taken},
               .flop_per_clock = {256.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp32 = {27.2 * TFLOP_per_s, sources::apple_lanes},
                        .bf16 = {27.2 * TFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {27.2 * TFLOP_per_s, sources::same_as_fp32}},
               .clock = {1.398 * GHz, sources::apple_clock_taken},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .dram = {.capacity = {192.0 * GiB, sources::apple_gib},
             .bandwidth = {819.2 * GB_per_s, sources::apple_table}},
    .tdp = {270.0 * watt, sources::apple_power},
};

/// M3 Ultra with 80 GPU cores and 512 GB; 96 and 256 GB are sold too, see alternatives.hpp.
inline constexpr accelerator m3_ultra{
    .name = "m3_ultra",
    .vendor = "Apple",
    .architecture = chip_architecture::apple_m3,
    .sms = {80.0, sources::apple_table},
    .matrix = {.peak = {.fp32 = {28.63 * TFLOP_per_s, sources::apple_no_matrix_unit},
                        .bf16 = {28.63 * TFLOP_per_s, sources::apple_no_matrix_unit},
                        .fp16 = {28.63 * TFLOP_per_s, sources::apple_no_matrix_unit}},
               .clock = {1.398 * GHz, sources::apple_clock},
               .flop_per_clock = {256.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp32 = {28.63 * TFLOP_per_s, sources::apple_lanes},
                        .bf16 = {28.63 * TFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {28.63 * TFLOP_per_s, sources::same_as_fp32}},
               .clock = {1.398 * GHz, sources::apple_clock},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .dram = {.capacity = {512.0 * GiB, sources::apple_gib},
             .bandwidth = {819.2 * GB_per_s, sources::apple_table}},
    .tdp = {270.0 * watt, sources::apple_power},
};

inline constexpr std::array apple_accelerators{
    accelerator_entry{m2_ultra, "Apple M2 Ultra, 76 GPU cores"},
    accelerator_entry{m3_ultra, "Apple M3 Ultra, 80 GPU cores"},
};

}  // namespace perfmodel::catalog
