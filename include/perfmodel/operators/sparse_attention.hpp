// The scores by which a sparse attention chooses its tokens.
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
