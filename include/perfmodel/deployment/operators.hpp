// The operators one device runs in one pass of a model, in order, each with its demand.
#pragma once

#include <perfmodel/deployment/deployment.hpp>
#include <perfmodel/workload/operators/attention.hpp>
#include <perfmodel/workload/operators/attention_decode.hpp>
#include <perfmodel/workload/operators/embedding.hpp>
#include <perfmodel/workload/operators/gemm.hpp>
#include <perfmodel/workload/operators/mla.hpp>
#include <perfmodel/workload/operators/moe.hpp>
#include <perfmodel/workload/operators/norm.hpp>
#include <perfmodel/workload/operators/rope.hpp>
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
  basic_demand<T> demand{};
  T times{};
  bytes<T> weights{};
  bytes<T> cache{};
};

namespace detail {

/// What one data-parallel group has at one stage of its pipeline at a time.
template <Scalar T>
struct iteration_share {
  T batch{};          ///< sequences that decode
  T prompts{};        ///< prompts that join
  T prompt_tokens{};  ///< of each of them
  T rows{};           ///< tokens of both kinds
  T logits{};         ///< tokens that the head sees
  T all_batch{};      ///< as batch and prompts, of all groups together: what routed experts see
  T all_prompts{};
};

/// A sequence is not divided, so a group that has any has one whole one, unless `steady` averages.
template <Scalar T>
constexpr iteration_share<T> share_of(const layout& l, const basic_iteration<T>& i) {
  const bool decodes = upper(i.batch) > 0.0;
  const bool prefills = upper(i.prefill_tokens) > 0.0;
  const T stages = T(l.pipeline);
  const T parts = T(l.pipeline * l.data);
  const T least = T(i.steady ? 0.0 : 1.0);
  iteration_share<T> s;
  if (decodes) {
    s.batch = scalar_max(T(1.0), i.batch / parts);
    s.all_batch = scalar_max(T(1.0), i.batch / stages);
  }
  s.rows = s.batch;
  s.logits = s.batch;
  if (prefills) {
    s.prompts = scalar_max(least, i.prefill_sequences / parts);
    s.prompt_tokens = i.prefill_tokens / i.prefill_sequences;
    s.rows += s.prompts * s.prompt_tokens;
    s.logits += s.prompts * scalar_min(s.prompt_tokens, T(1.0));
    s.all_prompts = scalar_max(least, i.prefill_sequences / stages);
  }
  return s;
}

template <Scalar T, class Visit>
class operator_walk {
 public:
  constexpr operator_walk(const basic_deployment<T>& d, const basic_iteration<T>& i, Visit& visit)
      : d_(d),
        m_(d.model),
        i_(i),
        visit_(visit),
        tensor_(T(d.layout.tensor)),
        share_(share_of(d.layout, i)) {}

  constexpr void run() {
    const bool prefills = upper(i_.prefill_tokens) > 0.0;
    const number_format residual = d_.weights.others;
    emit("embedding", operator_class::other,
         basic_embedding<T>{.tokens = share_.rows,
                            .vocabulary = m_.vocabulary,
                            .hidden = m_.hidden,
                            .format = residual},
         T(1.0));
    emit("norms", operator_class::other,
         basic_norm<T>{.rows = share_.rows, .width = m_.hidden, .format = residual},
         m_.layers * m_.norms_per_layer + 1.0);
    attention_projections();
    attend("attention", m_.layers - m_.sliding_layers, T(0.0), prefills);
    attend("sliding attention", m_.sliding_layers, m_.window, prefills);
    linear("output projection", m_.attention.query_heads * m_.attention.value_width() / tensor_,
           m_.hidden, m_.layers);
    feed_forward();
    gemm_of("head", operator_class::linear, at_least_one(share_.logits), m_.vocabulary / tensor_,
            m_.hidden, storage_format(residual), residual, T(1.0));
  }

