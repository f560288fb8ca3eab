// Interval of an operator's time: log_sigma by kind of operator, increased for shapes outside the
// fitted ones.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/operators/moe.hpp>
#include <perfmodel/scalar/math.hpp>

// A prediction with its lower bound, its interval and its evidence.

namespace perfmodel::inline v0_3 {

/// The profiles that a calibrated time may depend on.
enum class profile_part { gemms, quantisation, attention, experts, links, network };

/// Name of a part of a profile, as in messages.
constexpr const char* name_of(profile_part p) {
  constexpr const char* names[] = {"GEMM",   "engine",     "attention",
                                   "expert", "collective", "network"};
  return detail::entry_of(names, p, "profile_part");
}

/// log_sigma of each kind of operator in one profile (see gemm_kind and the other kinds); 0: not
/// measured.
using kind_log_sigmas = std::array<double, 6>;

/// Evidence of one profile: its source and its log_sigma. `donor` is the accelerator model that was
/// measured, if the parameters were transferred from another one; else null.
struct profile_note {
  profile_part part = profile_part::gemms;
  const accelerator* donor = nullptr;
  const source* from = &given_by_caller;
  double log_sigma = 0.0;
  kind_log_sigmas by_kind{};  ///< log_sigma of each kind of operator that was measured
  /// source of the parameters of dequantised GEMMs, if those were not measured
  const source* dequantisation_source = nullptr;
  /// source of the parameters of experts in 16 or 4 bits, if those were measured elsewhere
  const source* as_stored_source = nullptr;
  const measured_releases* releases = nullptr;  ///< null: not measured, or by the caller

  /// log_sigma of one kind of operators; if that was not measured, the profile's.
  template <class Kind>
  constexpr double log_sigma_of(Kind k) const {
    const double own = detail::entry_of(by_kind, k, "kind of operators");
    return own > 0.0 ? own : log_sigma;
  }
};

/// Evidence of a sum of times: the profiles behind it. Its log_sigma is the mean of its parts,
/// weighted by time: all parts are assumed to err in the same direction.
/// Test: 3 ms with log_sigma 0.1 and 1 ms with 0.5 give 0.2.
class evidence {
 public:
  /// Adds a part of the sum with its time; a part of no time is left out.
  constexpr void add(const profile_note& note, const duration<>& time) {
    if (!(time.value() > 0.0)) return;
    time_ += time.value();
    weighted_ += time.value() * note.log_sigma;
    cite(note);
  }
  /// Adds a profile to those named, without time of its own.
  constexpr void cite(const profile_note& note) {
    for (const profile_note& known : *this) {
      if (known.part == note.part) return;
    }
    notes_[count_++] = note;
  }

