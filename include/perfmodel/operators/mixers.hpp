// Sequence mixers other than attention: scores of sparse attention, and linear recurrences.
#pragma once

#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/demand.hpp>

namespace perfmodel::inline v0_3 {

/// `sequences` of `tokens` new tokens each score every token up to their own, `past` of which are
/// cached: `heads` queries of `dim` against one key of `dim` for every `ratio` tokens. Queries are
/// in `format`, that of the keys in DeepGEMM's fp8_mqa_logits.
template <Scalar T = double>
struct basic_index_scores {
  T sequences{}, tokens = T(1.0), past{}, heads{}, dim{}, ratio = T(1.0);
  number_format format = number_format::fp8;
  storage_format cache{number_format::fp8, 128, 32};

  constexpr const char* name() const { return "index_scores"; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("sequences"), s.sequences...);
    f(field::count("tokens"), s.tokens...);
    f(field::not_negative("past"), s.past...);
    f(field::count("heads"), s.heads...);
    f(field::count("dim"), s.dim...);
    f(field::count("ratio"), s.ratio...);
    f("format", s.format...);
    f("cache", s.cache...);
  }
};
using index_scores = basic_index_scores<>;

/// FLOP = 2 heads dim for every pair of a new token and a key that it sees; DRAM bytes = every key
/// once, the queries, and the new keys. Source: DeepSeek-V3.2-Exp, section 1, equation 1.
/// Leaves out: the choice of the top k; scores, which stay on the chip.
/// Errors: a dimension below 1, past negative. Tests: one token over 65,536, 64 heads of 128, is
/// 1.07 GFLOP and 8.66 MB; no quicker than a published kernel (sgl-project/sglang #11989).
template <Scalar T>
constexpr basic_demand<T> demand_of(const valid_operator<basic_index_scores<T>>& valid) {
  const basic_index_scores<T>& x = valid.fields;
  const T pairs = causal_pairs(x.tokens, x.past) / x.ratio;
  const bytes<T> key = x.dim * bytes_of(x.cache) / x.ratio;  // of one token
  const bytes<T> keys = x.sequences * (x.past + x.tokens) * key;
  basic_demand<T> d;
  d.name = "index_scores";
  d.format = wider(x.format, x.cache.format);
  d.matrix_flop = named("flop", 2.0 * x.sequences * pairs * x.heads * x.dim * flop);
  d.dram.read =
      named("index bytes", keys) + x.sequences * x.tokens * x.heads * x.dim * bytes_of(x.format);
  d.dram.written = x.sequences * x.tokens * key;
  d.l2 = d.dram;
  return d;
}

// Attention over chosen entries of a cache, which serve as keys and values alike.

/// `sequences` of `tokens` new tokens each, of which every one attends to `seen` entries (the mean)
/// of `width` elements; a sequence has `entries` of them, all heads share them. `value_width` of
/// the elements are the value, by default all.
template <Scalar T = double>
struct basic_gathered_attention {
  T sequences{}, tokens = T(1.0), seen{}, entries{}, heads{}, width{};
  number_format format = number_format::bf16;
  storage_format kv_format = format;
  std::optional<T> value_width{};

  constexpr const char* name() const { return "gathered_attention"; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("sequences"), s.sequences...);
    f(field::count("tokens"), s.tokens...);
    f(field::not_negative("seen"), s.seen...);
    f(field::not_negative("entries"), s.entries...);
    f(field::count("heads"), s.heads...);
    f(field::count("width"), s.width...);
    f("format", s.format...);
    f("kv_format", s.kv_format...);
    f(field::count("value_width"), s.value_width...);
  }
};
using gathered_attention = basic_gathered_attention<>;

/// FLOP = 2 seen (width + value_width) for every new token and head, scores and results; DRAM bytes
/// = the entries that are read, each once, + b heads (width + value_width) for queries and results.
/// Sources: the attention of DeepSeek-V4 as vLLM's deepseek_v4/attention.py has it; DeepSeek-V3.2,
/// section 2.1: sparse attention on the latents, by the MQA mode of MLA. Leaves out: the softmax,
/// gathering by index, writing the cache. Errors: a dimension below 1.
/// Tests: one token of 64 heads over 640 entries of 512 is 83.9 MFLOP; 128 heads over 2048 latents
/// of 576, values of 512, are 2 (576 + 512) a pair and head: 570 MFLOP.
template <Scalar T>
constexpr basic_demand<T> demand_of(const valid_operator<basic_gathered_attention<T>>& valid) {
  const basic_gathered_attention<T>& x = valid.fields;
  const T rows = x.sequences * x.tokens * x.heads;
  const T read = scalar_min(x.entries, T(x.tokens * x.seen));
  const T value = x.value_width.value_or(x.width);
  const bytes<T> element = rows * bytes_of(x.format);
  basic_demand<T> d;
  d.name = "gathered_attention";
  d.format = wider(x.format, x.kv_format.format);
  d.matrix_flop = named("flop", 2.0 * rows * x.seen * (x.width + value) * flop);
  d.dram.read =
      named("KV bytes", x.sequences * read * x.width * bytes_of(x.kv_format)) + x.width * element;
  d.dram.written = value * element;
  d.l2 = d.dram;
  return d;
}

}  // namespace perfmodel::inline v0_3

// Linear attention and state-space layers: a state of fixed size that every token updates.

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
