// The operators one device runs in one pass of a model, in order, each with its demand.
#pragma once

#include <perfmodel/deployment/deployment.hpp>
#include <perfmodel/deployment/iteration.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/workload/operators/attention.hpp>
#include <perfmodel/workload/operators/attention_decode.hpp>
#include <perfmodel/workload/operators/embedding.hpp>
#include <perfmodel/workload/operators/gemm.hpp>
#include <perfmodel/workload/operators/mla.hpp>
#include <perfmodel/workload/operators/moe.hpp>
#include <perfmodel/workload/operators/norm.hpp>
#include <perfmodel/workload/operators/swiglu.hpp>

namespace perfmodel {

/// What part of a model an operator belongs to.
enum class operator_class { linear, attention, experts, other };

constexpr const char* name_of(operator_class c) {
  constexpr const char* names[] = {"linear", "attention", "experts", "other"};
  return names[static_cast<int>(c)];
}

/// `times` equal operators. `weights` and `cache` are the bytes of weights and of KV cache among the
/// DRAM traffic of one; the rest is activations, which may stay on the chip.
template <Scalar T = double>
struct basic_operator {
  const char* name = "";
  operator_class kind = operator_class::other;
  T times{};
  bytes<T> cache{};
  bytes<T> weights{};
  basic_demand<T> demand{};
};

namespace detail {

/// Bytes of weights that a workload reads.
template <class W>
constexpr auto weights_read(const W& workload) {
  return bytes<decltype(demand_of(workload).launches)>{};
}
template <Scalar T>
constexpr bytes<T> weights_read(const basic_gemm<T>& x) {
  return x.k * x.n * bytes_of(x.weights);
}
template <Scalar T>
constexpr bytes<T> weights_read(const basic_swiglu<T>& x) {
  return perfmodel::ffn_matrices(x.gated) * x.hidden * x.intermediate * bytes_of(x.weights);
}
template <Scalar T>
constexpr bytes<T> weights_read(const basic_moe_ffn<T>& x) {
  const T matrix = perfmodel::ffn_matrices(x.gated) * x.hidden * x.intermediate;
  return experts_touched_of_valid(x) * matrix / x.tensor_parallel * bytes_of(x.weights);
}

/// An operator without what follows from its workload.
template <Scalar T>
struct operator_head {
  const char* name = "";
  operator_class kind = operator_class::other;
  T times{};
  bytes<T> cache{};
};

template <Scalar T>
constexpr T at_least_one(const T& x) {
  return scalar_max(x, T(1.0));
}

/// A pass as one rank sees it: the shapes of its operators.
template <Scalar T>
struct rank_pass {
  const basic_deployment<T>& on;
  const basic_iteration<T>& pass;
  T tensor = T(on.layout.tensor);
  pass_share<T> share = share_of(on.layout, pass);
  number_format residual = residual_format(on);

  constexpr const basic_transformer<T>& model() const { return on.model; }
  constexpr const std::optional<basic_latent_shape<T>>& latent() const {
    return on.model.attention.latent;
  }
  constexpr T heads() const { return on.model.attention.query_heads / tensor; }
  constexpr T kv_heads() const {
    return latent() ? heads() : kv_heads_per_rank(on.model.attention.kv_heads, tensor);
  }
  /// Of one token in one layer.
  constexpr bytes<T> cache_line() const {
    const auto& a = on.model.attention;
    const T elements = a.latent ? a.latent->cached() : kv_heads() * (a.head_dim + a.value_width());
    return elements * bytes_of(on.kv);
  }

