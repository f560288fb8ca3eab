// What acceptance of draft tokens yields: tokens accepted, and tokens emitted, per target pass.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/units/convention.hpp>
#include <perfmodel/units/named.hpp>
#include <span>

namespace perfmodel {

namespace convention {
struct accepted;  // draft tokens that the target model keeps
struct emitted;   // those, and the one that the target model adds itself
}  // namespace convention

template <class T = double>
using accepted_draft_tokens = qualified<convention::accepted, tokens<T>>;
template <class T = double>
using emitted_tokens_per_pass = qualified<convention::emitted, tokens<T>>;

namespace detail {
inline constexpr int largest_draft = 4096;
constexpr int draft_count(int draft_length) {
  within("draft_length", static_cast<double>(draft_length), 1.0, double(largest_draft),
         "1 to 4096");
  return draft_length;
}
/// a + a^2 + ... + a^k, and its derivative, by Horner's rule: exact at a = 1, no division.
template <Scalar T>
constexpr T geometric(const T& a, int k) {
  T sum = a;
  for (int i = 1; i < k; ++i) sum = a * (T(1.0) + sum);
  return sum;
}
constexpr double geometric_slope(double a, int k) {
  double slope = 0.0;
  for (int i = k; i >= 1; --i) slope = slope * a + i;
  return slope;
}
}  // namespace detail

/// Draft tokens accepted per target pass when each is accepted with probability a, independently,
/// and the first rejection ends the draft: a (1 - a^k) / (1 - a) = a + a^2 + ... + a^k.
/// Source: Leviathan, Kalman and Matias, "Fast Inference from Transformers via Speculative
/// Decoding", ICML 2023, equation (1), less the bonus token. Leaves out that positions differ; see
/// the overload. Errors: acceptance outside 0 .. 1, draft_length outside 1 .. 4096. Test: a = 0.8,
/// k = 4: 2.3616.
template <Scalar T>
constexpr accepted_draft_tokens<T> accepted_tokens(const T& acceptance, int draft_length) {
  const T sum = detail::geometric(detail::fraction("acceptance", acceptance),
                                  detail::draft_count(draft_length));
  return accepted_draft_tokens<T>(named("accepted tokens", sum * token));
}
/// The same with an acceptance per position, each given that all before were accepted:
/// a_1 + a_1 a_2 + ... + a_1 ... a_k. Test: equal positions give the geometric sum.
template <Scalar T>
constexpr accepted_draft_tokens<T> accepted_tokens(std::span<const T> acceptance) {
  detail::draft_count(static_cast<int>(acceptance.size()));
  T reached(1.0);
  T sum(0.0);
  for (const T& a : acceptance) {
    reached = reached * detail::fraction("acceptance", a);
    sum = sum + reached;
  }
  return accepted_draft_tokens<T>(named("accepted tokens", sum * token));
}

/// emitted = accepted + 1: the pass that rejects a token, or accepts all, yields one of its own.
template <Scalar T>
constexpr emitted_tokens_per_pass<T> emitted_tokens(const accepted_draft_tokens<T>& accepted) {
  return emitted_tokens_per_pass<T>(named("emitted tokens", accepted.quantity() + token));
}
/// accepted = emitted - 1.
template <Scalar T>
constexpr accepted_draft_tokens<T> accepted_tokens(const emitted_tokens_per_pass<T>& tokens_out) {
  return accepted_draft_tokens<T>(tokens_out.quantity() - token);
}

/// Tokens emitted per target pass: (1 - a^(k+1)) / (1 - a), or 1 + the sum of products by position.
/// Source: Leviathan et al. 2023, equation (1). Tests: a = 0.8, k = 4: 3.3616; between 1 and k + 1.
template <Scalar T>
constexpr emitted_tokens_per_pass<T> emitted_tokens(const T& acceptance, int draft_length) {
  return emitted_tokens(accepted_tokens(acceptance, draft_length));
}
template <Scalar T>
constexpr emitted_tokens_per_pass<T> emitted_tokens(std::span<const T> acceptance) {
  return emitted_tokens(accepted_tokens(acceptance));
}

}  // namespace perfmodel
