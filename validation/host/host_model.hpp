// What a CPU core takes for a stream of bytes and for a matrix product, by a few physical
// parameters that are fitted to its own recordings.
#pragma once

#include <array>
#include <cmath>
#include <perfmodel/core/error.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>
#include <perfmodel/units/named.hpp>

namespace perfmodel::validation {

/// Caches and memory as one core sees them: nearest first, the last is DRAM.
inline constexpr std::size_t host_levels = 4;

/// Nine fitted parameters of a stream and five of a product, and what is known beforehand: the
/// sizes of the caches and the rate of multiply-adds measured by themselves.
template <Scalar T = double>
struct basic_host_machine {
  std::array<bytes<T>, host_levels - 1> capacity{};  ///< L1, L2 and L3 by the operating system
  flop_rate<T> multiply_adds{};                      ///< rate of one core, measured

  std::array<perfmodel::bandwidth<T>, host_levels> bandwidth{};  ///< stream in each level
  perfmodel::bandwidth<T> l1_stores{};  ///< bandwidth of stores into L1, in addition to loads
  /// L2 and L3 capacity for one core. Other cores and machines take of the last cache.
  std::array<T, host_levels - 2> capacity_share{T(1.0), T(1.0)};
  duration<T> call{};        ///< time of an empty kernel
  duration<T> cold_start{};  ///< until prefetching follows a stream from DRAM

  T compute_share = T(1.0);  ///< share of multiply_adds in the inner kernel of a GEMM
  T vector_share = T(1.0);   ///< share of the stream's bandwidth in a GEMM with one row
  /// Rates at which weights are packed for the inner kernel, from L2 and nearer, from L3, from
  /// DRAM.
  std::array<perfmodel::bandwidth<T>, 3> packing{};
};
using host_machine = basic_host_machine<>;

/// Rows that the inner kernel works off together, however few there are. Source: Eigen 3.4,
/// GeneralBlockPanelKernel.h, nr = 4.
inline constexpr double kernel_rows = 4.0;

namespace detail {

/// Ways of L1 that the law below counts on: assumed, for 8 and 12 differ by little.
inline constexpr double l1_ways = 8.0;

/// Share of a working set that each level serves when it is swept again and again, less what
/// nearer ones serve. L1, by virtual addresses: of a cache with w ways and LRU, swept in a circle,
/// lines stay if their set has at most w of them, max(0, 1 - w (set / C - 1)). L2 and L3,
/// by physical addresses: pages fall on them at random, and the step is round: 1 / (1 + (set /
/// C)^3); the exponent is assumed. Test: shares add up to 1; half an L1 is all in L1, two are not
/// in it.
template <Scalar T>
constexpr std::array<T, host_levels> shares_of(const basic_host_machine<T>& h,
                                               const bytes<T>& set) {
  std::array<T, host_levels> out{};
  T nearer(0.0);
  for (std::size_t l = 0; l + 1 < host_levels; ++l) {
    T kept;
    if (l == 0) {
      const T times = set / h.capacity[0];
      kept = scalar_max(T(0.0), scalar_min(T(1.0), T(1.0 - l1_ways * (times - 1.0))));
    } else {
      const T times = set / (h.capacity_share[l - 1] * h.capacity[l]);
      kept = scalar_max(nearer, T(1.0 / (1.0 + times * times * times)));
    }
    out[l] = kept - nearer;
    nearer = kept;
  }
  out[host_levels - 1] = T(1.0) - nearer;
  return out;
}

}  // namespace detail

/// Warm: T = call + share of L1 x max(read / loads, written / stores)
///                + sum over the levels beyond of share x (read + written) / bandwidth.
/// Cold: T = call + cold start + (read + written) / bandwidth of DRAM. A core loads and stores at
/// once in L1; beyond, both take their turn. Leaves out where pages lie, and the TLBs.
template <Scalar T>
constexpr duration<T> stream_time(const basic_host_machine<T>& h, const bytes<T>& read,
                                  const bytes<T>& written, const bytes<T>& working_set, bool cold) {
  const bytes<T> moved = read + written;
  if (cold) return h.call + h.cold_start + moved / h.bandwidth[host_levels - 1];
  const auto share = detail::shares_of(h, working_set);
  duration<T> t = h.call + share[0] * max(read / h.bandwidth[0], written / h.l1_stores);
  for (std::size_t l = 1; l < host_levels; ++l) t += share[l] * moved / h.bandwidth[l];
  return t;
}

/// One row: the weights stream past once, T = bytes x sum(share / bandwidth) / vector_share.
/// More: T = call + weights x sum(share / packing) + 2 ceil(m / 4) 4 n k / (compute_share x R).
/// Leaves out the packing of activations and the output.
template <Scalar T>
constexpr duration<T> product_time(const basic_host_machine<T>& h, double m, double n, double k) {
  const bytes<T> weights = bytes<T>::from_value(T(4.0 * n * k));
  const auto share = detail::shares_of(h, weights);
  if (m == 1.0) {
    duration<T> t{};
    for (std::size_t l = 0; l < host_levels; ++l) t += share[l] * weights / h.bandwidth[l];
    return h.call + t / h.vector_share;
  }
  const double rows = kernel_rows * std::ceil(m / kernel_rows);
  const duration<T> packed = (share[0] + share[1]) * weights / h.packing[0] +
                             share[2] * weights / h.packing[1] + share[3] * weights / h.packing[2];
  return h.call + packed +
         flops<T>::from_value(T(2.0 * rows * n * k)) / (h.compute_share * h.multiply_adds);
}

}  // namespace perfmodel::validation
