// Google TPU, AWS Trainium, Cerebras, Groq, Intel Gaudi and Arc, Ascend, Cloud AI 100, Maia.
#pragma once

#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::inline v0_3::catalog {

// Google TPU v5e, v5p, v6e and TPU7x. `sms` are TensorCores; up to v5 each has four 128 x 128
// matrix units.

/// TPU v5e, one chip. `shared` is the VMEM scratchpad. The pod is a 2D torus: `ranks` counts its
/// chips, of which each has four neighbours.
inline constexpr accelerator tpu_v5e{
    .name = "tpu_v5e",
    .vendor = "Google",
    .architecture = chip_architecture::tpu_v5e,
    .sms = {1.0, sources::tpu_v5e_docs},
    .matrix = {.peak = {.bf16 = {197.0 * TFLOP_per_s, sources::tpu_v5e_docs},
                        .int8 = {393.0 * TFLOP_per_s, sources::tpu_v5e_docs}},
               .clock = {1.5 * GHz, sources::tpu_book},
               .flop_per_clock = {4.0 * 128.0 * 128.0 * 2.0 * flop, sources::tpu_mxu}},
    .vector = {.clock = {1.5 * GHz, sources::tpu_v5e_vector_clock}},
    .shared = {.capacity = {128.0 * MiB, sources::tpu_book},
               .bandwidth = {22.0 * 810.0 * GB_per_s, sources::tpu_vmem}},
    .dram = {.capacity = {16.0 * GiB, sources::tpu_book},
             .bandwidth = {819.0 * GB_per_s, sources::tpu_v5e_docs}},
    .fabric = {.kind = link_kind::ici,
               .bandwidth = {one_way(two_way_bandwidth<>(400.0 * GB_per_s)),
                             sources::tpu_v5e_links},
               .latency = {0.5 * us, sources::tpu_hop},
               .ranks = 256,
               .topology = link_topology::torus_2d},
    .host = {.kind = link_kind::pcie, .bandwidth = {15.0 * GB_per_s, sources::tpu_book}},
};

/// TPU v5p, one chip. The pod is a 3D torus of 8960 chips; each has six neighbours.
inline constexpr accelerator tpu_v5p{
    .name = "tpu_v5p",
    .vendor = "Google",
    .architecture = chip_architecture::tpu_v5p,
    .sms = {2.0, sources::tpu_v5p_docs},
    .matrix = {.peak = {.bf16 = {459.0 * TFLOP_per_s, sources::tpu_v5p_docs},
                        .fp8 = {459.0 * TFLOP_per_s, sources::tpu_v5p_docs},
                        .int8 = {918.0 * TFLOP_per_s, sources::tpu_book}},
               .clock = {clock_of(459.0 * TFLOP_per_s, 2, 131072), sources::tensor_clock},
               .flop_per_clock = {4.0 * 128.0 * 128.0 * 2.0 * flop, sources::tpu_mxu}},
    .dram = {.capacity = {95.0 * GiB, sources::tpu_v5p_docs},
             .bandwidth = {2765.0 * GB_per_s, sources::tpu_v5p_docs}},
    .fabric = {.kind = link_kind::ici,
               .bandwidth = {one_way(two_way_bandwidth<>(1200.0 * GB_per_s)),
                             sources::tpu_v5p_links},
               .ranks = 8960,
               .topology = link_topology::torus_3d},
    .host = {.kind = link_kind::pcie, .bandwidth = {15.0 * GB_per_s, sources::tpu_book}},
};

/// TPU v6e (Trillium), one chip. The pod is a 2D torus of 256 chips. Its two 256 x 256 matrix units
/// give 918 TFLOP/s at no clock that a TPU has, so that neither clock nor FLOP per clock is stated.
inline constexpr accelerator tpu_v6e{
    .name = "tpu_v6e",
    .vendor = "Google",
    .architecture = chip_architecture::tpu_v6e,
    .sms = {1.0, sources::tpu_v6e_docs},
    .matrix = {.peak = {.bf16 = {918.0 * TFLOP_per_s, sources::tpu_v6e_docs},
                        .fp8 = {918.0 * TFLOP_per_s, sources::ml_engineering},
                        .int8 = {1836.0 * TFLOP_per_s, sources::tpu_v6e_docs}}},
    .dram = {.capacity = {32.0 * GB, sources::tpu_v6e_docs},
             .bandwidth = {1638.0 * GB_per_s, sources::tpu_v6e_docs}},
    .fabric = {.kind = link_kind::ici,
               .bandwidth = {one_way(two_way_bandwidth<>(800.0 * GB_per_s)),
                             sources::tpu_v6e_links},
               .ranks = 256,
               .topology = link_topology::torus_2d},
    .host = {.kind = link_kind::pcie, .bandwidth = {32.0 * GB_per_s, sources::tpu_book}},
};

