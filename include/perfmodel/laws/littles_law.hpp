// Little's law L = lambda W, for bytes, requests and tokens.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/laws/order_statistics.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>
#include <perfmodel/units/named.hpp>

namespace perfmodel::inline v0_3 {

/// Bytes that must be in flight to keep a memory busy: latency x bandwidth. Source: Little, "A
/// Proof for the Queuing Formula L = lambda W", Operations Research 9(3), 1961. Leaves out that
/// latency grows under load. Errors: not positive. Test: 300 ns at 3.35 TB/s are 1.005 MB.
template <Scalar T>
constexpr bytes<T> bytes_in_flight(const duration<T>& latency,
                                   const perfmodel::bandwidth<T>& bandwidth) {
  return named("bytes in flight",
               detail::positive("latency", latency) * detail::positive("bandwidth", bandwidth));
}

/// Bandwidth that `in_flight` bytes sustain: in_flight / latency.
/// Test: the inverse of bytes_in_flight.
template <Scalar T>
constexpr perfmodel::bandwidth<T> bandwidth_from_concurrency(const bytes<T>& in_flight,
                                                             const duration<T>& latency) {
  return detail::not_negative("in_flight", in_flight) / detail::positive("latency", latency);
}

/// min(peak, in_flight / latency): a memory is as fast as its pins or as its queue of loads.
template <Scalar T>
constexpr perfmodel::bandwidth<T> attainable_bandwidth(
    const perfmodel::bandwidth<T>& peak_bandwidth, const bytes<T>& in_flight,
    const duration<T>& latency) {
  return min(detail::positive("peak_bandwidth", peak_bandwidth),
             bandwidth_from_concurrency(in_flight, latency));
}

/// Mean latency of the slowest of `loads` lines, which a warp waits for:
/// latency + deviation x the largest of `loads` normal values (order_statistics.hpp), with the
/// standard deviation of single loads.
/// Source: Blom 1958, as there.
/// Leaves out: correlated slow lines, a latency that is skewed or grows under load. Errors: latency
/// not positive, deviation negative, loads outside 1 to 64.
/// Tests: one load takes the latency; tabled means of 2, 4 and 8; never less for more loads.
template <Scalar T>
constexpr duration<T> slowest_load(const duration<T>& latency, const duration<T>& deviation,
                                   const std::type_identity_t<T>& loads) {
  detail::within("loads", loads, 1.0, 64.0, "1 to 64");
  return named("slowest load",
               detail::positive("latency", latency) + detail::not_negative("deviation", deviation) *
                                                          detail::largest_of_normals(loads));
}

/// Memory parallelism of a kernel: resident warps per SM, independent loads per warp, bytes per
/// load of a whole warp (32 lanes of a float4 are 512 bytes).
template <Scalar T = double>
struct basic_memory_parallelism {
  T sms{};
  T warps{};
  T loads = T(1.0);
  bytes<T> bytes_per_load{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("sms", s.sms...);
    f("warps", s.warps...);
    f("loads", s.loads...);
    f("bytes_per_load", s.bytes_per_load...);
  }
};
using memory_parallelism = basic_memory_parallelism<>;

/// sms x warps x loads x bytes per load. Test: 132 SMs x 16 warps x 1 x 512 B are 1.081 MB.
template <Scalar T>
constexpr bytes<T> bytes_in_flight(const basic_memory_parallelism<T>& k) {
  return named("bytes in flight", detail::count("sms", k.sms) *
                                      detail::not_negative("warps", k.warps) *
                                      detail::not_negative("loads", k.loads) *
                                      detail::not_negative("bytes_per_load", k.bytes_per_load));
}

/// Warps per SM that cover the latency: ceil(latency x bandwidth / (sms x loads x bytes per load)).
/// Test: 300 ns, 3.35 TB/s, 132 SMs, 1 load of 512 B need 15 warps.
template <Scalar T>
constexpr T warps_needed(const duration<T>& latency, const perfmodel::bandwidth<T>& bandwidth,
                         const basic_memory_parallelism<T>& k) {
  using math::ceil;
  const bytes<T> per_warp = detail::count("sms", k.sms) * detail::positive("loads", k.loads) *
                            detail::positive("bytes_per_load", k.bytes_per_load);
  return named("warps needed", ceil(T(bytes_in_flight(latency, bandwidth) / per_warp)));
}

/// Resources of one SM for thread blocks. The defaults are an H100's: 64 warps, 32 blocks, 65,536
/// registers, 228 KiB of shared memory. Source: Modal, "GPU Glossary", page on occupancy. The 1 KiB
/// reserved per block is 228 KiB less the 227 KiB one block may have.
template <Scalar T = double>
struct basic_sm_limits {
  T warps = T(64.0);
  T blocks = T(32.0);
  T registers = T(65536.0);
  bytes<T> shared = bytes<T>::from_value(T(233472.0));
  bytes<T> reserved_per_block = bytes<T>::from_value(T(1024.0));

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("warps", s.warps...);
    f("blocks", s.blocks...);
    f("registers", s.registers...);
    f("shared", s.shared...);
    f("reserved_per_block", s.reserved_per_block...);
  }
};
using sm_limits = basic_sm_limits<>;

