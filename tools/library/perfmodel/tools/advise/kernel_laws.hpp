// Gains of kernel techniques: time without the technique over time with it; below 1 is a loss.
#pragma once

#include <perfmodel/laws/fusion.hpp>
#include <perfmodel/laws/launch.hpp>
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/laws/warp.hpp>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel::inline v0_3 {

/// Gain of a CUDA graph that is replayed `calls` times: calls stream / (capture + calls graph).
/// Dynamic shapes have few calls for each capture.
/// *Tests:* 2100 launches of 7.5 us, 10 ms of work, nodes of 1 us: 15.75 / 12.1075 = 1.301 in the
/// limit; 10 calls of a capture of 1 s: 0.14.
template <Scalar T>
constexpr T graph_gain(const basic_launch_costs<T>& c, const std::type_identity_t<T>& kernels,
                       const duration<T>& work, const duration<T>& capture,
                       const std::type_identity_t<T>& calls) {
  detail::count("calls", calls);
  const duration<T> before = calls * stream_launch_time(c, kernels, work).time;
  const duration<T> after =
      detail::not_negative("capture", capture) + calls * graph_time(c, kernels, work).time;
  return named("gain of a graph", T(before / after));
}

/// Gain of fusing memory-bound kernels: bytes before / (bytes after + spilled registers).
/// *Tests:* bias, GELU and dropout of 4096 x 2048 in 2 bytes: 100.7 over 33.6 MB, 3; with 300
/// registers a thread for each element 100.7 / (33.6 + 3020): 0.033.
template <Scalar T>
constexpr T fusion_gain(const bytes<T>& before, const basic_fusion_saving<T>& saving,
                        const bytes<T>& spilled = {}) {
  const bytes<T> after = detail::positive("before", before) - saving.dram.total() +
                         detail::not_negative("spilled", spilled);
  return named("gain of fusion", T(before / detail::positive("after", after)));
}

/// Gain of one persistent kernel over n launches of time t: (work + n t) / (imbalance work + t).
/// `imbalance`: largest work of an SM over the mean.
/// *Tests:* 100 us in 10 launches of 2 us: 120 / 102 = 1.176; with 1.3 on one SM 120 / 132 = 0.909.
template <Scalar T>
constexpr T persistent_kernel_gain(const duration<T>& work, const std::type_identity_t<T>& launches,
                                   const duration<T>& launch,
                                   const std::type_identity_t<T>& imbalance = T(1.0)) {
  detail::positive("work", work);
  detail::count("launches", launches);
  detail::not_negative("launch", launch);
  detail::count("imbalance", imbalance);
  return named("gain of one kernel", T((work + launches * launch) / (imbalance * work + launch)));
}

/// Gain of n concurrent kernels of time t: n t / (max(n t share, t) + n event).
/// `share`: use of the scarcest resource by one kernel.
/// *Tests:* 4 kernels with a share of 1/4 gain 4; kernels that fill the device 1, less the events.
template <Scalar T>
constexpr T streams_gain(const std::type_identity_t<T>& kernels, const duration<T>& each,
                         const std::type_identity_t<T>& share, const duration<T>& event = {}) {
  detail::count("kernels", kernels);
  detail::positive("each", each);
  detail::fraction("share", share);
  const duration<T> serial = kernels * each;
  const duration<T> concurrent = max(duration<T>(share * serial), each);
  return named("gain of streams",
               T(serial / (concurrent + kernels * detail::not_negative("event", event))));
}

/// Gain of removing n synchronisations: (n (cpu + sync) + work) / max(n cpu, work + n gap).
/// *Tests:* 50 of 10 us with 2 ms of work gain 1.25; synchronisations and work of 0 gain 1.
template <Scalar T>
constexpr T unsynchronised_gain(const basic_launch_costs<T>& c, const std::type_identity_t<T>& n,
                                const duration<T>& work) {
  return named("gain of no waits",
               T(synchronised_time(c, n, work).time / stream_launch_time(c, n, work).time));
}

/// Gain of split-K: ceil(tiles / SMs) / (ceil(tiles s / SMs) / s + reduction).
/// `reduction`: time of adding the partial sums over the time of the GEMM without splits.
/// *Tests:* 16 tiles on 132 SMs, 8 splits, 5 %: 1 / 0.175 = 5.7; 132 tiles, 2 splits: 0.95.
template <Scalar T>
constexpr T split_k_gain(const T& tiles, const std::type_identity_t<T>& sms, const int splits,
                         const std::type_identity_t<T>& reduction) {
  using math::ceil;
  const double s = detail::count("splits", double(splits));
  const T before = ceil(T(detail::count("tiles", tiles) / detail::count("sms", sms)));
  const T after = ceil(T(tiles * s / sms)) / s + detail::not_negative("reduction", reduction);
  return named("gain of split-K", T(before / after));
}

/// Gain of coalesced loads: bytes moved with a stride over bytes moved without one.
/// *Tests:* fully scattered 4-byte elements gain 8; stride 1 nothing.
constexpr double coalescing_gain(int stride, int element_bytes) {
  return access_amplification(stride, element_bytes) / access_amplification(1, element_bytes);
}

/// Gain of vectorised loads of w elements: ceil(row / 32) / (ceil(row / (32 w)) + tail).
/// The tail is 2 loads where w does not divide the row, because rows are then not aligned, else 0.
/// *Tests:* rows of 4096, w = 8: 8; rows of 33, w = 8: 2 / 3.
constexpr double vector_access_gain(int row, int elements) {
  detail::count("row", double(row));
  detail::count("elements", double(elements));
  const int per_warp = warp_lanes * elements;
  const int before = (row + warp_lanes - 1) / warp_lanes;
  const int tail = row % elements == 0 ? 0 : 2;
  return double(before) / ((row + per_warp - 1) / per_warp + tail);
}

/// Gain of swizzling a tile that is read by columns: bank conflicts without / (with + extra).
/// `extra`: cost of the address computation over one access.
/// Rows that are no power of 2 have no XOR swizzle, and keep their conflicts.
/// *Tests:* 32 words: 32 / 1.05; 8 words: 8 / 4.05; 33 words: no conflict, 1 / 1.05 = 0.95.
constexpr double swizzle_gain(int row_words, double extra = 0.05) {
  detail::not_negative("extra", extra);
  const int ways = bank_conflict_ways(row_words);
  const bool can = (row_words & (row_words - 1)) == 0;
  return ways / ((can ? bank_conflict_ways(row_words, tile_layout::xor_swizzled) : ways) + extra);
}

/// Gain of tiles in shared memory: tile x min(resident warps / warps for full bandwidth, 1).
/// *Tests:* 1 x 1 to 64 x 64: 64; a tile that does not fit an SM: 0.
template <Scalar T>
constexpr T tiling_gain(const T& tile, const basic_sm_limits<T>& sm,
                        const basic_thread_block<T>& block,
                        const std::type_identity_t<T>& warps_for_bandwidth) {
  const T warps = resident_blocks(sm, block) * block.warps;
  return named("gain of tiles",
               T(detail::count("tile", tile) *
                 scalar_min(T(warps / detail::count("warps", warps_for_bandwidth)), T(1.0))));
}

/// Gain of s pipeline stages: (latency + compute) / max(compute, (latency + compute) / s).
/// *Tests:* latency 600 ns, compute 250 ns: 4 stages gain 3.4, the maximum; 1 stage nothing.
template <Scalar T>
constexpr T async_copy_gain(const duration<T>& latency, const duration<T>& compute,
                            const std::type_identity_t<T>& stages) {
  const duration<T> one =
      detail::not_negative("latency", latency) + detail::positive("compute", compute);
  return named("gain of stages",
               T(one / max(compute, duration<T>(one / detail::count("stages", stages)))));
}

/// Gain of double buffering: blocks_left n (load + compute) / double_buffered_time.
/// `blocks_left`: resident blocks with two buffers over those with one.
/// *Tests:* equal times, many tiles: 2; half of the blocks left: 1.
template <Scalar T>
constexpr T double_buffering_gain(const duration<T>& loading, const duration<T>& compute,
                                  const std::type_identity_t<T>& tiles,
                                  const std::type_identity_t<T>& blocks_left = T(1.0)) {
  const duration<T> serial = tiles * (loading + compute);
  return named("gain of two buffers", T(detail::fraction("blocks_left", blocks_left) * serial /
                                        double_buffered_time(loading, compute, tiles)));
}

/// Gain in cycles of a reduction by warp shuffles over one through shared memory.
/// A step through shared memory stores, waits and loads; several warps exchange once that way too.
/// *Tests:* 32 lanes, 30 + 20 + 30 against 6 cycles: 5 x 80 / (5 x 6) = 13.3; 1024 lanes:
/// 10 x 80 / (10 x 6 + 80) = 5.7.
template <Scalar T>
constexpr T shuffle_gain(int lanes, const T& store_wait_load,
                         const std::type_identity_t<T>& shuffle) {
  const double steps = reduction_steps(lanes);
  const T between_warps = lanes > warp_lanes ? store_wait_load : T(0.0);
  const T after = steps * detail::positive("shuffle", shuffle) + between_warps;
  return named("gain of shuffles", T(steps * detail::positive("cycles", store_wait_load) / after));
}

/// Gain of larger matrix instructions with operands in shared memory: feed r(large) / r(small),
/// with the rate r = min(R, BW b^-1 x 2 tm tn / (tm + tn)).
/// `feed`: share of the operands that arrive in time for the large instruction.
/// *Tests:* tiles that both reach R gain nothing; a feed of 1/2 halves the gain.
template <Scalar T>
constexpr T matrix_instruction_gain(const flop_rate<T>& peak, const bandwidth<T>& shared,
                                    const bytes<T>& element,
                                    const std::type_identity_t<T>& small_tile,
                                    const std::type_identity_t<T>& large_tile,
                                    const std::type_identity_t<T>& feed = T(1.0)) {
  const auto reached = [&](const T& tile) {
    const auto operands = detail::positive("shared", shared) / detail::positive("element", element);
    return min(detail::positive("peak", peak),
               flop_rate<T>(detail::count("tile", tile) * operands * flop));
  };
  return named("gain of instructions",
               T(detail::fraction("feed", feed) * reached(large_tile) / reached(small_tile)));
}

/// Gain of an asynchronous copy from pinned memory over a blocking one from pageable memory:
/// (work + bytes (1/link + 1/host copy)) / (max(work, bytes/link) + pinning).
/// *Tests:* 1 GB at 50 and 10 GB/s with 20 ms of work: 140 / 20 = 7; without bytes below 1.
template <Scalar T>
constexpr T pinned_copy_gain(const duration<T>& work, const bytes<T>& transferred,
                             const bandwidth<T>& link, const bandwidth<T>& host_copy,
                             const duration<T>& pinning = {}) {
  const duration<T> transfer =
      detail::not_negative("transferred", transferred) / detail::positive("link", link);
  const duration<T> before = detail::positive("work", work) + transfer +
                             transferred / detail::positive("host_copy", host_copy);
  return named("gain of pinned memory",
               T(before / (max(work, transfer) + detail::not_negative("pinning", pinning))));
}

}  // namespace perfmodel::inline v0_3
