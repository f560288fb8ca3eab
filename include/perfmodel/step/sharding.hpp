// Tensor parallelism of a token mixer (attention or recurrence): weights that every rank stores
// whole, and the share of the cache that one rank stores.
#pragma once

#include <perfmodel/model/kv_cache_shape.hpp>
#include <perfmodel/parallel/layout.hpp>
#include <perfmodel/parallel/tensor.hpp>

namespace perfmodel::inline v0_3::detail {

/// Weights of the indexer of sparse attention: every rank stores all of them. 0 without an indexer.
template <Scalar T>
constexpr T indexer_weights(const std::optional<basic_attention_indexer<T>>& x, const T& hidden,
                            const T& query_input) {
  return x ? x->weights(hidden, query_input) : T(0.0);
}
// Weights of one layer that a rank stores beyond 1 / N of the layer, for N = `tensor`
// tensor-parallel ranks. They are replicated KV heads (N above the number of KV heads), projections
// to latents, indexers and compressors.
template <Scalar T>
constexpr T replicated_weights(const basic_attention_shape<T>& a, const T& hidden,
                               const T& tensor) {
  const T extra_heads = kv_heads_per_rank(a.kv_heads, tensor) - a.kv_heads / tensor;
  const T width = a.value_is_key ? a.head_dim : T(a.head_dim + a.value_width());
  const T projections = a.shares_cache ? T(0.0) : T(hidden * width * extra_heads);
  const T whole = indexer_weights(a.indexer, hidden, hidden) +
                  (a.query_rank ? T(hidden * *a.query_rank) : T(0.0));
  return projections + whole * (1.0 - 1.0 / tensor);
}
template <Scalar T>
constexpr T replicated_weights(const basic_latent_attention_shape<T>& a, const T& hidden,
                               const T& tensor) {
  return (hidden * a.latent_width() + indexer_weights(a.indexer, hidden, a.query_input(hidden))) *
         (1.0 - 1.0 / tensor);
}
template <Scalar T>
constexpr T replicated_weights(const basic_compressed_attention_shape<T>& a, const T& hidden,
                               const T& tensor) {
  T whole = hidden * a.latent_width();
  if (a.ratio) whole += a.compressor(hidden, a.head_dim);
  if (a.indexer) {
    whole += indexer_weights(a.indexer, hidden, a.query_rank) - hidden * a.indexer->dim +
             a.compressor(hidden, a.indexer->dim);
  }
  const T extra_groups = scalar_max(T(1.0), T(a.output_groups / tensor)) - a.output_groups / tensor;
  return whole * (1.0 - 1.0 / tensor) + extra_groups * a.output_rank * hidden;
}
template <Scalar T>
constexpr T replicated_weights(const basic_recurrent_shape<T>& a, const T& hidden,
                               const T& tensor) {
  return hidden * a.latent_width() * (1.0 - 1.0 / tensor);
}

// Share of a layer's KV cache and states that one of N tensor-parallel ranks stores: 1 / N, or 1 /
// H_kv with fewer KV heads (H_kv) than ranks. It is 1 if all heads read the same entries.
template <Scalar T>
constexpr T cache_share(const basic_attention_shape<T>& a, const T& tensor) {
  return kv_heads_per_rank(a.kv_heads, tensor) / a.kv_heads;
}
template <Scalar T>
constexpr T cache_share(const basic_latent_attention_shape<T>&, const T&) {
  return T(1.0);
}
template <Scalar T>
constexpr T cache_share(const basic_compressed_attention_shape<T>&, const T&) {
  return T(1.0);
}
template <Scalar T>
constexpr T cache_share(const basic_recurrent_shape<T>&, const T& tensor) {
  return 1.0 / tensor;
}

/// Greatest common divisor.
constexpr double common_divisor(double a, double b) {
  while (b > 0.0) {
    const double rest = a - b * math::floor(a / b);
    a = b;
    b = rest;
  }
  return a;
}
/// Adds the head counts of one kind of layer to `dims`. The number of ranks must divide each count;
/// for several kinds of layer, `dims` has their greatest common divisor.
template <class Shape>
constexpr void add_dims(const Shape& a, sharded_dims& dims) {
  const auto common = [](const std::optional<double>& had, const auto& x) {
    const double n = math::floor(lower(x));
    return had ? common_divisor(*had, n) : n;
  };
  if constexpr (requires { a.query_heads; }) {
    dims.query_heads = common(dims.query_heads, a.query_heads);
  } else {
    dims.query_heads = common(dims.query_heads, a.value_heads);
    dims.kv_heads = common(dims.kv_heads, a.key_heads);
  }
  if constexpr (requires { a.kv_heads; }) dims.kv_heads = common(dims.kv_heads, a.kv_heads);
}

}  // namespace perfmodel::inline v0_3::detail
