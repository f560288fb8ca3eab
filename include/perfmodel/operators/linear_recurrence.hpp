// Linear attention and state-space layers: a state of fixed size that every token updates.
#pragma once

#include <perfmodel/operators/demand.hpp>

namespace perfmodel::inline v0_3 {

/// One layer: `sequences` of `tokens` new tokens each (1 in decode), `heads` states of key_dim x
/// value_dim. Groups of heads share `key_heads` queries and keys.
/// More tokens than `chunk` run in chunks, as GEMMs; `corrects` is the delta rule, which first
/// reads what a key retrieves. `conv_state` is the state of the convolution per sequence.
template <Scalar T = double>
struct basic_linear_recurrence {
  T sequences{}, tokens = T(1.0), heads{}, key_heads{}, key_dim{}, value_dim{};
  bool corrects = true;
  T chunk = T(64.0);
  bytes<T> conv_state{};
  number_format format = number_format::bf16;
  number_format state_format = number_format::fp32;

  constexpr const char* name() const { return "linear_recurrence"; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("sequences"), s.sequences...);
    f(field::count("tokens"), s.tokens...);
    f(field::count("heads"), s.heads...);
    f(field::count("key_heads"), s.key_heads...);
    f(field::count("key_dim"), s.key_dim...);
    f(field::count("value_dim"), s.value_dim...);
    f("corrects", s.corrects...);
    f(field::count("chunk"), s.chunk...);
    f(field::not_negative("conv_state"), s.conv_state...);
    f("format", s.format...);
    f("state_format", s.state_format...);
  }
};
using linear_recurrence = basic_linear_recurrence<>;

/// With c = min(tokens, chunk), k = key_dim, v = value_dim, per token and head:
/// FLOP = 4 k v + c (k + v), or with the delta rule 6 k v + c (3 k + 2 v): reads and updates of the
/// state, and the causal half of the token pairs of a chunk;
/// DRAM bytes = the states read and written once, + b (queries, keys, values in, results out).
/// Sources: Yang et al., "Gated linear attention", 2023 (arXiv 2312.06635), section 4; Yang et al.,
/// "Gated Delta Networks", 2024 (arXiv 2412.06464), section 3.3; Dao & Gu, "Transformers are SSMs",
/// 2024 (arXiv 2405.21060), section 6.
/// Leaves out: gates and decays (element by element), the convolution's FLOP, the triangular
/// inverse of a chunk, states of chunks that a kernel stores.
/// Errors: a dimension below 1. Tests: one token of 32 heads of 128 x 128 in fp32 moves 4.2 MB of
/// states; chunks of one token do what decoding them one by one does.
template <Scalar T>
constexpr basic_demand<T> demand_of(const valid_operator<basic_linear_recurrence<T>>& valid) {
  const basic_linear_recurrence<T>& x = valid.fields;
  const T &k = x.key_dim, &v = x.value_dim;
  const T rows = x.sequences * x.tokens * x.heads;
  const T span = scalar_min(x.tokens, x.chunk);  // tokens that see each other as products
  const T states = named("state products", (x.corrects ? 6.0 : 4.0) * k * v);
  const T within =
      named("products in a chunk", span * (x.corrects ? T(3.0 * k + 2.0 * v) : T(k + v)));
  const bytes<T> state = named(
      "state bytes", x.sequences * (x.heads * k * v * bytes_of(x.state_format) + x.conv_state));
  const bytes<T> inputs =
      x.sequences * x.tokens * (2.0 * x.key_heads * k + x.heads * v) * bytes_of(x.format);

  basic_demand<T> d;
  d.name = "linear_recurrence";
  d.format = x.format;
  d.matrix_flop = named("flop", rows * (states + within) * flop);
  d.dram.read = state + inputs;
  d.dram.written = state + rows * v * bytes_of(x.format);
  d.l2 = d.dram;
  return d;
}

}  // namespace perfmodel::inline v0_3
