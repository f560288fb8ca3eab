// The operators one device runs in one pass of a model, in order, each with its demand.
#pragma once

#include <perfmodel/deployment.hpp>
#include <perfmodel/workload/attention.hpp>
#include <perfmodel/workload/attention_decode.hpp>
#include <perfmodel/workload/embedding.hpp>
#include <perfmodel/workload/gemm.hpp>
#include <perfmodel/workload/mla.hpp>
#include <perfmodel/workload/moe.hpp>
#include <perfmodel/workload/norm.hpp>
#include <perfmodel/workload/rope.hpp>
#include <perfmodel/workload/swiglu.hpp>

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

template <Scalar T, class Visit>
class operator_walk {
 public:
  constexpr operator_walk(const basic_deployment<T>& d, const basic_iteration<T>& i, Visit& visit)
      : d_(d), m_(d.model), i_(i), visit_(visit), tensor_(T(d.layout.tensor)),
        batch_(highest(i.batch) > 0.0 ? scalar_max(T(1.0), i.batch / T(d.layout.data) / T(d.layout.pipeline)) : T(0.0)),
        rows_(batch_ + i.prefill_tokens) {}

  constexpr void run() {
    const bool prefills = highest(i_.prefill_tokens) > 0.0;
    const number_format residual = d_.weights.others;
    emit("embedding", operator_class::other,
         basic_embedding<T>{.tokens = rows_, .vocabulary = m_.vocabulary, .hidden = m_.hidden, .format = residual},
         T(1.0));
    emit("norms", operator_class::other, basic_norm<T>{.rows = rows_, .width = m_.hidden, .format = residual},
         m_.layers * m_.norms_per_layer + 1.0);
    attention_projections();
    attend("attention", m_.layers - m_.sliding_layers, T(0.0), prefills);
    attend("sliding attention", m_.sliding_layers, m_.window, prefills);
    linear("output projection", m_.attention.query_heads * m_.attention.value_width() / tensor_, m_.hidden, m_.layers);
    feed_forward();
    const T logits = batch_ + i_.prefill_sequences * scalar_min(i_.prefill_tokens, T(1.0));
    gemm_of("head", operator_class::linear, logits, m_.vocabulary / tensor_, m_.hidden, storage_format(residual), residual, T(1.0));
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
    const basic_gemm<T> g{.m = m, .n = n, .k = k, .format = format, .weights = weights, .output = d_.weights.others};
    emit(name, kind, g, times, k * n * lift<T>(bytes_of(weights)));
  }
  constexpr void linear(const char* name, const T& k, const T& n, const T& times) {
    gemm_of(name, operator_class::linear, rows_, n, k, d_.weights.linear, d_.activations, times);
  }

  constexpr void attention_projections() {
    const auto& a = m_.attention;
    const T heads = a.query_heads / tensor_;
    if (a.kind == attention_kind::grouped_query) {
      const T kv_heads = kv_heads_per_rank(a.kv_heads, tensor_);
      linear("qkv projection", m_.hidden, heads * a.head_dim + kv_heads * (a.head_dim + a.value_width()), m_.layers);
      return;
    }
    const bool compressed = highest(a.query_rank) > 0.0;
    linear("latent projections", m_.hidden, a.query_rank + a.kv_rank + a.rope_dim, m_.layers);
    linear("query projection", compressed ? a.query_rank : m_.hidden, heads * a.head_dim, m_.layers);
    linear("key and value projections", a.kv_rank, heads * (a.head_dim - a.rope_dim + a.value_dim), m_.layers);
  }

