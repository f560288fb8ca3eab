// ZeRO: training state that data-parallel ranks shard, memory left on each, and bytes sent.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/interconnect.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/parallel/collectives.hpp>

namespace perfmodel::inline v0_3 {

/// Sharded state: none; optimizer state (ZeRO-1); also gradients (ZeRO-2); also parameters (ZeRO-3,
/// FSDP).
enum class zero_stage { none, optimizer, gradients, parameters };

/// Name of a ZeRO stage: what is sharded.
constexpr const char* name_of(zero_stage s) {
  constexpr const char* names[] = {"none", "optimizer", "gradients", "parameters"};
  return detail::entry_of(names, s, "zero_stage");
}

/// Bytes per parameter of each training state. The defaults are mixed-precision Adam's: 16-bit
/// parameters and gradients; fp32 parameters, momentum and variance.
template <Scalar T = double>
struct basic_training_state {
  T parameters = T(2.0), gradients = T(2.0), optimizer = T(12.0);

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::not_negative("parameters"), s.parameters...);
    f(field::not_negative("gradients"), s.gradients...);
    f(field::not_negative("optimizer"), s.optimizer...);
  }
};
using training_state = basic_training_state<>;

/// Bytes per parameter on each of N ranks: 16, 4 + 12/N, 2 + 14/N, 16/N.
/// Source: Rajbhandari et al., "ZeRO", SC20, section 5 and figure 1.
/// Leaves out: activations, buffers and the gathered parameters of the layer in progress.
/// Test: N = 64: 16, 4.19, 2.22, 0.25.
template <Scalar T = double>
constexpr T zero_bytes_per_parameter(zero_stage stage, int data,
                                     const basic_training_state<T>& s = {}) {
  const T n(detail::rank_count("data", data));
  require_valid(s);
  const T &p = s.parameters, &g = s.gradients, &o = s.optimizer;
  switch (stage) {
    case zero_stage::none: return p + g + o;
    case zero_stage::optimizer: return p + g + o / n;
    case zero_stage::gradients: return p + (g + o) / n;
    default: return (p + g + o) / n;
  }
}
/// Bytes of training state on each of N ranks, for a whole model.
/// Test: 7.5e9 parameters over 64 ranks: 120, 31.4, 16.6, 1.9 GB.
template <Scalar T = double>
constexpr bytes<T> zero_memory(zero_stage stage, int data, const T& parameters,
                               const basic_training_state<T>& s = {}) {
  return named("training state", detail::count("parameters", parameters) *
                                     zero_bytes_per_parameter(stage, data, s) * byte);
}

/// Bytes one rank sends in a training step of A microbatches: (N-1)/N P times, for g and p bytes of
/// a gradient and a parameter,
///
///     none       2 g          all-reduce of the gradients, once
///     ZeRO-1     g + p        reduce-scatter of the gradients, all-gather of the parameters
///     ZeRO-2     A g + p      gradients are sharded, so each microbatch reduces them
///     ZeRO-3     A (g + 2 p)  parameters are gathered for each forward and backward pass
///
/// Source: Rajbhandari et al. 2020, section 7, for A = 1; DeepSpeed and FSDP reduce at each
/// backward pass. Leaves out: an unsharded accumulation (FSDP's no_sync), which sends as ZeRO-1.
/// Errors: microbatches below 1.
/// Tests: stage 3 sends 1.5 times the bytes of the others; fp32 gradients of 7.5e9 parameters over
/// 64 ranks are 59.1 GB; 4 microbatches send 4 times as much in stage 3.
template <Scalar T = double>
constexpr wire_bytes<T> zero_traffic(zero_stage stage, int data, const T& parameters,
                                     const basic_training_state<T>& s = {},
                                     const std::type_identity_t<T>& microbatches = T(1.0)) {
  const double part = bus_factor(collective_op::all_gather, data);
  require_valid(s);
  detail::count("microbatches", microbatches);
  T sent = s.gradients + s.parameters;
  if (stage == zero_stage::none) sent = 2.0 * s.gradients;
  if (stage == zero_stage::gradients) sent = microbatches * s.gradients + s.parameters;
  if (stage == zero_stage::parameters) sent = microbatches * (s.gradients + 2.0 * s.parameters);
  return wire_bytes<T>(
      named("wire bytes", part * (detail::count("parameters", parameters) * sent * byte)));
}

