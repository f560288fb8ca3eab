// What a measured pass may suffer from: each cause with what to do about it and what to look at next.
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

namespace perfmodel {

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
  many_small_kernels,
  memory_bandwidth,
  memory_latency,
  access_pattern,
  compute
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
                                   "many_small_kernels",
                                   "memory_bandwidth",
                                   "memory_latency",
                                   "access_pattern",
                                   "compute"};
  return detail::entry_of(names, b, "bottleneck");
}

/// What takes such a cause away, and what tells whether it was the cause.
constexpr const char* lever_of(bottleneck b) {
  constexpr const char* levers[] = {
      "nothing stands out",
      "none: correct the measurement or the shape",
      "more workers, prefetching, tokenising ahead",
      "take work off the host: no Python per kernel, schedule one pass ahead, faster cores",
      "CUDA graphs, a compiler, fusion: fewer launches",
      "overlap: buckets, pieces, another layout; a faster path (one-shot, in-network)",
      "even shares: capacity of experts, splits of tensors, lengths balanced, a slow device out",
      "buffers that stay: memory planning, a pool, recomputation",
      "fuse: scores and intermediates stay on the chip (FlashAttention, fused norms)",
      "fuse what is no matrix product; one kernel for a chain",
      "fewer bytes: narrower formats, larger batches, speculation, reuse by tiles",
      "more loads under way: wider loads, more warps or stages, blocks for all SMs (split-K)",
      "coalesce and align, another layout, blocks of the cache, a smaller hot set for the L2",
      "narrower formats the units multiply, sparsity, less work; more devices"};
  return detail::entry_of(levers, b, "bottleneck");
}
constexpr const char* check_of(bottleneck b) {
  constexpr const char* checks[] = {
      "measure shares and counters of a trace",
      "warm caches, repeated inputs, clocks, a cache in fp8, the shape, the unit",
      "utilisation that drops periodically; the time with synthetic inputs",
      "the CPU row of a trace: is the launching thread always busy?",
      "the time with graphs on; the capture's warm-up and its memory",
      "whether bars of collectives lie in gaps of the compute row; bucket sizes",
      "the same collective on each rank: who comes last, and is it always the same?",
      "the allocator's trace: sizes that recur each pass",
      "DRAM bytes of the pass against those of the model; peaks of memory",
      "the distribution of kernel lengths; the share of GEMMs",
      "DRAM throughput of the longest kernel: above 80 % of the peak it is done",
      "stalls on long scoreboards, occupancy, blocks against SMs",
      "sectors per request (4 are best for 4-byte elements, 16 for 16-byte), L2 hits",
      "tensor pipe in use; clocks and power; tiles that are padded"};
  return detail::entry_of(checks, b, "bottleneck");
}

/// One cause, the share of the time it is taken to explain, and by what.
struct finding {
  bottleneck cause = bottleneck::none;
  double share = 0.0;
  std::string evidence{};
  bool inferred = false;  ///< nobody measured it as such
};

/// Shares of the time of a trace, as far as they are known; they need not sum to 1.
template <Scalar T = double>
struct basic_trace_shares {
  std::optional<T> input{};          ///< waiting for data, files, tokenisers
  std::optional<T> host{};           ///< waiting for the CPU, launches left out
  std::optional<T> launch{};         ///< gaps between kernels
  std::optional<T> communication{};  ///< collectives that nothing hides
  std::optional<T> waiting{};        ///< for other devices
  std::optional<T> allocation{};
  std::optional<T> gemm{};
  std::optional<T> attention{};
  std::optional<T> elementwise{};  ///< norms, activations, copies
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

/// What was measured of a pass: its time, and what counters and traces say beside. Everything is of one
/// device; `gpu_busy` is the share of the time in which any kernel ran.
template <Scalar T = double>
struct basic_measured_step {
  duration<T> time{};
  std::optional<bandwidth<T>> dram{};
  std::optional<flop_rate<T>> achieved{};
  std::optional<T> gpu_busy{};
  std::optional<duration<T>> launch_gaps{};
  std::optional<T> l2_hit{};
  std::optional<T> sectors{};  ///< per request of a warp
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

// The four stages of decoding: launches, the L2, DRAM, compute.

/// What a step of decoding waits for, from few sequences to many.
enum class decode_stage { launch, l2, bandwidth, compute };

constexpr const char* name_of(decode_stage s) {
  constexpr const char* names[] = {"launch", "l2", "bandwidth", "compute"};
  return detail::entry_of(names, s, "decode_stage");
}

/// The stage of a step: the longest of n launches at `cpu` each, its bytes (from the L2 where those of the whole
/// step fit there, else from DRAM) and its FLOP. Ties go to the first. Source: the four stages of a lab on
/// RTX 5080 with Qwen2.5-3B. Leaves out kernels of which some have their bytes in the L2.
/// Tests: launches of 8 us: Qwen2.5-3B alone on B200 launch, Llama-3-8B alone on H100 bandwidth, with 1024
/// short ones compute; a model of 20 MB on H100 without launches l2.
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

}  // namespace perfmodel