  constexpr void attend(const char* name, const T& layers, const T& window, bool prefills) {
    if (!(highest(layers) > 0.0)) return;
    const auto& a = m_.attention;
    const bool latent = a.kind == attention_kind::latent;
    const T heads = a.query_heads / tensor_;
    const T kv_heads = latent ? heads : kv_heads_per_rank(a.kv_heads, tensor_);
    const bytes<T> per_token =
        (latent ? a.kv_rank + a.rope_dim : kv_heads * (a.head_dim + a.value_width())) * lift<T>(bytes_of(d_.kv));
    if (highest(batch_) > 0.0) {
      const T seen = attended_tokens(i_.context, window);
      const bytes<T> cache = batch_ * (seen + 1.0) * per_token;
      if (latent) {
        emit(name, operator_class::attention,
             basic_mla_decode<T>{.batch = batch_, .context = i_.context, .heads = heads, .latent = a.kv_rank,
                                 .rope = a.rope_dim, .format = d_.activations, .kv_format = d_.kv},
             layers, {}, cache);
      } else {
        emit(name, operator_class::attention,
             basic_attention_decode<T>{.batch = batch_, .context = i_.context, .query_heads = heads,
                                       .kv_heads = kv_heads, .head_dim = a.head_dim, .value_dim = a.value_width(),
                                       .format = d_.activations, .kv_format = d_.kv, .window = window},
             layers, {}, cache);
      }
    }
    if (prefills) {
      const T each = scalar_max(i_.prefill_tokens / i_.prefill_sequences, T(1.0));
      const basic_attention_prefill<T> p{.batch = i_.prefill_sequences, .tokens = each, .query_heads = heads,
                                         .kv_heads = kv_heads, .head_dim = a.head_dim, .value_dim = a.value_width(),
                                         .format = d_.activations, .kv_format = d_.kv, .window = window,
                                         .past = i_.prefill_past};
      // Keys and values of the chunk itself are at hand; those before it are read from the cache.
      const T past = highest(window) > 0.0 ? scalar_min(i_.prefill_past, window) : i_.prefill_past;
      const bytes<T> cache = (i_.prefill_sequences * past + i_.prefill_tokens) * per_token;
      emit(name, operator_class::attention, p, layers * scalar_min(i_.prefill_tokens, T(1.0)), {}, cache);
    }
  }

  constexpr void feed_forward() {
    const T dense = m_.layers - m_.moe.layers;
    if (highest(dense) > 0.0) ffn("feed-forward", m_.intermediate / tensor_, dense);
    if (!(highest(m_.moe.layers) > 0.0)) return;
    if (highest(m_.moe.shared_intermediate) > 0.0) {
      ffn("shared experts", m_.moe.shared_intermediate / tensor_, m_.moe.layers);
    }
    gemm_of("router", operator_class::other, rows_, m_.moe.experts, m_.hidden, storage_format(d_.weights.others), d_.weights.others, m_.moe.layers);
    const basic_moe_ffn<T> x{.tokens = rows_ * T(d_.layout.data), .hidden = m_.hidden,
                             .intermediate = m_.moe.intermediate, .experts = m_.moe.experts, .top_k = m_.moe.top_k,
                             .tensor_parallel = T(d_.layout.expert_tensor()), .expert_parallel = T(d_.layout.expert),
                             .format = d_.activations, .weights = d_.weights.experts, .gated = m_.gated};
    const bytes<T> read = experts_touched(x) * expert_weights(m_) / x.tensor_parallel * lift<T>(bytes_of(x.weights));
    emit("experts", operator_class::experts, x, m_.moe.layers, read);
  }
  constexpr void ffn(const char* name, const T& width, const T& layers) {
    const basic_swiglu<T> x{.tokens = rows_, .hidden = m_.hidden, .intermediate = width, .format = d_.activations,
                            .weights = d_.weights.linear, .gated = m_.gated};
    emit(name, operator_class::linear, x, layers, ffn_matrices(m_) * m_.hidden * width * lift<T>(bytes_of(x.weights)));
  }

  const basic_deployment<T>& d_;
  const basic_transformer<T>& m_;
  const basic_iteration<T>& i_;
  Visit& visit_;
  T tensor_;
  T batch_;  // sequences of one data-parallel group that one stage works on at a time
  T rows_;
};

}  // namespace detail

/// Calls visit(operator) or visit(operator, workload) for every operator of a pass, all layers, on one rank of the
/// tensor-parallel group. A pipeline works on batch / pipeline sequences at a time, a data-parallel
/// group on batch / data. Leaves out: rotary embeddings, sampling, quantisation of activations.
/// Errors: a model or layout that cannot be, or an empty iteration.
/// Tests: the weights add up to weight_bytes_per_device less the embedding table for a dense model;
/// FLOP over one device and context 0 equal flop_per_token.
template <Scalar T, class Visit>
constexpr void for_each_operator(const basic_deployment<T>& d, const basic_iteration<T>& i, Visit&& visit) {
  checked(d.model);
  check(d.layout, divisible_parts(d.model));
  detail::not_negative("batch", i.batch);
  detail::not_negative("prefill_tokens", i.prefill_tokens);
  detail::not_negative("prefill_past", i.prefill_past);
  detail::count("prefill_sequences", i.prefill_sequences);
  detail::count("batch + prefill_tokens", T(i.batch + i.prefill_tokens));
  if (d.layout.context != 1) {
    detail::out_of_range("context_parallel", d.layout.context, "1 in a step; context_parallel.hpp has the law");
  }
  detail::operator_walk<T, Visit>(d, i, visit).run();
}

}  // namespace perfmodel
