// Cost of communication for concurrent kernels: the SMs it occupies, and the time that stays
// exposed.
#pragma once

#include <perfmodel/hardware/interconnect.hpp>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/parallel/collectives.hpp>

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
