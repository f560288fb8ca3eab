// GEMM: C[m,n] = A[m,k] B[k,n]; and what is made of GEMMs: embedding and LM head, feed-forward.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/operators/demand.hpp>

namespace perfmodel::inline v0_3 {

/// One dense GEMM. `weights` is how B is stored (weight-only quantisation and block scales),
/// `format` how A and C are stored; it multiplies in the wider of the two.
template <Scalar T = double>
struct basic_gemm {
  T m{}, n{}, k{};
  number_format format = number_format::bf16;
  storage_format weights = format;
  number_format output = format;

  constexpr const char* name() const { return "gemm"; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("m"), s.m...);
    f(field::count("n"), s.n...);
    f(field::count("k"), s.k...);
    f("format", s.format...);
    f("weights", s.weights...);
    f("output", s.output...);
  }
};
using gemm = basic_gemm<>;

namespace detail {
/// FLOP and DRAM bytes of a GEMM.
template <Scalar T>
struct gemm_needs {
  flops<T> matrix_flop{};
  basic_traffic<T> dram{};
};
/// FLOP and bytes of m rows, n columns and depth k, all valid, with bytes per element of each
/// operand.
template <Scalar T>
constexpr gemm_needs<T> needs_of_gemm(const T& m, const T& n, const T& k, const bytes<>& activation,
                                      const bytes<T>& weights, const bytes<>& output) {
  const flops<T> work = named("flop", 2.0 * m * n * k * flop);
  const bytes<T> activations = named("activation bytes", m * k * activation);
  return {work, {activations + weights, named("output bytes", m * n * output)}};
}
template <Scalar T>
constexpr bytes<T> weight_bytes_of(const basic_gemm<T>& g) {
  return named("weight bytes", g.k * g.n * bytes_of(g.weights));
}

}  // namespace detail

/// FLOP = 2 m n k; DRAM bytes = b_a m k + b_w k n read + b_c m n written, each operand once.
/// Source: NVIDIA, "Matrix Multiplication Background User's Guide", section 2.
/// Leaves out: re-reads when a panel does not fit in L2, tile padding, split-K partial sums.
/// Errors: m, n or k below 1. Tests: 4096^3 bf16 is 137.4 GFLOP and 1365.3 FLOP/byte; the twelve
/// intensities of an FFN gate GEMM (k = 2048, n = 11008) at m = 1 .. 2048.
template <Scalar T>
constexpr basic_demand<T> demand_of(const valid_operator<basic_gemm<T>>& valid) {
  const basic_gemm<T>& g = valid.fields;
  const detail::gemm_needs<T> needs = detail::needs_of_gemm(
      g.m, g.n, g.k, bytes_of(g.format), detail::weight_bytes_of(g), bytes_of(g.output));
  basic_demand<T> d;
  d.name = "gemm";
  d.format = wider(g.format, g.weights.format);
  d.matrix_flop = needs.matrix_flop;
  d.dram = needs.dram;
  d.l2 = d.dram;
  return d;
}

}  // namespace perfmodel::inline v0_3

// The two ends of a language model: token embedding and the head that gives logits.

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

// Feed-forward blocks: gated (SwiGLU, GeGLU) with three matrices, plain with two.

namespace perfmodel::inline v0_3 {

namespace detail {
/// What a feed-forward block of separate kernels moves besides its operands: the projections'
/// results (two when gated) and the activation's, each written and read again.
template <Scalar T>
constexpr basic_traffic<T> ffn_intermediates(const T& elements, bool gated, number_format format) {
  const bytes<T> once = (gated ? 3.0 : 2.0) * elements * bytes_of(format);
  return {once, once};
}
}  // namespace detail

/// down(act(gate(x)) * up(x)) for `tokens` rows, or down(act(up(x))) where not `gated`. `fused`
/// keeps everything between the projections on the chip; unfused runs them and the activation
/// apart. `intermediate` is this rank's share. `activation_flop` is vector FLOP per intermediate
/// element (about 5 for SiLU and the gate); 0 leaves the activation's arithmetic out.
template <Scalar T = double>
struct basic_swiglu {
  T tokens{}, hidden{}, intermediate{};
  number_format format = number_format::bf16;
  storage_format weights = format;
  bool gated = true;
  bool fused = true;
  T activation_flop = T(0.0);

  constexpr const char* name() const { return gated ? "gated_ffn" : "ffn"; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("tokens"), s.tokens...);
    f(field::count("hidden"), s.hidden...);
    f(field::count("intermediate"), s.intermediate...);
    f("format", s.format...);
    f("weights", s.weights...);
    f("gated", s.gated...);
    f("fused", s.fused...);
    f(field::not_negative("activation_flop"), s.activation_flop...);
  }
};
using swiglu = basic_swiglu<>;

/// Matrices of a feed-forward block: gate, up and down, or up and down.
constexpr double ffn_matrices(bool gated) {
  return gated ? 3.0 : 2.0;
}

/// With n = 3 (gated) or 2 matrices: FLOP = 2 n tokens hidden intermediate; DRAM bytes =
/// b tokens hidden read and written + b_w n hidden intermediate read; unfused, 3 (gated) or 2 times
/// b tokens intermediate more, written and read, in 3 kernels.
/// Source: Shazeer, "GLU Variants Improve Transformer", 2020, equations 2 and 6.
/// Leaves out: re-reads of GEMM panels, biases, the activation unless activation_flop says so.
/// Errors: a dimension below 1. Tests: 6 hidden intermediate FLOP a token; tends to 2 tokens / b_w
/// FLOP/byte for few tokens; equals its three GEMMs and activation when unfused.
template <Scalar T>
constexpr basic_demand<T> demand_of(const valid_operator<basic_swiglu<T>>& valid) {
  const basic_swiglu<T>& x = valid.fields;
  const T &tokens = x.tokens, &hidden = x.hidden, &intermediate = x.intermediate;
  const T parameters = named("parameters", ffn_matrices(x.gated) * hidden * intermediate);
  basic_demand<T> d;
  d.name = x.gated ? "gated_ffn" : "ffn";
  d.format = wider(x.format, x.weights.format);
  d.matrix_flop = named("flop", 2.0 * tokens * parameters * flop);
  d.vector_flop = x.activation_flop * tokens * intermediate * flop;
  const bytes<T> rows = named("activation bytes", tokens * hidden * bytes_of(x.format));
  d.dram.read = rows + named("weight bytes", parameters * bytes_of(x.weights));
  d.dram.written = rows;
  if (!x.fused) {
    d.dram = d.dram + detail::ffn_intermediates(T(tokens * intermediate), x.gated, x.format);
    d.launches = T(3.0);
  }
  d.l2 = d.dram;
  return d;
}

}  // namespace perfmodel::inline v0_3
