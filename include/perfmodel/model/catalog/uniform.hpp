// Models of equal layers: one attention shape and one feed-forward shape.
#pragma once

#include <perfmodel/model/transformer.hpp>

namespace perfmodel::inline v0_3::catalog {

/// Sizes that do not depend on the shapes of a layer.
struct uniform_sizes {
  double layers, hidden, vocabulary, max_context;
  bool tied_embeddings = false;
};

/// A transformer with equal layers: one attention shape and one feed-forward shape.
template <class FeedForward>
constexpr transformer uniform_model(const char* name, const uniform_sizes& sizes,
                                    const attention_shape& attention, const FeedForward& f) {
  return {.name = name,
          .hidden = sizes.hidden,
          .vocabulary = sizes.vocabulary,
          .layers = {{sizes.layers, attention, f}},
          .tied_embeddings = sizes.tied_embeddings,
          .max_context = sizes.max_context};
}

/// A model of the same shapes with another context.
constexpr transformer with_context(transformer m, const char* name, double max_context) {
  m.name = name;
  m.max_context = max_context;
  return m;
}

}  // namespace perfmodel::inline v0_3::catalog
