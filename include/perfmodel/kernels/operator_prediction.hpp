// Evidence behind a calibrated time, and a prediction of one operator with its bound and interval.
#pragma once

#include <perfmodel/kernels/interval.hpp>
#include <perfmodel/kernels/policy.hpp>

namespace perfmodel::inline v0_3 {

/// Time of a composition by calibration profile, and the kinds of its operators.
template <Scalar T = double>
struct basic_time_by_profile {
  duration<T> gemms{}, attention{}, experts{}, links{}, network{};
  gemm_kind kind_of_gemms = gemm_kind::sixteen_bit;
  attention_kind kind_of_attention = attention_kind::decode;
  expert_kind kind_of_experts = expert_kind::as_stored;
  /// kind of the all-reduces, which take most of the link time
  collective_kind kind_of_all_reduces = collective_kind::library;
};
using time_by_profile = basic_time_by_profile<>;

/// Whether weights of experts are dequantised in the grouped GEMM.
template <Scalar T>
constexpr bool dequantises_experts(const basic_time_by_profile<T>& t) {
  return t.kind_of_experts == expert_kind::dequantised && mid(t.experts.value()) > 0.0;
}

/// Whether an engine quantises activations for GEMMs of a kind.
constexpr bool quantises(gemm_kind k) {
  return k != gemm_kind::sixteen_bit && k != gemm_kind::dequantised;
}

namespace detail {

/// log_sigma of GEMMs of a kind: the machine's own where measured. Else the larger of the machine
/// profile's and the engine's quantising kernels'.
template <Scalar T>
constexpr double gemm_log_sigma(const basic_calibrated<T>& c, gemm_kind k) {
  const profile_note& gemms = c.note(profile_part::gemms);
  if (entry_of(gemms.by_kind, k, "product_kind") > 0.0) return gemms.log_sigma_of(k);
  const double engine = c.note(profile_part::quantisation).log_sigma;
  return quantises(k) && engine > gemms.log_sigma ? engine : gemms.log_sigma;
}
constexpr profile_note with_log_sigma(profile_note n, double log_sigma) {
  n.log_sigma = log_sigma;
  return n;
}

/// Kinds of one operator's GEMM, attention or expert block.
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

/// Note of GEMMs of a kind. Dequantised ones that were not measured on the machine name their
/// source.
template <Scalar T>
constexpr profile_note gemm_note(const basic_calibrated<T>& c, gemm_kind k, double log_sigma) {
  profile_note n = with_log_sigma(c.note(profile_part::gemms), log_sigma);
  if (k == gemm_kind::dequantised && n.dequantisation_source != nullptr)
    n.from = n.dequantisation_source;
  return n;
}

}  // namespace detail

/// Evidence behind a time. All operators of one profile err in the same direction, over layers and
/// over each other: a profile's share of log_sigma is its share of the time.
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

/// log_sigma of one operator: by its kind, larger for shapes outside the measured ones.
/// Norms and activations have at least elementwise_log_sigma, or elementwise_kernels_log_sigma
/// where the policy counts element-wise kernels.
/// Test: a 16-bit GEMM on H100 has that of the catalogue; with n = 512 twice that.
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

/// A prediction of one operator with its bound and interval, from one call.
/// Errors: as calibrated_estimate and roofline. Test: low < time < high, bound below time.
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