  constexpr double log_sigma() const { return time_ > 0.0 ? weighted_ / time_ : 0.0; }
  constexpr const profile_note* begin() const { return notes_.data(); }
  constexpr const profile_note* end() const { return notes_.data() + count_; }
  /// Weakest basis among the profiles (assumed is weakest, vendor strongest); derived if no part
  /// has time.
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
  std::array<profile_note, 6> notes_{};  // at most one for each profile_part
  std::size_t count_ = 0;
  double time_ = 0.0, weighted_ = 0.0;
};

/// An estimate, its lower bound (no operator and no step is faster), and the interval that contains
/// 80 % of measurements. `stands_on` has the profiles behind the estimate.
template <class Estimate>
struct prediction {
  Estimate estimate{};
  Estimate bound{};
  decltype(Estimate::time) low{}, high{};
  evidence stands_on{};
};

/// Prediction with the interval that follows from its evidence. Test: low x high = time^2; without
/// evidence low = high.
template <class Estimate>
constexpr prediction<Estimate> prediction_of(const Estimate& e, const Estimate& bound,
                                             const evidence& stands_on) {
  const auto range = range_of(e.time, stands_on.log_sigma());
  return {e, bound, range.low, range.high, stands_on};
}

// Kinds of operators that differ in accuracy under one profile. Each kind is an index of
// kind_log_sigmas.
enum class gemm_kind { sixteen_bit, eight_bit, eight_bit_blocks, four_bit, integer, dequantised };
enum class attention_kind { decode, low_precision_decode, prefill, low_precision_prefill };
enum class expert_kind { as_stored, dequantised, low_precision, expert_parallel };
/// Library of a collective: a communication library (NCCL), a serving engine's own all-reduce
/// kernels, or a communication library between nodes, which has the network's evidence.
enum class collective_kind { library, own_kernels, between_nodes };

/// Kind of a GEMM with activations in `format`. It multiplies in the wider of that and the format
/// of the weights; `dequantised`: 16-bit operands, weights of fewer bits.
constexpr gemm_kind gemm_kind_of(number_format format, const storage_format& weights) {
  const number_format multiplied = wider(format, weights.format);
  if (bits_of(multiplied) >= 16.0) {
    return weights.bits() < 16.0 ? gemm_kind::dequantised : gemm_kind::sixteen_bit;
  }
  if (bits_of(multiplied) < 8.0) return gemm_kind::four_bit;
  if (multiplied == number_format::int8) return gemm_kind::integer;
  return weights.group ? gemm_kind::eight_bit_blocks : gemm_kind::eight_bit;
}
/// Kind of attention by its KV-cache format: fewer than 16 bits are low_precision.
constexpr attention_kind attention_kind_of(const storage_format& cache, bool is_prefill) {
  const bool low_precision = cache.bits() < 16.0;
  if (is_prefill)
    return low_precision ? attention_kind::low_precision_prefill : attention_kind::prefill;
  return low_precision ? attention_kind::low_precision_decode : attention_kind::decode;
}
/// Kind of an expert block, by which detail::view_for chooses its kernels.
constexpr expert_kind expert_kind_of(number_format format, const storage_format& weights,
                                     bool expert_parallel) {
  const bool sixteen_bit = bits_of(wider(format, weights.format)) >= 16.0;
  if (sixteen_bit && weights.bits() < 16.0) return expert_kind::dequantised;
  if (sixteen_bit || bits_of(weights.format) < 8.0) return expert_kind::as_stored;
  return expert_parallel ? expert_kind::expert_parallel : expert_kind::low_precision;
}

namespace detail {

/// A dimension of a shape, and the range of it that was measured.
struct measured_dimension {
  double value, least, most;
};
/// sqrt(1 + (slope d)^2), with the distance d of a shape from the measured ranges, in ln; 1 inside.
constexpr double extrapolation_growth(double slope,
                                      std::initializer_list<measured_dimension> dimensions) {
  double squared_distance = 0.0;
  for (const auto& [value, least, most] : dimensions) {
    const double distance = value < least  ? math::log(least / value)
                            : value > most ? math::log(value / most)
                                           : 0.0;
    squared_distance += distance * distance;
  }
  return math::sqrt(1.0 + slope * slope * squared_distance);
}

}  // namespace detail

/// Factor on log_sigma for a shape outside the measured ones: sqrt(1 + (slope d)^2). d is the
/// distance from the measured range, in ln, over all dimensions of the shape.
/// GEMMs: the range is n and k of 1,024 and more. Above 16,384, layers of real models that were
/// left out of every fit are no worse. The slope of 2.5 is from fits without n or k below 2,048:
/// there, GEMMs of 1,024 err 1.2 (H100) to 2 (B200, L40S) times as much.
/// Attention: only a head_dim of 128 was published; the slope of 1.5 is assumed. Experts: the slope
/// of 1.5 is assumed.
/// Test: a GEMM with n = 512 has the factor sqrt(1 + (2.5 ln 2)^2).
template <Scalar T>
constexpr double interval_growth(const basic_gemm<T>& g) {
  return detail::extrapolation_growth(2.5, {{mid(g.n), 1024, 65536}, {mid(g.k), 1024, 65536}});
}
/// Factor on log_sigma of attention by its head_dim; the slope is assumed.
template <Scalar T, template <class> class Attention>
  requires requires(const Attention<T>& x) {
    x.head_dim;
  }
constexpr double interval_growth(const Attention<T>& x) {
  return detail::extrapolation_growth(1.5, {{mid(x.head_dim), 128, 128}});
}
/// Factor on log_sigma of MoE experts by hidden, intermediate and experts; the slope is assumed.
template <Scalar T>
constexpr double interval_growth(const basic_moe_ffn<T>& x) {
  return detail::extrapolation_growth(
      1.5,
      {{mid(x.hidden), 2048, 6144}, {mid(x.intermediate), 768, 16384}, {mid(x.experts), 8, 128}});
}

}  // namespace perfmodel::inline v0_3
