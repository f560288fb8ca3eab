// What a calibrated time stands on, and a prediction of one operator with its bound and interval.
#pragma once

#include <perfmodel/kernels/interval.hpp>
#include <perfmodel/kernels/policy.hpp>

namespace perfmodel {

/// Where the time of a composition goes, by the profiles behind it, and what kinds of operators they are.
template <Scalar T = double>
struct basic_time_by_profile {
  duration<T> products{}, attention{}, experts{}, links{}, network{};
  gemm_kind product = gemm_kind::sixteen_bit;
  attention_kind attends = attention_kind::decode;
  expert_kind expert = expert_kind::as_stored;
  collective_kind sums = collective_kind::library;  ///< of the all-reduces, most of what links take
};
using time_by_profile = basic_time_by_profile<>;

/// Whether experts' weights are widened as they are multiplied.
template <Scalar T>
constexpr bool dequantises_experts(const basic_time_by_profile<T>& t) {
  return t.expert == expert_kind::dequantised && mid(t.experts.value()) > 0.0;
}

/// Whether an engine narrows activations for such products.
constexpr bool quantises(gemm_kind k) {
  return k != gemm_kind::sixteen_bit && k != gemm_kind::dequantised;
}

namespace detail {

/// log_sigma of products of a kind: as measured on the machine; else of the profile, or of the engine's
/// quantising kernels where that is wider.
template <Scalar T>
constexpr double gemm_log_sigma(const basic_calibrated<T>& c, gemm_kind k) {
  const profile_note& products = c.note(profile_part::products);
  if (entry_of(products.by_kind, k, "product_kind") > 0.0) return products.width_of(k);
  const double engine = c.note(profile_part::quantisation).log_sigma;
  return quantises(k) && engine > products.log_sigma ? engine : products.log_sigma;
}
constexpr profile_note with_log_sigma(profile_note n, double log_sigma) {
  n.log_sigma = log_sigma;
  return n;
}

/// Of one operator: its part, and the kinds of its weights or cache.
template <Scalar T, class Operator>
constexpr basic_time_by_profile<T> kinds_of(const Operator& x) {
  basic_time_by_profile<T> by;
  if constexpr (requires { x.query_heads; }) {
    by.attends = attention_kind_of(
        x.kv_format, !requires { x.context; });
  } else if constexpr (requires { x.experts; }) {
    by.expert = expert_kind_of(x.format, x.weights, upper(x.expert_parallel) > 1.0);
  } else if constexpr (requires { x.weights; }) {
    by.product = gemm_kind_of(x.format, x.weights);
  }
  return by;
}

/// Of products of a kind. What nobody measured on this machine says so.
template <Scalar T>
constexpr profile_note gemm_note(const basic_calibrated<T>& c, gemm_kind k, double width) {
  profile_note n = with_log_sigma(c.note(profile_part::products), width);
  if (k == gemm_kind::dequantised && n.dequantisation_source != nullptr)
    n.from = n.dequantisation_source;
  return n;
}

}  // namespace detail

/// The evidence behind such times. Within a part all operators of a pass are off together, over the layers
/// and over each other: its share of the width is its share of the time.
template <Scalar T>
constexpr evidence evidence_of(const basic_calibrated<T>& c, const basic_time_by_profile<T>& t) {
  const auto middle = [](const duration<T>& x) { return duration<>::from_value(mid(x.value())); };
  const auto add = [&](evidence& e, profile_part part, double width, const duration<T>& time) {
    e.add(detail::with_log_sigma(c.note(part), width), middle(time));
  };
  const profile_note& quantisation = c.note(profile_part::quantisation);
  evidence e;
  e.add(detail::gemm_note(c, t.product, detail::gemm_log_sigma(c, t.product)), middle(t.products));
  if (quantises(t.product) && quantisation.log_sigma > 0.0 && mid(t.products.value()) > 0.0) {
    e.cite(quantisation);
  }
  add(e, profile_part::attention, c.note(profile_part::attention).width_of(t.attends), t.attention);
  add(e, profile_part::experts, c.note(profile_part::experts).width_of(t.expert), t.experts);
  add(e, profile_part::links, c.note(profile_part::links).width_of(t.sums), t.links);
  e.add(c.note(profile_part::network), middle(t.network));
  return e;
}

/// log_sigma of one operator: of its kind, more where its shape is outside those measured; of what streams
/// (norms, activations), elementwise_log_sigma, or elementwise_kernels_log_sigma where small kernels are counted, or the
/// machine's where that is wider.
/// Test: of a product in 16 bits on H100 that of the catalogue; with n = 512 twice as wide.
template <Scalar T, class Operator>
constexpr double stated_log_sigma(const Operator& x, const basic_calibrated<T>& c) {
  const basic_time_by_profile<T> by = detail::kinds_of<T>(x);
  double width = detail::gemm_log_sigma(c, by.product);
  if constexpr (requires { x.query_heads; }) {
    width = c.note(profile_part::attention).width_of(by.attends);
  } else if constexpr (requires { x.experts; }) {
    width = c.note(profile_part::experts).width_of(by.expert);
  } else if constexpr (!requires { x.weights; }) {
    return scalar_max(
        c.elementwise_kernels.any() ? elementwise_kernels_log_sigma : elementwise_log_sigma, width);
  }
  if constexpr (requires { interval_growth(x); }) width = width * interval_growth(x);
  return width;
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
  ? profile_part::experts : profile_part::products;
  evidence stands_on;
  const auto time = duration<>::from_value(mid(e.time.value()));
  const double width = stated_log_sigma(x, c);
  stands_on.add(part == profile_part::products ? detail::gemm_note(c, by.product, width)
                                               : detail::with_log_sigma(c.note(part), width),
                time);
  const profile_note& quantisation = c.note(profile_part::quantisation);
  if (quantises(by.product) && quantisation.log_sigma > 0.0) stands_on.cite(quantisation);
  return prediction_of(e, roofline(a, x), stands_on);
}

}  // namespace perfmodel
