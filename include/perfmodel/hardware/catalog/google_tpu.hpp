// Google TPU v5e, v5p, v6e and TPU7x. `sms` are TensorCores, of four 128 x 128 matrix units each up to v5.
#pragma once

#include <perfmodel/hardware/catalog/arithmetic.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::catalog {

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
               .ranks = 256},
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
               .ranks = 8960},
    .host = {.kind = link_kind::pcie, .bandwidth = {15.0 * GB_per_s, sources::tpu_book}},
};

/// TPU v6e (Trillium), one chip. The pod is a 2D torus of 256 chips. Its two 256 x 256 matrix units give
/// 918 TFLOP/s at no clock that a TPU has, so that neither clock nor FLOP per clock is stated.
inline constexpr accelerator tpu_v6e{
    .name = "tpu_v6e",
    .vendor = "Google",
    .architecture = chip_architecture::tpu_v6e,
    .sms = {1.0, sources::tpu_v6e_docs},
    .matrix = {.peak = {.bf16 = {918.0 * TFLOP_per_s, sources::tpu_v6e_docs},
                        .int8 = {1836.0 * TFLOP_per_s, sources::tpu_v6e_docs}}},
    .dram = {.capacity = {32.0 * GB, sources::tpu_v6e_docs},
             .bandwidth = {1638.0 * GB_per_s, sources::tpu_v6e_docs}},
    .fabric = {.kind = link_kind::ici,
               .bandwidth = {one_way(two_way_bandwidth<>(800.0 * GB_per_s)),
                             sources::tpu_v6e_links},
               .ranks = 256},
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
               .ranks = 9216},
};

inline constexpr std::array google_tpu_accelerators{
    accelerator_entry{tpu_v5e, "Google TPU v5e, one chip"},
    accelerator_entry{tpu_v5p, "Google TPU v5p, one chip"},
    accelerator_entry{tpu_v6e, "Google TPU v6e (Trillium), one chip"},
    accelerator_entry{tpu7x, "Google TPU7x (Ironwood), one chip"},
};

}  // namespace perfmodel::catalog
