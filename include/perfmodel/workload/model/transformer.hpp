// A decoder-only transformer as a plain value: the shapes that decide its bytes and FLOP.
#pragma once

#include <perfmodel/scalar/math.hpp>
#include <perfmodel/workload/demand.hpp>
#include <perfmodel/workload/model/weight_storage.hpp>

namespace perfmodel {

/// How a layer keeps keys and values. Multi-head and multi-query attention are grouped-query
/// attention with kv_heads = query_heads and kv_heads = 1.
enum class attention_kind {
  grouped_query,
  latent,  ///< MLA (DeepSeek-V2, arXiv 2405.04434, section 2.1): one compressed vector per token
};

/// Attention shapes, equal in every layer. `head_dim` is the width of a query and a key,
/// `value_dim` that of a value (0: the same). MLA has kv_heads = 1: the latent that all heads
/// share.
template <Scalar T = double>
struct basic_attention_shape {
  attention_kind kind = attention_kind::grouped_query;
  T query_heads{};
  T kv_heads{};
  T head_dim{};
  T value_dim{};
  T query_rank{};  ///< MLA: rank of the query compression, 0 for none
  T kv_rank{};     ///< MLA: width of the cached latent
  T rope_dim{};    ///< MLA: width of the cached rotary key, part of head_dim
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;  ///< a norm over each head's query and key (Qwen 3, Gemma 3)
  bool sinks = false;    ///< one learned logit per head (gpt-oss)

  constexpr T value_width() const {
    return kind == attention_kind::latent || upper(value_dim) > 0.0 ? value_dim : head_dim;
  }
  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("kind", s.kind...);
    f(field::count("query_heads"), s.query_heads...);
    f(field::not_negative("kv_heads"), s.kv_heads...);
    f(field::count("head_dim"), s.head_dim...);
    f(field::not_negative("value_dim"), s.value_dim...);
    f(field::not_negative("query_rank"), s.query_rank...);
    f(field::not_negative("kv_rank"), s.kv_rank...);
    f(field::not_negative("rope_dim"), s.rope_dim...);
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
  T window{};
  T norms_per_layer = T(2.0);  ///< of width hidden (Gemma 3 has 4)
  bool norm_bias = false;      ///< LayerNorm with a bias, in place of RMSNorm
  bool gated = true;           ///< SwiGLU/GeGLU: three matrices; else two
  bool ffn_bias = false;
  bool tied_embeddings = false;
  bool head_bias = false;
  T max_context{};          ///< tokens the model was trained for; 0 if not stated
  weight_storage stored{};  ///< as its maker publishes the weights; bf16 unless stated

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
    f(field::not_negative("window"), s.window...);
    f(field::not_negative("norms_per_layer"), s.norms_per_layer...);
    f("norm_bias", s.norm_bias...);
    f("gated", s.gated...);
    f("ffn_bias", s.ffn_bias...);
    f("tied_embeddings", s.tied_embeddings...);
    f("head_bias", s.head_bias...);
    f(field::not_negative("max_context"), s.max_context...);
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
  if (a.kind == attention_kind::latent) {
    detail::count("model.attention.kv_rank", a.kv_rank);
    detail::count("model.attention.rope_dim", a.rope_dim);
    detail::count("model.attention.value_dim", a.value_dim);
    if (lower(a.head_dim) <= upper(a.rope_dim)) {
      detail::fail(error_code::inconsistent, "head_dim must exceed rope_dim, which is part of it");
    }
  } else {
    detail::count("model.attention.kv_heads", a.kv_heads);
    const double group = lower(a.query_heads) / lower(a.kv_heads);
    if (group != math::floor(group)) {
      detail::fail(error_code::inconsistent, "kv_heads must divide query_heads");
    }
  }
  detail::within("model.sliding_layers", m.sliding_layers, 0.0, upper(m.layers), "0 to layers");
  if (upper(m.sliding_layers) > 0.0) detail::count("model.window", m.window);
  detail::within("model.moe.layers", m.moe.layers, 0.0, upper(m.layers), "0 to layers");
  if (lower(m.moe.layers) < upper(m.layers)) detail::count("model.intermediate", m.intermediate);
  if (upper(m.moe.layers) > 0.0) {
    detail::count("model.moe.experts", m.moe.experts);
    detail::within("model.moe.top_k", m.moe.top_k, 1.0, upper(m.moe.experts), "1 to experts");
    detail::count("model.moe.intermediate", m.moe.intermediate);
  }
  return m;
}

}  // namespace perfmodel
