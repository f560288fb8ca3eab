// How many parameters a transformer has, how many a token uses, and what they weigh.
#pragma once

#include <perfmodel/workload/transformer.hpp>

namespace perfmodel {

/// Parameters by where they live. `linear` is what quantisation compresses (projections and dense
/// feed-forward layers of all layers), `experts` the routed experts; `small` is norms, biases,
/// routers and sinks; `embedding` and `head` are the two vocabulary tables (head 0 when tied).
template <Scalar T = double>
struct basic_parameter_count {
  T linear{}, experts{}, small{}, embedding{}, head{};
  constexpr T total() const { return linear + experts + small + embedding + head; }
};
using parameter_count = basic_parameter_count<>;

namespace detail {
template <Scalar T> constexpr T flag(bool b) { return T(b ? 1.0 : 0.0); }

/// Weights of the attention projections of one layer.
template <Scalar T>
constexpr T attention_weights(const basic_transformer<T>& m) {
  const auto& a = m.attention;
  if (a.kind == attention_kind::latent) {
    const T nope = a.head_dim - a.rope_dim;
    const bool compressed = highest(a.query_rank) > 0.0;
    const T query = compressed ? a.query_rank * (m.hidden + a.query_heads * a.head_dim)
                               : m.hidden * a.query_heads * a.head_dim;
    return query + m.hidden * (a.kv_rank + a.rope_dim) +
           a.kv_rank * a.query_heads * (nope + a.value_dim) + a.query_heads * a.value_dim * m.hidden;
  }
  return m.hidden * (a.query_heads * a.head_dim + a.kv_heads * (a.head_dim + a.value_width())) +
         a.query_heads * a.value_width() * m.hidden;
}
/// Biases, head norms and sinks of the attention of one layer.
template <Scalar T>
constexpr T attention_extras(const basic_transformer<T>& m) {
  const auto& a = m.attention;
  if (a.kind == attention_kind::latent) return a.query_rank + a.kv_rank;  // their two norms
  return flag<T>(a.qkv_bias) * (a.query_heads * a.head_dim + a.kv_heads * (a.head_dim + a.value_width())) +
         flag<T>(a.output_bias) * m.hidden + flag<T>(a.qk_norm) * 2.0 * a.head_dim +
         flag<T>(a.sinks) * a.query_heads;
}
/// Matrices of a feed-forward network: three where it is gated, else two.
template <Scalar T> constexpr T ffn_matrices(const basic_transformer<T>& m) { return T(m.gated ? 3.0 : 2.0); }

/// Weights of one routed expert, without biases.
template <Scalar T>
constexpr T expert_weights(const basic_transformer<T>& m) {
  return ffn_matrices(m) * m.hidden * m.moe.intermediate;
}
}  // namespace detail

/// Exact count from the shapes. Leaves out: multi-token-prediction modules, vision towers.
/// Source: the weight tensors of the checkpoints, e.g. Llama 3 (arXiv 2407.21783, table 3).
/// Errors: a model that checked() rejects. Test: Llama 3 70B has 70,553,706,496; the catalogue is
/// within 0.5 % of every published count.
template <Scalar T>
constexpr basic_parameter_count<T> parameters(const basic_transformer<T>& model) {
  const basic_transformer<T>& m = checked(model);
  const T dense_layers = m.layers - m.moe.layers;
  const T norm_width = m.hidden * (1.0 + detail::flag<T>(m.norm_bias));
  basic_parameter_count<T> p;
  p.linear = m.layers * detail::attention_weights(m) +
             dense_layers * detail::ffn_matrices(m) * m.hidden * m.intermediate +
             m.moe.layers * detail::ffn_matrices(m) * m.hidden * m.moe.shared_intermediate;
  p.experts = m.moe.layers * m.moe.experts * detail::expert_weights(m);
  p.small = (m.layers * m.norms_per_layer + 1.0) * norm_width + m.layers * detail::attention_extras(m) +
            detail::flag<T>(m.ffn_bias) * dense_layers *
                ((detail::ffn_matrices(m) - 1.0) * m.intermediate + m.hidden) +
            m.moe.layers * (m.moe.experts * m.hidden + detail::flag<T>(m.moe.router_bias) * m.moe.experts +
                            detail::flag<T>(m.moe.shared_gate) * m.hidden +
                            detail::flag<T>(m.moe.expert_bias) * m.moe.experts *
                                ((detail::ffn_matrices(m) - 1.0) * m.moe.intermediate + m.hidden)) +
            detail::flag<T>(m.head_bias) * m.vocabulary;
  p.embedding = m.vocabulary * m.hidden;
  p.head = m.tied_embeddings ? T(0.0) : m.vocabulary * m.hidden;
  return p;
}

/// Parameters that one token passes through: all but the experts its router leaves out.
/// Test: Mixtral 8x7B 12.9e9, DeepSeek-V3 37e9 (arXiv 2412.19437, section 2).
template <Scalar T>
constexpr T active_parameters(const basic_transformer<T>& m) {
  const basic_parameter_count<T> p = parameters(m);
  if (!(highest(m.moe.layers) > 0.0)) return p.total();
  return p.total() - p.experts + p.experts * m.moe.top_k / m.moe.experts;
}

/// Bytes of all weights: linear layers and experts in `weights`, the rest (embeddings, head, norms,
/// routers) in `others`, which quantised checkpoints keep at 16 bits.
/// Test: Llama 3 70B in bf16 is exactly 2 bytes x parameters.
template <Scalar T>
constexpr bytes<T> weight_bytes(const basic_transformer<T>& m, const storage_format& weights,
                                number_format others = number_format::bf16) {
  const basic_parameter_count<T> p = parameters(m);
  return named("weight bytes", (p.linear + p.experts) * lift<T>(bytes_of(weights)) +
                                   (p.small + p.embedding + p.head) * lift<T>(bytes_of(others)));
}

/// FLOP of one token's forward pass: 2 per weight it is multiplied with, the head included and the
/// embedding lookup not, and attention over `context` cached tokens, 2 (d_k + d_v) per head each.
/// Source: Kaplan et al. 2020 (arXiv 2001.08361), section 2.1, with attention in full.
/// Leaves out norms, softmax and rotary embeddings (under 1 %). Test: context 0 is 2 x (active
/// parameters - embedding - norms) of Llama 3 70B.
template <Scalar T>
constexpr flops_per_token<T> flop_per_token(const basic_transformer<T>& m, const T& context = T(0.0)) {
  detail::not_negative("context", context);
  const basic_parameter_count<T> p = parameters(m);
  const T routed = highest(m.moe.layers) > 0.0 ? p.experts * m.moe.top_k / m.moe.experts : T(0.0);
  const T router = m.moe.layers * m.moe.experts * m.hidden;
  const T head = m.vocabulary * m.hidden;
  const T seen_by_all = (m.layers - m.sliding_layers) * context + m.sliding_layers * scalar_min(context, m.window);
  const T attention = 2.0 * m.attention.query_heads * (m.attention.head_dim + m.attention.value_width());
  return flops_per_token<T>::from_value(2.0 * (p.linear + routed + router + head) + attention * seen_by_all);
}

}  // namespace perfmodel
