// Work of one rank in an engine step: the shapes of its GEMMs and experts.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/operators/moe.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/step/deployment.hpp>

namespace perfmodel::inline v0_3 {

/// Part of a model that an operator belongs to.
enum class operator_class { linear, attention, experts, other };

/// Name of a class of operators, which is a term of a step.
constexpr const char* name_of(operator_class c) {
  constexpr const char* names[] = {"linear", "attention", "experts", "other"};
  return detail::entry_of(names, c, "operator_class");
}

/// One kind of operator of an engine step, run `times` times (once per layer, for most). `weights`
/// and `cache` are the bytes of weights and of KV cache or recurrent states that one run moves to
/// or from DRAM. The rest of the traffic in `demand` is activations, which may stay on the chip.
template <Scalar T = double>
struct basic_operator {
  const char* name = "";
  operator_class kind = operator_class::other;
  T times{};
  bytes<T> cache{};
  bytes<T> weights{};
  basic_demand<T> demand{};
  /// "prefill": the prefill part of a step that also decodes (attention, experts); else null
  const char* part = nullptr;
};

namespace detail {

/// Bytes of weights that one operator reads: 0 for operators without weights.
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
  return touched_experts(x) * matrix / x.tensor_parallel * bytes_of(x.weights);
}

/// Name, class and repeats of an operator, before its FLOP and bytes are computed.
template <Scalar T>
struct operator_head {
  const char* name = "";
  operator_class kind = operator_class::other;
  T times{};
  bytes<T> cache{};
  const char* part = nullptr;
};

template <Scalar T>
constexpr T at_least_one(const T& x) {
  return scalar_max(x, T(1.0));
}

/// One engine step on one rank, and the shapes of its operators. It refers to a deployment and an
/// iteration, which must outlive it.
template <Scalar T>
struct rank_step {
  const basic_deployment<T>& replica;
  const basic_iteration<T>& engine_step;
  const engine_formats& formats;  ///< formats_of(replica)
  T tensor = T(replica.layout.tensor);
  step_share<T> share = step_share_of(replica.layout, engine_step);
  number_format residual = at_least_16_bits(formats.linear.format);
  /// Format of attention: that of the linear layers or of the cache, whichever has more bits.
  number_format queries = wider(formats.linear.format, formats.kv.format);

  constexpr const basic_transformer<T>& model() const { return replica.model; }
  constexpr bool has_decodes() const { return upper(share.sequences) > 0.0; }
  constexpr bool has_prefills() const { return upper(share.prefills) > 0.0; }
  /// "prefill" if the step has decodes and prefills, else null: the `part` of its prefill
  /// operators.
  constexpr const char* prefill_part() const {
    return has_decodes() && has_prefills() ? "prefill" : nullptr;
  }

  /// Fraction that scales the prefill operators. A mean (steady) step with less than one prefill,
  /// or less than one token, is costed as one prefill of one token, times this fraction.
  constexpr T prefill_share() const {
    return scalar_min(share.prefills, T(1.0)) * scalar_min(share.prefill_length, T(1.0));
  }
  constexpr T prefill_count() const { return at_least_one(share.prefills); }
  constexpr T prefill_length() const { return at_least_one(share.prefill_length); }
  /// Mean number of tokens that a decoded token reads. The tokens of a speculation round are
  /// queries of one cache: each reads the context and, on average, half of the round's other
  /// tokens.
  constexpr T mean_context() const {
    return engine_step.context + 0.5 * (engine_step.tokens_per_sequence - 1.0);
  }

  constexpr basic_gemm<T> linear_gemm(const T& k, const T& n, const storage_format& weights) const {
    return {.m = share.rows,
            .n = n,
            .k = k,
            .format = formats.linear.format,
            .weights = weights,
            .output = residual};
  }
  /// Projection of a token mixer (attention or recurrence), with weights in the format of
  /// attention.
  constexpr basic_gemm<T> projection(const T& k, const T& n) const {
    return linear_gemm(k, n, formats.weights.attention);
  }
  /// GEMM in the format of the residual stream: the router, and the LM head.
  constexpr basic_gemm<T> high_precision_gemm(const T& m, const T& k, const T& n,
                                              const storage_format& weights) const {
    return {.m = m, .n = n, .k = k, .format = residual, .weights = weights, .output = residual};
  }
  constexpr basic_swiglu<T> feed_forward(const T& width, bool gated) const {
    return {.tokens = share.rows,
            .hidden = replica.model.hidden,
            .intermediate = width / tensor,
            .format = formats.linear.format,
            .weights = formats.weights.linear,
            .gated = gated};
  }
  /// Library of expert kernels: that of the deployment, else the engine's.
  constexpr moe_backend expert_backend() const {
    if (replica.moe_backend != moe_backend::automatic) return replica.moe_backend;
    return default_moe_backend(replica.serving_engine, replica.device.architecture,
                               formats.experts.format, replica.layout.tensor);
  }
  constexpr basic_moe_ffn<T> routed_experts(const basic_expert_shape<T>& e, const T& tokens) const {
    return {.tokens = at_least_one(tokens),
            .hidden = e.expert_hidden(replica.model.hidden),
            .intermediate = e.intermediate,
            .experts = e.experts + T(replica.layout.redundant_experts),
            .top_k = e.top_k,
            .tensor_parallel = T(replica.layout.expert_tensor()),
            .expert_parallel = T(replica.layout.expert),
            .format = formats.experts.format,
            .weights = formats.weights.experts,
            .gated = e.gated,
            .backend = expert_backend()};
  }
};

}  // namespace detail

}  // namespace perfmodel::inline v0_3
