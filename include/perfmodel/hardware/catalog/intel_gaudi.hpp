// Intel Gaudi 3. `sms` are its tensor processor cores; its eight matrix engines stand beside them.
#pragma once

#include <perfmodel/hardware/catalog/arithmetic.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source gaudi3_talk{
    basis::copied, "Intel at Hot Chips 2024, https://www.sgpjbg.com/baogao/465025"};
inline constexpr source gaudi3_links{
    basis::derived, "21 of 24 ports of 200 Gbit/s, three to each peer of a node of eight"};
}  // namespace sources

/// Gaudi 3 as an OAM module with air cooling. fp8 runs no faster than bf16.
inline constexpr accelerator gaudi_3{
    .name = "gaudi_3",
    .vendor = "Intel",
    .architecture = chip_architecture::gaudi3,
    .sms = {64.0, sources::gaudi3_talk},
    .matrix = {.peak = {.bf16 = {1835.0 * TFLOP_per_s, sources::gaudi3_talk},
                        .fp8 = {1835.0 * TFLOP_per_s, sources::gaudi3_talk}}},
    .vector = {.peak = {.bf16 = {28.7 * TFLOP_per_s, sources::gaudi3_talk}}},
    .l2 = {.capacity = {96.0 * MiB, sources::gaudi3_talk},
           .bandwidth = {12.8 * TB_per_s, sources::gaudi3_talk}},
    .dram = {.capacity = {128.0 * GB, sources::gaudi3_talk},
             .bandwidth = {3.67 * TB_per_s, sources::gaudi3_talk}},
    .fabric = {.kind = link_kind::ethernet,
               .bandwidth = {21.0 * 25.0 * GB_per_s, sources::gaudi3_links},
               .ranks = 8},
    .host = {.kind = link_kind::pcie, .bandwidth = {pcie_one_way(16, 32.0 * GHz), sources::pcie}},
    .tdp = {900.0 * watt, sources::gaudi3_talk},
};

inline constexpr std::array intel_gaudi_accelerators{
    accelerator_entry{gaudi_3, "Intel Gaudi 3"},
};

}  // namespace perfmodel::catalog
