// A model on machines: what is stored in which format, how it is cut, and what one iteration does.
#pragma once

#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/kv_cache.hpp>
#include <perfmodel/parallel/layout.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/workload/model/kv_shape.hpp>
#include <perfmodel/workload/model/parameters.hpp>

namespace perfmodel {

/// One replica of a model: an accelerator (all are alike), the model, the layout and the formats.
/// `activations` is the format of the operands beside the weights; products run in the wider of the
/// two, so bf16 activations make a weight format weight-only. `layout.data` counts data-parallel
/// attention groups of this replica; whole copies of the replica are counted by serving and plan.
template <Scalar T = double>
struct basic_deployment {
  basic_accelerator<T> device{};
  basic_transformer<T> model{};
  perfmodel::layout layout{};
  weight_storage weights = number_format::bf16;
  number_format activations = number_format::bf16;
  storage_format kv = number_format::bf16;
  T utilization = T(1.0);       ///< share of a device's memory that may be used
  bytes<T> activation_bytes{};  ///< per device, beside weights and cache
  bytes<T> runtime_bytes{};     ///< per device

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("device", s.device...);
    f("model", s.model...);
    f("layout", s.layout...);
    f("weights", s.weights...);
    f("activations", s.activations...);
    f("kv", s.kv...);
    f("utilization", s.utilization...);
    f("activation_bytes", s.activation_bytes...);
    f("runtime_bytes", s.runtime_bytes...);
  }
};
using deployment = basic_deployment<>;

/// What of the model the layout has to divide.
template <Scalar T>
constexpr sharded_dims sharded_dims_of(const basic_transformer<T>& m) {
  const auto whole = [](const T& x) { return math::floor(lower(x)); };
  return {whole(m.attention.query_heads),
          m.attention.kind == attention_kind::latent ? 0.0 : whole(m.attention.kv_heads),
          whole(m.layers), whole(m.moe.experts), 0.0};
}

namespace detail {
/// Linear weights that each rank of a tensor-parallel group has whole, beyond its 1 / N of all: the
/// projections to MLA's latents, and KV heads where there are fewer of them than ranks.
template <Scalar T>
constexpr T replicated_weights(const basic_transformer<T>& m, const T& tensor) {
  const auto& a = m.attention;
  if (a.kind == attention_kind::latent) {
    const T latents = a.query_rank + a.kv_rank + a.rope_dim;
    return m.layers * m.hidden * latents * (1.0 - 1.0 / tensor);
  }
  const T extra_heads = kv_heads_per_rank(a.kv_heads, tensor) - a.kv_heads / tensor;
  return m.layers * m.hidden * (a.head_dim + a.value_width()) * extra_heads;
}
}  // namespace detail

/// Weights of one device: linear layers cut by tensor and pipeline (the projections to MLA's latents
/// and replicated KV heads are whole), routed experts by all ranks of a stage, the vocabulary tables
/// by tensor, norms and routers kept whole.
/// Leaves out: stages of unequal length. Both vocabulary tables count on every stage, though the
/// first has one and the last the other. Tests: bf16 Llama 3 70B over 8 ranks stores 1/8 of its
/// matrices on each; over 16, 1/16 and half of a KV head's two projections more.
template <Scalar T>
constexpr bytes<T> weight_bytes_per_device(const basic_deployment<T>& d) {
  const basic_parameter_count<T> p = parameters(d.model);
  const T tensor = T(d.layout.tensor);
  const T pipeline = T(d.layout.pipeline);
  const T expert_ranks = T(d.layout.expert * d.layout.expert_tensor());
  const bytes<> other = bytes_of(d.weights.others);
  return named("weight bytes per device",
               (p.linear / tensor + detail::replicated_weights(d.model, tensor)) / pipeline *
                       bytes_of(d.weights.linear) +
                   p.experts / expert_ranks / pipeline * bytes_of(d.weights.experts) +
                   (p.expert_biases / expert_ranks + p.other) / pipeline * other +
                   (p.embedding + p.head) / tensor * other);
}

/// The share of the model's KV cache that one rank of a tensor-parallel group stores: 1 / N, or
/// 1 / H_kv where there are more ranks than KV heads, and all of it for MLA, whose latent every
/// head reads. Test: 8 KV heads over 4, 8, 16 ranks: 1/4, 1/8, 1/8.
template <Scalar T>
constexpr T kv_share(const basic_transformer<T>& m, int tensor) {
  if (m.attention.kind == attention_kind::latent) return T(1.0);
  return kv_heads_per_rank(m.attention.kv_heads, T(tensor)) / m.attention.kv_heads;
}

/// What one device stores of a token: kv x share / pipeline.
template <Scalar T>
constexpr bytes_per_token<T> kv_bytes_per_token_and_device(const basic_deployment<T>& d) {
  return named("KV bytes per token and device", kv_bytes_per_token(d.model, d.kv) *
                                                    kv_share(d.model, d.layout.tensor) /
                                                    T(d.layout.pipeline));
}

