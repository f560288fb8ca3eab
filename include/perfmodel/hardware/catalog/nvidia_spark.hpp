// NVIDIA GB10, the chip of DGX Spark.
#pragma once

#include <perfmodel/hardware/catalog/arithmetic.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source gb10_query{
    basis::measured,
    "device query of a DGX Spark posted in a public repository: 48 SMs, 2418 MHz, 24 MiB of L2, "
    "130663165952 bytes"};
inline constexpr source gb10_fp4{basis::derived,
                                 "half of the printed 1 PFLOP/s, which is 2:4 sparse"};
inline constexpr source gb10_ladder{
    basis::assumed,
    "FP4 dense / 2 and / 4: the ladder of RTX PRO; 99.8 TFLOP/s in BF16 were measured"};
inline constexpr source gb10_pins{basis::derived, "256 bit / 8 x 8533 MT/s of LPDDR5X"};
inline constexpr source gb10_network{basis::derived, "ConnectX-7 of 200 Gbit/s / 8"};
}  // namespace sources

/// GB10. CPU and GPU share the memory: there is no host link. Two machines can be cabled together.
inline constexpr accelerator gb10{
    .name = "gb10",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::blackwell_rtx,
    .sms = {48.0, sources::gb10_query},
    .matrix = {.peak = {.tf32 = {62.5 * TFLOP_per_s, sources::half_of_bf16},
                        .bf16 = {125.0 * TFLOP_per_s, sources::gb10_ladder},
                        .fp16 = {125.0 * TFLOP_per_s, sources::gb10_ladder},
                        .fp8 = {250.0 * TFLOP_per_s, sources::gb10_ladder},
                        .int8 = {250.0 * TFLOP_per_s, sources::gb10_ladder},
                        .fp4 = {dense(sparse_flop_rate<>(1000.0 * TFLOP_per_s)),
                                sources::gb10_fp4}},
               .clock = {clock_of(125.0 * TFLOP_per_s, 48, 1024), sources::tensor_clock},
               .flop_per_clock = {1024.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp32 = {48.0 * 256.0 * 2.418 * GFLOP_per_s, sources::sms_times_clock},
                        .bf16 = {48.0 * 256.0 * 2.418 * GFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {48.0 * 256.0 * 2.418 * GFLOP_per_s, sources::same_as_fp32}},
               .clock = {2.418 * GHz, sources::gb10_query},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {48.0 * 256.0 * KiB, sources::cuda_guide}},
    .shared = {.capacity = {48.0 * 100.0 * KiB, sources::cuda_guide},
               .bandwidth = {per_clock(48, 128, 2.418 * GHz), sources::shared_banks}},
    .l2 = {.capacity = {24.0 * MiB, sources::gb10_query}},
    .dram = {.capacity = {130663165952.0 * byte, sources::gb10_query},
             .bandwidth = {bandwidth_from_bus(256.0, 8.533 * GHz), sources::gb10_pins}},
    .fabric = {.kind = link_kind::ethernet,
               .bandwidth = {200.0 / 8.0 * GB_per_s, sources::gb10_network},
               .ranks = 2},
    .tdp = {140.0 * watt, sources::not_read},
};

inline constexpr std::array spark_accelerators{
    accelerator_entry{gb10, "NVIDIA GB10 (DGX Spark)"},
};

}  // namespace perfmodel::catalog
