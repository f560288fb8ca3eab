// Attention over a window of tokens and, further back, over entries that each stand for several.
#pragma once

#include <perfmodel/workload/model/attention_indexer.hpp>

namespace perfmodel {

/// The attention of DeepSeek-V4: one key, which is the value too, of `head_dim` for all heads; the
/// last `window` tokens as they are, and of all before them one entry for every `ratio` tokens, of
/// which an `indexer` may choose top_k. Without a ratio it is the window alone. Queries come from a
/// latent of `query_rank`, results go back through `output_groups` latents of `output_rank`.
/// `overlaps`: an entry is made of its own tokens and those of the one before (ratio 4).
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

  /// The two projections that make entries of so many elements.
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

  /// Entries of head_dim elements that a sequence keeps: the window, and one for every `ratio` tokens.
  constexpr T kept_tokens(const T& context) const {
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

}  // namespace perfmodel
