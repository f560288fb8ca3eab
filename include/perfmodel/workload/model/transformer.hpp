// A decoder-only transformer as a plain value: the shapes that decide its bytes and FLOP.
#pragma once

#include <perfmodel/scalar/math.hpp>
#include <perfmodel/workload/demand.hpp>
#include <perfmodel/workload/model/weight_storage.hpp>

namespace perfmodel {

/// Multi-head latent attention: one compressed vector per token, which all heads share.
/// Source: DeepSeek-V2, arXiv 2405.04434, section 2.1.
template <Scalar T = double>
struct basic_latent_shape {
  std::optional<T> query_rank{};  ///< of the query compression, where there is one
  T kv_rank{};                    ///< width of the cached latent
  T rope_dim{};                   ///< width of the cached rotary key, part of head_dim

  /// What one token leaves in the cache of a layer.
  constexpr T cached() const { return kv_rank + rope_dim; }
  /// What hidden is projected to before the heads: the latents of keys, values and queries.
  constexpr T projected() const { return query_rank ? T(*query_rank + cached()) : cached(); }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("query_rank"), s.query_rank...);
    f(field::count("kv_rank"), s.kv_rank...);
    f(field::count("rope_dim"), s.rope_dim...);
  }
};
using latent_shape = basic_latent_shape<>;

/// Attention shapes, equal in every layer. Multi-head and multi-query attention are grouped-query
/// attention with kv_heads = query_heads and kv_heads = 1. `head_dim` is the width of a query and a
/// key, `value_dim` that of a value where it is another. With `latent` the attention is MLA, and
/// kv_heads 1.
template <Scalar T = double>
struct basic_attention_shape {
  T query_heads{};
  T kv_heads{};
  T head_dim{};
  std::optional<T> value_dim{};
  std::optional<basic_latent_shape<T>> latent{};
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;  ///< a norm over each head's query and key (Qwen 3, Gemma 3)
  bool sinks = false;    ///< one learned logit per head (gpt-oss)

  constexpr T value_width() const { return value_dim.value_or(head_dim); }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("query_heads"), s.query_heads...);
    f(field::count("kv_heads"), s.kv_heads...);
    f(field::count("head_dim"), s.head_dim...);
    f(field::count("value_dim"), s.value_dim...);
    f("latent", s.latent...);
    f("qkv_bias", s.qkv_bias...);
    f("output_bias", s.output_bias...);
    f("qk_norm", s.qk_norm...);
    f("sinks", s.sinks...);
  }
};
using attention_shape = basic_attention_shape<>;

/// Routed experts. `layers` of the model's layers have them; the others are dense.
template <Scalar T = double>
struct basic_expert_shape {
  T layers{};
  T experts{};
  T top_k{};
  T intermediate{};          ///< of one expert
  T shared_intermediate{};   ///< of all always-on experts together
  bool router_bias = false;  ///< one number per expert: a bias, or DeepSeek-V3's selection bias
  bool expert_bias = false;  ///< on every matrix of every expert (gpt-oss)
  bool shared_gate = false;  ///< a sigmoid gate of width hidden on the shared expert (Qwen 2 MoE)

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::not_negative("layers"), s.layers...);
    f(field::not_negative("experts"), s.experts...);
    f(field::not_negative("top_k"), s.top_k...);
    f(field::not_negative("intermediate"), s.intermediate...);
    f(field::not_negative("shared_intermediate"), s.shared_intermediate...);
    f("router_bias", s.router_bias...);
    f("expert_bias", s.expert_bias...);
    f("shared_gate", s.shared_gate...);
  }
};
using expert_shape = basic_expert_shape<>;

/// The whole model. What it leaves out: vision and audio towers, multi-token-prediction modules,
/// and models whose layers differ in more than dense or routed, full or sliding.
template <Scalar T = double>
struct basic_transformer {
  label name{};
  T layers{};
  T hidden{};
  T intermediate{};  ///< of a dense layer's feed-forward network; 0 if no layer is dense
  T vocabulary{};
  basic_attention_shape<T> attention{};
  basic_expert_shape<T> moe{};  ///< moe.layers = 0 for a dense model
  T sliding_layers{};           ///< how many layers attend to the last `window` tokens only
  std::optional<T> window{};
  T norms_per_layer = T(2.0);  ///< of width hidden (Gemma 3 has 4)
  bool norm_bias = false;      ///< LayerNorm with a bias, in place of RMSNorm
  bool gated = true;           ///< SwiGLU/GeGLU: three matrices; else two
  bool ffn_bias = false;
  bool tied_embeddings = false;
  bool head_bias = false;
  std::optional<T> max_context{};  ///< tokens the model was trained for, where that is stated
  weight_storage stored{};         ///< as its maker publishes the weights; bf16 unless stated

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f(field::count("layers"), s.layers...);
    f(field::count("hidden"), s.hidden...);
    f(field::not_negative("intermediate"), s.intermediate...);
    f(field::count("vocabulary"), s.vocabulary...);
    f("attention", s.attention...);
    f("moe", s.moe...);
    f(field::not_negative("sliding_layers"), s.sliding_layers...);
    f(field::count("window"), s.window...);
    f(field::not_negative("norms_per_layer"), s.norms_per_layer...);
    f("norm_bias", s.norm_bias...);
    f("gated", s.gated...);
    f("ffn_bias", s.ffn_bias...);
    f("tied_embeddings", s.tied_embeddings...);
    f("head_bias", s.head_bias...);
    f(field::count("max_context"), s.max_context...);
    f("stored", s.stored...);
  }
};
using transformer = basic_transformer<>;

/// Checks that a model can exist: every width positive, heads grouped evenly, layer counts within
/// `layers`. Returns it. Errors: out_of_range or inconsistent, with the field.
template <Scalar T>
constexpr const basic_transformer<T>& checked(const basic_transformer<T>& m) {
  require_valid(m, "model");
  const auto& a = m.attention;
  if (a.latent) {
    detail::required("model.attention.value_dim", a.value_dim);
    if (lower(a.head_dim) <= upper(a.latent->rope_dim)) {
      detail::fail(error_code::inconsistent, "head_dim must exceed rope_dim, which is part of it");
    }
  } else {
    const double group = lower(a.query_heads) / lower(a.kv_heads);
    if (group != math::floor(group)) {
      detail::fail(error_code::inconsistent, "kv_heads must divide query_heads");
    }
  }
  detail::within("model.sliding_layers", m.sliding_layers, 0.0, upper(m.layers), "0 to layers");
  if (upper(m.sliding_layers) > 0.0) detail::required("model.window", m.window);
  detail::within("model.moe.layers", m.moe.layers, 0.0, upper(m.layers), "0 to layers");
  if (lower(m.moe.layers) < upper(m.layers)) detail::count("model.intermediate", m.intermediate);
  if (upper(m.moe.layers) > 0.0) {
    detail::count("model.moe.experts", m.moe.experts);
    detail::within("model.moe.top_k", m.moe.top_k, 1.0, upper(m.moe.experts), "1 to experts");
    detail::count("model.moe.intermediate", m.moe.intermediate);
  }
  return m;
}

namespace detail {
/// Cached tokens that a new one sees at `context`, summed over layers: those with a window see its
/// last tokens only.
template <Scalar T>
constexpr T token_layers(const basic_transformer<T>& m, const T& context) {
  if (!m.window) return m.layers * context;
  return (m.layers - m.sliding_layers) * context +
         m.sliding_layers * scalar_min(context, *m.window);
}
}  // namespace detail

}  // namespace perfmodel
