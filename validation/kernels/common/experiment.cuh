// What every program of this folder does around its measurement: options, device, recording.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
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
  const char* name;                   ///< name in validation/recording/README.md
  const char* law;                    ///< what the numbers test, in a line
  const char* program;                ///< path of the source in the project
  std::vector<std::string> faults{};  ///< what --break can break, so that a check has to fail
};

/// What a measurement runs with.
struct session {
  bool reduced = false;  ///< few and short: to try the program out, not to be compared with
  std::string fault{};   ///< one of experiment::faults, or empty
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

inline constexpr int exit_recorded = 0, exit_failed = 1, exit_usage = 2, exit_stopped = 3,
                     exit_skipped = 77;

namespace detail {

inline void print_summary(const experiment& e, const recording& r) {
  for (const check_result& c : r.checks()) {
    std::printf("%s: checked: %s (error %.2g, allowed %.2g)\n", e.name, c.name.c_str(), c.error,
                c.tolerance);
  }
  for (const skipped_part& s : r.skipped()) {
    std::printf("%s: skipped: %s: %s\n", e.name, s.part.c_str(), s.reason.c_str());
  }
  for (const failed_part& f : r.failed()) {
    std::printf("%s: failed: %s: %s\n", e.name, f.part.c_str(), f.reason.c_str());
  }
  for (const point& p : r.points()) {
    std::printf("%s: %s %.4g %s", e.name, p.quantity.c_str(), median_of(p.samples), p.unit.c_str());
    for (const parameter& q : p.parameters) {
      std::printf(" %s=%s", q.name.c_str(), value_text(q.is).c_str());
    }
    std::printf("\n");
  }
}

inline volatile std::sig_atomic_t signalled = 0;

/// Ends a recording at a signal, when its time is up, and when the device is lost.
class watch : public recording_host {
 public:
  watch(const session& s, const char* name, double seconds)
      : session_(s), name_(name), seconds_(seconds) {
    std::signal(SIGTERM, [](int) { signalled = 1; });
    std::signal(SIGINT, [](int) { signalled = 1; });
  }

  void go_on() override {
    if (signalled != 0) throw run_stopped("stopped by a signal");
    const std::chrono::duration<double> age = std::chrono::steady_clock::now() - begin_;
    if (seconds_ > 0.0 && age.count() > seconds_) throw run_stopped("its time was up");
  }

  /// What slows the device down after a point, and NVML's clock then where none was counted: it is
  /// that of a moment after the samples, and no sample's own (`sm_clock_hz`).
  void describe(point& p) override {
    const auto has = [&](std::string_view name) {
      return std::any_of(p.parameters.begin(), p.parameters.end(),
                         [&](const parameter& q) { return q.name == name; });
    };
    if (!has("sm_clock_hz") && p.quantity != "sm_clock") {
      if (const auto hz = session_.sensors->sm_clock_hz()) {
        p.parameters.emplace_back("nvml_clock_hz", *hz);
      }
    }
    std::string slowdown;
    for (const std::string& reason : session_.sensors->slowdown()) {
      slowdown.append(slowdown.empty() ? "" : ", ").append(reason);
    }
    if (!slowdown.empty() && !has("slowdown")) p.parameters.emplace_back("slowdown", slowdown);
  }

  void failed(const failed_part& f) override {
    std::fprintf(stderr, "%s: %s: %s\n", name_, f.part.c_str(), f.reason.c_str());
    if (!session_.fault.empty()) throw run_stopped("broken by " + session_.fault);
    const cudaError_t status = cudaDeviceSynchronize();
    if (status != cudaSuccess) {
      throw run_stopped(std::string("the device is lost: ") + cudaGetErrorString(status));
    }
    (void)cudaGetLastError();  // what the failed part left
  }

