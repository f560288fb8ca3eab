// The two ends of a language model: token embedding and the head that gives logits.
#pragma once

#include <perfmodel/operators/gemm.hpp>

namespace perfmodel::inline v0_3 {

/// Looks up one row of a vocabulary x hidden table per token.
template <Scalar T = double>
struct basic_embedding {
  T tokens{}, vocabulary{}, hidden{};
  number_format format = number_format::bf16;

  constexpr const char* name() const { return "embedding"; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("tokens"), s.tokens...);
    f(field::count("vocabulary"), s.vocabulary...);
    f(field::count("hidden"), s.hidden...);
    f("format", s.format...);
  }
};
using embedding = basic_embedding<>;

/// No FLOP; DRAM bytes = b tokens hidden read and written: the rows asked for, never the table.
/// Source: each operand once. Leaves out: token numbers (4 bytes each), and that rows which come
/// again may come from a cache. Errors: a dimension below 1.
/// Test: one token of the 70B table (128,256 x 8,192) moves 32 KiB, not 2.1 GB.
template <Scalar T>
constexpr basic_demand<T> demand_of(const valid_operator<basic_embedding<T>>& valid) {
  const basic_embedding<T>& e = valid.fields;
  const bytes<T> rows = named("row bytes", e.tokens * e.hidden * bytes_of(e.format));
  basic_demand<T> d;
  d.name = "embedding";
  d.format = e.format;
  d.dram = {rows, rows};
  d.l2 = d.dram;
  return d;
}

/// Logits of `tokens` positions: in decode one per sequence, in prefill only the last is needed.
/// `vocabulary` is this rank's share.
template <Scalar T = double>
struct basic_lm_head {
  T tokens{}, hidden{}, vocabulary{};
  number_format format = number_format::bf16;
  storage_format weights = format;
  number_format output = format;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("tokens"), s.tokens...);
    f(field::count("hidden"), s.hidden...);
    f(field::count("vocabulary"), s.vocabulary...);
    f("format", s.format...);
    f("weights", s.weights...);
    f("output", s.output...);
  }
};
using lm_head = basic_lm_head<>;

/// The GEMM tokens x vocabulary x hidden: FLOP = 2 tokens hidden vocabulary; the table is read
/// once.
/// Errors: a dimension below 1. Test: the 70B head in bf16 reads 2.10 GB, 0.63 ms of an H100.
template <Scalar T>
constexpr basic_demand<T> demand_of(const basic_lm_head<T>& h) {
  require_valid(h, "lm_head");
  basic_demand<T> d = demand_of(basic_gemm<T>{.m = h.tokens,
                                              .n = h.vocabulary,
                                              .k = h.hidden,
                                              .format = h.format,
                                              .weights = h.weights,
                                              .output = h.output});
  d.name = "lm_head";
  return d;
}

}  // namespace perfmodel::inline v0_3
