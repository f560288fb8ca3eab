// Data paths of a kernel: tiles, spills, accumulators, L2 persistence, vector loads, bulk
// transfers, selections, host transfers.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>
#include <perfmodel/units/named.hpp>

namespace perfmodel::inline v0_3 {

/// DRAM or cache bytes of a tiled GEMM C[m,n] = A[m,k] B[k,n]: each column of tiles reads A, each
/// row of tiles reads B, and C is written once: b (m k ceil(n/tn) + k n ceil(m/tm) + m n).
/// Source: counted here; Hong and Kung, "I/O complexity", 1981, has its order as a lower bound.
/// Leaves out hits in a cache below the tiles, padding. Errors: a dimension or a tile below 1.
/// Tests: 4096^3 in fp16 by 128 x 128 moves 2.18 GB, 21.7 times its 100.7 MB; m = 1: 33.8 MB, and
/// never less than A, B and C once.
template <Scalar T>
constexpr bytes<T> tile_traffic(const T& m, const std::type_identity_t<T>& n,
                                const std::type_identity_t<T>& k,
                                const std::type_identity_t<T>& tile_m,
                                const std::type_identity_t<T>& tile_n,
                                const std::type_identity_t<bytes<T>>& element) {
  using math::ceil;
  const T rows = ceil(T(detail::count("m", m) / detail::count("tile_m", tile_m)));
  const T columns = ceil(T(detail::count("n", n) / detail::count("tile_n", tile_n)));
  const T reads = detail::count("k", k) * (m * columns + n * rows);
  return named("tile traffic", (reads + m * n) * detail::positive("element", element));
}

/// FLOP per byte read of such a tile: 2 / (b (1/tm + 1/tn)).
/// Test: 128 x 128 in fp16 is 64 FLOP/byte, below the ridge of an H100; 256 x 128 is 85.3.
template <Scalar T>
constexpr intensity<T> tile_intensity(const T& tile_m, const std::type_identity_t<T>& tile_n,
                                      const std::type_identity_t<bytes<T>>& element) {
  const T each =
      T(1.0) / detail::count("tile_m", tile_m) + T(1.0) / detail::count("tile_n", tile_n);
  return named("tile intensity",
               T(2.0) * lift<T>(flop) / (each * detail::positive("element", element)));
}

/// Maximum registers per thread, since compute capability 3.5. Source: NVIDIA, "CUDA C++
/// Programming Guide", technical specifications per compute capability.
inline constexpr double registers_a_thread = 255.0;

/// Bytes of register spills: each register beyond `allowed` is stored and loaded once per use.
/// Source: NVIDIA, "CUDA C++ Programming Guide", local memory. Leaves out hits in the L1. Errors: a
/// negative number.
/// Tests: 300 registers where 255 are allowed, 1e6 threads: 45 x 4 B x 2 each, 360 MB; none below.
template <Scalar T>
constexpr bytes<T> spilled_bytes(const T& wanted, const std::type_identity_t<T>& allowed,
                                 const std::type_identity_t<T>& threads,
                                 const std::type_identity_t<T>& uses = T(1.0)) {
  const T over = scalar_max(
      T(detail::not_negative("wanted", wanted) - detail::positive("allowed", allowed)), T(0.0));
  return named("spilled", T(8.0) * over * detail::not_negative("threads", threads) *
                              detail::not_negative("uses", uses) * lift<T>(byte));
}

/// Hit share of a hot table in an L2 persistence window: min(1, set-aside / table) x the window's
/// hit ratio.
/// Source: NVIDIA, "CUDA C++ Programming Guide", L2 persistence. Leaves out the smaller L2 of other
/// traffic. Tests: 20 MB of set-aside hold half of 40 MB; a ratio of 0.6 of it 0.3.
template <Scalar T>
constexpr T persistent_hits(const bytes<T>& hot, const bytes<T>& set_aside,
                            const std::type_identity_t<T>& hit_ratio = T(1.0)) {
  const T fits = scalar_min(
      T(detail::not_negative("set_aside", set_aside) / detail::positive("hot", hot)), T(1.0));
  return named("hits", fits * detail::fraction("hit_ratio", hit_ratio));
}

/// Share of a working set that a cache still has where it is read again and again:
/// 1 / (1 + (bytes / capacity)^8), a smooth step at `capacity`. It is near 1 for small sets, and
/// near (capacity / bytes)^8 for large ones. Source: form chosen for the L2 curves of
/// te42kyfo/gpu-benches. Test: 1/2 at bytes = capacity.
template <Scalar T>
constexpr T l2_resident_share(const bytes<T>& working_set, const bytes<T>& capacity) {
  const T x = named("L2 filled", T(working_set / detail::positive("l2.capacity", capacity)));
  const T x2 = x * x;
  const T x4 = x2 * x2;
  return 1.0 / (1.0 + x4 * x4);
}

/// Latency of one load of a dependent chain, and the level that serves four loads in five
/// ("between" if none does). 0 where a level that serves loads states no latency.
template <Scalar T = double>
struct basic_chased_load {
  duration<T> latency{};
  const char* level = "between";
};
using chased_load = basic_chased_load<>;

/// A chain of dependent loads that one SM walks again and again through `working_set` bytes:
/// latency = sum over levels of share x latency. An L1 (`through_l1`) caches a set up to its
/// capacity and nothing of a larger one: 1 / (1 + (bytes / capacity)^64). The L2 caches
/// l2_resident_share, first the SM's own partition where the accelerator has several.
/// Sources: te42kyfo/gpu-benches for the L2; validation/recordings/h200_sxm_2/pointer_chase.json:
/// the L1 takes 32.0 cycles from 4 to 192 KiB.
/// Leaves out: TLBs. Errors: working_set below 0; a capacity or sms not stated.
/// Test: recordings of two H200 and an H100; published chases of five GPUs.
template <Scalar T>
constexpr basic_chased_load<T> chase(const basic_accelerator<T>& a, const bytes<T>& working_set,
                                     bool through_l1 = true) {
  detail::not_negative("working_set", working_set);
  const bool divided = a.far_l2_latency.is_stated();
  const auto& l2 = a.l2.capacity.quantity();
  T l1{};
  if (through_l1) {
    const bytes<T> own = a.shared.capacity.quantity() / detail::count("sms", a.sms.value());
    T x = scalar_min(T(working_set / detail::positive("shared.capacity", own)), T(1e4));
    for (int i = 0; i < 6; ++i) x = x * x;
    l1 = 1.0 / (1.0 + x);
  }
  const T nearest =
      l2_resident_share(working_set, divided ? bytes<T>(l2 / l2_partitions_of(a)) : l2);
  const struct {
    const char* name;
    T cached;  ///< share of the set in this level and those before it
    const fact<duration<T>>& latency;
  } levels[] = {{"L1", l1, a.shared.latency},
                {"L2", scalar_max(l1, nearest), a.l2.latency},
                {"far L2",
                 divided ? scalar_max(scalar_max(l1, nearest), l2_resident_share(working_set, l2))
                         : scalar_max(l1, nearest),
                 a.far_l2_latency},
                {"DRAM", T(1.0), a.dram.latency}};
  basic_chased_load<T> out;
  T served{};
  for (const auto& at : levels) {
    const T share = at.cached - served;
    served = at.cached;
    if (lower(share) >= 0.8) out.level = at.name;
    if (!(upper(share) > 1e-3)) continue;
    if (!at.latency.is_stated()) return {{}, out.level};
    out.latency = out.latency + share * at.latency.quantity();
  }
  return out;
}

/// Time to move D bytes with a share h of hits in a faster level: D (h / quick + (1 - h) / slow).
/// Tests: no hits is D / slow; all hits D / quick; half of 2 GB at 5 and 2.5 TB/s takes 600 us.
template <Scalar T>
constexpr duration<T> time_with_hits(const bytes<T>& moved, const std::type_identity_t<T>& hits,
                                     const perfmodel::bandwidth<T>& quick,
                                     const perfmodel::bandwidth<T>& slow) {
  const bytes<T> served = detail::fraction("hits", hits) * detail::not_negative("moved", moved);
  return named("time", served / detail::positive("quick", quick) +
                           (moved - served) / detail::positive("slow", slow));
}

/// Load instructions of a warp for `moved` bytes in pieces of `width` per lane: bytes / (32 width).
/// Source: NVIDIA, "CUDA C++ Best Practices Guide". Errors: a width that no load has.
/// Tests: 1 MiB in 16 bytes takes 2048 of them, in 2 bytes 16,384.
template <Scalar T>
constexpr T load_instructions(const bytes<T>& moved, int width) {
  if (width != 1 && width != 2 && width != 4 && width != 8 && width != 16)
    detail::within("width", static_cast<double>(width), 1.0, 0.0, "1, 2, 4, 8 or 16");
  return named("loads", detail::not_negative("moved", moved) /
                            (lift<T>(byte) * T(32.0 * static_cast<double>(width))));
}

/// Largest load, up to 16 bytes, that stays aligned on rows of `row_elements` elements of 1, 2, 4
/// or 8 bytes: a row of 4097 halves starts at any multiple of 2.
/// Tests: 4096 halves 16 bytes, 4097 of them 2, 4100 of them 8; 4097 floats 4.
constexpr int aligned_width(long long row_elements, int element_bytes) {
  detail::count("row_elements", static_cast<double>(row_elements));
  detail::within("element_bytes", static_cast<double>(element_bytes), 1.0, 16.0, "1 to 16");
  int width = 16;
  while (width > element_bytes && row_elements * element_bytes % width != 0) width /= 2;
  return width;
}

/// TMA bulk transfers of a tile of `rows` rows into swizzled shared memory: a box has at most 256
/// rows and is as wide as its swizzle of 32, 64 or 128 bytes. One thread issues each, without
/// registers; load_instructions() counts all warps.
/// Source: NVIDIA, CUDA driver API, cuTensorMapEncodeTiled. Leaves out boxes without a swizzle, the
/// barrier.
/// Errors: another swizzle, less than a row, a row that is no multiple of 16 bytes. Tests: a tile
/// of 128 x 64 halves is one transfer, where 16-byte loads are 32 instructions;
/// 256 x 128 halves are 2, 257 rows of them 4.
template <Scalar T>
constexpr T bulk_copies(const T& rows, const bytes<T>& row, int swizzle = 128) {
  using math::ceil;
  if (swizzle != 32 && swizzle != 64 && swizzle != 128)
    detail::within("swizzle", static_cast<double>(swizzle), 1.0, 0.0, "32, 64 or 128");
  const T width = T(row / lift<T>(byte));
  detail::within("row", width, 16.0, 1e30, "16 bytes or more");
  if (upper(T(ceil(T(width / 16.0)) - width / 16.0)) > 0.0)
    detail::within("row", width, 1.0, 0.0, "a multiple of 16 bytes");
  return named("bulk copies", ceil(T(detail::count("rows", rows) / 256.0)) *
                                  ceil(T(width / static_cast<double>(swizzle))));
}

/// Issue time of n instructions of c cycles each, one after the other: n c / clock.
/// Test: 4 transfers of 8 cycles at 1.6 GHz take 20 ns.
template <Scalar T>
constexpr duration<T> issue_time(const T& instructions, const std::type_identity_t<T>& cycles,
                                 const perfmodel::frequency<T>& clock) {
  return named("issue time", detail::not_negative("instructions", instructions) *
                                 detail::not_negative("cycles", cycles) /
                                 detail::positive("clock", clock));
}

/// Registers per thread of an fp32 accumulator tile: tm tn / threads. Tensor memory
/// (tensor_memory_columns) frees them.
/// Source: NVIDIA, PTX ISA, wgmma: an m64n256 in fp32 is 128 registers of each thread of a
/// warpgroup.
/// Tests: 64 x 256 of 128 threads are 128; 128 x 256 of them 256, more than the 255 that a thread
/// may have.
template <Scalar T>
constexpr T accumulator_registers(const T& tile_m, const std::type_identity_t<T>& tile_n,
                                  const std::type_identity_t<T>& threads) {
  return named("accumulator registers", detail::count("tile_m", tile_m) *
                                            detail::count("tile_n", tile_n) /
                                            detail::count("threads", threads));
}

/// Tensor-memory columns of an fp32 accumulator tile: its columns for each 128 rows, up to a power
/// of 2, at least 32. An SM has 512 of 128 lanes and 4 bytes: 256 KiB.
/// Source: NVIDIA, PTX ISA, tensor memory and tcgen05.alloc. Errors: a tile that no SM holds.
/// Tests: 128 x 256 take 256, so two are in flight at once; 128 x 96 take 128; 256 x 256 all 512.
constexpr int tensor_memory_columns(int tile_m, int tile_n) {
  detail::within("tile_m", static_cast<double>(tile_m), 1.0, 256.0, "1 to 256");
  detail::within("tile_n", static_cast<double>(tile_n), 1.0, 512.0, "1 to 512");
  const int wanted = (tile_m + 127) / 128 * tile_n;
  detail::within("tile_n", static_cast<double>(wanted), 1.0, 512.0,
                 "512 columns for all rows, 128 at a time");
  int columns = 32;
  while (columns < wanted) columns *= 2;
  return columns;
}

/// Bytes read by a radix selection of the k largest of n numbers, by digits of `digit_bits` each.
/// The first pass reads all; each further pass reads the numbers that share the digits so far, one
/// in 2^d of evenly distributed ones: n b (1 - 2^(-d p)) / (1 - 2^-d), p = ceil(bits / d).
/// k does not enter; sorting would read and write all p times. Source: Alabi et al., "Fast
/// k-selection algorithms for graphics processing units", ACM J. Exp. Algorithmics 17, 2012. Leaves
/// out histograms, and numbers that crowd into one bin.
/// Tests: 128,256 logits of 4 bytes by 8 bits are 515 kB, an eighth of a sort's bytes; by 32 bits
/// 513 kB.
template <Scalar T>
constexpr bytes<T> selection_traffic(const T& n, const std::type_identity_t<bytes<T>>& element,
                                     int digit_bits = 8) {
  using math::ceil;
  using math::exp;
  detail::within("digit_bits", static_cast<double>(digit_bits), 1.0, 32.0, "1 to 32");
  const T bits = 8.0 * T(detail::positive("element", element) / lift<T>(byte));
  const T passes = ceil(T(bits / static_cast<double>(digit_bits)));
  const double each = 0.6931471805599453 * static_cast<double>(digit_bits);  // ln 2^d
  const T left = T(1.0) - exp(T(-each * passes));
  return named("selection traffic",
               detail::not_negative("n", n) * element * left / (1.0 - math::exp(-each)));
}

/// Time of n exponentials, sines or square roots: n / (SMs x per clock x clock).
/// Source: NVIDIA, "CUDA C++ Programming Guide", throughput of arithmetic instructions (16 a clock
/// and SM).
/// Errors: an accelerator without a stated rate. Test: 1e9 on an H100 at its clock take 239 us.
template <Scalar T>
constexpr duration<T> special_function_time(const basic_accelerator<T>& a,
                                            const std::type_identity_t<T>& n) {
  const T per_clock = special_functions_of(a) * detail::positive("sms", a.sms.quantity().value());
  return named("special functions",
               detail::not_negative("n", n) /
                   (per_clock * detail::positive("vector.clock", a.vector.clock.quantity())));
}

/// Share of a host link's bandwidth that transfers reach: 55.4 of 63 GB/s to an H200.
/// Sources: stas00/ml-engineering, network/README.md (nvbandwidth on 8 H200); transfer.json of this
/// project's H200.
inline constexpr double host_link_share = 0.88;

/// Latency of a transfer of pinned memory over PCIe 5: 1.9 us from an H200, 2.4 us to it.
/// Source: validation/recordings/h200_sxm/transfer.json of this project, transfers of 4 KiB.
inline constexpr duration<> pcie_copy_latency = 2.1 * us;

/// Time of a transfer between host and device: latency + D / link. From pageable memory the driver
/// first moves data to a pinned buffer; both times add up where they do not overlap.
/// Source: NVIDIA, "CUDA C++ Best Practices Guide", section on pinned memory. Leaves out
/// registration.
/// Tests: 63 GB at 63 GB/s take 1 s pinned, and 1 + 6.3 s with a host memcpy of 10 GB/s.
template <Scalar T>
constexpr duration<T> host_copy_time(const bytes<T>& moved, const perfmodel::bandwidth<T>& link,
                                     const duration<T>& latency = {}) {
  return named("host copy",
               detail::not_negative("latency", latency) +
                   detail::not_negative("moved", moved) / detail::positive("link", link));
}
/// Copy from pageable memory: host_copy_time, and before it a copy into a pinned buffer.
template <Scalar T>
constexpr duration<T> pageable_copy_time(const bytes<T>& moved, const perfmodel::bandwidth<T>& link,
                                         const perfmodel::bandwidth<T>& host_copy,
                                         const duration<T>& latency = {}) {
  return named("pageable copy", host_copy_time(moved, link, latency) +
                                    moved / detail::positive("host_copy", host_copy));
}

/// MIG slice of an accelerator: SMs, peaks and registers scale with its `compute` share, DRAM and
/// L2 with its `memory` share. Links and the clock stay. Source: NVIDIA, "Multi-Instance GPU User
/// Guide".
/// Leaves out that a slice's SM count is rounded to whole GPCs. Errors: shares not above 0 or above
/// 1.
/// Test: 3/7 of the compute and 4/8 of the memory of an H100: 424 TFLOP/s and 1.675 TB/s.
template <Scalar T>
constexpr basic_accelerator<T> slice_of(const basic_accelerator<T>& a,
                                        const std::type_identity_t<T>& compute,
                                        const std::type_identity_t<T>& memory) {
  detail::fraction("compute", detail::positive("compute", compute));
  detail::fraction("memory", detail::positive("memory", memory));
  basic_accelerator<T> part = a;
  const auto scale = [](auto& f, const T& share) {
    using held = std::remove_cvref_t<decltype(f)>;
    if (f.is_stated()) f = held(typename held::quantity_type(share * f.quantity()), f.from());
  };
  scale(part.sms, compute);
  for (auto* unit : {&part.matrix, &part.vector}) {
    std::remove_cvref_t<decltype(unit->peak)>::fields(
        [&](const field&, auto& rate) { scale(rate, compute); }, unit->peak);
  }
  scale(part.registers.capacity, compute);
  scale(part.registers.bandwidth, compute);
  scale(part.shared.capacity, compute);
  scale(part.shared.bandwidth, compute);
  scale(part.l2.capacity, memory);
  scale(part.l2.bandwidth, memory);
  scale(part.dram.capacity, memory);
  scale(part.dram.bandwidth, memory);
  return part;
}

}  // namespace perfmodel::inline v0_3
