// KV cache and recurrent states of sequences in a transformer.
#pragma once

#include <perfmodel/model/transformer.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

// Cache of one layer: bytes per token, bytes of a sequence of `context` tokens, and states of
// constant size. A rank with a `share` of the keys and values has all keys of an indexer.
template <template <class> class Shape, Scalar T>
constexpr bytes<T> token_cache(const Shape<T>& a, const storage_format& format,
                               const T& share = T(1.0)) {
  const bytes<T> entries = share * a.cached_elements() * bytes_of(format);
  return a.indexer ? entries + a.indexer->bytes_per_token() : entries;
}
/// Growth per token once the window is full.
template <Scalar T>
constexpr bytes<T> token_growth(const basic_compressed_attention_shape<T>& a,
                                const storage_format& format, const T& share = T(1.0)) {
  if (!a.ratio) return {};
  const bytes<T> entry = share * a.cached_elements() * bytes_of(format);
  return (a.indexer ? entry + a.indexer->bytes_per_token() : entry) / *a.ratio;
}
template <Scalar T>
constexpr bytes<T> token_cache(const basic_compressed_attention_shape<T>& a,
                               const storage_format& format, const T& share = T(1.0)) {
  return share * a.cached_elements() * bytes_of(format) + token_growth(a, format, share);
}
template <Scalar T>
constexpr bytes<T> token_cache(const basic_recurrent_shape<T>&, const storage_format&,
                               const T& = T(1.0)) {
  return {};
}

template <template <class> class Shape, Scalar T>
constexpr bytes<T> sequence_cache(const Shape<T>& a, const T& context, const storage_format& format,
                                  const T& share = T(1.0)) {
  const bytes<T> entries =
      share * a.cached_tokens(context) * a.cached_elements() * bytes_of(format);
  return a.indexer ? entries + context * a.indexer->bytes_per_token() : entries;
}
template <Scalar T>
constexpr bytes<T> sequence_cache(const basic_compressed_attention_shape<T>& a, const T& context,
                                  const storage_format& format, const T& share = T(1.0)) {
  const bytes<T> entries =
      share * a.cached_tokens(context) * a.cached_elements() * bytes_of(format);
  if (!a.indexer || !a.ratio) return entries;
  return entries + context / *a.ratio * a.indexer->bytes_per_token();
}
template <Scalar T>
constexpr bytes<T> sequence_cache(const basic_recurrent_shape<T>&, const T&, const storage_format&,
                                  const T& = T(1.0)) {
  return {};
}

// Growth of one layer per token once its windows are full.
template <class Shape>
constexpr auto token_growth(const Shape& a, const storage_format& format) {
  return token_cache(a, format);
}
template <Scalar T>
constexpr bytes<T> token_growth(const basic_attention_shape<T>& a, const storage_format& format) {
  if (!a.window) return token_cache(a, format);
  return a.indexer ? a.indexer->bytes_per_token() : bytes<T>{};
}

template <class Shape>
constexpr auto sequence_state(const Shape& a) {
  return bytes<std::remove_cvref_t<decltype(a.query_heads)>>{};
}
template <Scalar T>
constexpr bytes<T> sequence_state(const basic_recurrent_shape<T>& a) {
  return a.state_bytes();
}

/// Tokens of an image that cross-attention layers cache in addition to the text (Llama 3.2 Vision).
/// Nothing in models with images as prompt tokens.
template <Scalar T>
constexpr std::optional<T> cross_attended_tokens(const basic_transformer<T>& m) {
  for (const auto& kind : m.layers.mixers) {
    const auto* a = std::get_if<basic_attention_shape<T>>(&kind.shape);
    if (a != nullptr && a->image_tokens) return a->image_tokens;
  }
  return {};
}

/// Computes kv_bytes_per_token of a checked model.
template <Scalar T>
constexpr bytes_per_token<T> cache_per_token(const basic_transformer<T>& m,
                                             const storage_format& format) {
  return named("KV bytes per token", over_layers(m.layers.mixers, [&](const auto& a) {
                                       return bytes<T>(token_cache(a, format));
                                     }) / token);
}
}  // namespace detail

/// KV-cache bytes that a token adds, whole model, before any window is full: 2 L H_kv d_h b for
/// grouped-query attention, L (d_c + d_rope) b for MLA, plus the keys of an indexer. Compressed
/// attention adds an entry to its window and one more every `ratio` tokens, a recurrent layer
/// nothing.
/// Source: Kwon et al. 2023 (arXiv 2309.06180), section 3; MLA, arXiv 2405.04434, section 2.1.3.
/// Leaves out block scales unless `format` has them. Test: Llama 3 70B in bf16 is 327,680 B/token;
/// DeepSeek-V3 70,272.
template <Scalar T>
constexpr bytes_per_token<T> kv_bytes_per_token(
    const basic_transformer<T>& m, const storage_format& format = number_format::bf16) {
  require_valid(format, "kv");
  return detail::cache_per_token(checked(m), format);
}

/// KV-cache bytes that a token adds at long context, whole model: kv_bytes_per_token without layers
/// with a full window.
/// Test: equals kv_bytes(c + 1) - kv_bytes(c) for a c beyond every window; gpt-oss-120b, which has
/// a window in every second of 36 layers, 36,864 B/token in bf16.
template <Scalar T>
constexpr bytes_per_token<T> kv_growth_per_token(
    const basic_transformer<T>& m, const storage_format& format = number_format::bf16) {
  require_valid(format, "kv");
  checked(m);
  return named("KV bytes per token at long context",
               detail::over_layers(m.layers.mixers, [&](const auto& a) {
                 return bytes<T>(detail::token_growth(a, format));
               }) / token);
}

/// KV cache of one sequence of `context` tokens; layers with a window cache its last tokens only.
/// Leaves out recurrent states: see state_bytes.
/// Test: equals context x kv_bytes_per_token where no layer has a window.
template <Scalar T>
constexpr bytes<T> kv_bytes(const basic_transformer<T>& m, const std::type_identity_t<T>& context,
                            const storage_format& format = number_format::bf16) {
  require_valid(format, "kv");
  checked(m);
  detail::not_negative("context", context);
  return named("KV bytes", detail::over_layers(m.layers.mixers, [&](const auto& a) {
                 return bytes<T>(detail::sequence_cache(a, context, format));
               }));
}

/// State bytes of one sequence, independent of its length: value_heads x key_dim x value_dim of
/// state, and the last inputs of the convolutions.
/// Source: mamba_utils.py of vLLM. Test: 36 layers of Qwen3-Next's Gated DeltaNet (32 heads of 128
/// x 128 in fp32, a convolution of 4 over 8,192 channels) have 77.27 MB.
template <Scalar T>
constexpr bytes<T> state_bytes(const basic_transformer<T>& m) {
  checked(m);
  return named("state bytes", detail::over_layers(m.layers.mixers, [](const auto& a) {
                 return bytes<T>(detail::sequence_state(a));
               }));
}

}  // namespace perfmodel::inline v0_3