 private:
  // A visitor takes the operator, and where it wants to also the workload with its shape.
  template <class W>
  constexpr void emit(const char* name, operator_class kind, const W& workload, const T& times,
                      const bytes<T>& weights = {}, const bytes<T>& cache = {}) {
    const basic_operator<T> o{name, kind, demand_of(workload), times, weights, cache};
    if constexpr (std::invocable<Visit&, const basic_operator<T>&, const W&>) {
      visit_(o, workload);
    } else {
      visit_(o);
    }
  }
  constexpr void gemm_of(const char* name, operator_class kind, const T& m, const T& n, const T& k,
                         const storage_format& weights, number_format format, const T& times) {
    const basic_gemm<T> g{
        .m = m, .n = n, .k = k, .format = format, .weights = weights, .output = d_.weights.others};
    emit(name, kind, g, times, k * n * bytes_of(weights));
  }
  constexpr void linear(const char* name, const T& k, const T& n, const T& times) {
    gemm_of(name, operator_class::linear, share_.rows, n, k, d_.weights.linear, d_.activations,
            times);
  }

  static constexpr T at_least_one(const T& x) { return scalar_max(x, T(1.0)); }

  constexpr void attention_projections() {
    const auto& a = m_.attention;
    const T heads = a.query_heads / tensor_;
    if (a.kind == attention_kind::grouped_query) {
      const T kv_heads = kv_heads_per_rank(a.kv_heads, tensor_);
      linear("qkv projection", m_.hidden,
             heads * a.head_dim + kv_heads * (a.head_dim + a.value_width()), m_.layers);
      return;
    }
    const bool compressed = upper(a.query_rank) > 0.0;
    linear("latent projections", m_.hidden, a.query_rank + a.kv_rank + a.rope_dim, m_.layers);
    linear("query projection", compressed ? a.query_rank : m_.hidden, heads * a.head_dim,
           m_.layers);
    linear("key and value projections", a.kv_rank, heads * (a.head_dim - a.rope_dim + a.value_dim),
           m_.layers);
  }

  constexpr void attend(const char* name, const T& layers, const T& window, bool prefills) {
    if (!(upper(layers) > 0.0)) return;
    const auto& a = m_.attention;
    const bool latent = a.kind == attention_kind::latent;
    const T heads = a.query_heads / tensor_;
    const T kv_heads = latent ? heads : kv_heads_per_rank(a.kv_heads, tensor_);
    const bytes<T> per_token =
        (latent ? a.kv_rank + a.rope_dim : kv_heads * (a.head_dim + a.value_width())) *
        bytes_of(d_.kv);
    if (upper(share_.batch) > 0.0) {
      const T seen = attended_tokens(i_.context, window);
      const bytes<T> cache = share_.batch * (seen + 1.0) * per_token;
      if (latent) {
        emit(name, operator_class::attention,
             basic_mla_decode<T>{.batch = share_.batch,
                                 .context = i_.context,
                                 .heads = heads,
                                 .latent = a.kv_rank,
                                 .rope = a.rope_dim,
                                 .format = d_.activations,
                                 .kv_format = d_.kv},
             layers, {}, cache);
      } else {
        emit(name, operator_class::attention,
             basic_attention_decode<T>{.batch = share_.batch,
                                       .context = i_.context,
                                       .query_heads = heads,
                                       .kv_heads = kv_heads,
                                       .head_dim = a.head_dim,
                                       .value_dim = a.value_width(),
                                       .format = d_.activations,
                                       .kv_format = d_.kv,
                                       .window = window},
             layers, {}, cache);
      }
    }
    if (prefills) {
      // Less than one prompt of one token is that share of an operator.
      const T prompts = at_least_one(share_.prompts);
      const T each = at_least_one(share_.prompt_tokens);
      const T times =
          layers * scalar_min(share_.prompts, T(1.0)) * scalar_min(share_.prompt_tokens, T(1.0));
      const basic_attention_prefill<T> p{.batch = prompts,
                                         .tokens = each,
                                         .query_heads = heads,
                                         .kv_heads = kv_heads,
                                         .head_dim = a.head_dim,
                                         .value_dim = a.value_width(),
                                         .format = d_.activations,
                                         .kv_format = d_.kv,
                                         .window = window,
                                         .past = i_.prefill_past};
      // Keys and values of the chunk itself are at hand; those before it are read from the cache.
      const T past = upper(window) > 0.0 ? scalar_min(i_.prefill_past, window) : i_.prefill_past;
      emit(name, operator_class::attention, p, times, {}, prompts * (past + each) * per_token);
    }
  }

