// NVIDIA RTX of the Blackwell generation: GeForce RTX 5070 to 5090, RTX PRO 4500 to 6000.
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
    .fabric = pcie_peers(32.0 * GHz, sources::no_fabric),
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 32.0 * GHz), sources::pcie}},
    .tdp = {360.0 * watt, sources::rtx_5080_whitepaper},
};

/// GeForce RTX 5090. Floating-point peaks with FP32 accumulation: half rate on GeForce.
inline constexpr accelerator rtx_5090 = [] {
  accelerator a = rtx_5080;
  a.name = "rtx_5090";
  a.sms = {170.0, sources::rtx_5090_table};
  a.matrix.peak = {.tf32 = {104.8 * TFLOP_per_s, sources::rtx_ladder},
                   .bf16 = {209.5 * TFLOP_per_s, sources::rtx_ladder},
                   .fp16 = {209.5 * TFLOP_per_s, sources::rtx_ladder},
                   .fp8 = {419.0 * TFLOP_per_s, sources::rtx_ladder},
                   .int8 = {838.0 * TFLOP_per_s, sources::rtx_ladder},
                   .fp4 = {1676.0 * TFLOP_per_s, sources::rtx_ladder}};
  a.matrix.clock = a.vector.clock = {2.407 * GHz, sources::rtx_5090_table};
  a.vector.peak = {.fp64 = {104.8 / 64.0 * TFLOP_per_s, sources::fp32_over_64},
                   .fp32 = {104.8 * TFLOP_per_s, sources::rtx_5090_table},
                   .bf16 = {104.8 * TFLOP_per_s, sources::same_as_fp32},
                   .fp16 = {104.8 * TFLOP_per_s, sources::same_as_fp32}};
  a.registers.capacity = {170.0 * 256.0 * KiB, sources::cuda_guide};
  a.shared = {.capacity = {170.0 * 100.0 * KiB, sources::cuda_guide},
              .bandwidth = {per_clock(170, 128, 2.407 * GHz), sources::shared_banks}};
  a.l2.capacity = {96.0 * MiB, sources::rtx_5090_table};
  a.dram = {.capacity = {32607.0 * MiB, sources::rtx_5090_driver},
            .bandwidth = {1792.0 * GB_per_s, sources::rtx_5090_table}};
  a.tdp = {575.0 * watt, sources::rtx_5090_table};
  a.price = {0.69 * usd_per_hour, sources::runpod_prices};
  return a;
}();

/// GeForce RTX 5070 Ti and 5070.
inline constexpr accelerator rtx_5070_ti = [] {
  accelerator a = nvidia_card("rtx_5070_ti", chip_architecture::blackwell_rtx, sources::not_read,
                              70, 2.452, {512, 1024, 2048, 4096}, 48, 16303, 896, 32.0 * GHz, 300);
  a.dram.capacity = {16303.0 * MiB, sources::rtx_5070_ti_driver};
  return a;
}();
inline constexpr accelerator rtx_5070 =
    nvidia_card("rtx_5070", chip_architecture::blackwell_rtx, sources::not_read, 48, 2.512,
                {512, 1024, 2048, 4096}, 48, 12288, 672, 32.0 * GHz, 250);

inline constexpr std::array rtx_accelerators{
    accelerator_entry{rtx_5080, "NVIDIA GeForce RTX 5080"},
    accelerator_entry{rtx_5090, "NVIDIA GeForce RTX 5090"},
    accelerator_entry{rtx_5070_ti, "NVIDIA GeForce RTX 5070 Ti"},
    accelerator_entry{rtx_5070, "NVIDIA GeForce RTX 5070"},
};

// NVIDIA RTX PRO 6000 Blackwell in its three editions.

namespace sources {
// clang-format off
inline constexpr source rtx_pro_ladder{basis::derived, "SMs x FLOP per clock x clock, 1024 in BF16: the ladder of NVIDIA's system specs for the Server Edition"};
inline constexpr source rtx_pro_pins{basis::derived, "512 bit / 8 x 2 x 14001 MHz shown by nvidia-smi: 1792 GB/s are printed"};
inline constexpr source rtx_pro_workstation_clock{basis::derived, "503.8 TFLOP/s in BF16, quoted in a public repository, / (188 SMs x 1024)"};
inline constexpr source rtx_pro_max_q_table{basis::copied, "table of RTX PRO 6000 Blackwell Max-Q, https://technical.city"};
// clang-format on
}  // namespace sources

