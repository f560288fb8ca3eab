// Apple M2 Ultra, M3 Ultra, M4 Pro and M4 Max. `sms` are GPU cores. There is no matrix unit, host
// link or fabric: matrix code runs on the vector lanes, memory is shared with the CPU.
#pragma once

#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::inline v0_3::catalog {

/// Cores, peak and clock of an Apple GPU: 256 FLOP per clock and core, the same rate in fp32, bf16
/// and fp16, and matrix code at the rate of the vector lanes.
constexpr accelerator apple_gpu(const char* name, chip_architecture architecture, double cores,
                                const source& cores_from, flop_rate<> peak, frequency<> clock,
                                const source& clock_from) {
  return {.name = name,
          .vendor = "Apple",
          .architecture = architecture,
          .sms = {cores, cores_from},
          .matrix = {.peak = {.fp32 = {peak, sources::apple_no_matrix_unit},
                              .bf16 = {peak, sources::apple_no_matrix_unit},
                              .fp16 = {peak, sources::apple_no_matrix_unit}},
                     .clock = {clock, clock_from},
                     .flop_per_clock = {256.0 * flop, sources::flop_per_clock}},
          .vector = {.peak = {.fp32 = {peak, sources::apple_lanes},
                              .bf16 = {peak, sources::same_as_fp32},
                              .fp16 = {peak, sources::same_as_fp32}},
                     .clock = {clock, clock_from},
                     .flop_per_clock = {256.0 * flop, sources::lanes}}};
}

/// M2 Ultra with 76 GPU cores and 192 GB. By default the GPU may wire only a part of the memory.
/// `l2` is the cache of the whole system, which the CPU uses too; the power is a Mac Studio's.
inline constexpr accelerator m2_ultra = [] {
  accelerator a = apple_gpu("m2_ultra", chip_architecture::apple_m2, 76, sources::apple_table,
                            27.2 * TFLOP_per_s, 1.398 * GHz, sources::apple_m2_clock);
  a.l2.capacity = {96.0 * MiB, sources::apple_slc};
  a.dram.capacity = {192.0 * GiB, sources::apple_gib};
  a.dram.bandwidth = {819.2 * GB_per_s, sources::apple_table};
  a.tdp = {295.0 * watt, sources::apple_m2_power};
  return a;
}();

/// M3 Ultra with 80 GPU cores and 512 GB; 96 and 256 GB are sold too, see alternatives.hpp.
inline constexpr accelerator m3_ultra = [] {
  accelerator a = apple_gpu("m3_ultra", chip_architecture::apple_m3, 80, sources::apple_table,
                            28.26 * TFLOP_per_s, 1.38 * GHz, sources::apple_m3_clock);
  a.l2.capacity = {96.0 * MiB, sources::apple_slc};
  a.dram.capacity = {512.0 * GiB, sources::apple_gib};
  a.dram.bandwidth = {819.2 * GB_per_s, sources::apple_table};
  a.tdp = {270.0 * watt, sources::apple_power};
  return a;
}();

/// An M4 GPU by its cores, memory and memory bus.
constexpr accelerator m4_gpu(const char* name, double cores, double gib, double bus_bits) {
  accelerator a =
      apple_gpu(name, chip_architecture::apple_m4, cores, sources::apple_m4_news,
                cores * 256.0 * 1.58 * GFLOP_per_s, 1.58 * GHz, sources::apple_m4_clock);
  a.dram.capacity = {gib * GiB, sources::apple_m4_gib};
  a.dram.bandwidth = {bandwidth_from_bus(bus_bits, 8.533 * GHz), sources::apple_m4_pins};
  return a;
}
/// M4 Pro with 20 GPU cores and 64 GB.
inline constexpr accelerator m4_pro = m4_gpu("m4_pro", 20, 64, 256);
/// M4 Max with 32 GPU cores and 36 GB.
inline constexpr accelerator m4_max_32core = m4_gpu("m4_max_32core", 32, 36, 384);
/// M4 Max with 40 GPU cores and 128 GB.
inline constexpr accelerator m4_max = m4_gpu("m4_max", 40, 128, 512);

inline constexpr std::array apple_accelerators{
    accelerator_entry{m2_ultra, "Apple M2 Ultra, 76 GPU cores"},
    accelerator_entry{m3_ultra, "Apple M3 Ultra, 80 GPU cores"},
    accelerator_entry{m4_pro, "Apple M4 Pro, 20 GPU cores"},
    accelerator_entry{m4_max_32core, "Apple M4 Max, 32 GPU cores"},
    accelerator_entry{m4_max, "Apple M4 Max, 40 GPU cores"},
};

}  // namespace perfmodel::inline v0_3::catalog