/// Resources of one thread block.
template <Scalar T = double>
struct basic_thread_block {
  T warps = T(1.0);
  T registers_per_thread = T(32.0);
  bytes<T> shared{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("warps", s.warps...);
    f("registers_per_thread", s.registers_per_thread...);
    f("shared", s.shared...);
  }
};
using thread_block = basic_thread_block<>;

/// Resident blocks per SM: the least of what warps, block slots, registers and shared memory allow,
/// each rounded down. 0 when one block does not fit. Leaves out the granularity of register
/// allocation (256 per warp).
/// Test: 98,304 B of shared memory each leave room for 2 blocks.
template <Scalar T>
constexpr T resident_blocks(const basic_sm_limits<T>& sm, const basic_thread_block<T>& block) {
  using math::floor;
  const T by_warps = detail::count("sm.warps", sm.warps) / detail::count("warps", block.warps);
  const T by_registers =
      detail::count("sm.registers", sm.registers) /
      (block.warps * 32.0 * detail::count("registers_per_thread", block.registers_per_thread));
  const bytes<T> asked = detail::not_negative("shared", block.shared) +
                         detail::not_negative("sm.reserved_per_block", sm.reserved_per_block);
  const T by_shared =
      detail::positive("sm.shared", sm.shared) / max(asked, bytes<T>::from_value(T(1.0)));
  const T by_resources =
      scalar_min(scalar_min(floor(by_warps), floor(by_registers)), floor(by_shared));
  return named("resident blocks", scalar_min(by_resources, detail::count("sm.blocks", sm.blocks)));
}

/// Resident warps over the most an SM can hold: 0 .. 1. Test: 8 warps of 64 registers reach 0.5.
template <Scalar T>
constexpr T occupancy(const basic_sm_limits<T>& sm, const basic_thread_block<T>& block) {
  return named("occupancy", resident_blocks(sm, block) * block.warps / sm.warps);
}

/// Requests in a system = arrivals x time each spends there. Test: 2 req/s for 5 s are 10.
template <Scalar T>
constexpr requests<T> requests_in_system(const request_rate<T>& arrivals, const duration<T>& time) {
  return named("requests in system",
               detail::not_negative("arrivals", arrivals) * detail::not_negative("time", time));
}

/// Streams that decode at once = tokens per second x inter-token latency, since each stream emits
/// one token per latency. Test: 280 tok/s at 85 ms need 23.8 streams, not 4.
template <Scalar T>
constexpr T concurrent_sequences(const token_rate<T>& throughput,
                                 const duration<T>& inter_token_latency) {
  return named("streams", T(detail::not_negative("throughput", throughput) *
                            detail::positive("inter_token_latency", inter_token_latency) / token));
}

/// Tokens per second of decoding streams = streams / inter-token latency.
/// Test: 64 streams at 120 ms give 533.3 tok/s.
template <Scalar T>
constexpr token_rate<T> throughput_of(const std::type_identity_t<T>& concurrent_streams,
                                      const duration<T>& inter_token_latency) {
  return named("throughput", detail::not_negative("concurrent_streams", concurrent_streams) *
                                 token /
                                 detail::positive("inter_token_latency", inter_token_latency));
}

/// Time between two tokens of one stream = streams / tokens per second, the third corner of the two
/// above. Test: one stream at 120 tok/s waits 8.33 ms.
template <Scalar T>
constexpr duration<T> inter_token_latency_of(const std::type_identity_t<T>& concurrent_streams,
                                             const token_rate<T>& throughput) {
  return named("inter-token latency",
               detail::not_negative("concurrent_streams", concurrent_streams) * token /
                   detail::positive("throughput", throughput));
}

}  // namespace perfmodel::inline v0_3
