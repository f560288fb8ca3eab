// LoRA adapters: low-rank additions to linear layers, several of them in one batch.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/model/transformer.hpp>
#include <perfmodel/operators/demand.hpp>
#include <perfmodel/parallel/layout.hpp>
#include <perfmodel/parallel/tensor.hpp>

namespace perfmodel::inline v0_3 {

/// LoRA adapters of a deployment. `adapters` of them have a slot in device memory (vLLM's
/// max_loras), each of size `rank` (max_lora_rank). The tokens of an engine step use `active` of
/// them.
/// Adapted are the projections of attention, and dense and shared feed-forwards. With `experts`
/// each routed expert has matrices of its own.
template <Scalar T = double>
struct basic_lora {
  T rank = T(16.0);
  T adapters = T(1.0);
  T active = T(1.0);
  number_format format = number_format::bf16;
  bool experts = false;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("rank"), s.rank...);
    f(field::count("adapters"), s.adapters...);
    f(field::not_negative("active"), s.active...);
    f("format", s.format...);
    f("experts", s.experts...);
  }
};
using lora = basic_lora<>;

/// One kernel that multiplies `tokens` rows with the matrices [depth, width] of `adapters`
/// adapters; each row uses one of them (Punica's shrink or expand).
template <Scalar T = double>
struct basic_lora_gemm {
  T tokens{}, depth{}, width{};
  T adapters = T(1.0);
  number_format format = number_format::bf16;

  constexpr const char* name() const { return "lora_gemm"; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("tokens"), s.tokens...);
    f(field::positive("depth"), s.depth...);
    f(field::positive("width"), s.width...);
    f(field::count("adapters"), s.adapters...);
    f("format", s.format...);
  }
};
using lora_gemm = basic_lora_gemm<>;

namespace detail {
template <Scalar T>
constexpr bytes<T> weights_read(const basic_lora_gemm<T>& x) {
  return x.adapters * x.depth * x.width * bytes_of(x.format);
}
}  // namespace detail

/// FLOP = 2 tokens depth width; bytes: the matrices of all `adapters`, rows in and out.
/// Source: Chen et al., "Punica: multi-tenant LoRA serving", MLSys 2024 (arXiv 2310.18547),
/// section 4. Leaves out: padding of a rank to the kernel's tile. Errors: a size below 1.
/// Test: rank 16 on 4096 x 4096 for two adapters, by hand.
template <Scalar T>
constexpr basic_demand<T> demand_of(const valid_operator<basic_lora_gemm<T>>& valid) {
  const basic_lora_gemm<T>& x = valid.fields;
  basic_demand<T> d;
  d.name = "lora";
  d.format = x.format;
  d.matrix_flop = 2.0 * x.tokens * x.depth * x.width * flop;
  d.dram.read = detail::weights_read(x) + x.tokens * x.depth * bytes_of(x.format);
  d.dram.written = x.tokens * x.width * bytes_of(x.format);
  d.l2 = d.dram;
  return d;
}

namespace detail {

/// Linear layer with an adapter: input and output size on one rank, and the matrices that are fused
/// into one kernel (query, key and value; gate and up).
template <Scalar T>
struct adapted_projection {
  T input{}, output{};
  T fused = T(1.0);