template <Scalar T>
constexpr basic_memory_budget<T> memory_budget_of(const basic_deployment<T>& d) {
  return {d.device.dram.capacity.quantity(), d.utilization, weight_bytes_per_device(d),
          d.activation_bytes, d.runtime_bytes};
}

/// Whether weights and the cache of `batch` sequences of `context` tokens fit each device, and why
/// not. Sequences are spread over data-parallel groups, whole. Tests: Llama 3 70B in bf16 does not
/// fit one H100: 141 GB needed, 85.5 GB there; one sequence over 8 groups takes a whole one's cache.
template <Scalar T>
constexpr feasibility fits(const basic_deployment<T>& d, const std::type_identity_t<T>& batch,
                           const std::type_identity_t<T>& context) {
  const feasibility cut = layout_feasible(d.layout, sharded_dims_of(d.model));
  if (!cut) return cut;
  const int reach = d.device.fabric.exists() ? d.device.fabric.ranks : 1;
  if (d.layout.tensor * d.layout.data * d.layout.context > reach) {
    return infeasible("the parallel group has more ranks than the fabric joins", "accelerators",
                      d.layout.tensor * d.layout.data * d.layout.context, reach);
  }
  const double slices = upper(d.model.moe.intermediate) / d.layout.expert_tensor();
  if (upper(d.model.moe.layers) > 0.0 && math::ceil(slices) != slices) {
    return infeasible("the ranks that share an expert do not divide its width", "ranks",
                      d.layout.expert_tensor(), upper(d.model.moe.intermediate));
  }
  const basic_memory_budget<T> b = memory_budget_of(d);
  const bytes<T> free = kv_bytes_available(b);
  detail::not_negative("batch", batch);
  const T in_group = scalar_max(T(batch / T(d.layout.data)), scalar_min(batch, T(1.0)));
  const bytes<T> cache = in_group * kv_bytes(d.model, context, d.kv) *
                         kv_share(d.model, d.layout.tensor) / T(d.layout.pipeline);
  if (lower(free.value()) < upper(cache.value()) || lower(free.value()) <= 0.0) {
    const bool weights_alone = lower(free.value()) <= 0.0;
    return infeasible(weights_alone ? "the weights exceed the memory of a device"
                                    : "weights and KV cache exceed the memory of a device",
                      "B", upper((b.weights + b.activations + b.runtime + cache).value()),
                      lower((b.utilization * b.capacity).value()));
  }
  return {};
}

/// Sequences of `context` tokens that fit the whole replica at once, in blocks of `block_size`
/// tokens. A layer with a sliding window keeps min(context, window) tokens. `available` is of one
/// device, `blocks` and `tokens` of one data-parallel group and as if every layer kept all.
/// Tests: 8 H100 hold of Llama 3 70B what their bytes less the weights divide into; two groups hold
/// twice the sequences; a model of windows holds more than one without.
template <Scalar T>
constexpr basic_kv_capacity<T> kv_capacity(const basic_deployment<T>& d,
                                           const std::type_identity_t<T>& context,
                                           const std::type_identity_t<T>& block_size = T(16.0)) {
  const bytes<T> sequence = kv_bytes(d.model, detail::count("context", context), d.kv) *
                            kv_share(d.model, d.layout.tensor) / T(d.layout.pipeline);
  basic_kv_capacity<T> c =
      kv_capacity(memory_budget_of(d), kv_bytes_per_token_and_device(d), context, block_size);
  using math::floor;
  if (upper(d.model.sliding_layers) > 0.0 && lower(c.available.value()) > 0.0) {
    c.sequences = floor(T(c.available / sequence));
    c.feasible = upper(c.sequences) < 1.0
                     ? infeasible("not one sequence of this context fits beside the weights", "B",
                                  upper(sequence.value()), lower(c.available.value()))
                     : feasibility{};
  }
  c.sequences = c.sequences * T(d.layout.data);
  return c;
}

/// One pass of the model: `batch` sequences decode one token each over `context` cached tokens, and
/// `prefill_tokens` prompt tokens join them, spread evenly over `prefill_sequences` prompts that have
/// `prefill_past` tokens cached each. Sequences are shared out to data-parallel groups and to the
/// stages of a pipeline, whole ones, and the busiest group counts. A `steady` iteration is the mean
/// of many: then prefill_sequences may be below 1, and every group and stage has its share of it.
template <Scalar T = double>
struct basic_iteration {
  T batch{};
  T context = T(1.0);
  T prefill_tokens{};
  T prefill_past{};
  T prefill_sequences = T(1.0);
  bool steady = false;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("batch", s.batch...);
    f("context", s.context...);
    f("prefill_tokens", s.prefill_tokens...);
    f("prefill_past", s.prefill_past...);
    f("prefill_sequences", s.prefill_sequences...);
    f("steady", s.steady...);
  }
};
using iteration = basic_iteration<>;

}  // namespace perfmodel
