// predict_host: calibrates on some of a CPU's recordings, predicts the others, and compares.
//
//   predict_host DIR [--rows]    DIR as measure_host --out wrote it
//
// Exit status 1: beyond 15 % in the median of what the fit had not seen, or faster than its bound.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "../recording/read_recording.hpp"
#include "fit_host.hpp"

namespace pv = perfmodel::validation;

namespace {

constexpr double allowed_median = 0.15;

double median_of(const pv::point& p) {
  return perfmodel::detail::quantile(p.samples, 0.5);
}

std::string described(const pv::point& p) {
  std::string out;
  for (const pv::parameter& q : p.parameters) {
    if (q.name.starts_with("bytes_") || q.name == "flop" || q.name == "format") continue;
    if (q.name == "library" || q.name == "weight_copies" || q.name == "other") continue;
    out.append(" ").append(q.name).append("=").append(pv::detail::value_text(q.is));
  }
  return out;
}

/// The nearest cache that holds a working set; 0 where none does.
int level_of(const pv::device_description& d, double bytes) {
  for (const pv::cache_level& c : d.caches) {
    if (bytes <= c.bytes) return c.level;
  }
  return 0;
}

void print_machine(const pv::host_fit& h) {
  constexpr const char* names[] = {"L1", "L2", "L3", "DRAM"};
  for (std::size_t l = 0; l < pv::host_levels; ++l) {
    std::printf("  %-4s %7.1f GB/s", names[l], h.machine.bandwidth[l].value() / 1e9);
    if (l + 1 < pv::host_levels) {
      const double share = l == 0 ? 1.0 : h.machine.capacity_share[l - 1];
      std::printf("  %8.0f KiB, of which %.2f are there", h.machine.capacity[l].value() / 1024,
                  share);
    }
    std::printf("\n");
  }
  std::printf("  L1 stores %.1f GB/s, a call %.1f ns, a cold start %.0f ns\n",
              h.machine.l1_stores.value() / 1e9, h.machine.call.value() * 1e9,
              h.machine.cold_start.value() * 1e9);
  std::printf(
      "  multiply-adds %.1f GFLOP/s, of which products reach %.2f; one row streams at %.2f\n",
      h.machine.multiply_adds.value() / 1e9, h.machine.compute_share, h.machine.vector_share);
  std::printf("  weights are packed at %.1f, %.1f and %.1f GB/s (from L2, L3, DRAM)\n",
              h.machine.packing[0].value() / 1e9, h.machine.packing[1].value() / 1e9,
              h.machine.packing[2].value() / 1e9);
}

void print_latency(const pv::device_description& d, const std::vector<pv::point>& points) {
  std::printf("latency of a load by the cache that is large enough for the working set:\n");
  for (int level : {1, 2, 3, 4, 0}) {
    std::vector<double> ns;
    double from = 0, to = 0;
    for (const pv::point& p : points) {
      const double set = pv::number_of(p, "working_set_bytes");
      if (p.quantity != "load_latency" || level_of(d, set) != level) continue;
      if (ns.empty()) from = set;
      to = set;
      ns.push_back(1e9 * median_of(p));
    }
    if (ns.empty()) continue;
    const auto [low, high] = std::minmax_element(ns.begin(), ns.end());
    std::string name =
        level == 0 ? std::string("none") : std::string("L").append(std::to_string(level));
    std::printf("  %-4s %9.0f to %9.0f KiB: median %7.2f ns, %7.2f to %7.2f\n", name.c_str(),
                from / 1024, to / 1024, perfmodel::detail::quantile(ns, 0.5), *low, *high);
  }
}

/// Whether the held-out points of a quantity were predicted well enough. One row (GEMV) and more
/// go different ways in Eigen, and are shown apart.
bool print_scores(const pv::host_fit& h, const std::vector<pv::point>& points, const char* quantity,
                  bool judged) {
  bool good = true;
  for (const bool held_out : {false, true}) {
    std::vector<double> residual;
    for (const pv::point& p : points) {
      if (p.quantity != quantity || pv::fitted_to(p) == held_out) continue;
      const double predicted = pv::predicted_seconds(h, p);
      if (predicted > 0.0) residual.push_back(std::log(median_of(p) / predicted));
    }
    if (residual.empty()) continue;
    const perfmodel::prediction_score score = perfmodel::score_of(residual);
    const bool within = !judged || !held_out || score.median <= allowed_median;
    std::printf("  %-22s %-9s %3zu points: median error %4.1f %%, p90 %4.1f %%%s\n", quantity,
                held_out ? "held out" : "fitted", residual.size(), 100 * score.median,
                100 * score.p90, within ? "" : "  <- more than 15 %");
    good = good && within;
  }
  return good;
}

int compare(const std::string& folder, bool rows) {
  std::vector<pv::point> points;
  pv::device_description device;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    pv::recorded r = pv::read_recording(file.string());
    if (r.device.kind != "cpu") continue;
    if (r.run.reduced) std::printf("%s was cut down; its errors say nothing\n", r.file.c_str());
    device = r.device;
    points.insert(points.end(), r.points.begin(), r.points.end());
  }
  const pv::host_fit h = pv::fit_host(device, points);
  std::printf("%s, one core:\n", device.name.c_str());
  print_machine(h);
  print_latency(device, points);
  std::printf("predicted against measured:\n");
  bool good = true;
  for (const char* judged : {"stream_time", "gemm_time"}) {
    good = print_scores(h, points, judged, true) && good;
  }
  for (const char* shown : {"intensity_time", "bytes_in_flight_time", "overlap_time"}) {
    print_scores(h, points, shown, false);
  }
  std::size_t below = 0, bounded = 0;
  for (const pv::point& p : points) {
    const double least = pv::least_seconds(h, p), measured = median_of(p);
    bounded += least > 0.0 ? 1 : 0;
    if (measured < least) {
      ++below;
      std::printf("  faster than its bound of %.3g s: %s%s %.3g s\n", least, p.quantity.c_str(),
                  described(p).c_str(), measured);
    }
    const double predicted = pv::predicted_seconds(h, p);
    if (rows && predicted > 0.0) {
      std::printf("  %s %s%s: measured %.3g s, predicted %.3g s (%+.0f %%), bound %.3g s\n",
                  pv::fitted_to(p) ? "fitted  " : "held out", p.quantity.c_str(),
                  described(p).c_str(), measured, predicted, 100 * (predicted / measured - 1),
                  least);
    }
  }
  std::printf("  bound <= measured: %zu of %zu points\n", bounded - below, bounded);
  return good && below == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool rows = argc == 3 && std::string_view(argv[2]) == "--rows";
  if (argc < 2 || (argc > 2 && !rows) || argv[1][0] == '-') {
    std::fputs("usage: predict_host DIR [--rows]\n", stderr);
    return 2;
  }
  try {
    return compare(argv[1], rows);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "predict_host: %s\n", e.what());
    return 2;
  }
}
