// Shapes of attention over a layer's KV cache: full, windowed, chunked or sparse.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/scalar/math.hpp>

// Indexer of sparse attention: a small attention that chooses tokens.

namespace perfmodel::inline v0_3 {

/// Indexer of DeepSeek Sparse Attention: `heads` queries of `dim` score every earlier token by one
/// key of `dim`, and attention sees the `top_k` tokens with the highest sums of scores.
/// Every rank of a tensor-parallel group has all of it. A block-sparse attention (MiniMax-M3) has
/// top_k = blocks x tokens of a block.
/// Source: DeepSeek-V3.2-Exp, its paper's section 1 and inference/model.py (class Indexer): queries
/// from MLA's query latent, a key and a weight per head from hidden, keys cached in fp8 with a
/// 32-bit scale per 128.
template <Scalar T = double>
struct basic_attention_indexer {
  T heads{};
  T dim{};
  T top_k{};
  storage_format cache{number_format::fp8, 128, 32};
  bool shared = false;  ///< reuses an earlier layer's choice: no weights, keys or work (GLM-5.2)

  constexpr T own() const { return T(shared ? 0.0 : 1.0); }
  /// Weights of the projections; queries come from a vector of `query_input`.
  constexpr T weights(const T& hidden, const T& query_input) const {
    return own() * (query_input * heads * dim + hidden * (dim + heads));
  }
  /// The norm of the key, with a bias.
  constexpr T extras() const { return own() * 2.0 * dim; }
  /// FLOP of one query over `keys` keys.
  constexpr T flop_over(const T& keys) const { return own() * 2.0 * heads * dim * keys; }
  constexpr bytes<T> bytes_per_token() const { return own() * dim * bytes_of(cache); }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("heads"), s.heads...);
    f(field::count("dim"), s.dim...);
    f(field::count("top_k"), s.top_k...);
    f("cache", s.cache...);
    f("shared", s.shared...);
  }
  friend bool operator==(const basic_attention_indexer&, const basic_attention_indexer&) = default;
};
using attention_indexer = basic_attention_indexer<>;

/// Multi-head (kv_heads = query_heads), multi-query (kv_heads = 1) or grouped-query attention.
/// `head_dim` is the size of a query and a key, `value_dim` that of a value where it differs.
/// With a `window` a token sees that many last tokens; `chunked`, the tokens of its own chunk of
/// that size (Llama 4). Layers with `image_tokens` cache nothing of the text.
template <Scalar T = double>
struct basic_attention_shape {
  T query_heads{};
  T kv_heads{};
  T head_dim{};
  std::optional<T> value_dim{};
  std::optional<T> query_rank{};  ///< rank of the query projection (Step-3)
  std::optional<T> window{};
  /// tokens of an image, which keys and values are projected from (Llama 3.2 Vision)
  std::optional<T> image_tokens{};
  std::optional<basic_attention_indexer<T>> indexer{};
  std::optional<T> input_width{};  ///< input of the projections, if not hidden (EAGLE-3)
  bool chunked = false;
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;        ///< norm over each head's query and key (Qwen 3, Gemma 3)
  bool qk_norm_whole = false;  ///< one norm over all heads (MiniMax-M2, OLMo)
  bool sinks = false;          ///< one learned logit per head (gpt-oss)
  bool output_gate = false;    ///< gate as wide as the result (Qwen3-Next)
  bool value_is_key = false;   ///< no projection of values (Gemma 4's layers without a window)
  bool shares_cache = false;   ///< uses keys and values of an earlier layer (Gemma 3n)

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
    return input_width.value_or(hidden) * inward + queries + result * hidden + indexing;
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

  /// Cached tokens of a sequence of `context` tokens.
  constexpr T cached_tokens(const T& context) const {
    return window ? scalar_min(context, *window) : context;
  }
  /// Tokens that a new token attends to; in chunks, half a chunk on average.
  constexpr T seen_tokens(const T& context) const {
    if (image_tokens) return T(0.0);
    const T cached = cached_tokens(context);
    if (chunked && window) return scalar_min(context, T(0.5 * (*window + 1.0)));
    return indexer ? scalar_min(cached, indexer->top_k) : cached;
  }
  /// Cached elements of one token in the format of the cache.
  constexpr T cached_elements() const {
    return shares_cache || image_tokens ? T(0.0) : key_value_width();
  }
  /// Cached elements of one image.
  constexpr T image_elements() const {
    return image_tokens ? T(*image_tokens * key_value_width()) : T(0.0);
  }
  /// FLOP of one token over a context: scores, results and the indexer.
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
    f(field::count("image_tokens"), s.image_tokens...);
    f("indexer", s.indexer...);
    f(field::count("input_width"), s.input_width...);
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

// Compressed attention: a window of tokens and, before it, entries that each stand for several.

/// Attention of DeepSeek-V4: all heads share one key of `head_dim`, which is the value too. The
/// cache has the last `window` tokens and one entry for every `ratio` earlier tokens, of which an
/// `indexer` may choose top_k. Without a ratio only the window remains.
/// Queries come from a latent of `query_rank`, results go back through `output_groups` latents of
/// `output_rank`. `overlaps`: an entry also covers the tokens of the one before (ratio 4).
template <Scalar T = double>
struct basic_compressed_attention_shape {
  T query_heads{};
  T head_dim{};
  T query_rank{};
  T output_groups{};
  T output_rank{};
  T window{};
  std::optional<T> ratio{};
  std::optional<basic_attention_indexer<T>> indexer{};
  bool overlaps = false;
  bool sinks = true;

