// The kernels of a pass that are no product, attention or norm: small ones, that some engines fuse away.
#pragma once

#include <perfmodel/deployment/rank_pass.hpp>
#include <perfmodel/workload/operators/elementwise.hpp>
#include <perfmodel/workload/operators/norm.hpp>
#include <perfmodel/workload/small_kernel.hpp>

namespace perfmodel {

namespace detail {

template <Scalar T>
constexpr basic_elementwise<T> copied(const T& elements, number_format format) {
  return {.elements = elements, .format = format};
}

/// Of queries and keys, those that the rank holds: rotated in place, normed, written to the cache.
template <Scalar T, class Run>
constexpr void visit_small_kernels_of(const rank_pass<T>& p, const T& layers,
                                      const basic_attention_shape<T>& a, Run&& run) {
  const T& rows = p.share.rows;
  const T kv_heads = a.shares_cache ? T(0.0) : kv_heads_per_rank(a.kv_heads, p.tensor);
  const T heads = a.query_heads / p.tensor + kv_heads;
  run(small_kernel::rotary, layers, copied(T(rows * heads * a.head_dim), p.residual));
  if (a.qk_norm) {
    run(small_kernel::head_norm, layers,
        basic_norm<T>{.rows = rows * heads, .width = a.head_dim, .format = p.residual});
  } else if (a.qk_norm_whole) {
    run(small_kernel::head_norm, layers,
        basic_norm<T>{.rows = rows, .width = heads * a.head_dim, .format = p.residual});
  }
  if (a.shares_cache) return;
  run(small_kernel::cache_write, layers,
      copied(T(rows * kv_heads * (a.head_dim + a.value_width())), p.residual));
}

/// The queries' rotated part and the one key that all heads share; the latent beside it.
template <Scalar T, class Run>
constexpr void visit_small_kernels_of(const rank_pass<T>& p, const T& layers,
                                      const basic_latent_attention_shape<T>& a, Run&& run) {
  const T& rows = p.share.rows;
  const T heads = a.query_heads / p.tensor + 1.0;
  run(small_kernel::rotary, layers, copied(T(rows * heads * a.rope_dim), p.residual));
  run(small_kernel::cache_write, layers, copied(T(rows * a.cached_elements()), p.residual));
}

template <Scalar T, class Run>
constexpr void visit_small_kernels_of(const rank_pass<T>& p, const T& layers,
                                      const basic_dense_shape<T>& x, Run&& run) {
  run(small_kernel::activation, layers,
      basic_elementwise<T>{.elements = p.share.rows * x.intermediate / p.tensor,
                           .inputs = T(x.gated ? 2.0 : 1.0),
                           .flop_per_element = T(5.0),
                           .format = p.residual});
}

/// Compressed attention, recurrences and routed experts: what is measured of their small kernels is in
/// theirs.
template <Scalar T, class Shape, class Run>
constexpr void visit_small_kernels_of(const rank_pass<T>&, const T&, const Shape&, Run&&) {}

/// run(kind, times, workload) for each kind of small kernel of a pass.
template <Scalar T, class Run>
constexpr void visit_small_kernels(const rank_pass<T>& p, Run&& run) {
  const basic_transformer<T>& m = p.model();
  run(small_kernel::residual, T(m.layers.count * m.norms_per_layer),
      copied(T(p.share.rows * m.hidden), p.residual));
  for (const auto& kind : m.layers.mixers) {
    std::visit([&](const auto& a) { visit_small_kernels_of(p, kind.layers, a, run); }, kind.shape);
  }
  for (const auto& kind : m.layers.feed_forwards) {
    std::visit([&](const auto& x) { visit_small_kernels_of(p, kind.layers, x, run); }, kind.shape);
  }
  run(small_kernel::sampler, T(1.0),
      basic_elementwise<T>{.elements = at_least_one(p.share.logits) * m.vocabulary,
                           .outputs = T(0.0),
                           .format = number_format::fp32});
}

}  // namespace detail

/// visit(kind, times, workload) for every small kernel of a pass on one rank, all layers: those that
/// for_each_operator leaves out. An engine may fuse any of them into a neighbour, so a bound has none of
/// them; a prediction has those that its policy says were measured apart: policy.small_kernels.
/// Leaves out: quantisation of activations, which a product's calibration has; biases; choices of experts,
/// which an expert kernel's has; small kernels of recurrences and of compressed attention; which models
/// have learned positions instead of rotary ones; penalties and sorts of a sampler.
/// Errors: as for_each_operator.
/// Tests: of Llama 3.1 8B by hand; over two ranks half of the heads' and the activation's elements.
template <Scalar T, class Visit>
constexpr void for_each_small_kernel(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                     Visit&& visit) {
  detail::check_deployment(d);
  detail::check_iteration(i);
  const engine_formats formats = formats_of(d);
  detail::visit_small_kernels(detail::rank_pass<T>{d, i, formats}, visit);
}

}  // namespace perfmodel
