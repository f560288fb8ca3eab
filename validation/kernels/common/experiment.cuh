// What every program of this folder does around its measurement: options, device, recording.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "buffer.cuh"
#include "compare.hpp"
#include "device.cuh"
#include "random.cuh"
#include "timing.cuh"

namespace perfmodel::validation {

struct experiment {
  const char* name;                   ///< as docs/recordings.md lists it
  const char* law;                    ///< what the numbers test, in a line
  const char* program;                ///< path of the source in the project
  std::vector<std::string> faults{};  ///< what --break can break, so that a check has to fail
};

/// What a measurement runs with.
struct session {
  bool reduced = false;  ///< few and short: to try the program out, not to be compared with
  std::string fault{};   ///< of experiment::faults, or empty
  timing_plan plan{};
  cudaStream_t stream = nullptr;
  device_description device{};
  const nvml* sensors = nullptr;

  std::size_t l2_bytes() const { return static_cast<std::size_t>(device.l2_bytes); }
  int sms() const { return device.sms; }
  bool breaks(std::string_view name) const { return fault == name; }
  /// Compute capability, as 90 or 120.
  int architecture() const {
    return static_cast<int>(attribute(cudaDevAttrComputeCapabilityMajor)) * 10 +
           static_cast<int>(attribute(cudaDevAttrComputeCapabilityMinor));
  }
  /// Bytes that can be allocated now, less a reserve.
  std::size_t free_bytes() const {
    std::size_t free = 0, total = 0;
    PERFMODEL_CUDA(cudaMemGetInfo(&free, &total));
    return free - (std::min)(free, std::size_t{512} << 20U);
  }
};

inline constexpr int exit_recorded = 0, exit_failed = 1, exit_usage = 2, exit_skipped = 77;

namespace detail {

inline void print_summary(const experiment& e, const recording& r) {
  for (const check_result& c : r.checks()) {
    std::printf("%s: checked: %s (error %.2g, allowed %.2g)\n", e.name, c.name.c_str(), c.error,
                c.tolerance);
  }
  for (const skipped_part& s : r.skipped()) {
    std::printf("%s: skipped: %s: %s\n", e.name, s.part.c_str(), s.reason.c_str());
  }
  for (const point& p : r.points()) {
    std::printf("%s: %s %.4g %s", e.name, p.quantity.c_str(), median_of(p.samples), p.unit.c_str());
    for (const parameter& q : p.parameters) {
      std::printf(" %s=%s", q.name.c_str(), value_text(q.is).c_str());
    }
    std::printf("\n");
  }
}

}  // namespace detail

/// Parses the options, opens GPU 0, calls body(session, recording) and writes what it recorded.
/// Returns 0: recorded; 1: a check or a call failed; 2: unusable options; 77: no GPU, or one that can
/// measure none of this.
template <class Body>
int run_experiment(int argc, char** argv, const experiment& e, Body body) {
  std::string out, revision = "unknown";
  bool modified = false;
  session s;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const bool has_value = i + 1 < argc;
    if (option == "--out" && has_value) {
      out = argv[++i];
    } else if (option == "--revision" && has_value) {
      revision = argv[++i];
    } else if (option == "--modified") {
      modified = true;
    } else if (option == "--reduced") {
      s.reduced = true;
    } else if (option == "--break" && has_value &&
               std::find(e.faults.begin(), e.faults.end(), argv[i + 1]) != e.faults.end()) {
      s.fault = argv[++i];
    } else if (option == "--faults") {
      for (const std::string& f : e.faults) std::printf("%s\n", f.c_str());
      return exit_recorded;
    } else {
      std::fprintf(stderr,
                   "%s: %s: not an option, or without its value; there are --out FILE, --reduced, "
                   "--revision HASH, --modified, --faults, --break FAULT (one of --faults)\n",
                   e.name, argv[i]);
      return exit_usage;
    }
  }
  std::string why;
  if (gpu_count(why) == 0) {
    std::printf("%s: skipped: %s\n", e.name, why.c_str());
    return exit_skipped;
  }
  try {
    PERFMODEL_CUDA(cudaSetDevice(0));
    PERFMODEL_CUDA(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
    const auto sensors = open_nvml();
    s.sensors = sensors.get();
    s.device = describe_device();
    if (s.reduced) s.plan = {.warmups = 1, .samples = 3, .least_seconds = 50e-6, .most_repeats = 4};
#ifdef PERFMODEL_EMULATED
    s.plan = {.warmups = 0, .samples = 1, .least_seconds = 0.0, .most_repeats = 1};
#endif
    run_description run;
    run.date = date_now();
    run.revision = revision;
    run.modified = modified;
    run.program = e.program;
    run.compiler = "nvcc " + std::to_string(__CUDACC_VER_MAJOR__) + "." +
                   std::to_string(__CUDACC_VER_MINOR__) + "." +
                   std::to_string(__CUDACC_VER_BUILD__);
    run.toolkit = toolkit_version();
    run.driver = driver_version(*sensors);
    run.reduced = s.reduced;
    recording r(e.name, e.law, s.device, run);
    if (const auto state = sensors->state()) r.state_before(*state);
    if (!sensors->available()) r.skip("clocks, power and energy", "no NVML (libnvidia-ml.so.1)");
    body(s, r);
    PERFMODEL_CUDA(cudaDeviceSynchronize());
    if (const auto state = sensors->state()) r.state_after(*state);
    const bool nothing = r.points().empty() && !r.skipped().empty();
    if (!s.fault.empty()) {
      if (nothing) return exit_skipped;  // what it would have broken cannot run here
      std::fprintf(stderr, "%s: broken by %s, and no check noticed\n", e.name, s.fault.c_str());
      return exit_recorded;
    }
    detail::print_summary(e, r);
    PERFMODEL_CUDA(cudaStreamDestroy(s.stream));
    if (nothing) return exit_skipped;
    if (!out.empty()) r.write(out);
  } catch (const std::exception& x) {
    std::fprintf(stderr, "%s: %s\n", e.name, x.what());
    return exit_failed;
  }
  return exit_recorded;
}

}  // namespace perfmodel::validation
