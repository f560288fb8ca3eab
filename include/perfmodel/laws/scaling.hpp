// Scaling: Amdahl's law and its inverse, batches, ranks, scaling tax, stragglers.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>
#include <perfmodel/units/named.hpp>
#include <span>

#include <perfmodel/scalar/whole_numbers.hpp>  // last: defines a macro

namespace perfmodel::inline v0_3 {

namespace detail {
/// A share of a hardware limit. Above 1 some input is wrong, so it is an error and no result.
template <Scalar T>
constexpr const T& utilisation(const char* field, const T& x) {
  return within(field, x, 0.0, 1.0 + 1e-9, "0 to 1: nothing runs above its peak");
}
/// Whole numbers of an array as its scalars.
template <Number N, std::size_t Count>
constexpr std::array<promoted<N>, Count> scalars(const std::array<N, Count>& x) {
  std::array<promoted<N>, Count> y{};
  for (std::size_t i = 0; i < Count; ++i) y[i] = static_cast<promoted<N>>(x[i]);
  return y;
}
}  // namespace detail

/// One part of a whole: its share of the time, and by what its time is multiplied.
template <Scalar T = double>
struct basic_amdahl_part {
  T share{};
  T factor = T(1.0);

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("share", s.share...);
    f("factor", s.factor...);
  }
};
using amdahl_part = basic_amdahl_part<>;

template <Scalar T = double>
struct basic_amdahl {
  T time_ratio{};  ///< new time / old time
  T speedup{};
};

/// T' / T = sum of share x factor, plus what no part names. Source: Amdahl, AFIPS 1967, for several
/// parts. Leaves out that parts overlap. Errors: shares that add up to more than 1; a factor below
/// 0; parts that are the whole and all vanish. Tests: 0.50 + 0.35 x 0.3 + 0.15 x 0.2 =
/// 0.635, 1.575x; T' >= (1 - share) T when one part changes.
template <Scalar T>
constexpr basic_amdahl<T> amdahl(std::span<const basic_amdahl_part<T>> parts) {
  T named_share(0.0);
  T ratio(0.0);
  for (const basic_amdahl_part<T>& p : parts) {
    named_share += detail::fraction("share", p.share);
    ratio += p.share * detail::not_negative("factor", p.factor);
  }
  if (lower(named_share) > 1.0 + 1e-9) {
    detail::fail(error_code::inconsistent, "the shares of the parts add up to more than 1");
  }
  basic_amdahl<T> r;
  r.time_ratio = named("T'/T", T(ratio + scalar_max(T(1.0 - named_share), T(0.0))));
  detail::positive("time_ratio", r.time_ratio);
  r.speedup = named("speedup", T(1.0 / r.time_ratio));
  return r;
}
/// Amdahl's law for an array of parts.
template <Scalar T, std::size_t N>
constexpr basic_amdahl<T> amdahl(const std::array<basic_amdahl_part<T>, N>& parts) {
  return amdahl(std::span<const basic_amdahl_part<T>>(parts));
}

/// Share of one part in the new time: share x factor / (T' / T).
/// Test: GEMMs at 50 % become 79 % when the rest shrinks to 0.135.
template <Scalar T>
constexpr T new_share(const basic_amdahl_part<T>& p, const basic_amdahl<T>& whole) {
  return named("new share",
               T(p.share * p.factor / detail::positive("time_ratio", whole.time_ratio)));
}

/// The least time left when one part of this share vanishes: (1 - share) T. A claim below it is
/// wrong. Test: 85 ms of which 38 % are GEMMs never get below 52.7 ms by faster GEMMs.
template <Scalar T>
constexpr duration<T> amdahl_floor(const duration<T>& time, const std::type_identity_t<T>& share) {
  detail::not_negative("time", time);
  return named("floor", time * (1.0 - detail::fraction("share", share)));
}

/// The speedup that no change of one part exceeds: 1 / (1 - share). Errors: a share of 1.
/// Test: hiding communication of 5 % gains at most 1.0526x.
template <Scalar T>
constexpr T largest_speedup(const T& share) {
  detail::within("share", share, 0.0, 1.0 - 1e-12, "0 to less than 1");
  return named("largest speedup", T(1.0 / (1.0 - share)));
}
PERFMODEL_WHOLE_NUMBERS(largest_speedup)

