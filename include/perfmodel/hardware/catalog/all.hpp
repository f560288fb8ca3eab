// Every accelerator of the catalogue by name, for programs that are told the name at run time.
#pragma once

#include <array>
#include <perfmodel/hardware/catalog/amd.hpp>
#include <perfmodel/hardware/catalog/apple.hpp>
#include <perfmodel/hardware/catalog/cerebras.hpp>
#include <perfmodel/hardware/catalog/google_tpu.hpp>
#include <perfmodel/hardware/catalog/groq.hpp>
#include <perfmodel/hardware/catalog/nvidia_ada.hpp>
#include <perfmodel/hardware/catalog/nvidia_ampere.hpp>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/hardware/catalog/nvidia_jetson.hpp>
#include <perfmodel/hardware/catalog/nvidia_rtx.hpp>
#include <perfmodel/hardware/catalog/nvidia_rubin.hpp>
#include <perfmodel/hardware/catalog/nvidia_volta.hpp>
#include <string_view>

namespace perfmodel::catalog {

/// `key` is the name in C++ and in requests; it is also the spec's own name.
struct accelerator_entry {
  const accelerator* spec;
  const char* key;
  const char* title;
};

inline constexpr std::array accelerators{
    accelerator_entry{&v100_sxm_32gb, "v100_sxm_32gb", "NVIDIA V100 SXM2 32 GB"},
    accelerator_entry{&a100_sxm_80gb, "a100_sxm_80gb", "NVIDIA A100 SXM4 80 GB"},
    accelerator_entry{&h100_sxm, "h100_sxm", "NVIDIA H100 SXM5 80 GB"},
    accelerator_entry{&h100_pcie, "h100_pcie", "NVIDIA H100 PCIe 80 GB"},
    accelerator_entry{&h200_sxm, "h200_sxm", "NVIDIA H200 SXM 141 GB"},
    accelerator_entry{&h20, "h20", "NVIDIA H20 96 GB"},
    accelerator_entry{&b200_sxm, "b200_sxm", "NVIDIA B200 (HGX)"},
    accelerator_entry{&b300_sxm, "b300_sxm", "NVIDIA B300 (HGX)"},
    accelerator_entry{&gb200, "gb200", "NVIDIA GB200 NVL72, one GPU"},
    accelerator_entry{&gb300, "gb300", "NVIDIA GB300 NVL72, one GPU"},
    accelerator_entry{&l4, "l4", "NVIDIA L4"},
    accelerator_entry{&l40s, "l40s", "NVIDIA L40S"},
    accelerator_entry{&rtx_4090, "rtx_4090", "NVIDIA GeForce RTX 4090"},
    accelerator_entry{&rtx_5080, "rtx_5080", "NVIDIA GeForce RTX 5080"},
    accelerator_entry{&rtx_5090, "rtx_5090", "NVIDIA GeForce RTX 5090"},
    accelerator_entry{&rtx_pro_6000, "rtx_pro_6000",
                      "NVIDIA RTX PRO 6000 Blackwell Server Edition"},
    accelerator_entry{&mi210, "mi210", "AMD Instinct MI210"},
    accelerator_entry{&mi300x, "mi300x", "AMD Instinct MI300X"},
    accelerator_entry{&tpu_v5e, "tpu_v5e", "Google TPU v5e, one chip"},
    accelerator_entry{&tpu_v5p, "tpu_v5p", "Google TPU v5p, one chip"},
    accelerator_entry{&m2_ultra, "m2_ultra", "Apple M2 Ultra, 76 GPU cores"},
    accelerator_entry{&m3_ultra, "m3_ultra", "Apple M3 Ultra, 80 GPU cores"},
    accelerator_entry{&jetson_orin_nano_8gb, "jetson_orin_nano_8gb",
                      "NVIDIA Jetson Orin Nano 8 GB"},
    accelerator_entry{&jetson_orin_nx_16gb, "jetson_orin_nx_16gb", "NVIDIA Jetson Orin NX 16 GB"},
    accelerator_entry{&jetson_agx_orin_64gb, "jetson_agx_orin_64gb",
                      "NVIDIA Jetson AGX Orin 64 GB"},
    accelerator_entry{&jetson_thor, "jetson_thor", "NVIDIA Jetson Thor"},
    accelerator_entry{&groq_lpu, "groq_lpu", "Groq LPU, one chip"},
    accelerator_entry{&cerebras_wse3, "cerebras_wse3", "Cerebras WSE-3, one wafer"},
    accelerator_entry{&vera_rubin_nvl144, "vera_rubin_nvl144",
                      "NVIDIA Vera Rubin NVL144, one package (announced)"},
    accelerator_entry{&rubin_ultra_nvl576, "rubin_ultra_nvl576",
                      "NVIDIA Rubin Ultra NVL576, one package (announced)"},
};

/// The accelerator of that name, or nullptr.
/// Test: find_accelerator("h100_sxm") == &h100_sxm; find_accelerator("h101") == nullptr.
constexpr const accelerator* find_accelerator(std::string_view key) {
  for (const accelerator_entry& e : accelerators) {
    if (key == e.key) return e.spec;
  }
  return nullptr;
}

}  // namespace perfmodel::catalog
