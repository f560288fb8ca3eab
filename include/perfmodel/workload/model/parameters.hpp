// How many parameters a transformer has, how many a token uses, and what they weigh.
#pragma once

#include <perfmodel/workload/model/transformer.hpp>

namespace perfmodel {

/// Parameters by where they live. `linear` is what quantisation compresses (projections, dense and
/// shared feed-forward networks of all layers), `experts` the matrices of the routed experts and
/// `expert_biases` their biases; `other` is norms, remaining biases, routers and sinks;
/// `embedding` and `head` are the two vocabulary tables (head 0 when tied).
template <Scalar T = double>
struct basic_parameter_count {
  T linear{}, experts{}, expert_biases{}, other{}, embedding{}, head{};
  constexpr T total() const { return linear + experts + expert_biases + other + embedding + head; }
};
using parameter_count = basic_parameter_count<>;

namespace detail {
template <Scalar T>
constexpr T flag(bool b) {
  return T(b ? 1.0 : 0.0);
}

/// Weights of the attention projections of one layer.
template <Scalar T>
constexpr T attention_weights(const basic_transformer<T>& m) {
  const auto& a = m.attention;
  if (a.latent) {
    const auto& [query_rank, kv_rank, rope_dim] = *a.latent;
    const T query = query_rank ? *query_rank * (m.hidden + a.query_heads * a.head_dim)
                               : m.hidden * a.query_heads * a.head_dim;
    return query + m.hidden * (kv_rank + rope_dim) +
           kv_rank * a.query_heads * (a.head_dim - rope_dim + a.value_width()) +
           a.query_heads * a.value_width() * m.hidden;
  }
  return m.hidden * (a.query_heads * a.head_dim + a.kv_heads * (a.head_dim + a.value_width())) +
         a.query_heads * a.value_width() * m.hidden;
}
/// Biases, head norms and sinks of the attention of one layer.
template <Scalar T>
constexpr T attention_extras(const basic_transformer<T>& m) {
  const auto& a = m.attention;
  if (a.latent) return a.latent->projected() - a.latent->rope_dim;  // the norms of the latents
  const T biases = a.query_heads * a.head_dim + a.kv_heads * (a.head_dim + a.value_width());
  return flag<T>(a.qkv_bias) * biases + flag<T>(a.output_bias) * m.hidden +
         flag<T>(a.qk_norm) * 2.0 * a.head_dim + flag<T>(a.sinks) * a.query_heads;
}
/// Matrices of a feed-forward network: three where it is gated, else two.
template <Scalar T>
constexpr T ffn_matrices(const basic_transformer<T>& m) {
  return T(m.gated ? 3.0 : 2.0);
}

/// Biases of a feed-forward network of that width: one per output of each matrix.
template <Scalar T>
constexpr T ffn_biases(const basic_transformer<T>& m, const T& width) {
  return (ffn_matrices(m) - 1.0) * width + m.hidden;
}
/// Weights of one routed expert, without biases.
template <Scalar T>
constexpr T expert_weights(const basic_transformer<T>& m) {
  return ffn_matrices(m) * m.hidden * m.moe.intermediate;
}
/// The share of routed experts that a token visits; 1 for a dense model, which has none.
template <Scalar T>
constexpr T routed_share(const basic_transformer<T>& m) {
  return upper(m.moe.layers) > 0.0 ? m.moe.top_k / m.moe.experts : T(1.0);
}
}  // namespace detail

namespace detail {
/// parameters() of a model that was checked.
template <Scalar T>
constexpr basic_parameter_count<T> count_parameters(const basic_transformer<T>& m) {
  const T dense_layers = m.layers - m.moe.layers;
  const T norm_width = m.hidden * (1.0 + flag<T>(m.norm_bias));
  const T router = m.moe.experts * m.hidden + flag<T>(m.moe.router_bias) * m.moe.experts +
                   flag<T>(m.moe.shared_gate) * m.hidden;
  basic_parameter_count<T> p;
  p.linear = m.layers * attention_weights(m) +
             dense_layers * ffn_matrices(m) * m.hidden * m.intermediate +
             m.moe.layers * ffn_matrices(m) * m.hidden * m.moe.shared_intermediate;
  p.experts = m.moe.layers * m.moe.experts * expert_weights(m);
  p.expert_biases =
      flag<T>(m.moe.expert_bias) * m.moe.layers * m.moe.experts * ffn_biases(m, m.moe.intermediate);
  p.other = (m.layers * m.norms_per_layer + 1.0) * norm_width + m.layers * attention_extras(m) +
            flag<T>(m.ffn_bias) * dense_layers * ffn_biases(m, m.intermediate) +
            m.moe.layers * router + flag<T>(m.head_bias) * m.vocabulary;
  p.embedding = m.vocabulary * m.hidden;
  p.head = m.tied_embeddings ? T(0.0) : m.vocabulary * m.hidden;
  return p;
}
}  // namespace detail

/// Exact count from the shapes. Leaves out: multi-token-prediction modules, vision towers.
/// Source: the weight tensors of the checkpoints, e.g. Llama 3 (arXiv 2407.21783, table 3).
/// Errors: a model that checked() rejects. Tests: Llama 3 70B has 70,553,706,496; every catalogue
/// model equals a count made tensor by tensor, and is within 0.5 % of the published one.
template <Scalar T>
constexpr basic_parameter_count<T> parameters(const basic_transformer<T>& m) {
  return detail::count_parameters(checked(m));
}

/// Parameters of the model as one token sees it: all but the experts its router leaves out.
/// Test: Mixtral 8x7B 12,879,925,248 (published 12.9e9, arXiv 2401.04088, section 1).
template <Scalar T>
constexpr T active_parameters(const basic_transformer<T>& m) {
  const basic_parameter_count<T> p = parameters(m);
  return p.total() - (p.experts + p.expert_biases) * (1.0 - detail::routed_share(m));
}

/// Active parameters less the input embedding, of which a token reads one row. A tied table stays:
/// it is multiplied as the head. This is the convention of gpt-oss's 3.6e9 and 5.1e9 and of
/// DeepSeek-V3's 36.6e9 (its README_WEIGHTS); Mixtral's 12.9e9 counts the embedding.
/// Test: DeepSeek-V3 36,625,618,432.
template <Scalar T>
constexpr T matmul_parameters(const basic_transformer<T>& m) {
  return m.tied_embeddings ? active_parameters(m) : active_parameters(m) - m.vocabulary * m.hidden;
}

/// Bytes of all weights: linear layers and experts each in their format, the rest (embeddings,
/// head, norms, biases, routers) in `others`, which quantised checkpoints keep at 16 bits. Leaves
/// out: a block of scales that is only partly filled counts by its share. Tests: Llama 3 70B in
/// bf16 is exactly 2 bytes x parameters; gpt-oss-120b with MXFP4 experts is 60.8 GiB, as on its
/// model card (arXiv 2508.10925, table 1).
template <Scalar T>
constexpr bytes<T> weight_bytes(const basic_transformer<T>& m, const weight_storage& stored) {
  require_valid(stored, "weights");
  const basic_parameter_count<T> p = parameters(m);
  const T others = p.expert_biases + p.other + p.embedding + p.head;
  return named("weight bytes", p.linear * bytes_of(stored.linear) +
                                   p.experts * bytes_of(stored.experts) +
                                   others * bytes_of(stored.others));
}
template <Scalar T>
constexpr bytes<T> weight_bytes(const basic_transformer<T>& m, const storage_format& weights,
                                number_format others) {
  return weight_bytes(m, weight_storage(weights, others));
}

/// FLOP of one token's forward pass: 2 per weight it is multiplied with, the head included and the
/// embedding lookup not, and attention over `context` cached tokens, 2 (d_k + d_v) per head each.
/// Source: Kaplan et al. 2020 (arXiv 2001.08361), section 2.1, with attention in full.
/// Leaves out norms, softmax and rotary embeddings (under 1 %), and that MLA's absorbed form
/// multiplies with the latent, 2 (2 kv_rank + rope_dim) per head and cached token.
/// Test: context 0 is 2 x (parameters - embedding - norms) of Llama 3 70B.
template <Scalar T>
constexpr flops_per_token<T> flop_per_token(const basic_transformer<T>& m,
                                            const std::type_identity_t<T>& context = T(0.0)) {
  detail::not_negative("context", context);
  const basic_parameter_count<T> p = parameters(m);
  const T router = m.moe.layers * (m.moe.experts + detail::flag<T>(m.moe.shared_gate)) * m.hidden;
  const T head = m.vocabulary * m.hidden;
  const T products = 2.0 * (p.linear + p.experts * detail::routed_share(m) + router + head);
  const T attention =
      2.0 * m.attention.query_heads * (m.attention.head_dim + m.attention.value_width());
  return flops_per_token<T>::from_value(products + attention * detail::token_layers(m, context));
}

}  // namespace perfmodel
