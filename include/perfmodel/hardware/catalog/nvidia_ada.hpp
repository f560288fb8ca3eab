// NVIDIA Ada Lovelace: L4, L20, L40S, RTX 6000 Ada, GeForce RTX 4070, 4080 and 4090.
#pragma once

#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::inline v0_3::catalog {

/// L4, a 72 W card: long matrix products run far below the clock its peak is stated at.
inline constexpr accelerator l4{
    .name = "l4",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::ada,
    .sms = {58.0, sources::l4_cores},
    .matrix = {.peak = {.tf32 = {dense(sparse_flop_rate<>(120.0 * TFLOP_per_s)), sources::l4_tf32},
                        .bf16 = {dense(sparse_flop_rate<>(242.0 * TFLOP_per_s)), sources::l4_dense},
                        .fp16 = {dense(sparse_flop_rate<>(242.0 * TFLOP_per_s)), sources::l4_dense},
                        .fp8 = {dense(sparse_flop_rate<>(485.0 * TFLOP_per_s)), sources::l4_dense},
                        .int8 = {dense(sparse_flop_rate<>(485.0 * TFLOP_per_s)),
                                 sources::l4_dense}},
               .clock = {2.04 * GHz, sources::l4_sheet},
               .flop_per_clock = {1024.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {473.3 * GFLOP_per_s, sources::l4_sheet},
                        .fp32 = {30.3 * TFLOP_per_s, sources::l4_sheet},
                        .bf16 = {30.29 * TFLOP_per_s, sources::l4_sheet},
                        .fp16 = {30.29 * TFLOP_per_s, sources::l4_sheet}},
               .clock = {2.04 * GHz, sources::l4_sheet},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {58.0 * 256.0 * KiB, sources::cuda_guide},
                  .bandwidth = {operand_reads(58, 128, 2.04 * GHz), sources::operands}},
    .shared = {.capacity = {58.0 * 100.0 * KiB, sources::cuda_guide},
               .bandwidth = {per_clock(58, 128, 2.04 * GHz), sources::shared_banks},
               .latency = {36.0 / (2.04 * GHz), sources::l4_cycles}},
    .l2 = {.capacity = {48.0 * MiB, sources::l4_sheet},
           .latency = {276.5 / (2.04 * GHz), sources::l4_cycles}},
    .dram = {.capacity = {23034.0 * MiB, sources::driver_memory},
             .bandwidth = {300.0 * GB_per_s, sources::l4_sheet}},
    .fabric = pcie_peers(16.0 * GHz, sources::no_fabric),
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie}},
    .tdp = {72.0 * watt, sources::l4_sheet},
    .price = {0.7992 * usd_per_hour, sources::techbytes_prices},
};

/// L40S. The printed BF16 peak is that of the L40's 2.49 GHz.
inline constexpr accelerator l40s{
    .name = "l40s",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::ada,
    .sms = {142.0, sources::l40s_board},
    .matrix = {.peak = {.tf32 = {183.0 * TFLOP_per_s, sources::l40s_table},
                        .bf16 = {362.05 * TFLOP_per_s, sources::l40s_table},
                        .fp16 = {362.05 * TFLOP_per_s, sources::l40s_table},
                        .fp8 = {733.0 * TFLOP_per_s, sources::l40s_table},
                        .int8 = {733.0 * TFLOP_per_s, sources::l40s_int8}},
               .clock = {clock_of(362.05 * TFLOP_per_s, 142, 1024), sources::tensor_clock},
               .flop_per_clock = {1024.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {1431.0 * GFLOP_per_s, sources::l40s_board},
                        .fp32 = {91.6 * TFLOP_per_s, sources::l40s_table},
                        .bf16 = {91.61 * TFLOP_per_s, sources::l40s_board},
                        .fp16 = {91.61 * TFLOP_per_s, sources::l40s_board}},
               .clock = {2.52 * GHz, sources::l40s_board},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {142.0 * 256.0 * KiB, sources::cuda_guide},
                  .bandwidth = {operand_reads(142, 128, 2.52 * GHz), sources::operands}},
    .shared = {.capacity = {142.0 * 100.0 * KiB, sources::cuda_guide},
               .bandwidth = {per_clock(142, 128, 2.52 * GHz), sources::shared_banks},
               .latency = {14.5 * ns, sources::l40s_chase}},
    .l2 = {.capacity = {96.0 * MiB, sources::ada_summary},
           .bandwidth = {5.22 * TB_per_s, sources::l40s_l2},
           .latency = {111.0 * ns, sources::l40s_chase}},
    .dram = {.capacity = {46068.0 * MiB, sources::driver_memory},
             .bandwidth = {864.0 * GB_per_s, sources::l40s_table},
             .latency = {253.8 * ns, sources::l40s_chase}},
    .fabric = pcie_peers(16.0 * GHz, sources::no_fabric),
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie}},
    .tdp = {350.0 * watt, sources::l40s_table},
    .price = {1.9512 * usd_per_hour, sources::techbytes_prices},
};

