// A pass as one rank sees it: the shapes of its products and experts.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/operators/moe.hpp>
#include <perfmodel/operators/swiglu.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/step/deployment.hpp>

namespace perfmodel {

/// What part of a model an operator belongs to.
enum class operator_class { linear, attention, experts, other };

constexpr const char* name_of(operator_class c) {
  constexpr const char* names[] = {"linear", "attention", "experts", "other"};
  return detail::entry_of(names, c, "operator_class");
}

/// `times` equal operators. `weights` and `cache` are the bytes of weights and of KV cache or states
/// among the DRAM traffic of one; the rest is activations, which may stay on the chip.
template <Scalar T = double>
struct basic_operator {
  const char* name = "";
  operator_class kind = operator_class::other;
  T times{};
  bytes<T> cache{};
  bytes<T> weights{};
  basic_demand<T> demand{};
  const char* part =
      nullptr;  ///< of the pass, where another part of it has such an operator as well
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
  const char* part = nullptr;
};

template <Scalar T>
constexpr T at_least_one(const T& x) {
  return scalar_max(x, T(1.0));
}

template <Scalar T>
struct rank_step {
  const basic_deployment<T>& on;
  const basic_iteration<T>& pass;
  const engine_formats& formats;  ///< formats_of(on)
  T tensor = T(on.layout.tensor);
  step_share<T> share = share_of(on.layout, pass);
  number_format residual = at_least_16_bits(formats.linear.format);

  constexpr const basic_transformer<T>& model() const { return on.model; }
  constexpr bool decodes() const { return upper(share.sequences) > 0.0; }
  constexpr bool prefills() const { return upper(share.prompts) > 0.0; }
  /// The part of a pass that prompts are, where sequences decode beside them.
  constexpr const char* of_prefills() const {
    return decodes() && prefills() ? "prompts" : nullptr;
  }

  /// Less than one prompt of one token is that share of an operator.
  constexpr T prefill_share() const {
    return scalar_min(share.prompts, T(1.0)) * scalar_min(share.prompt_tokens, T(1.0));
  }
  constexpr T prompts() const { return at_least_one(share.prompts); }
  constexpr T prompt_tokens() const { return at_least_one(share.prompt_tokens); }
  /// The tokens of a sequence that are decoded at once are further queries of the same cache: as
  /// many times the heads, each seeing the context and on average half of the tokens beside it.
  constexpr T mean_context() const { return pass.context + 0.5 * (pass.tokens_per_sequence - 1.0); }

  constexpr basic_gemm<T> product(const T& k, const T& n, const storage_format& weights) const {
    return {.m = share.rows,
            .n = n,
            .k = k,
            .format = formats.linear.format,
            .weights = weights,
            .output = residual};
  }
  /// Of a mixer.
  constexpr basic_gemm<T> projection(const T& k, const T& n) const {
    return product(k, n, formats.weights.attention);
  }
  /// A product with a table that quantised checkpoints leave wide: the router's, the head's.
  constexpr basic_gemm<T> wide(const T& m, const T& k, const T& n) const {
    return {.m = m,
            .n = n,
            .k = k,
            .format = residual,
            .weights = formats.weights.others,
            .output = residual};
  }
  constexpr basic_swiglu<T> feed_forward(const T& width, bool gated) const {
    return {.tokens = share.rows,
            .hidden = on.model.hidden,
            .intermediate = width / tensor,
            .format = formats.linear.format,
            .weights = formats.weights.linear,
            .gated = gated};
  }
  constexpr basic_moe_ffn<T> routed_experts(const basic_expert_shape<T>& e, const T& tokens) const {
    return {.tokens = at_least_one(tokens),
            .hidden = e.expert_hidden(on.model.hidden),
            .intermediate = e.intermediate,
            .experts = e.experts,
            .top_k = e.top_k,
            .tensor_parallel = T(on.layout.expert_tensor()),
            .expert_parallel = T(on.layout.expert),
            .format = formats.experts.format,
            .weights = formats.weights.experts,
            .gated = e.gated};
  }
};

}  // namespace detail

}  // namespace perfmodel
