// Cerebras WSE-3.
#pragma once

#include <perfmodel/hardware/catalog/arithmetic.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::catalog {

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

}  // namespace perfmodel::catalog
