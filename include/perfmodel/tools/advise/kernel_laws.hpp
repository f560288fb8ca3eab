// What tricks inside and between kernels bring: each the time without over the time with, below 1 a loss.
#pragma once

#include <perfmodel/laws/fusion.hpp>
#include <perfmodel/laws/launch.hpp>
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/laws/warp.hpp>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel {

/// Launches in a graph, of shapes that each come back `calls` times for one capture:
/// calls x stream / (capture + calls x graph). Dynamic shapes come back seldom.
/// Tests: 2100 x 7.5 us beside 10 ms, nodes of 1 us: 15.75 / 12.1075 = 1.301 without end; 10 calls of a
/// capture of 1 s: 0.14.
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

/// Kernels in one, memory-bound: what they move over what the fused one moves with what it spills.
/// Tests: bias, GELU and dropout of 4096 x 2048 in 2 bytes: 100.7 over 33.6 MB, 3; with 300 registers a
/// thread for each element 100.7 / (33.6 + 3020): 0.033.
template <Scalar T>
constexpr T fusion_gain(const bytes<T>& before, const basic_fusion_saving<T>& saving,
                        const bytes<T>& spilled = {}) {
  const bytes<T> after = detail::positive("before", before) - saving.dram.total() +
                         detail::not_negative("spilled", spilled);
  return named("gain of fusion", T(before / detail::positive("after", after)));
}

/// One launch that works through a queue, against `launches` of them: (work + n t) / (max/mean work + t).
/// `imbalance` is the most work of an SM over the mean.
/// Tests: 100 us in 10 launches of 2 us: 120 / 102 = 1.176; with 1.3 on one SM 120 / 132 = 0.909.
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

/// n kernels of one length side by side: n t / (max(n t share, t) + n event), each of which keeps `share` of
/// the scarcest resource busy. Tests: 4 of a quarter each gain 4; that fill the device, 1, less events.
template <Scalar T>
constexpr T streams_gain(const std::type_identity_t<T>& kernels, const duration<T>& each,
                         const std::type_identity_t<T>& share, const duration<T>& event = {}) {
  detail::count("kernels", kernels);
  detail::positive("each", each);
  detail::fraction("share", share);
  const duration<T> serial = kernels * each;
  const duration<T> side_by_side = max(duration<T>(share * serial), each);
  return named("gain of streams",
               T(serial / (side_by_side + kernels * detail::not_negative("event", event))));
}

/// Waits for the device taken out: n (cpu + sync) + work over max(n cpu, work + n gap).
/// Tests: 50 x 10 us beside 2 ms gain 1.25; with waits of nothing and a work of nothing, 1.
template <Scalar T>
constexpr T unsynchronised_gain(const basic_launch_costs<T>& c, const std::type_identity_t<T>& n,
                                const duration<T>& work) {
  return named("gain of no waits",
               T(synchronised_time(c, n, work).time / stream_launch_time(c, n, work).time));
}

/// A product cut s ways along k: ceil(tiles / SMs) over ceil(tiles s / SMs) / s + `reduction`, what adding up
/// takes of the uncut time. Tests: 16 tiles on 132 SMs, 8 ways, 5 %: 1 / 0.175 = 5.7; 132 tiles 2 ways: 0.95.
template <Scalar T>
constexpr T split_k_gain(const T& tiles, const std::type_identity_t<T>& sms, const int splits,
                         const std::type_identity_t<T>& reduction) {
  using math::ceil;
  const double s = detail::count("splits", double(splits));
  const T before = ceil(T(detail::count("tiles", tiles) / detail::count("sms", sms)));
  const T after = ceil(T(tiles * s / sms)) / s + detail::not_negative("reduction", reduction);
  return named("gain of split-K", T(before / after));
}

/// A load of a stride made one of neighbours: bytes moved before over after.
/// Tests: fully scattered 4-byte elements gain 8; stride 1 nothing.
constexpr double coalescing_gain(int stride, int element_bytes) {
  return access_amplification(stride, element_bytes) / access_amplification(1, element_bytes);
}

/// Loads of `width` elements in place of one, for rows of `row` elements: ceil(row / 32) over
/// ceil(row / (32 w)); rows that w does not divide are not aligned, and take a second pass for the tail.
/// Tests: rows of 4096, 8 wide: 8; of 33, 8 wide: 2 / 3.
constexpr double vector_access_gain(int row, int width) {
  detail::count("row", double(row));
  detail::count("width", double(width));
  const int wide = warp_lanes * width;
  const int before = (row + warp_lanes - 1) / warp_lanes;
  const int tail = row % width == 0 ? 0 : 2;
  return double(before) / ((row + wide - 1) / wide + tail);
}

/// A tile read by columns, swizzled: ways of the conflict in rows over those swizzled, `extra` being what the
/// address costs of one access. Tests: 32 words: 32 / 1.05; 33 words: no conflict, 1 / 1.05 = 0.95.
constexpr double swizzle_gain(int row_words, double extra = 0.05) {
  detail::not_negative("extra", extra);
  return bank_conflict_ways(row_words) /
         (bank_conflict_ways(row_words, tile_layout::xor_swizzled) + extra);
}

/// DRAM bytes of a product of which each tile reads its operands: m n k b (1/tm + 1/tn).
/// Source: counting; tiles of one element read everything again. Test: 4096^3 in 128 x 128 and bf16: 2.1 GB.
template <Scalar T>
constexpr bytes<T> tiled_traffic(const T& m, const T& n, const T& k, const T& tile_m,
                                 const T& tile_n, number_format f) {
  for (const T& x : {m, n, k, tile_m, tile_n}) detail::count("dimension", x);
  return named("tiled bytes", m * n * k * (1.0 / tile_m + 1.0 / tile_n) * bytes_of(f));
}

/// Tiles in shared memory: bytes without over bytes with, times the share of bandwidth that the warps left can
/// keep in flight. Tests: 1 x 1 to 64 x 64: 64; tiles of which none fits an SM: 0.
template <Scalar T>
constexpr T tiling_gain(const T& tile, const basic_sm_limits<T>& sm,
                        const basic_thread_block<T>& block,
                        const std::type_identity_t<T>& warps_for_bandwidth) {
  const T warps = resident_blocks(sm, block) * block.warps;
  return named("gain of tiles",
               T(detail::count("tile", tile) *
                 scalar_min(T(warps / detail::count("warps", warps_for_bandwidth)), T(1.0))));
}

/// s tiles under way at once: (latency + compute) / max(compute, (latency + compute) / s).
/// Tests: 600 ns behind 250 ns: 4 stages gain 3.4, all there is; 1 stage nothing.
template <Scalar T>
constexpr T async_copy_gain(const duration<T>& latency, const duration<T>& compute,
                            const std::type_identity_t<T>& stages) {
  const duration<T> one =
      detail::not_negative("latency", latency) + detail::positive("compute", compute);
  return named("gain of stages",
               T(one / max(compute, duration<T>(one / detail::count("stages", stages)))));
}

/// Two buffers of a tile: n (load + compute) / double_buffered_time, times the blocks that fit with two over
/// those with one. Tests: equal times, many tiles: 2; where two buffers halve the blocks: 1.
template <Scalar T>
constexpr T double_buffering_gain(const duration<T>& loading, const duration<T>& compute,
                                  const std::type_identity_t<T>& tiles,
                                  const std::type_identity_t<T>& blocks_left = T(1.0)) {
  const duration<T> serial = tiles * (loading + compute);
  return named("gain of two buffers", T(detail::fraction("blocks_left", blocks_left) * serial /
                                        double_buffered_time(loading, compute, tiles)));
}

/// A reduction over n lanes by shuffles against shared memory: each step of the latter stores, waits and
/// loads; lanes of several warps still do so once. Cycles. Tests: 32 lanes, 30 + 20 + 30 against 6:
/// 5 x 80 / (5 x 6) = 13.3; 1024 lanes: 10 x 80 / (10 x 6 + 80) = 5.7.
template <Scalar T>
constexpr T shuffle_gain(int lanes, const T& store_wait_load,
                         const std::type_identity_t<T>& shuffle) {
  const double steps = reduction_steps(lanes);
  const T across = lanes > warp_lanes ? store_wait_load : T(0.0);
  const T after = steps * detail::positive("shuffle", shuffle) + across;
  return named("gain of shuffles", T(steps * detail::positive("cycles", store_wait_load) / after));
}

/// Products that take operands from shared memory: min(R, BW b^-1 x 2 tm tn / (tm + tn)) of a large tile over
/// a small one, as far as copies `feed` the large one. Tests: tiles that both reach R gain nothing; a feed of
/// half the operands halves it.
template <Scalar T>
constexpr T wide_instruction_gain(const flop_rate<T>& peak, const bandwidth<T>& shared,
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

/// A transfer from pinned memory beside work, against one of pageable memory before it:
/// (work + bytes (1/link + 1/host copy)) / max(work, bytes/link) + pinning.
/// Tests: 1 GB at 50 and 10 GB/s beside 20 ms: 140 / 20 = 7; nothing to copy: below 1 by the pinning.
template <Scalar T>
constexpr T pinned_copy_gain(const duration<T>& work, const bytes<T>& copied,
                             const bandwidth<T>& link, const bandwidth<T>& host_copy,
                             const duration<T>& pinning = {}) {
  const duration<T> transfer =
      detail::not_negative("copied", copied) / detail::positive("link", link);
  const duration<T> before =
      detail::positive("work", work) + transfer + copied / detail::positive("host_copy", host_copy);
  return named("gain of pinned copies",
               T(before / (max(work, transfer) + detail::not_negative("pinning", pinning))));
}

}  // namespace perfmodel
