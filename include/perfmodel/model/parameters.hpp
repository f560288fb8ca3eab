// How many parameters a transformer has, how many a token uses, and what they weigh.
#pragma once

#include <perfmodel/model/transformer.hpp>

namespace perfmodel::inline v0_3 {

/// Parameters by where they live. `attention` is the projections of every mixer, `linear` dense and
/// shared feed-forwards, `experts` the matrices of the routed experts and `expert_biases` their
/// biases; `visited` is how many of these two a token uses. `other` is norms, remaining biases,
/// routers, convolutions and sinks; `embedding` and `head` are the two vocabulary tables (head 0
/// when tied), `embedding` with the layers' own and the learned positions.
template <Scalar T = double>
struct basic_parameter_count {
  T attention{}, linear{}, experts{}, expert_biases{}, visited{}, other{}, embedding{}, head{};
  constexpr T total() const {
    return attention + linear + experts + expert_biases + other + embedding + head;
  }
};
using parameter_count = basic_parameter_count<>;

namespace detail {
template <Scalar T>
constexpr T flag(bool b) {
  return T(b ? 1.0 : 0.0);
}

template <Scalar T>
constexpr void count_mixer(basic_parameter_count<T>& p, const T& layers, const T& hidden,
                           const basic_mixer_shape<T>& shape) {
  std::visit(
      [&](const auto& a) {
        p.attention += layers * a.weights(hidden);
        p.other += layers * a.extras(hidden);
      },
      shape);
}
template <Scalar T>
constexpr void count_feed_forward(basic_parameter_count<T>& p, const T& layers, const T& hidden,
                                  const basic_dense_shape<T>& x) {
  p.linear += layers * x.weights(hidden);
  p.other += layers * x.extras(hidden);
}
template <Scalar T>
constexpr void count_feed_forward(basic_parameter_count<T>& p, const T& layers, const T& hidden,
                                  const basic_expert_shape<T>& x) {
  const T weights = layers * x.expert_weights(hidden), biases = layers * x.expert_biases(hidden);
  p.linear += layers * x.weights(hidden);
  p.experts += weights;
  p.expert_biases += biases;
  p.visited += (weights + biases) * x.visited();
  p.other += layers * x.extras(hidden);
}

/// Computes parameters() of a checked model.
template <Scalar T>
constexpr basic_parameter_count<T> count_parameters(const basic_transformer<T>& m) {
  const T norm_width = m.hidden * (1.0 + flag<T>(m.norm_bias));
  basic_parameter_count<T> p;
  for (const auto& kind : m.layers.mixers) count_mixer(p, kind.layers, m.hidden, kind.shape);
  for (const auto& kind : m.layers.feed_forwards) {
    std::visit([&](const auto& x) { count_feed_forward(p, kind.layers, m.hidden, x); }, kind.shape);
  }
  p.other +=
      (m.layers.count * m.norms_per_layer + 1.0) * norm_width + flag<T>(m.head_bias) * m.vocabulary;
  const T table = m.shares_tables ? T(0.0) : T(m.vocabulary * m.hidden);
  p.embedding = table + m.positions.value_or(T(0.0)) * m.hidden;
  p.head = m.tied_embeddings ? T(0.0) : table;
  p.linear += m.joined_inputs * m.hidden * m.hidden;
  if (m.layer_embedding) {
    const T width = m.layer_embedding->width, all = m.layers.count * width;
    p.embedding += m.layer_embedding->vocabulary * all;
    p.linear += 3.0 * m.hidden * all;  // to it once, and in each layer to a gate and back
    p.other += width + m.layers.count * m.hidden;
  }
  return p;
}
}  // namespace detail

/// Exact count from the shapes, of the language model alone: see mtp_parameters and `encoder`.
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
  return p.total() - (p.experts + p.expert_biases) + p.visited;
}

/// Active parameters less the input embeddings, of which a token reads one row. A tied table stays:
/// it is multiplied as the head. This is the convention of gpt-oss's 3.6e9 and 5.1e9 and of
/// DeepSeek-V3's 36.6e9 (its README_WEIGHTS); Mixtral's 12.9e9 counts the embedding.
/// Test: DeepSeek-V3 36,625,618,432.
template <Scalar T>
constexpr T matmul_parameters(const basic_transformer<T>& m) {
  const T table = m.shares_tables ? T(0.0) : T(m.vocabulary * m.hidden);
  T rows = m.positions.value_or(T(0.0)) * m.hidden;
  if (m.layer_embedding) {
    rows += m.layer_embedding->vocabulary * m.layers.count * m.layer_embedding->width;
  }
  return m.tied_embeddings ? active_parameters(m) - rows : active_parameters(m) - table - rows;
}

