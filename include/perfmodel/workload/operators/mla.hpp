// Multi-head latent attention in decode: all heads share one compressed cache line per token.
#pragma once

#include <perfmodel/workload/operators/attention_decode.hpp>

namespace perfmodel {

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

namespace detail {
/// demand_of, of valid fields.
template <Scalar T>
constexpr basic_demand<T> demand_of_valid(const basic_mla_decode<T>& a) {
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
}  // namespace detail

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
constexpr basic_demand<T> demand_of(const basic_mla_decode<T>& a) {
  require_valid(a, "mla_decode");
  return detail::demand_of_valid(a);
}

}  // namespace perfmodel
