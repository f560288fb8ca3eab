// Groq LPU, first generation.
#pragma once

#include <perfmodel/hardware/catalog/arithmetic.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::catalog {

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

}  // namespace perfmodel::catalog
