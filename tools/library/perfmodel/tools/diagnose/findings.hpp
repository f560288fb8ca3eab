// Causes of a slow engine step: each with its remedy and the next measurement.
#pragma once

#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/step/step.hpp>
#include <perfmodel/units/named.hpp>
#include <string>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3 {

enum class bottleneck {
  none,
  measurement,
  input_pipeline,
  host,
  launch,
  communication,
  stragglers,
  allocation,
  unfused_traffic,
  elementwise_time,
  memory_bandwidth,
  memory_latency,
  access_pattern,
  compute,
  contradiction,
  as_expected,
  unexplained
};

constexpr const char* name_of(bottleneck b) {
  constexpr const char* names[] = {"none",
                                   "measurement",
                                   "input_pipeline",
                                   "host",
                                   "launch",
                                   "communication",
                                   "stragglers",
                                   "allocation",
                                   "unfused_traffic",
                                   "elementwise_time",
                                   "memory_bandwidth",
                                   "memory_latency",
                                   "access_pattern",
                                   "compute",
                                   "contradiction",
                                   "as_expected",
                                   "unexplained"};
  return detail::entry_of(names, b, "bottleneck");
}

/// Remedy for a cause.
constexpr const char* remedy_for(bottleneck b) {
  constexpr const char* levers[] = {
      "no dominant cause",
      "none: correct the measurement or the shape",
      "more workers, prefetching, tokenisation ahead of time",
      "reduce CPU work: no Python per kernel, asynchronous scheduling, faster cores",
      "CUDA graphs, a compiler, fusion: fewer launches",
      "overlap: buckets, chunks, another layout; a faster algorithm (one-shot, in-network)",
      "balance: expert capacity, tensor splits, sequence lengths; replace a slow device",
      "reuse buffers: memory planning, a caching allocator, recomputation",
      "fuse: scores and intermediates stay on the chip (FlashAttention, fused norms)",
      "fuse element-wise kernels; one kernel for a chain",
      "fewer bytes: lower-precision formats, larger batches, speculation, reuse by tiles",
      "more loads in flight: vector loads, more warps or stages, blocks for all SMs (split-K)",
      "coalesce and align, another layout, blocked caches, a smaller working set for the L2",
      "lower-precision formats the units multiply, sparsity, less work; more devices",
      "none: repeat the measurement; rates per GPU, counters and time of the same steps",
      "none for the engine: lower-precision formats, another layout or batch (napkin advise)",
      "none yet: the time alone does not say whether the GPU works or waits"};
  return detail::entry_of(levers, b, "bottleneck");
}
/// Measurement that confirms a cause.
constexpr const char* check_for(bottleneck b) {
  constexpr const char* checks[] = {
      "measure shares and counters of a trace",
      "warm caches, repeated inputs, clocks, a cache in fp8, the shape, the unit",
      "utilisation that drops periodically; the time with synthetic inputs",
      "CPU row of a trace: utilisation of the launching thread",
      "time with CUDA graphs; warm-up and memory of the capture",
      "collectives in idle times of the compute row of a trace; bucket sizes",
      "arrival of each rank at a collective; whether the last rank is always the same",
      "allocator trace: sizes that recur in each step",
      "DRAM bytes of the step against those of the model; peak memory",
      "the distribution of kernel lengths; the share of GEMMs",
      "DRAM throughput of the longest kernel: above 80 % of peak it is at its limit",
      "long-scoreboard stalls, occupancy, number of blocks against SMs",
      "sectors per request (best 4 for 4-byte elements, 16 for 16-byte), L2 hit rate",
      "tensor-pipe utilisation; clocks and power; padded tiles",
      "units, number of GPUs, and the range of time of each counter",
      "the largest terms of the prediction: napkin explain step",
      "gpu_busy and the gaps between kernels (Nsight Systems, DCGM)"};
  return detail::entry_of(checks, b, "bottleneck");
}

/// One cause, the share of the time that it explains, and the evidence.
struct finding {
  bottleneck cause = bottleneck::none;
  double share = 0.0;
  std::string evidence{};
  bool inferred = false;  ///< derived without a direct measurement
};

