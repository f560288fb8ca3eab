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
inline constexpr product_name product_names[] = {
    {"v100", "sxm", 32, "v100_sxm_32gb"},
    {"t4", "pcie", 16, "t4"},
    {"a100", "sxm", 80, "a100_sxm_80gb"}, {"a100", "sxm", 40, "a100_sxm_40gb"},
    {"a100", "pcie", 80, "a100_pcie_80gb"}, {"a100", "pcie", 40, "a100_pcie_40gb"},
    {"a10", "pcie", 24, "a10"},
    {"a40", "pcie", 48, "a40"},
    {"rtxa6000", "pcie", 48, "rtx_a6000"}, {"a6000", "pcie", 48, "rtx_a6000"},
    {"a800", "sxm", 80, "a800_sxm_80gb"},
    {"rtx3080", "pcie", 10, "rtx_3080"}, {"3080", "pcie", 10, "rtx_3080"},
    {"rtx3090", "pcie", 24, "rtx_3090"}, {"3090", "pcie", 24, "rtx_3090"},
    {"h100", "sxm", 80, "h100_sxm"}, {"h100", "pcie", 80, "h100_pcie"},
    {"h100", "nvl", 94, "h100_nvl"},
    {"h200", "sxm", 141, "h200_sxm"}, {"h200", "nvl", 141, "h200_nvl"},
    {"h20", "sxm", 96, "h20"}, {"h20", "sxm", 141, "h20_141gb"}, {"h203e", "sxm", 141, "h20_141gb"},
    {"h800", "sxm", 80, "h800_sxm"},
    {"gh200", "", 96, "gh200_96gb"},
    {"gh200", "", 480, "gh200_96gb"},  // the driver names it by the memory of its CPU
    {"gh200", "", 120, "gh200_96gb"}, {"gh200", "", 144, "gh200_144gb"},
    {"b200", "sxm", 180, "b200_sxm"}, {"b200", "sxm", 192, "b200_sxm"},
    {"b300", "sxm", 288, "b300_sxm"}, {"b300", "sxm", 270, "b300_sxm"},
    {"gb200", "nvl72", 186, "gb200"}, {"gb200", "nvl72", 192, "gb200"},
    {"gb300", "nvl72", 288, "gb300"}, {"gb300", "nvl72", 279, "gb300"},
    {"l4", "pcie", 24, "l4"},
    {"l40s", "pcie", 48, "l40s"},
    {"l20", "pcie", 48, "l20"},
    {"rtx6000ada", "pcie", 48, "rtx_6000_ada"}, {"6000ada", "pcie", 48, "rtx_6000_ada"},
    {"rtx4070", "pcie", 12, "rtx_4070"}, {"4070", "pcie", 12, "rtx_4070"},
    {"rtx4080", "pcie", 16, "rtx_4080"}, {"4080", "pcie", 16, "rtx_4080"},
    {"rtx5070", "pcie", 12, "rtx_5070"}, {"5070", "pcie", 12, "rtx_5070"},
    {"rtx5070ti", "pcie", 16, "rtx_5070_ti"}, {"5070ti", "pcie", 16, "rtx_5070_ti"},
    {"rtxpro4500", "pcie", 32, "rtx_pro_4500"},
    {"rtxpro5000", "pcie", 48, "rtx_pro_5000"}, {"rtxpro5000", "pcie", 72, "rtx_pro_5000_72gb"},
    {"rtx4090", "pcie", 24, "rtx_4090"}, {"4090", "pcie", 24, "rtx_4090"},
    {"rtx5080", "pcie", 16, "rtx_5080"}, {"5080", "pcie", 16, "rtx_5080"},
    {"rtx5090", "pcie", 32, "rtx_5090"}, {"5090", "pcie", 32, "rtx_5090"},
    {"rtxpro6000", "server", 96, "rtx_pro_6000"},
    {"rtxpro6000", "workstation", 96, "rtx_pro_6000_workstation"},
    {"rtxpro6000", "maxq", 96, "rtx_pro_6000_max_q"},
    {"rtx6000pro", "server", 96, "rtx_pro_6000"},
    {"rtx6000pro", "workstation", 96, "rtx_pro_6000_workstation"},
    {"rtx6000pro", "maxq", 96, "rtx_pro_6000_max_q"},
    {"gb10", "", 128, "gb10"}, {"spark", "", 128, "gb10"},
    {"mi210", "pcie", 64, "mi210"},
    {"mi250x", "", 64, "mi250x"}, {"mi250x", "", 128, "mi250x"},
    {"mi300x", "", 192, "mi300x"},
    {"mi308x", "", 192, "mi308x"},
    {"mi455x", "", 432, "mi455x"},
    {"rx7900xtx", "", 24, "rx_7900_xtx"}, {"7900xtx", "", 24, "rx_7900_xtx"},
    {"rx9070xt", "", 16, "rx_9070_xt"}, {"9070xt", "", 16, "rx_9070_xt"},
    {"aipror9700", "", 32, "radeon_ai_pro_r9700"}, {"r9700", "", 32, "radeon_ai_pro_r9700"},
    {"strixhalo", "", 128, "ryzen_ai_max_395"}, {"ryzenaimax395", "", 128, "ryzen_ai_max_395"},
    {"arcprob60", "", 24, "arc_pro_b60"}, {"b60", "", 24, "arc_pro_b60"},
    {"arcprob70", "", 32, "arc_pro_b70"}, {"b70", "", 32, "arc_pro_b70"},
    {"ascend910b", "", 64, "ascend_910b"}, {"910b", "", 64, "ascend_910b"},
    {"ascend910c", "", 128, "ascend_910c"}, {"910c", "", 128, "ascend_910c"},
    {"ascend950dt", "", 96, "ascend_950dt"}, {"950dt", "", 96, "ascend_950dt"},
    {"ai100ultra", "", 128, "cloud_ai_100_ultra"},
    {"maia200", "", 216, "maia_200"},
    {"mi325x", "", 256, "mi325x"},
    {"mi350x", "", 288, "mi350x"},
    {"mi355x", "", 288, "mi355x"},
    {"tpuv5e", "", 16, "tpu_v5e"}, {"v5e", "", 16, "tpu_v5e"}, {"tpuv5lite", "", 16, "tpu_v5e"},
    {"v5litepod", "", 16, "tpu_v5e"},
    {"tpuv5p", "", 95, "tpu_v5p"}, {"v5p", "", 95, "tpu_v5p"},
    {"tpuv6e", "", 32, "tpu_v6e"}, {"v6e", "", 32, "tpu_v6e"}, {"tpuv6", "", 32, "tpu_v6e"},
    {"trillium", "", 32, "tpu_v6e"},
    {"tpu7x", "", 192, "tpu7x"}, {"tpuv7x", "", 192, "tpu7x"}, {"tpuv7", "", 192, "tpu7x"},
    {"tpu7", "", 192, "tpu7x"}, {"ironwood", "", 192, "tpu7x"},
    {"trainium2", "", 96, "trainium2"}, {"trn2", "", 96, "trainium2"},
    {"trainium3", "", 144, "trainium3"}, {"trn3", "", 144, "trainium3"},
    {"gaudi3", "", 128, "gaudi_3"},
    {"m2ultra", "", 192, "m2_ultra"},
    {"m3ultra", "", 512, "m3_ultra"},
    {"m4pro", "", 64, "m4_pro"},
    {"m4max", "", 128, "m4_max"}, {"m4max", "", 36, "m4_max_32core"},
    {"m4max40core", "", 128, "m4_max"},
    {"m4max32core", "", 36, "m4_max_32core"},
    {"orinnano", "", 8, "jetson_orin_nano_8gb"},
    {"orinnx", "", 16, "jetson_orin_nx_16gb"},
    {"agxorin", "", 64, "jetson_agx_orin_64gb"}, {"orinagx", "", 64, "jetson_agx_orin_64gb"},
    {"thor", "", 128, "jetson_thor"}, {"agxthor", "", 128, "jetson_thor"},
    {"groq", "", 0, "groq_lpu"}, {"groqlpu", "", 0, "groq_lpu"}, {"lpu", "", 0, "groq_lpu"},
    {"cerebras", "", 0, "cerebras_wse3"}, {"cerebraswse3", "", 0, "cerebras_wse3"},
    {"wse3", "", 0, "cerebras_wse3"}, {"cerebrascs3", "", 0, "cerebras_wse3"},
    {"cs3", "", 0, "cerebras_wse3"},
    {"verarubin", "nvl72", 288, "vera_rubin_nvl72"},
    {"verarubin", "nvl144", 288, "vera_rubin_nvl72"},  // as first announced
    {"rubin", "nvl72", 288, "vera_rubin_nvl72"}, {"vr200", "nvl72", 288, "vera_rubin_nvl72"},
    {"rubincpx", "", 128, "rubin_cpx"},
    {"rubinultra", "nvl576", 0, "rubin_ultra_nvl576"},
    {"rubinultra", "nvl144", 0, "rubin_ultra_nvl576"},
};

/// Products outside the catalogue with a misleading name, and their nearest relative in it.
struct absent_product {
  std::string_view product, relative;
};
inline constexpr std::array absent_products{
    absent_product{"p100", "v100_sxm_32gb"}, absent_product{"titanv", "v100_sxm_32gb"},
    absent_product{"rtx2080ti", "t4"},
    absent_product{"a30", "a100_pcie_40gb"}, absent_product{"a10g", "a10"},
    absent_product{"a16", "a10"},            absent_product{"a2", "a10"},
    absent_product{"rtxa5000", "rtx_a6000"}, absent_product{"a5000", "rtx_a6000"},
    absent_product{"l40", "l40s"},           absent_product{"rtx6000", "rtx_6000_ada"},
    absent_product{"l2", "l4"},              absent_product{"mi250", "mi250x"},
    absent_product{"b100", "b200_sxm"},      absent_product{"mi300a", "mi300x"},
    absent_product{"inferentia2", "trainium2"}, absent_product{"inf2", "trainium2"},
    absent_product{"m1ultra", "m2_ultra"},   absent_product{"m3max", "m4_max"},
};
// clang-format on

}  // namespace perfmodel::inline v0_3::catalog
