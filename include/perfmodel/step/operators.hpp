// Operators that one device runs in one engine step, in order, with their FLOP and bytes.
#pragma once

#include <perfmodel/operators/elementwise.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/operators/norm.hpp>
#include <perfmodel/step/mixer_operators.hpp>
#include <perfmodel/step/rank_step.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

template <Scalar T, class Run>
constexpr void visit_feed_forward(const rank_step<T>& p, const T& layers,
                                  const basic_dense_shape<T>& x, Run&& run) {
  run({.name = "feed-forward", .kind = operator_class::linear, .times = layers},
      p.feed_forward(x.intermediate, x.gated));
}

/// Operators of routed and shared experts. A step with a prefill reads more experts than one
/// without. A mean (steady) step is therefore costed as a fraction `with_prefills` of steps with
/// one prefill, and the rest without.
template <Scalar T, class Run>
constexpr void visit_feed_forward(const rank_step<T>& p, const T& layers,
                                  const basic_expert_shape<T>& e, Run&& run) {
  using enum operator_class;
  const step_share<T>& share = p.share;
  const T& hidden = p.model().hidden;
  if (e.shared_intermediate) {
    run({.name = "shared experts", .kind = linear, .times = layers},
        p.feed_forward(*e.shared_intermediate, e.gated));
  }
  run({.name = "router", .times = layers},
      p.high_precision_gemm(share.rows, hidden, e.experts, p.formats.weights.others));
  if (e.latent) {
    run({.name = "to the experts' latent", .kind = linear, .times = layers},
        p.linear_gemm(hidden, *e.latent, p.formats.weights.linear));
    run({.name = "from the experts' latent", .kind = linear, .times = layers},
        p.linear_gemm(*e.latent, hidden, p.formats.weights.linear));
  }
  const T with_prefills = scalar_min(share.prefills_of_groups, T(1.0));
  operator_head<T> o{.name = "experts", .kind = experts};
  if (lower(with_prefills) < 1.0 && upper(share.decoded_tokens_of_groups) > 0.0) {
    o.times = layers * (1.0 - with_prefills);
    run(o, p.routed_experts(e, share.decoded_tokens_of_groups));
  }
  if (upper(with_prefills) > 0.0) {
    o.times = layers * with_prefills;
    if (lower(with_prefills) < 1.0) o.part = p.prefill_part();
    run(o, p.routed_experts(e, T(share.decoded_tokens_of_groups +
                                 at_least_one(share.prefills_of_groups) * share.prefill_length)));
  }
}

/// Operators of per-layer embeddings: a look-up for all layers and a projection of the hidden
/// state. In each layer follow a gate and a projection back to the hidden size.
template <Scalar T, class Run>
constexpr void visit_layer_embedding(const rank_step<T>& p, const basic_layer_embedding<T>& e,
                                     Run&& run) {
  using enum operator_class;
  const T &hidden = p.model().hidden, &layers = p.model().layers.count;
  run({.name = "embedding", .times = T(1.0)}, basic_embedding<T>{.tokens = p.share.rows,
                                                                 .vocabulary = e.vocabulary,
                                                                 .hidden = layers * e.width,
                                                                 .format = p.residual});
  const storage_format& stored = p.formats.weights.linear;
  run({.name = "to the layers' embedding", .kind = linear, .times = T(1.0)},
      p.linear_gemm(hidden, T(layers * e.width / p.tensor), stored));
  run({.name = "to the layer's embedding", .kind = linear, .times = layers},
      p.linear_gemm(hidden, T(e.width / p.tensor), stored));
  run({.name = "from the layer's embedding", .kind = linear, .times = layers},
      p.linear_gemm(T(e.width / p.tensor), hidden, stored));
}

/// Operators of the adapters: per projection a kernel to the rank (shrink) and one back (expand).
/// The kernel that adds the result to the projection is expand itself.
template <Scalar T, class Run>
constexpr void visit_adapters(const rank_step<T>& p, const basic_lora<T>& x, Run&& run) {
  const T active = scalar_min(at_least_one(x.active), at_least_one(p.share.rows));
  visit_adapted_layers(
      p.model(), p.tensor, [&](const T& layers, const adapted_projection<T>& projection) {
        const operator_head<T> o{
            .name = "LoRA adapters", .kind = operator_class::linear, .times = layers};
        basic_lora_gemm<T> one{.tokens = p.share.rows,
                               .depth = projection.input,
                               .width = projection.fused * x.rank,
                               .adapters = active,
                               .format = x.format};
        run(o, one);
        one.depth = x.rank;
        one.width = projection.output;
        run(o, one);
      });
}

