// Streams, chases, shared memory, bytes in flight, fused chains, transfers.
#include <perfmodel/kernels/elementwise.hpp>
#include <perfmodel/laws/data_paths.hpp>
#include <perfmodel/laws/fusion.hpp>
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/laws/warp.hpp>

#include "predict.hpp"

namespace perfmodel::validation {

namespace {

/// The catalogue's bandwidth of the L2, or what the profile's kernels reached of it.
bandwidth<> l2_rate(const machine& m) {
  if (m.device.l2.bandwidth.is_stated()) return m.device.l2.bandwidth.quantity();
  return perfmodel::detail::required("l2_bandwidth", m.policy.machine.l2_bandwidth);
}

/// The bound of a fused chain, as its operands move once.
prediction bounded_chain(const question& q, const demand& fused, const duration<>& time,
                         const char* law) {
  estimate e = roofline(q.on.device, fused, q.on.policy);
  e.time = time;
  return bounded_by(q, fused, e, law);
}

}  // namespace

prediction predict_stream(const question& q) {
  demand d;
  d.dram = q.moved();
  const double set = q.number("working_set_bytes");
  const double hits =
      q.warm() ? l2_resident_share(set * byte, q.on.device.l2.capacity.quantity()) : 0.0;
  estimate e = roofline(q.on.device, d, q.on.policy);
  e.time = time_with_hits(d.dram.total(), hits, l2_rate(q.on),
                          q.on.policy.dram_bandwidth(q.on.device, d)) +
           q.on.policy.launch_time(q.on.device, d);
  prediction p = bounded_by(q, d, e, "time_with_hits, l2_resident_share");
  p.shape = shape_of(q, "kernel working_set_bytes cache");
  if (q.word("method") == "one_kernel") p.shape += ", one kernel";
  if (q.word("method") == "memcpy") p.shape += ", cudaMemcpyAsync";
  p.size = set;
  return p;
}

prediction predict_latency(const question& q) {
  prediction p;
  p.size = q.number("working_set_bytes");
  const chased_load load = chase(q.on.device, p.size * byte, q.word("first_level") != "l2");
  p.value = load.latency.value();
  p.regime = load.level;
  p.shape = shape_of(q, "working_set_bytes");
  if (!q.word("first_level").empty()) p.shape += cat(", from ", q.word("first_level"));
  p.by = "chase";
  if (p.value == 0.0) p.note = "the catalogue states no latency of this level";
  return p;
}

prediction predict_latency_cycles(const question& q) {
  prediction p = predict_latency(q);
  p.value *= q.on.device.vector.clock.value();
  p.by = "chase, by the clock";
  return p;
}

prediction predict_shared_memory(const question& q) {
  prediction p;
  p.shape = shape_of(q, "pattern stride_words conflict_ways");
  p.size = q.number("bytes");
  const bandwidth<> rate = q.on.device.shared.bandwidth.quantity();
  if (!(rate.value() > 0.0)) {
    p.note = "the catalogue states no bandwidth of shared memory";
    return p;
  }
  // The pattern says which column of which tile the lanes read.
  const std::string pattern = q.word("pattern");
  const int words = static_cast<int>((std::max)(1.0, q.number("stride_words")));
  const double ways = pattern == "conflict_free" ? 1.0
                      : pattern == "xor_swizzle"
                          ? bank_conflict_ways(words, tile_layout::xor_swizzled)
                          : bank_conflict_ways(words);
  demand d;
  d.shared.read = ways * q.number("bytes") * byte;
  p.bound = roofline(q.on.device, d).time.value();
  p.held_to = roofline(q.on.fastest, d).time.value();
  p.value = roofline(q.on.device, d, q.on.policy).time.value();
  p.by = "bank_conflict_ways, roofline";
  return p;
}

prediction predict_bytes_in_flight(const question& q) {
  demand d;
  d.dram = q.moved();
  prediction p;
  p.shape = shape_of(q, "bytes_in_flight");
  p.size = q.number("bytes_in_flight");
  p.bound = roofline(q.on.device, d).time.value();
  p.held_to = held_to(q, d, false);
  if (!(q.on.memory_latency.value() > 0.0)) {
    p.note = "the latency of DRAM is neither measured nor in the catalogue";
    return p;
  }
  if (!(p.size >= 1.0)) {
    p.note = "less than a byte is in flight";
    return p;
  }
  // What a warp waits for: each of its threads' loads, in lines of 128 bytes.
  const double lines = (std::max)(1.0, 32.0 * q.number("load_bytes", 4.0) / 128.0);
  const double loads = lines * (std::max)(1.0, q.number("loads_per_thread", 1.0));
  const duration<> round = slowest_load(q.on.memory_latency, q.on.memory_latency_spread, loads);
  const bandwidth<> reached = attainable_bandwidth(q.on.policy.dram_bandwidth(q.on.device, d),
                                                   bytes<>::from_value(p.size), round);
  p.value = (d.dram.total() / reached + q.on.policy.launch_time(q.on.device, d)).value();
  p.profiled = true;
  p.by = "attainable_bandwidth, slowest_load";
  return p;
}

/// A chain's kernels are element-wise operators: the first reads DRAM, the others what the L2 still
/// has of its output. Instructions that a kernel issues per element are cycles of its SM.
prediction predict_chain(const question& q) {
  const bool fused = flag_of(q.at, "fused");
  const bool normalises = q.word("chain") == "layer_norm";
  const double rows = q.number("rows"), columns = q.number("columns");
  const double launches = (std::max)(1.0, q.number("launches"));
  const elementwise kernel{.elements = rows * columns, .format = q.format()};
  const bytes<> tensor = kernel.elements * bytes_of(kernel.format);
  const demand one = demand_of(kernel);
  const norm whole{.rows = rows, .width = columns, .kind = norm_kind::layer, .format = q.format()};
  const demand least = normalises ? demand_of(whole) : fuse(one, one, tensor);
  elementwise_calibration c{q.on.policy.machine, {}};
  // An SM issues an instruction for each of its lanes a clock.
  c.kernels.element_cycles =
      q.number("lane_instructions") / (kernel.elements * lanes_per_sm(q.on.device) * launches);
  duration<> time{};
  if (fused) {
    time = normalises ? calibrated_estimate(q.on.device, whole, c).time
                      : calibrated_estimate(q.on.device, kernel, c).time;
  } else {
    for (int i = 0; i < static_cast<int>(launches); ++i) {
      elementwise k = kernel;
      if (normalises && i < 2) k.outputs = 0.0;  // mean and variance
      time += calibrated_estimate(q.on.device, k, c,
                                  {.cache = i == 0 ? cache_state::cold : cache_state::warm})
                  .time;
    }
  }
  prediction p = bounded_chain(q, least, time,
                               normalises ? "calibrated_estimate of norm and elementwise"
                                          : "fuse, calibrated_estimate of elementwise");
  p.warm = false;
  p.held_to = held_to(q, least, false);
  p.shape = shape_of(q, "chain rows columns launches");
  return p;
}

prediction predict_transfer(const question& q) {
  prediction p;
  p.size = q.number("bytes");
  p.shape = shape_of(q, "direction memory bytes");
  const bandwidth<> rate = q.on.device.host.bandwidth.quantity();
  if (!(rate.value() > 0.0)) {
    p.note = "the catalogue states no link to the host";
    return p;
  }
  p.bound = host_copy_time(p.size * byte, rate).value();
  p.held_to = p.bound;
  if (q.word("memory") == "pageable") {
    p.note = "pageable_copy_time needs the host's own bandwidth, which no catalogue states";
    return p;
  }
  p.value = host_copy_time(p.size * byte, host_link_share * rate, pcie_copy_latency).value();
  p.by = "host_copy_time, host_link_share";
  return p;
}

}  // namespace perfmodel::validation
