// The GPUs of NVIDIA GH200 superchips, with 96 GB of HBM3 or 144 GB of HBM3e.
#pragma once

#include <perfmodel/hardware/catalog/arithmetic.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source grace_hopper_sheet{
    basis::copied,
    "NVIDIA GH200 datasheet (https://nvdam.widen.net/s/rrgqqnpbz8/"
    "grace-datasheet-gh200-grace-hopper-superchip-3773000) as quoted in gh200_specs.md of "
    "https://github.com/atineoSE/coding-model-seeks-gpu"};
inline constexpr source gh200_144gb_l2{basis::assumed, "as the 96 GB superchip's"};
}  // namespace sources

/// The GPU of a GH200 superchip with 96 GB of HBM3: H100's die with the L2 and the memory bus of H200.
/// Which peers it has depends on the system. The published figures that gpu-benches calls h200 are
/// of this part: its memory reaches 3.9 TB/s.
inline constexpr accelerator gh200_96gb = [] {
  accelerator a = h200_sxm;
  a.name = "gh200_96gb";
  a.sms = {132.0, sources::gh200_page};
  a.vector.clock = {1.98 * GHz, sources::gh200_page};
  a.shared.latency = {16.4 * ns, sources::own_h200_chase_taken};
  a.l2.capacity = {60.0 * MiB, sources::gh200_query};
  a.l2.latency = {137.7 * ns, sources::own_h200_chase_taken};
  a.l2.bandwidth = {9.75 * TB_per_s, sources::gh200_l2};
  a.dram.capacity = {97871.0 * MiB, sources::gh200_driver};
  a.dram.bandwidth = {4.0 * TB_per_s, sources::gh200_announcement};
  a.dram.latency = {340.0 * ns, sources::own_h200_chase_taken};
  a.dram.energy_per_byte = {3.92 * pJ_per_bit, sources::hbm2_energy};
  a.fabric = {};
  a.host = {.kind = link_kind::nvlink_c2c,
            .bandwidth = {one_way(two_way_bandwidth<>(900.0 * GB_per_s)), sources::c2c_whole}};
  a.tdp = {900.0 * watt, sources::gh200_driver};
  a.price = {};
  return a;
}();

/// The GPU of a GH200 superchip with 144 GB of HBM3e.
inline constexpr accelerator gh200_144gb = [] {
  accelerator a = gh200_96gb;
  a.name = "gh200_144gb";
  a.l2.capacity = {60.0 * MiB, sources::gh200_144gb_l2};
  a.l2.bandwidth = {9.75 * TB_per_s, sources::gh200_l2_taken};
  a.dram.capacity = {144.0 * GB, sources::grace_hopper_sheet};
  a.dram.bandwidth = {4.9 * TB_per_s, sources::grace_hopper_sheet};
  a.dram.energy_per_byte = {0.8 * 4.3 * pJ_per_bit, sources::hbm3e_energy};
  a.tdp = {1000.0 * watt, sources::grace_hopper_sheet};
  return a;
}();

inline constexpr std::array grace_hopper_accelerators{
    accelerator_entry{gh200_96gb, "NVIDIA GH200 96 GB, its GPU"},
    accelerator_entry{gh200_144gb, "NVIDIA GH200 144 GB, its GPU"},
};

}  // namespace perfmodel::catalog
