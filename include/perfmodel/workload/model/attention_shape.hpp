// Attention over the keys and values that a layer caches: over all of them, a window, chunks, or those
// that an indexer chooses.
#pragma once

#include <perfmodel/workload/model/attention_indexer.hpp>

namespace perfmodel {

/// Multi-head (kv_heads = query_heads), multi-query (kv_heads = 1) or grouped-query attention.
/// `head_dim` is the width of a query and a key, `value_dim` that of a value where it is another. With
/// a `window` a token sees the last so many; `chunked`, those of its own chunk of so many (Llama 4).
template <Scalar T = double>
struct basic_attention_shape {
  T query_heads{};
  T kv_heads{};
  T head_dim{};
  std::optional<T> value_dim{};
  std::optional<T> query_rank{};  ///< queries come through a projection so wide (Step-3)
  std::optional<T> window{};
  std::optional<basic_attention_indexer<T>> indexer{};
  bool chunked = false;
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;        ///< a norm over each head's query and key (Qwen 3, Gemma 3)
  bool qk_norm_whole = false;  ///< one over all heads together (MiniMax-M2, OLMo)
  bool sinks = false;          ///< one learned logit per head (gpt-oss)
  bool output_gate = false;    ///< as wide as the result, beside the queries (Qwen3-Next)
  bool value_is_key = false;   ///< no projection of values (Gemma 4's layers without a window)
  bool shares_cache = false;   ///< has keys and values of an earlier layer (Gemma 3n)

  constexpr T value_width() const { return value_dim.value_or(head_dim); }
  constexpr T key_value_width() const { return kv_heads * (head_dim + value_width()); }

  /// Weights of the projections of one layer.
  constexpr T weights(const T& hidden) const {
    const T result = query_heads * value_width();
    T inward = query_rank ? *query_rank : T(query_heads * head_dim);
    if (!shares_cache) inward += value_is_key ? T(kv_heads * head_dim) : key_value_width();
    if (output_gate) inward += result;
    const T indexing = indexer ? indexer->weights(hidden, hidden) : T(0.0);
    const T queries = query_rank ? T(*query_rank * query_heads * head_dim) : T(0.0);
    return hidden * inward + queries + result * hidden + indexing;
  }
  /// Biases, norms and sinks of one layer.
  constexpr T extras(const T& hidden) const {
    T n = T(0.0);
    if (qkv_bias) n += query_heads * head_dim + key_value_width();
    if (output_bias) n += hidden;
    if (qk_norm) n += 2.0 * head_dim;
    if (qk_norm_whole) n += (query_heads + kv_heads) * head_dim;
    if (sinks) n += query_heads;
    if (indexer) n += indexer->extras();
    return n;
  }

  /// Of a sequence of `context` tokens, those whose keys and values stay.
  constexpr T kept_tokens(const T& context) const {
    return window ? scalar_min(context, *window) : context;
  }
  /// Those that a new token attends to: in chunks, half of one on average.
  constexpr T seen_tokens(const T& context) const {
    const T kept = kept_tokens(context);
    if (chunked && window) return scalar_min(context, T(0.5 * (*window + 1.0)));
    return indexer ? scalar_min(kept, indexer->top_k) : kept;
  }
  /// Cached elements of one token in the format of the cache.
  constexpr T cached_elements() const { return shares_cache ? T(0.0) : key_value_width(); }
  /// Scores and results of one token over a context, and what choosing the tokens takes.
  constexpr T flop_per_token(const T& context) const {
    const T scores = 2.0 * query_heads * (head_dim + value_width()) * seen_tokens(context);
    return indexer ? T(scores + indexer->flop_over(context)) : scores;
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("query_heads"), s.query_heads...);
    f(field::count("kv_heads"), s.kv_heads...);
    f(field::count("head_dim"), s.head_dim...);
    f(field::count("value_dim"), s.value_dim...);
    f(field::count("query_rank"), s.query_rank...);
    f(field::count("window"), s.window...);
    f("indexer", s.indexer...);
    f("chunked", s.chunked...);
    f("qkv_bias", s.qkv_bias...);
    f("output_bias", s.output_bias...);
    f("qk_norm", s.qk_norm...);
    f("qk_norm_whole", s.qk_norm_whole...);
    f("sinks", s.sinks...);
    f("output_gate", s.output_gate...);
    f("value_is_key", s.value_is_key...);
    f("shares_cache", s.shares_cache...);
  }
  friend bool operator==(const basic_attention_shape&, const basic_attention_shape&) = default;
};
using attention_shape = basic_attention_shape<>;

}  // namespace perfmodel
