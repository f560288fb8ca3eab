// Attention of one new token per sequence over its KV cache.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/operators/demand.hpp>

#include <perfmodel/scalar/whole_numbers.hpp>  // last: defines a macro

namespace perfmodel::inline v0_3 {

/// One decode step of one layer: `batch` sequences of `context` tokens, the new one included.
/// `value_dim` defaults to head_dim; `window` is the number of tokens one sees; `block_size` is
/// tokens per page of a paged cache. `splits` cuts each context into
/// parts that run in parallel and are combined afterwards (Flash-Decoding).
template <Scalar T = double>
struct basic_attention_decode {
  T batch{}, context{}, query_heads{}, kv_heads{}, head_dim{};
  std::optional<T> value_dim{};
  number_format format = number_format::bf16;
  storage_format kv_format = format;
  std::optional<T> block_size{};
  std::optional<T> window{};
  T splits = T(1.0);

  constexpr T value_width() const { return value_dim.value_or(head_dim); }
  friend bool operator==(const basic_attention_decode&, const basic_attention_decode&) = default;

  constexpr const char* name() const { return "attention_decode"; }
  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("batch"), s.batch...);
    f(field::count("context"), s.context...);
    f(field::count("query_heads"), s.query_heads...);
    f(field::count("kv_heads"), s.kv_heads...);
    f(field::count("head_dim"), s.head_dim...);
    f(field::count("value_dim"), s.value_dim...);
    f("format", s.format...);
    f("kv_format", s.kv_format...);
    f(field::count("block_size"), s.block_size...);
    f(field::count("window"), s.window...);
    f(field::count("splits"), s.splits...);
  }
};
using attention_decode = basic_attention_decode<>;

/// Tokens of `context` that a new token sees: min(context, window).
/// Errors: context below 1, window below 1. Test: a window of 1,024 at 4,096 tokens sees 1,024.
template <Scalar T>
constexpr T attended_tokens(const T& context, const T& window) {
  return scalar_min(detail::count("context", context), detail::count("window", window));
}
PERFMODEL_WHOLE_NUMBERS(attended_tokens)
/// Tokens that a new token sees: the context, or at most its window.
template <Scalar T>
constexpr T attended_tokens(const basic_attention_decode<T>& a) {
  return a.window ? attended_tokens(a.context, *a.window) : a.context;
}

/// Bytes of the page table a step reads for one sequence: ceil(tokens / block_size) entries of 4.
/// Source: Kwon et al., "PagedAttention", 2023, section 4.1; entries are 32-bit, as in vLLM.
/// Leaves out the latency of the indirection.
/// Errors: tokens or block_size below 1. Test: 4,096 tokens in blocks of 16 take 1,024 bytes.
template <Scalar T>
constexpr bytes<T> page_table_bytes(const T& seen_tokens, const T& block_size) {
  using math::ceil;
  detail::count("seen_tokens", seen_tokens);
  return 4.0 * ceil(seen_tokens / detail::count("block_size", block_size)) * byte;
}
PERFMODEL_WHOLE_NUMBERS(page_table_bytes)

/// Bytes of the partial results of split-KV attention, written once and read once: splits rows
/// (value_dim + 2) 4, in fp32 with the maximum and sum of each row; 0 for one split. `rows` is
/// batch x query_heads.
/// Source: Dao et al., "Flash-Decoding for long-context inference", 2023.
/// Errors: an argument below 1. Test: 8 splits of 64 rows of 128 are 266,240 bytes.
template <Scalar T>
constexpr bytes<T> split_bytes(const T& rows, const T& value_dim, const T& splits) {
  const T& n = detail::count("splits", splits);
  const T several = scalar_min(n - 1.0, T(1.0));  // 0 for one split, 1 for two and more
  return 4.0 * several * n * detail::count("rows", rows) *
         (detail::count("value_dim", value_dim) + 2.0) * byte;
}
PERFMODEL_WHOLE_NUMBERS(split_bytes)

