// Feed-forward of a layer: a dense network, or routed experts.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel::inline v0_3 {

/// Three matrices where it is gated (SwiGLU, GeGLU), else two.
template <Scalar T = double>
struct basic_dense_shape {
  T intermediate{};
  bool gated = true;
  bool bias = false;

  constexpr T matrices() const { return T(gated ? 3.0 : 2.0); }
  constexpr T weights(const T& hidden) const { return matrices() * hidden * intermediate; }
  constexpr T latent_weights(const T&) const { return T(0.0); }
  /// One bias per output of each matrix.
  constexpr T extras(const T& hidden) const {
    return bias ? T((matrices() - 1.0) * intermediate + hidden) : T(0.0);
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("intermediate"), s.intermediate...);
    f("gated", s.gated...);
    f("bias", s.bias...);
  }
  friend bool operator==(const basic_dense_shape&, const basic_dense_shape&) = default;
};
using dense_shape = basic_dense_shape<>;

/// Routed experts: each token takes `top_k` of `experts`, each of size `intermediate`.
/// `shared_intermediate` is the total size of the always-active part: shared experts, or a dense
/// network (Gemma 4).
/// With `latent` the experts work on a projection of hidden to that size (Nemotron-3 Super,
/// Kimi-K3).
template <Scalar T = double>
struct basic_expert_shape {
  T experts{};
  T top_k{};
  T intermediate{};
  std::optional<T> shared_intermediate{};
  std::optional<T> latent{};
  bool gated = true;
  bool router_bias = false;  ///< one number per expert: a bias, or DeepSeek-V3's selection bias
  bool expert_bias = false;  ///< on every matrix of every expert (gpt-oss)
  bool shared_gate = false;  ///< a sigmoid gate of width hidden on the shared expert (Qwen 2 MoE)

  constexpr T matrices() const { return T(gated ? 3.0 : 2.0); }
  /// Size of an expert's input and output.
  constexpr T expert_hidden(const T& hidden) const { return latent.value_or(hidden); }
  /// Weights that every token uses: shared experts, and the projections to the latent and back.
  constexpr T weights(const T& hidden) const {
    const T shared = shared_intermediate ? T(matrices() * hidden * *shared_intermediate) : T(0.0);
    return shared + latent_weights(hidden);
  }
  /// Weights of the projections to the latent and back, which every rank has whole.
  constexpr T latent_weights(const T& hidden) const {
    return latent ? T(2.0 * hidden * *latent) : T(0.0);
  }
  /// All routed experts.
  constexpr T expert_weights(const T& hidden) const {
    return experts * matrices() * expert_hidden(hidden) * intermediate;
  }
  constexpr T expert_biases(const T& hidden) const {
    return expert_bias ? T(experts * ((matrices() - 1.0) * intermediate + expert_hidden(hidden)))
                       : T(0.0);
  }
  /// Rows of the router and of the shared expert's gate.
  constexpr T router_weights(const T& hidden) const {
    return (shared_gate ? T(experts + 1.0) : experts) * hidden;
  }
  constexpr T extras(const T& hidden) const {
    return router_weights(hidden) + (router_bias ? experts : T(0.0));
  }
  /// The share of the routed experts that a token visits.
  constexpr T visited() const { return top_k / experts; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("experts"), s.experts...);
    f(field::count("top_k"), s.top_k...);
    f(field::count("intermediate"), s.intermediate...);
    f(field::count("shared_intermediate"), s.shared_intermediate...);
    f(field::count("latent"), s.latent...);
    f("gated", s.gated...);
    f("router_bias", s.router_bias...);
    f("expert_bias", s.expert_bias...);
    f("shared_gate", s.shared_gate...);
  }
  friend bool operator==(const basic_expert_shape&, const basic_expert_shape&) = default;
};
using expert_shape = basic_expert_shape<>;

}  // namespace perfmodel::inline v0_3
