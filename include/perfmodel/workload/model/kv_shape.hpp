// What one token leaves in the KV cache of a transformer.
#pragma once

#include <perfmodel/workload/model/transformer.hpp>

namespace perfmodel {

/// Cached elements of one token in one layer: keys and values of every KV head, or MLA's latent
/// and rotary key (arXiv 2405.04434, section 2.1.3), which all heads share.
template <Scalar T>
constexpr T kv_elements_per_layer(const basic_transformer<T>& m) {
  const auto& a = m.attention;
  return a.latent ? a.latent->cached() : a.kv_heads * (a.head_dim + a.value_width());
}

/// kv = 2 L H_kv d_h b for grouped-query attention, L (d_c + d_rope) b for MLA, in every layer,
/// whole model. Source: Kwon et al. 2023 (arXiv 2309.06180), section 3; MLA as above.
/// Leaves out block scales unless `format` has them. Test: Llama 3 70B in bf16 is 327,680 B/token;
/// DeepSeek-V3 70,272.
template <Scalar T>
constexpr bytes_per_token<T> kv_bytes_per_token(
    const basic_transformer<T>& m, const storage_format& format = number_format::bf16) {
  require_valid(format, "kv");
  const T elements = checked(m).layers * kv_elements_per_layer(m);
  return named("KV bytes per token", elements * (bytes_of(format) / token));
}

namespace detail {
/// kv_bytes of a model that was checked.
template <Scalar T>
constexpr bytes<T> cache_of_sequence(const basic_transformer<T>& m, const T& context,
                                     const storage_format& format) {
  return named("KV bytes", token_layers(m, context) * kv_elements_per_layer(m) * bytes_of(format));
}
}  // namespace detail

/// Cache of one sequence of `context` tokens: layers with a sliding window keep its last tokens only.
/// Test: equals context x kv_bytes_per_token where no layer slides.
template <Scalar T>
constexpr bytes<T> kv_bytes(const basic_transformer<T>& m, const std::type_identity_t<T>& context,
                            const storage_format& format = number_format::bf16) {
  require_valid(format, "kv");
  return detail::cache_of_sequence(checked(m), detail::not_negative("context", context), format);
}

}  // namespace perfmodel