/// Operators of the adapters of routed experts. Each of the tokens x top_k rows on a rank uses the
/// matrices of its expert in its adapter, one of experts x active pairs (vLLM's virtual experts).
/// Tokens are spread evenly over the adapters, as over the experts.
/// Source: vLLM, lora/ops/triton_ops/fused_moe_lora_op.py. Leaves out: sorting of the rows.
/// Test: bytes and FLOP of Qwen3-30B-A3B, by hand (tests/unit/engine_options.cpp).
template <Scalar T, class Run>
constexpr void visit_expert_adapters(const rank_step<T>& p, const basic_lora<T>& x, const T& layers,
                                     const basic_expert_shape<T>& e, Run&& run) {
  const T groups = T(p.replica.layout.expert);
  const T tokens = at_least_one(
      T(p.share.decoded_tokens_of_groups + p.share.prefills_of_groups * p.share.prefill_length));
  const T active = scalar_min(at_least_one(x.active), tokens);
  const T pairs = active * expected_experts(e.experts, e.top_k, T(tokens / active)) / groups;
  visit_adapted_expert(
      e, p.model().hidden, T(p.replica.layout.expert_tensor()),
      [&](const adapted_projection<T>& projection) {
        const operator_head<T> o{
            .name = "LoRA adapters", .kind = operator_class::linear, .times = layers};
        basic_lora_gemm<T> one{.tokens = at_least_one(T(tokens * e.top_k / groups)),
                               .depth = projection.input,
                               .width = projection.fused * x.rank,
                               .adapters = at_least_one(pairs),
                               .format = x.format};
        run(o, one);
        one.depth = x.rank;
        one.width = projection.output;
        run(o, one);
      });
}

/// Layers of an encoder of images, and its matrices per layer in units of width x width: 4 of
/// attention and 8 of the feed-forward. A model file gives the parameters only, so the width is
/// sqrt(parameters / (12 x 27)). Assumed: SigLIP-so400m's 27 layers, as in Qwen3-VL and Kimi-K2.5.
inline constexpr double encoder_layers = 27.0;
inline constexpr double encoder_matrices = 12.0;

/// GEMMs of the image encoder for the prefill tokens of a step: 2 x parameters FLOP per patch.
/// Leaves out: attention among the patches of an image.
template <Scalar T, class Run>
constexpr void visit_encoder(const rank_step<T>& p, const basic_encoder_shape<T>& e, Run&& run) {
  using math::sqrt;
  const T width = sqrt(T(e.parameters / (encoder_layers * encoder_matrices)));
  const T patches = p.prefill_count() * p.prefill_length() * p.replica.encoder_rows;
  run({.name = "image encoder",
       .kind = operator_class::linear,
       .times = encoder_layers * encoder_matrices * p.prefill_share(),
       .part = p.prefill_part()},
      p.high_precision_gemm(at_least_one(patches), width, at_least_one(T(width / p.tensor)),
                            p.formats.weights.others));
}

/// Calls run(operator_head, workload) for each operator of the model: embeddings, norms, each kind
/// of layer, LM head.
template <Scalar T, class Run>
constexpr void visit_layers(const rank_step<T>& p, Run&& run) {
  const basic_transformer<T>& m = p.model();
  run({.name = "embedding", .times = T(1.0)}, basic_embedding<T>{.tokens = p.share.rows,
                                                                 .vocabulary = m.vocabulary,
                                                                 .hidden = m.hidden,
                                                                 .format = p.residual});
  if (m.layer_embedding) visit_layer_embedding(p, *m.layer_embedding, run);
  if (m.is_draft_head()) {
    run({.name = "joining projection", .kind = operator_class::linear, .times = T(1.0)},
        p.linear_gemm(T(m.joined_inputs * m.hidden), T(m.hidden / p.tensor),
                      p.formats.weights.linear));
  }
  run({.name = "norms", .times = m.layers.count * m.norms_per_layer + 1.0},
      basic_norm<T>{.rows = p.share.rows, .width = m.hidden, .format = p.residual});
  for (const auto& kind : m.layers.mixers) {
    std::visit([&](const auto& a) { visit_mixer(p, kind.layers, a, run); }, kind.shape);
  }
  for (const auto& kind : m.layers.feed_forwards) {
    std::visit([&](const auto& x) { visit_feed_forward(p, kind.layers, x, run); }, kind.shape);
  }
  if (p.replica.lora && upper(p.replica.lora->active) > 0.0) {
    visit_adapters(p, *p.replica.lora, run);
    for (const auto& kind : m.layers.feed_forwards) {
      const auto* e = std::get_if<basic_expert_shape<T>>(&kind.shape);
      if (p.replica.lora->experts && e != nullptr)
        visit_expert_adapters(p, *p.replica.lora, kind.layers, *e, run);
    }
  }
  if (m.encoder && p.has_prefills() && upper(p.replica.encoder_rows) > 0.0) {
    visit_encoder(p, *m.encoder, run);
  }
  run({.name = "head", .kind = operator_class::linear, .times = T(1.0)},
      p.high_precision_gemm(at_least_one(p.share.logits), m.hidden, T(m.vocabulary / p.tensor),
                            p.formats.weights.of_tables()));
}

