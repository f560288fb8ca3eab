// Band: what others measured on these devices, over the catalogue's peak. A factor of two between
// sparse and dense, or between one way and two ways, falls out of every band here.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <perfmodel/hardware/catalog/all.hpp>
#include <string>

#include "support/shared.hpp"

namespace catalog_achieved {

namespace pm = perfmodel;
namespace catalog = perfmodel::catalog;

TEST_CASE("the best matrix product reaches half to all of the dense peak", "[shared]") {
  const auto rows = perfmodel_test::measured_table("mamf_matmul_peak.csv");
  const std::map<std::string, std::string> keys = {{"NVIDIA A100 SXM", "a100_sxm_80gb"},
                                                   {"NVIDIA H100 SXM", "h100_sxm"},
                                                   {"NVIDIA H200 SXM", "h200_sxm"},
                                                   {"NVIDIA B200 SXM", "b200_sxm"},
                                                   {"NVIDIA B300 SXM", "b300_sxm"},
                                                   {"NVIDIA GB200 SXM", "gb200"},
                                                   {"NVIDIA A100 PCIe", "a100_pcie_80gb"},
                                                   {"NVIDIA GH200 SXM", "gh200_144gb"},
                                                   {"Intel Gaudi 3", "gaudi_3"},
                                                   {"AMD MI300X", "mi300x"},
                                                   {"AMD MI325X", "mi325x"},
                                                   {"AMD MI355X", "mi355x"}};
  int compared = 0;
  for (const auto& row : rows) {
    const auto key = keys.find(row.text("accelerator"));
    if (key == keys.end()) continue;
    const pm::number_format format = row.text("dtype") == "bf16" ? pm::bf16 : pm::fp8;
    const double share = row.number("mamf_tflops") * 1e12 /
                         pm::peak(*catalog::find_accelerator(key->second), format).value();
    INFO(key->first << " " << row.text("dtype") << ": " << share);
    CHECK(share > 0.5);
    CHECK(share < 1.0);
    ++compared;
  }
  CHECK(compared >= 16);
}

TEST_CASE("no kernel multiplies faster than the dense peak", "[shared]") {
  struct best {
    const char* key;
    pm::number_format format;
    double flop_rate = 0.0;
  };
  std::map<std::string, best> fastest = {{"A100-SXM4-80GB bfloat16", {"a100_sxm_80gb", pm::bf16}},
                                         {"H100-SXM5-80GB bfloat16", {"h100_sxm", pm::bf16}},
                                         {"H200-SXM bfloat16", {"h200_sxm", pm::bf16}},
                                         {"B200-SXM bfloat16", {"b200_sxm", pm::bf16}},
                                         {"L40S bfloat16", {"l40s", pm::bf16}},
                                         {"H100-SXM5-80GB fp8", {"h100_sxm", pm::fp8}},
                                         {"H200-SXM fp8", {"h200_sxm", pm::fp8}},
                                         {"B200-SXM fp8", {"b200_sxm", pm::fp8}},
                                         {"L40S fp8", {"l40s", pm::fp8}},
                                         {"B200-SXM nvfp4", {"b200_sxm", pm::fp4}},
                                         {"A100-SXM4-80GB sq", {"a100_sxm_80gb", pm::int8}}};
  for (const char* file : {"aic_gemm_bf16_public.csv", "aic_gemm_lowp_public.csv"}) {
    for (const auto& row : perfmodel_test::measured_table(file)) {
      const auto it = fastest.find(row.text("gpu") + " " + row.text("dtype"));
      if (it == fastest.end()) continue;
      const double flop = 2.0 * row.count("m") * row.count("n") * row.count("k");
      it->second.flop_rate = std::max(it->second.flop_rate, flop / row.seconds());
    }
  }
  for (const auto& [name, b] : fastest) {
    const double share =
        b.flop_rate / pm::peak(*catalog::find_accelerator(b.key), b.format).value();
    INFO(name << ": " << share);
    CHECK(share > 0.5);
    CHECK(share < 1.0);
  }
}

TEST_CASE("element-wise kernels reach 0.6 to 1.02 of the DRAM bandwidth", "[shared]") {
  const auto rows = perfmodel_test::measured_table("gpubench_stream.csv");
  const std::map<std::string, std::string> keys = {{"v100", "v100_sxm_32gb"},
                                                   {"a100_80", "a100_sxm_80gb"},
                                                   {"h100_pcie", "h100_pcie"},
                                                   {"h200", "gh200_96gb"},
                                                   {"mi210", "mi210"},
                                                   {"l40", "l40s"},  // same memory
                                                   {"a40", "a40"},
                                                   {"a100_40", "a100_sxm_40gb"}};
  std::map<std::string, double> fastest;
  for (const auto& row : rows) {
    const std::string& gpu = row.text("gpu");
    if (keys.contains(gpu)) {
      fastest[gpu] = std::max(fastest[gpu], row.number("bandwidth_GBps") * 1e9);
    }
  }
  CHECK(fastest.size() == keys.size());
  for (const auto& [name, rate] : fastest) {
    const double share = rate / catalog::find_accelerator(keys.at(name))->dram.bandwidth.value();
    INFO(name << ": " << share);
    CHECK(share > 0.6);
    CHECK(share < 1.02);
  }
}

}  // namespace catalog_achieved
