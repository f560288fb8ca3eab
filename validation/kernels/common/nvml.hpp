// Clocks, power, energy and slow-downs, from NVML: opened at run time, since its header is no part
// of every toolkit. Without the library every answer is empty, and the recording says so.
#pragma once

#include <dlfcn.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "../../recording/recording.hpp"

namespace perfmodel::validation {

/// Source of the names, types and constants: NVIDIA, NVML API Reference Guide.
class nvml {
 public:
  /// The device at a PCI address as cudaDeviceGetPCIBusId writes it.
  explicit nvml(const char* pci_bus_id) {
    library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library_ == nullptr) return;
    int (*init)() = nullptr;
    int (*by_address)(const char*, handle*) = nullptr;
    if (!find(init, "nvmlInit_v2") || !find(by_address, "nvmlDeviceGetHandleByPciBusId_v2")) return;
    if (init() != 0) return;
    if (by_address(pci_bus_id, &device_) != 0) device_ = nullptr;
  }
  nvml(const nvml&) = delete;
  nvml& operator=(const nvml&) = delete;
  ~nvml() {
    int (*shutdown)() = nullptr;
    if (library_ != nullptr && find(shutdown, "nvmlShutdown")) shutdown();
    if (library_ != nullptr) dlclose(library_);
  }

  bool available() const { return device_ != nullptr; }

  std::string driver() const {
    int (*get)(char*, unsigned) = nullptr;
    std::array<char, 96> text{};
    if (!find(get, "nvmlSystemGetDriverVersion") || get(text.data(), 96) != 0) return {};
    return text.data();
  }

  std::optional<double> sm_clock_hz() const { return clock(1); }
  std::optional<double> memory_clock_hz() const { return clock(2); }
  std::optional<double> power_w() const {
    return scaled(read<unsigned>("nvmlDeviceGetPowerUsage"), 1e-3);
  }
  /// Since the driver was loaded; it moves in steps of some ten milliseconds.
  std::optional<double> energy_j() const {
    return scaled(read<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption"), 1e-3);
  }
  std::optional<double> temperature_c() const {
    int (*get)(handle, int, unsigned*) = nullptr;
    unsigned out = 0;
    if (!available() || !find(get, "nvmlDeviceGetTemperature") || get(device_, 0, &out) != 0) {
      return std::nullopt;
    }
    return static_cast<double>(out);
  }

  /// Why the clocks are lower than they could be; not that the device idles.
  std::vector<std::string> slowdown() const {
    auto bits = read<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons");
    if (!bits) bits = read<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons");
    constexpr std::array<std::pair<unsigned long long, const char*>, 8> reasons{{
        {0x2, "application clocks setting"},
        {0x4, "software power cap"},
        {0x8, "hardware slowdown"},
        {0x10, "sync boost"},
        {0x20, "software thermal slowdown"},
        {0x40, "hardware thermal slowdown"},
        {0x80, "hardware power brake"},
        {0x100, "display clock setting"},
    }};
    std::vector<std::string> out;
    for (const auto& [bit, name] : reasons) {
      if (bits && (*bits & bit) != 0) out.emplace_back(name);
    }
    return out;
  }

  std::optional<device_state> state() const {
    const auto sm = sm_clock_hz(), memory = memory_clock_hz();
    if (!sm || !memory) return std::nullopt;
    device_state s;
    s.sm_clock_hz = *sm;
    s.memory_clock_hz = *memory;
    s.power_w = power_w().value_or(0.0);
    s.temperature_c = temperature_c().value_or(0.0);
    s.slowdown = slowdown();
    return s;
  }

 private:
  using handle = void*;

  template <class Function>
  bool find(Function& out, const char* name) const {
    if (library_ == nullptr) return false;  // dlsym would look everywhere
    out = reinterpret_cast<Function>(dlsym(library_, name));
    return out != nullptr;
  }

  template <class Number>
  std::optional<Number> read(const char* name) const {
    int (*get)(handle, Number*) = nullptr;
    Number out{};
    if (!available() || !find(get, name) || get(device_, &out) != 0) return std::nullopt;
    return out;
  }

  std::optional<double> clock(int type) const {
    int (*get)(handle, int, unsigned*) = nullptr;
    unsigned mhz = 0;
    if (!available() || !find(get, "nvmlDeviceGetClockInfo") || get(device_, type, &mhz) != 0) {
      return std::nullopt;
    }
    return 1e6 * static_cast<double>(mhz);
  }

  template <class Number>
  static std::optional<double> scaled(std::optional<Number> x, double by) {
    if (!x) return std::nullopt;
    return by * static_cast<double>(*x);
  }

  void* library_ = nullptr;
  handle device_ = nullptr;
};

}  // namespace perfmodel::validation