 private:
  const session& session_;
  const char* name_;
  double seconds_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

struct command_line {
  std::string out, revision = "unknown";
  bool modified = false;
  double seconds = 0;  ///< 0: as long as it takes
  int exit = -1;       ///< exit status, if nothing is to be run
};

inline command_line read_options(int argc, char** argv, const experiment& e, session& s) {
  command_line o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const bool has_value = i + 1 < argc;
    if (option == "--out" && has_value) {
      o.out = argv[++i];
    } else if (option == "--revision" && has_value) {
      o.revision = argv[++i];
    } else if (option == "--modified") {
      o.modified = true;
    } else if (option == "--seconds" && has_value && std::atof(argv[i + 1]) > 0.0) {
      o.seconds = std::atof(argv[++i]);
    } else if (option == "--reduced") {
      s.reduced = true;
    } else if (option == "--break" && has_value &&
               std::find(e.faults.begin(), e.faults.end(), argv[i + 1]) != e.faults.end()) {
      s.fault = argv[++i];
    } else if (option == "--faults") {
      for (const std::string& f : e.faults) std::printf("%s\n", f.c_str());
      o.exit = exit_recorded;
      return o;
    } else {
      std::fprintf(
          stderr,
          "%s: %s: not an option, or without its value; there are --out FILE, --seconds N, "
          "--reduced, --revision HASH, --modified, --faults, --break FAULT (one of "
          "--faults)\n",
          e.name, argv[i]);
      o.exit = exit_usage;
      return o;
    }
  }
  return o;
}

inline recording open_recording(const experiment& e, const session& s, const command_line& o) {
  run_description run;
  run.date = date_now();
  run.revision = o.revision;
  run.modified = o.modified;
  run.program = e.program;
  run.compiler = "nvcc " + std::to_string(__CUDACC_VER_MAJOR__) + "." +
                 std::to_string(__CUDACC_VER_MINOR__) + "." + std::to_string(__CUDACC_VER_BUILD__);
  run.toolkit = toolkit_version();
  run.driver = driver_version(*s.sensors);
  run.reduced = s.reduced;
  recording r(e.name, e.law, s.device, run);
  if (const auto state = s.sensors->state()) r.state_before(*state);
  if (!s.sensors->available()) r.skip("clocks, power and energy", "no NVML (libnvidia-ml.so.1)");
  return r;
}

/// Calls body(session, recording). What it throws is of the rest, which is not measured.
template <class Body>
int measure(const experiment& e, const session& s, recording& r, Body& body) {
  try {
    body(s, r);
    PERFMODEL_CUDA(cudaDeviceSynchronize());
  } catch (const run_stopped& x) {
    r.fail("the rest", x.what());
    if (!s.fault.empty() && r.failed().size() > 1) return exit_failed;
    std::fprintf(stderr, "%s: %s\n", e.name, x.what());
    return exit_stopped;
  } catch (const std::exception& x) {
    r.fail("the rest", x.what());
    std::fprintf(stderr, "%s: %s\n", e.name, x.what());
    return exit_failed;
  }
  return r.failed().empty() ? exit_recorded : exit_failed;
}

}  // namespace detail

/// Parses the options, opens GPU 0, calls body(session, recording) and writes what it recorded.
/// Returns 0: all recorded; 1: a check or a call failed, what is recorded is right; 2: unusable
/// options; 3: stopped before the end by a signal, --seconds or a lost device; 77: no GPU, or one
/// that can measure none of this.
template <class Body>
int run_experiment(int argc, char** argv, const experiment& e, Body body) {
  session s;
  const detail::command_line options = detail::read_options(argc, argv, e, s);
  if (options.exit >= 0) return options.exit;
  std::string why;
  if (gpu_count(why) == 0) {
    std::printf("%s: skipped: %s\n", e.name, why.c_str());
    return exit_skipped;
  }
  try {
    detail::watch watch(s, e.name, options.seconds);
    PERFMODEL_CUDA(cudaSetDevice(0));
    PERFMODEL_CUDA(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
    const auto sensors = open_nvml();
    s.sensors = sensors.get();
    s.device = describe_device();
    if (s.reduced) s.plan = {.warmups = 1, .samples = 3, .least_seconds = 50e-6, .most_repeats = 4};
#ifdef PERFMODEL_EMULATED
    s.plan = {.warmups = 0, .samples = 1, .least_seconds = 0.0, .most_repeats = 1};
#else
    if (!s.reduced) spin(s.stream, s.sms(), 0.4);
#endif
    recording r = detail::open_recording(e, s, options);
    r.watched_by(watch);
    if (s.fault.empty()) r.save_to(options.out);
    const int code = detail::measure(e, s, r, body);
    const bool nothing = r.points().empty() && r.failed().empty() && !r.skipped().empty();
    if (!s.fault.empty()) {
      if (nothing) return exit_skipped;  // what it would have broken cannot run here
      if (code == exit_recorded) {
        std::fprintf(stderr, "%s: broken by %s, and no check noticed\n", e.name, s.fault.c_str());
      }
      return code;
    }
    if (const auto state = sensors->state()) r.state_after(*state);
    detail::print_summary(e, r);
    cudaStreamDestroy(s.stream);
    if (nothing) return exit_skipped;
    if (!options.out.empty()) r.write(options.out);
    return code;
  } catch (const std::exception& x) {
    std::fprintf(stderr, "%s: %s\n", e.name, x.what());
    return exit_failed;
  }
}

}  // namespace perfmodel::validation
