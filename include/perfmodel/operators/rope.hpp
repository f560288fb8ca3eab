// Rotary position embedding, and putting keys and values into the KV cache.
#pragma once

#include <perfmodel/operators/demand.hpp>

namespace perfmodel::inline v0_3 {

/// Rotates `rotary_dim` elements of every head of every token, in place. `heads` counts query and
/// KV heads together. Without a rotary_dim it is the whole head.
template <Scalar T = double>
struct basic_rope {
  T tokens{}, heads{}, head_dim{};
  std::optional<T> rotary_dim{};
  number_format format = number_format::bf16;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("tokens"), s.tokens...);
    f(field::count("heads"), s.heads...);
    f(field::count("head_dim"), s.head_dim...);
    f(field::count("rotary_dim"), s.rotary_dim...);
    f("format", s.format...);
  }
};
using rope = basic_rope<>;

/// Each pair (x, y) becomes (x cos - y sin, x sin + y cos): 4 multiplications and 2 additions, so
/// vector FLOP = 3 tokens heads rotary_dim; DRAM bytes = b of the same, read and written.
/// Source: Su et al., "RoFormer", 2021, equation 34. Leaves out: the table of sines and cosines
/// (rotary_dim values per token, shared by the heads; a kernel may compute them instead).
/// Errors: tokens, heads or head_dim below 1; rotary_dim above head_dim.
/// Test: 16-bit RoPE is 0.75 FLOP/byte.
template <Scalar T>
constexpr basic_demand<T> demand_of(const basic_rope<T>& r) {
  require_valid(r, "rope");
  const T rotary = r.rotary_dim.value_or(r.head_dim);
  detail::within("rotary_dim", rotary, 1.0, upper(r.head_dim), "1 to head_dim");
  const T elements = named("elements", r.tokens * r.heads * rotary);
  basic_demand<T> d;
  d.name = "rope";
  d.format = r.format;
  d.vector_flop = named("vector flop", 3.0 * elements * flop);
  d.dram.read = named("tensor bytes", elements * bytes_of(r.format));
  d.dram.written = d.dram.read;
  d.l2 = d.dram;
  return d;
}

/// Writes the keys and values of `tokens` new tokens to the cache, in the cache's format.
template <Scalar T = double>
struct basic_kv_write {
  T tokens{}, kv_heads{}, head_dim{};
  std::optional<T> value_dim{};
  number_format format = number_format::bf16;
  storage_format kv_format = format;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("tokens"), s.tokens...);
    f(field::count("kv_heads"), s.kv_heads...);
    f(field::count("head_dim"), s.head_dim...);
    f(field::count("value_dim"), s.value_dim...);
    f("format", s.format...);
    f("kv_format", s.kv_format...);
  }
};
using kv_write = basic_kv_write<>;

/// DRAM bytes = b tokens kv_heads (head_dim + value_dim) read, b_kv of the same written; no FLOP.
/// Source: each operand once. Leaves out: the slot of each token (4 to 8 bytes) and quantisation
/// arithmetic. Errors: a dimension below 1.
/// Test: 1,024 tokens of 8 heads of 128 in bf16 write 4 MiB.
template <Scalar T>
constexpr basic_demand<T> demand_of(const basic_kv_write<T>& w) {
  require_valid(w, "kv_write");
  const T dims = w.head_dim + w.value_dim.value_or(w.head_dim);
  const T elements = named("elements", w.tokens * w.kv_heads * dims);
  basic_demand<T> d;
  d.name = "kv_write";
  d.format = w.format;
  d.dram.read = elements * bytes_of(w.format);
  d.dram.written = named("KV bytes written", elements * bytes_of(w.kv_format));
  d.l2 = d.dram;
  return d;
}

}  // namespace perfmodel::inline v0_3
