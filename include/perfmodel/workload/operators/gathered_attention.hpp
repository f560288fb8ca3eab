// Attention over chosen entries of a cache, which serve as keys and values alike.
#pragma once

#include <perfmodel/workload/demand.hpp>

namespace perfmodel {

/// `sequences` of `tokens` new tokens each, of which every one attends to `seen` entries (the mean)
/// of `width` elements; a sequence has `entries` of them, all heads share them.
template <Scalar T = double>
struct basic_gathered_attention {
  T sequences{}, tokens = T(1.0), seen{}, entries{}, heads{}, width{};
  number_format format = number_format::bf16;
  storage_format kv_format = format;

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
  }
};
using gathered_attention = basic_gathered_attention<>;

namespace detail {
/// demand_of, of valid fields.
template <Scalar T>
constexpr basic_demand<T> demand_of_valid(const basic_gathered_attention<T>& x) {
  const T rows = x.sequences * x.tokens * x.heads;
  const T read = scalar_min(x.entries, T(x.tokens * x.seen));
  const bytes<T> queries = rows * x.width * bytes_of(x.format);
  basic_demand<T> d;
  d.name = "gathered_attention";
  d.format = wider(x.format, x.kv_format.format);
  d.matrix_flop = named("flop", 4.0 * rows * x.seen * x.width * flop);
  d.dram.read = named("KV bytes", x.sequences * read * x.width * bytes_of(x.kv_format)) + queries;
  d.dram.written = queries;
  d.l2 = d.dram;
  return d;
}
}  // namespace detail

/// FLOP = 4 seen width for every new token and head, scores and results; DRAM bytes = the entries
/// that are read, each once, + b heads width for queries and results.
/// Source: the attention of DeepSeek-V4 as vLLM's deepseek_v4/attention.py has it. Leaves out: the
/// softmax, gathering by index, writing the cache. Errors: a dimension below 1.
/// Test: one token of 64 heads over 640 entries of 512 is 83.9 MFLOP.
template <Scalar T>
constexpr basic_demand<T> demand_of(const basic_gathered_attention<T>& x) {
  require_valid(x, "gathered_attention");
  return detail::demand_of_valid(x);
}

}  // namespace perfmodel