/// TPU7x (Ironwood), one chip. The pod is a 3D torus of 9216 chips.
inline constexpr accelerator tpu7x{
    .name = "tpu7x",
    .vendor = "Google",
    .architecture = chip_architecture::tpu7x,
    .sms = {2.0, sources::tpu7x_docs},
    .matrix = {.peak = {.bf16 = {2307.0 * TFLOP_per_s, sources::tpu7x_docs},
                        .fp8 = {4614.0 * TFLOP_per_s, sources::tpu7x_docs}}},
    .dram = {.capacity = {192.0 * GiB, sources::tpu7x_docs},
             .bandwidth = {7380.0 * GB_per_s, sources::tpu7x_docs}},
    .fabric = {.kind = link_kind::ici,
               .bandwidth = {one_way(two_way_bandwidth<>(1200.0 * GB_per_s)), sources::tpu7x_links},
               .ranks = 9216,
               .topology = link_topology::torus_3d},
};

inline constexpr std::array google_tpu_accelerators{
    accelerator_entry{tpu_v5e, "Google TPU v5e, one chip"},
    accelerator_entry{tpu_v5p, "Google TPU v5p, one chip"},
    accelerator_entry{tpu_v6e, "Google TPU v6e (Trillium), one chip"},
    accelerator_entry{tpu7x, "Google TPU7x (Ironwood), one chip"},
};

// AWS Trainium 2 and 3. `sms` are NeuronCores, `shared` is their SBUF. The fp32 rate is the matrix
// units': no rate of the vector engines is printed.

namespace sources {
// clang-format off
inline constexpr source trainium2_page{basis::vendor, "AWS, Trainium2 architecture, https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trainium2.html"};
inline constexpr source trainium2_core{basis::vendor, "AWS, NeuronCore-v3: 28 MiB each, https://awsdocs-neuron.readthedocs-hosted.com/en/latest/nki/about/trainium3_arch.html"};
inline constexpr source trainium2_links{basis::assumed, "half of 1.28 TB/s, as if that added both directions, which AWS does not say, https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trainium2.html"};
inline constexpr source trainium3_page{basis::vendor, "AWS, Trainium3 architecture, https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trainium3.html"};
inline constexpr source trainium3_core{basis::vendor, "AWS, NeuronCore-v4: 32 MiB each, https://awsdocs-neuron.readthedocs-hosted.com/en/latest/nki/about/trainium3_arch.html"};
inline constexpr source trainium3_links{basis::assumed, "half of 2.56 TB/s, as if that added both directions, which AWS does not say, https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trainium3.html"};
// clang-format on
}  // namespace sources

/// Trainium 2, one chip of the sixteen of a trn2.48xlarge, which are a 4 x 4 torus.
inline constexpr accelerator trainium2{
    .name = "trainium2",
    .vendor = "AWS",
    .architecture = chip_architecture::trainium2,
    .sms = {8.0, sources::trainium2_page},
    .matrix = {.peak =
                   {
                       .fp32 = {181.0 * TFLOP_per_s, sources::trainium2_page},
                       .tf32 = {667.0 * TFLOP_per_s, sources::trainium2_page},
                       .bf16 = {667.0 * TFLOP_per_s, sources::trainium2_page},
                       .fp16 = {667.0 * TFLOP_per_s, sources::trainium2_page},
                       .fp8 = {1299.0 * TFLOP_per_s, sources::trainium2_page},
                   }},
    .shared = {.capacity = {8.0 * 28.0 * MiB, sources::trainium2_core}},
    .dram = {.capacity = {96.0 * GiB, sources::trainium2_page},
             .bandwidth = {2.9 * TB_per_s, sources::trainium2_page}},
    .fabric = {.kind = link_kind::neuronlink,
               .bandwidth = {one_way(two_way_bandwidth<>(1.28 * TB_per_s)),
                             sources::trainium2_links},
               .ranks = 16,
               .topology = link_topology::torus_2d},
};