  constexpr void feed_forward() {
    const T dense = m_.layers - m_.moe.layers;
    if (upper(dense) > 0.0) ffn("feed-forward", m_.intermediate / tensor_, dense);
    if (!(upper(m_.moe.layers) > 0.0)) return;
    if (upper(m_.moe.shared_intermediate) > 0.0) {
      ffn("shared experts", m_.moe.shared_intermediate / tensor_, m_.moe.layers);
    }
    gemm_of("router", operator_class::other, share_.rows, m_.moe.experts, m_.hidden,
            storage_format(d_.weights.others), d_.weights.others, m_.moe.layers);
    // A pass with a prompt touches more experts than one without, so a mean over both is not a pass
    // with the mean of their tokens.
    const T with_prompts = scalar_min(share_.all_prompts, T(1.0));
    if (lower(with_prompts) < 1.0 && upper(share_.all_batch) > 0.0) {
      routed(share_.all_batch, m_.moe.layers * (1.0 - with_prompts));
    }
    if (upper(with_prompts) > 0.0) {
      routed(share_.all_batch + at_least_one(share_.all_prompts) * share_.prompt_tokens,
             m_.moe.layers * with_prompts);
    }
  }
  constexpr void routed(const T& tokens, const T& layers) {
    const basic_moe_ffn<T> x{.tokens = at_least_one(tokens),
                             .hidden = m_.hidden,
                             .intermediate = m_.moe.intermediate,
                             .experts = m_.moe.experts,
                             .top_k = m_.moe.top_k,
                             .tensor_parallel = T(d_.layout.expert_tensor()),
                             .expert_parallel = T(d_.layout.expert),
                             .format = d_.activations,
                             .weights = d_.weights.experts,
                             .gated = m_.gated};
    const bytes<T> read =
        experts_touched(x) * expert_weights(m_) / x.tensor_parallel * bytes_of(x.weights);
    emit("experts", operator_class::experts, x, layers, read);
  }
  constexpr void ffn(const char* name, const T& width, const T& layers) {
    const basic_swiglu<T> x{.tokens = share_.rows,
                            .hidden = m_.hidden,
                            .intermediate = width,
                            .format = d_.activations,
                            .weights = d_.weights.linear,
                            .gated = m_.gated};
    emit(name, operator_class::linear, x, layers,
         ffn_matrices(m_) * m_.hidden * width * bytes_of(x.weights));
  }

  const basic_deployment<T>& d_;
  const basic_transformer<T>& m_;
  const basic_iteration<T>& i_;
  Visit& visit_;
  T tensor_;
  iteration_share<T> share_;
};

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
  checked(d.model);
  check(d.layout, sharded_dims_of(d.model));
  detail::not_negative("batch", i.batch);
  detail::not_negative("prefill_tokens", i.prefill_tokens);
  detail::not_negative("prefill_past", i.prefill_past);
  if (i.steady) {
    detail::positive("prefill_sequences", i.prefill_sequences);
  } else {
    detail::count("prefill_sequences", i.prefill_sequences);
  }
  detail::count("batch + prefill_tokens", T(i.batch + i.prefill_tokens));
  if (d.layout.context != 1) {
    detail::out_of_range("context_parallel", d.layout.context,
                         "1 in a step; parallel/context.hpp has the law");
  }
  detail::operator_walk<T, Visit>(d, i, visit).run();
}

}  // namespace perfmodel
