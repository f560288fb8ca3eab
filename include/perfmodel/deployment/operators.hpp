// The operators one device runs in one pass of a model, in order, each with its demand.
#pragma once

#include <perfmodel/deployment/mixer_operators.hpp>
#include <perfmodel/workload/operators/embedding.hpp>
#include <perfmodel/workload/operators/norm.hpp>

namespace perfmodel {

namespace detail {

template <Scalar T, class Run>
constexpr void visit_feed_forward(const rank_pass<T>& p, const T& layers,
                                  const basic_dense_shape<T>& x, Run&& run) {
  run({.name = "feed-forward", .kind = operator_class::linear, .times = layers},
      p.feed_forward(x.intermediate, x.gated));
}

/// Routed experts, and what is beside them. A pass with a prompt touches more experts than one
/// without, so a mean over both is not a pass with the mean of their tokens.
template <Scalar T, class Run>
constexpr void visit_feed_forward(const rank_pass<T>& p, const T& layers,
                                  const basic_expert_shape<T>& e, Run&& run) {
  using enum operator_class;
  const pass_share<T>& share = p.share;
  const T& hidden = p.model().hidden;
  if (e.shared_intermediate) {
    run({.name = "shared experts", .kind = linear, .times = layers},
        p.feed_forward(*e.shared_intermediate, e.gated));
  }
  run({.name = "router", .times = layers}, p.wide(share.rows, hidden, e.experts));
  if (e.latent) {
    run({.name = "to the experts' latent", .kind = linear, .times = layers},
        p.product(hidden, *e.latent, p.formats.weights.linear));
    run({.name = "from the experts' latent", .kind = linear, .times = layers},
        p.product(*e.latent, hidden, p.formats.weights.linear));
  }
  const T with_prompts = scalar_min(share.all_prompts, T(1.0));
  operator_head<T> o{.name = "experts", .kind = experts};
  if (lower(with_prompts) < 1.0 && upper(share.all_decoded) > 0.0) {
    o.times = layers * (1.0 - with_prompts);
    run(o, p.routed_experts(e, share.all_decoded));
  }
  if (upper(with_prompts) > 0.0) {
    o.times = layers * with_prompts;
    if (lower(with_prompts) < 1.0) o.part = p.of_prompts();
    run(o, p.routed_experts(
               e, T(share.all_decoded + at_least_one(share.all_prompts) * share.prompt_tokens)));
  }
}

/// Embeddings of the layers' own: their rows, the projection of hidden beside them, and in each layer a
/// gate of that width and the way back.
template <Scalar T, class Run>
constexpr void visit_layer_embedding(const rank_pass<T>& p, const basic_layer_embedding<T>& e,
                                     Run&& run) {
  using enum operator_class;
  const T &hidden = p.model().hidden, &layers = p.model().layers.count;
  run({.name = "embedding", .times = T(1.0)}, basic_embedding<T>{.tokens = p.share.rows,
                                                                 .vocabulary = e.vocabulary,
                                                                 .hidden = layers * e.width,
                                                                 .format = p.residual});
  const storage_format& stored = p.formats.weights.linear;
  run({.name = "to the layers' embedding", .kind = linear, .times = T(1.0)},
      p.product(hidden, T(layers * e.width / p.tensor), stored));
  run({.name = "to the layer's embedding", .kind = linear, .times = layers},
      p.product(hidden, T(e.width / p.tensor), stored));
  run({.name = "from the layer's embedding", .kind = linear, .times = layers},
      p.product(T(e.width / p.tensor), hidden, stored));
}

/// The model's layers, kind by kind: run(operator, workload) for each.
template <Scalar T, class Run>
constexpr void visit_layers(const rank_pass<T>& p, Run&& run) {
  const basic_transformer<T>& m = p.model();
  run({.name = "embedding", .times = T(1.0)}, basic_embedding<T>{.tokens = p.share.rows,
                                                                 .vocabulary = m.vocabulary,
                                                                 .hidden = m.hidden,
                                                                 .format = p.residual});
  if (m.layer_embedding) visit_layer_embedding(p, *m.layer_embedding, run);
  run({.name = "norms", .times = m.layers.count * m.norms_per_layer + 1.0},
      basic_norm<T>{.rows = p.share.rows, .width = m.hidden, .format = p.residual});
  for (const auto& kind : m.layers.mixers) {
    std::visit([&](const auto& a) { visit_mixer(p, kind.layers, a, run); }, kind.shape);
  }
  for (const auto& kind : m.layers.feed_forwards) {
    std::visit([&](const auto& x) { visit_feed_forward(p, kind.layers, x, run); }, kind.shape);
  }
  run({.name = "head", .kind = operator_class::linear, .times = T(1.0)},
      p.wide(at_least_one(p.share.logits), m.hidden, T(m.vocabulary / p.tensor)));
}

/// visit(operator) or visit(operator, workload), of valid values.
template <Scalar T, class Visit>
constexpr void visit_operators(const rank_pass<T>& p, Visit&& visit) {
  visit_layers(p, [&](const operator_head<T>& head, const auto& workload) {
    const basic_operator<T> o{head.name,
                              head.kind,
                              head.times,
                              head.cache,
                              weights_read(workload),
                              demand_of_valid(workload),
                              head.part};
    if constexpr (std::invocable<Visit&, const basic_operator<T>&>) {
      visit(o);
    } else {
      visit(o, workload);
    }
  });
}
template <Scalar T, class Visit>
constexpr void visit_operators(const basic_deployment<T>& d, const basic_iteration<T>& i,
                               Visit&& visit) {
  const engine_formats formats = formats_of(d);
  visit_operators(rank_pass<T>{d, i, formats}, visit);
}

}  // namespace detail

/// Calls visit(operator) or visit(operator, workload) for every operator of a pass, all layers, on
/// one rank of the tensor-parallel group of the busiest data-parallel group. A pipeline works on
/// 1 / pipeline of the sequences at a time. Leaves out: quantisation of activations, biases, and what
/// for_each_small_kernel has: rotary embeddings, sampling and others.
/// Errors: a model or layout that cannot be, or an empty iteration.
/// Tests: with every expert touched the weights add up to weight_bytes_per_device less the embedding
/// table, norms and biases, on one stage; FLOP over one device are flop_per_token, plus, for MLA,
/// what multiplying with the latent takes more.
template <Scalar T, class Visit>
constexpr void for_each_operator(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                 Visit&& visit) {
  detail::check_deployment(d);
  detail::check_iteration(i);
  detail::visit_operators(d, i, visit);
}

}  // namespace perfmodel