/// Trainium 3, one chip. fp8 and fp4 are MXFP8 and MXFP4. No page of AWS states how many chips its
/// switches join: the sixteen of Trainium 2 are assumed.
inline constexpr accelerator trainium3{
    .name = "trainium3",
    .vendor = "AWS",
    .architecture = chip_architecture::trainium3,
    .sms = {8.0, sources::trainium3_page},
    .matrix = {.peak =
                   {
                       .fp32 = {183.0 * TFLOP_per_s, sources::trainium3_page},
                       .tf32 = {671.0 * TFLOP_per_s, sources::trainium3_page},
                       .bf16 = {671.0 * TFLOP_per_s, sources::trainium3_page},
                       .fp16 = {671.0 * TFLOP_per_s, sources::trainium3_page},
                       .fp8 = {2517.0 * TFLOP_per_s, sources::trainium3_page},
                       .fp4 = {2517.0 * TFLOP_per_s, sources::trainium3_page},
                   }},
    .shared = {.capacity = {8.0 * 32.0 * MiB, sources::trainium3_core}},
    .dram = {.capacity = {144.0 * GiB, sources::trainium3_page},
             .bandwidth = {4.9 * TB_per_s, sources::trainium3_page}},
    .fabric = {.kind = link_kind::neuronlink,
               .bandwidth = {one_way(two_way_bandwidth<>(2.56 * TB_per_s)),
                             sources::trainium3_links},
               .ranks = 16},
};

inline constexpr std::array aws_trainium_accelerators{
    accelerator_entry{trainium2, "AWS Trainium 2, one chip"},
    accelerator_entry{trainium3, "AWS Trainium 3, one chip"},
};

// Cerebras WSE-3.

/// One wafer. It has no DRAM: `dram` is its on-wafer SRAM, the memory that holds the model.
/// The maker prints 125 PFLOP/s, which its cores reach only where seven of eight products are left
/// out as zeros. `fabric` joins the cores of the wafer, which is one rank. The power is that of the
/// whole CS-3 system.
inline constexpr accelerator cerebras_wse3{
    .name = "cerebras_wse3",
    .vendor = "Cerebras",
    .architecture = chip_architecture::wse3,
    .sms = {900000.0, sources::wse3_toms},
    .matrix = {.peak = {.fp16 = {15600.0 * TFLOP_per_s, sources::wse3_dense}}},
    .dram = {.capacity = {44.0 * GB, sources::wse3_toms},
             .bandwidth = {21000.0 * TB_per_s, sources::wse3_tweaktown}},
    .fabric = {.kind = link_kind::on_wafer,
               .bandwidth = {214000.0 / 8.0 * TB_per_s, sources::wse3_fabric}},
    .host = {.kind = link_kind::ethernet, .bandwidth = {1200.0 / 8.0 * GB_per_s, sources::wse3_io}},
    .tdp = {23000.0 * watt, sources::wse3_power},
};

inline constexpr std::array cerebras_accelerators{
    accelerator_entry{cerebras_wse3, "Cerebras WSE-3, one wafer"},
};

// Groq LPU, first generation.

/// One GroqChip. It has no DRAM: `dram` is its on-chip SRAM, the memory that holds the model.
/// `fabric` are its chip-to-chip links, named by the nearest kind there is, `ici`.
inline constexpr accelerator groq_lpu{
    .name = "groq_lpu",
    .vendor = "Groq",
    .architecture = chip_architecture::groq_tsp,
    .sms = {1.0, sources::groq_page},
    .matrix = {.peak = {.fp16 = {188.0 * TFLOP_per_s, sources::groq_page},
                        .int8 = {750.0 * TFLOP_per_s, sources::groq_page}},
               .clock = {clock_of(750.0 * TFLOP_per_s, 4, 204800), sources::groq_clock}},
    .vector = {.peak = {.fp32 = {5120.0 / 819200.0 * 750.0 * TFLOP_per_s, sources::groq_vector}}},
    .dram = {.capacity = {230.0 * MB, sources::groq_page},
             .bandwidth = {80.0 * TB_per_s, sources::groq_page}},
    .fabric = {.kind = link_kind::ici,
               .bandwidth = {one_way(two_way_bandwidth<>(480.0 * GB_per_s)), sources::groq_links},
               .ranks = 264},  // assumed: the largest network of one kind of rack
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie}},
    .tdp = {300.0 * watt, sources::groq_card},
};

