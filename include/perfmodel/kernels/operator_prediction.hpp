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
  /// time by which launches without CUDA graphs exceed the kernels
  duration<T> launches{};
};
using time_by_profile = basic_time_by_profile<>;

/// True if experts take time and their grouped GEMMs dequantise the weights.
template <Scalar T>
constexpr bool dequantises_experts(const basic_time_by_profile<T>& t) {
  return t.kind_of_experts == expert_kind::dequantised && mid(t.experts.value()) > 0.0;
}

/// True if the launches of a step without CUDA graphs outlast its kernels.
template <Scalar T>
constexpr bool is_launch_bound(const basic_time_by_profile<T>& t) {
  return mid(t.launches.value()) > 0.0;
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

/// Profile that the time of an operator depends on, and its kind there.
template <Scalar T>
struct operator_profile {
  profile_part part = profile_part::gemms;
  basic_time_by_profile<T> kinds{};
  bool is_elementwise = false;
};
template <Scalar T, class Operator>
constexpr operator_profile<T> profile_of(const Operator& x) {
  operator_profile<T> p;
  if constexpr (requires { x.query_heads; }) {
    p.part = profile_part::attention;
    p.kinds.kind_of_attention = attention_kind_of(
        x.kv_format, !requires { x.context; });
  } else if constexpr (requires { x.experts; }) {
    p.part = profile_part::experts;
    p.kinds.kind_of_experts = expert_kind_of(x.format, x.weights, upper(x.expert_parallel) > 1.0);
  } else if constexpr (requires { x.weights; }) {
    p.kinds.kind_of_gemms = gemm_kind_of(x.format, x.weights);
  } else {
    p.is_elementwise = true;
  }
  return p;
}

/// Note of a profile with the log_sigma of the kind of operator in `t`. Dequantised GEMMs that were
/// not measured on the machine cite the source of their parameters.
template <Scalar T>
constexpr profile_note kind_note(const basic_calibrated<T>& c, profile_part part,
                                 const basic_time_by_profile<T>& t) {
  profile_note n = c.note(part);
  switch (part) {
    case profile_part::gemms:
      n.log_sigma = gemm_log_sigma(c, t.kind_of_gemms);
      if (t.kind_of_gemms == gemm_kind::dequantised && n.dequantisation_source != nullptr)
        n.from = n.dequantisation_source;
      break;
    case profile_part::attention: n.log_sigma = n.log_sigma_of(t.kind_of_attention); break;
    case profile_part::experts:
      n.log_sigma = n.log_sigma_of(t.kind_of_experts);
      if (t.kind_of_experts == expert_kind::as_stored && n.as_stored_source != nullptr)
        n.from = n.as_stored_source;
      break;
    case profile_part::links: n.log_sigma = n.log_sigma_of(t.kind_of_all_reduces); break;
    default: break;
  }
  return n;
}

}  // namespace detail

/// Evidence of a time: the profiles behind it and their log_sigma. All operators of one profile are
/// assumed to err in the same direction, and so are different profiles. Each profile's log_sigma
/// therefore counts in proportion to its time. Where launches outlast the kernels, the step takes
/// its launches, and theirs is the only log_sigma.
template <Scalar T>
constexpr evidence evidence_of(const basic_calibrated<T>& c, const basic_time_by_profile<T>& t) {
  evidence e;
  const profile_note& quantisation = c.note(profile_part::quantisation);
  const bool launch_bound = is_launch_bound(t);
  if (launch_bound) {
    profile_note launches = quantisation;
    launches.log_sigma = eager_launch_log_sigma;
    e.add(launches, duration<>::from_value(mid(t.launches.value())));
  }
  const auto add = [&](profile_part part, const duration<T>& time) {
    if (!(mid(time.value()) > 0.0)) return;
    const profile_note note = detail::kind_note(c, part, t);
    launch_bound ? e.cite(note) : e.add(note, duration<>::from_value(mid(time.value())));
  };
  add(profile_part::gemms, t.gemms);
  if (quantises(t.kind_of_gemms) && quantisation.log_sigma > 0.0 && mid(t.gemms.value()) > 0.0) {
    e.cite(quantisation);
  }
  add(profile_part::attention, t.attention);
  add(profile_part::experts, t.experts);
  const bool is_between_nodes = t.kind_of_all_reduces == collective_kind::between_nodes;
  add(is_between_nodes ? profile_part::network : profile_part::links, t.links);
  add(profile_part::network, t.network);
  return e;
}

/// log_sigma of one operator: that of its kind, increased for shapes outside the measured ones
/// (interval_growth).
/// Norms and activations have at least elementwise_log_sigma, or elementwise_kernels_log_sigma if
/// the policy counts element-wise kernels separately.
/// Test: a 16-bit GEMM on H100 has the log_sigma of the catalogue; with n = 512 it has twice that.
template <Scalar T, class Operator>
constexpr double stated_log_sigma(const Operator& x, const basic_calibrated<T>& c) {
  const detail::operator_profile<T> p = detail::profile_of<T>(x);
  const double log_sigma = detail::kind_note(c, p.part, p.kinds).log_sigma;
  if (p.is_elementwise) {
    return scalar_max(
        c.elementwise_kernels.has_any() ? elementwise_kernels_log_sigma : elementwise_log_sigma,
        log_sigma);
  }
  if constexpr (requires { interval_growth(x); }) return log_sigma * interval_growth(x);
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
  const detail::operator_profile<T> p = detail::profile_of<T>(x);
  profile_note note = detail::kind_note(c, p.part, p.kinds);
  note.log_sigma = stated_log_sigma(x, c);
  evidence evidence_found;
  evidence_found.add(note, duration<>::from_value(mid(e.time.value())));
  const profile_note& quantisation = c.note(profile_part::quantisation);
  if (quantises(p.kinds.kind_of_gemms) && quantisation.log_sigma > 0.0)
    evidence_found.cite(quantisation);
  return prediction_of(e, roofline(a, x), evidence_found);
}

}  // namespace perfmodel::inline v0_3
