// Short names of the catalogue's products, and relatives of products that it lacks.
#pragma once

#include <array>
#include <string_view>

namespace perfmodel::inline v0_3::catalog {

/// Spelling of an accelerator: the product's name without its maker, form and memory size, in lower
/// case and without spaces. A bare name means the first row of its product.
struct product_name {
  std::string_view product;
  std::string_view form;
  int gigabytes;  ///< 0: any
  std::string_view key;
};

// clang-format off
inline constexpr std::array product_names{
    product_name{"v100", "sxm", 32, "v100_sxm_32gb"},
    product_name{"t4", "pcie", 16, "t4"},
    product_name{"a100", "sxm", 80, "a100_sxm_80gb"},
    product_name{"a100", "sxm", 40, "a100_sxm_40gb"},
    product_name{"a100", "pcie", 80, "a100_pcie_80gb"},
    product_name{"a100", "pcie", 40, "a100_pcie_40gb"},
    product_name{"a10", "pcie", 24, "a10"},
    product_name{"a40", "pcie", 48, "a40"},
    product_name{"rtxa6000", "pcie", 48, "rtx_a6000"},
    product_name{"a6000", "pcie", 48, "rtx_a6000"},
    product_name{"rtx3090", "pcie", 24, "rtx_3090"},
    product_name{"3090", "pcie", 24, "rtx_3090"},
    product_name{"h100", "sxm", 80, "h100_sxm"},
    product_name{"h100", "pcie", 80, "h100_pcie"},
    product_name{"h100", "nvl", 94, "h100_nvl"},
    product_name{"h200", "sxm", 141, "h200_sxm"},
    product_name{"h20", "sxm", 96, "h20"},
    product_name{"h20", "sxm", 141, "h20_141gb"},
    product_name{"h203e", "sxm", 141, "h20_141gb"},
    product_name{"h800", "sxm", 80, "h800_sxm"},
    product_name{"gh200", "", 96, "gh200_96gb"},
    product_name{"gh200", "", 480, "gh200_96gb"},  // the driver names it by the memory of its CPU
    product_name{"gh200", "", 120, "gh200_96gb"},
    product_name{"gh200", "", 144, "gh200_144gb"},
    product_name{"b200", "sxm", 180, "b200_sxm"},
    product_name{"b200", "sxm", 192, "b200_sxm"},
    product_name{"b300", "sxm", 288, "b300_sxm"},
    product_name{"b300", "sxm", 270, "b300_sxm"},
    product_name{"gb200", "nvl72", 186, "gb200"},
    product_name{"gb200", "nvl72", 192, "gb200"},
    product_name{"gb300", "nvl72", 288, "gb300"},
    product_name{"gb300", "nvl72", 279, "gb300"},
    product_name{"l4", "pcie", 24, "l4"},
    product_name{"l40s", "pcie", 48, "l40s"},
    product_name{"rtx4090", "pcie", 24, "rtx_4090"},
    product_name{"4090", "pcie", 24, "rtx_4090"},
    product_name{"rtx5080", "pcie", 16, "rtx_5080"},
    product_name{"5080", "pcie", 16, "rtx_5080"},
    product_name{"rtx5090", "pcie", 32, "rtx_5090"},
    product_name{"5090", "pcie", 32, "rtx_5090"},
    product_name{"rtxpro6000", "server", 96, "rtx_pro_6000"},
    product_name{"rtxpro6000", "workstation", 96, "rtx_pro_6000_workstation"},
    product_name{"rtxpro6000", "maxq", 96, "rtx_pro_6000_max_q"},
    product_name{"rtx6000pro", "server", 96, "rtx_pro_6000"},
    product_name{"rtx6000pro", "workstation", 96, "rtx_pro_6000_workstation"},
    product_name{"rtx6000pro", "maxq", 96, "rtx_pro_6000_max_q"},
    product_name{"gb10", "", 128, "gb10"},
    product_name{"spark", "", 128, "gb10"},
    product_name{"mi210", "pcie", 64, "mi210"},
    product_name{"mi300x", "", 192, "mi300x"},
    product_name{"mi325x", "", 256, "mi325x"},
    product_name{"mi350x", "", 288, "mi350x"},
    product_name{"mi355x", "", 288, "mi355x"},
    product_name{"tpuv5e", "", 16, "tpu_v5e"},
    product_name{"v5e", "", 16, "tpu_v5e"},
    product_name{"tpuv5lite", "", 16, "tpu_v5e"},
    product_name{"v5litepod", "", 16, "tpu_v5e"},
    product_name{"tpuv5p", "", 95, "tpu_v5p"},
    product_name{"v5p", "", 95, "tpu_v5p"},
    product_name{"tpuv6e", "", 32, "tpu_v6e"},
    product_name{"v6e", "", 32, "tpu_v6e"},
    product_name{"tpuv6", "", 32, "tpu_v6e"},
    product_name{"trillium", "", 32, "tpu_v6e"},
    product_name{"tpu7x", "", 192, "tpu7x"},
    product_name{"tpuv7x", "", 192, "tpu7x"},
    product_name{"tpuv7", "", 192, "tpu7x"},
    product_name{"tpu7", "", 192, "tpu7x"},
    product_name{"ironwood", "", 192, "tpu7x"},
    product_name{"trainium2", "", 96, "trainium2"},
    product_name{"trn2", "", 96, "trainium2"},
    product_name{"trainium3", "", 144, "trainium3"},
    product_name{"trn3", "", 144, "trainium3"},
    product_name{"gaudi3", "", 128, "gaudi_3"},
    product_name{"m2ultra", "", 192, "m2_ultra"},
    product_name{"m3ultra", "", 512, "m3_ultra"},
    product_name{"m4pro", "", 64, "m4_pro"},
    product_name{"m4max", "", 128, "m4_max"},
    product_name{"m4max", "", 36, "m4_max_32core"},
    product_name{"m4max40core", "", 128, "m4_max"},
    product_name{"m4max32core", "", 36, "m4_max_32core"},
    product_name{"orinnano", "", 8, "jetson_orin_nano_8gb"},
    product_name{"orinnx", "", 16, "jetson_orin_nx_16gb"},
    product_name{"agxorin", "", 64, "jetson_agx_orin_64gb"},
    product_name{"orinagx", "", 64, "jetson_agx_orin_64gb"},
    product_name{"thor", "", 128, "jetson_thor"},
    product_name{"agxthor", "", 128, "jetson_thor"},
    product_name{"groq", "", 0, "groq_lpu"},
    product_name{"groqlpu", "", 0, "groq_lpu"},
    product_name{"lpu", "", 0, "groq_lpu"},
    product_name{"cerebras", "", 0, "cerebras_wse3"},
    product_name{"cerebraswse3", "", 0, "cerebras_wse3"},
    product_name{"wse3", "", 0, "cerebras_wse3"},
    product_name{"cerebrascs3", "", 0, "cerebras_wse3"},
    product_name{"cs3", "", 0, "cerebras_wse3"},
    product_name{"verarubin", "nvl72", 288, "vera_rubin_nvl72"},
    product_name{"verarubin", "nvl144", 288, "vera_rubin_nvl72"},  // as first announced
    product_name{"rubin", "nvl72", 288, "vera_rubin_nvl72"},
    product_name{"vr200", "nvl72", 288, "vera_rubin_nvl72"},
    product_name{"rubinultra", "nvl576", 0, "rubin_ultra_nvl576"},
    product_name{"rubinultra", "nvl144", 0, "rubin_ultra_nvl576"},
};

/// Products outside the catalogue with a misleading name, and their nearest relative in it.
struct absent_product {
  std::string_view product, relative;
};
inline constexpr std::array absent_products{
    absent_product{"p100", "v100_sxm_32gb"}, absent_product{"titanv", "v100_sxm_32gb"},
    absent_product{"rtx2080ti", "t4"},       absent_product{"a800", "a100_sxm_80gb"},
    absent_product{"a30", "a100_pcie_40gb"}, absent_product{"a10g", "a10"},
    absent_product{"a16", "a10"},            absent_product{"a2", "a10"},
    absent_product{"rtxa5000", "rtx_a6000"}, absent_product{"a5000", "rtx_a6000"},
    absent_product{"l40", "l40s"},           absent_product{"l20", "l40s"},
    absent_product{"rtx6000ada", "l40s"},    absent_product{"rtx6000", "l40s"},
    absent_product{"6000ada", "l40s"},       absent_product{"l2", "l4"},
    absent_product{"b100", "b200_sxm"},      absent_product{"rtxpro5000", "rtx_pro_6000"},
    absent_product{"mi250x", "mi210"},       absent_product{"mi300a", "mi300x"},
    absent_product{"inferentia2", "trainium2"}, absent_product{"inf2", "trainium2"},
    absent_product{"m1ultra", "m2_ultra"},   absent_product{"m3max", "m4_max"},
};
// clang-format on

}  // namespace perfmodel::inline v0_3::catalog
