// Values that disagree with the catalogue's; alternative.hpp says how to use one of them instead.
// docs/catalogue.md says how the larger conflicts were decided.
#pragma once

#include <perfmodel/hardware/catalog/alternatives_nvidia.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>

namespace perfmodel::catalog {

// clang-format off
inline constexpr std::array alternatives_of_others{
    // AMD, Google
    alternative{"mi210", "dram.bandwidth", 1.6384e12, "B/s", "alternative", {basis::derived, "4096 bit / 8 x 3.2 GT/s"}, "before rounding"},
    alternative{"mi210", "dram.capacity", 64e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"mi300x", "matrix.peak.bf16", 2614.9e12, "FLOP/s", "sparse", sources::mi300x_peaks, "2:4 sparse, printed as dense by some"},
    alternative{"mi300x", "dram.capacity", 192e9, "B", "marketing", sources::mi300x_power, "decimal"},
    alternative{"mi300x", "dram.capacity", 192.0 * 1073741824.0, "B", "alternative", sources::amd_gib, "before what the driver keeps"},
    alternative{"mi300x", "fabric.bandwidth", 896e9, "B/s", "two_way", claims::both_directions, "both directions"},
    alternative{"mi325x", "fabric.bandwidth", 896e9, "B/s", "two_way", claims::both_directions, "both directions"},
    alternative{"mi350x", "matrix.peak.bf16", 256.0 * 4096.0 * 2.2e9, "FLOP/s", "alternative", sources::cdna4_paper, "compute units x 4096 x 2.2 GHz do not give the printed 2309.6"},
    alternative{"mi350x", "fabric.bandwidth", 1075.2e9, "B/s", "two_way", claims::both_directions, "both directions"},
    alternative{"mi355x", "fabric.bandwidth", 1075.2e9, "B/s", "two_way", claims::both_directions, "both directions"},
    alternative{"tpu_v5e", "matrix.peak.int8", 394e12, "FLOP/s", "alternative", sources::tpu_book, "twice 197"},
    alternative{"tpu_v5e", "dram.bandwidth", 858993459200.0, "B/s", "alternative", sources::tpu_v5e_docs, "800 GiB/s in a later edition"},
    alternative{"tpu_v5e", "dram.bandwidth", 810e9, "B/s", "alternative", sources::tpu_book, "rounded"},
    alternative{"tpu_v5e", "dram.capacity", 16e9, "B", "marketing", sources::tpu_v5e_docs, "as printed"},
    alternative{"tpu_v5e", "fabric.bandwidth", 180e9, "B/s", "alternative", sources::tpu_book, "four links of 45 GB/s in its later editions"},
    alternative{"tpu_v5e", "fabric.bandwidth", 400e9, "B/s", "two_way", sources::tpu_v5e_docs, "both directions"},
    alternative{"tpu_v5p", "dram.capacity", 96e9, "B", "alternative", sources::tpu_book, "rounded"},
    alternative{"tpu_v5p", "dram.bandwidth", 2.8e12, "B/s", "alternative", sources::tpu_book, "rounded"},
    alternative{"tpu_v5p", "fabric.bandwidth", 540e9, "B/s", "alternative", sources::tpu_book, "six links of 90 GB/s in its later editions"},
    alternative{"tpu_v5p", "fabric.bandwidth", 1200e9, "B/s", "two_way", sources::tpu_v5p_docs, "both directions"},
    alternative{"tpu_v6e", "fabric.bandwidth", 360e9, "B/s", "alternative", sources::tpu_book, "four links of 90 GB/s"},
    alternative{"tpu_v6e", "fabric.bandwidth", 800e9, "B/s", "two_way", sources::tpu_v6e_docs, "both directions"},
    alternative{"tpu7x", "fabric.bandwidth", 1200e9, "B/s", "two_way", sources::tpu7x_docs, "both directions"},
    // AWS, Intel
    alternative{"trainium2", "dram.bandwidth", 3e12, "B/s", "alternative", sources::trainium2_guide, "rounded"},
    alternative{"trainium3", "dram.bandwidth", 4.7e12, "B/s", "alternative", sources::trainium3_guide, "another page of AWS"},
    alternative{"gaudi_3", "matrix.peak.bf16", 1677e12, "FLOP/s", "alternative", sources::mi300x_peaks, "the same chapter, which does not say of which module"},
    alternative{"gaudi_3", "l2.bandwidth", 19.2e12, "B/s", "alternative", claims::unsourced, "other papers"},
    alternative{"gaudi_3", "fabric.bandwidth", 600e9, "B/s", "alternative", claims::unsourced, "all 24 ports, of which 3 leave the node"},
    alternative{"gaudi_3", "tdp", 1200, "W", "alternative", claims::unsourced, "with liquid cooling"},
    // Apple
    alternative{"m2_ultra", "dram.bandwidth", 800e9, "B/s", "alternative", claims::unsourced, "rounded"},
    alternative{"m2_ultra", "dram.capacity", 192e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"m2_ultra", "tdp", 270, "W", "alternative", sources::apple_power, "the figure of M3 Ultra's machine"},
    alternative{"m3_ultra", "vector.clock", 1.398e9, "Hz", "alternative", sources::apple_m3_ultra_clock, "one table"},
    alternative{"m3_ultra", "dram.bandwidth", 800e9, "B/s", "alternative", claims::unsourced, "rounded"},
    alternative{"m3_ultra", "dram.capacity", 96.0 * 1073741824.0, "B", "alternative", sources::apple_table, "smallest configuration"},
    alternative{"m3_ultra", "dram.capacity", 256.0 * 1073741824.0, "B", "alternative", sources::apple_table, "middle configuration"},
    alternative{"m3_ultra", "dram.capacity", 192e9, "B", "refuted", claims::unsourced, "that is M2 Ultra"},
    alternative{"m4_max", "vector.clock", 1.8e9, "Hz", "alternative", sources::apple_m4_claim, "40 cores would give 18.4 TFLOP/s"},
    // Groq, Cerebras
    alternative{"groq_lpu", "matrix.peak.int8", 1000e12, "FLOP/s", "announced", sources::groq_card, "launch claim, at 1.25 GHz"},
    alternative{"groq_lpu", "fabric.bandwidth", 16.0 * 14e9, "B/s", "alternative", sources::groq_links, "14 GB/s per link when cabled"},
    alternative{"cerebras_wse3", "fabric.ranks", 2048, "1", "alternative", sources::wse3_toms, "a CS-3 cluster: scale-out over Ethernet, not this fabric"},
    alternative{"cerebras_wse3", "matrix.peak.fp16", 125000e12, "FLOP/s", "sparse", sources::wse3_toms, "counts 8:1 sparsity"},
};
// clang-format on

inline constexpr auto alternatives = joined(alternatives_of_nvidia, alternatives_of_others);

}  // namespace perfmodel::catalog
