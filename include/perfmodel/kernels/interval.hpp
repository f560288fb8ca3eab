// Interval of one operator's time, by its kind and by the distance of its shape from the fitted
// ones.
#pragma once

#include <array>
#include <cstddef>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/operators/moe.hpp>
#include <perfmodel/scalar/math.hpp>

// A prediction with its bound, its interval and its evidence.

namespace perfmodel::inline v0_3 {

/// Profiles behind a calibrated time.
enum class profile_part { gemms, quantisation, attention, experts, links, network };

constexpr const char* name_of(profile_part p) {
  constexpr const char* names[] = {"GEMM",   "engine",     "attention",
                                   "expert", "collective", "network"};
  return detail::entry_of(names, p, "profile_part");
}

/// log_sigma of each kind of an operator under one profile; 0: not measured.
using kind_log_sigmas = std::array<double, 6>;

/// Evidence of one profile. `donor` is the machine it was fitted to where that is another.
struct profile_note {
  profile_part part = profile_part::gemms;
  const accelerator* donor = nullptr;
  const source* from = &given_by_caller;
  double log_sigma = 0.0;
  kind_log_sigmas by_kind{};
  const source* dequantisation_source =
      nullptr;  ///< source of dequantised GEMMs, where they were not measured

  /// log_sigma of one kind of operators; the profile's where that kind was not measured.
  template <class Kind>
  constexpr double log_sigma_of(Kind k) const {
    const double own = detail::entry_of(by_kind, k, "kind of operators");
    return own > 0.0 ? own : log_sigma;
  }
};

/// Evidence behind a sum of times. Its log_sigma is the time-weighted mean of its parts', on the
/// assumption that all err in the same direction.
/// Test: 3 ms at 0.1 and 1 ms at 0.5 give 0.2.
class evidence {
 public:
  /// Adds a part with its time; a part without time is left out.
  constexpr void add(const profile_note& note, const duration<>& time) {
    if (!(time.value() > 0.0)) return;
    time_ += time.value();
    weighted_ += time.value() * note.log_sigma;
    cite(note);
  }
  /// Names a profile that contributes to a part already added.
  constexpr void cite(const profile_note& note) {
    for (const profile_note& known : *this) {
      if (known.part == note.part) return;
    }
    notes_[count_++] = note;
  }

  constexpr double log_sigma() const { return time_ > 0.0 ? weighted_ / time_ : 0.0; }
  constexpr const profile_note* begin() const { return notes_.data(); }
  constexpr const profile_note* end() const { return notes_.data() + count_; }
  /// The weakest basis of all profiles; derived where nothing takes time.
  constexpr basis weakest() const {
    constexpr basis from_weakest[] = {basis::assumed,  basis::transferred, basis::announced,
                                      basis::derived,  basis::given,       basis::copied,
                                      basis::measured, basis::vendor};
    for (const basis b : from_weakest) {
      for (const profile_note& n : *this) {
        if (n.from->how == b) return b;
      }
    }
    return basis::derived;
  }

