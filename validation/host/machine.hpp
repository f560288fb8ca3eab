// Facts of this CPU from /proc and /sys; what they do not state stays 0.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "../recording/recording.hpp"

namespace perfmodel::validation {

namespace detail {

inline std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The value of the first "name : value" of /proc/cpuinfo.
inline std::string cpuinfo(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.compare(0, name.size(), name) != 0 || colon == std::string::npos) continue;
    const std::size_t from = line.find_first_not_of(" \t", colon + 1);
    return from == std::string::npos ? std::string() : line.substr(from);
  }
  return {};
}

/// "48K", "32M" in bytes.
inline double size_of(const std::string& text) {
  if (text.empty()) return 0.0;
  const double number = std::strtod(text.c_str(), nullptr);
  switch (text.back()) {
    case 'K': return number * 1024.0;
    case 'M': return number * 1024.0 * 1024.0;
    case 'G': return number * 1024.0 * 1024.0 * 1024.0;
    default: return number;
  }
}

/// How many CPUs a list such as "0-3,8" names.
inline int count_of(const std::string& list) {
  int n = 0;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = (std::min)(list.find(',', at), list.size());
    const std::string part = list.substr(at, end - at);
    const std::size_t dash = part.find('-');
    n += dash == std::string::npos
             ? 1
             : std::atoi(part.c_str() + dash + 1) - std::atoi(part.c_str()) + 1;
    at = end + 1;
  }
  return n;
}

}  // namespace detail

inline device_description describe_host() {
  device_description d;
  d.kind = "cpu";
  d.name = detail::cpuinfo("model name");
  if (d.name.empty()) d.name = detail::cpuinfo("CPU part");
  if (d.name.empty()) d.name = "unknown CPU";
  d.threads = (std::max)(1, static_cast<int>(std::thread::hardware_concurrency()));
  const std::string cpus = "/sys/devices/system/cpu/";
  std::set<std::string> cores;
  for (int i = 0; i < d.threads; ++i) {
    const std::string here = cpus + "cpu" + std::to_string(i) + "/topology/";
    std::string core = detail::first_line(here + "physical_package_id");
    core.append(":").append(detail::first_line(here + "core_id"));
    if (core.size() > 1) cores.insert(core);
  }
  d.cores = cores.empty() ? d.threads : static_cast<int>(cores.size());
  const double khz =
      std::strtod(detail::first_line(cpus + "cpu0/cpufreq/cpuinfo_max_freq").c_str(), nullptr);
  d.sm_clock_hz = 1e3 * khz;
  d.memory_bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < 8; ++i) {
    const std::string index = cpus + "cpu0/cache/index" + std::to_string(i) + "/";
    const std::string type = detail::first_line(index + "type");
    if (type.empty() || type == "Instruction") continue;
    cache_level c;
    c.level = std::atoi(detail::first_line(index + "level").c_str());
    c.bytes = detail::size_of(detail::first_line(index + "size"));
    c.threads = (std::max)(1, detail::count_of(detail::first_line(index + "shared_cpu_list")));
    if (c.bytes > 0.0) d.caches.push_back(c);
  }
  std::sort(d.caches.begin(), d.caches.end(),
            [](const cache_level& a, const cache_level& b) { return a.bytes < b.bytes; });
  return d;
}

/// Size of the largest cache. Where it is unknown, 32 MiB, so that "beyond the cache" is still
/// large.
inline double last_cache_bytes(const device_description& d) {
  return d.caches.empty() ? 32.0 * 1024.0 * 1024.0 : d.caches.back().bytes;
}

}  // namespace perfmodel::validation