/// The all-reduce of all gradients: message = parameters b.
/// Test: 8.03e9 bf16 gradients over 8 ranks at 450 GB/s take 62.5 ms on a ring.
template <Number N>
constexpr auto gradient_all_reduce(int data, const N& parameters, number_format format) {
  using T = promoted<N>;
  basic_collective<T> c;
  c.ranks = data;
  c.message = message_bytes<T>(
      named("message", detail::count("parameters", T(parameters)) * bytes_of(format)));
  return c;
}

/// Training step of one of N ranks. Times are without communication; `pieces` is the number of
/// messages, buckets of gradients or layers of ZeRO-3.
/// Communication occupies `taken` of `sms` while it runs; 0: none.
template <Scalar T = double>
struct basic_data_parallel_step {
  int ranks = 0;
  T parameters{};
  duration<T> forward{}, backward{};
  T pieces = T(1.0);
  zero_stage stage = zero_stage::none;
  basic_training_state<T> state{};
  T sms = T(1.0), taken{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::ranks("ranks"), s.ranks...);
    f(field::count("parameters"), s.parameters...);
    f(field::not_negative("forward"), s.forward...);
    f(field::not_negative("backward"), s.backward...);
    f(field::count("pieces"), s.pieces...);
    f("stage", s.stage...);
    f("state", s.state...);
    f(field::positive("sms"), s.sms...);
    f(field::not_negative("taken"), s.taken...);
  }
};
using data_parallel_step = basic_data_parallel_step<>;

/// Time of a data-parallel training step. f, b: forward and backward; n: pieces; r: time to reduce
/// the gradients of one piece (all-reduce, or reduce-scatter where they are sharded); g: time to
/// gather its parameters.
///
///     plain       f + max(b + r, b/n + n r)                            bucketed_backward
///     ZeRO-1, 2   plain + n g, once the optimizer has run
///     ZeRO-3      g + (n-1) max(f/n, g) + f/n  +  g + (n-1) max(b/n, g + r) + b/n + r
///
/// ZeRO-3 gathers a layer while the one before computes. Hidden communication slows concurrent
/// compute by hidden taken / sms. Terms: forward, backward, exposed communication, SMs of
/// communication; they add up to the time.
/// Sources: Rajbhandari et al. 2020, sections 5 and 7; the schedule of Zhao et al., "PyTorch FSDP",
/// 2023, section 3.3.
/// Leaves out: the optimizer and limits on prefetch.
/// Errors: pieces below 1, taken >= sms. Infeasible: more ranks than the fabric joins.
/// Tests: 8.03e9 bf16 gradients over 8 ranks at 450 GB/s behind 83.1 + 166.3 ms: 311.9 ms in one
/// piece, 249.4 in many; one rank adds nothing; never below compute, nor communication.
template <Scalar T, class Cost = full_link>
constexpr basic_estimate<T> data_parallel_time(const basic_interconnect<T>& fabric,
                                               const basic_data_parallel_step<T>& x,
                                               const Cost& cost = {}) {
  require_valid(x);
  const T& n = x.pieces;
  basic_estimate<T> e;
  const auto piece = [&](collective_op operation, const T& each) -> duration<T> {
    basic_collective<T> c;
    c.operation = operation;
    c.ranks = x.ranks;
    c.message = message_bytes<T>(named("piece", x.parameters / n * each * byte));
    const basic_collective_estimate<T> sent = collective_time(fabric, c, cost);
    if (e.feasible && !sent.feasible) e.feasible = sent.feasible;
    return sent.time;
  };
  const bool plain = x.stage == zero_stage::none;
  const duration<T> r =
      piece(plain ? collective_op::all_reduce : collective_op::reduce_scatter, x.state.gradients);
  const duration<T> g =
      plain ? duration<T>{} : piece(collective_op::all_gather, x.state.parameters);
  duration<T> total_communication = n * (r + g), step_time{};
  if (x.stage == zero_stage::parameters) {
    total_communication += n * g;
    step_time = double_buffered_time(g, duration<T>(x.forward / n), n) + g +
                (n - 1.0) * max(duration<T>(x.backward / n), duration<T>(g + r)) + x.backward / n +
                r;
  } else {
    step_time = x.forward + bucketed_backward(x.backward, duration<T>(n * r), n) + n * g;
  }
  const duration<T> compute = x.forward + x.backward;
  const duration<T> exposed = max(duration<T>(step_time - compute), duration<T>{});
  const duration<T> hidden = max(duration<T>(total_communication - exposed), duration<T>{});
  sm_interference(compute, x.sms, x.taken);  // refuses to give away every SM
  e.terms.add(limiter::compute, "forward", x.forward);
  e.terms.add(limiter::compute, "backward", x.backward);
  e.terms.add(limiter::link, "exposed communication", exposed);
  e.terms.add(limiter::link, "SMs of communication", hidden * (x.taken / x.sms));
  e.limiter = e.terms.limiting();
  e.time = named("step", e.terms.sum());
  return e;
}

}  // namespace perfmodel::inline v0_3