  /// Values of an adapter of rank 1: a row of A for each fused matrix, a column of each B.
  constexpr T values() const { return fused * input + output; }
};

/// Adapted projections of a layer on one of `tensor` tensor-parallel ranks. As in vLLM, A of a
/// column-parallel layer and B of a row-parallel layer are on every rank, the other is divided.
template <Scalar T, class Visit>
constexpr void visit_adapted(const basic_attention_shape<T>& a, const T& hidden, const T& tensor,
                             Visit&& visit) {
  const T kv_heads = a.shares_cache ? T(0.0) : kv_heads_per_rank(a.kv_heads, tensor);
  const T value = a.value_is_key ? T(0.0) : a.value_width();
  visit(adapted_projection<T>{hidden,
                              a.query_heads / tensor * a.head_dim + kv_heads * (a.head_dim + value),
                              T(a.shares_cache   ? 1.0
                                : a.value_is_key ? 2.0
                                                 : 3.0)});
  visit(adapted_projection<T>{a.query_heads / tensor * a.value_width(), hidden});
}
template <Scalar T, class Visit>
constexpr void visit_adapted(const basic_dense_shape<T>& x, const T& hidden, const T& tensor,
                             Visit&& visit) {
  const T inward = x.matrices() - 1.0, width = x.intermediate / tensor;
  visit(adapted_projection<T>{hidden, inward * width, inward});
  visit(adapted_projection<T>{width, hidden});
}
template <Scalar T, class Visit>
constexpr void visit_adapted(const basic_expert_shape<T>& x, const T& hidden, const T& tensor,
                             Visit&& visit) {
  if (!x.shared_intermediate) return;
  visit_adapted(basic_dense_shape<T>{*x.shared_intermediate, x.gated}, hidden, tensor, visit);
}
template <Scalar T, class Shape, class Visit>
constexpr void visit_adapted(const Shape&, const T&, const T&, Visit&&) {
  fail(error_code::inconsistent,
       "lora: adapters are modelled for multi-head and grouped-query attention; this model has "
       "layers of latent attention, compressed attention or recurrences");
}

/// Calls visit(projection) for the adapted projections of a routed expert on one of the `tensor`
/// ranks that divide it.
template <Scalar T, class Visit>
constexpr void visit_adapted_expert(const basic_expert_shape<T>& x, const T& hidden,
                                    const T& tensor, Visit&& visit) {
  visit_adapted(basic_dense_shape<T>{x.intermediate, x.gated}, x.expert_hidden(hidden), tensor,
                visit);
}

/// Calls visit(layers, projection) for the adapted projections of each kind of layer.
template <Scalar T, class Visit>
constexpr void visit_adapted_layers(const basic_transformer<T>& m, const T& tensor, Visit&& visit) {
  const auto each = [&](const auto& kinds) {
    for (const auto& kind : kinds) {
      std::visit(
          [&](const auto& shape) {
            visit_adapted(shape, m.hidden, tensor, [&](const adapted_projection<T>& projection) {
              visit(kind.layers, projection);
            });
          },
          kind.shape);
    }
  };
  each(m.layers.mixers);
  each(m.layers.feed_forwards);
}

}  // namespace detail

/// Bytes of all adapter slots on one rank, before division among pipeline stages: adapters x rank x
/// sum over layers and projections of (input + output) x bytes per value. Each routed expert is
/// divided among `expert_tensor` ranks, the experts of a layer among `expert` groups of them.
/// Source: vLLM, lora/layers (create_lora_weights): slots are allocated for the largest rank at
/// start, for every module that can have an adapter; FusedMoEWithLoRA has a slot for each expert.
/// Leaves out: adapters of the vocabulary tables; those in host memory.
/// Errors: a model with layers other than multi-head or grouped-query attention.
/// Tests: rank 16 on Llama 3.1 8B has 41,943,040 values, 83.9 MB in bf16; vLLM's log of 16 slots
/// of Qwen3-Coder-30B-A3B, 53.98 GiB with a quarter of the weights.
template <Scalar T>
constexpr bytes<T> adapter_bytes(const basic_lora<T>& x, const basic_transformer<T>& m,
                                 const std::type_identity_t<T>& tensor = T(1.0),
                                 const std::type_identity_t<T>& expert_tensor = T(1.0),
                                 const std::type_identity_t<T>& expert = T(1.0)) {
  require_valid(x, "lora");
  T values{};
  detail::visit_adapted_layers(
      m, tensor, [&](const T& layers, const detail::adapted_projection<T>& projection) {
        values += layers * projection.values();
      });
  for (const auto& kind : m.layers.feed_forwards) {
    const auto* e = std::get_if<basic_expert_shape<T>>(&kind.shape);
    if (!x.experts || e == nullptr) continue;
    detail::visit_adapted_expert(
        *e, m.hidden, expert_tensor, [&](const detail::adapted_projection<T>& projection) {
          values += kind.layers * e->experts / expert * projection.values();
        });
  }
  return named("adapter bytes", x.adapters * x.rank * values * bytes_of(x.format));
}

/// Bytes of all adapter slots on one device of a layout.
template <Scalar T>
constexpr bytes<T> adapter_bytes(const basic_lora<T>& x, const basic_transformer<T>& m,
                                 const parallel_layout& l) {
  return adapter_bytes(x, m, T(l.tensor), T(l.expert_tensor()), T(l.expert)) / T(l.pipeline);
}

}  // namespace perfmodel::inline v0_3