/// Parameters of the multi-token-prediction modules, which parameters() leaves out: a layer each,
/// its norms, two norms and a projection of 2 hidden to hidden.
/// Test: DeepSeek-V3's module has 11.6e9 without the tables it shares, 14 with them, as on its
/// model card.
template <Scalar T>
constexpr T mtp_parameters(const basic_transformer<T>& m) {
  checked(m);
  if (!m.mtp) return T(0.0);
  basic_parameter_count<T> p;
  if (m.mtp->mixer) detail::count_mixer(p, T(1.0), m.hidden, *m.mtp->mixer);
  if (m.mtp->feed_forward) {
    std::visit([&](const auto& x) { detail::count_feed_forward(p, T(1.0), m.hidden, x); },
               *m.mtp->feed_forward);
  }
  const T glue = m.hidden * (2.0 * m.hidden + m.norms_per_layer + 3.0);
  return m.mtp->times * (p.total() + glue);
}

/// Bytes of all weights: mixers, feed-forwards and experts each in their format, the rest
/// (vocabulary tables, norms, biases, routers, an encoder) in `others`, 16 bits in quantised
/// checkpoints.
/// Leaves out: multi-token-prediction modules; a partly filled block of scales counts by its share.
/// Tests: Llama 3 70B in bf16 is exactly 2 bytes x parameters; gpt-oss-120b with MXFP4 experts is
/// 60.8 GiB, as on its model card (arXiv 2508.10925, table 1).
template <Scalar T>
constexpr bytes<T> weight_bytes(const basic_transformer<T>& m, const weight_storage& weights) {
  require_valid(weights, "weights");
  const weight_storage stored = with_block_scales(weights);
  const basic_parameter_count<T> p = parameters(m);
  T others = p.expert_biases + p.other;
  if (m.encoder) others += m.encoder->parameters;
  return named("weight bytes", p.attention * bytes_of(stored.attention) +
                                   p.linear * bytes_of(stored.linear) +
                                   p.experts * bytes_of(stored.experts) +
                                   (p.embedding + p.head) * bytes_of(stored.of_tables()) +
                                   others * bytes_of(stored.others));
}
/// Weight bytes with one format for the quantised parts, and `others` for the rest.
template <Scalar T>
constexpr bytes<T> weight_bytes(const basic_transformer<T>& m, const storage_format& weights,
                                number_format others) {
  return weight_bytes(m, weight_storage(weights, others));
}

/// FLOP of one token's forward pass: 2 per weight it is multiplied with, the head included and the
/// embedding lookup not, and what its mixers do over `context` cached tokens: attention
/// 2 (d_k + d_v) per head and token it sees.
/// Source: Kaplan et al. 2020 (arXiv 2001.08361), section 2.1, with attention in full.
/// Leaves out norms, softmax, convolutions and rotary embeddings (under 1 %), and that MLA's
/// absorbed form multiplies with the latent.
/// Test: context 0 is 2 x (parameters - embedding - norms) of Llama 3 70B.
template <Scalar T>
constexpr flops_per_token<T> flop_per_token(const basic_transformer<T>& m,
                                            const std::type_identity_t<T>& context = T(0.0)) {
  detail::not_negative("context", context);
  const basic_parameter_count<T> p = parameters(m);
  const T experts = detail::over_layers(m.layers.feed_forwards, [&](const auto& x) {
    if constexpr (requires { x.experts; }) {
      return T(x.visited() * x.expert_weights(m.hidden) + x.router_weights(m.hidden));
    } else {
      return T(0.0);  // among p.linear
    }
  });
  const T mixing = detail::over_layers(m.layers.mixers,
                                       [&](const auto& a) { return T(a.flop_per_token(context)); });
  const T weights = p.attention + p.linear + m.vocabulary * m.hidden + experts;
  return flops_per_token<T>::from_value(2.0 * weights + mixing);
}

}  // namespace perfmodel::inline v0_3