/// Calls visit(operator) or visit(operator, workload) for each operator; the inputs are checked.
template <Scalar T, class Visit>
constexpr void visit_operators(const rank_step<T>& p, Visit&& visit) {
  visit_layers(p, [&](const operator_head<T>& head, const auto& workload) {
    const basic_operator<T> o{head.name,
                              head.kind,
                              head.times,
                              head.cache,
                              weights_read(workload),
                              demand_of(valid_operator{workload}),
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
  visit_operators(rank_step<T>{d, i, formats}, visit);
}

}  // namespace detail

/// Calls visit(operator) or visit(operator, workload) for every operator of an engine step, in all
/// layers, on one rank. The rank is in the data-parallel group with the most sequences.
/// With pipeline parallelism each stage processes 1 / pipeline of the sequences at a time.
/// Leaves out: quantisation of activations, biases, and the element-wise kernels that
/// for_each_elementwise_kernel visits (rotary embeddings, sampling and others).
/// Errors: an invalid model or layout, or an empty iteration.
/// Tests: on one pipeline stage and with all experts in use, the weight bytes equal
/// weight_bytes_per_device without the embedding table, norms and biases. The FLOP on one device
/// equal flop_per_token; MLA adds the FLOP of its multiplications with the latent.
template <Scalar T, class Visit>
constexpr void for_each_operator(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                 Visit&& visit) {
  detail::check_deployment(d);
  detail::check_iteration(i);
  detail::visit_operators(d, i, visit);
}

// Element-wise kernels of an engine step. Some engines fuse them into adjacent kernels.

namespace detail {

/// Element-wise kernel that reads and writes `elements` values.
template <Scalar T>
constexpr basic_elementwise<T> copy_kernel(const T& elements, number_format format) {
  return {.elements = elements, .format = format};
}

/// Rotary embedding, head norms and KV-cache write for the queries and keys of one rank.
template <Scalar T, class Run>
constexpr void visit_elementwise_kernels_of(const rank_step<T>& p, const T& layers,
                                            const basic_attention_shape<T>& a, Run&& run) {
  const T& rows = p.share.rows;
  const T kv_heads = a.shares_cache ? T(0.0) : kv_heads_per_rank(a.kv_heads, p.tensor);
  const T heads = a.query_heads / p.tensor + kv_heads;
  run(elementwise_kernel::rotary, layers, copy_kernel(T(rows * heads * a.head_dim), p.residual));
  if (a.qk_norm) {
    run(elementwise_kernel::head_norm, layers,
        basic_norm<T>{.rows = rows * heads, .width = a.head_dim, .format = p.residual});
  } else if (a.qk_norm_whole) {
    run(elementwise_kernel::head_norm, layers,
        basic_norm<T>{.rows = rows, .width = heads * a.head_dim, .format = p.residual});
  }
  if (a.shares_cache || a.image_tokens) return;
  run(elementwise_kernel::cache_write, layers,
      copy_kernel(T(rows * kv_heads * (a.head_dim + a.value_width())), p.residual));
}

/// Rotary embedding of the queries and of the key that all heads share, and the cache write of the
/// latent.
template <Scalar T, class Run>
constexpr void visit_elementwise_kernels_of(const rank_step<T>& p, const T& layers,
                                            const basic_latent_attention_shape<T>& a, Run&& run) {
  const T& rows = p.share.rows;
  const T heads = a.query_heads / p.tensor + 1.0;
  run(elementwise_kernel::rotary, layers, copy_kernel(T(rows * heads * a.rope_dim), p.residual));
  run(elementwise_kernel::cache_write, layers,
      copy_kernel(T(rows * a.cached_elements()), p.residual));
}

template <Scalar T, class Run>
constexpr void visit_elementwise_kernels_of(const rank_step<T>& p, const T& layers,
                                            const basic_dense_shape<T>& x, Run&& run) {
  run(elementwise_kernel::activation, layers,
      basic_elementwise<T>{.elements = p.share.rows * x.intermediate / p.tensor,
                           .inputs = T(x.gated ? 2.0 : 1.0),
                           .flop_per_element = T(5.0),
                           .format = p.residual});
}

/// No separate kernels for compressed attention, recurrences and routed experts: their measured
/// times include the element-wise kernels.
template <Scalar T, class Shape, class Run>
constexpr void visit_elementwise_kernels_of(const rank_step<T>&, const T&, const Shape&, Run&&) {}

/// Calls run(kind, times, workload) for each kind of element-wise kernel; the step launches `times`
/// of them.
template <Scalar T, class Run>
constexpr void visit_elementwise_kernels(const rank_step<T>& p, Run&& run) {
  const basic_transformer<T>& m = p.model();
  run(elementwise_kernel::residual, T(m.layers.count * m.norms_per_layer),
      copy_kernel(T(p.share.rows * m.hidden), p.residual));
  for (const auto& kind : m.layers.mixers) {
    std::visit([&](const auto& a) { visit_elementwise_kernels_of(p, kind.layers, a, run); },
               kind.shape);
  }
  for (const auto& kind : m.layers.feed_forwards) {
    std::visit([&](const auto& x) { visit_elementwise_kernels_of(p, kind.layers, x, run); },
               kind.shape);
  }
  run(elementwise_kernel::sampler, T(1.0),
      basic_elementwise<T>{.elements = at_least_one(p.share.logits) * m.vocabulary,
                           .outputs = T(0.0),
                           .format = number_format::fp32});
}

}  // namespace detail

/// Calls visit(kind, times, workload) for every element-wise kernel that for_each_operator leaves
/// out, in all layers, on one rank. The step launches `times` of them.
/// An engine may fuse any of them into an adjacent kernel, so lower bounds count none. Predictions
/// count those that the policy has measured (policy.elementwise_kernels).
/// Leaves out: quantisation of activations and biases (measured with GEMMs); the choice of experts
/// (measured with expert kernels). Also element-wise kernels of recurrences and of compressed
/// attention; learned position embeddings; penalties and sorting in the sampler.
/// Errors: those of for_each_operator.
/// Tests: Llama 3.1 8B computed by hand. On two ranks, the kernels of heads and activations have
/// half of the elements each.
template <Scalar T, class Visit>
constexpr void for_each_elementwise_kernel(const basic_deployment<T>& d,
                                           const basic_iteration<T>& i, Visit&& visit) {
  detail::check_deployment(d);
  detail::check_iteration(i);
  const engine_formats formats = formats_of(d);
  detail::visit_elementwise_kernels(detail::rank_step<T>{d, i, formats}, visit);
}

/// Total work of an engine step on one device.
template <Scalar T = double>
struct basic_step_demand {
  bytes<T> weights{};
  bytes<T> cache{};
  flops<T> matrix_flop{};
  flops<T> vector_flop{};
  duration<T> compute{};  ///< sum over formats of matrix FLOP / peak rate of the format
  T launches{};
};
using step_demand = basic_step_demand<>;

namespace detail {

/// Adds up the work of the operators of a step, without activation bytes (see demand_of_step).
template <Scalar T>
class demand_sum {
 public:
  constexpr void add(const basic_operator<T>& o) {
    s_.weights += o.times * o.weights;
    s_.cache += o.times * o.cache;
    by_format_[static_cast<std::size_t>(o.demand.format)] +=
        named(o.name, o.part, o.times * o.demand.matrix_flop);
    s_.vector_flop += o.times * o.demand.vector_flop;
    s_.launches += o.times * o.demand.launches;
  }
  constexpr basic_step_demand<T> step_demand_on(const basic_accelerator<T>& device) const {
    basic_step_demand<T> s = s_;
    for (const number_format f : all_formats) {
      const flops<T>& work = by_format_[static_cast<std::size_t>(f)];
      if (upper(work.value()) > 0.0) {
        s.matrix_flop += work;
        s.compute += named("FLOP", work) / peak(device, f);
      }
    }
    s.weights = named("weight bytes read", s.weights);
    s.cache = named("KV bytes moved", s.cache);
    return s;
  }

 private:
  basic_step_demand<T> s_{};
  std::array<flops<T>, all_formats.size()> by_format_{};
};

template <Scalar T>
constexpr basic_step_demand<T> demand_of_rank(const rank_step<T>& p) {
  demand_sum<T> sum;
  visit_operators(p, [&](const basic_operator<T>& o) { sum.add(o); });
  return sum.step_demand_on(p.replica.device);
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3
