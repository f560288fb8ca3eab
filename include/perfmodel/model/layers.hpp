// Layers of a model: each a mixer, which sees other tokens, and a feed-forward, which does not.
#pragma once

#include <initializer_list>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/model/attention.hpp>
#include <perfmodel/model/feed_forward.hpp>
#include <perfmodel/model/recurrent.hpp>

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
      detail::out_of_range(what, static_cast<double>(List::capacity) + 1.0, "as many as fit");
    }
    list.push_back({times, shape});
  }
};
using layer_list = basic_layer_list<>;

namespace detail {

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