/// GeForce RTX 4090. 16-bit and 8-bit floating point are stated with FP32 accumulation, which
/// GeForce runs at half rate.
inline constexpr accelerator rtx_4090{
    .name = "rtx_4090",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::ada,
    .sms = {128.0, sources::ada_summary},
    .matrix = {.peak = {.tf32 = {82.58 * TFLOP_per_s, sources::rtx_4090_table},
                        .bf16 = {165.2 * TFLOP_per_s, sources::rtx_4090_table},
                        .fp16 = {165.2 * TFLOP_per_s, sources::rtx_4090_table},
                        .fp8 = {330.3 * TFLOP_per_s, sources::rtx_4090_table},
                        .int8 = {660.6 * TFLOP_per_s, sources::rtx_4090_table},
                        .int4 = {1321.2 * TFLOP_per_s, sources::rtx_4090_table}},
               .clock = {2.52 * GHz, sources::ada_summary},
               .flop_per_clock = {512.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {82.6 / 64.0 * TFLOP_per_s, sources::fp32_over_64},
                        .fp32 = {82.6 * TFLOP_per_s, sources::ada_summary},
                        .bf16 = {82.6 * TFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {82.6 * TFLOP_per_s, sources::same_as_fp32}},
               .clock = {2.52 * GHz, sources::ada_summary},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {128.0 * 256.0 * KiB, sources::cuda_guide}},
    .shared = {.capacity = {128.0 * 100.0 * KiB, sources::cuda_guide},
               .bandwidth = {per_clock(128, 128, 2.52 * GHz), sources::shared_banks}},
    .l2 = {.capacity = {72.0 * MiB, sources::rtx_4090_table}},
    .dram = {.capacity = {24564.0 * MiB, sources::rtx_4090_driver},
             .bandwidth = {1008.0 * GB_per_s, sources::ada_summary}},
    .fabric = pcie_peers(16.0 * GHz, sources::no_fabric),
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie}},
    .tdp = {450.0 * watt, sources::ada_summary},
    .price = {0.34 * usd_per_hour, sources::rtx_4090_price},
};

// GeForce runs floating point with FP32 accumulation at half rate; so does L20.
inline constexpr accelerator rtx_4080 =
    nvidia_card("rtx_4080", chip_architecture::ada, sources::not_read, 76, 2.505,
                {512, 1024, 2048, 0}, 64, 16384, 716.8, 16.0 * GHz, 320);
inline constexpr accelerator rtx_4070 =
    nvidia_card("rtx_4070", chip_architecture::ada, sources::not_read, 46, 2.475,
                {512, 1024, 2048, 0}, 36, 12288, 504, 16.0 * GHz, 200);
inline constexpr accelerator l20 =
    nvidia_card("l20", chip_architecture::ada, sources::not_read, 92, 2.52, {512, 1024, 1024, 0},
                96, 49152, 864, 16.0 * GHz, 275);
/// RTX 6000 Ada: FP32 accumulation at full rate.
inline constexpr accelerator rtx_6000_ada = [] {
  accelerator a = nvidia_card("rtx_6000_ada", chip_architecture::ada, sources::not_read, 142, 2.505,
                              {1024, 2048, 2048, 0}, 96, 49140, 960, 16.0 * GHz, 300);
  a.dram.capacity = {49140.0 * MiB, sources::rtx_6000_ada_driver};
  a.tdp = {300.0 * watt, sources::rtx_6000_ada_driver};
  return a;
}();

inline constexpr std::array ada_accelerators{
    accelerator_entry{l4, "NVIDIA L4"},
    accelerator_entry{l40s, "NVIDIA L40S"},
    accelerator_entry{rtx_4090, "NVIDIA GeForce RTX 4090"},
    accelerator_entry{rtx_4080, "NVIDIA GeForce RTX 4080"},
    accelerator_entry{rtx_4070, "NVIDIA GeForce RTX 4070"},
    accelerator_entry{rtx_6000_ada, "NVIDIA RTX 6000 Ada Generation"},
    accelerator_entry{l20, "NVIDIA L20"},
};

}  // namespace perfmodel::inline v0_3::catalog
