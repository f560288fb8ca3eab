// measure_host: measures the CPU that it runs on, and writes one recording an experiment.
//
//   measure_host --out DIR [--reduced] [--only EXPERIMENT] [--break FAULT] [--revision HASH]
//                [--modified]
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>

#include "machine.hpp"
#include "measure.hpp"

namespace pv = perfmodel::validation;

namespace {

struct part {
  const char* experiment;
  const char* law;
  const char* program;
  void (*measure)(const pv::host_session&, pv::recording&);
};
constexpr part parts[] = {
    {"memory_stream", "roofline: time >= bytes / bandwidth of the level that holds them",
     "validation/host/stream.cpp", pv::measure_stream},
    {"pointer_chase", "latency of each memory level", "validation/host/chase.cpp",
     pv::measure_chase},
    {"arithmetic_peak", "peak of one core: FMAs a clock x clock", "validation/host/arithmetic.cpp",
     pv::measure_arithmetic},
    {"roofline", "roofline.hpp: attainable = min(peak, intensity x bandwidth)",
     "validation/host/roofline.cpp", pv::measure_roofline},
    {"gemm_sweep", "roofline with a packing cost: Eigen's matrix products",
     "validation/host/gemm.cpp", pv::measure_gemm},
    {"littles_law", "littles_law.hpp: bandwidth = bytes in flight / latency",
     "validation/host/littles_law.cpp", pv::measure_littles_law},
    {"launch", "what it costs to start a thread and to wait for it", "validation/host/threads.cpp",
     pv::measure_threads},
    {"overlap", "overlap.hpp: two things at once take at least the longer, at most the sum",
     "validation/host/threads.cpp", pv::measure_overlap},
};

int usage() {
  std::fputs(
      "usage: measure_host --out DIR [--reduced] [--only EXPERIMENT] [--break FAULT]"
      " [--revision HASH] [--modified]\n",
      stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  pv::host_session s;
  pv::run_description run;
  run.revision = "unknown";
  std::string out, only;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const bool has_value = i + 1 < argc;
    if (option == "--out" && has_value) {
      out = argv[++i];
    } else if (option == "--only" && has_value) {
      only = argv[++i];
      if (std::none_of(std::begin(parts), std::end(parts),
                       [&](const part& p) { return only == p.experiment; })) {
        return usage();
      }
    } else if (option == "--break" && has_value) {
      s.fault = argv[++i];
    } else if (option == "--revision" && has_value) {
      run.revision = argv[++i];
    } else if (option == "--modified") {
      run.modified = true;
    } else if (option == "--reduced") {
      s.reduced = run.reduced = true;
      s.samples = 3;
    } else {
      return usage();
    }
  }
  if (out.empty() && s.fault.empty()) return usage();
  try {
    s.device = pv::describe_host();
    if (!out.empty()) std::filesystem::create_directories(out);
    run.date = pv::date_now();
#ifdef __clang__
    run.compiler = "clang " __clang_version__;
#else
    run.compiler = "g++ " __VERSION__;
#endif
    for (const part& p : parts) {
      if (!only.empty() && only != p.experiment) continue;
      run.program = p.program;
      pv::recording r(p.experiment, p.law, s.device, run);
      if (s.device.caches.empty()) r.skip("cache sizes", "the operating system does not say");
      const double began = pv::now();
      p.measure(s, r);
      if (!s.fault.empty()) continue;
      std::string path = out;
      path.append("/").append(p.experiment).append(".json");
      r.write(path);
      std::printf("measure_host: %s: %zu points, %zu checks, %.1f s\n", p.experiment,
                  r.points().size(), r.checks().size(), pv::now() - began);
    }
  } catch (const std::exception& x) {
    std::fprintf(stderr, "measure_host: %s\n", x.what());
    return 1;
  }
  if (!s.fault.empty())
    std::fprintf(stderr, "measure_host: broken by %s, and no check noticed\n", s.fault.c_str());
  return 0;
}
