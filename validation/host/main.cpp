// measure_host: measures the CPU that it runs on, and writes one recording an experiment.
//
//   measure_host --out DIR [--reduced] [--only EXPERIMENT] [--break FAULT] [--revision HASH]
//                [--modified]
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <napkin/io/text.hpp>
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

/// What --break takes; tests/run_measure_host.sh has a check notice each.
constexpr std::string_view faults[] = {"swap_bytes", "drop_read",   "drop_hop", "drop_fma",
                                       "drop_term",  "drop_thread", "drop_copy"};

bool is_revision(std::string_view s) {
  if (s == "unknown") return true;
  return s.size() == 40 && s.find_first_not_of("0123456789abcdef") == s.npos;
}

class bad_option : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};
[[noreturn]] void refuse(const char* option, std::string_view value, const std::string& allowed) {
  throw bad_option(std::string(option)
                       .append(" is \"")
                       .append(common::shown(value))
                       .append("\"; allowed: ")
                       .append(allowed));
}

/// Refuses a value that is none of the names.
template <class Names, class Name>
void check_among(const char* option, std::string_view value, const Names& names, Name&& name_of) {
  std::string list;
  for (const auto& item : names) {
    if (value == name_of(item)) return;
    list.append(list.empty() ? "" : ", ").append(name_of(item));
  }
  refuse(option, value, list);
}

/// The folder, made where it is not there. Whether it can be written to is known before anything is
/// measured.
void make_folder(const std::string& out) {
  namespace fs = std::filesystem;
  std::error_code failure;
  fs::create_directories(out, failure);
  const fs::path probe = fs::path(out) / ".measure_host";
  const bool writes = !failure && std::ofstream(probe).good();
  fs::remove(probe, failure);
  if (!writes) refuse("--out", out, "a folder that can be made and written to");
}

int usage() {
  std::fputs(
      "usage: measure_host --out DIR [--reduced] [--only EXPERIMENT] [--break FAULT]"
      " [--revision HASH] [--modified]\n",
      stderr);
  return 2;
}

struct options {
  pv::host_session session{};
  pv::run_description run{};
  std::string out{}, only{};
};

/// False where the options are not those of usage().
bool read_options(int argc, char** argv, options& o) {
  o.run.revision = "unknown";
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const bool has_value = i + 1 < argc;
    if (option == "--out" && has_value) {
      o.out = argv[++i];
    } else if (option == "--only" && has_value) {
      o.only = argv[++i];
      check_among("--only", o.only, parts, [](const part& p) { return p.experiment; });
    } else if (option == "--break" && has_value) {
      o.session.fault = argv[++i];
      check_among("--break", o.session.fault, faults, [](std::string_view f) { return f; });
    } else if (option == "--revision" && has_value) {
      o.run.revision = argv[++i];
      if (!is_revision(o.run.revision)) {
        refuse("--revision", o.run.revision, "40 hexadecimal digits, or unknown");
      }
    } else if (option == "--modified") {
      o.run.modified = true;
    } else if (option == "--reduced") {
      o.session.reduced = o.run.reduced = true;
      o.session.samples = 3;
    } else {
      return false;
    }
  }
  return !o.out.empty() || !o.session.fault.empty();
}

void measure(options& o) {
  pv::host_session& s = o.session;
  s.device = pv::describe_host();
  if (!o.out.empty()) make_folder(o.out);
  o.run.date = pv::date_now();
#ifdef __clang__
  o.run.compiler = "clang " __clang_version__;
#else
  o.run.compiler = "g++ " __VERSION__;
#endif
  for (const part& p : parts) {
    if (!o.only.empty() && o.only != p.experiment) continue;
    o.run.program = p.program;
    pv::recording r(p.experiment, p.law, s.device, o.run);
    if (s.device.caches.empty()) r.skip("cache sizes", "the operating system does not say");
    const double began = pv::now();
    p.measure(s, r);
    if (!s.fault.empty()) continue;
    std::string path = o.out;
    path.append("/").append(p.experiment).append(".json");
    r.write(path);
    std::printf("measure_host: %s: %zu points, %zu checks, %.1f s\n", p.experiment,
                r.points().size(), r.checks().size(), pv::now() - began);
  }
  if (!s.fault.empty()) {
    std::fprintf(stderr, "measure_host: broken by %s, and no check noticed\n", s.fault.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  try {
    if (!read_options(argc, argv, o)) return usage();
    measure(o);
  } catch (const bad_option& x) {
    std::fprintf(stderr, "measure_host: %s\n", x.what());
    return 2;
  } catch (const std::exception& x) {
    std::fprintf(stderr, "measure_host: %s\n", common::shown(x.what(), 600).c_str());
    return 1;
  }
  return 0;
}
