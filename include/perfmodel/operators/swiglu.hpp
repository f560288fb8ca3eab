// Feed-forward blocks: gated (SwiGLU, GeGLU) with three matrices, plain with two.
#pragma once

#include <perfmodel/operators/demand.hpp>

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
