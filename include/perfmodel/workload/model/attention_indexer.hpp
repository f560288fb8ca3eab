// What chooses the tokens of a sparse attention: a small attention of its own over all of them.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel {

/// The indexer of DeepSeek Sparse Attention: `heads` queries of `dim` score every earlier token by one
/// key of `dim`, and attention sees the `top_k` tokens with the highest sums of scores.
/// Source: DeepSeek-V3.2-Exp, its paper's section 1 and inference/model.py (class Indexer): queries
/// from MLA's query latent, a key and a weight per head from hidden, keys kept in fp8 with a 32-bit
/// scale per 128. Every rank of a tensor-parallel group has all of it. A block-sparse attention (MiniMax-M3) has top_k = blocks x tokens of a block.
template <Scalar T = double>
struct basic_attention_indexer {
  T heads{};
  T dim{};
  T top_k{};
  storage_format cache{number_format::fp8, 128, 32};
  bool shared = false;  ///< takes what an earlier layer chose: no weights, keys or work (GLM-5.2)

  constexpr T own() const { return T(shared ? 0.0 : 1.0); }
  /// Of the projections; queries come from a vector of `query_input`.
  constexpr T weights(const T& hidden, const T& query_input) const {
    return own() * (query_input * heads * dim + hidden * (dim + heads));
  }
  /// The norm of the key, with a bias.
  constexpr T extras() const { return own() * 2.0 * dim; }
  /// Of one query over so many keys.
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

}  // namespace perfmodel