/// With n = min(context, window), d = head_dim, v = value_dim:
/// FLOP = 2 n query_heads (d + v) per sequence, so 4 n query_heads d;
/// DRAM bytes per sequence = b_kv n kv_heads (d + v), read once per KV head, + the page table
/// + b query_heads (d + v) for query and result + b_kv kv_heads (d + v) to store the new token.
/// Partial results of a split stay in L2: written and read there, in a second kernel.
/// Sources: Shazeer, "Fast Transformer Decoding", 2019, section 3; Kwon et al., 2023, section 4.1;
/// Dao et al., "Flash-Decoding", 2023. Leaves out: the softmax; too few CTAs to fill the chip; the
/// latency of pages; a window that starts within a block. `context` may be the batch's average.
/// Errors: a dimension below 1; inconsistent where kv_heads does not divide query_heads.
/// Tests: a 70B layer (64 and 8 heads of 128, bf16) reads 4,096 bytes a token, 8 FLOP/byte at most;
/// equals attention_prefill of tokens = 1, past = context - 1 but for writing the cache.
template <Scalar T>
constexpr basic_demand<T> demand_of(const valid_operator<basic_attention_decode<T>>& valid) {
  const basic_attention_decode<T>& a = valid.fields;
  const T &batch = a.batch, &query_heads = a.query_heads, &kv_heads = a.kv_heads;
  const T& head_dim = a.head_dim;
  detail::divides(error_code::inconsistent, "kv_heads", kv_heads, "query_heads", query_heads);
  const T value_dim = a.value_width();
  const T seen = named("tokens seen", attended_tokens(a));
  const T rows = batch * query_heads;
  const bytes<> element = bytes_of(a.format);
  const bytes<T> kv_token =
      named("KV bytes per token", kv_heads * (head_dim + value_dim) * bytes_of(a.kv_format));

  basic_demand<T> d;
  d.name = "attention_decode";
  d.format = wider(a.format, a.kv_format.format);
  d.matrix_flop = named("flop", 2.0 * rows * seen * (head_dim + value_dim) * flop);
  d.dram.read = named("KV bytes", batch * seen * kv_token) + rows * head_dim * element;
  if (a.block_size) d.dram.read += batch * page_table_bytes(seen, *a.block_size);
  d.dram.written = rows * value_dim * element + batch * kv_token;
  const bytes<T> partial = named("split bytes", split_bytes(rows, value_dim, a.splits));
  d.l2 = d.dram + basic_traffic<T>{partial, partial};
  d.launches = 1.0 + scalar_min(a.splits - 1.0, T(1.0));
  return d;
}

// Multi-head latent attention in decode: all heads share one compressed cache line per token.

/// One decode step of one layer, with the up-projections of keys and values absorbed into those of
/// queries and results. The cache holds `latent` + `rope` values per token, the same for all heads,
/// so tensor parallelism splits `heads` and not the cache. `context` counts the new token.
template <Scalar T = double>
struct basic_mla_decode {
  T batch{}, context{}, heads{}, latent{}, rope{};
  number_format format = number_format::bf16;
  storage_format kv_format = format;
  std::optional<T> block_size{};
  T splits = T(1.0);

  constexpr const char* name() const { return "mla_decode"; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("batch"), s.batch...);
    f(field::count("context"), s.context...);
    f(field::count("heads"), s.heads...);
    f(field::count("latent"), s.latent...);
    f(field::not_negative("rope"), s.rope...);
    f("format", s.format...);
    f("kv_format", s.kv_format...);
    f(field::count("block_size"), s.block_size...);
    f(field::count("splits"), s.splits...);
  }
};
using mla_decode = basic_mla_decode<>;

/// FLOP = 2 context heads (2 latent + rope) per sequence: scores over latent + rope values, results
/// over latent; DRAM bytes per sequence = b_kv context (latent + rope), once for all heads and for
/// key and value alike, + the page table + b heads (2 latent + rope) for query and result
/// + b_kv (latent + rope) to store the new token.
/// Source: DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1.2 and appendix C.
/// Leaves out: the absorbed projections themselves (GEMMs of heads x latent with the head's own
/// dimensions), the softmax. Prefill is attention_prefill, head_dim = nope + rope, value_dim = v.
/// Errors: a dimension below 1, rope negative.
/// Tests: DeepSeek-V3 caches 576 values a token, 1,152 bytes in bf16; 128 heads do 241.8 FLOP/byte.
template <Scalar T>
constexpr basic_demand<T> demand_of(const valid_operator<basic_mla_decode<T>>& valid) {
  const basic_mla_decode<T>& a = valid.fields;
  const T &batch = a.batch, &context = a.context, &latent = a.latent;
  const T line = latent + a.rope;
  const T rows = batch * a.heads;
  const bytes<> element = bytes_of(a.format);
  const bytes<T> kv_token = named("KV bytes per token", line * bytes_of(a.kv_format));

  basic_demand<T> d;
  d.name = "mla_decode";
  d.format = wider(a.format, a.kv_format.format);
  d.matrix_flop = named("flop", 2.0 * rows * context * (line + latent) * flop);
  d.dram.read = named("KV bytes", batch * context * kv_token) + rows * line * element;
  if (a.block_size) d.dram.read += batch * page_table_bytes(context, *a.block_size);
  d.dram.written = rows * latent * element + batch * kv_token;
  const bytes<T> partial = named("split bytes", split_bytes(rows, latent, a.splits));
  d.l2 = d.dram + basic_traffic<T>{partial, partial};
  d.launches = 1.0 + scalar_min(a.splits - 1.0, T(1.0));
  return d;
}

}  // namespace perfmodel::inline v0_3

#undef PERFMODEL_WHOLE_NUMBERS