inline constexpr std::array groq_accelerators{
    accelerator_entry{groq_lpu, "Groq LPU, one chip"},
};

// Intel Gaudi 3. `sms` are its tensor processor cores; the eight matrix engines are not counted.

namespace sources {
// clang-format off
inline constexpr source gaudi3_talk{basis::copied, "Intel at Hot Chips 2024, https://www.sgpjbg.com/baogao/465025"};
inline constexpr source gaudi3_clock{basis::measured, "clock of the matrix engines as the device reports it, accelerator chapter of ml-engineering 744d01e1, https://github.com/stas00/ml-engineering"};
inline constexpr source gaudi3_engines{basis::derived, "eight matrix engines of 256 x 256 multipliers x 2 FLOP, over 64 cores"};
inline constexpr source gaudi3_rate{basis::derived, "eight matrix engines x 256 x 256 x 2 FLOP x 1.6 GHz; Intel's 1835 needs 1.75 GHz"};
inline constexpr source gaudi3_quarter{basis::derived, "a quarter of the BF16 rate, as Intel's 459 of 1835, accelerator chapter of ml-engineering 744d01e1"};
inline constexpr source gaudi3_links{basis::derived, "21 of 24 ports of 200 Gbit/s, three to each peer of a node of eight"};
// clang-format on
}  // namespace sources

/// Gaudi 3 as an OAM module with air cooling. fp8 runs no faster than bf16, fp16 and TF32 at a
/// quarter of it.
inline constexpr accelerator gaudi_3{
    .name = "gaudi_3",
    .vendor = "Intel",
    .architecture = chip_architecture::gaudi3,
    .sms = {64.0, sources::gaudi3_talk},
    .matrix = {.peak = {.tf32 = {1677.7 / 4.0 * TFLOP_per_s, sources::gaudi3_quarter},
                        .bf16 = {1677.7 * TFLOP_per_s, sources::gaudi3_rate},
                        .fp16 = {1677.7 / 4.0 * TFLOP_per_s, sources::gaudi3_quarter},
                        .fp8 = {1677.7 * TFLOP_per_s, sources::gaudi3_rate}},
               .clock = {1.6 * GHz, sources::gaudi3_clock},
               .flop_per_clock = {16384.0 * flop, sources::gaudi3_engines}},
    .vector = {.peak = {.bf16 = {28.7 * TFLOP_per_s, sources::gaudi3_talk}}},
    .l2 = {.capacity = {96.0 * MiB, sources::gaudi3_talk},
           .bandwidth = {12.8 * TB_per_s, sources::gaudi3_talk}},
    .dram = {.capacity = {128.0 * GB, sources::gaudi3_talk},
             .bandwidth = {3.67 * TB_per_s, sources::gaudi3_talk}},
    .fabric = {.kind = link_kind::ethernet,
               .bandwidth = {21.0 * 25.0 * GB_per_s, sources::gaudi3_links},
               .ranks = 8,
               .topology = link_topology::mesh},
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 32.0 * GHz), sources::pcie}},
    .tdp = {900.0 * watt, sources::gaudi3_talk},
};

inline constexpr std::array intel_gaudi_accelerators{
    accelerator_entry{gaudi_3, "Intel Gaudi 3"},
};

// Intel Arc Pro B60 and B70. `sms` are Xe cores of 8 matrix (XMX) and 8 vector engines.

namespace sources {
// clang-format off
inline constexpr source arc_b60{basis::copied, "table of Arc Pro B60, https://technical.city"};
inline constexpr source arc_b70{basis::copied, "Intel's sheet of Arc Pro B70 as digested at https://zolotukhin.ai"};
inline constexpr source arc_l2{basis::measured, "18 MiB: device properties of the same die (bmg_g21), xla/backends/gpu/target_config/specs of https://github.com/openxla/xla"};
// clang-format on
}  // namespace sources

