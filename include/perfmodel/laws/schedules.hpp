// Schedules: persistent kernels, streams, dependent launches, graph breaks, memory planning.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/named.hpp>
#include <span>

namespace perfmodel::inline v0_3 {

/// Time of a persistent kernel with static work lists: launch + the longest list. It saves n - 1 of
/// n launches, and loses where the lists are unequal.
/// Errors: a negative time. Tests: lists of 3, 1, 1, 1 ms take 3 ms, twice the mean of 1.5; equal
/// ones the mean.
template <Scalar T>
constexpr duration<T> persistent_time(std::span<const duration<T>> lists,
                                      const duration<T>& launch) {
  duration<T> longest{};
  for (const duration<T>& each : lists)
    longest = max(longest, duration<T>(detail::not_negative("list", each)));
  return named("persistent", detail::not_negative("launch", launch) + longest);
}

/// Work imbalance: the longest list over the mean, 1 for equal lists. Errors: no lists, or only
/// empty ones.
template <Scalar T>
constexpr T work_imbalance(std::span<const duration<T>> lists) {
  duration<T> longest{}, sum{};
  for (const duration<T>& each : lists) {
    longest = max(longest, duration<T>(detail::not_negative("list", each)));
    sum += each;
  }
  return named("imbalance", T(longest / (detail::positive("sum of the lists", sum) /
                                         T(static_cast<double>(lists.size())))));
}

/// Chain of kernels in one stream: its unshared time, and the share of the device that it fills.
template <Scalar T = double>
struct basic_stream_chain {
  duration<T> solo_time{};
  T filled = T(1.0);

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::not_negative("solo_time"), s.solo_time...);
    f(field::fraction("filled"), s.filled...);
  }
};
using stream_chain = basic_stream_chain<>;

/// Time of concurrent chains: max(sum of solo_time x filled, longest solo_time). Chains that each
/// fill the device gain nothing.
/// Source: Graham, "Bounds on multiprocessing timing anomalies", 1969: no schedule is quicker.
/// Leaves out cache contention. Tests: two full chains of 1 ms take 2 ms; two that fill a third, 1
/// ms.
template <Scalar T>
constexpr duration<T> side_by_side(std::span<const basic_stream_chain<T>> chains) {
  duration<T> longest{}, work{};
  for (const basic_stream_chain<T>& c : chains) {
    require_valid(c, "chain");
    longest = max(longest, c.solo_time);
    work += c.filled * c.solo_time;
  }
  return named("side by side", max(work, longest));
}

/// Idle time between two kernels with programmatic dependent launch: the launch gap less the
/// prologue up to its wait.
/// Source: NVIDIA, "CUDA C++ Programming Guide", programmatic dependent launch.
/// Tests: 1.2 us with a prologue of 0.5 leave 0.7, one of 2 nothing.
template <Scalar T>
constexpr duration<T> dependent_gap(const duration<T>& gap, const duration<T>& prologue) {
  return named("dependent gap", max(duration<T>(detail::not_negative("gap", gap) -
                                                detail::not_negative("prologue", prologue)),
                                    duration<T>{}));
}

/// Regions of a compiled graph with n breaks. Test: 50 breaks, 51 regions.
template <Number N>
constexpr auto regions_of(const N& breaks) {
  using T = promoted<N>;
  return named("regions", T(detail::not_negative("breaks", T(breaks)) + 1.0));
}

/// Tensor of a memory plan: its bytes, and the first and last operator that touch it.
template <Scalar T = double>
struct basic_live_tensor {
  bytes<T> size{};
  int first = 0;
  int last = 0;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::not_negative("size"), s.size...);
    f("first", s.first...);
    f("last", s.last...);
  }
};
using live_tensor = basic_live_tensor<>;

/// Peak memory of a plan that reuses dead tensors: the largest sum of concurrently live bytes.
/// Leaves out fragmentation. Errors: a tensor that ends before it begins.
/// Tests: a chain of three of 1 MB, each alive for two operators, needs 2 MB and not 3.
template <Scalar T>
constexpr bytes<T> peak_live_bytes(std::span<const basic_live_tensor<T>> tensors) {
  bytes<T> peak{};
  for (const basic_live_tensor<T>& at : tensors) {
    require_valid(at, "tensor");
    detail::within("last", static_cast<double>(at.last), static_cast<double>(at.first), 1e9,
                   "not before first");
    bytes<T> alive{};  // the peak is where one of them begins
    for (const basic_live_tensor<T>& t : tensors)
      if (t.first <= at.first && at.first <= t.last) alive += t.size;
    peak = max(peak, alive);
  }
  return named("peak live", peak);
}

/// Share of time with any resident kernel, as nvidia-smi's GPU-Util counts; it says nothing of the
/// work done. Test: 89 % of such use, while SMs are busy for 1.13 % of the time.
template <Scalar T>
constexpr T resident_share(const duration<T>& any_kernel, const duration<T>& elapsed) {
  return named("resident", T(detail::fraction("any_kernel over elapsed",
                                              T(detail::not_negative("any_kernel", any_kernel) /
                                                detail::positive("elapsed", elapsed)))));
}

/// Time without the profiler's overhead: read / (1 + added).
/// Test: 10 ms read under a profiler that adds 15 % were 8.70 ms.
template <Scalar T>
constexpr duration<T> without_profiler(const duration<T>& read,
                                       const std::type_identity_t<T>& added) {
  return named("without profiler", detail::not_negative("read", read) /
                                       (T(1.0) + detail::not_negative("added", added)));
}

/// Bytes of a mixed-precision KV cache with the last `recent` tokens in a larger format: r b1 + (n
/// - r) b2.
/// Tests: 1000 tokens, the last 100 in 2 bytes and the rest in 1, are 1100; fewer than recent all
/// take 2.
template <Scalar T>
constexpr bytes<T> mixed_cache_bytes(const std::type_identity_t<T>& count,
                                     const std::type_identity_t<T>& recent, const bytes<T>& large,
                                     const bytes<T>& compact) {
  const T late = scalar_min(T(detail::not_negative("recent", recent)),
                            T(detail::not_negative("count", count)));
  return named("mixed cache", late * detail::positive("large", large) +
                                  (count - late) * detail::positive("compact", compact));
}

}  // namespace perfmodel::inline v0_3
