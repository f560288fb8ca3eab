// The parts of a model with layers of one kind, to read and to change.
#pragma once

#include <perfmodel/model/transformer.hpp>
#include <stdexcept>

namespace perfmodel_test {

/// The first kind of mixer, which has to be of that shape; likewise of feed-forward.
template <class T>
constexpr auto& attention(perfmodel::basic_transformer<T>& m) {
  return std::get<perfmodel::basic_attention_shape<T>>(m.layers.mixers[0].shape);
}
template <class T>
constexpr const auto& attention(const perfmodel::basic_transformer<T>& m) {
  return std::get<perfmodel::basic_attention_shape<T>>(m.layers.mixers[0].shape);
}
template <class T>
auto& latent_attention(perfmodel::basic_transformer<T>& m) {
  return std::get<perfmodel::basic_latent_attention_shape<T>>(m.layers.mixers[0].shape);
}
template <class T>
auto& dense(perfmodel::basic_transformer<T>& m) {
  return std::get<perfmodel::basic_dense_shape<T>>(m.layers.feed_forwards[0].shape);
}
template <class T>
auto& experts(perfmodel::basic_transformer<T>& m) {
  for (auto& kind : m.layers.feed_forwards) {
    if (auto* e = std::get_if<perfmodel::basic_expert_shape<T>>(&kind.shape)) return *e;
  }
  throw std::logic_error("no layer has experts");
}

/// Multiplies the number of layers of each kind.
template <class T>
void scale_layers(perfmodel::basic_transformer<T>& m, const T& factor) {
  m.layers.count *= factor;
  for (auto& kind : m.layers.mixers) kind.layers *= factor;
  for (auto& kind : m.layers.feed_forwards) kind.layers *= factor;
}

/// Layers with routed experts; those with a window.
inline double routed_layers_of(const perfmodel::transformer& m) {
  double n = 0;
  for (const auto& kind : m.layers.feed_forwards) {
    if (std::holds_alternative<perfmodel::expert_shape>(kind.shape)) n += kind.layers;
  }
  return n;
}
inline double windowed_layers_of(const perfmodel::transformer& m) {
  double n = 0;
  for (const auto& kind : m.layers.mixers) {
    const auto* a = std::get_if<perfmodel::attention_shape>(&kind.shape);
    if (a && a->window) n += kind.layers;
  }
  return n;
}

}  // namespace perfmodel_test
