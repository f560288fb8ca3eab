// How wide the interval of one operator is: by its kind, and by how far its shape is from those fitted.
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

// A prediction beside its bound: the interval around it, and what it stands on.

namespace perfmodel {

/// The profiles that a calibrated time may stand on.
enum class profile_part { products, quantisation, attention, experts, links, network };

constexpr const char* name_of(profile_part p) {
  constexpr const char* names[] = {"GEMM",   "engine",     "attention",
                                   "expert", "collective", "network"};
  return detail::entry_of(names, p, "profile_part");
}

/// log_sigma of each kind of an operator under one profile, see interval.hpp; 0: nobody measured it.
using kind_log_sigmas = std::array<double, 6>;

/// What one profile is worth. `donor` is the machine it was fitted to where that is another.
struct profile_note {
  profile_part part = profile_part::products;
  const accelerator* donor = nullptr;
  const source* from = &given_by_caller;
  double log_sigma = 0.0;
  kind_log_sigmas by_kind{};
  const source* dequantisation_source =
      nullptr;  ///< of products of narrow weights, where they were not measured

  /// Of one kind of operators: its own where it was measured.
  template <class Kind>
  constexpr double width_of(Kind k) const {
    const double own = detail::entry_of(by_kind, k, "kind of operators");
    return own > 0.0 ? own : log_sigma;
  }
};

/// What a sum of times stands on. Its log_sigma is the mean of its parts', weighted by time, as
/// though all erred the same way, which is assumed.
/// Test: of 3 ms at 0.1 and 1 ms at 0.5 it is 0.2.
class evidence {
 public:
  /// `time`: of the part; one without time is left out.
  constexpr void add(const profile_note& note, const duration<>& time) {
    if (!(time.value() > 0.0)) return;
    time_ += time.value();
    weighted_ += time.value() * note.log_sigma;
    cite(note);
  }
  /// Names a profile that has a share in a part already added.
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

/// Test: low x high = time^2; a prediction that stands on nothing has no width.
template <class Estimate>
constexpr prediction<Estimate> prediction_of(const Estimate& e, const Estimate& bound,
                                             const evidence& stands_on) {
  const auto range = range_of(e.time, stands_on.log_sigma());
  return {e, bound, range.low, range.high, stands_on};
}

// Kinds of operators that one profile predicts differently well; each is an index of kind_log_sigmas.
enum class gemm_kind { sixteen_bit, eight_bit, eight_bit_blocks, four_bit, integer, dequantised };
enum class attention_kind { decode, low_precision_decode, prefill, low_precision_prefill };
enum class expert_kind { as_stored, dequantised, narrow, spread };
/// By whose kernels: a communication library's (NCCL), or a serving engine's own all-reduce.
enum class collective_kind { library, own_kernels };

/// Of products that multiply in `format` with weights stored so; `widened` weights are narrower.
constexpr gemm_kind gemm_kind_of(number_format format, const storage_format& weights) {
  const number_format multiplied = wider(format, weights.format);
  if (bits_of(multiplied) >= 16.0) {
    return weights.bits() < 16.0 ? gemm_kind::dequantised : gemm_kind::sixteen_bit;
  }
  if (bits_of(multiplied) < 8.0) return gemm_kind::four_bit;
  if (multiplied == number_format::int8) return gemm_kind::integer;
  return weights.group ? gemm_kind::eight_bit_blocks : gemm_kind::eight_bit;
}
constexpr attention_kind attention_kind_of(const storage_format& cache, bool of_a_prompt) {
  const bool narrow = cache.bits() < 16.0;
  if (of_a_prompt) return narrow ? attention_kind::low_precision_prefill : attention_kind::prefill;
  return narrow ? attention_kind::low_precision_decode : attention_kind::decode;
}
/// As detail::calibration_for picks their kernels.
constexpr expert_kind expert_kind_of(number_format format, const storage_format& weights,
                                     bool spread) {
  const bool sixteen_bit = bits_of(wider(format, weights.format)) >= 16.0;
  if (sixteen_bit && weights.bits() < 16.0) return expert_kind::dequantised;
  if (sixteen_bit || bits_of(weights.format) < 8.0) return expert_kind::as_stored;
  return spread ? expert_kind::spread : expert_kind::narrow;
}

namespace detail {

/// How far x is outside a range, in ln; 0 within.
constexpr double outside(double x, double least, double most) {
  if (x < least) return math::log(least / x);
  return x > most ? math::log(x / most) : 0.0;
}
constexpr double extrapolation(double per_e_fold, double squared_distance) {
  return math::sqrt(1.0 + per_e_fold * per_e_fold * squared_distance);
}
constexpr double square(double x) {
  return x * x;
}

}  // namespace detail

/// The range of shapes that predictions were held against; widths are of it. Beyond it the width grows to
/// sqrt(1 + (slope d)^2) of itself, d the distance in ln over all dimensions.
/// Products: n and k of 1,024 and more (above 16,384 layers of real models, that no fit saw, are no worse).
/// Where a fit sees none below 2,048, those of 1,024 are 1.2 (H100) to 2 (B200, L40S) times as far off:
/// slope 2.5. Attention: heads of 128 alone were published, slope 1.5, assumed. Experts: 1.5, assumed.
/// Test: of a product with n = 512 it is sqrt(1 + (2.5 ln 2)^2).
template <Scalar T>
constexpr double interval_growth(const basic_gemm<T>& g) {
  using detail::outside;
  using detail::square;
  return detail::extrapolation(
      2.5, square(outside(mid(g.n), 1024, 65536)) + square(outside(mid(g.k), 1024, 65536)));
}
template <Scalar T, template <class> class Attention>
  requires requires(const Attention<T>& x) {
    x.head_dim;
  }
constexpr double interval_growth(const Attention<T>& x) {
  return detail::extrapolation(1.5, detail::square(detail::outside(mid(x.head_dim), 128, 128)));
}
template <Scalar T>
constexpr double interval_growth(const basic_moe_ffn<T>& x) {
  using detail::outside;
  using detail::square;
  return detail::extrapolation(1.5, square(outside(mid(x.hidden), 2048, 6144)) +
                                        square(outside(mid(x.intermediate), 768, 16384)) +
                                        square(outside(mid(x.experts), 8, 128)));
}

}  // namespace perfmodel
