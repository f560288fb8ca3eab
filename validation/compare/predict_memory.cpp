// Streams, chases, shared memory, bytes in flight, fused chains, transfers.
#include <perfmodel/calibrated/conditions.hpp>
#include <perfmodel/littles_law.hpp>

#include "predict.hpp"

namespace perfmodel::validation {

namespace {

bandwidth<> l2_rate(const machine& m) {
  const bandwidth<> fitted = m.policy.machine.l2_bandwidth;
  return fitted.value() > 0.0 ? fitted : m.policy.attention.l2_bandwidth;
}

/// The calibrated share of DRAM, and a kernel's floor; of a warm working set the part that L2 still
/// holds comes at its rate.
prediction streamed(const question& q, const demand& d, const bytes<>& working_set,
                    const char* law) {
  estimate e = roofline(q.on.device, d, q.on.policy);
  if (q.warm()) {
    const double stays =
        perfmodel::detail::resident(working_set, q.on.device.l2.capacity.quantity());
    const duration<> from_dram = d.dram.total() / q.on.policy.dram_bandwidth(q.on.device, d);
    const duration<> from_l2 = d.dram.total() / l2_rate(q.on);
    e.time = (1.0 - stays) * from_dram + stays * from_l2 + q.on.policy.launch_time(q.on.device, d);
  }
  return bounded_by(q, d, e, law);
}

/// The level that holds a working set, by its stated latency.
duration<> latency_of_level(const question& q) {
  const perfmodel::accelerator& a = q.on.device;
  const double set = q.number("working_set_bytes");
  const double l1 = a.sms.value() > 0.0 ? a.shared.capacity.value() / a.sms.value() : 0.0;
  if (set <= l1) return a.shared.latency.quantity();
  if (set <= a.l2.capacity.value()) return a.l2.latency.quantity();
  return a.dram.latency.quantity();
}

}  // namespace

prediction predict_stream(const question& q) {
  demand d;
  d.dram = q.moved();
  prediction p = streamed(q, d, q.number("working_set_bytes") * byte,
                          "calibrated share of the bandwidth, launch floor");
  p.shape = shape_of(q, "kernel working_set_bytes cache");
  p.size = q.number("working_set_bytes");
  return p;
}

prediction predict_latency(const question& q) {
  prediction p;
  p.value = latency_of_level(q).value();
  p.size = q.number("working_set_bytes");
  p.shape = shape_of(q, "working_set_bytes");
  p.by = "latency of the level that holds the working set, catalogue";
  if (p.value == 0.0) p.note = "the catalogue states no latency of this level";
  return p;
}

prediction predict_latency_cycles(const question& q) {
  prediction p = predict_latency(q);
  p.value *= q.on.device.vector.clock.value();
  p.by += ", by the clock";
  return p;
}

prediction predict_shared_memory(const question& q) {
  demand d;
  const double ways = (std::max)(1.0, q.number("conflict_ways"));
  d.shared.read = ways * q.number("bytes") * byte;
  const bandwidth<> rate = q.on.device.shared.bandwidth.quantity();
  prediction p;
  p.shape = shape_of(q, "pattern stride_words conflict_ways");
  p.size = q.number("bytes");
  if (!(rate.value() > 0.0)) {
    p.note = "the catalogue states no bandwidth of shared memory";
    return p;
  }
  p.bound = (d.shared.total() / rate).value();
  p.held_to = p.bound;
  p.value = p.bound + q.on.policy.launch_time(q.on.device, d).value();
  p.by = "bytes x ways of conflict / data-sheet bandwidth, launch floor";
  return p;
}

prediction predict_bytes_in_flight(const question& q) {
  demand d;
  d.dram = q.moved();
  prediction p;
  p.shape = shape_of(q, "bytes_in_flight");
  p.size = q.number("bytes_in_flight");
  p.bound = roofline(q.on.device, d).time.value();
  p.held_to = p.bound;
  if (!(q.on.memory_latency.value() > 0.0)) {
    p.note = "the latency of DRAM is neither measured nor in the catalogue";
    return p;
  }
  if (!(p.size >= 1.0)) {
    p.note = "less than a byte is in flight";
    return p;
  }
  const bandwidth<> reached = attainable_bandwidth(
      q.on.policy.dram_bandwidth(q.on.device, d), bytes<>::from_value(p.size), q.on.memory_latency);
  p.value = (d.dram.total() / reached + q.on.policy.launch_time(q.on.device, d)).value();
  p.profiled = true;
  p.by = "Little's law: min(share x bandwidth, bytes in flight / latency)";
  return p;
}

prediction predict_chain(const question& q) {
  demand d;
  d.dram = q.moved();
  d.launches = q.number("launches");
  prediction p = streamed(q, d, q.number("bytes_written") * byte,
                          "calibrated share of the bandwidth, a floor per launch");
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
  p.bound = (p.size * byte / rate).value();
  p.held_to = p.bound;
  p.value = p.bound;
  p.by = "the bound: bytes / data-sheet link";
  return p;
}

}  // namespace perfmodel::validation