// Cost of communication for concurrent kernels: the SMs it occupies, and the time that stays
// exposed.

namespace perfmodel::inline v0_3 {

/// SMs that NCCL's kernel occupies while it runs: one thread block for each channel, and one SM for
/// each block.
/// 24 channels on NVLink (NVIDIA/nccl-tests issue 194: 24 trees on 2 H100), 4 over PCIe
/// (NVIDIA/nccl issue 1706), 16 between nodes (NVIDIA/nccl issue 1453: 3 nodes of 8 H100).
/// Leaves out: NCCL_MIN_CTAS and NCCL_MAX_CTAS, and the fewer channels of messages below some 64
/// KiB each.
/// Test: 24 of 132 SMs slow a concurrent GEMM by 22.2 %.
constexpr double communication_sms(link_kind kind) {
  switch (kind) {
    case link_kind::none: return 0.0;
    case link_kind::pcie: return 4.0;
    case link_kind::ethernet:
    case link_kind::infiniband: return 16.0;
    default: return 24.0;
  }
}
/// SMs for the dispatch and the combine of experts: 20 of H800's 132. Source: DeepSeek-AI,
/// "DeepSeek-V3 Technical Report", 2024, section 3.2.2.
inline constexpr double expert_exchange_sms = 20.0;

/// Compute and communication that run concurrently. `lost` is the extra compute time on the
/// remaining SMs, `exposed` the communication time after the compute has ended.
template <Scalar T = double>
struct basic_overlap_estimate {
  duration<T> time{};
  duration<T> lost{};
  duration<T> exposed{};
};
using overlap_estimate = basic_overlap_estimate<>;

/// Time of concurrent compute and communication that start at once, where the communication
/// occupies `taken` of `sms` until it ends. compute and communication are the times of each when it
/// runs by itself.
///
///     slowed  = compute sms / (sms - taken)                 while both run
///     lost    = min(communication, slowed) taken / sms
///     exposed = max(0, communication - slowed)
///     time    = compute + lost + exposed
///
/// Leaves out: contention for memory and L2, and that a GEMM's tiles fill whole waves.
/// Errors: taken >= sms; negative times.
/// Tests: time is overlap_with_sm_copy's; nothing to send costs nothing; 10 ms with 5 ms on 20 of
/// 132 SMs: 10.758 ms.
template <Scalar T>
constexpr basic_overlap_estimate<T> overlap_with_collective(const duration<T>& compute,
                                                            const duration<T>& communication,
                                                            const std::type_identity_t<T>& sms,
                                                            const std::type_identity_t<T>& taken) {
  const duration<T> slowed = sm_interference(compute, sms, taken);
  detail::not_negative("communication", communication);
  basic_overlap_estimate<T> e;
  e.lost = named("lost", min(communication, slowed) * (taken / sms));
  e.exposed = exposed_time(communication, slowed);
  e.time = named("time", compute + e.lost + e.exposed);
  return e;
}

}  // namespace perfmodel::inline v0_3
