// Pointer chases, the bandwidth of caches, and Little's law, from gpu-benches.
#include <map>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/laws/littles_law.hpp>

#include <fit/tables.hpp>
#include "published.hpp"

namespace perfmodel::validation {

namespace {

/// Share of the data sheet's bandwidth; all of it where no share was fitted to such a machine.
double dram_share_of(const accelerator& a) {
  return catalog::can_be_calibrated(a) ? catalog::machine_profile_of(a).value.dram_share : 1.0;
}

std::vector<comparison> chases(const std::string& folder) {
  std::vector<comparison> out;
  for (const auto& r : published::rows_of(folder, "gpubench_pointer_chase.csv")) {
    const accelerator* a = published::gpu_benches_device(r.text("gpu"));
    if (a == nullptr) continue;
    comparison c;
    c.table = "gpu-benches";
    c.quantity = "load latency";
    c.device = a->name.view();
    c.size = r.number("working_set_bytes");
    // AMD's shared memory is no cache, and how large its vector L1 is the catalogue does not say.
    if (a->vendor.view() == "AMD" && c.size <= a->shared.capacity.value() / a->sms.value())
      continue;
    const chased_load load = chase(*a, c.size * byte, a->vendor.view() != "AMD");
    c.regime = load.level;
    c.unit = "s";
    c.measured = r.seconds("latency_ns", 1e-9);
    c.predicted = load.latency.value();
    c.fitted = true;
    c.by = "the catalogue's latencies, by what each level keeps";
    out.push_back(c);
  }
  return out;
}

std::vector<comparison> cache_bandwidths(const std::string& folder) {
  std::vector<comparison> out;
  for (const auto& r : published::rows_of(folder, "gpubench_cache_bandwidth_public.csv")) {
    const accelerator* a = published::gpu_benches_device(r.text("gpu"));
    if (a == nullptr || r.text("bench") != "gpu-l2-cache") continue;
    comparison c;
    c.table = "gpu-benches";
    c.quantity = "read time";
    c.device = a->name.view();
    c.size = r.number("dataset_bytes");
    read_again(c, *a);
    c.measured = c.size / (r.number("bandwidth_GBps") * 1e9);
    out.push_back(c);
  }
  return out;
}

/// A thread of gpu-stream loads one double and then the next kernel's thread takes its place, so
/// the bytes in flight are 8 a resident thread.
constexpr double bytes_per_thread = 8.0;

std::vector<comparison> littles_law(const std::string& folder) {
  std::vector<comparison> out;
  for (const auto& r : published::rows_of(folder, "gpubench_stream.csv")) {
    const accelerator* a = published::gpu_benches_device(r.text("gpu"));
    if (a == nullptr || r.text("kernel") != "read" || !(a->dram.latency.value() > 0.0)) continue;
    comparison c;
    c.table = "gpu-benches";
    c.quantity = "Little's law: time per byte";
    c.device = a->name.view();
    c.size = r.count("threads") * bytes_per_thread;
    const bandwidth<> peak_rate = a->dram.bandwidth.quantity();
    const bandwidth<> share = dram_share_of(*a) * peak_rate;
    const bandwidth<> reached =
        attainable_bandwidth(share, bytes<>::from_value(c.size), a->dram.latency.quantity());
    c.regime = reached < share ? "latency" : "bandwidth";
    c.unit = "s";
    c.measured = 1.0 / (r.number("bandwidth_GBps") * 1e9);
    c.predicted = 1.0 / reached.value();
    c.bound = 1.0 / peak_rate.value();
    c.held_to = c.bound;
    c.by = "attainable_bandwidth(share x bandwidth, 8 B a thread, latency of a chase)";
    out.push_back(c);
  }
  return out;
}

/// Points of a quantity by device, and the prediction as a line.
template <class Y>
std::vector<panel> panels_of(const std::vector<comparison>& rows, Y y_of) {
  std::map<std::string, std::vector<const comparison*>> by_device;
  for (const comparison& c : rows) by_device[c.device].push_back(&c);
  std::vector<panel> out;
  for (const auto& [device, members] : by_device) {
    panel p;
    p.title = device;
    series measured{"measured", mark::points, 0, {}};
    series predicted{"predicted", mark::line, 1, {}};
    series bound{"data sheet of DRAM", mark::dashed, 6, {}};
    std::map<double, double> line;
    std::map<double, double> limit;
    for (const comparison* c : members) {
      measured.rows.push_back({c->size, y_of(*c, c->measured), 0.0});
      line[c->size] = y_of(*c, c->predicted);
      if (c->bound > 0.0) limit[c->size] = y_of(*c, c->bound);
    }
    for (const auto& [x, y] : line) predicted.rows.push_back({x, y, 0.0});
    for (const auto& [x, y] : limit) bound.rows.push_back({x, y, 0.0});
    p.lines = {measured, predicted, bound};
    out.push_back(std::move(p));
  }
  return out;
}

}  // namespace

void read_again(comparison& c, const accelerator& a) {
  const double kept = l2_resident_share(c.size * byte, a.l2.capacity.quantity());
  c.regime = kept >= 0.9 ? "L2" : kept >= 0.1 ? "between" : "DRAM";
  c.unit = "s";
  c.predicted = c.size * (kept / a.l2.bandwidth.value() +
                          (1.0 - kept) / (dram_share_of(a) * a.dram.bandwidth.value()));
  c.bound = c.size / a.dram.bandwidth.value();
  c.warm = c.size <= 2.0 * a.l2.capacity.value();
  c.held_to = c.warm ? 0.0 : c.bound;
  c.fitted = kept >= 0.9;
  c.by = "the catalogue's bandwidth of L2, the profile's share of DRAM";
}

std::vector<comparison> published_memory(const std::string& folder) {
  std::vector<comparison> out = chases(folder);
  for (auto& c : cache_bandwidths(folder)) out.push_back(std::move(c));
  for (auto& c : littles_law(folder)) out.push_back(std::move(c));
  return out;
}

std::vector<picture> memory_pictures(const std::string& folder) {
  std::vector<picture> out;
  picture p;
  p.x_label = "working set";
  p.x_unit = "B";
  p.name = "latency_over_working_set";
  p.title = "Latency of one load over the working set";
  p.caption =
      "Points: pointer chases of gpu-benches, one SM. Line: the catalogue's latencies, weighted by "
      "the share that each level caches. Plateaus: L1, L2, its far half, DRAM; beyond a gigabyte "
      "the TLBs add to DRAM's.";
  p.y_label = "latency";
  p.y_unit = "s";
  p.panels = panels_of(chases(folder), [](const comparison&, double t) { return t; });
  out.push_back(p);

  p.name = "bandwidth_over_working_set";
  p.title = "Read bandwidth over the working set";
  p.caption =
      "Points: gpu-benches, all SMs read the same set. Line: the cached share at the catalogue's "
      "bandwidth of L2, the rest at the share of DRAM's that GEMMs reach.";
  p.y_label = "bandwidth";
  p.y_unit = "B/s";
  p.y_least = 1e12;
  p.y_most = 2e13;
  p.panels =
      panels_of(cache_bandwidths(folder), [](const comparison& c, double t) { return c.size / t; });
  out.push_back(p);

  p.name = "littles_law";
  p.title = "Little's law: bandwidth over bytes in flight";
  p.caption =
      "Points: a read kernel of gpu-benches, at 3 to 100 % of the threads that fit. Line: "
      "min(share x bandwidth, bytes in flight / latency), with the latency of a pointer chase.";
  p.x_label = "bytes in flight (8 a thread)";
  p.y_label = "bandwidth";
  p.y_unit = "B/s";
  p.y_least = 5e10;
  p.y_most = 6e12;
  p.panels = panels_of(littles_law(folder), [](const comparison&, double t) { return 1.0 / t; });
  out.push_back(p);
  std::erase_if(out, [](const picture& q) { return q.empty(); });
  return out;
}

}  // namespace perfmodel::validation
