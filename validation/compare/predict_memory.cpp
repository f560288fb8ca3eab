// Streams, chases, shared memory, bytes in flight, fused chains, transfers.
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/laws/data_paths.hpp>
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/laws/littles_law.hpp>

#include "chase.hpp"
#include "predict.hpp"

namespace perfmodel::validation {

namespace {

/// The catalogue's bandwidth of the L2, or what the profile's kernels reached of it.
bandwidth<> l2_rate(const machine& m) {
  if (m.device.l2.bandwidth.is_stated()) return m.device.l2.bandwidth.quantity();
  return perfmodel::detail::required("l2_bandwidth", m.policy.machine.l2_bandwidth);
}

/// The share of bytes that are found in the L2, where `set` bytes are used in turn.
double found_in_l2(const question& q, const bytes<>& set) {
  return perfmodel::l2_resident_share(set, q.on.device.l2.capacity.quantity());
}

/// The calibrated share of DRAM, the L2's rate for `from_l2` bytes, and a floor for each launch.
estimate streamed(const question& q, const demand& d, const bytes<>& from_l2) {
  estimate e = roofline(q.on.device, d, q.on.policy);
  e.time = (d.dram.total() - from_l2) / q.on.policy.dram_bandwidth(q.on.device, d) +
           from_l2 / l2_rate(q.on) + q.on.policy.launch_time(q.on.device, d);
  return e;
}

}  // namespace

prediction predict_stream(const question& q) {
  demand d;
  d.dram = q.moved();
  const double set = q.number("working_set_bytes");
  const double found = q.warm() ? found_in_l2(q, set * byte) : 0.0;
  prediction p = bounded_by(q, d, streamed(q, d, found * d.dram.total()),
                            "share of DRAM's bandwidth, the L2's where warm, launch floor");
  p.shape = shape_of(q, "kernel working_set_bytes cache");
  if (q.word("method") == "one_kernel") p.shape += ", one kernel";
  if (q.word("method") == "memcpy") p.shape += ", cudaMemcpyAsync";
  p.size = set;
  return p;
}

prediction predict_latency(const question& q) {
  prediction p;
  p.size = q.number("working_set_bytes");
  const chased_load load = chase(q.on.device, p.size, q.word("first_level") != "l2");
  p.value = load.latency.value();
  p.regime = load.level;
  p.shape = shape_of(q, "working_set_bytes");
  if (!q.word("first_level").empty()) p.shape += cat(", from ", q.word("first_level"));
  p.by = "catalogue latencies, weighted by each level's share of the set";
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
  p.held_to = (d.shared.total() / q.on.fastest.shared.bandwidth.quantity()).value();
  p.value = p.bound + q.on.policy.launch_time(q.on.device, d).value();
  p.by = "bytes x conflict ways / data-sheet bandwidth, launch floor";
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
  p.by = "Little's law: min(share x bandwidth, bytes in flight / latency of the slowest load)";
  return p;
}

prediction predict_chain(const question& q) {
  demand d;
  d.dram = q.moved();
  d.launches = q.number("launches");
  // Between kernels an array goes through the L2, which keeps what it has room for.
  const double all = d.dram.total().value();
  const double compulsory = q.number("compulsory_bytes", all);
  const double array = 0.5 * compulsory;
  const double between = all - compulsory;
  const double found = between > 0.0 ? found_in_l2(q, array * byte) : 0.0;
  estimate e = streamed(q, d, found * between * byte);
  if (const double instructions = q.number("lane_instructions"); instructions > 0.0) {
    // An SM starts an instruction for each of 128 lanes a clock, whatever its FP32 rate.
    constexpr double lanes = 128.0;
    const duration<> issue = issue_time(instructions / (lanes * q.on.device.sms.value()), 1.0,
                                        q.on.device.vector.clock.quantity());
    const duration<> launch = q.on.policy.launch_time(q.on.device, d);
    e.time = launch + perfmodel::detail::p_norm(duration<>(e.time - launch), issue);
  }
  prediction p =
      bounded_by(q, d, e, "DRAM share, L2 between kernels; instruction issue; launch floors");
  demand least = d;
  least.dram = {array * byte, array * byte};
  p.bound = roofline(q.on.device, least).time.value();
  p.held_to = held_to(q, least, false);
  p.warm = false;
  p.shape = shape_of(q, "chain rows columns launches");
  if (between > 0.0) {
    p.note = cat(amount(between, "B"), " of ", amount(all, "B"), " may come from the L2");
  }
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
