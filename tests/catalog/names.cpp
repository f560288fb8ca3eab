// Accelerators by the names that people, drivers and shops give them.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <string>
#include <utility>
#include <vector>

namespace catalog_names {

namespace catalog = perfmodel::catalog;

static_assert(catalog::find_accelerator("NVIDIA H100 80GB HBM3") == &catalog::h100_sxm);

TEST_CASE("names as people and drivers write them") {
  const std::vector<std::pair<const char*, const char*>> names{
      {"H100", "h100_sxm"},
      {"h100_sxm", "h100_sxm"},
      {"H100-SXM5-80GB", "h100_sxm"},
      {"h100sxm", "h100_sxm"},
      {"H100 SXM", "h100_sxm"},
      {"NVIDIA H100 80GB HBM3", "h100_sxm"},
      {"DGX H100", "h100_sxm"},
      {"NVIDIA H100 PCIe", "h100_pcie"},
      {"H100-PCIE-80GB", "h100_pcie"},
      {"NVIDIA H100 NVL", "h100_nvl"},
      {"H100 94GB", "h100_nvl"},
      {"H200", "h200_sxm"},
      {"NVIDIA H20", "h20"},
      {"H20-3e", "h20_141gb"},
      {"H20 141 GB", "h20_141gb"},
      {"H800", "h800_sxm"},
      {"GH200", "gh200_96gb"},
      {"NVIDIA GH200 480GB", "gh200_96gb"},
      {"GH200 Grace Hopper Superchip 144G HBM3e", "gh200_144gb"},
      {"A100", "a100_sxm_80gb"},
      {"A100-80GB", "a100_sxm_80gb"},
      {"A100 40GB", "a100_sxm_40gb"},
      {"NVIDIA A100-SXM4-40GB", "a100_sxm_40gb"},
      {"NVIDIA A100 80GB PCIe", "a100_pcie_80gb"},
      {"NVIDIA A100-PCIE-40GB", "a100_pcie_40gb"},
      {"A10", "a10"},
      {"NVIDIA A40", "a40"},
      {"A6000", "rtx_a6000"},
      {"NVIDIA RTX A6000", "rtx_a6000"},
      {"NVIDIA GeForce RTX 3090", "rtx_3090"},
      {"3090", "rtx_3090"},
      {"Tesla T4", "t4"},
      {"Tesla V100-SXM2-32GB", "v100_sxm_32gb"},
      {"V100", "v100_sxm_32gb"},
      {"B200", "b200_sxm"},
      {"HGX B200 180GB", "b200_sxm"},
      {"NVIDIA B300 288 GB", "b300_sxm"},
      {"GB200 NVL72", "gb200"},
      {"gb300", "gb300"},
      {"RTX 4090", "rtx_4090"},
      {"rtx4090", "rtx_4090"},
      {"GeForce RTX 5090 32GB", "rtx_5090"},
      {"NVIDIA L40S", "l40s"},
      {"L4", "l4"},
      {"RTX PRO 6000", "rtx_pro_6000"},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx_pro_6000"},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx_pro_6000_workstation"},
      {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "rtx_pro_6000_max_q"},
      {"RTX 6000 Pro", "rtx_pro_6000"},
      {"NVIDIA GB10", "gb10"},
      {"DGX Spark", "gb10"},
      {"Vera Rubin NVL72", "vera_rubin_nvl72"},
      {"vera_rubin_nvl144", "vera_rubin_nvl72"},
      {"Rubin", "vera_rubin_nvl72"},
      {"Rubin Ultra", "rubin_ultra_nvl576"},
      {"MI300X", "mi300x"},
      {"AMD Instinct MI300X OAM 192GB", "mi300x"},
      {"mi355x", "mi355x"},
      {"Google TPU v5e", "tpu_v5e"},
      {"TPU-v5p", "tpu_v5p"},
      {"trillium", "tpu_v6e"},
      {"TPU v7", "tpu7x"},
      {"Ironwood", "tpu7x"},
      {"AWS Trainium2", "trainium2"},
      {"trn3", "trainium3"},
      {"Intel Gaudi 3", "gaudi_3"},
      {"Apple M4 Max", "m4_max"},
      {"M4 Max 36GB", "m4_max_32core"},
      {"M3 Ultra", "m3_ultra"},
      {"Jetson AGX Orin", "jetson_agx_orin_64gb"},
      {"Orin NX 16GB", "jetson_orin_nx_16gb"},
      {"AGX Thor", "jetson_thor"},
      {"Groq LPU", "groq_lpu"},
      {"WSE-3", "cerebras_wse3"},
      {"NVIDIA H200 NVL", "h200_nvl"},
      {"A800", "a800_sxm_80gb"},
      {"NVIDIA RTX 6000 Ada Generation", "rtx_6000_ada"},
      {"NVIDIA GeForce RTX 4080", "rtx_4080"},
      {"RTX 5070 Ti", "rtx_5070_ti"},
      {"NVIDIA RTX PRO 5000 Blackwell", "rtx_pro_5000"},
      {"RTX PRO 5000 72GB", "rtx_pro_5000_72gb"},
      {"AMD Radeon RX 7900 XTX", "rx_7900_xtx"},
      {"Radeon AI PRO R9700", "radeon_ai_pro_r9700"},
      {"Strix Halo", "ryzen_ai_max_395"},
      {"AMD Ryzen AI Max+ 395", "ryzen_ai_max_395"},
      {"MI250X", "mi250x"},
      {"Intel Arc Pro B60", "arc_pro_b60"},
      {"Ascend 910B", "ascend_910b"},
      {"Qualcomm Cloud AI 100 Ultra", "cloud_ai_100_ultra"},
      {"Maia 200", "maia_200"},
  };
  for (const auto& [name, key] : names) {
    INFO(name);
    const perfmodel::accelerator* found = catalog::find_accelerator(name);
    REQUIRE(found != nullptr);
    CHECK(std::string(found->name.view()) == key);
  }
}

