// A decoder-only transformer as a plain value: the shapes that decide its bytes and FLOP.
#pragma once

#include <perfmodel/core/label.hpp>
#include <perfmodel/workload/model/layer_list.hpp>
#include <perfmodel/workload/model/weight_storage.hpp>

namespace perfmodel {

/// A vision or audio tower in front of the model: its parameters, its projection to hidden included,
/// and the tokens that one image (or one second of sound) becomes, where that is fixed.
template <Scalar T = double>
struct basic_encoder_shape {
  T parameters{};
  std::optional<T> tokens_per_item{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("parameters"), s.parameters...);
    f(field::count("tokens_per_item"), s.tokens_per_item...);
  }
};
using encoder_shape = basic_encoder_shape<>;

/// Embeddings that every layer has of its own (Gemma 3n, Gemma 4 E2B and E4B): a table of `vocabulary`
/// rows, each `width` wide for each layer; hidden is projected to as much once, and in each layer
/// to `width` and back.
template <Scalar T = double>
struct basic_layer_embedding {
  T width{};
  T vocabulary{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("width"), s.width...);
    f(field::count("vocabulary"), s.vocabulary...);
  }
};
using layer_embedding = basic_layer_embedding<>;

/// The whole model: {.hidden = 8192, .vocabulary = 128256, .layers = {{80, attention_shape{...},
/// dense_shape{28672}}}}. `mtp` are its multi-token-prediction modules, each a layer, two norms and a
/// projection of 2 hidden to hidden; they share the vocabulary tables (DeepSeek-V3, arXiv 2412.19437,
/// section 2.2).
template <Scalar T = double>
struct basic_transformer {
  label name{};
  T hidden{};
  T vocabulary{};
  basic_layer_list<T> layers{};
  T norms_per_layer = T(2.0);  ///< of width hidden (Gemma 3 has 4)
  bool norm_bias = false;      ///< LayerNorm with a bias, in place of RMSNorm
  bool tied_embeddings = false;
  bool head_bias = false;
  std::optional<T> max_context{};  ///< tokens the model was trained for, where that is stated
  std::optional<T> positions{};    ///< rows of a learned table of positions (GPT-2, OPT)
  std::optional<basic_layer_shape<T>> mtp{};
  std::optional<basic_encoder_shape<T>> encoder{};
  std::optional<basic_layer_embedding<T>> layer_embedding{};
  weight_storage stored{};  ///< as its maker publishes the weights; bf16 unless stated

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f(field::count("hidden"), s.hidden...);
    f(field::count("vocabulary"), s.vocabulary...);
    f("layers", s.layers...);
    f(field::not_negative("norms_per_layer"), s.norms_per_layer...);
    f("norm_bias", s.norm_bias...);
    f("tied_embeddings", s.tied_embeddings...);
    f("head_bias", s.head_bias...);
    f(field::count("max_context"), s.max_context...);
    f(field::count("positions"), s.positions...);
    f("mtp", s.mtp...);
    f("encoder", s.encoder...);
    f("layer_embedding", s.layer_embedding...);
    f("stored", s.stored...);
  }
};
using transformer = basic_transformer<>;

namespace detail {

template <Scalar T>
constexpr void check_shape(const basic_attention_shape<T>& a) {
  const double group = lower(a.query_heads) / lower(a.kv_heads);
  if (group != math::floor(group)) {
    fail(error_code::inconsistent, "kv_heads must divide query_heads");
  }
  if (a.chunked && !a.window) fail(error_code::inconsistent, "chunked attention needs a window");
}
template <Scalar T>
constexpr void check_shape(const basic_latent_attention_shape<T>& a) {
  if (lower(a.head_dim) <= upper(a.rope_dim)) {
    fail(error_code::inconsistent, "head_dim must exceed rope_dim, which is part of it");
  }
}
template <Scalar T>
constexpr void check_shape(const basic_recurrent_shape<T>& a) {
  const double group = lower(a.value_heads) / lower(a.key_heads);
  if (group != math::floor(group)) {
    fail(error_code::inconsistent, "key_heads must divide value_heads");
  }
}
template <Scalar T>
constexpr void check_shape(const basic_compressed_attention_shape<T>& a) {
  if (a.indexer && !a.ratio) {
    fail(error_code::inconsistent, "an indexer chooses among entries, which need a ratio");
  }
}
template <Scalar T>
constexpr void check_shape(const basic_dense_shape<T>&) {}
template <Scalar T>
constexpr void check_shape(const basic_expert_shape<T>& e) {
  within("model.layers.feed_forwards.top_k", e.top_k, 1.0, upper(e.experts), "1 to experts");
}

}  // namespace detail

/// Checks that a model can exist: every width positive, heads grouped evenly, top_k within experts, no
/// more layers with a mixer or a feed-forward than there are.
/// Returns it. Errors: out_of_range or inconsistent, with the field.
template <Scalar T>
constexpr const basic_transformer<T>& checked(const basic_transformer<T>& m) {
  require_valid(m, "model");
  const auto check_each = [](const auto& shape) { detail::check_shape(shape); };
  double mixers = 0.0, feed_forwards = 0.0;
  for (const auto& kind : m.layers.mixers) {
    std::visit(check_each, kind.shape);
    mixers += lower(kind.layers);
  }
  for (const auto& kind : m.layers.feed_forwards) {
    std::visit(check_each, kind.shape);
    feed_forwards += lower(kind.layers);
  }
  const double most = upper(m.layers.count) * (1.0 + 1e-9);
  if (mixers > most || feed_forwards > most) {
    detail::fail(error_code::inconsistent, "layers.count is less than the layers of its kinds");
  }
  return m;
}

/// The routed experts of a model: of its layers that have any, the first kind.
template <Scalar T>
constexpr std::optional<basic_expert_shape<T>> experts_of(const basic_transformer<T>& m) {
  for (const auto& kind : m.layers.feed_forwards) {
    if (std::holds_alternative<basic_expert_shape<T>>(kind.shape)) {
      return std::get<basic_expert_shape<T>>(kind.shape);
    }
  }
  return {};
}

}  // namespace perfmodel