  constexpr basic_gemm<T> linear(const T& k, const T& n) const {
    return {.m = share.rows,
            .n = n,
            .k = k,
            .format = on.activations,
            .weights = on.weights.linear,
            .output = residual};
  }
  /// A product with a table that quantised checkpoints leave wide: the router's, the head's.
  constexpr basic_gemm<T> wide(const T& m, const T& k, const T& n) const {
    return {.m = m,
            .n = n,
            .k = k,
            .format = residual,
            .weights = on.weights.others,
            .output = residual};
  }
  constexpr basic_swiglu<T> feed_forward(const T& width) const {
    return {.tokens = share.rows,
            .hidden = on.model.hidden,
            .intermediate = width / tensor,
            .format = on.activations,
            .weights = on.weights.linear,
            .gated = on.model.gated};
  }
  constexpr basic_moe_ffn<T> routed_experts(const T& tokens) const {
    return {.tokens = at_least_one(tokens),
            .hidden = on.model.hidden,
            .intermediate = on.model.moe.intermediate,
            .experts = on.model.moe.experts,
            .top_k = on.model.moe.top_k,
            .tensor_parallel = T(on.layout.expert_tensor()),
            .expert_parallel = T(on.layout.expert),
            .format = on.activations,
            .weights = on.weights.experts,
            .gated = on.model.gated};
  }

