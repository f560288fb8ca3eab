// NVIDIA Jetson modules and DGX Spark. Peaks are dense and of the GPU alone: the advertised TOPS
// are sparse and include the DLA. CPU and GPU share the memory. There is no host link, no fabric.
#pragma once

#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::inline v0_3::catalog {

/// Jetson Orin Nano 8 GB in its original 15 W mode; Super mode is in alternatives.hpp.
inline constexpr accelerator jetson_orin_nano_8gb{
    .name = "jetson_orin_nano_8gb",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::ampere_orin,
    .sms = {8.0, sources::orin_nano_page},
    .matrix = {.peak = {.tf32 = {10.24 / 2.0 * TFLOP_per_s, sources::half_of_bf16},
                        .bf16 = {10.24 * TFLOP_per_s, sources::orin_tensor},
                        .fp16 = {10.24 * TFLOP_per_s, sources::orin_tensor},
                        .int8 = {20.48 * TFLOP_per_s, sources::orin_tensor_int8}},
               .clock = {625.0 * MHz, sources::orin_nano_page},
               .flop_per_clock = {2048.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp32 = {1.28 * TFLOP_per_s, sources::orin_lanes},
                        .bf16 = {1.28 * TFLOP_per_s, sources::orin_bfloat},
                        .fp16 = {2.56 * TFLOP_per_s, sources::orin_half}},
               .clock = {625.0 * MHz, sources::orin_nano_page},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {8.0 * 256.0 * KiB, sources::cuda_guide}},
    .dram = {.capacity = {8.0 * GiB, sources::jetson_memory},
             .bandwidth = {bandwidth_from_bus(128.0, 4.266 * GHz), sources::jetson_pins}},
    .tdp = {15.0 * watt, sources::jetson_modules},
};

/// A Jetson Orin by its SMs, clock, memory and power.
constexpr accelerator jetson_orin(const char* name, double sms, const source& sms_from, double ghz,
                                  const source& clock_from, double gib, double bus_bits,
                                  double watts) {
  const auto rate = [&](double per_clock_and_sm, const source& from) {
    return fact<flop_rate<>>{sms * per_clock_and_sm * ghz * GFLOP_per_s, from};
  };
  accelerator a = jetson_orin_nano_8gb;
  a.name = name;
  a.sms = {sms, sms_from};
  a.matrix.peak = {.tf32 = rate(1024.0, sources::half_of_bf16),
                   .bf16 = rate(2048.0, sources::orin_tensor),
                   .fp16 = rate(2048.0, sources::orin_tensor),
                   .int8 = rate(4096.0, sources::orin_tensor_int8)};
  a.vector.peak = {.fp32 = rate(256.0, sources::orin_lanes),
                   .bf16 = rate(256.0, sources::orin_bfloat),
                   .fp16 = rate(512.0, sources::orin_half)};
  a.matrix.clock = a.vector.clock = {ghz * GHz, clock_from};
  a.registers.capacity = {sms * 256.0 * KiB, sources::cuda_guide};
  a.dram = {.capacity = {gib * GiB, sources::jetson_memory},
            .bandwidth = {bandwidth_from_bus(bus_bits, 6.4 * GHz), sources::jetson_pins}};
  a.tdp = {watts * watt, sources::jetson_modules};
  return a;
}
/// Jetson Orin NX 16 GB.
inline constexpr accelerator jetson_orin_nx_16gb = jetson_orin(
    "jetson_orin_nx_16gb", 8, sources::jetson_modules, 0.918, sources::orin_nx_clock, 16, 128, 25);
/// Jetson AGX Orin 64 GB.
inline constexpr accelerator jetson_agx_orin_64gb = [] {
  accelerator a = jetson_orin("jetson_agx_orin_64gb", 16, sources::orin_brief, 1.3,
                              sources::orin_brief, 64, 256, 60);
  a.l2.capacity = {4.0 * MiB, sources::orin_brief};
  return a;
}();

/// Jetson Thor (T5000).
inline constexpr accelerator jetson_thor{
    .name = "jetson_thor",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::blackwell_thor,
    .sms = {20.0, sources::thor_forum},
    .matrix = {.peak = {.bf16 = {1035.0 / 4.0 * TFLOP_per_s, sources::thor_ladder},
                        .fp16 = {1035.0 / 4.0 * TFLOP_per_s, sources::thor_ladder},
                        .fp8 = {1035.0 / 2.0 * TFLOP_per_s, sources::thor_ladder},
                        .fp4 = {dense(sparse_flop_rate<>(2070.0 * TFLOP_per_s)),
                                sources::thor_fp4}},
               .clock = {clock_of(1035.0 * TFLOP_per_s, 20, 32768), sources::tensor_clock},
               .flop_per_clock = {8192.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp32 = {20.0 * 256.0 * 1.575 * GFLOP_per_s, sources::orin_lanes}},
               .clock = {1.575 * GHz, sources::not_read},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {20.0 * 256.0 * KiB, sources::cuda_guide}},
    .shared = {.capacity = {20.0 * 228.0 * KiB, sources::thor_forum}},
    .l2 = {.capacity = {32.0 * MiB, sources::thor_forum},
           .bandwidth = {1.5 * TB_per_s, sources::thor_reads}},
    .dram = {.capacity = {128.0 * GiB, sources::jetson_memory},
             .bandwidth = {bandwidth_from_bus(256.0, 8.533 * GHz), sources::thor_pins}},
    .tdp = {130.0 * watt, sources::thor_power},
};

inline constexpr std::array jetson_accelerators{
    accelerator_entry{jetson_orin_nano_8gb, "NVIDIA Jetson Orin Nano 8 GB"},
    accelerator_entry{jetson_orin_nx_16gb, "NVIDIA Jetson Orin NX 16 GB"},
    accelerator_entry{jetson_agx_orin_64gb, "NVIDIA Jetson AGX Orin 64 GB"},
    accelerator_entry{jetson_thor, "NVIDIA Jetson Thor"},
};

// NVIDIA GB10, the chip of DGX Spark.

namespace sources {
// clang-format off
inline constexpr source gb10_query{basis::measured, "device query of a DGX Spark posted in a public repository: 48 SMs, 2418 MHz, 24 MiB of L2, 130663165952 bytes"};
inline constexpr source gb10_fp4{basis::derived, "half of the printed 1 PFLOP/s, which is 2:4 sparse"};
inline constexpr source gb10_ladder{basis::assumed, "FP4 dense / 2 and / 4: the ladder of RTX PRO; 99.8 TFLOP/s in BF16 were measured"};
inline constexpr source gb10_pins{basis::derived, "256 bit / 8 x 8533 MT/s of LPDDR5X"};
inline constexpr source gb10_network{basis::derived, "ConnectX-7 of 200 Gbit/s / 8"};
// clang-format on
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

}  // namespace perfmodel::inline v0_3::catalog
