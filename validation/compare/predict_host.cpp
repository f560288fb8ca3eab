#include "predict_host.hpp"

#include "../host/fit_host.hpp"
#include "measured.hpp"

#include <memory>

namespace perfmodel::validation {

namespace {

constexpr double line_bytes = 64.0;

/// A chain of loads waits for each, so its points bear out the sizes of the caches: the latency of
/// the largest working set that a level holds to a half, of any working set within it.
prediction chase_on_host(const question& q) {
  prediction p;
  p.size = q.number("working_set_bytes");
  p.shape = shape_of(q, "working_set_bytes");
  p.by = "latency of the level, from sets that half fill it";
  double nearer = 0.0, holds = 1e30;
  for (const cache_level& c : q.on.described.caches) {
    if (p.size <= c.bytes) {
      holds = c.bytes;
      break;
    }
    nearer = c.bytes;
  }
  double best = 0.0;
  for (const point& s : q.in.points) {
    const double set = number_of(s, "working_set_bytes");
    const bool inside = set > nearer && (holds > 1e29 || set <= 0.5 * holds);
    if (s.quantity != "load_latency" || !inside || set < best) continue;
    best = set;
    p.value = median_of(s);
  }
  p.fitted = best == p.size;
  if (p.value == 0.0) p.note = "no working set fills this level to a half";
  return p;
}

}  // namespace

std::shared_ptr<const host_fit> host_of(const device_description& d,
                                        const std::vector<recorded>& all) {
  std::vector<point> points;
  for (const recorded& r : all) {
    if (r.device.name == d.name) points.insert(points.end(), r.points.begin(), r.points.end());
  }
  try {
    return std::make_shared<const host_fit>(fit_host(d, points));
  } catch (const error&) {
    return nullptr;  // some of the experiments are missing: nothing to predict the others from
  }
}

prediction predict_on_host(const question& q) {
  const std::string& quantity = q.at.quantity;
  if (quantity == "load_latency") return chase_on_host(q);
  prediction p;
  if (q.on.host == nullptr) {
    p.note = "nothing is known of this CPU: its streams, products and peak were not all measured";
    return p;
  }
  p.value = predicted_seconds(*q.on.host, q.at);
  p.bound = least_seconds(*q.on.host, q.at);
  p.held_to = p.bound;
  p.fitted = fitted_to(q.at);
  if (quantity == "stream_time") {
    p.by = "CPU model, fitted to other sizes and kernels of the run";
    p.size = q.number("working_set_bytes");
    p.shape = shape_of(q, "kernel working_set_bytes cache");
  } else if (quantity == "gemm_time") {
    p.by = "CPU model, fitted to other shapes of the run";
    p.size = q.number("flop");
    p.shape = shape_of(q, "m n k");
  } else if (quantity == "intensity_time") {
    p.by = "roofline with the measured bandwidth and peak";
    p.size = q.number("flop_per_byte");
    p.shape = shape_of(q, "flop_per_byte");
  } else if (quantity == "bytes_in_flight_time") {
    p.by = "Little's law: one line per chain, latency of a single chain";
    p.size = q.number("chains") * q.number("threads") * line_bytes;
    p.shape = shape_of(q, "chains");
  } else if (quantity == "overlap_time") {
    p.by = "overlap_with_dma";
    p.shape = shape_of(q, "arrangement");
  }
  if (p.value == 0.0) p.note = "what others are predicted from, or no law's";
  return p;
}

}  // namespace perfmodel::validation