  /// The tokens of a sequence that are decoded at once are further queries of the same cache: as
  /// many times the heads, each seeing the context and on average half of the tokens beside it.
  constexpr T mean_context() const { return pass.context + 0.5 * (pass.tokens_per_sequence - 1.0); }
  constexpr basic_mla_decode<T> mla_decode() const {
    return {.batch = share.sequences,
            .context = mean_context(),
            .heads = heads() * pass.tokens_per_sequence,
            .latent = latent()->kv_rank,
            .rope = latent()->rope_dim,
            .format = on.activations,
            .kv_format = on.kv};
  }
  constexpr basic_attention_decode<T> decode(const std::optional<T>& window) const {
    const auto& a = on.model.attention;
    return {.batch = share.sequences,
            .context = mean_context(),
            .query_heads = heads() * pass.tokens_per_sequence,
            .kv_heads = kv_heads(),
            .head_dim = a.head_dim,
            .value_dim = a.value_dim,
            .format = on.activations,
            .kv_format = on.kv,
            .window = window};
  }
  constexpr basic_attention_prefill<T> prefill(const std::optional<T>& window) const {
    const auto& a = on.model.attention;
    return {.batch = at_least_one(share.prompts),
            .tokens = at_least_one(share.prompt_tokens),
            .query_heads = heads(),
            .kv_heads = kv_heads(),
            .head_dim = a.head_dim,
            .value_dim = a.value_dim,
            .format = on.activations,
            .kv_format = on.kv,
            .window = window,
            .past = pass.prefill_past};
  }
};

/// Attention of `layers` layers, which may have a window. run(operator, workload).
template <Scalar T, class Run>
constexpr void visit_attention(const rank_pass<T>& p, const char* name, const T& layers,
                               const std::optional<T>& window, Run&& run) {
  if (!(upper(layers) > 0.0)) return;
  const pass_share<T>& share = p.share;
  operator_head<T> o{.name = name, .kind = operator_class::attention, .times = layers};
  if (upper(share.sequences) > 0.0) {
    const T& several = p.pass.tokens_per_sequence;
    const T seen =
        window ? attended_tokens(p.pass.context, T(*window + several - 1.0)) : p.pass.context;
    o.cache = share.sequences * (seen + several) * p.cache_line();
    if (p.latent()) {
      run(o, p.mla_decode());
    } else {
      run(o, p.decode(window));
    }
  }
  if (upper(share.prompts) > 0.0) {
    const basic_attention_prefill<T> x = p.prefill(window);
    // Less than one prompt of one token is that share of an operator.
    o.times = layers * scalar_min(share.prompts, T(1.0)) * scalar_min(share.prompt_tokens, T(1.0));
    // Keys and values of the chunk itself are at hand; those before it are read from the cache.
    const T past = window ? scalar_min(x.past, *window) : x.past;
    o.cache = x.batch * (past + x.tokens) * p.cache_line();
    run(o, x);
  }
}

/// Routed experts. A pass with a prompt touches more of them than one without, so a mean over both
/// is not a pass with the mean of their tokens.
template <Scalar T, class Run>
constexpr void visit_experts(const rank_pass<T>& p, Run&& run) {
  const pass_share<T>& share = p.share;
  const T with_prompts = scalar_min(share.all_prompts, T(1.0));
  operator_head<T> o{.name = "experts", .kind = operator_class::experts};
  if (lower(with_prompts) < 1.0 && upper(share.all_decoded) > 0.0) {
    o.times = p.model().moe.layers * (1.0 - with_prompts);
    run(o, p.routed_experts(share.all_decoded));
  }
  if (upper(with_prompts) > 0.0) {
    o.times = p.model().moe.layers * with_prompts;
    run(o, p.routed_experts(share.all_decoded +
                            at_least_one(share.all_prompts) * share.prompt_tokens));
  }
}

/// The model's layers, in order: run(operator, workload) for each.
template <Scalar T, class Run>
constexpr void visit_layers(const rank_pass<T>& p, Run&& run) {
  using enum operator_class;
  const basic_transformer<T>& m = p.model();
  const auto& a = m.attention;
  run({.name = "embedding", .times = T(1.0)}, basic_embedding<T>{.tokens = p.share.rows,
                                                                 .vocabulary = m.vocabulary,
                                                                 .hidden = m.hidden,
                                                                 .format = p.residual});
  run({.name = "norms", .times = m.layers * m.norms_per_layer + 1.0},
      basic_norm<T>{.rows = p.share.rows, .width = m.hidden, .format = p.residual});
  if (a.latent) {
    const basic_latent_shape<T>& l = *a.latent;
    run({.name = "latent projections", .kind = linear, .times = m.layers},
        p.linear(m.hidden, l.projected()));
    run({.name = "query projection", .kind = linear, .times = m.layers},
        p.linear(l.query_rank.value_or(m.hidden), p.heads() * a.head_dim));
    run({.name = "key and value projections", .kind = linear, .times = m.layers},
        p.linear(l.kv_rank, p.heads() * (a.head_dim - l.rope_dim + a.value_width())));
  } else {
    run({.name = "qkv projection", .kind = linear, .times = m.layers},
        p.linear(m.hidden, p.heads() * a.head_dim + p.kv_heads() * (a.head_dim + a.value_width())));
  }
  visit_attention(p, "attention", T(m.layers - m.sliding_layers), {}, run);
  visit_attention(p, "sliding attention", m.sliding_layers, m.window, run);
  run({.name = "output projection", .kind = linear, .times = m.layers},
      p.linear(p.heads() * a.value_width(), m.hidden));
  if (const T dense = m.layers - m.moe.layers; upper(dense) > 0.0) {
    run({.name = "feed-forward", .kind = linear, .times = dense}, p.feed_forward(m.intermediate));
  }
  if (upper(m.moe.layers) > 0.0) {
    if (upper(m.moe.shared_intermediate) > 0.0) {
      run({.name = "shared experts", .kind = linear, .times = m.moe.layers},
          p.feed_forward(m.moe.shared_intermediate));
    }
    run({.name = "router", .times = m.moe.layers}, p.wide(p.share.rows, m.hidden, m.moe.experts));
    visit_experts(p, run);
  }
  run({.name = "head", .kind = linear, .times = T(1.0)},
      p.wide(at_least_one(p.share.logits), m.hidden, m.vocabulary / p.tensor));
}

/// visit(operator) or visit(operator, workload), of valid values.
template <Scalar T, class Visit>
constexpr void visit_operators(const basic_deployment<T>& d, const basic_iteration<T>& i,
                               Visit&& visit) {
  visit_layers(rank_pass<T>{d, i}, [&](const operator_head<T>& head, const auto& workload) {
    const basic_operator<T> o{head.name,
                              head.kind,
                              head.times,
                              head.cache,
                              weights_read(workload),
                              demand_of_valid(workload)};
    if constexpr (std::invocable<Visit&, const basic_operator<T>&>) {
      visit(o);
    } else {
      visit(o, workload);
    }
  });
}

}  // namespace detail

/// Calls visit(operator) or visit(operator, workload) for every operator of a pass, all layers, on
/// one rank of the tensor-parallel group of the busiest data-parallel group. A pipeline works on
/// 1 / pipeline of the sequences at a time. Leaves out: rotary embeddings, sampling, quantisation
/// of activations, biases.
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
