// What a driver calls a device, and what perfmodel's catalogue calls it.
#pragma once

#include <array>
#include <string_view>

namespace perfmodel::validation {

/// Catalogue name of an NVIDIA GPU by its driver's name, or empty: a cut-down, laptop or NVLink
/// bridge variant is another GPU, and so is a part of a GPU (MIG). The longest match counts.
constexpr std::string_view catalogue_name(std::string_view driver_name) {
  struct product {
    std::string_view driver_name, name;
  };
  constexpr std::array<product, 33> products{{
      {"V100-SXM2-32GB", "v100_sxm_32gb"},
      {"Tesla T4", "t4"},
      {"A100-SXM4-80GB", "a100_sxm_80gb"},
      {"A100-SXM4-40GB", "a100_sxm_40gb"},
      {"A100 80GB PCIe", "a100_pcie_80gb"},
      {"A100-PCIE-40GB", "a100_pcie_40gb"},
      {"NVIDIA A10", "a10"},
      {"NVIDIA A40", "a40"},
      {"RTX A6000", "rtx_a6000"},
      {"GeForce RTX 3090", "rtx_3090"},
      {"H100 80GB HBM3", "h100_sxm"},
      {"H100 PCIe", "h100_pcie"},
      {"NVIDIA H100 NVL", "h100_nvl"},
      {"NVIDIA H200", "h200_sxm"},
      {"NVIDIA H200 NVL", "h200_nvl"},
      {"NVIDIA H20", "h20"},
      {"NVIDIA H800", "h800_sxm"},
      {"GH200 144G HBM3e", "gh200_144gb"},
      {"GH200 480GB", "gh200_96gb"},
      {"GH200 120GB", "gh200_96gb"},
      {"NVIDIA B200", "b200_sxm"},
      {"NVIDIA B300", "b300_sxm"},
      {"NVIDIA GB200", "gb200"},
      {"NVIDIA GB300", "gb300"},
      {"NVIDIA L4", "l4"},
      {"NVIDIA L40S", "l40s"},
      {"GeForce RTX 4090", "rtx_4090"},
      {"GeForce RTX 5080", "rtx_5080"},
      {"GeForce RTX 5090", "rtx_5090"},
      {"RTX PRO 6000 Blackwell Server", "rtx_pro_6000"},
      {"RTX PRO 6000 Blackwell Workstation", "rtx_pro_6000_workstation"},
      {"RTX PRO 6000 Blackwell Max-Q Workstation", "rtx_pro_6000_max_q"},
      {"NVIDIA GB10", "gb10"},
  }};
  constexpr auto has = [](std::string_view name, std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  if (driver_name.ends_with(" D")) return {};
  product best{};
  for (const product& p : products) {
    const std::size_t at = driver_name.find(p.driver_name);
    if (at == std::string_view::npos) continue;
    const std::size_t end = at + p.driver_name.size();
    // "NVIDIA L4" is not "NVIDIA L40".
    if (end < driver_name.size() && driver_name[end] != ' ') continue;
    if (p.driver_name.size() > best.driver_name.size()) best = p;
  }
  for (const std::string_view other : {" NVL", " Ti", "Laptop", " MIG "}) {
    if (has(driver_name, other) && !has(best.driver_name, other)) return {};
  }
  return best.name;
}

}  // namespace perfmodel::validation