 private:
  std::array<profile_note, 6> notes_{};  // one of each part
  std::size_t count_ = 0;
  double time_ = 0.0, weighted_ = 0.0;
};

/// An estimate, its bound (no operator and no step is faster), and the interval that holds 80 % of
/// measurements. `stands_on` names the profiles behind it.
template <class Estimate>
struct prediction {
  Estimate estimate{};
  Estimate bound{};
  decltype(Estimate::time) low{}, high{};
  evidence stands_on{};
};

/// Prediction with the interval of its evidence. Test: low x high = time^2; without evidence low =
/// high.
template <class Estimate>
constexpr prediction<Estimate> prediction_of(const Estimate& e, const Estimate& bound,
                                             const evidence& stands_on) {
  const auto range = range_of(e.time, stands_on.log_sigma());
  return {e, bound, range.low, range.high, stands_on};
}

// Kinds of operators with different accuracy under one profile; each is an index of
// kind_log_sigmas.
enum class gemm_kind { sixteen_bit, eight_bit, eight_bit_blocks, four_bit, integer, dequantised };
enum class attention_kind { decode, low_precision_decode, prefill, low_precision_prefill };
enum class expert_kind { as_stored, dequantised, low_precision, expert_parallel };
/// Library of the kernels: a communication library (NCCL), or a serving engine's own all-reduce.
enum class collective_kind { library, own_kernels };

/// Kind of a GEMM with operands in `format`; `dequantised`: the weights have fewer bits.
constexpr gemm_kind gemm_kind_of(number_format format, const storage_format& weights) {
  const number_format multiplied = wider(format, weights.format);
  if (bits_of(multiplied) >= 16.0) {
    return weights.bits() < 16.0 ? gemm_kind::dequantised : gemm_kind::sixteen_bit;
  }
  if (bits_of(multiplied) < 8.0) return gemm_kind::four_bit;
  if (multiplied == number_format::int8) return gemm_kind::integer;
  return weights.group ? gemm_kind::eight_bit_blocks : gemm_kind::eight_bit;
}
constexpr attention_kind attention_kind_of(const storage_format& cache, bool is_prefill) {
  const bool low_precision = cache.bits() < 16.0;
  if (is_prefill)
    return low_precision ? attention_kind::low_precision_prefill : attention_kind::prefill;
  return low_precision ? attention_kind::low_precision_decode : attention_kind::decode;
}
/// Kind of an expert block, by the rule of detail::calibration_for.
constexpr expert_kind expert_kind_of(number_format format, const storage_format& weights,
                                     bool expert_parallel) {
  const bool sixteen_bit = bits_of(wider(format, weights.format)) >= 16.0;
  if (sixteen_bit && weights.bits() < 16.0) return expert_kind::dequantised;
  if (sixteen_bit || bits_of(weights.format) < 8.0) return expert_kind::as_stored;
  return expert_parallel ? expert_kind::expert_parallel : expert_kind::low_precision;
}

namespace detail {

/// Distance of x from a range, in ln; 0 within.
constexpr double distance_outside(double x, double least, double most) {
  if (x < least) return math::log(least / x);
  return x > most ? math::log(x / most) : 0.0;
}
constexpr double extrapolation_growth(double per_e_fold, double squared_distance) {
  return math::sqrt(1.0 + per_e_fold * per_e_fold * squared_distance);
}
constexpr double square(double x) {
  return x * x;
}

}  // namespace detail

/// Growth of log_sigma outside the measured shapes: sqrt(1 + (slope d)^2), d the distance in ln
/// over all dimensions.
/// GEMMs: n and k of 1,024 and more (above 16,384 layers of real models, held out of every fit, are
/// no worse). Where a fit has none below 2,048, those of 1,024 err 1.2 (H100) to 2 (B200, L40S)
/// times as much: slope 2.5.
/// Attention: heads of 128 only were published, slope 1.5, assumed. Experts: 1.5, assumed.
/// Test: a GEMM with n = 512 has sqrt(1 + (2.5 ln 2)^2).
template <Scalar T>
constexpr double interval_growth(const basic_gemm<T>& g) {
  using detail::distance_outside;
  using detail::square;
  return detail::extrapolation_growth(2.5, square(distance_outside(mid(g.n), 1024, 65536)) +
                                               square(distance_outside(mid(g.k), 1024, 65536)));
}
template <Scalar T, template <class> class Attention>
  requires requires(const Attention<T>& x) {
    x.head_dim;
  }
constexpr double interval_growth(const Attention<T>& x) {
  return detail::extrapolation_growth(
      1.5, detail::square(detail::distance_outside(mid(x.head_dim), 128, 128)));
}
template <Scalar T>
constexpr double interval_growth(const basic_moe_ffn<T>& x) {
  using detail::distance_outside;
  using detail::square;
  return detail::extrapolation_growth(
      1.5, square(distance_outside(mid(x.hidden), 2048, 6144)) +
               square(distance_outside(mid(x.intermediate), 768, 16384)) +
               square(distance_outside(mid(x.experts), 8, 128)));
}

}  // namespace perfmodel::inline v0_3