/// An Arc Pro card: 2048 FLOP per clock and core in 16 bits, twice that in int8, 256 in fp32.
constexpr accelerator arc_pro(const char* name, const source& table, double cores, double ghz,
                              double memory, double bandwidth, double lanes, double watts) {
  const auto rate = [&](double x) {
    return fact<flop_rate<>>{cores * x * ghz * GFLOP_per_s, sources::sms_times_clock};
  };
  return {.name = name,
          .vendor = "Intel",
          .architecture = chip_architecture::xe2,
          .sms = {cores, table},
          .matrix = {.peak = {.bf16 = rate(2048.0), .fp16 = rate(2048.0), .int8 = rate(4096.0)},
                     .clock = {ghz * GHz, table},
                     .flop_per_clock = {2048.0 * flop, sources::flop_per_clock}},
          .vector = {.peak = {.fp32 = rate(256.0)},
                     .clock = {ghz * GHz, table},
                     .flop_per_clock = {256.0 * flop, sources::lanes}},
          .dram = {.capacity = {memory * GiB, sources::nominal_gib},
                   .bandwidth = {bandwidth * GB_per_s, table}},
          .fabric = {.kind = link_kind::pcie,
                     .bandwidth = {pcie_one_way(lanes, 32.0 * GHz), sources::no_fabric},
                     .ranks = 8},
          .host = {.kind = link_kind::pcie,
                   .bandwidth = {pcie_one_way(lanes, 32.0 * GHz), sources::pcie}},
          .tdp = {watts * watt, table}};
}
inline constexpr accelerator arc_pro_b60 = [] {
  accelerator a = arc_pro("arc_pro_b60", sources::arc_b60, 20, 2.4, 24, 456, 8, 200);
  a.l2.capacity = {18.0 * MiB, sources::arc_l2};
  return a;
}();
inline constexpr accelerator arc_pro_b70 =
    arc_pro("arc_pro_b70", sources::arc_b70, 32, 2.8, 32, 608, 16, 230);

inline constexpr std::array intel_arc_accelerators{
    accelerator_entry{arc_pro_b60, "Intel Arc Pro B60"},
    accelerator_entry{arc_pro_b70, "Intel Arc Pro B70"},
};

// Huawei Ascend, Qualcomm Cloud AI 100, Microsoft Maia: peaks, memory and links only.

namespace sources {
// clang-format off
inline constexpr source ascend_910b_page{basis::copied, "320 TFLOP/s of Ascend 910B in public tables; bins of 313 to 376 are sold"};
inline constexpr source cloudmatrix{basis::copied, "Zuo et al., Serving LLMs on Huawei CloudMatrix384, 2025, as digested"};
inline constexpr source ascend_950_page{basis::copied, "Huawei's figures of Ascend 950DT in the chapters of ml-engineering 744d01e1, https://github.com/stas00/ml-engineering"};
inline constexpr source cloud_ai_page{basis::vendor, "Qualcomm, Cloud AI 100 Ultra, Architecture, https://quic.github.io/cloud-ai-sdk-pages"};
inline constexpr source maia_page{basis::copied, "Microsoft's figures of Maia 200 of 2026-01-26 in the press"};
// clang-format on
}  // namespace sources

/// Ascend 910B. Public figures differ; its INT8 rate, memory bandwidth and links are assumed.
inline constexpr accelerator ascend_910b{
    .name = "ascend_910b",
    .vendor = "Huawei",
    .architecture = chip_architecture::ascend,
    .matrix = {.peak = {.bf16 = {320.0 * TFLOP_per_s, sources::ascend_910b_page},
                        .fp16 = {320.0 * TFLOP_per_s, sources::ascend_910b_page},
                        .int8 = {640.0 * TFLOP_per_s, sources::not_read}}},
    .dram = {.capacity = {64.0 * GB, sources::ascend_910b_page},
             .bandwidth = {1600.0 * GB_per_s, sources::not_read}},
    .fabric = {.kind = link_kind::hccs,
               .bandwidth = {7.0 * 28.0 * GB_per_s, sources::not_read},
               .ranks = 8,
               .topology = link_topology::mesh},
    .host = {.kind = link_kind::pcie,
             .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::not_read}},
    .tdp = {400.0 * watt, sources::not_read},
};