/// Scaled speedup: n ranks do n times the parallel work in the same time. S = n - s (n - 1), with s
/// the serial share of the time on n ranks. Source: Gustafson, "Reevaluating Amdahl's law", CACM
/// 31(5), 1988. Leaves out communication that grows with n. Test: 1024 ranks at 0.4 %: 1019.9.
template <Scalar T>
constexpr T gustafson_speedup(const T& serial, const T& ranks) {
  detail::fraction("serial", serial);
  return named("scaled speedup", T(detail::count("ranks", ranks) - serial * (ranks - 1.0)));
}
PERFMODEL_WHOLE_NUMBERS(gustafson_speedup)

/// Universal scalability law: relative throughput of n = n / (1 + sigma (n - 1) + kappa n (n - 1)),
/// for a share sigma of contention (Amdahl's, with kappa 0) and kappa of exchange between all
/// pairs. It is largest at n = sqrt((1 - sigma) / kappa). Source: Gunther, "Guerrilla Capacity
/// Planning", 2007, chapter 4. Errors: sigma or kappa outside 0 to 1.
/// Tests: kappa 0 is Amdahl's law; sigma 0.05, kappa 0.0005: largest, 10.7, at 43.6.
template <Scalar T>
constexpr T universal_scaling(const T& n, const T& sigma, const T& kappa) {
  detail::count("n", n);
  detail::fraction("sigma", sigma);
  detail::fraction("kappa", kappa);
  return named("relative throughput", T(n / (1.0 + (n - 1.0) * (sigma + kappa * n))));
}
PERFMODEL_WHOLE_NUMBERS(universal_scaling)
/// Best n of the universal scalability law: sqrt((1 - sigma) / kappa), at least 1.
template <Scalar T>
constexpr T universal_scaling_peak(const T& sigma, const T& kappa) {
  using math::sqrt;
  detail::fraction("sigma", sigma);
  detail::within("kappa", kappa, 1e-18, 1.0, "more than 0, up to 1: without it nothing peaks");
  return named("best n", scalar_max(T(sqrt(T((1.0 - sigma) / kappa))), T(1.0)));
}
PERFMODEL_WHOLE_NUMBERS(universal_scaling_peak)

/// The share of the old time that a part had, if making it `factor` times faster made the whole
/// `speedup` times faster: (1 - 1 / speedup) / (1 - 1 / factor), Amdahl's law solved for the share.
/// Errors: a speedup that such a part cannot bring. Test: a kernel twice as fast and 5 % end to end
/// had 9.5 %.
template <Number S, Number F>
constexpr auto share_from_speedup(const S& speedup, const F& factor) {
  using T = promoted<S, F>;
  const T removed = 1.0 - 1.0 / detail::count("speedup", T(speedup));
  const T vanished =
      1.0 - 1.0 / detail::within("factor", T(factor), 1.0 + 1e-9, detail::largest_count, "above 1");
  return named("share", detail::within("share", T(removed / vanished), 0.0, 1.0,
                                       "0 to 1: the part cannot have brought this speedup"));
}

/// Share of the old time that a speedup removed: 1 - 1 / speedup. Shares of disjoint parts add up
/// to at most 1. Test: 3.1x by one part and 1.9x by another would remove 1.151: impossible.
template <Number S>
constexpr auto removed_share(const S& speedup) {
  using T = promoted<S>;
  return named("removed share", T(1.0 - 1.0 / detail::count("speedup", T(speedup))));
}

/// How much of B times the rate of one a batch of B reaches: rate(B) / (B rate(1)).
/// Test: 40 times the rate at batch 64 are 62.5 %.
template <Scalar T>
constexpr T batch_scaling_efficiency(const token_rate<T>& rate_of_batch,
                                     const std::type_identity_t<T>& batch,
                                     const token_rate<T>& rate_of_one) {
  return named("scaling efficiency",
               detail::not_negative("rate_of_batch", rate_of_batch) /
                   (detail::count("batch", batch) * detail::positive("rate_of_one", rate_of_one)));
}

/// Ranks that a gain in utilisation is worth: n (1 - 1 / (1 + gain)), `gain` relative.
/// Test: 1 % more on 10,000 GPUs are 99.
template <Number N, Number G>
constexpr auto ranks_saved(const N& ranks, const G& gain) {
  using T = promoted<N, G>;
  return named("ranks saved", T(detail::count("ranks", T(ranks)) *
                                (1.0 - 1.0 / (1.0 + detail::not_negative("gain", T(gain))))));
}

