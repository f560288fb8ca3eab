// Layers of a model: each a mixer, which sees other tokens, and a feed-forward, which does not.
#pragma once

#include <initializer_list>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/model/attention.hpp>
#include <perfmodel/model/recurrent.hpp>
#include <perfmodel/scalar/math.hpp>

// Feed-forward of a layer: a dense network, or routed experts.

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

namespace perfmodel::inline v0_3 {

template <Scalar T = double>
using basic_mixer_shape =
    std::variant<basic_attention_shape<T>, basic_latent_attention_shape<T>,
                 basic_recurrent_shape<T>, basic_compressed_attention_shape<T>>;
template <Scalar T = double>
using basic_feed_forward_shape = std::variant<basic_dense_shape<T>, basic_expert_shape<T>>;
using mixer_shape = basic_mixer_shape<>;
using feed_forward_shape = basic_feed_forward_shape<>;

/// `times` equal layers. Either part may be missing (Nemotron-H, DeciLM).
template <Scalar T = double>
struct basic_layer_shape {
  T times = T(1.0);
  std::optional<basic_mixer_shape<T>> mixer{};
  std::optional<basic_feed_forward_shape<T>> feed_forward{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("times"), s.times...);
    f("mixer", s.mixer...);
    f("feed_forward", s.feed_forward...);
  }
};
using layer_shape = basic_layer_shape<>;

/// Number of layers with this mixer, or this feed-forward.
template <class Shape, Scalar T>
struct basic_layer_kind {
  T layers{};
  Shape shape{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("layers"), s.layers...);
    f("shape", s.shape...);
  }
};

/// Layers of a model, as a list of {times, mixer, feed_forward}. Costs depend on the number of
/// layers with each mixer and each feed-forward, not on their order, so equal ones are stored once.
/// Errors: out_of_range for more kinds than it holds, or no layers.
/// Test: 3 dense and 58 routed layers with one mixer are 61 of one mixer, and two feed-forwards.
template <Scalar T = double>
class basic_layer_list {
 public:
  static constexpr std::size_t most_mixers = 8, most_feed_forwards = 16;
  template <class Shape, std::size_t N>
  using kinds = short_list<basic_layer_kind<Shape, T>, N>;

  constexpr basic_layer_list() = default;
  constexpr basic_layer_list(std::initializer_list<basic_layer_shape<T>> list) {
    for (const basic_layer_shape<T>& l : list) add(l);
  }

  constexpr void add(const basic_layer_shape<T>& l) {
    count += l.times;
    if (l.mixer) add_to(mixers, "kinds of mixer", l.times, *l.mixer);
    if (l.feed_forward) add_to(feed_forwards, "kinds of feed-forward", l.times, *l.feed_forward);
  }

  T count{};
  kinds<basic_mixer_shape<T>, most_mixers> mixers{};
  kinds<basic_feed_forward_shape<T>, most_feed_forwards> feed_forwards{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("count"), s.count...);
    f("mixers", s.mixers...);
    f("feed_forwards", s.feed_forwards...);
  }

 private:
  template <class List, class Shape>
  static constexpr void add_to(List& list, const char* what, const T& times, const Shape& shape) {
    if constexpr (std::same_as<T, double>) {
      for (auto& kind : list) {
        if (kind.shape == shape) {
          kind.layers += times;
          return;
        }
      }
    }
    if (list.full()) {
      detail::out_of_range(what, static_cast<double>(List::capacity) + 1.0,
                           "at most 8 kinds of mixer and 16 of feed-forward");
    }
    list.push_back({times, shape});
  }
};
using layer_list = basic_layer_list<>;

namespace detail {

/// Number of layers with a mixer or feed-forward of type Shape.
template <class Shape, Scalar T, class Kinds>
constexpr T layers_with(const Kinds& kinds) {
  T n{};
  for (const auto& kind : kinds) {
    if (std::holds_alternative<Shape>(kind.shape)) n += kind.layers;
  }
  return n;
}

/// Sum over the layers of of(shape); `kinds` are mixers or feed-forwards.
template <class Kinds, class Of>
constexpr auto over_layers(const Kinds& kinds, const Of& of) {
  using kind = std::remove_cvref_t<decltype(*kinds.begin())>;
  decltype(kind{}.layers * of(std::variant_alternative_t<0, decltype(kind::shape)>{})) sum{};
  for (const kind& k : kinds) {
    sum += std::visit([&](const auto& shape) { return k.layers * of(shape); }, k.shape);
  }
  return sum;
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3