/// Ascend 910C, a package of two dies; 384 packages on the Unified Bus of CloudMatrix384.
inline constexpr accelerator ascend_910c{
    .name = "ascend_910c",
    .vendor = "Huawei",
    .architecture = chip_architecture::ascend,
    .matrix = {.peak = {.bf16 = {752.0 * TFLOP_per_s, sources::cloudmatrix},
                        .fp16 = {752.0 * TFLOP_per_s, sources::cloudmatrix},
                        .int8 = {1504.0 * TFLOP_per_s, sources::cloudmatrix}}},
    .dram = {.capacity = {128.0 * GB, sources::cloudmatrix},
             .bandwidth = {3200.0 * GB_per_s, sources::cloudmatrix}},
    .fabric = {.kind = link_kind::hccs,
               .bandwidth = {392.0 * GB_per_s, sources::cloudmatrix},
               .ranks = 384},
};

/// Ascend 950DT. fp8 is HiF8.
inline constexpr accelerator ascend_950dt{
    .name = "ascend_950dt",
    .vendor = "Huawei",
    .architecture = chip_architecture::ascend,
    .matrix = {.peak = {.bf16 = {486.0 * TFLOP_per_s, sources::ascend_950_page},
                        .fp8 = {919.0 * TFLOP_per_s, sources::ascend_950_page},
                        .fp4 = {1783.0 * TFLOP_per_s, sources::ascend_950_page}}},
    .dram = {.capacity = {96.0 * GB, sources::ascend_950_page},
             .bandwidth = {4000.0 * GB_per_s, sources::ascend_950_page}},
    .fabric = {.kind = link_kind::hccs,
               .bandwidth = {840.0 * GB_per_s, sources::ascend_950_page},
               .ranks = 1024},
};

/// Cloud AI 100 Ultra, a card of four SoCs. `sms` are its cores, `l2` is their SRAM.
inline constexpr accelerator cloud_ai_100_ultra{
    .name = "cloud_ai_100_ultra",
    .vendor = "Qualcomm",
    .architecture = chip_architecture::cloud_ai_100,
    .sms = {64.0, sources::cloud_ai_page},
    .matrix = {.peak = {.fp16 = {290.0 * TFLOP_per_s, sources::cloud_ai_page},
                        .int8 = {870.0 * TFLOP_per_s, sources::cloud_ai_page}}},
    .l2 = {.capacity = {576.0 * MB, sources::cloud_ai_page}},
    .dram = {.capacity = {128.0 * GB, sources::cloud_ai_page},
             .bandwidth = {548.0 * GB_per_s, sources::cloud_ai_page}},
    .fabric = pcie_peers(16.0 * GHz, sources::no_fabric),
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 16.0 * GHz), sources::pcie}},
    .tdp = {150.0 * watt, sources::cloud_ai_page},
};

/// Maia 200. `l2` is its SRAM. Its Ethernet joins four directly and 6144 over switches: taken as a
/// switch.
inline constexpr accelerator maia_200{
    .name = "maia_200",
    .vendor = "Microsoft",
    .architecture = chip_architecture::maia,
    .matrix = {.peak = {.bf16 = {1268.0 * TFLOP_per_s, sources::not_read},
                        .fp8 = {5072.0 * TFLOP_per_s, sources::maia_page},
                        .fp4 = {10145.0 * TFLOP_per_s, sources::maia_page}}},
    .l2 = {.capacity = {272.0 * MB, sources::maia_page}},
    .dram = {.capacity = {216.0 * GB, sources::maia_page},
             .bandwidth = {7000.0 * GB_per_s, sources::maia_page}},
    .fabric = {.kind = link_kind::ethernet,
               .bandwidth = {one_way(two_way_bandwidth<>(2800.0 * GB_per_s)), sources::maia_page},
               .ranks = 6144},
    .tdp = {750.0 * watt, sources::maia_page},
};

inline constexpr std::array npu_accelerators{
    accelerator_entry{ascend_910b, "Huawei Ascend 910B"},
    accelerator_entry{ascend_910c, "Huawei Ascend 910C, one package"},
    accelerator_entry{ascend_950dt, "Huawei Ascend 950DT"},
    accelerator_entry{cloud_ai_100_ultra, "Qualcomm Cloud AI 100 Ultra, one card"},
    accelerator_entry{maia_200, "Microsoft Maia 200"},
};

}  // namespace perfmodel::inline v0_3::catalog