/// RTX PRO 6000 Blackwell, Server Edition: the one that is rented and that published kernel times
/// come from. FP32 accumulation runs at full rate. The Workstation Edition clocks 7 % higher, see
/// alternatives.hpp.
inline constexpr accelerator rtx_pro_6000{
    .name = "rtx_pro_6000",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::blackwell_rtx,
    .sms = {188.0, sources::rtx_pro_query},
    .matrix = {.peak = {.tf32 = {467.8 / 2.0 * TFLOP_per_s, sources::half_of_bf16},
                        .bf16 = {467.8 * TFLOP_per_s, sources::system_specs},
                        .fp16 = {467.8 * TFLOP_per_s, sources::system_specs},
                        .fp8 = {935.6 * TFLOP_per_s, sources::system_specs},
                        .int8 = {935.6 * TFLOP_per_s, sources::system_specs},
                        .fp4 = {1871.2 * TFLOP_per_s, sources::system_specs}},
               .clock = {2.43 * GHz, sources::rtx_pro_query},
               .flop_per_clock = {1024.0 * flop, sources::flop_per_clock}},
    .vector = {.peak = {.fp64 = {188.0 * 4.0 * 2.43 * GFLOP_per_s, sources::sms_times_clock},
                        .fp32 = {188.0 * 256.0 * 2.43 * GFLOP_per_s, sources::sms_times_clock},
                        .bf16 = {188.0 * 256.0 * 2.43 * GFLOP_per_s, sources::same_as_fp32},
                        .fp16 = {188.0 * 256.0 * 2.43 * GFLOP_per_s, sources::same_as_fp32}},
               .clock = {2.43 * GHz, sources::rtx_pro_query},
               .flop_per_clock = {256.0 * flop, sources::lanes}},
    .registers = {.capacity = {188.0 * 256.0 * KiB, sources::cuda_guide}},
    .shared = {.capacity = {188.0 * 100.0 * KiB, sources::rtx_pro_query},
               .bandwidth = {per_clock(188, 128, 2.43 * GHz), sources::shared_banks}},
    .l2 = {.capacity = {128.0 * MiB, sources::rtx_pro_query}},
    .dram = {.capacity = {97887.0 * MiB, sources::system_specs_memory},
             .bandwidth = {1597.0 * GB_per_s, sources::rtx_pro_page}},
    .fabric = pcie_peers(32.0 * GHz, sources::no_fabric),
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 32.0 * GHz), sources::pcie}},
    .tdp = {600.0 * watt, sources::rtx_pro_news},
    .price = {1.69 * usd_per_hour, sources::runpod_2026},
};

/// An edition with faster memory than the Server Edition, by its clock and power.
constexpr accelerator rtx_pro_6000_edition(const char* name, double ghz, const source& clock,
                                           double watts, const source& power) {
  const auto rate = [&](double per_clock_and_sm, const source& from) {
    return fact<flop_rate<>>{188.0 * per_clock_and_sm * ghz * GFLOP_per_s, from};
  };
  accelerator a = rtx_pro_6000;
  a.name = name;
  a.matrix.peak = {.tf32 = rate(512.0, sources::rtx_pro_ladder),
                   .bf16 = rate(1024.0, sources::rtx_pro_ladder),
                   .fp16 = rate(1024.0, sources::rtx_pro_ladder),
                   .fp8 = rate(2048.0, sources::rtx_pro_ladder),
                   .int8 = rate(2048.0, sources::rtx_pro_ladder),
                   .fp4 = rate(4096.0, sources::rtx_pro_ladder)};
  a.vector.peak = {.fp64 = rate(4.0, sources::sms_times_clock),
                   .fp32 = rate(256.0, sources::sms_times_clock),
                   .bf16 = rate(256.0, sources::same_as_fp32),
                   .fp16 = rate(256.0, sources::same_as_fp32)};
  a.matrix.clock = a.vector.clock = {ghz * GHz, clock};
  a.shared.bandwidth = {per_clock(188, 128, ghz * GHz), sources::shared_banks};
  a.dram.bandwidth = {bandwidth_from_bus(512.0, 2.0 * 14001.0 * MHz), sources::rtx_pro_pins};
  a.tdp = {watts * watt, power};
  a.price = {};
  return a;
}
/// RTX PRO 6000 Blackwell, Workstation Edition: 600 W.
inline constexpr accelerator rtx_pro_6000_workstation =
    rtx_pro_6000_edition("rtx_pro_6000_workstation", 2.617, sources::rtx_pro_workstation_clock, 600,
                         sources::rtx_pro_news);
/// RTX PRO 6000 Blackwell, Max-Q Workstation Edition: 300 W.
inline constexpr accelerator rtx_pro_6000_max_q = rtx_pro_6000_edition(
    "rtx_pro_6000_max_q", 2.288, sources::rtx_pro_max_q_table, 300, sources::rtx_pro_max_q_table);

/// RTX PRO 4500 and 5000 Blackwell: FP32 accumulation at full rate, as RTX PRO 6000.
inline constexpr accelerator rtx_pro_4500 =
    nvidia_card("rtx_pro_4500", chip_architecture::blackwell_rtx, sources::technical_city, 82,
                2.617, {1024, 2048, 2048, 4096}, 64, 32768, 896, 32.0 * GHz, 200);
inline constexpr accelerator rtx_pro_5000 =
    nvidia_card("rtx_pro_5000", chip_architecture::blackwell_rtx, sources::technical_city, 110,
                2.377, {1024, 2048, 2048, 4096}, 96, 49152, 1344, 32.0 * GHz, 300);
inline constexpr accelerator rtx_pro_5000_72gb = [] {
  accelerator a = rtx_pro_5000;
  a.name = "rtx_pro_5000_72gb";
  a.dram.capacity = {73728.0 * MiB, sources::nominal_gib};
  return a;
}();

inline constexpr std::array rtx_pro_accelerators{
    accelerator_entry{rtx_pro_6000, "NVIDIA RTX PRO 6000 Blackwell Server Edition"},
    accelerator_entry{rtx_pro_6000_workstation,
                      "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"},
    accelerator_entry{rtx_pro_4500, "NVIDIA RTX PRO 4500 Blackwell"},
    accelerator_entry{rtx_pro_5000, "NVIDIA RTX PRO 5000 Blackwell 48 GB"},
    accelerator_entry{rtx_pro_5000_72gb, "NVIDIA RTX PRO 5000 Blackwell 72 GB"},
    accelerator_entry{rtx_pro_6000_max_q, "NVIDIA RTX PRO 6000 Blackwell Max-Q"},
};

}  // namespace perfmodel::inline v0_3::catalog