TEST_CASE("every key is found however it is spelled, and every name leads to a key") {
  for (const auto& e : catalog::accelerators) {
    std::string spaced(e.key), dashed(e.key), shouted(e.key);
    for (char& c : spaced) c = c == '_' ? ' ' : c;
    for (char& c : dashed) c = c == '_' ? '-' : c;
    for (char& c : shouted) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    INFO(e.key);
    for (const std::string& name : {spaced, dashed, shouted}) {
      CHECK(catalog::find_accelerator(name) == e.spec);
    }
  }
  const auto is_key = [](std::string_view key) {
    for (const auto& e : catalog::accelerators) {
      if (key == e.key) return true;
    }
    return false;
  };
  for (const auto& p : catalog::product_names) CHECK(is_key(p.key));
  for (const auto& p : catalog::absent_products) {
    INFO(p.product);
    CHECK(is_key(p.relative));
    CHECK(catalog::find_accelerator(p.product) == nullptr);
  }
}

TEST_CASE("another product is not taken for one of the catalogue's") {
  for (const char* name : {"",
                           "-",
                           "80GB",
                           "NVIDIA",
                           "h101",
                           "RTX 4090 D",
                           "RTX 4090 Laptop GPU",
                           "RTX 3090 Ti",
                           "V100-SXM2-16GB",
                           "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
                           "A10G",
                           "MI300A",
                           "RTX 4070 Ti",
                           "RTX 3080 Ti",
                           "RTX 5070 Laptop GPU",
                           "RX 7900 XT",
                           "Orin NX 8GB",
                           "H100 640GB",
                           "TPU v4",
                           "GB200 NVL4"}) {
    INFO(name);
    CHECK(catalog::find_accelerator(name) == nullptr);
  }
  CHECK(catalog::find_accelerator(std::string(100000, 'h')) == nullptr);
}

TEST_CASE("an unknown name is answered with relatives, not with names that look alike") {
  const std::vector<std::pair<const char*, const char*>> first{
      {"RTX 4060", "rtx_4070"},
      {"4070 Ti", "rtx_4070"},
      {"RTX 5060 Ti", "rtx_5070"},
      {"RTX 3070", "rtx_3080"},
      {"RTX 6000", "rtx_6000_ada"},
      {"H101", "h100_sxm"},
      {"A10G", "a10"},
      {"L40", "l40s"},
      {"V100 16GB", "v100_sxm_32gb"},
      {"GB200 NVL4", "gb200"},
      {"MI250", "mi250x"},
      {"TPU v4", "tpu_v5e"},
      {"Gaudi 2", "gaudi_3"},
      {"M1 Max", "m2_ultra"},
      {"Trainium", "trainium2"},
      {"frobnicator", ""},
      {"", ""},
  };
  for (const auto& [name, key] : first) {
    INFO(name);
    CHECK(std::string(catalog::related_accelerators(name)[0]) == key);
  }
  for (const std::string_view key : catalog::related_accelerators("M1 Max")) {
    CHECK_FALSE(key.starts_with("mi"));
  }
  for (const std::string_view key : catalog::related_accelerators("V100 16GB")) {
    CHECK_FALSE(key.starts_with("tpu"));
  }
}

}  // namespace catalog_names
