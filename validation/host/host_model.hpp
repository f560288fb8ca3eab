// What a CPU core takes for a stream of bytes and for a matrix product, by a few physical parameters
// that are fitted to its own recordings.
#pragma once

#include <array>
#include <cmath>
#include <perfmodel/error.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>
#include <perfmodel/units/named.hpp>

namespace perfmodel::validation {

/// Caches and memory as one core sees them: nearest first, the last is DRAM.
inline constexpr std::size_t host_levels = 4;

/// Eight fitted parameters of a stream and five of a product, and what is known beforehand: the sizes of
/// the caches and the rate of multiply-adds measured by themselves.
template <Scalar T = double>
struct basic_host_machine {
  std::array<bytes<T>, host_levels - 1> capacity{};  ///< L1, L2 and L3 by the operating system
  flop_rate<T> multiply_adds{};                      ///< of one core, measured

  std::array<perfmodel::bandwidth<T>, host_levels> bandwidth{};  ///< that a stream reaches in each
  perfmodel::bandwidth<T> l1_stores{};  ///< of stores into L1, beside its loads
  T shared_capacity = T(1.0);  ///< of the last cache, that other cores and machines leave
  duration<T> call{};          ///< of a kernel on nothing
  duration<T> cold_start{};    ///< until prefetching follows a stream from DRAM

  T compute_share = T(1.0);  ///< of multiply_adds, in the inner kernel of a product
  T vector_share = T(1.0);   ///< of the stream's bandwidth, in a product with one row
  /// Rates at which weights are packed for the inner kernel, from L2 and nearer, from L3, from DRAM.
  std::array<perfmodel::bandwidth<T>, 3> packing{};
};
using host_machine = basic_host_machine<>;

/// Rows that the inner kernel works off together, however few there are. Source: Eigen 3.4,
/// GeneralBlockPanelKernel.h, nr = 4.
inline constexpr double kernel_rows = 4.0;

namespace detail {

/// Which share of a working set each level serves, when it is swept again and again: a cache of
/// capacity C keeps min(1, C / set) of it, less what nearer ones serve.
template <Scalar T>
constexpr std::array<T, host_levels> shares_of(const basic_host_machine<T>& h, const bytes<T>& set) {
  std::array<T, host_levels> out{};
  T nearer(0.0);
  for (std::size_t l = 0; l + 1 < host_levels; ++l) {
    const T capacity = h.capacity[l].value() * (l + 2 == host_levels ? h.shared_capacity : T(1.0));
    const T kept = scalar_max(nearer, scalar_min(T(1.0), T(capacity / set.value())));
    out[l] = kept - nearer;
    nearer = kept;
  }
  out[host_levels - 1] = T(1.0) - nearer;
  return out;
}

}  // namespace detail

/// Warm: T = call + share of L1 x max(read / loads, written / stores)
///                + sum over the levels beyond of share x (read + written) / bandwidth.
/// Cold: T = call + cold start + (read + written) / bandwidth of DRAM. A core loads and stores at once
/// in L1; beyond, both take their turn. Leaves out where pages lie, and the TLBs.
template <Scalar T>
constexpr duration<T> stream_time(const basic_host_machine<T>& h, const bytes<T>& read, const bytes<T>& written,
                                  const bytes<T>& working_set, bool cold) {
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
  return h.call + packed + flops<T>::from_value(T(2.0 * rows * n * k)) / (h.compute_share * h.multiply_adds);
}

}  // namespace perfmodel::validation
