// What people quote: utilisation, Amdahl's law, scaling tax, stragglers, batching efficiency.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>
#include <perfmodel/units/named.hpp>
#include <span>

namespace perfmodel {

namespace detail {
/// A share of a hardware limit. Above 1 some input is wrong, so it is an error and no result.
template <Scalar T>
constexpr const T& utilisation(const char* field, const T& x) {
  return within(field, x, 0.0, 1.0 + 1e-9, "0 to 1: nothing runs above its peak");
}
}  // namespace detail

/// MFU = useful FLOP / (time x peak). Source: Chowdhery et al., "PaLM", 2022, appendix B. Useful
/// FLOP are those of the model, recomputation left out. Errors: above 1. Test: 6 P tokens per step.
template <Scalar T>
constexpr T mfu(const flops<T>& work, const duration<T>& time, const flop_rate<T>& peak_rate) {
  const T share = detail::not_negative("work", work) / detail::positive("time", time) /
                  detail::positive("peak_rate", peak_rate);
  return named("MFU", detail::utilisation("mfu", share));
}

/// MBU = bytes moved / (time x bandwidth). Errors: above 1. Test: 140 GB in 41.79 ms at 3.35 TB/s
/// is 1.
template <Scalar T>
constexpr T mbu(const bytes<T>& moved, const duration<T>& time,
                const perfmodel::bandwidth<T>& bandwidth) {
  const T share = detail::not_negative("moved", moved) / detail::positive("time", time) /
                  detail::positive("bandwidth", bandwidth);
  return named("MBU", detail::utilisation("mbu", share));
}

/// MFU = MBU x I / I*: what a memory-bound kernel of intensity I makes of a machine with ridge I*.
/// Errors: a result above 1. Test: batch 1 (1 FLOP/byte) on an H100 at MBU 0.85 is 0.29 %, not 2 %.
template <Scalar T>
constexpr T mfu_from_mbu(const std::type_identity_t<T>& bandwidth_use,
                         const perfmodel::intensity<T>& intensity,
                         const perfmodel::intensity<T>& ridge) {
  detail::utilisation("mbu", bandwidth_use);
  const T share = bandwidth_use * T(detail::not_negative("intensity", intensity) /
                                    detail::positive("ridge", ridge));
  return named("MFU", detail::utilisation("mfu", share));
}

/// Training FLOP per token = 6 P, or (6 + 2 r) P when a share r of the forward pass is recomputed:
/// 2 P forward, 4 P backward. Source: Kaplan et al., "Scaling Laws for Neural Language Models",
/// 2020, section 2.1. Leaves out attention's S^2 term. Test: full recomputation is 8 P.
template <Scalar T>
constexpr flops_per_token<T> training_flop_per_token(const T& parameters,
                                                     const T& recomputed = T(0.0)) {
  detail::positive("parameters", parameters);
  detail::fraction("recomputed", recomputed);
  return named("FLOP per token", (6.0 + 2.0 * recomputed) * parameters * flop / token);
}
PERFMODEL_WHOLE_NUMBERS(training_flop_per_token)

/// Training MFU = tokens per second x 6 P / (ranks x peak). Errors: above 1.
/// Test: 8.03e9 parameters at 8,214 tok/s on one 989.4 TFLOP/s rank is 40 %.
template <Scalar T>
constexpr T training_mfu(const token_rate<T>& throughput, const std::type_identity_t<T>& parameters,
                         const std::type_identity_t<T>& ranks, const flop_rate<T>& peak_rate) {
  detail::not_negative("throughput", throughput);
  const T share = throughput * training_flop_per_token(parameters) /
                  (detail::count("ranks", ranks) * detail::positive("peak_rate", peak_rate));
  return named("MFU", detail::utilisation("mfu", share));
}

/// HFU counts recomputed FLOP too: HFU = MFU (6 + 2 r) / 6. Source: Korthikanti et al., "Reducing
/// Activation Recomputation in Large Transformer Models", 2022. Errors: above 1.
/// Test: full recomputation makes HFU / MFU = 4/3.
template <Scalar T>
constexpr T hfu(const T& model_utilisation, const T& recomputed) {
  detail::utilisation("mfu", model_utilisation);
  detail::fraction("recomputed", recomputed);
  return named("HFU", detail::utilisation("hfu", T(model_utilisation * (1.0 + recomputed / 3.0))));
}
PERFMODEL_WHOLE_NUMBERS(hfu)

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

/// The mean of the largest of n independent normal times is at most mean + deviation sqrt(2 ln n).
/// Source: Boucheron, Lugosi and Massart, "Concentration Inequalities", 2013, theorem 2.5. A bound:
/// its excess over the mean is 43 % too large for n = 8 and 15 % for n = 1024. Leaves out heavy
/// tails. Errors: n below 1. Test: not below the exact mean for n = 2 .. 1024 (by quadrature).
template <Scalar T>
constexpr duration<T> expected_maximum(const duration<T>& mean, const duration<T>& deviation,
                                       const std::type_identity_t<T>& n) {
  using math::log;
  using math::sqrt;
  detail::not_negative("mean", mean);
  detail::not_negative("deviation", deviation);
  const T spread = sqrt(T(2.0 * log(detail::count("n", n))));
  return named("expected maximum", mean + deviation * spread);
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
template <Scalar T, std::size_t N>
constexpr T static_batch_efficiency(const std::array<T, N>& lengths) {
  return static_batch_efficiency(std::span<const T>(lengths));
}

/// The most that continuous batching gains over static batching of these lengths: 1 / efficiency.
/// Test: 7.48 for the lengths above; 1 for equal lengths.
template <Scalar T, std::size_t N>
constexpr T continuous_batching_gain(const std::array<T, N>& lengths) {
  return named("continuous batching gain", T(1.0 / static_batch_efficiency(lengths)));
}

/// End-to-end latency = time to first token + (output tokens - 1) x inter-token latency.
/// Errors: fewer than 1 token. Test: 500 ms and 200 tokens at 40 ms take 8.46 s.
template <Scalar T>
constexpr duration<T> end_to_end(const duration<T>& first_token,
                                 const duration<T>& inter_token_latency,
                                 const std::type_identity_t<T>& output_tokens) {
  detail::not_negative("first_token", first_token);
  detail::not_negative("inter_token_latency", inter_token_latency);
  detail::count("output_tokens", output_tokens);
  return named("end to end", first_token + (output_tokens - 1.0) * inter_token_latency);
}

}  // namespace perfmodel
