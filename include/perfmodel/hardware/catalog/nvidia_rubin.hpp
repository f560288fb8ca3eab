// NVIDIA Rubin: announced, not measured by anyone. One package of a rack; a package has two
// (Rubin) or four (Rubin Ultra) dies, and the racks are named after the dies.
#pragma once

#include <perfmodel/hardware/catalog/arithmetic.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::catalog {

/// One Rubin package of Vera Rubin NVL72, first announced as NVL144: 72 packages. The 50 PFLOP/s of
/// FP4 that are printed for inference count what its engine skips; see alternatives.hpp.
inline constexpr accelerator vera_rubin_nvl72{
    .name = "vera_rubin_nvl72",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::rubin,
    .sms = {224.0, sources::rubin_blog},
    .matrix = {.peak = {.bf16 = {4000.0 * TFLOP_per_s, sources::rubin_sheet},
                        .fp16 = {4000.0 * TFLOP_per_s, sources::rubin_sheet},
                        .fp8 = {17500.0 * TFLOP_per_s, sources::rubin_sheet},
                        .int8 = {250.0 * TFLOP_per_s, sources::rubin_sheet},
                        .fp4 = {35000.0 * TFLOP_per_s, sources::rubin_sheet}}},
    .dram = {.capacity = {288.0 * GB, sources::rubin_gtc},
             .bandwidth = {22.0 * TB_per_s, sources::rubin_sheet}},
    .fabric = {.kind = link_kind::nvlink,
               .bandwidth = {one_way(two_way_bandwidth<>(3600.0 * GB_per_s)), sources::rubin_links},
               .ranks = 72,
               .in_network_reduction = true},
    .host = {.kind = link_kind::nvlink_c2c,
             .bandwidth = {one_way(two_way_bandwidth<>(1800.0 * GB_per_s)),
                           sources::rubin_technews}},
};

/// One Rubin Ultra package of the rack of 144 packages that was announced as NVL576 and is called
/// NVL144 since 2026. The link rate assumes that the rack's 1.5 PB/s adds both directions, as the
/// figures of earlier racks do; whether its FP4 rate is dense is not said, and Rubin's is not.
inline constexpr accelerator rubin_ultra_nvl576{
    .name = "rubin_ultra_nvl576",
    .vendor = "NVIDIA",
    .architecture = chip_architecture::rubin_ultra,
    .matrix = {.peak = {.fp8 = {5000000.0 / 144.0 * TFLOP_per_s, sources::rubin_ultra_rack},
                        .fp4 = {15000000.0 / 144.0 * TFLOP_per_s, sources::rubin_ultra_rack}}},
    .dram = {.capacity = {1.0 * TB, sources::rubin_ultra_gtc},
             .bandwidth = {4600.0 / 144.0 * TB_per_s, sources::rubin_ultra_rack}},
    .fabric = {.kind = link_kind::nvlink,
               .bandwidth = {one_way(two_way_bandwidth<>(1500.0 / 144.0 * TB_per_s)),
                             sources::rubin_ultra_rack},
               .ranks = 144,
               .in_network_reduction = true},
};

inline constexpr std::array rubin_accelerators{
    accelerator_entry{vera_rubin_nvl72, "NVIDIA Vera Rubin NVL72, one package (announced)"},
    accelerator_entry{rubin_ultra_nvl576,
                      "NVIDIA Rubin Ultra, one package of 144 in a rack (announced)"},
};

}  // namespace perfmodel::catalog