/// Scaling tax = 1 - MFU of many / MFU of one. Negative where many run better than one.
/// Test: 65 % to 48 % is a tax of 26.15 %.
template <Scalar T>
constexpr T scaling_tax(const T& mfu_of_one, const T& mfu_of_many) {
  detail::utilisation("mfu_of_one", detail::positive("mfu_of_one", mfu_of_one));
  detail::utilisation("mfu_of_many", mfu_of_many);
  return named("scaling tax", T(1.0 - mfu_of_many / mfu_of_one));
}
PERFMODEL_WHOLE_NUMBERS(scaling_tax)

/// Throughput a synchronous job loses to its slowest rank, which takes (1 + slowdown) of a step:
/// 1 - 1 / (1 + slowdown). Test: 10 % slower costs 9.1 %.
template <Scalar T>
constexpr T straggler_tax(const T& slowdown) {
  detail::not_negative("slowdown", slowdown);
  return named("straggler tax", T(1.0 - 1.0 / (1.0 + slowdown)));
}
PERFMODEL_WHOLE_NUMBERS(straggler_tax)

/// Time of a run at a rate lower by `tax`: time / (1 - tax). Errors: a tax of 1.
/// Test: 30 days at 10 % and 20 % less are 33.3 and 37.5 days.
template <Scalar T>
constexpr duration<T> time_with_tax(const duration<T>& time, const std::type_identity_t<T>& tax) {
  detail::not_negative("time", time);
  detail::within("tax", tax, 0.0, 1.0 - 1e-12, "0 to less than 1");
  return named("time with tax", time / (1.0 - tax));
}

/// Time of a run without the tax: time (1 - tax), the inverse.
/// Test: a step of 245 ms, with an MFU that fell from 65 % to 48 %, takes 180.9 ms unscaled.
template <Scalar T>
constexpr duration<T> time_without_tax(const duration<T>& time,
                                       const std::type_identity_t<T>& tax) {
  detail::not_negative("time", time);
  detail::within("tax", tax, 0.0, 1.0 - 1e-12, "0 to less than 1");
  return named("time without tax", time * (1.0 - tax));
}

/// Share of slots that do work when a batch runs until its longest sequence ends:
/// sum of lengths / (batch x longest). Its inverse bounds what continuous batching gains.
/// Errors: no sequence; a length of 0. Test: 7 of 20 and one of 2000 tokens use 13.4 %.
template <Scalar T>
constexpr T static_batch_efficiency(std::span<const T> lengths) {
  if (lengths.empty()) detail::out_of_range("lengths", 0.0, "1 or more");
  T sum(0.0);
  T longest(0.0);
  for (const T& length : lengths) {
    sum += detail::positive("length", length);
    longest = scalar_max(longest, length);
  }
  return named("batch efficiency", T(sum / (static_cast<double>(lengths.size()) * longest)));
}
/// Efficiency of a static batch from an array of lengths.
template <Number N, std::size_t Count>
constexpr auto static_batch_efficiency(const std::array<N, Count>& lengths) {
  const auto x = detail::scalars(lengths);
  return static_batch_efficiency(std::span<const promoted<N>>(x));
}

/// Share of a static batch's time for which its longest sequence runs alone.
/// Test: seven of 20 tokens and one of 2000: 99 %.
template <Scalar T>
constexpr T static_batch_tail(std::span<const T> lengths) {
  T next_longest(0.0);
  T longest(0.0);
  for (const T& length : lengths) {
    detail::positive("length", length);
    next_longest = scalar_max(next_longest, scalar_min(longest, length));
    longest = scalar_max(longest, length);
  }
  return named("tail", T((longest - next_longest) / detail::positive("longest", longest)));
}
/// Tail of a static batch from an array of lengths.
template <Number N, std::size_t Count>
constexpr auto static_batch_tail(const std::array<N, Count>& lengths) {
  const auto x = detail::scalars(lengths);
  return static_batch_tail(std::span<const promoted<N>>(x));
}

/// The most that continuous batching gains over static batching of these lengths: 1 / efficiency.
/// Test: 7.48 for the lengths above; 1 for equal lengths.
template <Number N, std::size_t Count>
constexpr auto continuous_batching_gain(const std::array<N, Count>& lengths) {
  return named("continuous batching gain", promoted<N>(1.0 / static_batch_efficiency(lengths)));
}

}  // namespace perfmodel::inline v0_3

#undef PERFMODEL_WHOLE_NUMBERS
