// Multi-head latent attention: all heads read one compressed vector per token.
#pragma once

#include <perfmodel/workload/model/attention_indexer.hpp>

namespace perfmodel {

/// MLA: the cache holds `kv_rank` values of a latent and a rotary key of `rope_dim` per token, for
/// all heads and for keys and values alike. `head_dim` is the width of a query, rope_dim included,
/// `value_dim` that of a head's result.
/// Sources: DeepSeek-V2, arXiv 2405.04434, section 2.1; sparse with an `indexer`, DeepSeek-V3.2.
template <Scalar T = double>
struct basic_latent_attention_shape {
  T query_heads{};
  T head_dim{};
  T value_dim{};
  T kv_rank{};
  T rope_dim{};
  std::optional<T> query_rank{};  ///< of the query compression, where there is one
  std::optional<basic_attention_indexer<T>> indexer{};
  bool output_gate = false;  ///< as wide as the result, from hidden (Kimi-K3)

  /// What hidden is projected to before the heads: the latents of keys, values and queries.
  constexpr T latent_width() const {
    return query_rank ? T(*query_rank + cached_elements()) : cached_elements();
  }
  /// What the heads' queries are made of.
  constexpr T query_input(const T& hidden) const { return query_rank.value_or(hidden); }

  constexpr T weights(const T& hidden) const {
    const T nope = head_dim - rope_dim;
    const T result = query_heads * value_dim;
    T n = query_input(hidden) * query_heads * head_dim + hidden * latent_width() +
          kv_rank * query_heads * (nope + value_dim) + result * hidden;
    if (output_gate) n += hidden * result;
    if (indexer) n += indexer->weights(hidden, query_input(hidden));
    return n;
  }
  /// The norms of the latents.
  constexpr T extras(const T&) const {
    const T norms = query_rank ? T(*query_rank + kv_rank) : kv_rank;
    return indexer ? T(norms + indexer->extras()) : norms;
  }

  constexpr T kept_tokens(const T& context) const { return context; }
  constexpr T seen_tokens(const T& context) const {
    return indexer ? scalar_min(context, indexer->top_k) : context;
  }
  constexpr T cached_elements() const { return kv_rank + rope_dim; }
  /// As attention_shape; in its absorbed form MLA multiplies with the latent, 2 (2 kv_rank + rope_dim)
  /// per head and token.
  constexpr T flop_per_token(const T& context) const {
    const T scores = 2.0 * query_heads * (head_dim + value_dim) * seen_tokens(context);
    return indexer ? T(scores + indexer->flop_over(context)) : scores;
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("query_heads"), s.query_heads...);
    f(field::count("head_dim"), s.head_dim...);
    f(field::count("value_dim"), s.value_dim...);
    f(field::count("kv_rank"), s.kv_rank...);
    f(field::count("rope_dim"), s.rope_dim...);
    f(field::count("query_rank"), s.query_rank...);
    f("indexer", s.indexer...);
    f("output_gate", s.output_gate...);
  }
  friend bool operator==(const basic_latent_attention_shape&,
                         const basic_latent_attention_shape&) = default;
};
using latent_attention_shape = basic_latent_attention_shape<>;

}  // namespace perfmodel
