// The catalogue against the GPUs of this machine, through the CUDA driver where it is installed.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/all.hpp>
#include <string>
#include <vector>
#if __has_include(<dlfcn.h>)
#include <dlfcn.h>
#endif

#include "recording/product_names.hpp"

namespace catalog_device {

namespace pm = perfmodel;
namespace catalog = perfmodel::catalog;

namespace {

struct device {
  std::string name;
  double sms = 0, clock_hz = 0, bus_bits = 0, memory_clock_hz = 0, l2_bytes = 0, memory_bytes = 0;
};

#if __has_include(<dlfcn.h>)
template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

/// The CUDA devices of this machine; `why_none` says why there are none.
std::vector<device> devices(std::string& why_none) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    why_none = "no CUDA driver (libcuda.so.1) on this machine";
    return {};
  }
  auto* init = symbol<int(unsigned)>(library, "cuInit");
  auto* get_count = symbol<int(int*)>(library, "cuDeviceGetCount");
  auto* get_device = symbol<int(int*, int)>(library, "cuDeviceGet");
  auto* get_name = symbol<int(char*, int, int)>(library, "cuDeviceGetName");
  auto* get_attribute = symbol<int(int*, int, int)>(library, "cuDeviceGetAttribute");
  auto* get_memory = symbol<int(std::size_t*, int)>(library, "cuDeviceTotalMem_v2");
  if (!init || !get_count || !get_device || !get_name || !get_attribute || !get_memory) {
    why_none = "the CUDA driver lacks an expected function";
    return {};
  }
  int count = 0;
  if (init(0) != 0 || get_count(&count) != 0 || count == 0) {
    why_none = "the CUDA driver finds no GPU";
    return {};
  }
  std::vector<device> out;
  for (int i = 0; i < count; ++i) {
    int handle = 0;
    std::array<char, 256> name{};
    std::size_t memory = 0;
    REQUIRE(get_device(&handle, i) == 0);
    REQUIRE(get_name(name.data(), static_cast<int>(name.size()), handle) == 0);
    REQUIRE(get_memory(&memory, handle) == 0);
    const auto attribute = [&](int which) {
      int value = 0;
      REQUIRE(get_attribute(&value, which, handle) == 0);
      return static_cast<double>(value);
    };
    // CUdevice_attribute: 13 clock in kHz, 16 SMs, 36 memory clock in kHz, 37 bus width, 38 L2
    // size.
    out.push_back({name.data(), attribute(16), attribute(13) * 1e3, attribute(37),
                   attribute(36) * 1e3, attribute(38), static_cast<double>(memory)});
  }
  return out;
}
#else
std::vector<device> devices(std::string& why_none) {
  why_none = "this platform has no dlopen";
  return {};
}
#endif

bool near(double value, double expected, double share) {
  return std::abs(value - expected) <= share * expected;
}

}  // namespace

TEST_CASE("the catalogue describes the GPUs of this machine") {
  std::string why_none;
  const std::vector<device> found = devices(why_none);
  if (found.empty()) SKIP(why_none);
  int compared = 0;
  for (const device& d : found) {
    const pm::accelerator* a = catalog::find_accelerator(d.name);
    if (a == nullptr) {
      WARN("not in the catalogue: " << d.name);
      continue;
    }
    ++compared;
    INFO(d.name << " as " << a->name.c_str());
    CHECK(d.sms == a->sms.value());
    CHECK(near(d.clock_hz, a->vector.clock.value(), 0.03));
    CHECK(near(d.memory_bytes, a->dram.capacity.value(), 0.08));
    CHECK(d.memory_bytes <= a->dram.capacity.value());
    if (a->l2.capacity.is_stated()) CHECK(near(d.l2_bytes, a->l2.capacity.value(), 0.25));
    if (d.memory_clock_hz > 0.0) {
      // Two transfers per clock on HBM. Newer drivers report no memory clock.
      const double pins = d.bus_bits / 8.0 * 2.0 * d.memory_clock_hz;
      CHECK(near(pins, a->dram.bandwidth.value(), 0.05));
    }
  }
  if (compared == 0) SKIP("no GPU of this machine is in the catalogue");
}

TEST_CASE("a driver's device name leads to its catalogue entry and to no other") {
  // The kernels of validation, which are built without this library, have a short list of their
  // own.
  const auto key = [](const char* name) -> std::string {
    const pm::accelerator* a = catalog::find_accelerator(name);
    const std::string found(a == nullptr ? "" : a->name.view());
    INFO(name);
    CHECK(pm::validation::catalogue_name(name) == found);
    return found;
  };
  CHECK(key("NVIDIA H200") == "h200_sxm");
  CHECK(key("NVIDIA H100 NVL") == "h100_nvl");
  CHECK(key("NVIDIA H20") == "h20");
  CHECK(key("NVIDIA GH200 480GB") == "gh200_96gb");
  CHECK(key("NVIDIA GH200 144G HBM3e") == "gh200_144gb");
  CHECK(key("NVIDIA H100 80GB HBM3") == "h100_sxm");
  CHECK(key("NVIDIA H100 PCIe") == "h100_pcie");
  CHECK(key("Tesla V100-SXM2-32GB") == "v100_sxm_32gb");
  CHECK(key("NVIDIA L4") == "l4");
  CHECK(key("NVIDIA L40S") == "l40s");
  CHECK(key("NVIDIA L40") == "");
  CHECK(key("NVIDIA GeForce RTX 4090") == "rtx_4090");
  CHECK(key("NVIDIA GeForce RTX 4090 D") == "");
  CHECK(key("NVIDIA GeForce RTX 5090 Laptop GPU") == "");
  CHECK(key("NVIDIA RTX PRO 6000 Blackwell Server Edition") == "rtx_pro_6000");
  CHECK(key("NVIDIA RTX PRO 6000 Blackwell Workstation Edition") == "rtx_pro_6000_workstation");
  CHECK(key("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition") == "rtx_pro_6000_max_q");
  CHECK(key("NVIDIA A100-PCIE-40GB") == "a100_pcie_40gb");
  CHECK(key("NVIDIA A100-SXM4-40GB") == "a100_sxm_40gb");
  CHECK(key("NVIDIA A10") == "a10");
  CHECK(key("NVIDIA A10G") == "");
  CHECK(key("NVIDIA RTX A6000") == "rtx_a6000");
  CHECK(key("NVIDIA GeForce RTX 3090 Ti") == "");
  CHECK(key("Tesla T4") == "t4");
  CHECK(key("NVIDIA GB10") == "gb10");
  CHECK(key("NVIDIA H200 NVL") == "h200_nvl");
  CHECK(key("NVIDIA H200 MIG 1g.18gb") == "");
  CHECK(key("") == "");
}

}  // namespace catalog_device