/// Known shares of the time of a trace; they need not sum to 1.
template <Scalar T = double>
struct basic_trace_shares {
  std::optional<T> input{};          ///< wait for data, files, tokenisers
  std::optional<T> host{};           ///< wait for the CPU, without launches
  std::optional<T> launch{};         ///< idle time between kernels
  std::optional<T> communication{};  ///< exposed collectives
  std::optional<T> waiting{};        ///< wait for other devices
  std::optional<T> allocation{};
  std::optional<T> gemm{};
  std::optional<T> attention{};
  std::optional<T> elementwise{};  ///< norms, activations, memcpy
  std::optional<T> sampling{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::fraction("input"), s.input...);
    f(field::fraction("host"), s.host...);
    f(field::fraction("launch"), s.launch...);
    f(field::fraction("communication"), s.communication...);
    f(field::fraction("waiting"), s.waiting...);
    f(field::fraction("allocation"), s.allocation...);
    f(field::fraction("gemm"), s.gemm...);
    f(field::fraction("attention"), s.attention...);
    f(field::fraction("elementwise"), s.elementwise...);
    f(field::fraction("sampling"), s.sampling...);
  }
};
using trace_shares = basic_trace_shares<>;

/// Measurement of an engine step on one device: time, hardware counters, and trace shares.
/// `gpu_busy`: share of the time in which a kernel runs.
template <Scalar T = double>
struct basic_measured_step {
  duration<T> time{};
  std::optional<bandwidth<T>> dram{};
  std::optional<flop_rate<T>> achieved{};
  std::optional<T> gpu_busy{};
  std::optional<duration<T>> launch_gaps{};
  std::optional<T> l2_hit{};
  std::optional<T> sectors{};  ///< sectors per request of a warp
  basic_trace_shares<T> shares{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::positive("time"), s.time...);
    f(field::not_negative("dram"), s.dram...);
    f(field::not_negative("achieved"), s.achieved...);
    f(field::fraction("gpu_busy"), s.gpu_busy...);
    f(field::not_negative("launch_gaps"), s.launch_gaps...);
    f(field::fraction("l2_hit"), s.l2_hit...);
    f(field::within("sectors", 1.0, 64.0, "1 to 64"), s.sectors...);
    f("shares", s.shares...);
  }
};
using measured_step = basic_measured_step<>;

/// Bottleneck of a decode step, from few sequences to many.
enum class decode_stage { launch, l2, bandwidth, compute };

constexpr const char* name_of(decode_stage s) {
  constexpr const char* names[] = {"launch", "l2", "bandwidth", "compute"};
  return detail::entry_of(names, s, "decode_stage");
}

/// The stage of a step: the longest of n launches of `cpu`, its memory time, and its compute time.
/// Bytes come from the L2 where all bytes of the step fit there, else from DRAM. The first of equal
/// times wins.
/// *Source:* the four stages of a lab on RTX 5080 with Qwen2.5-3B.
/// *Leaves out:* steps with part of their bytes in the L2.
/// *Tests:* launches of 8 us: Qwen2.5-3B at batch 1 on B200 launch, Llama-3-8B at batch 1 on H100
/// bandwidth, at batch 1024 with short contexts compute; a model of 20 MB on H100 without launches
/// l2.
template <Scalar T>
constexpr decode_stage decode_stage_of(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                       const duration<T>& cpu) {
  const basic_step_demand<T> s = demand_of_step(d, i);
  const bytes<T> moved = s.weights + s.cache;
  const duration<T> launches = s.launches * detail::not_negative("cpu", cpu);
  const bool inside = d.device.l2.capacity.is_stated() && d.device.l2.bandwidth.is_stated() &&
                      upper(moved.value()) <= lower(d.device.l2.capacity.quantity().value());
  const duration<T> memory =
      moved / (inside ? d.device.l2.bandwidth : d.device.dram.bandwidth).quantity();
  const double l = lower(launches.value()), m = lower(memory.value()), c = lower(s.compute.value());
  if (l >= m && l >= c) return decode_stage::launch;
  if (m >= c) return inside ? decode_stage::l2 : decode_stage::bandwidth;
  return decode_stage::compute;
}

}  // namespace perfmodel::inline v0_3
