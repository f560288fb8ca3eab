// Evidence of a calibrated time, and the prediction of one operator with lower bound and interval.
#pragma once

#include <perfmodel/kernels/interval.hpp>
#include <perfmodel/kernels/policy.hpp>

namespace perfmodel::inline v0_3 {

/// Time of a sum of operators, by the calibration profile that it depends on, and the kind of
/// operator that each profile was used for.
template <Scalar T = double>
struct basic_time_by_profile {
  duration<T> gemms{}, attention{}, experts{}, links{}, network{};
  gemm_kind kind_of_gemms = gemm_kind::sixteen_bit;
  attention_kind kind_of_attention = attention_kind::decode;
  expert_kind kind_of_experts = expert_kind::as_stored;
  /// library of the all-reduces, which take most of the link time
  collective_kind kind_of_all_reduces = collective_kind::library;
};
using time_by_profile = basic_time_by_profile<>;

/// True if experts take time and their grouped GEMMs dequantise the weights.
template <Scalar T>
constexpr bool dequantises_experts(const basic_time_by_profile<T>& t) {
  return t.kind_of_experts == expert_kind::dequantised && mid(t.experts.value()) > 0.0;
}

/// True if an engine quantises the activations of GEMMs of this kind.
constexpr bool quantises(gemm_kind k) {
  return k != gemm_kind::sixteen_bit && k != gemm_kind::dequantised;
}

namespace detail {

/// log_sigma of one kind of GEMMs: the value measured for that kind on the machine. If there is
/// none, it is the larger of the machine profile's and (for kinds that quantise) the engine
/// profile's.
template <Scalar T>
constexpr double gemm_log_sigma(const basic_calibrated<T>& c, gemm_kind k) {
  const profile_note& gemms = c.note(profile_part::gemms);
  if (entry_of(gemms.by_kind, k, "product_kind") > 0.0) return gemms.log_sigma_of(k);
  const double engine = c.note(profile_part::quantisation).log_sigma;
  return quantises(k) && engine > gemms.log_sigma ? engine : gemms.log_sigma;
}
/// The note with another log_sigma.
constexpr profile_note with_log_sigma(profile_note n, double log_sigma) {
  n.log_sigma = log_sigma;
  return n;
}

/// Kind of one operator: of a GEMM, of attention or of an expert block.
template <Scalar T, class Operator>
constexpr basic_time_by_profile<T> kinds_of(const Operator& x) {
  basic_time_by_profile<T> by;
  if constexpr (requires { x.query_heads; }) {
    by.kind_of_attention = attention_kind_of(
        x.kv_format, !requires { x.context; });
  } else if constexpr (requires { x.experts; }) {
    by.kind_of_experts = expert_kind_of(x.format, x.weights, upper(x.expert_parallel) > 1.0);
  } else if constexpr (requires { x.weights; }) {
    by.kind_of_gemms = gemm_kind_of(x.format, x.weights);
  }
  return by;
}

/// Note of one kind of GEMMs. Dequantised GEMMs that were not measured on the machine cite the
/// source of their parameters.
template <Scalar T>
constexpr profile_note gemm_note(const basic_calibrated<T>& c, gemm_kind k, double log_sigma) {
  profile_note n = with_log_sigma(c.note(profile_part::gemms), log_sigma);
  if (k == gemm_kind::dequantised && n.dequantisation_source != nullptr)
    n.from = n.dequantisation_source;
  return n;
}

}  // namespace detail

/// Evidence of a time: the profiles behind it and their log_sigma. All operators of one profile are
/// assumed to err in the same direction, and so are different profiles. Each profile's log_sigma
/// therefore counts in proportion to its time.
template <Scalar T>
constexpr evidence evidence_of(const basic_calibrated<T>& c, const basic_time_by_profile<T>& t) {
  const auto middle = [](const duration<T>& x) { return duration<>::from_value(mid(x.value())); };
  const auto add = [&](evidence& e, profile_part part, double log_sigma, const duration<T>& time) {
    e.add(detail::with_log_sigma(c.note(part), log_sigma), middle(time));
  };
  const profile_note& quantisation = c.note(profile_part::quantisation);
  evidence e;
  e.add(detail::gemm_note(c, t.kind_of_gemms, detail::gemm_log_sigma(c, t.kind_of_gemms)),
        middle(t.gemms));
  if (quantises(t.kind_of_gemms) && quantisation.log_sigma > 0.0 && mid(t.gemms.value()) > 0.0) {
    e.cite(quantisation);
  }
  add(e, profile_part::attention, c.note(profile_part::attention).log_sigma_of(t.kind_of_attention),
      t.attention);
  add(e, profile_part::experts, c.note(profile_part::experts).log_sigma_of(t.kind_of_experts),
      t.experts);
  add(e, profile_part::links, c.note(profile_part::links).log_sigma_of(t.kind_of_all_reduces),
      t.links);
  e.add(c.note(profile_part::network), middle(t.network));
  return e;
}

/// log_sigma of one operator: that of its kind, increased for shapes outside the measured ones
/// (interval_growth).
/// Norms and activations have at least elementwise_log_sigma, or elementwise_kernels_log_sigma if
/// the policy counts element-wise kernels separately.
/// Test: a 16-bit GEMM on H100 has the log_sigma of the catalogue; with n = 512 it has twice that.
template <Scalar T, class Operator>
constexpr double stated_log_sigma(const Operator& x, const basic_calibrated<T>& c) {
  const basic_time_by_profile<T> by = detail::kinds_of<T>(x);
  double log_sigma = detail::gemm_log_sigma(c, by.kind_of_gemms);
  if constexpr (requires { x.query_heads; }) {
    log_sigma = c.note(profile_part::attention).log_sigma_of(by.kind_of_attention);
  } else if constexpr (requires { x.experts; }) {
    log_sigma = c.note(profile_part::experts).log_sigma_of(by.kind_of_experts);
  } else if constexpr (!requires { x.weights; }) {
    return scalar_max(
        c.elementwise_kernels.has_any() ? elementwise_kernels_log_sigma : elementwise_log_sigma,
        log_sigma);
  }
  if constexpr (requires { interval_growth(x); }) log_sigma = log_sigma * interval_growth(x);
  return log_sigma;
}

/// Prediction of one operator: its calibrated time, its roofline as lower bound, its interval and
/// its evidence.
/// Errors: those of calibrated_estimate and roofline. Test: low < time < high, and bound below
/// time.
template <Scalar T, class Operator>
constexpr prediction<basic_estimate<T>> predict(
    const basic_accelerator<T>& a, const Operator& x, const basic_calibrated<T>& c,
    const std::type_identity_t<basic_call_conditions<T>>& conditions = {}) {
  const basic_estimate<T> e = calibrated_estimate(a, x, c, conditions);
  const basic_time_by_profile<T> by = detail::kinds_of<T>(x);
  constexpr profile_part part = requires {
    x.query_heads;
  }
  ? profile_part::attention : requires {
    x.experts;
  }
  ? profile_part::experts : profile_part::gemms;
  evidence evidence_found;
  const auto time = duration<>::from_value(mid(e.time.value()));
  const double log_sigma = stated_log_sigma(x, c);
  evidence_found.add(part == profile_part::gemms ? detail::gemm_note(c, by.kind_of_gemms, log_sigma)
                                                 : detail::with_log_sigma(c.note(part), log_sigma),
                     time);
  const profile_note& quantisation = c.note(profile_part::quantisation);
  if (quantises(by.kind_of_gemms) && quantisation.log_sigma > 0.0)
    evidence_found.cite(quantisation);
  return prediction_of(e, roofline(a, x), evidence_found);
}

}  // namespace perfmodel::inline v0_3
