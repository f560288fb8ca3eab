// Element-wise operators, chains of them in one kernel, and rotary position embedding.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/operators/demand.hpp>

namespace perfmodel::inline v0_3 {

/// One kernel that reads `inputs` tensors of `elements`, writes `outputs` of them and does
/// `flop_per_element` on each element. A fused chain is one such kernel; an unfused one is several.
/// `rows` is the number of thread blocks where known: one per token.
template <Scalar T = double>
struct basic_elementwise {
  T elements{};
  T inputs = T(1.0), outputs = T(1.0);
  T flop_per_element = T(1.0);
  number_format format = number_format::bf16;
  std::optional<T> rows{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("elements"), s.elements...);
    f(field::not_negative("inputs"), s.inputs...);
    f(field::not_negative("outputs"), s.outputs...);
    f(field::not_negative("flop_per_element"), s.flop_per_element...);
    f("format", s.format...);
    f(field::count("rows"), s.rows...);
  }
};
using elementwise = basic_elementwise<>;

/// FLOP = f E on vector units; DRAM bytes = b n E read + b m E written, for n inputs, m outputs.
/// Source: each operand once; Williams, Waterman and Patterson, "Roofline", CACM 2009, section 3.
/// Leaves out: broadcast operands (a bias is smaller than E), random numbers, instruction mix.
/// Errors: elements below 1; inputs, outputs or flop_per_element negative; no tensor at all.
/// Tests: GELU at 5 FLOP in 16 bit is 1.25 FLOP/byte; fusing three operators removes 2/3 of the
/// bytes.
template <Scalar T>
constexpr basic_demand<T> demand_of(const basic_elementwise<T>& e) {
  require_valid(e, "elementwise");
  const T &elements = e.elements, &inputs = e.inputs, &outputs = e.outputs;
  detail::positive("elementwise.inputs + outputs", inputs + outputs);
  const bytes<T> tensor = named("tensor bytes", elements * bytes_of(e.format));
  basic_demand<T> d;
  d.name = "elementwise";
  d.format = e.format;
  d.vector_flop = named("vector flop", e.flop_per_element * elements * flop);
  d.dram.read = inputs * tensor;
  d.dram.written = outputs * tensor;
  d.l2 = d.dram;
  return d;
}

// Kinds of element-wise kernels in an engine step.

/// Kinds of element-wise kernels. `residual` is the cost of the addition inside a norm, without a
/// launch; a `sampler` is several kernels.
enum class elementwise_kernel { residual, rotary, head_norm, activation, cache_write, sampler };

/// Name of an element-wise kernel, as in a derivation.
constexpr const char* name_of(elementwise_kernel k) {
  constexpr const char* names[] = {"residual",   "rotary embedding", "norms of heads",
                                   "activation", "cache write",      "sampler"};
  return detail::entry_of(names, k, "small_kernel");
}

}  // namespace perfmodel::inline v0_3

// Rotary position embedding, and putting keys and values into the KV cache.

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