  /// Weights of the two projections to entries of `width` elements.
  constexpr T compressor(const T& hidden, const T& width) const {
    return (overlaps ? 4.0 : 2.0) * hidden * width;
  }
  constexpr T latent_width() const { return query_rank + head_dim; }
  constexpr T weights(const T& hidden) const {
    const T heads = query_heads * head_dim;
    T n = hidden * latent_width() + query_rank * heads + heads * output_rank +
          output_groups * output_rank * hidden;
    if (ratio) n += compressor(hidden, head_dim);
    if (indexer) {
      n += query_rank * indexer->heads * indexer->dim + hidden * indexer->heads +
           compressor(hidden, indexer->dim);
    }
    return n;
  }
  /// Norms of the latents, positions within an entry, sinks.
  constexpr T extras(const T&) const {
    T n = query_rank + head_dim + (sinks ? query_heads : T(0.0));
    const double parts = overlaps ? 2.0 : 1.0;
    if (ratio) n += *ratio * parts * head_dim + head_dim;
    if (indexer && ratio) n += *ratio * parts * indexer->dim + indexer->dim;
    return n;
  }

  /// Cached entries of head_dim elements: the window, and one for every `ratio` tokens.
  constexpr T cached_tokens(const T& context) const {
    const T recent = scalar_min(context, window);
    return ratio ? T(recent + context / *ratio) : recent;
  }
  constexpr T seen_tokens(const T& context) const {
    const T recent = scalar_min(context, window);
    if (!ratio) return recent;
    const T entries = context / *ratio;
    return recent + (indexer ? scalar_min(entries, indexer->top_k) : entries);
  }
  constexpr T cached_elements() const { return head_dim; }
  constexpr T flop_per_token(const T& context) const {
    const T scores = 4.0 * query_heads * head_dim * seen_tokens(context);
    return indexer && ratio ? T(scores + indexer->flop_over(T(context / *ratio))) : scores;
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("query_heads"), s.query_heads...);
    f(field::count("head_dim"), s.head_dim...);
    f(field::count("query_rank"), s.query_rank...);
    f(field::count("output_groups"), s.output_groups...);
    f(field::count("output_rank"), s.output_rank...);
    f(field::count("window"), s.window...);
    f(field::count("ratio"), s.ratio...);
    f("indexer", s.indexer...);
    f("overlaps", s.overlaps...);
    f("sinks", s.sinks...);
  }
  friend bool operator==(const basic_compressed_attention_shape&,
                         const basic_compressed_attention_shape&) = default;
};
using compressed_attention_shape = basic_compressed_attention_shape<>;

// Multi-head latent attention: all heads read one compressed vector per token.

/// MLA: all heads share a latent of `kv_rank` values and a rotary key of `rope_dim` per token, for
/// keys and values alike. `head_dim` is the size of a query, rope_dim included, `value_dim` that of
/// a head's result.
/// Sources: DeepSeek-V2, arXiv 2405.04434, section 2.1; sparse with an `indexer`, DeepSeek-V3.2.
template <Scalar T = double>
struct basic_latent_attention_shape {
  T query_heads{};
  T head_dim{};
  T value_dim{};
  T kv_rank{};
  T rope_dim{};
  std::optional<T> query_rank{};  ///< rank of the query compression, if any
  std::optional<basic_attention_indexer<T>> indexer{};
  bool output_gate = false;  ///< gate as wide as the result, from hidden (Kimi-K3)

  /// Latents that hidden is projected to: keys, values and queries.
  constexpr T latent_width() const {
    return query_rank ? T(*query_rank + cached_elements()) : cached_elements();
  }
  /// Input size of the query projection.
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

  constexpr T cached_tokens(const T& context) const { return context; }
  constexpr T seen_tokens(const T& context) const {
    return indexer ? scalar_min(context, indexer->top_k) : context;
  }
  constexpr T cached_elements() const { return kv_rank + rope_dim; }
  /// FLOP as in attention_shape; absorbed MLA multiplies with the latent, 2 (2 kv_rank + rope_dim)
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

}  // namespace perfmodel::inline v0_3
